"""Calls that come in over the socket, answered from one memory."""

from collections.abc import Callable
from typing import Any, get_args

from pydantic_core import to_jsonable_python

from slowwave.entrypoints.resident.client import COMMAND, Reading, Writing
from slowwave.entrypoints.resident.commands import Program, run_command
from slowwave.errors import InputError, SlowwaveError
from slowwave.memory import Memory

REQUEST_SECONDS = 10
"""Seconds in which a request must arrive, and its answer be taken."""

READS: tuple[str, ...] = get_args(Reading)
OPERATIONS: tuple[str, ...] = (*READS, *get_args(Writing))
HERE_ONLY = {"stale": True, "stays": True}
"""The reply to what another process must do: whoever listens stays."""


def answered(
    memory: Callable[[], Memory],
    request: dict[str, Any],
    *,
    operations: tuple[str, ...] = OPERATIONS,
    program: Program | None = None,
) -> dict[str, Any]:
    """The answer to one request, or the class and message of the error; `HERE_ONLY` for a command without a program."""
    operation = request.get("ask")
    try:
        if operation == COMMAND:
            ran = program and run_command(program, memory, operations, request["arguments"])
            return {"answer": ran} if ran else HERE_ONLY
        if operation not in OPERATIONS:
            raise InputError("the memory has no such operation")
        if operation not in operations:
            return HERE_ONLY
        answer = getattr(memory(), str(operation))(**request["arguments"])
        return {"answer": to_jsonable_python(answer)}
    except SlowwaveError as error:
        return {"error": type(error).__name__, "message": str(error)}
