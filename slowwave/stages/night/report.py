"""Reports as Markdown for people; stored text in them is escaped, never markup."""

import html
import re

from slowwave.journal.catalogue import title_of
from slowwave.schemas.ledger import Ledger
from slowwave.schemas.report import AWAY, Forgetting, NightReport, StageReport, several


def plain(text: str) -> str:
    """Stored text for a Markdown page: one line, no HTML, no Markdown of its own."""
    flat = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"([\\`*_{}\[\]()#+!|~>])", r"\\\1", html.escape(flat, quote=False).replace("&gt;", ">"))


def spent(ledger: Ledger) -> str:
    """Calls, tokens and cost in one sentence."""
    total = ledger.total
    if not total.call_count and not total.cached_count:
        return "no model calls"
    cost = "cost unknown (no price set)" if total.cost is None else f"${total.cost:.4f}"
    return (
        f"{total.call_count} model calls, {total.cached_count} answers from the cache, "
        f"{total.input_tokens} tokens in, {total.output_tokens} out, {cost}"
    )


def forgetting_line(counted: Forgetting) -> str:
    """One sentence on how often forgetting was wrong."""
    if counted.rate is None:
        return "nothing was archived so far"
    told = (
        f"of {several(counted.archived_count, 'archived memory', 'archived memories')} so far "
        f"{counted.revived_count} came back ({counted.rate:.1%})"
    )
    if counted.recent_rate is None:
        return f"{told}; none was archived in the last {counted.recent_days:g} days"
    return (
        f"{told}; in the last {counted.recent_days:g} days {counted.recent_revived_count} "
        f"of {counted.recent_archived_count} ({counted.recent_rate:.1%})"
    )


def headline(report: StageReport) -> str:
    """One line on the work of a stage."""
    if report.is_skipped:
        return f"{report.stage}: nothing done"
    verb = "would make" if report.dry_run else "made"
    looked, changed = several(report.rows_in, "row"), several(report.change_count, "change")
    return f"{report.stage}: {looked} looked at, {verb} {changed} in {report.seconds:.1f} s"


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


def night_headline(report: NightReport) -> str:
    """One line on the work of a night."""
    verb = "would make" if report.dry_run else "made"
    outage = "; the language model did not answer" if _unanswered(report) else ""
    return f"night {report.night_id}: {verb} {several(report.change_count, 'change')} in {report.seconds:.1f} s{outage}"


def closings(report: NightReport) -> list[str]:
    """Sentences after the story: on a quiet night, on wrong forgetting, or on a dry run."""
    if report.dry_run:
        return ["A dry run: nothing was changed, so there is nothing to tell but the numbers."]
    told = [] if report.story else [_without_story(report)]
    if waiting := _unanswered(report):
        told.append(
            f"The language model did not answer {several(waiting, 'question')}: the next night asks again."
        )
    if report.forgetting.archived_count:
        line = forgetting_line(report.forgetting)
        told.append(f"{line[0].upper()}{line[1:]}.")
    return told


def _without_story(report: NightReport) -> str:
    """A sentence on a night in which no memory changed."""
    counts = [stage.counts for stage in report.stages]
    messages = sum(one.get("turn.recorded", 0) for one in counts)
    if messages:
        return f"Took in {several(messages, 'message')}; no memory changed."
    if report.change_count:
        return "No memory changed; the work in numbers is below."
    return "A quiet night: nothing new came in and nothing changed."


def _unanswered(report: NightReport) -> int:
    """Questions that an outage of the language model left open."""
    return sum(stage.rejected.get(AWAY, 0) for stage in report.stages)


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
