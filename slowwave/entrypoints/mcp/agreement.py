"""The question to the user before a tool acts as his word: one way to ask, in both eras of the protocol.

Where the client cannot ask, each tool says what becomes of it: nothing, or a change that is the assistant's word.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from mcp.server.mcpserver import (
    AcceptedElicitation,
    CancelledElicitation,
    Context,
    Elicit,
    ElicitationResult,
    Resolve,
)
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

NOT_AGREED: Final = "the user did not agree: nothing was changed, and it is not to be asked again"
_BY_HIMSELF: Final = "the user can run `slowwave {}` in a shell"


class Sure(BaseModel):
    """The answer of the person who is asked."""

    agree: bool = Field(description="Do it, as your own word.")


Agreement = ElicitationResult[Sure]
"""What came of the question: the answer of the person, or that none was asked or given."""

Question = Callable[[Mapping[str, Any]], Awaitable[str | None]]
"""The question of a call with these arguments; None where it needs no agreement."""


def asks_user(name: str, parameters: Sequence[inspect.Parameter], question: Question) -> Resolve:
    """The question of a tool, which the SDK asks before the call; a client that cannot ask is left in peace."""

    async def ask_back(ctx: Context, **given: Any) -> Elicit[Sure] | Sure:
        told = await question(given) if can_ask(ctx) else None
        return Sure(agree=False) if told is None else Elicit(told, Sure)

    own = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context)
    returned = Elicit[Sure] | Sure
    ask_back.__name__ = ask_back.__qualname__ = f"ask_before_{name}"
    # the SDK gives it the tool's arguments by their names
    plain = [one.replace(default=inspect.Parameter.empty) for one in parameters]
    ask_back.__signature__ = inspect.Signature([*plain, own], return_annotation=returned)  # type: ignore[attr-defined]
    ask_back.__annotations__ = {one.name: one.annotation for one in (*plain, own)} | {"return": returned}
    return Resolve(ask_back)


def can_ask(ctx: Context) -> bool:
    """Return whether the client can show the person a form."""
    capabilities = ctx.client_capabilities
    way = capabilities.elicitation if capabilities is not None else None
    return way is not None and (way.form is not None or way.url is None)  # one that names no way shows forms


def refuse_unless_agreed(sure: Agreement, command: str) -> None:
    """Refuse what the person who was asked did not agree to. A client that nobody sits at cancels the question.

    Raises:
        ToolError: he did not.
    """
    if isinstance(sure, CancelledElicitation):
        raise ToolError(
            f"nobody answered the question, so nothing was changed: {_BY_HIMSELF.format(command)}"
        )
    if not (isinstance(sure, AcceptedElicitation) and sure.data.agree):
        raise ToolError(NOT_AGREED)


def refuse_if_mute(ctx: Context, command: str) -> None:
    """Refuse what only the user may do where the client has no way to ask him.

    Raises:
        ToolError: it cannot ask.
    """
    if not can_ask(ctx):
        raise ToolError(
            f"this client cannot ask the user back, so nothing was changed: {_BY_HIMSELF.format(command)}"
        )


def is_no_answer(error: ToolError) -> bool:
    """Return whether the client sent something that answers no question: the SDK's refusal names its own parts."""
    return isinstance(error.__cause__, ToolError) and str(error.__cause__).startswith("Resolver ")
