"""Question sets with evidence: LoCoMo's form, and the one that `slowwave/schemas/questions.py` documents.

LoCoMo's form is turned into ours, so that both meet the same checks. Whether evidence can be found depends on what
was ingested, and is decided in `slowwave/evaluation/retrieval.py`.
"""

import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from slowwave.errors import InputError
from slowwave.readers.files import open_bytes, shown_path
from slowwave.schemas.questions import QuestionSet

LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}
"""Maharana and others, 2024: what the numbers of LoCoMo's questions mean."""

_SESSION = re.compile(r"session_\d+")
_SESSION_TIME = "%I:%M %p on %d %B, %Y"

Fields = dict[str, Any]


def read_question_set(path: Path) -> QuestionSet:
    """The questions of a file in either form.

    Raises:
        NotFoundError: there is no such file.
        InputError: it is not JSON, has neither form, or a value in it is not usable.
    """
    with open_bytes(path) as file:
        raw = file.read()
    try:
        given: object = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{shown_path(path)} is not JSON ({error}): give a question set as benchmarks/README.md shows it"
        ) from error
    try:
        if isinstance(given, list):
            given = {"conversations": [_from_locomo(entry, place) for place, entry in enumerate(given)]}
        elif isinstance(given, dict) and "questions" in given and "conversations" not in given:
            given = {"conversations": [given]}
        found = QuestionSet.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise InputError(
            f"{shown_path(path)} is no question set: {place}: {first['msg']}. Mend that value."
        ) from error
    except _NotLocomoError as error:
        raise InputError(f"{shown_path(path)} is no question set: {error}") from error
    _check_ids(found, path)
    return found


class _NotLocomoError(ValueError):
    """A list that is not LoCoMo's form."""


def _from_locomo(entry: object, place: int) -> Fields:
    parts = entry if isinstance(entry, dict) else {}
    said, questions = parts.get("conversation"), parts.get("qa")
    if not isinstance(said, dict) or not isinstance(questions, list):
        raise _NotLocomoError(
            f"entry {place} of the list has no `conversation` and `qa`. Give LoCoMo's form or our own."
        )
    names = [name for name, turns in said.items() if _SESSION.fullmatch(name) and isinstance(turns, list)]
    observed = parts.get("observation")
    return {
        "name": str(parts.get("sample_id") or f"conversation {place + 1}"),
        "sessions": [
            {
                "session_id": name,
                "turns": [
                    _turn(turn, _time(said.get(f"{name}_date_time"), name), said.get("speaker_b"))
                    for turn in said[name]
                ],
            }
            for name in names
        ],
        "memories": _memories(observed) if isinstance(observed, dict) else [],
        "questions": [_question(entry) for entry in questions],
    }


def _turn(turn: object, timestamp: datetime, second_speaker: object) -> Fields:
    """A message; the caption of its picture is part of its text."""
    parts = turn if isinstance(turn, dict) else {}
    caption, text = parts.get("blip_caption"), parts.get("text")
    if isinstance(text, str) and isinstance(caption, str) and caption.strip():
        text = f"{text} [shares a picture: {caption.strip()}]".strip()
    speaker = parts.get("speaker")
    return {
        "id": parts.get("dia_id"),
        "content": text,
        "timestamp": timestamp,
        "speaker": speaker,
        "role": "assistant" if speaker == second_speaker else "user",
    }


def _time(value: object, session: str) -> datetime:
    try:
        return datetime.strptime(str(value).strip(), _SESSION_TIME).replace(tzinfo=UTC)
    except ValueError as error:
        raise _NotLocomoError(
            f"`{session}_date_time` is {value!r}, not a time such as '1:56 pm on 8 May, 2023'. Mend that value."
        ) from error


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
    category = parts.get("category")
    known = LOCOMO_CATEGORIES.get(category) if isinstance(category, int) else None
    return {
        "question": parts.get("question"),
        "evidence": parts.get("evidence") or (),
        "category": known or str(category),
    }


def _check_ids(found: QuestionSet, path: Path) -> None:
    """One id is one message, or evidence would mean several."""
    for conversation in found.conversations:
        named = Counter(turn.id for session in conversation.sessions for turn in session.turns)
        for twice in (name for name, count in named.items() if count > 1):
            raise InputError(
                f"{shown_path(path)} is no question set: the turn id {twice!r} stands twice in "
                f"{conversation.name!r}. Give each turn of a conversation its own id."
            )
