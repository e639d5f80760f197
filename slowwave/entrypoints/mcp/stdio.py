"""`slowwave mcp`: MCP over stdin and stdout. The process holds no store: it asks the server, or the resident reader.

A harness starts one such process for each session, and they live for hours. So nothing here imports a table or an
embedder: where nobody listens for the home, a process of its own answers the one call (`alone.py`).
"""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from anyio.to_thread import run_sync
from mcp.server.mcpserver import Context
from pydantic import TypeAdapter

from slowwave import errors
from slowwave.entrypoints.mcp.asking import Ask, Caller
from slowwave.entrypoints.mcp.server import mcp_server
from slowwave.entrypoints.output import LostOutputError
from slowwave.entrypoints.resident.client import ask_server
from slowwave.entrypoints.resident.wire import PACKAGE, WRITE_SECONDS
from slowwave.settings.place import home_folder
from slowwave.settings.projects import repository_project
from slowwave.settings.tree import load_settings

ALONE = "slowwave.entrypoints.mcp.alone"


def serve_stdio(home: str | None) -> None:
    """Answer one client until it closes the input. The process is one conversation."""
    caller = Caller(f"mcp-{uuid4().hex[:12]}", project=_project(home))

    def caller_of(_: Context) -> Caller:
        return caller

    try:
        mcp_server(ask_home(home), caller_of).run("stdio")
    except BaseExceptionGroup as group:  # the SDK writes to a descriptor of its own
        lost: BaseException | None = group.subgroup(OSError)
        while isinstance(lost, BaseExceptionGroup):
            lost = lost.exceptions[0]
        if lost is None:
            raise
        raise LostOutputError from lost


def ask_home(home: str | None) -> Ask:
    """Ask the memory of a home, wherever it is warm."""

    def wherever(operation: Any, arguments: dict[str, Any], answer: Any) -> Any:
        said = ask_server(home, operation, arguments)
        found = said[0] if said else _ask_alone(str(home_folder(home).resolve()), operation, arguments)
        return TypeAdapter(answer).validate_python(found)

    async def ask(operation: str, arguments: dict[str, Any], answer: Any) -> Any:
        return await run_sync(partial(wherever, operation, arguments, answer))

    return ask


def _project(home: str | None) -> str | None:
    """The folder in which the client works; None outside of any repository, or where the home keeps to one project."""
    try:
        folder = os.environ.get("CLAUDE_PROJECT_DIR") or str(Path.cwd())
    except OSError:  # the folder is gone
        return None
    is_followed = load_settings(home).owner.project_from == "repository"
    return folder if is_followed and repository_project(folder) is not None else None


def _ask_alone(home: str, operation: str, arguments: dict[str, Any]) -> Any:
    """The answer of a process of its own, which first looks for a reader, and starts one where that is wanted.

    Raises:
        TransientError: it gave none; its last line of errors says why.
        SlowwaveError: what answering raised.
    """
    request = json.dumps({"ask": operation, "arguments": arguments})
    try:
        done = subprocess.run(  # noqa: S603 # our own module, with our own interpreter
            [sys.executable, "-m", ALONE, home],
            input=request.encode(),
            capture_output=True,
            timeout=WRITE_SECONDS,
            check=False,
            cwd=PACKAGE.parent,
        )
        said = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise errors.TransientError("the memory gave no answer: `slowwave doctor` says why") from error
    if "error" in said:
        raise getattr(errors, said["error"])(said["message"])
    return said["answer"]
