"""LongMemEval's question sets (Wu and others, 2024) in the form of `slowwave/schemas/questions.py`.

Each question has a haystack of dated sessions of its own, so each entry is a conversation with one question.
"""

import re
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.locomo import BETWEEN_TURNS, UnknownFormError, shown
from slowwave.schemas.refusals import FIRST_YEAR_TOO_LATE

ABSTAIN = "_abs"
"""The end of the ids of questions whose answer was never said."""

_DATE = re.compile(r"(\d{4})/(\d\d)/(\d\d) *(?:\([A-Za-z]+\))? *(?:(\d\d):(\d\d))?")
_BETWEEN_IDS = re.compile(r"[;,\s]+")
_LISTS = ("haystack_sessions", "haystack_dates")

Fields = dict[str, Any]


def is_longmemeval(entry: object) -> bool:
    """Return whether an entry of a list is a question of LongMemEval."""
    return isinstance(entry, dict) and all(isinstance(entry.get(name), list) for name in _LISTS)


def from_longmemeval(entry: Fields, place: int) -> Fields:
    """One question with its haystack as the fields of `Conversation`; `place` names it where it has no id.

    Evidence are the turns marked `has_answer`; where none is marked, all of the sessions in `answer_session_ids`.

    Raises:
        UnknownFormError: a date cannot be read, or sessions and dates are not as many.
    """
    sessions, dates = entry["haystack_sessions"], entry["haystack_dates"]
    if len(sessions) != len(dates):
        raise UnknownFormError(f"entry {place} has {len(sessions)} haystack_sessions and {len(dates)} dates.")
    ids = entry.get("haystack_session_ids") or [f"session_{number}" for number in range(len(sessions))]
    answering = entry.get("answer_session_ids") or []
    if not isinstance(ids, list) or len(ids) != len(sessions) or not isinstance(answering, list):
        raise UnknownFormError(
            f"entry {place} has no list of `haystack_session_ids`, one for each session, or of `answer_session_ids`."
        )
    names = _each_once([str(name) for name in ids])
    said = [
        _session(turns, name, _date(date, place))
        for turns, name, date in zip(sessions, names, dates, strict=True)
    ]
    name, answer = str(entry.get("question_id") or f"question {place + 1}"), entry.get("answer")
    question = {
        "question": entry.get("question"),
        "answer": None if answer is None else str(answer),
        "is_answerable": not name.endswith(ABSTAIN),
        "evidence": _evidence(sessions, names, {str(one) for one in answering}, ids),
        "category": str(entry.get("question_type") or "all"),
        "asked_at": _date(entry["question_date"], place) if entry.get("question_date") else None,
    }
    return {"name": name, "sessions": [one for one in said if one["turns"]], "questions": [question]}


def _each_once(names: list[str]) -> list[str]:
    """The names, with a number behind one that stood before: a haystack may hold a session twice."""
    before: Counter[str] = Counter()
    found = []
    for name in names:
        before[name] += 1
        found.append(name if before[name] == 1 else f"{name}-{before[name]}")
    return found


def _session(turns: object, name: str, began: datetime) -> Fields:
    said = turns if isinstance(turns, list) else []
    return {
        "session_id": name,
        "turns": [
            {
                "id": _turn_id(name, place),
                "role": "assistant" if turn.get("role") == "assistant" else "user",
                "content": turn.get("content"),
                "timestamp": began + place * BETWEEN_TURNS,
            }
            for place, turn in enumerate(said)
            if isinstance(turn, dict) and turn.get("content")
        ],
    }


def _turn_id(session_id: str, place: int) -> str:
    """An id without a character that parts ids in a list of evidence."""
    return f"{_BETWEEN_IDS.sub('_', session_id)}:{place}"


def _evidence(
    sessions: list[Any], names: list[str], answering: set[str], ids: list[object]
) -> tuple[str, ...]:
    turns = [
        (_turn_id(name, place), turn, str(given) in answering)
        for name, given, said in zip(names, ids, sessions, strict=True)
        for place, turn in enumerate(said if isinstance(said, list) else [])
        if isinstance(turn, dict) and turn.get("content")
    ]
    marked = tuple(name for name, turn, _ in turns if turn.get("has_answer"))
    return marked or tuple(name for name, _, is_of_answer in turns if is_of_answer)


def _date(value: object, place: int) -> datetime:
    match = _DATE.match(str(value).strip()) if isinstance(value, str) else None
    with suppress(ValueError, OverflowError):
        year, month, day, hour, minute = (int(part or 0) for part in (match.groups() if match else ()))
        if year < FIRST_YEAR_TOO_LATE:
            return datetime(year, month, day, tzinfo=UTC) + timedelta(hours=hour, minutes=minute)
    raise UnknownFormError(
        f"entry {place} has the date {shown(value)}, not one such as '2023/05/20 (Sat) 02:21'. Mend that value."
    )
