"""Statements that a person asks Slowwave to remember: checked, cleaned, redacted, then a turn and a memory."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import polars as pl

from slowwave.errors import InputError
from slowwave.ingest.fences import strip_injected
from slowwave.ingest.redact import redact
from slowwave.journal.catalogue import CATALOGUE, rows_of
from slowwave.language.wishes import is_standing
from slowwave.schemas.choices import CellType, SaidBy
from slowwave.schemas.identity import content_hash, stable_id
from slowwave.schemas.tables import OWNER, REMEMBERED

_MARK = re.compile(r"\[redacted:[^\]]*\]")


@dataclass(frozen=True)
class Statement:
    """A person's statement as it may be stored. `redacted` counts the secrets in all its fields, by kind."""

    content: str
    subject: str | None
    attribute: str | None
    value: str | None
    entities: tuple[str, ...]
    redacted: dict[str, int]


def read_statement(
    text: str, *, subject: str | None, attribute: str | None, value: str | None, entities: Iterable[str]
) -> Statement:
    """The statement, without secrets and without memory that Slowwave itself put into a prompt.

    Raises:
        InputError: the text or a name is empty, or a value stands without its attribute or an attribute
            without its subject.
    """
    facts = {"subject": subject, "attribute": attribute, "value": value}
    for (needed, there), (needing, given) in pairwise(facts.items()):
        if given is not None and there is None:
            raise InputError(f"the {needing} needs the {needed} that it belongs to: give both, or neither")
    redacted: Counter[str] = Counter()
    content = _clean(text, "text", redacted)
    names = tuple(dict.fromkeys(_line(name, "entity", redacted) for name in entities))
    safe = {what: None if given is None else _line(given, what, redacted) for what, given in facts.items()}
    return Statement(content, **safe, entities=names, redacted=dict(redacted))


def read_note(note: str) -> str:
    """A person's note as it may be stored: one line without secrets; empty stays empty."""
    return " ".join(redact(strip_injected(note)[0])[0].split())


def statement_rows(
    said: Statement,
    *,
    owner: Mapping[str, str],
    session_id: str,
    moment: datetime,
    cell_type: CellType,
    salience: float,
    decay_rate: float,
    origin: SaidBy,
) -> dict[str, pl.DataFrame]:
    """The events of a statement: one row of `turn.recorded` and, resting on that turn, one of `cell.extracted`.

    `owner` has the columns `OWNER`. Ids depend on owner, session and text alone, so that repeating it changes nothing.
    """
    since_midnight = moment - moment.replace(hour=0, minute=0, second=0, microsecond=0)
    digest = content_hash(said.content)
    shared = {
        **owner,
        "session_id": session_id,
        "content": said.content,
        "content_hash": digest,
        "origin": origin,
        "event_time": moment,
        "source_type": "conversation",
        "source_id": REMEMBERED,
        "source_name": REMEMBERED,
    }
    turn = {
        **shared,
        "turn_id": turn_id_of(owner, session_id, digest),
        "turn_index": round(since_midnight.total_seconds() * 1e6),  # the order of saying, without a look
        "role": "user" if origin == "user" else "assistant",
    }
    cell = {
        **shared,
        "cell_id": cell_id_of(owner, session_id, digest),
        "cell_type": cell_type,
        "topic_hint": said.subject,
        "subject": said.subject,
        "attribute": said.attribute,
        "value": said.value,
        "salience": salience,
        "confidence": 1.0,
        "status": "active",
        "needs_review": False,
        "is_judged": False,
        "is_summarized": False,
        "is_wish": origin == "user" and (cell_type == "preference" or is_standing(said.content)),
        "protected": False,
        "valid_from": moment,
        "decay_rate": decay_rate,
        "evidence": [turn["turn_id"]],
        "entities": list(said.entities),
        "artifacts": [],
        "steps": [],
        "prompt_version": REMEMBERED,
    }
    return {
        kind: rows_of(kind, [{name: row.get(name) for name in CATALOGUE[kind].payload}])
        for kind, row in (("turn.recorded", turn), ("cell.extracted", cell))
    }


def cell_id_of(owner: Mapping[str, str], session_id: str, digest: str) -> str:
    """The id that an extracted memory of that owner, session and text would have."""
    return stable_id("cell", *(owner[name] for name in OWNER), session_id, digest)


def turn_id_of(owner: Mapping[str, str], session_id: str, digest: str) -> str:
    """The id that the turn of a statement has."""
    return stable_id("turn", *(owner[name] for name in OWNER), session_id, digest)


def _clean(text: str, what: str, redacted: Counter[str]) -> str:
    bare, _ = strip_injected(text)
    safe, found = redact(bare.strip())
    redacted.update(found)
    if not any(character.isalnum() for character in _MARK.sub("", safe)):
        raise InputError(f"the {what} is empty: there is nothing to remember in it")
    return safe


def _line(text: str, what: str, redacted: Counter[str]) -> str:
    return " ".join(_clean(text, what, redacted).split())
