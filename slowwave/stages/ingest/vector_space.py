"""The fit of the home's vector space, and the switch to it: after ingest, so that a first night extracts with it.

The fit looks at the same texts in the same order whatever their number, and how often it is made follows the growth of
the home, so that a night's cost does not grow. The old vectors serve until all new ones are there.
"""

import polars as pl

from slowwave.embeddings import Embedder, base_of, encode_directions, fit_directions, space_id_of
from slowwave.errors import TransientError
from slowwave.home.spaces import is_centred, newest_fit, wanted_space
from slowwave.journal.catalogue import rows_of
from slowwave.schemas.tables import KEYS, VECTOR_TEXT
from slowwave.stages.run import Stage
from slowwave.store import Store, copy_store, filling

FITTED = ("turns", "cells")
"""Tables whose texts tell what all texts of a home share."""


def compute_vectors(run: Stage) -> None:
    """Compute the vectors that are missing, in the space that the home should be in; its first fit comes before."""
    if not _has_vectors(run.store):
        _fit_space(run)
    run.refresh_vectors()
    _fit_space(run)


def _has_vectors(store: Store) -> bool:
    return any(len(store.without_vector(table)) < store.count(table) for table in VECTOR_TEXT)


def _fit_space(run: Stage) -> None:
    """Fit the vector space where the home has grown enough, and switch the store to the space that it should be in."""
    embedder = run.workspace.embedder
    if embedder is None or run.report.dry_run:
        return
    try:
        if _is_due(run, base_of(embedder)):
            run.commit({"space.fitted": _fitted(run, base_of(embedder))})
        _switch(run, embedder)
    except TransientError as error:
        run.note(f"the vector space stays as it is until the next run: {error}")


def _switch(run: Stage, embedder: Embedder) -> None:
    """Compute all vectors in the space that the store should be in, in a copy of it, and make the copy current.

    A store without vectors is in that space by its name alone.
    """
    work = run.workspace
    wanted = wanted_space(work.home, work.store, base_of(embedder))
    if wanted.embedder_id == work.store.meta.embedder_id:
        return
    if not _has_vectors(work.store):
        work.store.name_space(wanted.embedder_id)
        work.embedder = wanted
        return
    with filling(copy_store(work.store, embedder_id=wanted.embedder_id)) as fresh:
        done = run.steps.embed_all(fresh, wanted)
        fresh.make_current()
    fresh.hold_tables()
    run.store = work.store = fresh
    work.embedder = wanted
    run.reject("text that the embedder refused", done.pop("failed", 0))
    run.note(f"{sum(done.values())} vectors computed anew, as {wanted.embedder_id}")


def _is_due(run: Stage, base: Embedder) -> bool:
    settings = run.settings.embedding
    if not is_centred(settings, base):
        return False
    newest = newest_fit(run.store, base)
    least = settings.centring_texts
    if newest is not None:
        least = max(least, int(settings.centring_growth * int(str(newest["text_count"]))))
    return _text_count(run.store) >= least


def _text_count(store: Store) -> int:
    return sum(store.count(table) for table in FITTED)


def _fitted(run: Stage, base: Embedder) -> pl.DataFrame:
    """The event of a fit on the texts that are stored now."""
    settings = run.settings.embedding
    vectors = base.embed_documents(_sample(run.store, settings.centring_sample)).vectors
    # in few texts a principal component is one of their subjects
    components = min(settings.centring_components, len(vectors) // settings.centring_texts)
    directions = encode_directions(fit_directions(vectors, components=components))
    row = {
        "space_id": space_id_of(base.embedder_id, directions),
        "base_embedder_id": base.embedder_id,
        "text_count": _text_count(run.store),
        "directions": directions,
    }
    return rows_of("space.fitted", [row])


def _sample(store: Store, most: int) -> list[str]:
    """Texts of turns and memories as they are embedded, evenly spaced in the order of their keys."""
    keys = {table: store.rows(table, [KEYS[table]])[KEYS[table]].sort() for table in FITTED}
    rows = pl.concat(found.to_frame("key").with_columns(table=pl.lit(table)) for table, found in keys.items())
    chosen = rows.gather_every(max(-(-rows.height // most), 1))
    texts = [
        store.embedded_texts(table, chosen.filter(pl.col("table") == table)["key"])["text"]
        for table in FITTED
    ]
    return pl.concat(texts).to_list()
