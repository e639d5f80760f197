"""One call of the memory in a process of its own: `python -m slowwave.entrypoints.mcp.alone HOME`, JSON in and out."""

import json
import os
import sys
from typing import Any, get_args

from pydantic_core import to_jsonable_python

from slowwave.entrypoints.resident.client import Reading, call, read
from slowwave.errors import SlowwaveError


def answer_one(home: str, request: dict[str, Any]) -> dict[str, Any]:
    """The reply to a request, in the form of the resident reader's."""
    operation, arguments = request["ask"], request["arguments"]
    try:
        found = (read if operation in get_args(Reading) else call)(home, operation, arguments, Any)
    except SlowwaveError as error:
        return {"error": type(error).__name__, "message": str(error)}
    return {"answer": to_jsonable_python(found)}


if __name__ == "__main__":
    os.umask(0o077)
    print(json.dumps(answer_one(sys.argv[1], json.load(sys.stdin))))
