"""Reports of runs, for a terminal. Imported late: with the names of counts comes Polars, and a search needs none."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from slowwave.entrypoints.show.terminal import flat, number, results, table
from slowwave.journal.catalogue import title_of
from slowwave.schemas.report import NightReport, StageReport, closings, headline, night_headline, spent

EXAMPLES = 8


def show_report(report: StageReport | NightReport, *, is_brief: bool = False) -> None:
    """Show a run: numbers a stage and, unless `is_brief`, what was left out and why, notes, some examples."""
    console = results()
    stages = report.stages if isinstance(report, NightReport) else [report]
    if isinstance(report, NightReport):
        console.print(Text(flat(night_headline(report)), style="bold"))
        _show_lines(console, report.notes)
        _show_story(console, report)
    console.print(_stage_table(stages))
    for stage in [] if is_brief else stages:
        if not stage.is_skipped or stage.notes:
            _show_stage(console, stage, has_title=len(stages) > 1)
    console.print(Text(f"Spent: {flat(spent(report.ledger))}."))
    if report.dry_run:
        console.print(Text("A dry run: nothing was changed.", style="bold"))


def _show_story(console: Console, report: NightReport) -> None:
    """Tell the night as a colleague would."""
    for part in report.story:
        console.print(Text(f"\n{flat(part.said)}", style="bold"))
        for line in part.lines:
            console.print(Text(f"  - {flat(line)}"))
        if part.more_count:
            console.print(Text(f"  - and {part.more_count} more"))
    for closing in closings(report):
        console.print(Text(f"\n{flat(closing)}"))
    console.print()


def _stage_table(stages: Sequence[StageReport]) -> Table:
    numbers = ("looked at", "changes", "left out", "calls", "tokens", "cost", "seconds")
    made = table(Column("stage", no_wrap=True), *(number(name) for name in numbers))
    for stage in stages:
        total = stage.ledger.total
        made.add_row(
            flat(stage.stage),
            str(stage.rows_in),
            str(stage.change_count or "-"),
            str(sum(stage.rejected.values())),
            str(total.call_count),
            str(total.input_tokens + total.output_tokens),
            "?" if total.cost is None else f"${total.cost:.4f}",
            f"{stage.seconds:.1f}",
        )
    return made


def _show_stage(console: Console, stage: StageReport, *, has_title: bool) -> None:
    if has_title:
        console.print(Text("\n" + flat(headline(stage)), style="bold"))
    _show_lines(console, stage.notes)
    changed = {title_of(name): count for name, count in stage.counts.items()}
    left_out = {f"left out: {name}": count for name, count in sorted(stage.rejected.items())}
    for name, count in [*changed.items(), *left_out.items()]:
        console.print(Text(f"{count:>7}  {flat(name)}"))
    for example in stage.examples[:EXAMPLES]:
        console.print(Text(f"    {flat(example)}", style="dim"))


def _show_lines(console: Console, notes: Sequence[str]) -> None:
    for note in notes:
        console.print(Text(f"  {flat(note)}"))
