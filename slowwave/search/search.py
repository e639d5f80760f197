"""One question, two tiers: topic summaries and cells, and at `evidence` the raw turns.

No language model, no Prefect, no lock. Lists of full text and of vectors are fused and weighted by bounded
priors. Only what the asking owner may see appears, and of that only what holds, unless the past is asked for.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from slowwave.embeddings import Vectors
from slowwave.errors import InputError
from slowwave.excerpts import with_excerpts
from slowwave.excerpts.relevance import WORDLESS
from slowwave.language.intents import is_complex
from slowwave.language.query_words import names_a_thing
from slowwave.language.signals import holds_words
from slowwave.language.time_phrases import Use, time_of_filter
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.refusals import in_utc, possible
from slowwave.schemas.search import (
    CellHit,
    ChainStep,
    DetailLevel,
    Filters,
    Narrowing,
    SearchRequest,
    SearchResult,
    TopicHit,
    TurnHit,
    When,
)
from slowwave.search.cells import cell_queries, rank_cells
from slowwave.search.conditions import recorded_condition
from slowwave.search.current_values import asked_first
from slowwave.search.episodes import EPISODE_LIST, are_asked_for, shown_by_age, without_echoes
from slowwave.search.fusing import Fused, newest_first
from slowwave.search.graph import reasons
from slowwave.search.hits import cell_hits
from slowwave.search.question import Question, understand
from slowwave.search.reader import Reader
from slowwave.search.topics import marked, topic_hits, topic_queries
from slowwave.search.turns import (
    TurnQuestion,
    answering_turns,
    by_their_turns,
    turn_hits,
    turn_queries,
    untold_note,
    with_turns,
)
from slowwave.settings.tree import Settings
from slowwave.store import Query, Row

SPARE_TURNS = 10
"""Turns ranked beyond those that are wanted: of statements alike the newest may stand there."""

ABOUT_SHARE = 0.5
"""Share of a question's telling words that a topic summary holds which is about it, where there is no embedder."""

TIMES: dict[str, Use] = {"after": "after", "before": "before", "as_of": "as_of", "known_at": "as_of"}
"""Filters that are times, and how words are read for each."""

SIMPLE_CHAIN, COMPLEX_CHAIN = (2, 5), (4, 20)
"""Steps back from an answer to why, and memories on the way, at most."""

UNFINISHED_ERASE = "an erase was cut off and its text may still stand here: `slowwave erase --resume` ends it"

NOTHING_EXTRACTED = (
    "no memory was made of what came in yet: `slowwave run nightly` does, "
    "`--detail evidence` asks what was said"
)


def answer(reader: Reader, request: SearchRequest, *, now: datetime) -> SearchResult:
    """`ask` as a caller of `Memory` asks, with excerpts; times that are words are read as of `now`.

    Raises:
        InputError: as `ask`; words name no time, or the filters leave none.
    """
    found = ask(
        reader,
        request.query,
        limit=request.limit,
        detail_level=request.detail_level,
        filters=filters_of(request, now=now),
        now=now,
    )
    return with_excerpts(found, reader.store, most=reader.settings.search.excerpt_characters)


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
    """Answer a question from topic summaries and, unless only summaries are wanted, from cells.

    `limit` bounds both tiers together; summaries about the question take up to three tenths of it. `evidence` adds as
    many raw turns, and under each cell the turns that it came from. `vector` is the question's own, where the caller
    has it.

    Raises:
        InputError: the question is empty, or `SearchRequest` refuses it.
    """
    reader, filters = reader.narrowed(filters or Filters())
    settings, most = reader.settings, reader.settings.search.limit if limit is None else limit
    query = possible(SearchRequest, {"query": query, "limit": most, "detail_level": detail_level}).query
    if not query.strip():
        raise InputError("the question is empty: say what to look for")
    store = reader.current()
    cells_known = store.count("cells") if store is not None else 0
    if store is None or (cells_known == 0 and store.count("turns") == 0):
        return SearchResult(query=query, notes=[reader.why_nothing()], topics=[], cells=[])
    notes = [UNFINISHED_ERASE] if reader.home.erase_path.exists() else []
    notes += [NOTHING_EXTRACTED] if cells_known == 0 and detail_level != "evidence" else []
    if vector is None:
        vector, note = reader.vector_of(query)
        notes += [note] if note else []
    moment = in_utc(now) if now is not None else datetime.now(UTC)
    question = understand(reader, store, query, vector, filters, now=moment)
    topic_count, cell_count = _shares(settings, most, detail_level)
    # a summary tells of more than a filter lets through, so it stands only where nothing but summaries is wanted
    summary_count = 0 if filters.is_narrow and cell_count else topic_count
    has_turns = detail_level == "evidence"
    found = _first_round(question, summary_count, cell_count, has_turns=has_turns)
    topics = topic_hits(question, found["topics"], count=summary_count)
    if cell_count:
        topics = [topic for topic in topics if _is_about(question, topic, reader)]
    cells, episodes = _hits(question, reader, found["cells"], topic_count, most if cell_count else 0)
    topics = marked(question, topics[: topic_count - len(episodes)])
    cells = cells[: most - len(topics) - len(episodes)]  # the places that no summary takes
    cells = episodes + cells if question.is_about_time else cells + episodes
    turns, period = _turns(question, found["turns"], most), question.period
    if has_turns:
        cells = _with_evidence(question, cells)
    if filters.is_historical and are_asked_for(filters):
        notes.append("episodes are told anew as memory changes: they may tell what came later")
    if cells_known and cell_count and not has_turns:
        notes += untold_note(store, _of_turns(question), settings, shown=[cell.content for cell in cells])
    notes += _why_empty(filters) if not (cells or topics or turns) else []
    if question.is_about_time and not cells and period is not None:
        notes.append(f"no memory that may be found is of that time ({period.text.strip()})")
    cells = shown_by_age(cells, settings.episodes, now=filters.as_of or moment)
    return SearchResult(
        query=query,
        intent=question.intent,
        after=period.start if period else None,
        before=period.end if period else None,
        notes=notes,
        topics=topics,
        cells=cells,
        turns=turns,
        reasons=_reasons(question, cells),
    )


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


def _reasons(question: Question, cells: list[CellHit]) -> list[ChainStep]:
    """Steps that led to the memories, if the question asks why; a complex question looks further."""
    if question.intent != "why" or not cells or question.filters.is_historical:
        return []
    depth, most = COMPLEX_CHAIN if is_complex(question.text) else SIMPLE_CHAIN
    owner, ids = question.settings.owner, [cell.cell_id for cell in cells]
    return reasons(question.store, owner, ids, depth=depth)[:most]


def _first_round(
    question: Question, topic_count: int, cell_count: int, *, has_turns: bool
) -> dict[str, dict[str, list[Row]]]:
    """Rows by tier and list, all read at once."""
    filters = question.filters
    queries: dict[str, Mapping[str, Query]] = {
        "topics": topic_queries(question, count=topic_count),
        "cells": with_turns(cell_queries(question, count=cell_count), "prompt_version") if cell_count else {},
        "turns": {},
    }
    # what was said names no type and, of itself, no person or thing
    if has_turns and filters.entity is None and not filters.cell_types:
        queries["turns"] = turn_queries(_of_turns(question), question.settings)
    found = iter(question.store.find([wanted for tier in queries.values() for wanted in tier.values()]))
    return {tier: {name: next(found) for name in named} for tier, named in queries.items()}


def _hits(
    question: Question, reader: Reader, found: dict[str, list[Row]], topic_count: int, cell_count: int
) -> tuple[list[CellHit], list[CellHit]]:
    """Cells, best first, and the episodes that take the place of topic summaries."""
    of_cells = {name: rows for name, rows in found.items() if name != EPISODE_LIST}
    of_episodes = {name: rows for name, rows in found.items() if name == EPISODE_LIST}
    # of several values of one thing one hit is left, so some more are ranked
    of_cells |= by_their_turns(question.store, of_cells, _of_turns(question), question.settings)
    ranked = rank_cells(question, of_cells, count=cell_count + cell_count // 2)
    most = min(question.settings.search.episodes, topic_count)
    told = rank_cells(question, of_episodes, count=most) if of_episodes else []
    words, hits = question.words.split(), cell_hits(question, [*ranked, *told])
    hits = asked_first(
        hits if question.filters.is_historical else newest_first(hits, question.text, words), words
    )
    named = {entry.fused.key for entry in told}
    episodes = [hit for hit in hits if hit.cell_id in named]
    cells = [hit for hit in hits if hit.cell_id not in named]
    cells = _near(question, cells, reader)[:cell_count]
    return cells, without_echoes(episodes, cells)


def _of_turns(question: Question) -> TurnQuestion:
    return TurnQuestion(question.words, question.vector, question.filters)


def _turns(question: Question, found: dict[str, list[Row]], most: int) -> list[TurnHit]:
    """Raw turns, best first, of statements alike the newest first, unless a past moment is asked for."""
    if not found:
        return []
    asked, settings = _of_turns(question), question.settings
    turns = answering_turns(question.store, found, asked, settings, most=most + SPARE_TURNS)
    if not question.filters.is_historical:
        turns = newest_first(turns, question.text, question.words.split())
    return turns[:most]


def _is_about(question: Question, topic: TopicHit, reader: Reader) -> bool:
    """Return whether a summary is about the question: a long text that takes the place of several memories.

    It holds every telling word, or is as near as the embedder's `relevance_threshold`; without one half of the words.
    """
    held = holds_words(f"{topic.name} {topic.summary}", question.words.split())
    if reader.embedder is None or question.vector is None or held == 1.0:
        return held >= ABOUT_SHARE
    similarity = max((share.value for share in topic.found_by if share.list_name == "vector"), default=0.0)
    return similarity >= reader.embedder.profile.relevance_threshold


def _near(question: Question, cells: list[CellHit], reader: Reader) -> list[CellHit]:
    """Memories without those that vectors alone brought and that are not similar enough: some are always nearest.

    A filter, a past moment, or a question without a matter wants what there is.
    """
    filters = question.filters
    if (
        reader.embedder is None
        or filters.is_narrow
        or filters.is_historical
        or not names_a_thing(question.text)
    ):
        return cells
    least = WORDLESS * reader.embedder.profile.relevance_threshold
    return [
        cell
        for cell in cells
        if any(share.list_name != "vector" or share.value >= least for share in cell.found_by)
    ]


def _with_evidence(question: Question, cells: list[CellHit]) -> list[CellHit]:
    """Each cell with the turns that it came from, as far as they had been said, in the order in which they were."""
    # an episode rests on a whole conversation: its turns are not quoted under it
    wanted = sorted({turn_id for cell in cells if cell.cell_type != EPISODE for turn_id in cell.turn_ids})
    named = [Fused(turn_id, 0.0, ()) for turn_id in wanted]
    said_by_then = recorded_condition(question.settings.owner, question.filters.past_state)
    turns = {turn.turn_id: turn for turn in turn_hits(question.store, named, said_by_then)}
    said = {
        cell.cell_id: sorted(
            (turns[turn_id] for turn_id in cell.turn_ids if turn_id in turns),
            key=lambda turn: (turn.event_time, turn.session_id, turn.turn_index),
        )
        for cell in cells
    }
    return [cell.model_copy(update={"evidence": said[cell.cell_id]}) for cell in cells]


def _shares(settings: Settings, limit: int, detail_level: DetailLevel) -> tuple[int, int]:
    if detail_level == "summary":
        return limit, 0
    share = settings.search.topics / max(settings.search.topics + settings.search.cells, 1)
    topics = min(round(limit * share), limit)
    return topics, limit - topics
