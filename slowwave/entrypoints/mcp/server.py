"""The MCP server: every tool, resource and prompt over one way to ask the memory, for whatever transport."""

import logging
import traceback
from collections.abc import Iterable
from importlib import metadata
from typing import Any

from mcp.server import MCPServer
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import (
    ResourceError,
    ToolError,
    UnexpectedResourceError,
    UnexpectedToolError,
)
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    ListResourcesResult,
    PaginatedRequestParams,
    Tool,
)
from pydantic import AnyUrl, ValidationError

from slowwave.entrypoints.mcp import reading, writing
from slowwave.entrypoints.mcp.agreement import NOT_AGREED, is_no_answer
from slowwave.entrypoints.mcp.asking import ASKS, Ask
from slowwave.entrypoints.mcp.erasing import add_erase
from slowwave.entrypoints.mcp.instructions import INSTRUCTIONS
from slowwave.entrypoints.mcp.prompts import add_prompts
from slowwave.entrypoints.mcp.resources import add_resources, listed_resources
from slowwave.entrypoints.mcp.short_schemas import short_input, short_output
from slowwave.entrypoints.mcp.tools import CallerOf, add_tool
from slowwave.schemas.refusals import sentence_of

_log = logging.getLogger("slowwave.mcp")

TOOLS = (*reading.TOOLS, *writing.TOOLS)
"""Every tool but `erase_fact`, in the order in which clients list them."""


def mcp_server(ask: Ask, caller_of: CallerOf) -> MCPServer[Any]:
    """The server of one memory."""
    server = _Server(ask, caller_of)
    for tool in TOOLS:
        add_tool(server, tool, ask, caller_of)
    add_erase(server, ask)
    add_resources(server, ask)
    add_prompts(server, ask, caller_of)
    return server


class _Server(MCPServer[Any]):
    """The SDK's server, with refusals in one line, and resources listed in pages."""

    def __init__(self, ask: Ask, caller_of: CallerOf) -> None:
        super().__init__(
            "slowwave",
            title="Slowwave memory",
            instructions=INSTRUCTIONS,
            version=metadata.version("slowwave"),
            log_level="WARNING",
        )
        self._ask, self._caller_of = ask, caller_of

    async def list_tools(self) -> list[Tool]:
        """List the tools, with schemas that leave an agent's context to the agent."""
        return [
            tool.model_copy(
                update={
                    "input_schema": short_input(tool.input_schema),
                    "output_schema": tool.output_schema and short_output(tool.output_schema),
                }
            )
            for tool in await super().list_tools()
        ]

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
        except UnexpectedToolError as error:
            raise ToolError(_unforeseen(name, error)) from None
        except ToolError as error:
            if is_no_answer(error):
                raise ToolError(NOT_AGREED) from None
            if tool is not None and isinstance(error.__cause__, ValidationError):
                raise ToolError(sentence_of(tool.fn_metadata.arg_model, error.__cause__)) from None
            raise

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read a resource.

        Raises:
            ResourceError: there is none, or what was wrong, in one line.
        """
        if context is not None:
            ASKS.set(self._caller_of(context))
        try:
            return await super().read_resource(uri, context)
        except UnexpectedResourceError as error:
            raise ResourceError(_unforeseen("a resource", error)) from None

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Render a prompt.

        Raises:
            MCPError: there is none, an argument is missing, or what was wrong, in one line.
        """
        prompt = self._prompt_manager.get_prompt(name)
        if prompt is None:
            raise MCPError(code=INVALID_PARAMS, message="there is no such prompt: prompts/list names them")
        for one in prompt.arguments or ():
            if one.required and one.name not in (arguments or {}):
                raise MCPError(code=INVALID_PARAMS, message=f"{one.name} is missing: give it")
        try:
            return await super().get_prompt(name, arguments, context)
        except MCPError:
            raise
        except Exception as error:
            raise MCPError(code=INTERNAL_ERROR, message=_unforeseen(name, error)) from None

    async def _handle_list_resources(
        self,
        ctx: Any,  # the SDK's hook
        params: PaginatedRequestParams | None,
    ) -> ListResourcesResult:
        ASKS.set(self._caller_of(Context(request_context=ctx)))
        return await listed_resources(self._ask, params.cursor if params else None)


def _unforeseen(name: str, error: BaseException) -> str:
    """Tell the log the place of a bug and the client no more than that; its text may quote what is stored."""
    while error.__cause__ is not None:
        error = error.__cause__
    place = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s failed: %s\n%s", name, type(error).__name__, place)
    return f"{name} met an error that nobody foresaw: the log of Slowwave says where"
