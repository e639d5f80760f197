"""Rows by their vectors: what one generation takes over from another, the nearest of an owner, means of topics."""

import numpy as np
import polars as pl

from slowwave.schemas.tables import KEYS, OWNER, VECTOR_TEXT
from slowwave.store import EMBEDDER_OF, Expr, Store, StoreReader, same_owner


def take_over_vectors(donor: Store, fresh: Store) -> None:
    """Puts the donor's vectors into the rows of `fresh` that have none yet and say the same.

    A donor with the vectors of another embedder gives nothing.
    """
    if donor.meta.embedder_id != fresh.meta.embedder_id:
        return
    for table, texts in VECTOR_TEXT.items():
        key = KEYS[table]
        missing = fresh.without_vector(table)
        embedder, names = EMBEDDER_OF["vector"], [key, *texts]
        before = donor.by_key(table, missing, [*names, embedder]).filter(pl.col(embedder) != "")
        after = fresh.by_key(table, missing, names)
        same = after.join(before, on=names, how="semi", nulls_equal=True)
        fresh.put_vectors(table, donor.vectors(table, same[key]))


def nearest_of_owner(
    store: StoreReader, table: str, rows: pl.DataFrame, *, k: int, where: Expr | None = None
) -> pl.DataFrame:
    """The `k` rows of a table that are nearest to each of `rows`, among those of the same owner.

    `rows` has its key as first column, the owner and `vector`. Returns the key, `target_id` and `similarity` (-1..1).
    """
    key = rows.columns[0]
    shape = {key: pl.String, "target_id": pl.String, "similarity": pl.Float64}
    found = [pl.DataFrame(schema=shape)]
    for asked in rows.partition_by(OWNER, maintain_order=True):
        condition = same_owner(asked) if where is None else where & same_owner(asked)
        vectors = asked["vector"].to_numpy().astype(np.float32)
        near = store.nearest(table, vectors, k, where=condition)
        of_query = asked.select(key).with_row_index("query_index").cast({"query_index": pl.Int64})
        named = near.rename({KEYS[table]: "target_id"})
        found.append(named.join(of_query, on="query_index", how="inner").select(list(shape)))
    return pl.concat(found)


def centroids(cells: pl.DataFrame) -> pl.DataFrame:
    """Mean vector of each topic, L2-normalised: topic_id, vector, in the order of topic_id.

    `cells`: topic_id, vector. Cells without a topic or a usable vector do not count, and a topic without any
    is not in the answer; neither is one whose vectors cancel out.
    """
    usable = with_vectors(cells.select("topic_id", "vector").drop_nulls("topic_id")).sort("topic_id")
    if usable.is_empty():
        return usable
    vectors = usable["vector"].to_numpy().astype(np.float64)
    starts = np.flatnonzero(usable["topic_id"].rle_id().diff().fill_null(1).to_numpy())
    means = np.add.reduceat(vectors, starts, axis=0)
    length = np.linalg.norm(means, axis=1)
    kept = length > 0
    return pl.DataFrame(
        {
            "topic_id": usable["topic_id"].gather(starts[kept]),
            "vector": (means[kept] / length[kept, None]).astype(np.float32),
        },
        schema=usable.schema,
    )


def with_vectors(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose vector is there and finite."""
    present = rows.drop_nulls("vector")
    if present.is_empty():
        return present
    return present.filter(pl.Series(np.isfinite(present["vector"].to_numpy()).all(axis=1)))
