"""A store of invented memories for `benchmarks/latency.py`: Zipf-like texts and vectors in clusters, in bulk.

Everything is drawn from one seed: the same numbers give the same store on every machine. Rows become events and are
folded in by the store itself, so that every table is what nights would have left.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from slowwave.journal.catalogue import CATALOGUE, SCAN_SCHEMA, encode
from slowwave.journal.changes import collapse
from slowwave.journal.fold import fold
from slowwave.language.lexicon import STOP_WORDS
from slowwave.schemas.identity import content_hashes, stable_ids
from slowwave.store import Store, create_store

SEED = 20_261_120
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAYS = 365
EMBEDDER = "invented/clusters/{dims}/1"
TOPIC_CELLS, SESSION_TURNS, CHUNK_TURNS = 20, 50, 6
BATCH = 25_000
"""Rows that are written together."""

WORDS, WORDS_OF_A_TOPIC, TOPIC_SHARE = 20_000, 30, 0.35
"""Different words, words that a topic prefers, and how many of its words are such."""
CELL_WORDS, TURN_WORDS = (10, 26), (6, 70)
SPREAD = 0.8
"""Length of a vector's own part beside its topic's direction: cosine of two vectors of one topic is about 0.6."""

Floats = NDArray[np.float32]
OWNER = {"user_id": "local", "project_id": "default"}


# -- invented rows


@dataclass(frozen=True)
class World:
    """What texts and vectors are drawn from. `preferred` (topics, words) are word numbers, `centres` unit vectors."""

    words: NDArray[np.str_]
    preferred: NDArray[np.int64]
    centres: Floats


def draw_world(topics: int, dims: int) -> World:
    """The same world for the same numbers; the commonest words are English stop words."""
    dice = np.random.default_rng([SEED, topics, dims])
    syllables = np.array([a + b for a in "bdfgklmnprstvz" for b in "aeiou"])
    sounds = dice.choice(syllables, (2 * WORDS, 4))
    drawn = ["".join(part[: 2 + place % 3]) for place, part in enumerate(sounds)]
    invented = list(dict.fromkeys([*sorted(STOP_WORDS), *drawn]))[:WORDS]
    preferred = dice.integers(len(STOP_WORDS), WORDS, (topics, WORDS_OF_A_TOPIC))
    return World(np.array(invented), preferred, unit(dice.standard_normal((topics, dims))))


def unit(vectors: NDArray[Any]) -> Floats:
    """The rows at length 1."""
    whole: Floats = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return whole


def texts(world: World, topic: NDArray[np.int64], length: tuple[int, int], *, seed: int) -> pl.Series:
    """A text for each row: words by Zipf's law, every third one of those that the row's topic prefers."""
    dice = np.random.default_rng([SEED, seed])
    counts = dice.integers(*length, len(topic))
    row = np.repeat(np.arange(len(topic)), counts)
    ranks = np.exp(dice.random(len(row)) * np.log(len(world.words))).astype(np.int64) - 1
    owner = world.preferred[topic[row], dice.integers(0, WORDS_OF_A_TOPIC, len(row))]
    number = np.where(dice.random(len(row)) < TOPIC_SHARE, owner, ranks)
    said = pl.DataFrame({"row": row, "word": world.words[number]})
    joined = said.group_by("row", maintain_order=True).agg(pl.col("word").str.join(" "))
    return joined["word"].str.to_titlecase().str.head(1) + joined["word"].str.slice(1) + "."


def vectors_of(world: World, topic: NDArray[np.int64], *, seed: int, spread: float = SPREAD) -> Floats:
    """Unit vectors around the centres of the rows' topics."""
    dice = np.random.default_rng([SEED, seed])
    dims = world.centres.shape[1]
    owner = dice.standard_normal((len(topic), dims), dtype=np.float32)
    return unit(world.centres[topic] + spread * owner / np.sqrt(dims))


def topics_of(rows: range, topics: int) -> NDArray[np.int64]:
    """The topic of each row: rows of one session stay together."""
    return (np.arange(rows.start, rows.stop) // TOPIC_CELLS * 7919) % topics


def moments(rows: range, count: int) -> pl.Series:
    """Times of rows, spread evenly over the days before `NOW`."""
    seconds = (np.arange(rows.start, rows.stop) - count) * (DAYS * 86_400 // max(count, 1))
    return (pl.Series(seconds).cast(pl.Int64) * 1_000_000).cast(pl.Duration("us")) + NOW


def turn_rows(world: World, rows: range, count: int) -> pl.DataFrame:
    """Turns with these numbers, in sessions of `SESSION_TURNS`."""
    content = texts(world, topics_of(rows, len(world.centres)), TURN_WORDS, seed=rows.start * 2 + 1)
    place = pl.int_range(rows.start, rows.stop, eager=True)
    session = (place // SESSION_TURNS).cast(pl.String)
    return pl.DataFrame(
        {
            "turn_id": "turn-" + place.cast(pl.String),
            "session_id": "session-" + session,
            "turn_index": place % SESSION_TURNS,
            "content": content,
            "content_hash": content_hashes(content),
            "event_time": moments(rows, count),
            "source_id": "/invented/" + session,
            "source_name": "session-" + session + ".jsonl",
        }
    ).with_columns(
        role=pl.lit("user"), speaker=pl.lit("Mara"), origin=pl.lit("user"),
        source_type=pl.lit("conversation"), cwd=pl.lit(None), git_branch=pl.lit(None), **scoped(),
    )  # fmt: skip


def scoped() -> dict[str, pl.Expr]:
    """The owner; a tenth of the rows is shared."""
    is_shared = pl.int_range(pl.len()) % 10 == 9
    scope = pl.when(is_shared).then(pl.lit("project-shared")).otherwise(pl.lit("user-private"))
    return {"scope": scope, **{name: pl.lit(value) for name, value in OWNER.items()}}


def chunk_rows(turns: pl.DataFrame) -> pl.DataFrame:
    """Chunks of `CHUNK_TURNS` turns of a session and a scope."""
    window = pl.col("turn_index") // CHUNK_TURNS
    chunks = turns.group_by("session_id", window.alias("window"), "scope", maintain_order=True).agg(
        pl.col("source_id", "source_type", "source_name", *OWNER, "event_time").last(),
        first_turn_index=pl.col("turn_index").min(),
        last_turn_index=pl.col("turn_index").max(),
        last_char=pl.col("content").str.len_chars().last().cast(pl.Int64),
        turn_ids=pl.col("turn_id"),
        token_count=(pl.col("content").str.len_chars().sum() // 4).cast(pl.Int64),
    )
    ids = stable_ids("chunk", chunks.select("session_id", "window", "scope"))
    return chunks.with_columns(
        ids, content_hash=ids, first_char=pl.lit(0), status=pl.lit("extracted"), attempts=pl.lit(0)
    )


def cell_rows(world: World, rows: range, cells: int, turns: int) -> pl.DataFrame:
    """Memories with these numbers, two turns of evidence each; every second one claims a value."""
    topic = topics_of(rows, len(world.centres))
    content = texts(world, topic, CELL_WORDS, seed=rows.start * 2)
    place = pl.int_range(rows.start, rows.stop, eager=True)
    spoken = place * turns // cells
    shown = spoken.cast(pl.String), ((spoken + 1) % max(turns, 1)).cast(pl.String)
    frame = pl.DataFrame(
        {
            "place": place,
            "cell_id": "cell-" + place.cast(pl.String),
            "topic_id": "topic-" + pl.Series(topic).cast(pl.String),
            "content": content,
            "content_hash": content_hashes(content),
            "event_time": moments(rows, cells),
            "session_id": "session-" + (spoken // SESSION_TURNS).cast(pl.String),
            "first": "turn-" + shown[0],
            "second": "turn-" + shown[1],
        }
    )
    claims = pl.col("place") % 2 == 0
    kinds = pl.Series(["fact", "decision", "preference", "task", "insight"])
    return frame.with_columns(
        subject=pl.when(claims).then(pl.format("subject {}", pl.col("place") // 6)),
        attribute=pl.when(claims).then(pl.lit("value")),
        value=pl.when(claims).then(pl.col("place").cast(pl.String)),
        cell_type=pl.Series(kinds[(place % len(kinds)).to_list()]),
        salience=0.3 + (pl.col("place") % 7) / 10,
        evidence=pl.concat_list("first", "second"),
        entities=pl.concat_list(pl.format("{} (project)", pl.col("topic_id"))),
        artifacts=pl.lit([], dtype=pl.List(pl.String)),
        steps=pl.lit([], dtype=pl.List(pl.String)),
        valid_from=pl.col("event_time"),
        confidence=pl.lit(0.9), status=pl.lit("active"), origin=pl.lit("user"), decay_rate=pl.lit(0.1),
        source_type=pl.lit("conversation"), source_id=pl.lit("/invented"), source_name=pl.lit("invented.jsonl"),
        prompt_version=pl.lit("extract_cells.v1"), model=pl.lit("invented"),
        needs_review=pl.lit(value=False), is_judged=pl.lit(value=True), is_summarized=pl.lit(value=True),
        is_wish=pl.lit(value=False), protected=pl.lit(value=False), **scoped(),
    )  # fmt: skip


def topic_events(world: World, cells: int) -> pl.DataFrame:
    """All topics, named, summarized and counted."""
    place = np.arange(len(world.centres))
    told = pl.DataFrame(
        {
            "topic_id": "topic-" + pl.Series(place).cast(pl.String),
            "name": texts(world, place, (2, 4), seed=7),
            "summary": texts(world, place, (60, 120), seed=8),
            "cell_count": max(cells // len(place), 1),
            "unsummarized_count": 0,
        }
    ).with_columns(scope=pl.lit("user-private"), **{name: pl.lit(value) for name, value in OWNER.items()})
    return pl.concat(whole(kind, told) for kind in ("topic.opened", "topic.summarized", "topic.counted"))


def whole(kind: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Events of rows; columns that they lack are null."""
    payload = CATALOGUE[kind].payload
    lacking = [
        pl.lit(None, dtype=dtype).alias(name) for name, dtype in payload.items() if name not in rows.columns
    ]
    return encode(kind, rows.with_columns(lacking))


def superseded(cells: pl.DataFrame) -> pl.DataFrame:
    """One memory of twenty gave way to the one after it."""
    old = pl.col("place") % 20 == 4
    gone = cells.select(
        "cell_id",
        superseded_by=pl.col("cell_id").shift(-2),
        superseded_at=pl.col("event_time").shift(-2),
        valid_until=pl.col("event_time").shift(-2),
        verdict=pl.lit("updates"),
        prompt_version="prompt_version",
        model="model",
        place="place",
    ).filter(old & pl.col("superseded_by").is_not_null())
    return whole("cell.superseded", gone)


# -- the store


def parts_of(count: int) -> Iterator[range]:
    """Numbers 0 to `count` in parts of `BATCH`."""
    for start in range(0, count, BATCH):
        yield range(start, min(start + BATCH, count))


def write(store: Store, *events: pl.DataFrame) -> None:
    """Folds events into the store, as a night does."""
    said = pl.concat(events)
    scanned = said.with_columns(
        segment_id=pl.lit("invented"),
        event_id=pl.int_range(pl.len()).cast(pl.String),
        version=pl.lit(1, dtype=pl.Int64),
        recorded_at=pl.lit(NOW),
    ).select(pl.col(name).cast(dtype) for name, dtype in SCAN_SCHEMA.items())
    store.apply(collapse(fold(scanned)))


def build(folder: Path, *, cells: int, turns: int, dims: int) -> Store:
    """The store of these sizes, written, embedded, indexed and compacted."""
    world = draw_world(max(cells // TOPIC_CELLS, 1), dims)
    store = create_store(
        folder / "store", embedder_id=EMBEDDER.format(dims=dims), dims=dims, make_current=False
    )
    write(store, topic_events(world, cells))
    put(store, "topics", [f"topic-{place}" for place in range(len(world.centres))], world.centres)
    for rows in parts_of(turns):
        said = turn_rows(world, rows, turns)
        write(store, whole("turn.recorded", said), whole("chunk.cut", chunk_rows(said)))
        put(
            store,
            "turns",
            said["turn_id"],
            vectors_of(world, topics_of(rows, len(world.centres)), seed=rows.start * 2 + 1),
        )
    for rows in parts_of(cells):
        made = cell_rows(world, rows, cells, turns)
        write(store, whole("cell.extracted", made), superseded(made))
        put(
            store,
            "cells",
            made["cell_id"],
            vectors_of(world, topics_of(rows, len(world.centres)), seed=rows.start * 2),
        )
    store.optimize(keep_versions=timedelta(milliseconds=1))
    store.make_current()
    return store


def put(store: Store, table: str, keys: Sequence[str] | pl.Series, vectors: Floats) -> None:
    """Stores vectors of rows that are there."""
    key = {"topics": "topic_id", "turns": "turn_id", "cells": "cell_id"}[table]
    store.put_vectors(table, pl.DataFrame({key: keys, "vector": vectors}))
