"""Near rows of the store by exact vector search, which gives the same answer on every run."""

import numpy as np
import polars as pl

from slowwave.schemas.tables import KEYS, OWNER
from slowwave.store import Expr, StoreReader, same_owner


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
        near = store.nearest(table, vectors, k, where=condition, exact=True)
        of_query = asked.select(key).with_row_index("query_index").cast({"query_index": pl.Int64})
        named = near.rename({KEYS[table]: "target_id"})
        found.append(named.join(of_query, on="query_index", how="inner").select(list(shape)))
    return pl.concat(found)
