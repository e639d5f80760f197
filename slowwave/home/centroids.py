"""Centroids of topics."""

import numpy as np
import polars as pl


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
