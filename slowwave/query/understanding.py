"""What a question asks for: its words, its vector, its intent, and the time that it names."""

from datetime import UTC, datetime

import polars as pl

from slowwave.embeddings import Vectors
from slowwave.query.cells import CellQuestion
from slowwave.query.conditions import cell_condition
from slowwave.query.episodes import without_episodes
from slowwave.query.reader import Reader
from slowwave.schemas.search import Filters, Intent
from slowwave.store import Expr, RowsLeg, Store, TextLeg, col
from slowwave.transforms.intents import EXEMPLARS, intent_by_vectors, intent_by_words
from slowwave.transforms.questions import QUERY_WORDS, telling_words
from slowwave.transforms.times import TimeRange, anchored_time, resolve_anchor, time_of_question

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
"""From here on calendars can be counted back."""

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
    (rows,) = store.at_once([RowsLeg("cells", ("cell_id", "entities"), where)])
    wanted = filters.entity.strip().lower()
    name = pl.col("entities").str.replace(r" \([^)]*\)$", "").str.to_lowercase()
    named = rows.explode("entities").filter(name == wanted)["cell_id"].unique().to_list()
    return where & col("cell_id").isin(named or [""])
