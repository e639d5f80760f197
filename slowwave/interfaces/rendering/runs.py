"""Reports of stages, nights, flows and exports as blocks."""

from typing import Final

from slowwave.interfaces.rendering.blocks import (
    Block,
    Heading,
    Opening,
    Render,
    Table,
    line,
    notes,
)
from slowwave.interfaces.rendering.view import View
from slowwave.interfaces.rendering.words import listed
from slowwave.schemas.derivation import SHOWN_LINES, Derivation, page
from slowwave.schemas.report import Exported, NightReport, StageReport, several_memories

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
    "Exported": _exported,
    "Derivation": _derivation,
}
