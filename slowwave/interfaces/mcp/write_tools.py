"""The tools that change the memory. What an agent says by itself is never taken for a person's word.

Correct, confirm, forget, resolve and erase count as the user's decision where the client asked the user, who agreed.
From a client that cannot ask, a correction or a confirmation is the assistant's word, and the others are refused.
"""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from mcp.server.mcpserver import (
    AcceptedElicitation,
    CancelledElicitation,
    Context,
    Elicit,
    ElicitationResult,
    Resolve,
)
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from slowwave.interfaces.mcp.calls import RefusalError, conversation_of, read, shown, tool, write
from slowwave.interfaces.mcp.read_tools import CellId
from slowwave.interfaces.rendering.agents import one_line
from slowwave.memory import Memory
from slowwave.schemas.choices import CellType, CorrectionReason, Resolution
from slowwave.schemas.moments import day_of
from slowwave.schemas.refusals import Switch
from slowwave.schemas.report import several, several_memories
from slowwave.schemas.results import Cell, Erased

NOT_AGREED: Final = "the user did not agree: nothing was changed, and do not ask again"

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

SHOWN_CHARACTERS: Final = 300
MOST_SHOWN: Final = 5
"""Characters of a text in a question, and texts that go with it."""

Subject = Annotated[str, Field(description="The person or thing that it is about.")]
Attribute = Annotated[
    str, Field(description="The property of the subject that it states: another value replaces it later.")
]
Value = Annotated[str, Field(description="The value of that property.")]
Reason = Annotated[str, Field(description="Your reason; kept with the memory.")]


@tool("Remember a fact", ADD)
async def remember_fact(
    ctx: Context,
    text: Annotated[
        str,
        Field(max_length=4_000, description="One or two whole sentences that can be understood alone."),
    ],
    cell_type: Annotated[CellType, Field(description="The type of memory.")] = "fact",
    entities: Annotated[tuple[str, ...], Field(description="People, projects and things it names.")] = (),
    subject: Subject = "",
    attribute: Attribute = "",
    value: Value = "",
    origin: Annotated[
        Literal["reported", "agent"],
        Field(description="reported: the user said it to you; agent: your own finding or conclusion."),
    ] = "agent",
    project: Annotated[
        str, Field(description="`*` where it is true in all projects (default: this one).")
    ] = "",
) -> str:
    """Keep something for later conversations: a decision with its reason, a preference, a fact, a task, a finding.

    Write names and dates instead of 'it' and 'today'; secrets are redacted. Search first: what is known and has
    changed is corrected, not remembered again.
    """
    found = await write(ctx, Memory.remember, text, cell_type=cell_type, origin=origin, entities=entities,
        subject=subject, attribute=attribute, value=value, project=project,
    )  # fmt: skip
    return shown(found)


@tool("Cite memories", COUNT)
async def cite(
    ctx: Context,
    cell_ids: Annotated[
        tuple[str, ...],
        Field(description="Ids of memories or messages; their first 6 or more characters are enough."),
    ],
) -> str:
    """Say which memories, or quoted messages, helped in your answer, by their ids.

    They are kept longest, and what is never used fades. Call it once at the end.
    """
    cited = await write(ctx, Memory.cite, cell_ids, conversation_of(ctx))
    return f"Noted: {len(cited)} cited."


class Sure(BaseModel):
    """The answer of the person who is asked."""

    agree: bool = Field(description="Do it, as your own word.")


Agreement = ElicitationResult[Sure]
"""The answer of the person, or that none was asked or given."""

Question = Elicit[Sure] | Sure
"""The question to the person, or what counts as the answer where none can be asked."""


def _can_ask(ctx: Context) -> bool:
    """Return whether the client can show the person a form."""
    capabilities = ctx.client_capabilities
    way = capabilities.elicitation if capabilities is not None else None
    return way is not None and (way.form is not None or way.url is None)  # one that names no way shows forms


def _question(ctx: Context, *lines: str) -> Question:
    """The question of a tool, line by line; a no where the client cannot ask."""
    return Elicit("\n".join(lines), Sure) if _can_ask(ctx) else Sure(agree=False)


def _refuse_unless_agreed(ctx: Context, sure: Agreement, command: str) -> None:
    """Refuse what the user did not agree to. A client that nobody sits at cancels the question.

    Raises:
        RefusalError: no clear yes was given, or the client cannot ask.
    """
    alone = f"so nothing was changed: the user can run `slowwave {command}` in a shell"
    if not _can_ask(ctx):
        raise RefusalError(f"this client cannot ask the user, {alone}")
    if isinstance(sure, CancelledElicitation):
        raise RefusalError(f"nobody answered the question, {alone}")
    if not (isinstance(sure, AcceptedElicitation) and sure.data.agree):
        raise RefusalError(NOT_AGREED)


def _origin(ctx: Context, sure: Agreement, command: str) -> str:
    """Origin of an edit: the user who agreed, or the assistant where the client cannot ask.

    Raises:
        RefusalError: the user was asked and did not agree.
    """
    if not _can_ask(ctx):
        return "agent"
    _refuse_unless_agreed(ctx, sure, command)
    return "user"


async def _ask_correct(ctx: Context, cell_id: str, text: str, reason: str | None, since: str) -> Question:
    found = await read(ctx, Memory.correct, cell_id, text, dry_run=True, reason=reason, since=since)
    until = "was never true" if found.since is None else f"was true until {day_of(found.since)}"
    return _question(
        ctx,
        "Replace a memory, as your word?",
        f"- {await _content(ctx, cell_id)}",
        f"+ {_clipped(text)}",
        *([f"The old one {until}."] if found.reason is not None else []),
        *_listed("These are no longer shown:", found.left_out),
    )


@tool("Correct a memory", CHANGE, meta=FOR_A_PERSON)
async def correct_fact(
    ctx: Context,
    sure: Annotated[Agreement, Resolve(_ask_correct)],
    cell_id: CellId,
    text: Annotated[
        str,
        Field(max_length=4_000, description="What is right, as a sentence that can be understood alone."),
    ],
    reason: Annotated[
        CorrectionReason | None,
        Field(
            description="changed: it was true until then; wrong: it never was (default: the words decide)."
        ),
    ] = None,
    since: Annotated[str, Field(description="Day of the change: 2026-05-01, last_week.")] = "",
    subject: Subject = "",
    attribute: Attribute = "",
    value: Value = "",
    note: Reason = "",
) -> str:
    """Replace a memory that is out of date (reason changed, since a day) or wrong; the old one stays in history.

    The user is asked: a yes makes it the user's word. A client that cannot ask records yours, as a contradiction
    of what a person said.
    """
    origin = _origin(ctx, sure, "correct")
    stated = {"subject": subject, "attribute": attribute, "value": value}
    found = await write(
        ctx, Memory.correct, cell_id, text, reason=reason, since=since, note=note, origin=origin, **stated
    )
    return shown(found)


async def _ask_confirm(ctx: Context, cell_id: str) -> Question:
    content = await _content(ctx, cell_id)
    return _question(ctx, "Is this right, and to be kept for good as your word?", f"- {content}")


@tool("Confirm a memory", COUNT, meta=FOR_A_PERSON)
async def confirm_fact(
    ctx: Context, sure: Annotated[Agreement, Resolve(_ask_confirm)], cell_id: CellId, note: Reason = ""
) -> str:
    """Note that the user says a memory is true: it never fades, and nothing replaces it without asking.

    The user is asked; from a client that cannot ask it is your word and protects nothing.
    """
    origin = _origin(ctx, sure, "confirm")
    return shown(await write(ctx, Memory.confirm, cell_id, note=note, origin=origin))


async def _ask_forget(ctx: Context, cell_id: str, only: str) -> Question:
    found = await read(ctx, Memory.forget, cell_id, only=only, dry_run=True)
    return _question(ctx, "Delete this memory, also if it is said again?", f"- {_clipped(found.content)}")


@tool("Forget a memory", REMOVE, meta=FOR_A_PERSON)
async def forget_fact(
    ctx: Context,
    sure: Annotated[Agreement, Resolve(_ask_forget)],
    cell_id: CellId,
    only: Annotated[
        str, Field(description="Of a memory that is raw talk: words of the part that goes.")
    ] = "",
    note: Reason = "",
) -> str:
    """Delete a memory: it stays out even if it is said again. The messages remain; erase_fact takes them too.

    Only when the user wants it, who is asked.
    """
    _refuse_unless_agreed(ctx, sure, "forget")
    return shown(await write(ctx, Memory.forget, cell_id, only=only, note=note))


async def _ask_resolve(ctx: Context, contradiction_id: str, resolution: Resolution, text: str) -> Question:
    found = await read(ctx, Memory.contradictions, has_resolved=True)
    named = [one for one in found if one.contradiction_id.startswith(contradiction_id.strip() or "?")]
    if len(named) != 1:
        state = "no contradiction" if not named else f"{len(named)} contradictions"
        raise RefusalError(
            f"{state} begins with {contradiction_id[:60]!r}: the tool contradictions shows the ids"
        )
    sides = [
        f"{name}: {_clipped(one.content)}" for name, one in (("a", named[0].a), ("b", named[0].b)) if one
    ]
    merged = [f"merged: {_clipped(text)}"] if text else []
    return _question(ctx, f"End this contradiction by {resolution}, as your word?", *sides, *merged)


@tool("Resolve a contradiction", CHANGE, meta=FOR_A_PERSON)
async def resolve_contradiction(
    ctx: Context,
    sure: Annotated[Agreement, Resolve(_ask_resolve)],
    contradiction_id: Annotated[
        str, Field(description="Id of a contradiction; its first 6 or more characters are enough.")
    ],
    resolution: Annotated[
        Resolution, Field(description="a_wins, b_wins, both_valid, or merged (a new text replaces both).")
    ],
    text: Annotated[str, Field(description="The text that replaces both; only for merged.")] = "",
    note: Reason = "",
) -> str:
    """End a contradiction as the user decided, who is asked to agree; the side that loses is superseded.

    Never choose a side yourself.
    """
    _refuse_unless_agreed(ctx, sure, "resolve")
    found = await write(ctx, Memory.resolve, contradiction_id, resolution, text=text, note=note)
    return shown(found)


async def _ask_erase(
    ctx: Context, cell_id: str, turn_id: str, session_id: str, text: str, dry_run: bool
) -> Question:
    if dry_run:
        return Sure(agree=False)
    asked = _one_of(cell_id=cell_id, turn_id=turn_id, session_id=session_id, text=text)
    found: Erased = await read(ctx, Memory.erase, dry_run=True, **asked)
    counts = f"{several(len(found.turn_ids), 'message')} and {several_memories(len(found.cell_ids))}"
    return _question(
        ctx,
        *_listed(f"Erase {counts} for good? This cannot be undone. It begins:", found.shown),
        *_listed("Without it this is believed again:", found.revived),
    )


@tool("Erase for good", REMOVE, meta=FOR_A_PERSON)
async def erase_fact(
    ctx: Context,
    sure: Annotated[Agreement, Resolve(_ask_erase)],
    cell_id: Annotated[str, Field(description="A memory, with the messages it was made from.")] = "",
    turn_id: Annotated[str, Field(description="One message.")] = "",
    session_id: Annotated[str, Field(description="A whole conversation.")] = "",
    text: Annotated[str, Field(description="Every message and memory that contains this text.")] = "",
    dry_run: Annotated[Switch, Field(description="Show what would go, and change nothing.")] = False,
) -> str:
    """Erase what was said down to the bytes, with all that rests on it, for good. Name one of the four.

    Only when the user wants it, who is shown what goes and asked.
    """
    asked = _one_of(cell_id=cell_id, turn_id=turn_id, session_id=session_id, text=text)
    if not dry_run:
        _refuse_unless_agreed(ctx, sure, "erase")
    lane = read if dry_run else write
    return shown(await lane(ctx, Memory.erase, dry_run=dry_run, **asked))


def _one_of(**named: str) -> dict[str, str]:
    """The target of an erase; naming nothing does not resume an interrupted one.

    Raises:
        RefusalError: nothing is named.
    """
    found = {name: value for name, value in named.items() if value}
    if not found:
        raise RefusalError(f"name what to erase: {', '.join(named)}")
    return found


async def _content(ctx: Context, cell_id: str) -> str:
    found: Cell = await read(ctx, Memory.cell, cell_id)
    return _clipped(found.content)


def _listed(title: str, texts: Sequence[str]) -> list[str]:
    """Texts that go with a change, under a title."""
    more = len(texts) - MOST_SHOWN
    shown_texts = [f"- {_clipped(text)}" for text in texts[:MOST_SHOWN]]
    return [title, *shown_texts, *([f"and {more} more"] if more > 0 else [])] if texts else []


def _clipped(text: str) -> str:
    return one_line(text, SHOWN_CHARACTERS)


WRITE_TOOLS: Final = (
    remember_fact,
    correct_fact,
    confirm_fact,
    forget_fact,
    resolve_contradiction,
    cite,
    erase_fact,
)
