"""Reports of stages, nights, flows and exports as blocks."""

from collections.abc import Callable, Sequence
from typing import Final

from slowwave.interfaces.rendering.blocks import (
    Block,
    Heading,
    Opening,
    Render,
    Table,
    line,
    notes,
    table,
)
from slowwave.interfaces.rendering.view import View
from slowwave.interfaces.rendering.words import listed
from slowwave.schemas.derivation import SHOWN_LINES, Derivation, page
from slowwave.schemas.report import Exported, NightReport, StageReport, several_memories
from slowwave.schemas.runs import Consolidated, FlowRun

DRY: Final = "A dry run: nothing was changed."


def _report(found: StageReport | NightReport, view: View) -> list[Block]:
    """A run: its story, numbers a stage, what was left out and why, notes, some examples."""
    from tasks.nightly.report import (
        night_markdown,
        stage_markdown,
    )  # with Polars, which a search does not need

    if isinstance(found, NightReport):
        return _page(night_markdown(found, safe=_flat))
    return [*_page(stage_markdown(found, safe=_flat)), *([Opening(DRY)] if found.dry_run else [])]


def _flat(text: str) -> str:
    """Stored text in one line: what writes the blocks spells out what a terminal would obey."""
    return " ".join(text.split())


def _page(text: str) -> list[Block]:
    """The blocks of a page of ours in Markdown: its headings, tables and lines."""
    blocks, rows = list[Block](), list[tuple[str, ...]]()
    for one in [*text.splitlines(), ""]:
        if one.startswith("|"):
            rows.append(tuple(cell.strip() for cell in one.strip("|").split("|")))
            continue
        if rows:
            numbers = frozenset(place for place, rule in enumerate(rows[1]) if rule.endswith(":"))
            blocks.append(Table(rows[0], tuple(rows[2:]), numbers))
            rows = []
        if one.startswith(("#", "**")):
            blocks.append(Heading(one.strip("#* ")))
        elif one:
            blocks.append(line(one))
    return blocks


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
    columns: dict[str, Callable[[FlowRun], str]] = {
        "run": lambda one: one.run_id,
        "flow": lambda one: one.flow,
        "state": lambda one: one.state,
        "started": lambda one: view.ago(one.started_at),
    }
    return table(found, columns, "No run was started here yet.")


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
    blocks = _page(page(found, safe=_flat, most=SHOWN_LINES))
    return [*blocks, *([Opening(DRY)] if found.dry_run else [])]


RENDERERS: Final[dict[str, Render]] = {
    "StageReport": _report,
    "NightReport": _report,
    "FlowRun": _run,
    "Consolidated": _consolidated,
    "Exported": _exported,
    "Derivation": _derivation,
}
LISTS: Final[dict[str, Render]] = {"FlowRun": _run_list}
