"""Make a tool of a typed function: a model reads its docstring, and it answers text alone."""

from collections.abc import Callable
from inspect import cleandoc
from typing import Any

from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations


def tool(
    title: str, hints: ToolAnnotations, *, meta: dict[str, Any] | None = None
) -> Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a function."""

    def made(call: Callable[..., Any]) -> Tool:
        description = " ".join(cleandoc(call.__doc__ or "").split())
        return Tool.from_function(
            call, title=title, description=description, annotations=hints, meta=meta, structured_output=False
        )

    return made
