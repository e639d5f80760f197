"""Lines that stand whatever the signals say: open contradictions, ways of working, core memory, pointers to more."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import timedelta

import polars as pl

from slowwave.context.gather import ANSWERED_FOR
from slowwave.context.memories import (
    KnownCell,
    cell_line,
    is_over,
    line,
    quote_lines,
    read_memories,
)
from slowwave.context.near import Findings, Near, look_near
from slowwave.context.page import source_label
from slowwave.context.situation import Situation
from slowwave.context.statements.preferences import preference_lines
from slowwave.context.tiers import CONTRADICTION, Candidate
from slowwave.prompting.page_lines import page_line
from slowwave.schemas.choices import CellType
from slowwave.schemas.moments import day_of
from slowwave.schemas.report import several_memories
from slowwave.schemas.search import Filters
from slowwave.search.conditions import cell_condition, scope_condition
from slowwave.search.current_values import Pair
from slowwave.search.topics import whose_topics
from slowwave.store import Expr, Row, col, lit
from slowwave.trust.origins import ON_TRUST, surely_answered_for_first

LASTING_TYPES: tuple[CellType, ...] = ("preference", "pattern", "workflow")
WAY = "a way of working"
A_PERSON = "a person said"
CONTRADICTIONS = 8
UNRELATED_CONTRADICTIONS = 3
CORE_ROWS = 12
"""Lines of core memory beside signals of the moment; five times as many without any."""
MOST_CORE_ROWS = 200
"""The same at the start of a conversation."""
LASTING_ROWS = 12
OPEN_TASKS = 25
"""Open tasks that want a line at the start of a conversation."""
POINTERS = 16
POINTER_LABELS = 6


def open_contradictions(
    situation: Situation, touched: Collection[str] | None = None, *, undecided: Collection[Pair] = ()
) -> list[tuple[KnownCell, KnownCell, str | None]]:
    """Both sides and the note of open contradictions, newest first; of those that touch one of the ids, if given.

    After them come pairs of memories that nobody noted yet (`undecided`), and of which no date decides which holds.
    """
    where = scope_condition(situation.settings.owner) & (col("status") == lit("open"))
    if touched is not None:
        where &= col("cell_a").isin(list(touched)) | col("cell_b").isin(list(touched))
    rows = situation.store.rows("contradictions", ("cell_a", "cell_b", "detected_at", "note"), where).sort(
        "detected_at", "cell_a", descending=[True, False]
    )
    noted = rows.select("cell_a", "cell_b", "note").rows()
    pairs = [*noted, *((*pair, None) for pair in sorted(map(sorted, undecided)))]
    cells = read_memories(situation, col("cell_id").isin([cell_id for pair in pairs for cell_id in pair[:2]]))
    return [(cells[one], cells[other], note) for one, other, note in pairs if one in cells and other in cells]


def both_sides(one: KnownCell, other: KnownCell, note: str | None, score: float) -> Candidate:
    """The line of an open contradiction, the older side first; below 0 it stands in its shortest form alone."""
    older, newer = sorted((one, other), key=lambda memory: (memory.event_time, memory.cell_id))
    sides_differ = older.whose != newer.whose  # the end of the line says it of the newer one alone

    def word(memory: KnownCell) -> str:
        return memory.whose or (A_PERSON if sides_differ else "")

    def text(first: str, second: str, *, has_note: bool) -> str:
        reason = f" ({note})" if note and has_note else ""
        whose = f", {word(older)}" * bool(word(older))
        said = f"{first} [{day_of(older.event_time)}, {source_label(older.source_name)}{whose}]"
        by = f" [{word(newer)}]" * sides_differ
        return f"Either: {said} Or: {second}{by}{reason} Undecided which holds."

    texts = [
        text(older.content, newer.content, has_note=True),
        text(older.content, newer.content, has_note=False),
        text(older.compressed or older.content, newer.compressed or newer.content, has_note=False),
    ]
    if score < 0:
        texts = texts[-1:]
    source, ids = (newer.event_time, newer.source_name), (older.cell_id, newer.cell_id)
    why, kind = "open contradiction", "open contradiction"
    found = line("critical", score, kind, texts, source, why, whose=newer.whose, cell_ids=ids)
    return replace(
        found,
        kind=CONTRADICTION,
        tier="relevant" if older.whose else found.tier,
        rests_on=frozenset((*older.evidence, *newer.evidence)),
        wordings=frozenset({page_line(older.content), page_line(newer.content)}),
    )


def contradiction_lines(situation: Situation, found: Findings) -> list[Candidate]:
    """Open contradictions, both sides in one line: those that touch what was found first of all lines.

    Those that do not touch it stand where there is room, and only where no question says what is wanted.
    Two sides that carry the same value differ in something beside it: they stand where there is room, and only near.
    """
    lines, unrelated = list[Candidate](), 0
    for one, other, note in open_contradictions(situation, undecided=found.undecided):
        is_near = not situation.text or one.cell_id in found.cells or other.cell_id in found.cells
        is_same_value = one.value is not None and one.value == other.value
        if not is_near and (is_same_value or situation.request.question):
            continue
        unrelated += not is_near
        if is_near or unrelated <= UNRELATED_CONTRADICTIONS:
            is_urgent = is_near and not is_same_value
            lines.append(both_sides(one, other, note if is_near else None, 3.0 if is_urgent else -1.0))
    return lines[: CONTRADICTIONS + UNRELATED_CONTRADICTIONS]


def background_lines(situation: Situation) -> list[Candidate]:
    """Preferences, patterns, workflows and sections of files near the text, then core memory, then the rest of them."""
    text = situation.text
    hints = [
        Near(text, 1.0, WAY, Filters(cell_types=LASTING_TYPES), is_strict=False, has_turns=False),
        Near(text, 0.8, "from the project's files", Filters(source_type="file"), is_strict=False),
    ]
    near = look_near(situation, hints)
    near.keep_untold_turns(situation)
    lines = [
        cell_line("background", memory, 1.0 + score, why) for memory, score, why in near.memories(situation)
    ]
    for turn, score in near.turns.values():
        if turn.role == "document":
            why, most = "from the project's files", situation.settings.context.quote_characters
            lines += quote_lines("background", turn, 1.0 + score, why, asked=situation.asked, most=most)
    lines += _core_lines(situation, most=CORE_ROWS if text else 5 * CORE_ROWS)
    kinds = read_memories(situation, col("cell_type").isin(LASTING_TYPES) & ANSWERED_FOR)
    lasting = sorted(kinds.values(), key=lambda memory: (-memory.salience, memory.cell_id))[:LASTING_ROWS]
    return lines + [cell_line("background", memory, 0.5 * memory.salience, WAY) for memory in lasting]


def index_lines(situation: Situation, lines: Iterable[Candidate], found: Findings) -> list[Candidate]:
    """Pointers to topics with what else is there, the largest first, topics that were found before all others."""
    owner = scope_condition(situation.settings.owner) & (col("cell_count") > lit(0))
    columns = ("topic_id", "name", "cell_count", "updated_at", "merged_into")
    topics = (
        situation.store.rows("topics", columns, owner)
        .filter(pl.col("merged_into").is_null())
        .sort("cell_count", "topic_id", descending=[True, False])
        .head(POINTERS)
    )
    told = {cell_id for line in lines for cell_id in line.cell_ids}
    living = cell_condition(situation.settings.owner)
    named = col("topic_id").isin(topics["topic_id"])
    wanted = ("cell_id", "topic_id", "index_label", "salience", *ON_TRUST)
    cells = situation.store.rows("cells", wanted, living & named)
    whose, is_told = whose_topics(cells), surely_answered_for_first("topic_id")
    cells = cells.with_columns(index_label=pl.when(is_told).then("index_label"))
    fresh = (
        cells.filter(~pl.col("cell_id").is_in(sorted(told)))
        .sort("salience", "cell_id", descending=[True, False])
        .group_by("topic_id", maintain_order=True)
        .agg(
            pl.len(),
            labels=pl.col("index_label").drop_nulls().unique(maintain_order=True).head(POINTER_LABELS),
        )
    )
    further = topics.join(fresh, on="topic_id", how="inner", maintain_order="left")
    return [
        _pointer(topic, is_near=topic["topic_id"] in found.topics, whose=whose[topic["topic_id"]])
        for topic in further.iter_rows(named=True)
    ]


def opening_lines(situation: Situation) -> list[Candidate]:
    """Lines for the start of a conversation: open contradictions, open tasks, core memory, and fresh preferences.

    Core memory is what persons said or confirmed. Of tasks without a day only the recent ones are told.
    """
    lines = contradiction_lines(situation, Findings())
    recent = situation.now - timedelta(days=situation.settings.context.open_task_days)
    tasks = [
        memory
        for memory in read_memories(situation, (col("cell_type") == lit("task")) & ANSWERED_FOR).values()
        if not is_over(situation, memory) and (memory.valid_until or memory.event_time >= recent)
    ]
    tasks.sort(key=lambda memory: -memory.salience)
    lines += [cell_line("critical", task, 1.0 + task.salience, "open task") for task in tasks[:OPEN_TASKS]]
    core = _core_lines(situation, most=MOST_CORE_ROWS)
    known = frozenset[str]().union(*(line.wordings for line in core))
    return [*lines, *core, *(wish for wish in preference_lines(situation) if not wish.wordings <= known)]


# Inside


def _open_of_persons(situation: Situation, where: Expr) -> list[KnownCell]:
    """Memories that persons said or confirmed, without tasks that are done or past."""
    known = read_memories(situation, where).values()
    return [memory for memory in known if memory.is_persons and not is_over(situation, memory)]


def _core_lines(situation: Situation, *, most: int) -> list[Candidate]:
    """The first lines of core memory, as far as they hold."""
    core = situation.store.rows("core", ("cell_id", "line_rank"), scope_condition(situation.settings.owner))
    ranks: dict[str, int] = dict(core.sort("line_rank").head(most).iter_rows())
    return [
        cell_line("background", memory, 1.0 - ranks[memory.cell_id] / 1_000, "core memory")
        for memory in _open_of_persons(situation, col("cell_id").isin(ranks))
    ]


def _pointer(topic: Row, *, is_near: bool, whose: str) -> Candidate:
    count, score = topic["len"], topic["len"] / 1_000 + is_near
    texts = [f"{topic['name']}: {', '.join(topic['labels'])}"] * bool(topic["labels"]) + [topic["name"]]
    source, ids = (topic["updated_at"], several_memories(count)), (topic["topic_id"],)
    return replace(
        line("index", score, "topic", texts, source, "further memories", whose=whose, topic_ids=ids),
        kind="pointer",
    )
