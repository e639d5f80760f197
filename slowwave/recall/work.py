"""Four tiers for an agent at work: what the file, the error, the branch and the question call for.

Each signal is a question of its own and goes through the same pipeline; the tiers are labels that its memories get by
type, by signal and by whose word they are.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import polars as pl

from slowwave.language.signals import branch_words, names_file
from slowwave.recall.conditions import (
    cell_condition,
    scope_condition,
    turn_condition,
)
from slowwave.recall.fixes import Failure, fix_lines
from slowwave.recall.lines import memory_line, said_line
from slowwave.recall.page import line_of
from slowwave.recall.question import Question
from slowwave.recall.recalled import Recalled, known_units, units_of_ids, unread
from slowwave.recall.resolve import Unit
from slowwave.recall.score import is_over
from slowwave.recall.select import Candidate
from slowwave.schemas.choices import EPISODE, CellType
from slowwave.schemas.context import ContextRequest, TierName
from slowwave.schemas.report import several_memories
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.store import col, lit, standing_for
from slowwave.trust.origins import ON_TRUST, surely_answered_for_first, whose_of

CRITICAL_TYPES: tuple[CellType, ...] = ("decision", "risk", "task", "insight")
LASTING_TYPES: tuple[CellType, ...] = ("preference", "pattern", "workflow")

RECENT_DAYS = 30.0
"""Without any signal, decisions, risks and tasks of this time are shown."""

RECENT_ROWS, LASTING_ROWS, BRANCH_ROWS = 25, 12, 40
CORE_ROWS = 12
"""Lines of core memory beside signals of the moment; five times as many without any."""

EPISODES, DISPUTES, POINTERS, POINTER_LABELS = 3, 3, 16, 6

ANSWERED_FOR = col("origin").isin(["system", "user", "reported", "agent"])
"""Unasked only what somebody answers for is shown; a document, or a quote, is found by what it says."""

WAY = "a way of working"
NAMES_FILE = "names the current file"


@dataclass(frozen=True)
class Work:
    """The signals of a moment, each worked through as a question."""

    base: Question
    request: ContextRequest
    asked: Recalled | None
    around: Recalled | None
    errors: tuple[tuple[Failure, Recalled], ...]

    @property
    def probes(self) -> list[Recalled]:
        """Everything that the signals found, the question first."""
        found = [one for one in (self.asked, self.around) if one is not None]
        return [*found, *(recalled for _, recalled in self.errors)]

    def line(self, unit: Unit, tier: TierName, score: float, why: str) -> Candidate:
        """A memory as a line."""
        return memory_line(unit, self.base, tier=tier, score=score, why=why)

    def is_open(self, unit: Unit) -> bool:
        """Return whether a memory is no task that is done or past."""
        return not is_over(unit.row, now=self.base.now)


def work_lines(work: Work) -> list[Candidate]:
    """Lines that the four tiers want, in no order but by their scores within a tier."""
    lines = list(_critical(work))
    lines += _relevant(work)
    lines += _background(work)
    return [*lines, *_pointers(work, {cell_id for line in lines for cell_id in line.cell_ids})]


def _critical(work: Work) -> Iterator[Candidate]:
    """Disputes, fixes, and what persons decided on the file, the branch, the question."""
    seen = set[str]()
    for recalled in work.probes:
        best = max((unit.score for unit in recalled.units), default=0.0)
        for unit in recalled.units:
            if unit.rival is not None and unit.cell_id not in seen and unit.score >= PAGE_SHARE * best:
                seen.add(unit.cell_id)
                yield work.line(unit, "critical", 3.0, "open contradiction")
    if not work.probes:
        for unit in disputed_units(work.base, most=DISPUTES):
            yield work.line(unit, "critical", 3.0, "open contradiction")
    for failure, recalled in work.errors:
        yield from fix_lines(recalled, failure, conversation=work.request.conversation_id or "")
    yield from _of_file(work)
    yield from _of_branch(work)
    if not work.probes:
        recent = col("event_time") >= lit(work.base.now - timedelta(days=RECENT_DAYS))
        where = recent & col("cell_type").isin(CRITICAL_TYPES[:3]) & ANSWERED_FOR
        for unit in known_units(work.base, where, most=RECENT_ROWS):
            if work.is_open(unit):
                yield work.line(unit, "critical", 0.5 + 0.5 * unit.row["salience"], "recent")


PAGE_SHARE = 0.6
"""Share of the best score from which on an undecided pair belongs to the first tier."""


def disputed_units(question: Question, *, most: int) -> list[Unit]:
    """The newest open contradictions, each as the unit of both sides."""
    pairs = [pair for pair in question.disputes if pair["status"] == "open"]
    where = col("cell_id").isin(sorted({pair[side] for pair in pairs for side in ("cell_a", "cell_b")}))
    return [unit for unit in known_units(question, where) if unit.rival is not None][:most]


def _of_file(work: Work) -> Iterator[Candidate]:
    """Memories that name the current file, or rest on a message that does; and such messages that no night read."""
    path, around = work.request.current_file, work.around
    if not path or around is None:
        return
    rows = around.gathered.turn_rows.values()
    naming = {row["turn_id"] for row in rows if names_file(row["content"], path)}
    units = {unit.cell_id: unit for unit in around.units}
    named = col("cell_id").isin(
        row["cell_id"] for row in around.gathered.found.values() if naming & set(row["evidence"] or ())
    )
    for unit in [*units_of_ids(work.base, named & (col("cell_type") != lit(EPISODE))), *units.values()]:
        told = " ".join((unit.row["content"], *(unit.row["artifacts"] or ())))
        is_named, rests = names_file(told, path), naming & set(unit.row["evidence"] or ())
        if (is_named or rests) and unit.row["prompt_version"] != RAW_PROMPT and work.is_open(unit):
            tier: TierName = "critical" if unit.row["cell_type"] in CRITICAL_TYPES else "relevant"
            yield work.line(unit, tier, 0.8 + 0.1 * is_named + 0.1 * unit.row["salience"], NAMES_FILE)
    for one in unread(around, [one for one in around.said if one.turn_id in naming]):
        line = said_line(one, "critical", 0.8, NAMES_FILE, asked=around.asked)
        if line is not None:
            yield line


def _of_branch(work: Work) -> Iterator[Candidate]:
    """Decisions of conversations that were held on the branch, newest first."""
    branch = work.request.branch
    if not branch or not branch_words(branch):
        return
    where = turn_condition(work.base.settings.owner) & (col("git_branch") == lit(branch))
    sessions = work.base.store.rows("turns", ("session_id",), where)["session_id"].unique().sort()
    is_model = (col("prompt_version") != lit(RAW_PROMPT)) & (col("cell_type") != lit(EPISODE))
    where = col("session_id").isin(sessions) & is_model
    for unit in known_units(work.base, where, most=BRANCH_ROWS):
        is_critical = unit.row["cell_type"] in CRITICAL_TYPES[:3] and work.is_open(unit)
        tier: TierName = "critical" if is_critical else "relevant"
        yield work.line(unit, tier, 0.5 + 0.2 * unit.row["salience"], "said on this branch")


def _relevant(work: Work) -> Iterator[Candidate]:
    """Answers to the question, what is near the file, the branch and the errors, and summaries about them."""
    for recalled in work.probes:
        weight = 1.0 if recalled is work.asked else 0.5
        best = max((unit.score for unit in recalled.units), default=0.0) or 1.0
        for unit in recalled.units:
            if unit.row["prompt_version"] == RAW_PROMPT or unit.row["cell_type"] == EPISODE:
                continue
            score = weight * unit.score / best
            is_critical = (
                recalled is work.asked and unit.row["cell_type"] in CRITICAL_TYPES and work.is_open(unit)
            )
            if is_critical and score >= ASKED_SHARE:
                yield work.line(unit, "critical", score, "answers the question")
            yield work.line(
                unit, "relevant", score * (1.0 if work.is_open(unit) else 0.5), "near the signals"
            )
        for topic in recalled.topics[:DISPUTES]:
            row = topic.row
            text = f"{row['name']}: {row['summary']}"
            if topic.since:
                text += f" Since then: {'; '.join(unit.row['content'] for unit in topic.since)}"
            text += f" ({topic.whose})" if topic.whose else ""
            source = (row["summarized_at"] or row["updated_at"], several_memories(row["cell_count"]))
            forms = (line_of("summary", text, *source),)
            yield Candidate("relevant", 0.2 + topic.score * weight, "summary", forms, *source, "topic",
                            topic_ids=(row["topic_id"],))  # fmt: skip
        yield from _messages(work, recalled, weight)


ASKED_SHARE = 0.5
"""Share of the best answer's score from which on a decision, risk or task belongs to the first tier."""


def _messages(work: Work, recalled: Recalled, weight: float) -> Iterator[Candidate]:
    best = (
        max([unit.score for unit in recalled.units] + [one.score for one in recalled.said], default=0.0)
        or 1.0
    )
    for one in unread(recalled, recalled.said[:UNREAD_ROWS]):
        is_file = one.row["role"] == "document"
        tier: TierName = "background" if is_file else "relevant"
        why = "from the project's files" if is_file else "said in a message that no night has read yet"
        line = said_line(one, tier, weight * one.score / best, why, asked=recalled.asked)
        if line is not None and (one.row["origin"] != "untrusted" or is_file):
            yield line


UNREAD_ROWS = 20


def _background(work: Work) -> Iterator[Candidate]:
    """Preferences, patterns and workflows near the signals, core memory, then the rest of them; past conversations."""
    near = [
        unit for recalled in work.probes for unit in recalled.units if unit.row["cell_type"] in LASTING_TYPES
    ]
    for unit in near:
        yield work.line(unit, "background", 1.0 + min(unit.score, 1.0), WAY)
    yield from core_lines(work.base, most=CORE_ROWS if work.probes else 5 * CORE_ROWS)
    where = col("cell_type").isin(LASTING_TYPES) & ANSWERED_FOR
    for unit in known_units(work.base, where, by="salience", most=LASTING_ROWS):
        yield work.line(unit, "background", 0.5 * unit.row["salience"], WAY)
    episodes = [
        unit for recalled in work.probes for unit in recalled.units if unit.row["cell_type"] == EPISODE
    ]
    if not work.probes:
        episodes = known_units(work.base, col("cell_type") == lit(EPISODE), most=EPISODES)
    for place, unit in enumerate(episodes[:EPISODES]):
        yield work.line(unit, "background", 0.8 - place / 100, "a past conversation")


def core_lines(question: Question, *, most: int) -> Iterator[Candidate]:
    """The first lines of core memory, as far as they are current and a person's."""
    core = question.store.rows("core", ("cell_id", "line_rank"), standing_for(question.settings.owner))
    ranks: dict[str, int] = dict(core.sort("line_rank", "cell_id").head(most).iter_rows())
    for unit in units_of_ids(question, col("cell_id").isin(sorted(ranks))):
        rank = min(ranks.get(row["cell_id"], len(ranks)) for row in (*unit.members, unit.row))
        is_open = not is_over(unit.row, now=question.now)
        line = memory_line(unit, question, tier="background", score=1.0 - rank / 1_000, why="core memory")
        if is_open and line.tier == "background":
            yield line


def _pointers(work: Work, shown: Iterable[str]) -> Iterator[Candidate]:
    """Topics with what else is there, the largest first, topics that the signals found before all others."""
    store, owner = work.base.store, work.base.settings.owner
    is_there = scope_condition(owner) & (col("cell_count") > lit(0)) & col("merged_into").is_null()
    columns = ("topic_id", "name", "cell_count", "updated_at")
    topics = store.rows("topics", columns, is_there).sort("cell_count", "topic_id", descending=[True, False])
    near = {topic.row["topic_id"] for recalled in work.probes for topic in recalled.topics}
    topics = topics.head(POINTERS)
    named = cell_condition(owner) & col("topic_id").isin(topics["topic_id"])
    cells = store.rows("cells", ("cell_id", "topic_id", "index_label", "salience", *ON_TRUST), named)
    is_answered_for = surely_answered_for_first("topic_id")
    fresh = (
        cells.with_columns(index_label=pl.when(is_answered_for).then("index_label"))
        .filter(~pl.col("cell_id").is_in(sorted(shown)))
        .sort("salience", "cell_id", descending=[True, False])
        .group_by("topic_id", maintain_order=True)
        .agg(
            pl.len(),
            pl.col(*ON_TRUST).first(),
            labels=pl.col("index_label").drop_nulls().unique(maintain_order=True).head(POINTER_LABELS),
        )
    )
    for row in topics.join(fresh, on="topic_id", how="inner", maintain_order="left").iter_rows(named=True):
        source = (row["updated_at"], several_memories(row["len"]))
        word = whose_of(row)
        mark = f" ({word})" if word else ""
        texts = [f"{row['name']}: {', '.join(row['labels'])}"] * bool(row["labels"]) + [row["name"]]
        forms = tuple(line_of("topic", f"{text}{mark}", *source) for text in texts)
        score = row["len"] / 1_000 + (row["topic_id"] in near)
        yield Candidate(
            "index", score, "pointer", forms, *source, "further memories", topic_ids=(row["topic_id"],)
        )
