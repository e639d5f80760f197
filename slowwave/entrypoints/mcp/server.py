"""The MCP server: every tool, resource and prompt over one way to ask the memory, for whatever transport."""

from importlib import metadata
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, ListResourcesResult, PaginatedRequestParams
from pydantic import BaseModel, ValidationError

from slowwave.entrypoints.mcp import reading, writing
from slowwave.entrypoints.mcp.asking import Ask
from slowwave.entrypoints.mcp.erasing import add_erase
from slowwave.entrypoints.mcp.instructions import INSTRUCTIONS
from slowwave.entrypoints.mcp.prompts import add_prompts
from slowwave.entrypoints.mcp.resources import add_resources, listed_resources
from slowwave.entrypoints.mcp.tools import CallerOf, add_tool
from slowwave.schemas.refusals import sentence_of

TOOLS = (*reading.TOOLS, *writing.TOOLS)
"""Every tool but `erase_fact`, in the order in which clients list them."""


def mcp_server(ask: Ask, caller_of: CallerOf) -> MCPServer[Any]:
    """The server of one memory. `ask` is called from worker threads."""
    server = _Server(ask)
    for tool in TOOLS:
        add_tool(server, tool, ask, caller_of)
    add_erase(server, ask)
    add_resources(server, ask)
    add_prompts(server, ask, caller_of)
    return server


class _Server(MCPServer[Any]):
    """The SDK's server, with refusals in one line, and resources listed in pages."""

    def __init__(self, ask: Ask) -> None:
        super().__init__(
            "slowwave",
            title="Slowwave memory",
            instructions=INSTRUCTIONS,
            version=metadata.version("slowwave"),
            log_level="WARNING",
        )
        self._ask = ask

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool.

        Raises:
            ToolError: what was wrong, in one line without the caller's values.
        """
        tool = self._tool_manager.get_tool(name)
        known = list(tool.fn_metadata.arg_model.model_fields) if tool else []
        unknown = sorted(set(arguments) - set(known))
        if tool is not None and unknown:
            raise ToolError(
                f"{unknown[0][:40]} is no argument of {name}: choose of {', '.join(known) or 'none'}"
            )
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if tool is not None and isinstance(error.__cause__, ValidationError):
                model: type[BaseModel] = tool.fn_metadata.arg_model
                raise ToolError(sentence_of(model, error.__cause__)) from None
            raise

    async def _handle_list_resources(
        self,
        ctx: Any,  # the SDK's hook
        params: PaginatedRequestParams | None,
    ) -> ListResourcesResult:
        return await listed_resources(self._ask, params.cursor if params else None)
