"""Calls that come in over the socket, answered from one memory."""

from typing import Any, get_args

from pydantic_core import to_jsonable_python

from slowwave.entrypoints.resident.client import Reading, Writing
from slowwave.errors import InputError, SlowwaveError
from slowwave.memory import Memory

REQUEST_SECONDS = 10
"""Seconds in which a request must arrive, and its answer be taken."""

OPERATIONS = (*get_args(Reading), *get_args(Writing))


def answered(memory: Memory, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request, or the class and message of the error."""
    operation = request.get("ask")
    try:
        if operation not in OPERATIONS:
            raise InputError("the memory has no such operation")
        answer = getattr(memory, str(operation))(**request["arguments"])
        return {"answer": to_jsonable_python(answer)}
    except SlowwaveError as error:
        return {"error": type(error).__name__, "message": str(error)}
