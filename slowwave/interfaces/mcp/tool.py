"""How a tool is offered: its docstring is what a model reads of it, and it answers text alone."""

from collections.abc import Callable
from inspect import cleandoc
from typing import Any, TypeVar

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

Call = TypeVar("Call", bound=Callable[..., Any])


def tool(
    server: MCPServer[Any], title: str, hints: ToolAnnotations, *, meta: dict[str, Any] | None = None
) -> Callable[[Call], Call]:
    """Offer a typed function as a tool."""

    def offered(call: Call) -> Call:
        told = " ".join(cleandoc(call.__doc__ or "").split())
        return server.tool(
            title=title, description=told, annotations=hints, meta=meta, structured_output=False
        )(call)

    return offered
