"""Results of `rederive`: the cost, the difference of two derivations, what became of edits; and all of it as a page."""

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from pydantic import Field

from slowwave.schemas.refusals import Frozen
from slowwave.schemas.report import NightReport, several

RederiveAction = Literal["derive", "show", "switch", "drop"]
Difference = Literal["gained", "lost", "changed", "reworded"]
EditKind = Literal["remembered", "corrected", "confirmed", "settled", "disputed", "struck", "deleted"]

SHOWN_LINES = 20
"""Memories of each kind that a report shows; the file in the folder of the derivation has all."""

TITLES: dict[Difference, str] = {
    "changed": "Changed: the same memory with another value",
    "gained": "Gained: no memory said this before",
    "lost": "Lost: no memory says this any more",
    "reworded": "In other words",
}


class Estimate(Frozen):
    """Work that waits before a derivation is whole, and what it may cost."""

    turns: int = Field(ge=0, description="Turns that the derivation has not read yet.")
    pages: int = Field(ge=0, description="Pages that wait for the extractor.")
    least_tokens: int = Field(ge=0, description="Tokens that reading these pages takes at least.")
    likely_tokens: int | None = Field(
        description="Tokens in all, if each turn costs what the nights so far spent on one; null without such a night."
    )

    @property
    def line(self) -> str:
        """The work that waits and its cost in one sentence."""
        if not self.pages:
            return "No page waits."
        likely = f", about {self.likely_tokens:,} as the nights so far went" if self.likely_tokens else ""
        return (
            f"{several(self.turns, 'turn')} in {several(self.pages, 'page')} to read: at least "
            f"{self.least_tokens:,} tokens to extract them{likely}."
        )


class ChangedMemory(Frozen):
    """One memory that differs between the living memory and the derivation."""

    difference: Difference
    cell_type: str
    cell_id: str | None = Field(description="In the living memory.")
    before: str | None
    new_id: str | None = Field(description="In the derivation.")
    after: str | None


class CarriedEdit(Frozen):
    """Something that a person said or did, and what became of it in the derivation."""

    edit: EditKind
    said: str = Field(description="The person's words, or the memory that the person spoke of.")
    cell_id: str = Field(description="In the living memory.")
    new_id: str | None = Field(default=None, description="In the derivation; null where it found no memory.")
    how: str


class DerivationDiff(Frozen):
    """The derivation and the living memory: live memories that were gained, lost, changed, reworded or kept."""

    counts: dict[str, int]
    contradictions: tuple[int, int] = Field(description="Open contradictions: before and after.")
    token_count: int = Field(description="Tokens that the derivation has taken so far.")
    cost: float | None = Field(description="Their price; null where none is set.")
    memories: list[ChangedMemory] = Field(default_factory=list)
    edits: list[CarriedEdit] = Field(default_factory=list)


class Derivation(Frozen):
    """A derivation of the memory, and what was done to it."""

    action: RederiveAction
    derivation_id: str | None = None
    dry_run: bool = False
    started_at: datetime | None = None
    is_whole: bool = Field(
        default=False, description="No page waits, so that it can take the memory's place."
    )
    estimate: Estimate | None = None
    night: NightReport | None = Field(default=None, description="The work of this run.")
    diff: DerivationDiff | None = None
    file: str | None = Field(default=None, description="The whole difference as Markdown.")
    notes: list[str] = Field(default_factory=list)

    @property
    def headline(self) -> str:
        """The derivation and what was done to it, in one line."""
        if self.dry_run:
            return "rederive: nothing was changed"
        if self.derivation_id is None:
            return "the derivation was dropped"
        done = {
            "derive": "is whole" if self.is_whole else "is not whole yet",
            "show": "compared with the living memory",
            "switch": "took the place of the living memory",
        }
        return f"derivation {self.derivation_id[-6:].lower()}: {done[self.action]}"


def page(found: Derivation, *, safe: Callable[[str], str], most: int | None = None) -> str:
    """A derivation as Markdown that also reads well on a terminal; `most` memories of each kind where it is given.

    `safe` makes stored text harmless where the page is shown: on a terminal, or as Markdown.
    """
    night_notes = found.night.notes if found.night is not None else []
    lines = [f"# {safe(found.headline)}", "", *(f"- {safe(note)}" for note in [*found.notes, *night_notes])]
    if found.estimate is not None and found.dry_run:
        lines += ["", found.estimate.line]
    if found.diff is not None:
        lines += ["", *_diff_lines(found.diff, safe, most)]
    if found.file is not None and most is not None:
        lines += ["", f"The whole difference: {safe(found.file)}"]
    return "\n".join(lines) + "\n"


def _diff_lines(diff: DerivationDiff, safe: Callable[[str], str], most: int | None) -> list[str]:
    counts = ", ".join(f"{count} {name}" for name, count in diff.counts.items())
    price = "" if diff.cost is None else f", ${diff.cost:.2f}"
    lines = [
        f"Memories: {counts}. Open contradictions: {diff.contradictions[0]} before, {diff.contradictions[1]} after. "
        f"Spent: {diff.token_count:,} tokens{price}.",
    ]
    edits = [f"- {one.edit}: {safe(one.said)} -> {safe(one.how)}" for one in diff.edits]
    lines += _section("What a person said and did", edits, most)
    for name, title in TITLES.items():
        told = [_memory_lines(one, safe) for one in diff.memories if one.difference == name]
        lines += _section(title, told, most)
    return lines


def _memory_lines(one: ChangedMemory, safe: Callable[[str], str]) -> str:
    """A memory before and after, as the lines of a difference; one of them is left out for what was gained or lost."""
    before = [f"- {safe(one.before)}"] if one.before else []
    after = [f"+ {safe(one.after)}"] if one.after else []
    return "\n".join([*before, *after])


def _section(title: str, rows: list[str], most: int | None) -> list[str]:
    shown = rows[:most]
    more = [f"- and {len(rows) - len(shown)} more"] if len(shown) < len(rows) else []
    return ["", f"## {title} ({len(rows)})", "", *shown, *more] if rows else []
