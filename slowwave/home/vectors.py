"""Vectors that one generation of the store takes over from another, for texts that are the same."""

import polars as pl

from slowwave.schemas.tables import KEYS, VECTOR_TEXT
from slowwave.store import EMBEDDER_OF, Store


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
