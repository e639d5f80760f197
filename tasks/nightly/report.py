"""Reports as pages in Markdown: Prefect's page shows them as they are, a terminal by their lines.

`safe` makes stored text harmless where the page is shown: as Markdown it is escaped, never markup.
"""

from collections.abc import Callable

from slowwave.journal.catalogue import title_of
from slowwave.schemas.report import (
    NightReport,
    StageReport,
    closings,
    headline,
    night_headline,
    plain,
    spent,
)


def stage_markdown(report: StageReport, *, safe: Callable[[str], str] = plain) -> str:
    """One stage's report."""
    lines = [f"# {headline(report)}", ""]
    lines += [f"- {safe(note)}" for note in report.notes]
    changes = {title_of(name): number for name, number in report.counts.items()}
    changes |= {f"left out: {safe(reason)}": number for reason, number in sorted(report.rejected.items())}
    if changes:
        lines += ["", "| change | count |", "|---|---:|"]
        lines += [f"| {name} | {number} |" for name, number in changes.items()]
    if report.examples:
        lines += ["", "## Examples", "", *(f"- {safe(example)}" for example in report.examples)]
    lines += ["", f"Spent: {spent(report.ledger)}."]
    if report.ledger.by_model:
        models, prompts = report.ledger.by_model, report.ledger.by_prompt_version
        lines += ["", f"Models: {safe(', '.join(models))}. Prompts: {safe(', '.join(prompts))}."]
    return "\n".join(lines) + "\n"


def night_markdown(report: NightReport, *, safe: Callable[[str], str] = plain) -> str:
    """The report of a night: its story, a table of stages, then the report of each stage."""
    lines = [f"# {night_headline(report).capitalize()}", ""]
    for part in report.story:
        lines += [f"**{safe(part.said)}**", "", *(f"- {safe(line)}" for line in part.lines)]
        lines += [f"- and {part.more_count} more"] if part.more_count else []
        lines += [""]
    lines += [f"{closing}\n" for closing in closings(report)]
    lines += ["## The work in numbers", "", *(f"- {safe(note)}" for note in report.notes)]
    lines += [
        "",
        "| stage | looked at | changes | left out | calls | seconds |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {stage.stage} | {stage.rows_in} | {stage.change_count or '-'} "
        f"| {sum(stage.rejected.values())} | {stage.ledger.total.call_count} | {stage.seconds:.1f} |"
        for stage in report.stages
    ]
    lines += ["", f"Spent: {spent(report.ledger)}."]
    for stage in (one for one in report.stages if one.notes or not one.is_skipped):
        lines += [
            "",
            stage_markdown(stage, safe=safe).replace("\n## ", "\n### ").replace("# ", "## ", 1).rstrip(),
        ]
    return "\n".join(lines) + "\n"
