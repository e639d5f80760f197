"""Question sets: LoCoMo's form, LongMemEval's, and the one that `slowwave/schemas/questions.py` documents.

Other forms are turned into ours, so that all meet the same checks. Whether evidence can be found depends on what was
ingested, and is decided in `slowwave/measure.py`.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from benchmarks.locomo import SHOWN_CHARACTERS, UnknownFormError, from_locomo, is_locomo
from benchmarks.longmemeval import from_longmemeval, is_longmemeval
from slowwave.errors import InputError
from slowwave.ingest.files import shown_path
from slowwave.schemas.questions import QuestionSet

Fields = dict[str, Any]


def read_question_set(path: Path) -> QuestionSet:
    """The questions of a file in any of the forms; JSONL has one conversation a line.

    Raises:
        InputError: It cannot be read, is not JSON, has none of the forms, or a value in it is not usable.
    """
    try:
        given = _parsed(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{shown_path(path)} cannot be read ({error.strerror}): check the path.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{shown_path(path)} is not JSON ({error}): give a question set as benchmarks/README.md shows it"
        ) from error
    try:
        found = QuestionSet.model_validate(_in_our_form(given))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part)[:SHOWN_CHARACTERS] for part in first["loc"]) or "the whole"
        place = " ".join(place.split())
        raise InputError(
            f"{shown_path(path)} is no question set: {place}: {first['msg']}. Mend that value."
        ) from error
    except UnknownFormError as error:
        raise InputError(f"{shown_path(path)} is no question set: {error}") from error
    _check_ids(found, path)
    return found


def _parsed(text: str) -> object:
    """The JSON of a text, or the objects of its lines as a list."""
    try:
        return json.loads(text)
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise
        return [json.loads(line) for line in lines]


def _in_our_form(given: object) -> object:
    """One object with `conversations`, whatever form came in.

    Raises:
        UnknownFormError: it is a list with an entry of no known form.
    """
    if isinstance(given, list):
        return {"conversations": [_conversation(entry, place) for place, entry in enumerate(given)]}
    if isinstance(given, dict) and "questions" in given and "conversations" not in given:
        return {"conversations": [given]}
    return given


def _conversation(entry: object, place: int) -> object:
    if isinstance(entry, dict) and is_locomo(entry):
        return from_locomo(entry, place)
    if isinstance(entry, dict) and is_longmemeval(entry):
        return from_longmemeval(entry, place)
    if isinstance(entry, dict) and "questions" in entry:
        return entry
    raise UnknownFormError(
        f"entry {place} of the list has no `conversation` and `qa` (LoCoMo), no `haystack_sessions` and "
        "`haystack_dates` (LongMemEval) and no `questions` (our own). Give one of these forms."
    )


def _check_ids(found: QuestionSet, path: Path) -> None:
    """One id is one message, or evidence would mean several."""
    for conversation in found.conversations:
        named = Counter(turn.id for session in conversation.sessions for turn in session.turns)
        for twice in (name for name, count in named.items() if count > 1):
            raise InputError(
                f"{shown_path(path)} is no question set: the turn id {twice[:SHOWN_CHARACTERS]!r} stands twice in "
                f"{conversation.name[:SHOWN_CHARACTERS]!r}. Give each turn of a conversation its own id."
            )
