"""The fit of the home's vector space, and the switch to it: after ingest, so that a first night extracts with it.

The fit looks at the same texts in the same order whatever their number, and how often it is made follows the growth of
the home, so that a night's cost does not grow. The old vectors serve until all new ones are there. A fit also measures
what similarity means in its space, on the exemplar questions, which no home was asked.
"""

from dataclasses import replace

import numpy as np
import polars as pl

from slowwave.errors import TransientError
from slowwave.home.stage import Stage
from slowwave.home.stored_embedder import newest_fit, wanted_space
from slowwave.home.workspace import refresh_vectors
from slowwave.journal.catalogue import rows_of
from slowwave.language.intents import EXEMPLARS
from slowwave.models.embed.protocol import Embedder
from slowwave.models.embed.relevance import Relevance, Vectors, measured_relevance
from slowwave.models.embed.space import (
    CentredEmbedder,
    base_of,
    encode_directions,
    fit_directions,
    space_id_of,
    unit_without_common,
)
from slowwave.schemas.tables import KEYS, VECTOR_TEXT
from slowwave.store import Store, copy_store, filling

FITTED = ("turns", "cells")
"""Tables whose texts tell what all texts of a home share."""

COMPONENT_TEXTS = 50
"""Texts for each principal component: in fewer, a component is one of their subjects."""

FIT_COMPONENTS = 3
"""Principal components that are taken out beside the mean: what all texts of a home share (`benchmarks/topics.py`)."""

FIT_TEXTS, FIT_GROWTH = 6, 1.5
"""Texts from which the first fit is made, and times those of the last one that call for a new one."""

SAMPLE = 20_000
"""Texts, evenly spaced, that a fit looks at: 20 MB of vectors at 256 dimensions."""


def compute_vectors(run: Stage) -> None:
    """Compute the vectors that are missing, in the space that the home should be in; its first fit comes before."""
    work = run.workspace
    if not _has_vectors(run.store):
        _fit_space(run)
    run.refresh_vectors()
    _fit_space(run)
    if isinstance(work.embedder, CentredEmbedder):
        work.embedder = replace(work.embedder, known={})  # they are needed no longer


def _has_vectors(store: Store) -> bool:
    return any(len(store.without_vector(table)) < store.count(table) for table in VECTOR_TEXT)


def _fit_space(run: Stage) -> None:
    """Fit the vector space where the home has grown enough, and switch the store to the space that it should be in."""
    embedder = run.workspace.embedder
    if embedder is None or run.report.dry_run:
        return
    try:
        base, known = base_of(embedder), dict[str, Vectors]()
        if _is_due(run, base):
            fit, known = _fitted(run, base)
            run.commit({"space.fitted": fit})
        _switch(run, base, known)
    except TransientError as error:
        run.note(f"the vector space stays as it is until the next run: {error}")


def _switch(run: Stage, base: Embedder, known: dict[str, Vectors]) -> None:
    """Compute all vectors in the space that the store should be in, in a copy of it, and make the copy current.

    A store without vectors is in that space by its name alone. `known` are vectors of the base, by their texts.
    """
    work = run.workspace
    wanted = wanted_space(work.store, base)
    if isinstance(wanted, CentredEmbedder):
        wanted = replace(wanted, known=known)
    if wanted.embedder_id == work.store.meta.embedder_id:
        return
    if not _has_vectors(work.store):
        work.store.name_space(wanted.embedder_id)
        work.embedder = wanted
        return
    with filling(copy_store(work.store, embedder_id=wanted.embedder_id)) as fresh:
        done = refresh_vectors(fresh, wanted)
        fresh.make_current()
    fresh.hold_tables()
    run.store = work.store = fresh
    work.embedder = wanted
    run.reject("text that the embedder refused", done.pop("failed", 0))
    run.note(f"{sum(done.values())} vectors computed anew, as {wanted.embedder_id}")


def _is_due(run: Stage, base: Embedder) -> bool:
    newest = newest_fit(run.store, base)
    least = FIT_TEXTS
    if newest is not None and newest["noise_std"] is not None:  # fits of former versions measured no noise
        least = max(least, int(FIT_GROWTH * int(str(newest["text_count"]))))
    return _text_count(run.store) >= least


def _text_count(store: Store) -> int:
    return sum(store.count(table) for table in FITTED)


def _fitted(run: Stage, base: Embedder) -> tuple[pl.DataFrame, dict[str, Vectors]]:
    """The event of a fit on the texts that are stored now, and the vectors that it made of them."""
    sample = _sample(run.store)
    vectors = base.embed_documents(sample["text"].to_list()).vectors
    components = min(FIT_COMPONENTS, len(vectors) // COMPONENT_TEXTS)
    directions = fit_directions(vectors, components=components)
    encoded = encode_directions(directions)
    relevance = _relevance(run.store, base, sample, vectors, directions)
    row = {
        "space_id": space_id_of(base.embedder_id, encoded),
        "base_embedder_id": base.embedder_id,
        "text_count": _text_count(run.store),
        "directions": encoded,
        "noise_mean": relevance.noise_mean,
        "noise_std": relevance.noise_std,
        "kin": relevance.kin,
    }
    return rows_of("space.fitted", [row]), dict(zip(sample["text"], vectors, strict=True))


def _relevance(
    store: Store, base: Embedder, sample: pl.DataFrame, vectors: Vectors, directions: Vectors
) -> Relevance:
    """The noise in the space without these directions, between the exemplar questions and the sample."""
    questions = [question for questions in EXEMPLARS.values() for question in questions]
    asked, texts = (
        unit_without_common(rows, directions)[0] for rows in (base.embed_queries(questions).vectors, vectors)
    )
    return measured_relevance(asked, texts, kin=_kin(store, sample, texts))


def _kin(store: Store, sample: pl.DataFrame, vectors: Vectors) -> float | None:
    """Median cosine of the sample's memories and the turns that they rest on; null where it has no such pair."""
    places = sample.select("key").with_row_index("row")
    pairs = (
        store.rows("cells", ["cell_id", "evidence"])
        .explode("evidence")
        .join(places, left_on="cell_id", right_on="key")
        .join(places, left_on="evidence", right_on="key", suffix="_turn")
    )
    cosines = (vectors[pairs["row"].to_numpy()] * vectors[pairs["row_turn"].to_numpy()]).sum(axis=1)
    whole = cosines[np.isfinite(cosines)]
    return float(np.median(whole)) if len(whole) else None


def _sample(store: Store) -> pl.DataFrame:
    """`key` and `text` of turns and memories as they are embedded, evenly spaced in the order of their keys."""
    keys = {table: store.rows(table, [KEYS[table]])[KEYS[table]].sort() for table in FITTED}
    rows = pl.concat(found.to_frame("key").with_columns(table=pl.lit(table)) for table, found in keys.items())
    chosen = rows.gather_every(max(-(-rows.height // SAMPLE), 1))
    return pl.concat(
        store.embedded_texts(table, chosen.filter(pl.col("table") == table)["key"]).select(
            key=KEYS[table], text="text"
        )
        for table in FITTED
    )
