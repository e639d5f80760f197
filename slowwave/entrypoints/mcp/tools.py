"""A tool as data: which method of `Memory` it calls, with which request, and how its answer is told."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel

from slowwave.entrypoints.mcp.agreement import (
    Agreement,
    asks_user,
    can_ask,
    refuse_if_mute,
    refuse_unless_agreed,
)
from slowwave.entrypoints.mcp.arguments import arguments_of, parameters_of
from slowwave.entrypoints.mcp.asking import Ask, Caller, told_to_the_model
from slowwave.schemas.refusals import Request

CallerOf = Callable[[Context], Caller]
"""The caller of a request."""

READ: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
ADD: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
COUNT: Final = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
CHANGE: Final = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)
REMOVE: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)

FOR_A_PERSON: Final = {"anthropic/requiresUserInteraction": True}
"""For Claude Code: what this tool does counts as a person's word, so a person is asked before it runs."""


@dataclass(frozen=True)
class Tool:
    """One tool. `shape` makes of the answer of `Memory` the data for programs, `show` of that data the model's text."""

    name: str
    title: str
    told: str
    hints: ToolAnnotations
    operation: str
    request: type[Request]
    answer: Any
    shaped: type[BaseModel]
    shape: Callable[[Any], BaseModel]
    show: Callable[[Any], str]
    without: tuple[str, ...] = ()
    narrowed: type[Request] | None = None
    meta: Mapping[str, Any] | None = None
    question: Callable[[Ask, Mapping[str, Any]], Awaitable[str]] | None = None
    """The question to the user, whose word it is where he agrees."""
    takes_an_assistants_word: bool = False
    """Where the client cannot ask, it is the assistant's word (`origin`), instead of refused."""


def add_tool(server: MCPServer[Any], tool: Tool, ask: Ask, caller_of: CallerOf) -> None:
    """Offer a tool: its arguments come from its request model, its output schema from its shape."""
    parameters = parameters_of(tool.request, without=tool.without, narrowed=tool.narrowed)

    async def call(*, ctx: Context, **given: Any) -> CallToolResult:
        with told_to_the_model():
            keywords = arguments_of(tool.request, given, caller_of(ctx))
            found = await ask(tool.operation, keywords, tool.answer)
        return result_of(tool.shape(found), tool.show)

    question = tool.question

    async def call_agreed(
        *,
        ctx: Context,
        sure: Annotated[
            Agreement,
            asks_user(tool.name, parameters, partial(question, ask)) if question else None,
        ],
        **given: Any,
    ) -> CallToolResult:
        if can_ask(ctx):
            refuse_unless_agreed(sure, tool.operation)
        elif tool.takes_an_assistants_word:
            given["origin"] = "agent"
        else:
            refuse_if_mute(ctx, tool.operation)
        return await call(ctx=ctx, **given)

    offer(
        server,
        call if question is None else call_agreed,
        tool.name,
        title=tool.title,
        told=tool.told,
        hints=tool.hints,
        meta=tool.meta,
        parameters=parameters,
        shaped=tool.shaped,
    )


def offer(
    server: MCPServer[Any],
    call: Callable[..., Awaitable[CallToolResult]],
    name: str,
    *,
    title: str,
    told: str,
    hints: ToolAnnotations,
    meta: Mapping[str, Any] | None,
    parameters: list[inspect.Parameter],
    shaped: type[BaseModel],
) -> None:
    """Offer a function that takes its context as `ctx`, and beside what it declares itself these parameters."""
    own = [
        one
        for one in inspect.signature(call).parameters.values()
        if one.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    returned = Annotated[CallToolResult, shaped]
    call.__name__ = name
    call.__signature__ = inspect.Signature([*parameters, *own], return_annotation=returned)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in (*parameters, *own)} | {"return": returned}
    server.add_tool(
        call, title=title, description=told, annotations=hints, meta=dict(meta) if meta is not None else None
    )


def result_of(shaped: BaseModel, show: Callable[[Any], str]) -> CallToolResult:
    """The answer as text for the model and as data for programs."""
    return CallToolResult(
        content=[TextContent(type="text", text=show(shaped))],
        structured_content=shaped.model_dump(mode="json"),
    )
