"""The tools that change the memory. What an agent says by itself is never taken for a person's word.

Correct, confirm, forget, resolve and erase count as the user's decision where the client asked the user, who agreed.
From a client that cannot ask, a correction or a confirmation is the assistant's word, and the others are refused.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from mcp.server.mcpserver import Context, Elicit, Resolve
from mcp.types import ToolAnnotations
from pydantic import Field

from slowwave.interfaces.mcp.calls import Calls, NotThereError, RefusalError, calls_of
from slowwave.interfaces.mcp.consent import Agreement, Sure, can_ask, question, refuse_unless_agreed
from slowwave.interfaces.mcp.read_tools import CellId
from slowwave.interfaces.mcp.tool import tool
from slowwave.interfaces.rendering.agents import one_line
from slowwave.schemas.choices import CellType, CorrectionReason, Resolution
from slowwave.schemas.moments import day_of
from slowwave.schemas.refusals import Switch
from slowwave.schemas.report import several, several_memories
from slowwave.schemas.results import Cell, Dispute, Erased

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
    calls = calls_of(ctx)
    found = await calls.write(
        calls.memory.remember, text, cell_type=cell_type, origin=origin, entities=entities,
        subject=subject, attribute=attribute, value=value, project=project,
    )  # fmt: skip
    return calls.shown(found)


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
    calls = calls_of(ctx)
    cited = await calls.write(calls.memory.cite, cell_ids, calls.conversation)
    return f"Noted: {len(cited)} cited."


async def _ask_correct(
    ctx: Context, cell_id: str, text: str, reason: str | None, since: str
) -> Elicit[Sure] | Sure:
    if not can_ask(ctx):
        return Sure(agree=False)
    calls = calls_of(ctx)
    old = await _current(calls, cell_id, text)
    found = await calls.read(calls.memory.correct, cell_id, text, dry_run=True, reason=reason, since=since)
    until = "was never true" if found.since is None else f"was true until {day_of(found.since)}"
    return question(
        "Replace a memory, as your word?",
        *(f"- {old}", f"+ {_text(text)}"),
        *([f"The old one {until}."] if found.reason is not None else []),
        *_with("These are no longer shown:", found.left_out),
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
    calls = calls_of(ctx)
    found = await calls.write(
        calls.memory.correct, cell_id, text, reason=reason, since=since, subject=subject, attribute=attribute,
        value=value, note=note, origin=_origin(ctx, sure, "correct"),
    )  # fmt: skip
    return calls.shown(found)


async def _ask_confirm(ctx: Context, cell_id: str) -> Elicit[Sure] | Sure:
    if not can_ask(ctx):
        return Sure(agree=False)
    calls = calls_of(ctx)
    return question(
        "Is this right, and to be kept for good as your word?", f"- {await _current(calls, cell_id)}"
    )


@tool("Confirm a memory", COUNT, meta=FOR_A_PERSON)
async def confirm_fact(
    ctx: Context, sure: Annotated[Agreement, Resolve(_ask_confirm)], cell_id: CellId, note: Reason = ""
) -> str:
    """Note that the user says a memory is true: it never fades, and nothing replaces it without asking.

    The user is asked; from a client that cannot ask it is your word and protects nothing.
    """
    calls = calls_of(ctx)
    origin = _origin(ctx, sure, "confirm")
    return calls.shown(await calls.write(calls.memory.confirm, cell_id, note=note, origin=origin))


async def _ask_forget(ctx: Context, cell_id: str, only: str) -> Elicit[Sure] | Sure:
    if not can_ask(ctx):
        return Sure(agree=False)
    calls = calls_of(ctx)
    found = await calls.read(calls.memory.forget, cell_id, only=only, dry_run=True)
    return question("Delete this memory, also if it is said again?", f"- {_text(found.content)}")


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
    calls = calls_of(ctx)
    refuse_unless_agreed(ctx, sure, "forget")
    return calls.shown(await calls.write(calls.memory.forget, cell_id, only=only, note=note))


async def _ask_resolve(
    ctx: Context, contradiction_id: str, resolution: Resolution, text: str
) -> Elicit[Sure] | Sure:
    if not can_ask(ctx):
        return Sure(agree=False)
    calls = calls_of(ctx)
    one = _named(await calls.read(calls.memory.contradictions, has_resolved=True), contradiction_id)
    sides = [
        f"{name}: {_text(side.content)}" for name, side in (("a", one.a), ("b", one.b)) if side is not None
    ]
    merged = [f"merged: {_text(text)}"] if text else []
    return question(f"End this contradiction by {resolution}, as your word?", *sides, *merged)


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
    calls = calls_of(ctx)
    refuse_unless_agreed(ctx, sure, "resolve")
    found = await calls.write(calls.memory.resolve, contradiction_id, resolution, text=text, note=note)
    return calls.shown(found)


async def _ask_erase(
    ctx: Context, cell_id: str, turn_id: str, session_id: str, text: str, dry_run: bool
) -> Elicit[Sure] | Sure:
    if dry_run or not can_ask(ctx):
        return Sure(agree=False)
    calls = calls_of(ctx)
    asked = _one_of(cell_id=cell_id, turn_id=turn_id, session_id=session_id, text=text)
    found: Erased = await calls.read(calls.memory.erase, dry_run=True, **asked)
    counts = f"{several(len(found.turn_ids), 'message')} and {several_memories(len(found.cell_ids))}"
    return question(
        *_with(f"Erase {counts} for good? This cannot be undone. It begins:", found.shown),
        *_with("Without it this is believed again:", found.revived),
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
    calls = calls_of(ctx)
    asked = _one_of(cell_id=cell_id, turn_id=turn_id, session_id=session_id, text=text)
    if not dry_run:
        refuse_unless_agreed(ctx, sure, "erase")
    lane = calls.read if dry_run else calls.write
    return calls.shown(await lane(calls.memory.erase, dry_run=dry_run, **asked))


def _origin(ctx: Context, sure: Agreement, command: str) -> str:
    """Origin of an edit: the user who agreed, or the assistant where the client cannot ask.

    Raises:
        RefusalError: the user was asked and did not agree.
    """
    if not can_ask(ctx):
        return "agent"
    refuse_unless_agreed(ctx, sure, command)
    return "user"


def _one_of(**named: str) -> dict[str, Any]:
    """The target of an erase; naming nothing does not resume an interrupted one.

    Raises:
        RefusalError: nothing is named.
    """
    found = {name: value for name, value in named.items() if value}
    if not found:
        raise RefusalError(f"name what to erase: {', '.join(named)}")
    return found


async def _current(calls: Calls, cell_id: str, text: str = "") -> str:
    """The text of a memory that is current, or that says already what this correction would.

    Raises:
        RefusalError: another one took its place: the user is not asked about it.
    """
    found: Cell = await calls.read(calls.memory.cell, cell_id)
    if found.status == "superseded" and found.superseded_by is not None:
        try:
            after: Cell = await calls.read(calls.memory.cell, found.superseded_by)
        except NotThereError:  # it was deleted, so that the user may confirm or correct the one before
            return _text(found.content)
        if after.content.strip() != text.strip():
            raise RefusalError(
                f"memory {found.cell_id[:8]} was superseded by {after.cell_id[:8]} already: speak of that one"
            )
    return _text(found.content)


def _named(found: Sequence[Dispute], wanted: str) -> Dispute:
    """The contradiction of this id or beginning of one.

    Raises:
        RefusalError: there is none or there are several, or a side of it is gone.
    """
    named = [one for one in found if wanted.strip() and one.contradiction_id.startswith(wanted.strip())]
    if len(named) != 1:
        state = "no contradiction" if not named else f"{len(named)} contradictions"
        raise RefusalError(f"{state} begins with {wanted[:60]!r}: the tool contradictions shows the ids")
    if named[0].a is None or named[0].b is None:
        raise RefusalError("a side of this contradiction is gone: there is nothing to decide")
    return named[0]


def _with(title: str, texts: Sequence[str]) -> list[str]:
    """Texts that go with a change, under a title."""
    more = len(texts) - MOST_SHOWN
    shown = [f"- {_text(text)}" for text in texts[:MOST_SHOWN]]
    return [title, *shown, *([f"and {more} more"] if more > 0 else [])] if texts else []


def _text(text: str) -> str:
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
