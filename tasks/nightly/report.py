"""Reports as Markdown, for Prefect's page; stored text in them is escaped, never markup."""

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


def stage_markdown(report: StageReport) -> str:
    """One stage's report."""
    lines = [f"# {headline(report)}", ""]
    lines += [f"- {plain(note)}" for note in report.notes]
    if report.counts:
        lines += ["", "| change | count |", "|---|---:|"]
        lines += [f"| {title_of(name)} | {number} |" for name, number in report.counts.items()]
    if report.rejected:
        lines += ["", "| left out because | count |", "|---|---:|"]
        lines += [f"| {plain(reason)} | {number} |" for reason, number in sorted(report.rejected.items())]
    if report.examples:
        lines += ["", "## Examples", "", *(f"- {plain(example)}" for example in report.examples)]
    lines += ["", f"Spent: {spent(report.ledger)}."]
    if report.ledger.by_model:
        models, prompts = report.ledger.by_model, report.ledger.by_prompt_version
        lines += ["", f"Models: {plain(', '.join(models))}. Prompts: {plain(', '.join(prompts))}."]
    return "\n".join(lines) + "\n"


def night_markdown(report: NightReport) -> str:
    """The report of a night: its story, a table of stages, then the report of each stage."""
    lines = [f"# {night_headline(report).capitalize()}", ""]
    for part in report.story:
        lines += [f"**{plain(part.said)}**", "", *(f"- {plain(line)}" for line in part.lines)]
        lines += [f"- and {part.more_count} more"] if part.more_count else []
        lines += [""]
    lines += [f"{closing}\n" for closing in closings(report)]
    lines += ["## The work in numbers", "", *(f"- {plain(note)}" for note in report.notes)]
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
    for stage in report.stages:
        lines += ["", stage_markdown(stage).replace("\n## ", "\n### ").replace("# ", "## ", 1).rstrip()]
    return "\n".join(lines) + "\n"
