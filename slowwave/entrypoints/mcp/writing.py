"""The tools that change the memory. What an agent says by itself is never taken for a person's word.

Correct, confirm, forget and resolve count as a person's decision where the client asked the user and he agreed. From
one that cannot ask, a correction or a confirmation is the assistant's word, and nothing is forgotten or resolved.
"""

from typing import Any, Final, Literal

from pydantic import Field

from slowwave.entrypoints.mcp import questions
from slowwave.entrypoints.mcp.answers.pages import fenced, quoted
from slowwave.entrypoints.mcp.answers.shapes import Cited
from slowwave.entrypoints.mcp.tools import ADD, CHANGE, COUNT, FOR_A_PERSON, REMOVE, Tool
from slowwave.models.page_lines import page_line
from slowwave.schemas.refusals import Request
from slowwave.schemas.requests import (
    LONGEST_NAME,
    CiteRequest,
    ConfirmRequest,
    CorrectRequest,
    ForgetRequest,
    RememberRequest,
    ResolveRequest,
)
from slowwave.schemas.results import Done, Remembered, Resolved

MOST_LEFT_OUT: Final = 10
"""Statements of a passage that went with it, in an answer."""


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
    left = [page_line(text) for text in found.left_out]
    return found.model_copy(update={"content": page_line(found.content), "left_out": left})


def _remembered(done: Remembered) -> str:
    return _lines(f"Remembered as {done.cell_id}.", done.notes)


def _done(word: str, done: Done) -> str:
    changed = f"; it takes the place of {', '.join(done.replaced)}" if done.replaced else ""
    left = fenced([f"> no longer told: {text}" for text in done.left_out[:MOST_LEFT_OUT]])
    told = [f"{word}: {done.cell_id}{changed}.", quoted(done.content), *([left] if done.left_out else [])]
    return _lines("\n".join(told), done.notes)


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
    without=("salience", "new_project"),
    narrowed=AgentsWord,
)

CORRECT: Final = Tool(
    name="correct_fact",
    title="Correct a memory",
    told="Replace a memory that is out of date (reason changed, since a day) or wrong; the old one stays in the "
    "history. The user is asked: a yes makes it the user's word. A client that cannot ask records yours, as a "
    "contradiction of what a person said.",
    hints=CHANGE,
    operation="correct",
    request=CorrectRequest,
    answer=Done,
    shaped=Done,
    shape=_safe,
    show=lambda done: _done("Corrected" if done.replaced else "Recorded", done),
    without=("entities", "origin", "dry_run"),
    meta=FOR_A_PERSON,
    question=questions.of_correction,
    takes_an_assistants_word=True,
)

CONFIRM: Final = Tool(
    name="confirm_fact",
    title="Confirm a memory",
    told="Note that the user says a memory holds: it never fades, and nothing replaces it without asking. The user is "
    "asked; from a client that cannot ask it is your word and protects nothing.",
    hints=COUNT,
    operation="confirm",
    request=ConfirmRequest,
    answer=Done,
    shaped=Done,
    shape=_safe,
    show=lambda done: _done("Confirmed" if "cell.protected" in done.changed else "Noted", done),
    without=("origin",),
    meta=FOR_A_PERSON,
    question=questions.of_confirmation,
    takes_an_assistants_word=True,
)

FORGET: Final = Tool(
    name="forget_fact",
    title="Forget a memory",
    told="Delete a memory: it stays out even if it is said again. The messages remain; erase_fact takes them too. Only "
    "when the user wants it, who is asked.",
    hints=REMOVE,
    operation="forget",
    request=ForgetRequest,
    answer=Done,
    shaped=Done,
    shape=_safe,
    show=lambda done: _done("Forgotten", done),
    without=("dry_run",),
    meta=FOR_A_PERSON,
    question=questions.of_deletion,
)

RESOLVE: Final = Tool(
    name="resolve_contradiction",
    title="Resolve a contradiction",
    told="End a contradiction as the user decided, who is asked to agree; the side that loses is superseded. Never "
    "choose a side yourself.",
    hints=CHANGE,
    operation="resolve",
    request=ResolveRequest,
    answer=Resolved,
    shaped=Resolved,
    shape=_same,
    show=_resolved,
    meta=FOR_A_PERSON,
    question=questions.of_resolution,
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
