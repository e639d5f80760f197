"""The user's consent: tools that act as the user's word show what changes and ask, in both eras of the protocol."""

from typing import Final

from mcp.server.mcpserver import AcceptedElicitation, CancelledElicitation, Context, Elicit, ElicitationResult
from pydantic import BaseModel, Field

from slowwave.interfaces.mcp.calls import RefusalError

NOT_AGREED: Final = "the user did not agree: nothing was changed, and do not ask again"
_ALONE: Final = "so nothing was changed: the user can run `slowwave {}` in a shell"


class Sure(BaseModel):
    """The answer of the person who is asked."""

    agree: bool = Field(description="Do it, as your own word.")


Agreement = ElicitationResult[Sure]
"""The answer of the person, or that none was asked or given."""


def can_ask(ctx: Context) -> bool:
    """Return whether the client can show the person a form."""
    capabilities = ctx.client_capabilities
    way = capabilities.elicitation if capabilities is not None else None
    return way is not None and (way.form is not None or way.url is None)  # one that names no way shows forms


def question(*lines: str) -> Elicit[Sure]:
    """The question of a tool, line by line."""
    return Elicit("\n".join(lines), Sure)


def refuse_unless_agreed(ctx: Context, sure: Agreement, command: str) -> None:
    """Refuse what the user did not agree to. A client that nobody sits at cancels the question.

    Raises:
        RefusalError: no clear yes was given, or the client cannot ask.
    """
    if not can_ask(ctx):
        raise RefusalError(f"this client cannot ask the user, {_ALONE.format(command)}")
    if isinstance(sure, CancelledElicitation):
        raise RefusalError(f"nobody answered the question, {_ALONE.format(command)}")
    if not (isinstance(sure, AcceptedElicitation) and sure.data.agree):
        raise RefusalError(NOT_AGREED)
