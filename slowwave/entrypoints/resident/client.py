"""One call from outside to a memory: `slowwave serve` or a reader that stays answers it, else this process does.

Importing LanceDB and opening a store takes seconds, answering takes milliseconds. So a server of the home answers
every call of the command line from its warm memory (`slowwave serve`). Where none runs, the first question of a while
starts a reader, which answers it and the next ones: it listens on the same Unix socket, which only this user can open,
answers until nobody asked for `search.resident_minutes`, and leaves as soon as the program, the settings or the home
are other than the ones it started with. With `0` minutes none is started, and where none comes up the process that
asks reads itself. What writes never starts a reader, and is carried out here where no server runs.

Whoever listens sends each caller an empty line at once, so that it knows within seconds whether anybody is there.
One request is a line of JSON, and so is its answer: `{"print": ..., "ask": ..., "arguments": {...}}` gives
`{"answer": {...}}`, `{"error": class, "message": ...}`, or `{"stale": true}`, with `"stays": true` where whoever
listens goes on without answering: a server that was started with other settings, a reader that was asked to write.
"""

from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, TypeAdapter

from slowwave import errors
from slowwave.entrypoints.caller import memory_for
from slowwave.entrypoints.resident.wire import (
    ANSWER_SECONDS,
    WRITE_SECONDS,
    ask,
    exchange,
    request_of,
    socket_path,
)
from slowwave.settings.place import home_folder

Reading = Literal[
    "search", "context", "entity", "timeline", "explain", "weak", "archived", "stats", "status", "topics", "core",
    "replacements", "contradictions", "quarantine", "cell", "cells", "entities", "episodes",
]  # fmt: skip
"""Methods of `Memory` that change nothing but what was used; those that note it give a model with notes."""

Writing = Literal[
    "remember", "correct", "confirm", "forget", "erase", "resolve", "unresolve", "cite", "ignore", "settle", "record",
    "ingest", "release",
]  # fmt: skip
"""Methods of `Memory` that write: a server answers them, a reader that stays does not."""

Operation = Reading | Writing

COMMAND = "command"
"""The operation that runs a command line for the process in which it was typed (`commands.py`)."""

Answer = TypeVar("Answer")


def read(home: str | None, operation: Reading, arguments: dict[str, Any], answer: type[Answer]) -> Answer:
    """Answer as `Memory` does, by who listens for this home, or a reader that is started now; else this process.

    Raises:
        SlowwaveError: what answering raised.
    """
    if (memory := memory_for(home, operation)) is not None:
        found: Answer = getattr(memory, operation)(**arguments)
        return found
    folder = home_folder(home).resolve()
    said = ask(
        folder, request_of(folder, operation, arguments), may_leave_reader=lambda: _may_leave_reader(home)
    )
    if said is not None and not said.get("stale"):
        return _told(said, answer)
    found = _alone(home, operation, arguments)
    return found  # noqa: RET504 # of the type that was asked for


def call(home: str | None, operation: Operation, arguments: dict[str, Any], answer: type[Answer]) -> Answer:
    """Do as `Memory` does, by the server of this home where one runs; else in this process. Starts no reader.

    Raises:
        TransientError: the server left while it was to write: it may have done what was asked, or not.
        SlowwaveError: what the operation raised.
    """
    said = ask_server(home, operation, arguments)
    return (
        _alone(home, operation, arguments) if said is None else TypeAdapter(answer).validate_python(said[0])
    )


def ask_server(home: str | None, operation: Operation, arguments: dict[str, Any]) -> tuple[Any] | None:
    """The answer of whoever listens for this home, alone in a tuple; None where nobody does that can answer.

    A question that was left without an answer may be asked again elsewhere; of a write that is an error, as of `call`.
    """
    if (memory := memory_for(home, operation)) is not None:
        return (getattr(memory, operation)(**arguments),)
    folder, writes = home_folder(home).resolve(), operation in get_args(Writing)
    seconds = WRITE_SECONDS if writes else ANSWER_SECONDS
    said = exchange(socket_path(folder), request_of(folder, operation, arguments), seconds, is_once=writes)
    return None if said is None or said.get("stale") else (_answer_of(said),)


def _may_leave_reader(home: str | None) -> bool:
    from slowwave.settings.tree import load_settings

    return load_settings(home).search.resident_minutes != 0


def _alone(home: str | None, operation: Operation, arguments: dict[str, Any]) -> Any:
    """The answer of this process."""
    from slowwave.memory import Memory

    with Memory(home) as memory:
        result = getattr(memory, operation)(**arguments)
        try:
            memory.flush()
        except errors.TransientError as error:
            result = _with_note(result, f"its use is not noted: {error}")
    return result


def _with_note(result: Any, note: str) -> Any:
    """An answer that has notes with one more; any other as it is."""
    if isinstance(result, BaseModel) and "notes" in type(result).model_fields:
        notes = [*result.model_dump(include={"notes"})["notes"], note]
        return result.model_copy(update={"notes": notes})
    return result


def _told(said: dict[str, Any], answer: type[Answer]) -> Answer:
    return TypeAdapter(answer).validate_python(_answer_of(said))


def _answer_of(said: dict[str, Any]) -> Any:
    if "error" in said:
        raise getattr(errors, said["error"])(said["message"])
    return said["answer"]
