"""One question, worked through: what every form of an answer is rendered from; and memories by a condition alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from slowwave.language.excerpt import Asked, asked_terms
from slowwave.language.query_words import names_a_thing
from slowwave.models.embed.relevance import Vectors
from slowwave.recall.conditions import cell_condition
from slowwave.recall.gather import CELL_COLUMNS, Gathered, gather, gather_rows
from slowwave.recall.modes import Mode
from slowwave.recall.question import Question, understand
from slowwave.recall.reader import Reader
from slowwave.recall.resolve import Unit, mark_echoes, resolve
from slowwave.recall.said import Said, score_said
from slowwave.recall.score import score_units
from slowwave.recall.standing_turns import standing_turns
from slowwave.recall.turns import worked_turns
from slowwave.schemas.search import Filters
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.store import Expr, FirstQuery, Row, RowsQuery, Store, col
from slowwave.trust.origins import ON_TRUST, whose_of

RELEVANT_COVERAGE = 0.5
"""Share of the question's terms, by weight, from which on a text is about the question whatever its vector says."""

UNREAD_AMONG = 20
"""Messages, best first, among which those are looked for that no memory holds yet."""


@dataclass
class Recalled:
    """A question with everything that may answer it, best first; what is not about the question is left out."""

    question: Question
    gathered: Gathered
    units: list[Unit] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    topics: list["TopicUnit"] = field(default_factory=list)
    asked: Asked = field(default_factory=lambda: Asked({}))
    more_units: list[Unit] = field(default_factory=list)
    more_said: list[Said] = field(default_factory=list)
    """What matches less well: it fills a page that is larger than what is relevant, where anything is."""


@dataclass
class TopicUnit:
    """A topic whose summary is about the question; `since` are current values that are newer than the summary.

    `whose` is the source of its memories, by the most trusted; empty where a person's.
    """

    row: Row
    score: float
    since: list[Unit] = field(default_factory=list)
    whose: str = ""


def recall(
    reader: Reader,
    store: Store,
    text: str,
    mode: Mode,
    *,
    vector: Vectors | None,
    filters: Filters | None = None,
    now: datetime,
) -> Recalled:
    """Work a question through the pipeline: understand, gather, resolve, score."""
    question = understand(reader, store, text, vector, filters or Filters(), now=now)
    question = replace(question, has_raw=mode.has_raw, most_cells=mode.most_cells)
    gathered = gather(question)
    units = score_units(question, gathered, resolve(question, gathered))
    said = score_said(question, gathered, mode)
    recalled = Recalled(question, gathered, asked=asked_terms(text, partial(store.rarities, "passages")))
    recalled.units, recalled.said = relevant(question, gathered, units, said, mode)
    mark_echoes(units if mode.fills else recalled.units, among=units)
    recalled.topics = rank_topics(question, gathered, recalled.units, mode)
    if mode.fills and (recalled.units or recalled.said):
        found = {unit.cell_id for unit in recalled.units} | {one.turn_id for one in recalled.said}
        recalled.more_units = [unit for unit in units if unit.cell_id not in found]
        recalled.more_said = [one for one in said if one.turn_id not in found]
    return recalled


def relevant(
    question: Question, gathered: Gathered, units: list[Unit], said: list[Said], mode: Mode
) -> tuple[list[Unit], list[Said]]:
    """The memories and messages that are about the question; none where even the best of both is not.

    How much a text is about it is coverage and strength together: either alone lets through half of the questions
    that nothing answers (two invented worlds with the embedded model: 70 % of the answerable questions kept where
    80 % of the others get nothing, 49 and 57 % by one of them).
    """
    if question.filters.is_narrow or question.filters.is_historical or not names_a_thing(question.text):
        return units, said
    of_units = [
        1.0
        if _is_property_asked(question, unit)
        else _about(question, unit.columns["coverage"], unit.columns["strength"])
        for unit in units
    ]
    of_said = [_about(question, one.columns["window"], one.columns["strength"]) for one in said]
    timely = {unit.cell_id for unit in units if unit.columns["in_period"]} | gathered.timely
    if max([*of_units, *of_said], default=0.0) < mode.known and not timely:
        return [], []
    least = NEAR_KNOWN * mode.known
    about = [one for one, value in zip(said, of_said, strict=True) if value >= least or one.turn_id in timely]
    # a message that is marked as earlier comes with the later one, which may share fewer words
    kept = {turn.turn_id for one in about for turn in (one, one.later) if turn is not None}
    return (
        [
            unit
            for unit, value in zip(units, of_units, strict=True)
            if value >= least or unit.cell_id in timely
        ],
        [one for one in said if one.turn_id in kept],
    )


def _about(question: Question, coverage: float, strength: float) -> float:
    """The degree to which a text is about a question; without a shared word its meaning counts somewhat more."""
    if question.relevance is None:
        return WITHOUT_VECTORS * coverage
    return question.extent * (strength + max(coverage, WORDLESS * strength))


def _is_property_asked(question: Question, unit: Unit) -> bool:
    """Return whether a question names the property of a memory with half of its words, and no vector judges.

    "Which editor does Anna use?" asks for Anna's editor, however rare the word "use" is in a home of few messages.
    """
    return question.relevance is None and unit.columns["key"] >= RELEVANT_COVERAGE


WITHOUT_VECTORS = 1.5
"""Weight of coverage where no vector says anything: half of the question's terms make a text one about it."""

WORDLESS = 0.4

NEAR_KNOWN = 0.6
"""Share of what makes a question answerable from which on a single text is shown for it."""


def rank_topics(question: Question, gathered: Gathered, units: Sequence[Unit], mode: Mode) -> list[TopicUnit]:
    """Topics by how much of what answers is theirs, and by how well their name and summary match; best first."""
    if question.filters.is_historical or question.is_about_time or not gathered.topics:
        return []
    usable = [
        row
        for row in gathered.topics.values()
        if row["summary"] is not None and row["merged_into"] is None and row["cell_count"] > 0
    ]
    votes: dict[str, float] = {}
    for unit in units[:VOTERS]:
        topic_id = unit.row["topic_id"]
        if topic_id:
            votes[topic_id] = votes.get(topic_id, 0.0) + unit.score
    total = sum(votes.values()) or 1.0
    found = []
    for row in usable:
        share = votes.get(row["topic_id"], 0.0) / total
        coverage = question.share(row["held"])
        near = question.strength(row["similarity"], len(gathered.topics))
        # words alone bring summaries that merely hold common ones: "limit" and "API" in one about logins
        is_near = near >= UNRELATED_BEST if question.relevance is not None else coverage >= mode.known
        if share >= LEAST_VOTES or (coverage >= RELEVANT_COVERAGE and is_near):
            found.append(TopicUnit(row, 0.5 * share + 0.5 * (0.6 * max(coverage, near) + 0.4 * coverage)))
    sources = _sources(question, [topic.row["topic_id"] for topic in found])
    for topic in found:
        topic.since = newer_values(topic.row, units)
        words = sources.get(topic.row["topic_id"], {""})
        topic.whose = "" if "" in words else min(words)
    return sorted(found, key=lambda topic: (-topic.score, topic.row["topic_id"]))


def _sources(question: Question, topic_ids: Sequence[str]) -> dict[str, set[str]]:
    """The sources of the memories of each topic, found by the question or not: a summary quotes them all."""
    if not topic_ids:
        return {}
    where = cell_condition(question.settings.owner) & col("topic_id").isin(sorted(topic_ids))
    (rows,) = question.store.find([RowsQuery("cells", ("topic_id", *ON_TRUST), where)])
    words: dict[str, set[str]] = {}
    for row in rows:
        words.setdefault(row["topic_id"], set()).add(whose_of(row))
    return words


UNRELATED_BEST = 0.5
"""Strength of the best of so many unrelated texts (`Relevance.strength`)."""

VOTERS = 10
"""Best memories that say by their topic which summary is wanted."""

LEAST_VOTES = 0.25
"""Share of the best memories' scores from which on their topic's summary is shown."""


def newer_values(topic: Row, units: Sequence[Unit]) -> list[Unit]:
    """Current values of a topic that changed after its summary was written."""
    written = topic["summarized_at"] or topic["updated_at"]
    return [
        unit
        for unit in units
        if unit.row["topic_id"] == topic["topic_id"] and unit.history and unit.row["recorded_at"] > written
    ]


def near_best(units: Sequence[Unit], cut: float) -> list[Unit]:
    """The memories that match at least `cut` times as well as the best match, in their order.

    Match alone counts, without age, type and history: those say which of several answers leads, not whether one is.
    """
    matched = [unit.columns["fused"] * unit.columns["match"] for unit in units]
    least = cut * max(matched, default=0.0)
    return [
        unit
        for unit, value in zip(units, matched, strict=True)
        if value >= least or unit.columns["in_period"]
    ]


def unread(recalled: Recalled, among: Sequence[Said]) -> list[Said]:
    """The messages that no memory holds and no model has read, in their order: they speak for themselves."""
    question, found = recalled.question, recalled.gathered.cells.values()
    covered = {turn for row in found if row["prompt_version"] != RAW_PROMPT for turn in row["evidence"] or ()}
    left = [one for one in among if one.turn_id not in covered]
    if not left:
        return []
    worked = worked_turns(question.store, question.settings.owner, {one.row["session_id"] for one in left})
    return still_current(recalled, [one for one in left if one.turn_id not in worked])


def still_current(recalled: Recalled, among: Sequence[Said]) -> list[Said]:
    """The messages that may be quoted: nobody deleted or corrected what they say."""
    question, left = recalled.question, {one.turn_id: one for one in among}
    kept = standing_turns(question.store, question.settings.owner, [one.row for one in among])
    return [replace(left[row["turn_id"]], row=row) for row in kept]


MOST_KNOWN = 200
"""Rows of one condition, newest first."""


def known_units(
    question: Question, where: Expr, *, by: str = "event_time", most: int = MOST_KNOWN
) -> list[Unit]:
    """Current memories of the rows that a condition holds for: highest `by` first, with history and rivals."""
    living = cell_condition(question.settings.owner) & where
    (rows,) = question.store.find([FirstQuery("cells", by, most, living, CELL_COLUMNS)])
    return units_of_rows(question, rows)


def units_of_ids(question: Question, where: Expr) -> list[Unit]:
    """The same without an order or a bound, for few rows that are named."""
    living = cell_condition(question.settings.owner) & where
    (rows,) = question.store.find([RowsQuery("cells", CELL_COLUMNS, living)])
    return units_of_rows(question, rows)


def units_of_rows(question: Question, rows: list[Row]) -> list[Unit]:
    """Units of rows that were read, in their order."""
    if not rows:
        return []
    gathered = gather_rows(question, rows)
    place = {row["cell_id"]: number for number, row in enumerate(rows)}
    units = resolve(question, gathered)
    mark_echoes(units, among=units)
    for unit in units:
        unit.score = unit.row["salience"]
    return sorted(units, key=lambda unit: min(place[row["cell_id"]] for row in unit.members))
