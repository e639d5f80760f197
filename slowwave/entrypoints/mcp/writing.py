"""The tools that change the memory. What an agent says by itself is never taken for a person's word.

A person's edits (correct, confirm, forget, resolve) count as a person's decision. So each says in its description that
the user decides, and tells clients that they must ask before it runs.
"""

from typing import Any, Final, Literal

from pydantic import Field

from slowwave.entrypoints.mcp.answers.pages import quoted
from slowwave.entrypoints.mcp.answers.shapes import Cited
from slowwave.entrypoints.mcp.tools import ADD, CHANGE, COUNT, FOR_A_PERSON, REMOVE, Tool
from slowwave.prompting.page_lines import page_line
from slowwave.schemas.refusals import Request
from slowwave.schemas.requests import (
    LONGEST_NAME,
    CellRequest,
    CiteRequest,
    CorrectRequest,
    RememberRequest,
    ResolveRequest,
)
from slowwave.schemas.results import Done, Remembered, Resolved


class AgentsWord(Request):
    """The fields that an agent fills in otherwise: at most it reports a person's word."""

    project: str | None = Field(
        default=None,
        min_length=1,
        max_length=LONGEST_NAME,
        description="`*` where it holds in all projects (default: in this one alone).",
    )
    origin: Literal["reported", "agent"] = Field(
        default="agent",
        description="reported: the user said it to you; agent: your own finding or conclusion.",
    )


def _same(found: Any) -> Any:
    return found


def _safe(found: Done) -> Done:
    """The result with its stored text in one line that is safe to show."""
    return found.model_copy(update={"content": page_line(found.content)})


def _remembered(done: Remembered) -> str:
    return _lines(f"Remembered as {done.cell_id}.", done.notes)


def _done(word: str, done: Done) -> str:
    changed = f"; it takes the place of {', '.join(done.replaced)}" if done.replaced else ""
    return _lines(f"{word}: {done.cell_id}{changed}.\n{quoted(done.content)}", done.notes)


def _resolved(done: Resolved) -> str:
    parts = [f"Resolved {done.contradiction_id}: {done.resolution}."]
    parts += [f"{done.winner_id} holds."] if done.winner_id else []
    parts += [f"Superseded: {', '.join(done.superseded)}."] if done.superseded else []
    return _lines(" ".join(parts), done.notes)


def _lines(first: str, notes: list[str] | tuple[str, ...]) -> str:
    return "\n".join([first, *(f"({note})" for note in notes)])


REMEMBER: Final = Tool(
    name="remember_fact",
    title="Remember a fact",
    told="Keep something for later conversations: a decision with its reason, a preference, a fact, a task, a risk, a "
    "finding. Write names and dates instead of 'it' and 'today'; secrets are redacted. Search first: what is known "
    "and has changed is corrected, not remembered again.",
    hints=ADD,
    operation="remember",
    request=RememberRequest,
    answer=Remembered,
    shaped=Remembered,
    shape=_same,
    show=_remembered,
    without=("salience",),
    narrowed=AgentsWord,
)

CORRECT: Final = Tool(
    name="correct_fact",
    title="Correct a memory",
    told="Replace a memory that the user says is wrong or out of date. The new text counts as the user's word, the old "
    "one stays in the history. Only with the user's agreement.",
    hints=CHANGE,
    operation="correct",
    request=CorrectRequest,
    answer=Done,
    shaped=Done,
    shape=_safe,
    show=lambda done: _done("Corrected", done),
    without=("entities",),
    meta=FOR_A_PERSON,
)

CONFIRM: Final = Tool(
    name="confirm_fact",
    title="Confirm a memory",
    told="Note that the user says a memory holds: it never fades, and nothing replaces it without asking. Only when "
    "the user said so.",
    hints=COUNT,
    operation="confirm",
    request=CellRequest,
    answer=Done,
    shaped=Done,
    shape=_safe,
    show=lambda done: _done("Confirmed", done),
    meta=FOR_A_PERSON,
)

FORGET: Final = Tool(
    name="forget_fact",
    title="Forget a memory",
    told="Delete a memory: it stays out even if it is said again. The messages remain; erase_fact takes them too. Only "
    "when the user asks for it.",
    hints=REMOVE,
    operation="forget",
    request=CellRequest,
    answer=Done,
    shaped=Done,
    shape=_safe,
    show=lambda done: _done("Forgotten", done),
    meta=FOR_A_PERSON,
)

RESOLVE: Final = Tool(
    name="resolve_contradiction",
    title="Resolve a contradiction",
    told="End a contradiction as the user decided; the side that loses is superseded. Ask first, and never choose a "
    "side yourself.",
    hints=CHANGE,
    operation="resolve",
    request=ResolveRequest,
    answer=Resolved,
    shaped=Resolved,
    shape=_same,
    show=_resolved,
    meta=FOR_A_PERSON,
)

CITE: Final = Tool(
    name="cite",
    title="Cite memories",
    told="Say which memories, or quoted messages, helped in your answer, by their ids: they are kept longest, what is "
    "never used fades. Call it once at the end.",
    hints=COUNT,
    operation="cite",
    request=CiteRequest,
    answer=list[str],
    shaped=Cited,
    shape=lambda found: Cited(cited=found),
    show=lambda told: f"Noted: {len(told.cited)} cited.",
)

TOOLS: Final = (REMEMBER, CORRECT, CONFIRM, FORGET, RESOLVE, CITE)
