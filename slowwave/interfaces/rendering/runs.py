"""Reports of stages, nights, flows and exports as blocks."""

from collections.abc import Sequence
from typing import Final

from slowwave.interfaces.rendering.blocks import (
    Block,
    Heading,
    Line,
    Opening,
    Render,
    Span,
    Table,
    line,
    notes,
)
from slowwave.interfaces.rendering.view import View
from slowwave.interfaces.rendering.words import listed
from slowwave.schemas.derivation import SHOWN_LINES, Derivation, page
from slowwave.schemas.report import (
    Exported,
    NightReport,
    StageReport,
    closings,
    headline,
    night_headline,
    several_memories,
    spent,
)
from slowwave.schemas.runs import Consolidated, FlowRun

EXAMPLES: Final = 8
DRY: Final = "A dry run: nothing was changed."


def _report(found: StageReport | NightReport, view: View) -> list[Block]:
    """A run: its story, numbers a stage, what was left out and why, notes, some examples."""
    night = found if isinstance(found, NightReport) else None
    stages = [found] if isinstance(found, StageReport) else found.stages
    shown = [stage for stage in stages if not stage.is_skipped or stage.notes]
    return [
        *(_story(night) if night else []),
        _table(stages),
        *(one for stage in shown for one in _stage(stage, has_title=night is not None)),
        Opening(f"Spent: {spent(found.ledger)}."),
        *([Opening(DRY)] if found.dry_run else []),
    ]


def _story(night: NightReport) -> list[Block]:
    """The night as a colleague would report it."""
    parts: list[Block] = [
        Opening(night_headline(night)), *(line(note, indent=1) for note in night.notes)
    ]  # fmt: skip
    for part in night.story:
        more = [f"and {part.more_count} more"] if part.more_count else []
        parts += [Heading(part.said), *(line(f"- {one}", indent=1) for one in (*part.lines, *more))]
    return [*parts, *map(Opening, closings(night))]


def _table(stages: Sequence[StageReport]) -> Table:
    columns = ("stage", "looked at", "changes", "left out", "calls", "tokens", "cost", "seconds")
    return Table(columns, tuple(map(_row, stages)), frozenset(range(1, len(columns))))


def _row(stage: StageReport) -> tuple[str, ...]:
    total = stage.ledger.total
    return (
        stage.stage,
        str(stage.rows_in),
        str(stage.change_count or "-"),
        str(sum(stage.rejected.values())),
        str(total.call_count),
        str(total.input_tokens + total.output_tokens),
        "?" if total.cost is None else f"${total.cost:.4f}",
        f"{stage.seconds:.1f}",
    )


def _stage(stage: StageReport, *, has_title: bool) -> list[Block]:
    from slowwave.journal.catalogue import title_of  # with it comes Polars, which a search does not need

    changed = {title_of(name): count for name, count in stage.counts.items()}
    left_out = {f"left out: {name}": count for name, count in sorted(stage.rejected.items())}
    return [
        *([Heading(headline(stage))] if has_title else []),
        *(line(note, indent=1) for note in stage.notes),
        *(line(f"{count:>7}  {name}") for name, count in [*changed.items(), *left_out.items()]),
        *(line(Span(one, "dim"), indent=2) for one in stage.examples[:EXAMPLES]),
    ]


# Runs that a server started


def _run(found: FlowRun, view: View) -> list[Block]:
    """A run with its state; with its report once it is done, or the error that ended it."""
    failure = [line(f"{found.failure.type}: {found.failure.detail}")] if found.failure else []
    done = _report(found.report, view) if found.report else []
    return [
        Opening(f"{found.flow} {found.run_id}: {found.state}, started {view.ago(found.started_at)}"),
        *failure,
        *done,
    ]


def _run_list(found: Sequence[FlowRun], view: View) -> list[Block]:
    """Runs, newest first."""
    if not found:
        return [Opening("No run was started here yet.")]
    rows = tuple((one.run_id, one.flow, one.state, view.ago(one.started_at)) for one in found)
    return [Table(("run", "flow", "state", "started"), rows)]


def _consolidated(found: Consolidated, view: View) -> list[Block]:
    """A night by hand in four numbers."""
    if found.state == "running":
        return [Opening(f"Night {found.run_id} is running: ask for the run again in a moment.")]
    verb = "would have changed" if found.dry_run else "changed"
    counts = {
        "deduplicated": found.deduped or 0,
        "compressed": found.compressed or 0,
        "forgotten": found.forgotten or 0,
        "contradictions found": found.contradictions_found or 0,
    }
    return [Opening(f"Night {found.run_id} {found.state}; it {verb}: {listed(counts)}"), *notes(found.notes)]


# Exports and derivations


def _exported(found: Exported, view: View) -> list[Block]:
    """Files of an export, and how to import them elsewhere."""
    verb = "Would write" if found.dry_run else "Wrote"
    rows = {kind.replace("_", " "): count for kind, count in sorted(found.counts.items())}
    is_rows = found.format == "jsonl"
    return [
        line(f"{verb} {several_memories(found.counts.get('memory', 0))} to {found.folder}"),
        *(line(name, indent=1) for name in found.files),
        *([line(f"rows: {listed(rows)}", indent=1)] if is_rows else []),
        *([line(f"Import elsewhere: slowwave ingest {found.folder}/{found.files[0]}")] if is_rows else []),
        *notes(found.notes),
    ]


def _derivation(found: Derivation, view: View) -> list[Block]:
    """A derivation and its difference from the memory; its file has all of a long one."""
    lines = page(found, safe=lambda text: " ".join(text.split()), most=SHOWN_LINES).splitlines()
    return [*map(_page_line, lines), *([Opening(DRY)] if found.dry_run else [])]


def _page_line(text: str) -> Heading | Line:
    return Heading(text.lstrip("# ")) if text.startswith("#") else line(text)


RENDERERS: Final[dict[str, Render]] = {
    "StageReport": _report,
    "NightReport": _report,
    "FlowRun": _run,
    "Consolidated": _consolidated,
    "Exported": _exported,
    "Derivation": _derivation,
}
LISTS: Final[dict[str, Render]] = {"FlowRun": _run_list}
