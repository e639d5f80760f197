"""Ids that are hashes of a text, made again from the redacted one.

Who has a home can test guesses against a hash: an id that was made from a text with a secret would tell whether a guess
of it is right. And the same source, read again with today's rules, gives the new ids. So they change with the text,
and with them the ids that are made from these. An id is changed only where its recipe gives the one that is there:
what was named in another way stays. Pure.
"""

from collections.abc import Mapping

from slowwave.ingest.redact.names import safe_id, safe_path
from slowwave.schemas.identity import stable_id
from slowwave.schemas.tables import OWNER

Payload = Mapping[str, object]

RECIPES: dict[str, tuple[str, str, tuple[tuple[str, ...], ...]]] = {
    "turn.recorded": (
        "turn_id",
        "turn",
        (("session_id", "content_hash"), (*OWNER, "session_id", "content_hash")),
    ),
    "cell.extracted": ("cell_id", "cell", ((*OWNER, "session_id", "content_hash"),)),
    "chunk.cut": (
        "chunk_id",
        "chunk",
        (("session_id", "turns", "first_char", "last_char", "content_hash"),),
    ),
    "mention.recorded": ("mention_id", "mention", (("cell_id", "name", "entity_type"),)),
    "artifact.recorded": ("artifact_id", "artifact", (("cell_id", "artifact_type", "reference"),)),
    "edge.drawn": (
        "edge_id",
        "edge",
        (
            ("relation", "source_id", "target_id"),
            ("relation", *OWNER, "target_id"),
            ("relation", "target_id"),
            ("relation", "low", "high"),
            ("relation", "rests_on", "source_id"),
        ),
    ),
    "pair.judged": ("judgement_id", "judgement", (("pair",),)),
    "contradiction.opened": ("contradiction_id", "contradiction", (("cell_a", "cell_b"),)),
    "identity.recorded": ("identity_id", "identity", ((*OWNER, "name", "same_as", "rests_on"),)),
    "usage.recorded": (
        "usage_id",
        "usage",
        (("cell_id", "usage_type", "moment", "context"), ("cell_id", "usage_type", "nothing", "context")),
    ),
    "entity.resolved": ("entity_id", "entity", ()),
}
"""By kind of event: the column of its id, the word that begins the hash, and the columns that follow, in their order.

The same id may be made in several ways. Columns that no payload has are those of `_worked_out`.
"""


def renamed_id(kind: str, before: Payload, after: Payload) -> str | None:
    """The id of an event's row after its payload changed; None where it stays."""
    key, word, _ = RECIPES[kind]
    if kind == "entity.resolved":
        is_same = all(before.get(name) == after.get(name) for name in ("canonical_name", "aliases"))
        named = (str(after.get(name)) for name in (*OWNER, "entity_type", "family"))
        return None if is_same else stable_id(word, *named)
    for former, new in zip(ids_of(kind, before), ids_of(kind, after), strict=True):
        if former == before[key]:
            return new if new != former else None
    return None


def outside_ids(payload: Payload) -> dict[str, str]:
    """Ids that came from outside (a conversation's, a file's path, a project's) and hold a secret: what they become."""
    given = {
        name: str(payload[name]) for name in ("session_id", "project_id", "source_id") if payload.get(name)
    }
    safe = {text: safe_path(text) if name == "source_id" else safe_id(text) for name, text in given.items()}
    return {text: new for text, new in safe.items() if new != text}


def ids_of(kind: str, payload: Payload) -> list[str]:
    """The ids that the recipes of a kind give, in their order."""
    _, word, recipes = RECIPES[kind]
    whole = {**payload, **_worked_out(payload)}
    parts = (("" if whole.get(name) is None else str(whole[name]) for name in recipe) for recipe in recipes)
    return [stable_id(word, *recipe) for recipe in parts]


def _worked_out(payload: Payload) -> dict[str, str]:
    """Parts of ids that no column holds as it is."""
    ends = sorted(str(payload.get(name)) for name in ("source_id", "target_id"))
    pair = sorted(str(payload.get(name)) for name in ("cell_id", "target_id"))
    turns, evidence = (payload.get(name) for name in ("turn_ids", "evidence"))
    return {
        "low": ends[0],
        "high": ends[1],
        "pair": " ".join(pair),
        "turns": " ".join(turns) if isinstance(turns, list) else "",
        "rests_on": ",".join(evidence) if isinstance(evidence, list) else "",
        "moment": str(payload.get("used_at")).replace("Z", "+00:00"),
        "nothing": "",
    }
