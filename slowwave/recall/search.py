"""`search`: topic summaries first, then memories, then messages that no night has read yet."""

from collections.abc import Sequence
from datetime import UTC, datetime

from slowwave.errors import InputError
from slowwave.language.excerpt import excerpt
from slowwave.language.intents import is_complex
from slowwave.language.times import Use, time_of_filter
from slowwave.models.embed.relevance import Vectors
from slowwave.recall.conditions import are_asked_for, recorded_condition
from slowwave.recall.graph import reasons
from slowwave.recall.lead import is_raw, lead_of
from slowwave.recall.modes import SEARCH
from slowwave.recall.question import Question
from slowwave.recall.reader import Reader
from slowwave.recall.recalled import UNREAD_AMONG, Recalled, TopicUnit, near_best, recall, unread
from slowwave.recall.render import echo_mark, full_text, value_line
from slowwave.recall.resolve import Unit
from slowwave.recall.results import cell_of, former_of, turn_of, use_of
from slowwave.recall.said import Said
from slowwave.recall.turns import TURN_COLUMNS
from slowwave.schemas.choices import EPISODE, WHOSE
from slowwave.schemas.refusals import in_utc, possible
from slowwave.schemas.results import Cell, Rank, SearchResult, Topic, Turn
from slowwave.schemas.search import DetailLevel, Filters, Narrowing, SearchRequest, When
from slowwave.store import RowsQuery, col
from slowwave.trust.speakers import origin_of, speaker_of

TIMES: dict[str, Use] = {"after": "after", "before": "before", "as_of": "as_of", "known_at": "as_of"}
"""Filters that are times, and how words are read for each."""

SIMPLE_CHAIN, COMPLEX_CHAIN = (2, 5), (4, 20)
"""Steps back from an answer to why, and memories on the way, at most."""

TOPIC_HITS = 3
"""Topic summaries among the hits: each mixes many memories."""

EPISODE_HITS = 1
"""Episodes among the hits where nothing about time was asked: they repeat their memories."""

MOST_UNREAD = 5
"""Messages that no night has read yet, at most, beside memories."""

EVIDENCE_SHARE = 0.5
"""Part of the length that a message gets which is shown under a memory."""

UNFINISHED_ERASE = "an erase was cut off and its text may still be here: `slowwave erase --resume` ends it"
NOTHING_EXTRACTED = "no memory was made of what came in yet: `slowwave run nightly` does"
RENEWED_EPISODES = "episodes are written anew as memory changes: they may hold what came later"
NOTHING_ELSE = "nothing else is known about this"
NOTHING_KNOWN = "nothing is known about this"


def answer(reader: Reader, request: SearchRequest, *, now: datetime) -> SearchResult:
    """`ask` as a caller of `Memory` asks; times that are words are read as of `now`.

    Raises:
        InputError: as `ask`; words name no time, or the filters leave none.
    """
    return ask(
        reader,
        request.query,
        limit=request.limit,
        detail_level=request.detail_level,
        filters=filters_of(request, now=now),
        now=now,
    )


def filters_of(request: Narrowing[When], *, now: datetime) -> Filters:
    """The filters of a request; times that are words are read as of `now`.

    Raises:
        InputError: words name no time, or the filters leave none.
    """
    wanted = {name: getattr(request, name) for name in Filters.model_fields}
    for name, use in TIMES.items():
        if isinstance(wanted[name], str):
            wanted[name] = time_of_filter(wanted[name], use=use, now=now)
    return possible(Filters, wanted)


def ask(
    reader: Reader,
    query: str,
    *,
    limit: int | None = None,
    detail_level: DetailLevel = "full",
    filters: Filters | None = None,
    now: datetime | None = None,
    vector: Vectors | None = None,
) -> SearchResult:
    """Answer a question from topic summaries and memories; `limit` bounds both together.

    `summary` wants summaries alone, `evidence` adds as many messages, and under each memory those that it rests on.
    `vector` is the question's own, where the caller has it.

    Raises:
        InputError: the question is empty, or `SearchRequest` refuses it.
    """
    reader, filters = reader.narrowed(filters or Filters())
    most = reader.settings.search.limit if limit is None else limit
    query = possible(SearchRequest, {"query": query, "limit": most, "detail_level": detail_level}).query
    if not query.strip():
        raise InputError("the question is empty: say what to look for")
    store = reader.current()
    known = store.count("cells") if store is not None else 0
    if store is None or (known == 0 and store.count("turns") == 0):
        return SearchResult(query=query, notes=[reader.why_nothing()])
    notes = [UNFINISHED_ERASE] if reader.home.erase_path.exists() else []
    notes += [NOTHING_EXTRACTED] if known == 0 and detail_level != "evidence" else []
    if vector is None:
        vector, note = reader.vector_of(query)
        notes += [note] if note else []
    moment = in_utc(now) if now is not None else datetime.now(UTC)
    recalled = recall(reader, store, query, SEARCH, vector=vector, filters=filters, now=moment)
    return _result(recalled, most, detail_level, notes)


def _result(recalled: Recalled, most: int, detail_level: DetailLevel, notes: list[str]) -> SearchResult:
    """The answer: what has a place, with notes on what is missing."""
    question = recalled.question
    topics, units = _placed(recalled, most, detail_level)
    said = _messages(recalled, most, detail_level)
    cells = [cell_hit(recalled, unit) for unit in units]
    if detail_level == "evidence":
        cells = _with_evidence(recalled, cells)
    notes = [*notes, *_notes(recalled, topics, units, said, most)]
    period = question.period
    lead, lead_ids = (
        ("", []) if detail_level == "summary" else lead_of(recalled, units, led_by(recalled, said))
    )
    return SearchResult(
        query=question.text,
        intent=question.intent,
        after=period.start if period else None,
        before=period.end if period else None,
        lead=lead,
        lead_ids=lead_ids,
        notes=notes,
        topics=[topic_hit(recalled, topic) for topic in topics],
        cells=cells,
        turns=[turn_hit(recalled, one, is_unread=detail_level != "evidence") for one in said],
        reasons=_reasons(question, cells, recalled),
    )


def _placed(recalled: Recalled, most: int, detail_level: DetailLevel) -> tuple[list[TopicUnit], list[Unit]]:
    """Summaries and memories that have a place; a place that no summary takes is a memory's."""
    question = recalled.question
    if detail_level == "summary":
        return recalled.topics[:most], []
    # a summary mixes memories from outside a filter, so it is shown only where summaries alone are wanted
    topics = [] if question.filters.is_narrow else recalled.topics
    topics = topics[: min(TOPIC_HITS, most)]
    units = recalled.units
    if not (question.filters.is_narrow or question.is_about_time):
        units = near_best(units, SEARCH.cut)
    episodes = 0 if not are_asked_for(question.filters) else most
    kept = list[Unit]()
    for unit in units:
        if unit.row["cell_type"] == EPISODE and not are_asked_for(question.filters):
            episodes += 1
            if episodes > EPISODE_HITS:
                continue
        kept.append(unit)
    return topics, kept[: most - len(topics)]


def _messages(recalled: Recalled, most: int, detail_level: DetailLevel) -> list[Said]:
    """At `evidence` all messages that answer; else those that no memory holds yet."""
    filters = recalled.question.filters
    # what was said names no type and, of itself, no person or thing
    if detail_level == "summary" or filters.entity is not None or filters.cell_types:
        return []
    if detail_level == "evidence":
        return recalled.said[:most]
    best = max((unit.score for unit in recalled.units), default=0.0)
    near = [one for one in recalled.said[:UNREAD_AMONG] if one.score >= SEARCH.cut * best]
    return unread(recalled, near)[:MOST_UNREAD] if near else []


def led_by(recalled: Recalled, said: Sequence[Said]) -> Sequence[Said]:
    """Messages of which one may lead: those that are shown, and those behind raw memories."""
    if not any(is_raw(unit) for unit in recalled.units[:1]):
        return said
    return unread(recalled, recalled.said[:1]) or said


def _notes(
    recalled: Recalled, topics: Sequence[TopicUnit], units: Sequence[Unit], said: Sequence[Said], most: int
) -> list[str]:
    """Notes that a reader should know: why nothing was found, or that nothing else is known."""
    question, filters = recalled.question, recalled.question.filters
    if filters.is_historical and are_asked_for(filters):
        return [RENEWED_EPISODES, *([] if units or topics or said else _why_empty(filters))]
    if question.is_about_time and not units and question.period is not None:
        return [f"no memory that may be found is of that time ({question.period.text.strip()})"]
    if units or topics or said:
        is_short = len(units) + len(topics) < most and not filters.is_narrow
        return [NOTHING_ELSE] if is_short and units else []
    return _why_empty(filters) or [NOTHING_KNOWN]


def _why_empty(filters: Filters) -> list[str]:
    """A note that names the filters which left no result."""
    if filters.entity is not None and filters.narrowed_by == ["entity"]:
        return [f"no memory that may be found names {filters.entity!r}"]
    named = filters.narrowed_by + [
        name for name in ("scope", "project") if getattr(filters, name) is not None
    ]
    if named == ["project"]:
        return ["nothing of this project, or known in all, answers that"]
    return [f"no memory that may be found passes the filters: {', '.join(named)}"] if named else []


def _reasons(question: Question, cells: list[Cell], recalled: Recalled) -> list[Cell]:
    """Steps that led to the memories, if the question asks why; a complex question looks further."""
    if question.intent != "why" or not cells or question.filters.is_historical:
        return []
    depth, most = COMPLEX_CHAIN if is_complex(question.text) else SIMPLE_CHAIN
    ids = [cell.cell_id for cell in cells]
    steps = reasons(question.store, question.settings.owner, ids, depth=depth)[:most]
    room = question.settings.search.excerpt_characters
    return [
        step.model_copy(
            update={
                "rank": Rank(
                    score=0, text=step.content, excerpt=excerpt(step.content, recalled.asked, most=room)
                )
            }
        )
        for step in steps
    ]


# Hits


def cell_hit(recalled: Recalled, unit: Unit) -> Cell:
    """A unit as a memory of an answer."""
    question, row = recalled.question, unit.row
    now = question.filters.as_of or question.now
    text = row["content"] if row["steps"] or row["template"] else full_text(unit, question.settings, now=now)
    topic = recalled.gathered.topics.get(row["topic_id"] or "")
    usage = recalled.gathered.usage.get(unit.cell_id)
    shown = excerpt(text, recalled.asked, most=question.settings.search.excerpt_characters)
    why = {name: float(value) for name, value in unit.columns.items()}
    return cell_of(
        row,
        topic_name=topic["name"] if topic else None,
        has_open_contradiction=unit.rival is not None,
        rival=None if unit.rival is None else cell_of(unit.rival),
        echo=echo_mark(unit.echo_of) if unit.echo_of is not None else None,
        history=[former_of(past) for past in unit.history],
        rank=Rank(score=max(unit.score, 0.0), why=why, text=text, excerpt=shown),
        # of a past moment the counts say nothing
        use=None if question.filters.is_historical or usage is None else use_of(usage),
    )


def topic_hit(recalled: Recalled, topic: TopicUnit) -> Topic:
    """A topic of an answer, with the values that changed since its summary was written."""
    row, summary = topic.row, topic.row["summary"]
    return Topic(
        topic_id=row["topic_id"],
        name=row["name"],
        summary=summary,
        updated_at=row["summarized_at"] or row["updated_at"],
        cell_count=row["cell_count"],
        project_id=row["project_id"],
        whose=topic.whose,
        since=[value_line(unit) or unit.row["content"] for unit in topic.since],
        is_outdated=bool(row["needs_review"] or topic.since),
        rank=Rank(
            score=topic.score, text=summary, excerpt=excerpt(summary, recalled.asked, most=len(summary))
        ),
    )


def turn_hit(recalled: Recalled, one: Said, *, is_unread: bool = False, share: float = 1.0) -> Turn:
    """A message of an answer, with who says what is shown of it and whose word that is."""
    row, most = one.row, int(share * recalled.question.settings.search.excerpt_characters)
    shown = excerpt(row["content"], recalled.asked, most=most)
    part = {"role": row["role"], "content": row["content"], "shown": shown.text}
    return turn_of(
        row,
        said_by=speaker_of(speaker=row["speaker"], **part),
        whose=WHOSE[origin_of(row["origin"], **part)],
        is_unread=is_unread,
        rank=Rank(score=max(one.score, 0.0), why=one.columns, text=row["content"], excerpt=shown),
    )


def _with_evidence(recalled: Recalled, cells: list[Cell]) -> list[Cell]:
    """Each memory with the messages that it came from, as far as they had been said, in their order."""
    # an episode rests on a whole conversation: its messages are not quoted under it
    wanted = sorted({turn_id for cell in cells if cell.cell_type != EPISODE for turn_id in cell.turn_ids})
    question = recalled.question
    where = recorded_condition(question.settings.owner, question.filters.past_state)
    (rows,) = question.store.find([RowsQuery("turns", TURN_COLUMNS, where & col("turn_id").isin(wanted))])
    turns = {row["turn_id"]: turn_hit(recalled, Said(row, 0.0, 0), share=EVIDENCE_SHARE) for row in rows}
    return [
        cell.model_copy(
            update={
                "evidence": sorted(
                    (turns[turn_id] for turn_id in cell.turn_ids if turn_id in turns),
                    key=lambda turn: (turn.event_time, turn.session_id, turn.turn_index),
                )
            }
        )
        for cell in cells
    ]
