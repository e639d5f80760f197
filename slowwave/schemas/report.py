"""Reports of stages, nights and exports: the form of every report, artifact and exit; and counts in words."""

import html
import re

from pydantic import BaseModel, ConfigDict, Field

from slowwave.schemas.choices import ExportFormat
from slowwave.schemas.ledger import Ledger
from slowwave.schemas.refusals import Frozen

EMPTY = "empty file"
UNREADABLE = "file that cannot be read"
"""The reason under which ingest counts files that no reader could read."""


AWAY, UNUSABLE = "language model away", "unusable answer"
"""The reason under which a stage counts questions that were not answered; the following night asks them."""


SPENT = "budget spent"
"""The same once the budget of a run is used up."""


class StageReport(BaseModel):
    """One stage's run in numbers and a few examples that a person can read."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    stage: str
    dry_run: bool = False
    is_skipped: bool = Field(
        default=False, description="Nothing was to be done, or a gate said no; `notes` say why."
    )
    rows_in: int = Field(default=0, ge=0, description="Rows that the stage looked at as its work.")
    counts: dict[str, int] = Field(default_factory=dict, description="Changes, by kind of event.")
    rejected: dict[str, int] = Field(
        default_factory=dict, description="Rows that were left out or failed, by reason."
    )
    notes: list[str] = Field(default_factory=list)
    examples: list[str] = Field(default_factory=list, description="A few of the changes, one line each.")
    ledger: Ledger = Ledger()
    seconds: float = Field(default=0.0, ge=0)

    @property
    def change_count(self) -> int:
        """Number of changes that the stage committed or, in a dry run, would commit."""
        return sum(self.counts.values())


class Forgetting(Frozen):
    """Archived memories and how many of them came back: how often forgetting was wrong."""

    archived_count: int = Field(default=0, ge=0, description="Times that memories were archived.")
    revived_count: int = Field(default=0, ge=0, description="Times that archived memories came back.")
    recent_days: float = Field(default=90.0, ge=0, description="Days that the recent figures look back.")
    recent_archived_count: int = Field(default=0, ge=0, description="Memories archived within these days.")
    recent_revived_count: int = Field(default=0, ge=0, description="Memories revived within these days.")

    @property
    def rate(self) -> float | None:
        """Revived over archived, of all time; null before anything was archived."""
        return self.revived_count / self.archived_count if self.archived_count else None

    @property
    def recent_rate(self) -> float | None:
        """The same within the recent days; a memory that came back may have been archived before them."""
        return self.recent_revived_count / self.recent_archived_count if self.recent_archived_count else None


class StoryPart(Frozen):
    """One part of a night's story: a sentence, and some of the things that it speaks of, a line each."""

    name: str = Field(description="What the part is about, such as `learned` or `core_lost`.")
    said: str
    lines: list[str] = Field(
        default_factory=list, description="With stored text in them: escape before showing."
    )
    count: int = Field(default=0, ge=0, description="Things that the part speaks of.")
    more_count: int = Field(default=0, ge=0, description="Lines that were left out for length.")


class NightReport(BaseModel):
    """All stages of one night."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    night_id: str
    dry_run: bool = False
    has_llm: bool
    stages: list[StageReport]
    notes: list[str] = Field(default_factory=list)
    story: list[StoryPart] = Field(
        default_factory=list, description="What the night did, in sentences; empty for a dry run."
    )
    forgetting: Forgetting = Forgetting()
    seconds: float = Field(default=0.0, ge=0)

    @property
    def ledger(self) -> Ledger:
        """Calls, tokens and cost of all stages."""
        return sum((stage.ledger for stage in self.stages), Ledger())

    @property
    def change_count(self) -> int:
        """Changes of all stages."""
        return sum(stage.change_count for stage in self.stages)


class Exported(Frozen):
    """An export as it was written, or in a dry run would be."""

    format: ExportFormat
    folder: str
    dry_run: bool = False
    files: list[str] = Field(description="Names of the files within the folder.")
    counts: dict[str, int] = Field(description="Rows by type: memories, turns, topics and others.")
    notes: list[str] = Field(default_factory=list)


def several(count: int, noun: str, plural: str = "") -> str:
    """`1 turn`, `2 turns`, `1,184 memories`."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def several_memories(count: int) -> str:
    """`1 memory`, `2 memories`."""
    return several(count, "memory", "memories")


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


MOST_FALSE_RATE = 0.01
"""Share of archived memories that came back above which forgetting was wrong too often: one of a hundred was missed."""


def forgetting_line(counted: Forgetting) -> str:
    """One sentence on how often forgetting was wrong."""
    if counted.rate is None:
        return "nothing was archived so far"
    told = (
        f"of {several(counted.archived_count, 'archived memory', 'archived memories')} so far "
        f"{counted.revived_count} came back ({counted.rate:.1%})"
    )
    if counted.recent_rate is None:
        told += f"; none was archived in the last {counted.recent_days:g} days"
    else:
        told += (
            f"; in the last {counted.recent_days:g} days {counted.recent_revived_count} "
            f"of {counted.recent_archived_count} ({counted.recent_rate:.1%})"
        )
    hint = f"; above {MOST_FALSE_RATE:.1%}, raise forget.unused_days or lower the rates of decay"
    return told + hint * (counted.rate > MOST_FALSE_RATE)


def headline(report: StageReport) -> str:
    """One line on the work of a stage."""
    if report.is_skipped:
        return f"{report.stage}: nothing done"
    verb = "would make" if report.dry_run else "made"
    looked, changed = several(report.rows_in, "row"), several(report.change_count, "change")
    return f"{report.stage}: {looked} looked at, {verb} {changed} in {report.seconds:.1f} s"


def night_headline(report: NightReport) -> str:
    """One line on the work of a night."""
    verb = "would make" if report.dry_run else "made"
    outage = "; the language model did not answer" if _rejected(report, AWAY) else ""
    return f"night {report.night_id}: {verb} {several(report.change_count, 'change')} in {report.seconds:.1f} s{outage}"


def closings(report: NightReport) -> list[str]:
    """Sentences after the story: on a quiet night, on wrong forgetting, or on a dry run."""
    if report.dry_run:
        return ["A dry run: nothing was changed, so there is nothing to tell but the numbers."]
    told = [] if report.story else [_without_story(report)]
    if waiting := _rejected(report, AWAY):
        told.append(
            f"The language model did not answer {several(waiting, 'question')}: the next night asks again."
        )
    if unusable := _rejected(report, UNUSABLE):
        told.append(
            f"The language model gave {several(unusable, 'answer')} that could not be used: the next nights ask again, "
            "and `slowwave quarantine list` shows what they gave up."
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


def _rejected(report: NightReport, why: str) -> int:
    """Questions without an answer for a reason: an outage of the language model, or answers that it cannot mean."""
    counts = (entry for stage in report.stages for entry in stage.rejected.items())
    return sum(count for name, count in counts if name.startswith(why))
