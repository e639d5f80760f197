"""The one rule for core memory: which memories are a person's word, by the memory and by the turns that it rests on.

Whoever chooses lines asks here, and whoever writes `MEMORY.md` asks again (`slowwave/home/core_file.py`).
"""

from collections.abc import Iterable
from typing import Final

import polars as pl

from slowwave.schemas.choices import TRUST
from slowwave.store import StoreReader
from slowwave.trust.origins import PERSON, is_persons_word, pieces_of
from slowwave.trust.stated import traced_origins

_READ: Final = [
    "cell_id", "content", "value", "steps", "origin", "protected", "prompt_version", "evidence",
]  # fmt: skip


def persons_words(store: StoreReader, cell_ids: Iterable[str]) -> pl.DataFrame:
    """Those of the memories that a person said or confirmed (`is_persons_word`): `cell_id`.

    What a person said must also stand in that person's own words: a memory of which the words stand only in what the
    turn quotes is none, whatever an older version wrote down as its origin.
    """
    cells = store.by_key("cells", cell_ids, _READ).filter(is_persons_word())
    said = cells.filter(~pl.col("protected"))
    by_person = said.join(_traced(store, said), left_on="cell_id", right_on="key", how="inner").filter(
        pl.col("origin_right") == PERSON
    )
    kept = cells.filter(pl.col("protected") | pl.col("cell_id").is_in(by_person["cell_id"].implode()))
    return kept.select("cell_id").sort("cell_id")


def _traced(store: StoreReader, said: pl.DataFrame) -> pl.DataFrame:
    """The origin of each memory by the words of the turns that it rests on: `key`, `origin`."""
    numbered = said.with_row_index("page").cast({"page": pl.Int64})
    named = numbered.select("page", turn_id="evidence").explode("turn_id").drop_nulls()
    turns = store.by_key("turns", named["turn_id"], ["turn_id", "role", "speaker", "content", "origin"])
    parts = [pl.col("content"), pl.col("value"), pl.col("steps").list.join(" ")]
    told = numbered.select(
        "page", "origin", key="cell_id", text=pl.concat_str(parts, separator="\n", ignore_nulls=True)
    )
    pieces = pieces_of(named.join(turns, on="turn_id", how="inner"))
    # a person's statement may be an assistant's proposal that the person agreed to: quotes alone count against it
    neutral = pl.when(pl.col("rank") == TRUST.index("agent")).then(TRUST.index(PERSON)).otherwise("rank")
    return traced_origins(told, pieces.with_columns(rank=neutral))
