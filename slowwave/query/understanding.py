"""What a question asks for: its words, its vector, its intent, and the time that it names."""

from datetime import UTC, datetime

import polars as pl

from slowwave.embeddings import Vectors
from slowwave.query.cells import CellQuestion
from slowwave.query.conditions import cell_condition
from slowwave.query.episodes import without_episodes
from slowwave.query.graph import cells_naming
from slowwave.query.reader import Reader
from slowwave.schemas.search import Filters, Intent
from slowwave.store import Expr, Store, TextLeg, col
from slowwave.transforms.intents import EXEMPLARS, intent_by_vectors, intent_by_words
from slowwave.transforms.questions import QUERY_WORDS, telling_words
from slowwave.transforms.times import TimeRange, anchored_time, resolve_anchor, time_of_question

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
"""From here on calendars can be counted back."""

NAMED_TODAY = 1_000
"""Memories that name an entity by itself, looked at beside those that the graph knows."""

INTENT_MARGIN = 0.15
"""Lead in cosine that the nearest exemplars need: bare nouns lead by chance by up to 0.12 with static vectors."""


def understand(
    reader: Reader, store: Store, query: str, vector: Vectors | None, filters: Filters, *, now: datetime
) -> CellQuestion:
    """The question as the tiers take it; a time that it names counts from `filters.as_of` where that is given."""
    weight = reader.settings.search.vector_weight
    if reader.embedder is not None:
        weight *= reader.embedder.profile.vector_weight
    return CellQuestion(
        text=query,
        words=telling_words(query, most=QUERY_WORDS),
        vector=vector,
        vector_weight=weight if vector is not None else 0.0,
        filters=filters,
        where=_findable(reader, store, filters),
        period=_period(reader, store, query, filters, now=max(filters.as_of or now, EARLIEST)),
        intent=_intent(reader, query, vector),
        now=now,
    )


def _intent(reader: Reader, query: str, vector: Vectors | None) -> Intent:
    """By words where a question word speaks; else by exemplars in the embedder's space."""
    intent = intent_by_words(query)
    exemplars = reader.exemplar_vectors() if intent == "general" and vector is not None else None
    if exemplars is None or vector is None:
        return intent
    intents = [intent for intent, texts in EXEMPLARS.items() for _ in texts]
    return intent_by_vectors(vector, exemplars, intents, margin=INTENT_MARGIN) or "general"


def _period(reader: Reader, store: Store, query: str, filters: Filters, *, now: datetime) -> TimeRange | None:
    """The time that a question names, or that lies so far from an event which memory knows.

    What is to come was said before it came: such a time draws nothing.
    """
    named = time_of_question(query, now=now)
    if named is not None:
        return None if named.start is not None and named.start > now else named
    anchored = anchored_time(query)
    if anchored is None:
        return None
    event, offset = anchored
    words = telling_words(event, most=QUERY_WORDS)
    where = without_episodes(cell_condition(reader.settings.own, filters), filters)
    (found,) = store.at_once([TextLeg("cells", words, 1, where, columns=("event_time",))])
    return resolve_anchor(offset, found["event_time"][0], text=query) if found.height else None


def _findable(reader: Reader, store: Store, filters: Filters) -> Expr:
    """The condition of the cells that may be found; a person or thing that is wanted is looked up once."""
    where = cell_condition(reader.settings.own, filters)
    if filters.entity is None:
        return where
    named = set(cells_naming(store, reader.settings.own, filters.entity))
    # a memory of today has no place in the graph before the night: it goes by the name as it was said
    (fresh,) = store.at_once(
        [TextLeg("cells", filters.entity, NAMED_TODAY, where, ("entities",), ("entities",))]
    )
    name = pl.col("entities").str.replace(r" \([^)]*\)$", "").str.to_lowercase()
    said = fresh.explode("entities").filter(name == filters.entity.strip().lower())["cell_id"]
    return where & col("cell_id").isin(sorted(named | set(said)))
