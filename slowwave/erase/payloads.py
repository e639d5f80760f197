"""The payload of an event after turns and memories are erased, for every kind alike, by what the catalogue says of it.

Pure: payload in, payload out. Ids, owners and choices are never touched; a text that quotes what goes is masked.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import polars as pl

from slowwave.journal.catalogue import CATALOGUE, FORMER_KINDS
from slowwave.language.names import family, plain_name
from slowwave.schemas.text_columns import is_reference, is_text

ERASED = "[erased]"
"""Stands where a text quoted what was erased."""

LINKS = frozenset({"supersedes", "superseded_by", "former_supersedes"})
"""Ids beside what an event is about: the event stays, and no longer names what goes."""

KEPT_KINDS = frozenset({"cell.erased", "turn.erased"})

VERBATIM = frozenset({"turn.recorded", "cell.extracted", "cell.deleted"})
"""Kinds that hold the words of one turn or memory: those of others are masked only where a text was named."""

OF_STATE = frozenset({"cell.extracted", "cell.imported"})
"""Kinds that say more of a memory than its topic."""

RETIRING = frozenset({"cell.superseded", "cell.merged"})

WRITTEN = frozenset({"topic.summarized", "episode.written", "identity.recorded"})
"""Kinds that were made from the memories and turns that they name, and go with them."""

WHOLE_TURN = 2**31 - 1
"""`last_char` of a chunk that ends with a whole turn."""


@dataclass(frozen=True)
class Erasure:
    """Ids that go, and the texts that nothing may quote any more.

    `episode_ids` tell of conversations of which something goes, `entity_ids` are people and things that are named in
    what goes: both are made anew from what is left. `cut_ids` are memories whose timeline tells of erased ones, and
    chunks that hold more than erased turns. `moved_ids` are memories that an erased one had retired: nothing of that
    is kept. `is_text` says that a text was named: it is masked wherever it stands, in any case and with any white
    space.
    """

    turn_ids: frozenset[str]
    cell_ids: frozenset[str]
    chunk_ids: frozenset[str]
    topic_ids: frozenset[str]
    cut_ids: frozenset[str]
    texts: tuple[str, ...]
    is_text: bool
    episode_ids: frozenset[str] = frozenset()
    entity_ids: frozenset[str] = frozenset()
    moved_ids: frozenset[str] = frozenset()

    @cached_property
    def gone(self) -> frozenset[str]:
        """Turns and memories that go."""
        return self.turn_ids | self.cell_ids

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """Finds the texts to mask; None where there are none."""
        return pattern_of(self.texts, is_exact=not self.is_text)


def spellings(text: str) -> set[str]:
    """A text as it is, and with its accents as one character with the letter and as one of their own."""
    return {text, unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)}


def pattern_of(texts: Iterable[str], *, is_exact: bool) -> re.Pattern[str] | None:
    """Finds the texts, longer ones first; unless `is_exact`, in any case and with any white space."""
    every = {form for text in texts if text.strip() for form in spellings(text)}
    ordered = sorted(every, key=lambda text: (-len(text), text))
    if not ordered:
        return None
    if is_exact:
        return re.compile("|".join(re.escape(text) for text in ordered))
    flat = (r"\s+".join(re.escape(word) for word in text.split()) for text in ordered)
    return re.compile("|".join(flat), re.IGNORECASE)


def payload_after(kind: str, payload: Mapping[str, object], erasure: Erasure) -> dict[str, object] | None:
    """An event's payload after an erasure; None where nothing of the event stays."""
    if kind in KEPT_KINDS:
        return dict(payload)
    about = {
        value
        for name, value in payload.items()
        if isinstance(value, str) and is_reference(name) and name not in LINKS
    }
    if about & erasure.episode_ids:
        # the deletion of an episode holds, whatever is left of its conversation
        return {**payload, "content": None, "note": None} if kind == "cell.deleted" else None
    is_about_gone = bool(about & erasure.gone)
    is_lone = payload.get("topic_id") in erasure.topic_ids and kind not in OF_STATE
    is_entity = kind.startswith("entity.") and payload.get("entity_id") in erasure.entity_ids
    is_chunk = kind.startswith("chunk.") and payload.get("chunk_id") in erasure.chunk_ids
    is_moved = payload.get("superseded_by") in erasure.gone and payload.get("cell_id") in erasure.moved_ids
    if is_about_gone or is_lone or is_entity or is_chunk or (is_moved and kind in RETIRING):
        return None
    after = dict(payload)
    for name, value in payload.items():
        if is_reference(name) and isinstance(value, list) and erasure.gone.intersection(value):
            after[name] = [item for item in value if item not in erasure.gone]
            if kind in WRITTEN:
                return None  # it was written from what goes
    for name in ("supersedes", "former_supersedes"):
        if after.get(name) in erasure.gone:
            after[name] = None
    if kind == "mention.recorded" and payload.get("entity_id") in erasure.entity_ids:
        after["family"] = own_family(str(payload["name"]))
    _cut(kind, payload, after, erasure)
    return _mask(kind, after, erasure)


@lru_cache(maxsize=1024)
def own_family(name: str) -> str:
    """The family of a name by itself, whoever it was found to stand for: that may be named in what goes."""
    return str(pl.select(family(plain_name(pl.lit(name)))).item())


def _cut(kind: str, before: Mapping[str, object], after: dict[str, object], erasure: Erasure) -> None:
    """Takes out what a model or a fold wrote with an eye on what goes."""
    if before.get("cell_id") in erasure.cut_ids and kind in ("cell.succeeded", "cell.imported"):
        after["summary"] = None
    if kind == "cell.imported" and before.get("superseded_by") in erasure.gone:
        after |= {"status": "active", "superseded_by": None, "superseded_at": None, "valid_until": None}
    if before.get("winner_id") in erasure.cut_ids and "former_summary" in after:
        after["former_summary"] = None
    if before.get("chunk_id") in erasure.cut_ids:
        after.update({name: None for name in ("reason", "error") if name in after})
    turns = before.get("turn_ids")
    if kind == "chunk.cut" and isinstance(turns, list) and turns != after["turn_ids"]:
        if turns[0] in erasure.gone:
            after["first_char"] = 0
        if turns[-1] in erasure.gone:
            after["last_char"] = WHOLE_TURN


def texts_of(kind: str, payload: Mapping[str, object]) -> dict[str, list[str]]:
    """The texts of an event that may quote what somebody said, by the name of the field."""
    found = {
        name: [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]
        for name, value in payload.items()
        if _is_text_field(kind, name)
    }
    return {name: texts for name, texts in found.items() if texts}


@cache
def _is_text_field(kind: str, name: str) -> bool:
    """A field that only an older version of the kind had is taken for a text."""
    return is_text(name, CATALOGUE[FORMER_KINDS.get(kind, kind)].payload.get(name, pl.String()))


def _mask(kind: str, payload: dict[str, object], erasure: Erasure) -> dict[str, object]:
    pattern = erasure.pattern
    if pattern is None or (kind in VERBATIM and not erasure.is_text):
        return payload
    masked = {
        name: [pattern.sub(ERASED, text) for text in texts] for name, texts in texts_of(kind, payload).items()
    }
    return payload | {
        name: texts if isinstance(payload[name], list) else texts[0] for name, texts in masked.items()
    }
