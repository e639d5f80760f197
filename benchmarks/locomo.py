"""LoCoMo's question sets (Maharana and others, 2024) in the form of `slowwave/schemas/questions.py`.

Two people talk; a session has one time, and a picture is told by its caption.
"""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from slowwave.schemas.refusals import FIRST_YEAR_TOO_LATE

LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}
"""Meanings of the numbers of LoCoMo's questions."""

UNANSWERABLE = "adversarial"
"""Questions about what was never said: nothing but "not in memory" is right."""

BETWEEN_TURNS = timedelta(seconds=20)
"""A session has one time; its turns follow it in their order."""

SHOWN_CHARACTERS = 60

_SESSION = re.compile(r"session_(\d{1,9})")
_SESSION_TIME = "%I:%M %p on %d %B, %Y"

Fields = dict[str, Any]


class UnknownFormError(ValueError):
    """A list that has none of the known forms, or a value in it that cannot be read."""


def is_locomo(entry: object) -> bool:
    """Return whether an entry of a list is a conversation of LoCoMo."""
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("conversation"), dict)
        and isinstance(entry.get("qa"), list)
    )


def from_locomo(entry: Fields, place: int) -> Fields:
    """One conversation as the fields of `Conversation`; `place` names it where it has no `sample_id`.

    Raises:
        UnknownFormError: a session has no time that can be read.
    """
    said, observed = entry["conversation"], entry.get("observation")
    sessions = sorted(
        (int(match[1]), name)
        for name, turns in said.items()
        if isinstance(turns, list) and (match := _SESSION.fullmatch(name))
    )
    return {
        "name": str(entry.get("sample_id") or f"conversation {place + 1}"),
        "sessions": [_session(said, name) for _, name in sessions],
        "memories": _memories(observed) if isinstance(observed, dict) else [],
        "questions": [_question(asked) for asked in entry["qa"]],
    }


def shown(value: object) -> str:
    """A value of a question set as it stands in a message: short, on one line."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def _session(said: Fields, name: str) -> Fields:
    began = _time(said.get(f"{name}_date_time"), name)
    turns = [_turn(turn, began + place * BETWEEN_TURNS) for place, turn in enumerate(said[name])]
    return {"session_id": name, "turns": turns}


def _turn(turn: object, timestamp: datetime) -> Fields:
    """A message; the caption of its picture is part of its text."""
    parts = turn if isinstance(turn, dict) else {}
    caption, text = parts.get("blip_caption"), parts.get("text")
    if isinstance(text, str) and isinstance(caption, str) and caption.strip():
        text = f"{text} [shares a picture: {caption.strip()}]".strip()
    named = {"id": parts.get("dia_id"), "speaker": parts.get("speaker")}
    return {**named, "content": text, "timestamp": timestamp}


def _time(value: object, session: str) -> datetime:
    with suppress(ValueError):
        moment = datetime.strptime(str(value).strip(), _SESSION_TIME).replace(tzinfo=UTC)
        if moment.year < FIRST_YEAR_TOO_LATE:
            return moment
    raise UnknownFormError(
        f"`{session}_date_time` is {shown(value)}, not a time such as '1:56 pm on 8 May, 2023'. Mend that value."
    )


def _memories(observed: Fields) -> list[Fields]:
    """Observations: by session and speaker, pairs of a sentence and the turns that it comes from."""
    return [
        {"content": pair[0], "evidence": pair[1]}
        for speakers in observed.values()
        if isinstance(speakers, dict)
        for told in speakers.values()
        if isinstance(told, list)
        for pair in told
        if isinstance(pair, list) and len(pair) > 1
    ]


def _question(entry: object) -> Fields:
    parts = entry if isinstance(entry, dict) else {}
    category, answer = parts.get("category"), parts.get("answer")
    named = LOCOMO_CATEGORIES.get(category) if isinstance(category, int) else None
    return {
        "question": parts.get("question"),
        "answer": None if answer is None else str(answer),
        "is_answerable": named != UNANSWERABLE,
        "evidence": parts.get("evidence") or (),
        "category": named or str(category),
    }
