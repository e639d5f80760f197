"""Question sets that bring their sessions: LoCoMo's form, LongMemEval's, and our own.

Other forms are turned into ours, so that all meet the same checks. Whether evidence can be found depends on what was
ingested, and is decided in `slowwave/measure.py`.

Our own form is one JSON object:

    {"conversations": [{
        "name": "kiln",
        "sessions": [{"session_id": "june", "turns": [
            {"id": "a1", "speaker": "Mara", "content": "Kiln 2 runs at 1040 degrees.",
             "timestamp": "2026-06-05T09:00:00Z"}]}],
        "memories": [{"content": "Kiln 2 runs at 1040 degrees.", "evidence": ["a1"]}],
        "questions": [{"question": "How hot is kiln 2?", "answer": "1040 degrees", "evidence": ["a1"],
                       "category": "number"}]}]}

As JSONL, each line is one such conversation. A conversation without sessions asks about a memory that is there
already: its evidence are turn ids of that home.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from benchmarks.locomo import SHOWN_CHARACTERS, UnknownFormError, from_locomo, is_locomo
from benchmarks.longmemeval import from_longmemeval, is_longmemeval
from slowwave.errors import InputError
from slowwave.ingest.files import shown_path
from slowwave.schemas.questions import Ids, Question, Text
from slowwave.schemas.refusals import Frozen
from slowwave.schemas.search import Moment

Fields = dict[str, Any]


class SaidTurn(Frozen):
    """One message of a question set's session."""

    id: Text = Field(description="Unique in its conversation; evidence names it.")
    content: Text
    timestamp: Moment = Field(description="When it was said; without a zone it is UTC.")
    speaker: str | None = None
    role: Literal["user", "assistant"] = "user"


class SaidSession(Frozen):
    """One session of a question set, its messages in order."""

    session_id: Text
    turns: tuple[SaidTurn, ...]


class GivenMemory(Frozen):
    """A memory that someone else made of the sessions, with the messages that it came from."""

    content: Text
    evidence: Ids


class Conversation(Frozen):
    """Questions about one memory: its own sessions, or a home that is there already."""

    name: Text = "questions"
    sessions: tuple[SaidSession, ...] = ()
    memories: tuple[GivenMemory, ...] = ()
    questions: tuple[Question, ...]


class QuestionSet(Frozen):
    """All conversations of a file."""

    conversations: tuple[Conversation, ...] = Field(min_length=1)

    @property
    def brings_sessions(self) -> bool:
        """Return whether it is asked in homes of its own."""
        return any(conversation.sessions for conversation in self.conversations)


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
