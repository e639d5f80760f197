"""The lists of a search: what a leg found as a list, and what each list gave to a hit."""

from typing import Any

import polars as pl

from slowwave.schemas.search import Share
from slowwave.transforms.ranking import RankedList


def as_list(name: str, frame: pl.DataFrame, weight: float) -> RankedList:
    """What a text or vector leg found, as a list to be fused: by its score or its similarity."""
    return RankedList(name, frame, value_of(frame), weight)


def value_of(frame: pl.DataFrame) -> str:
    """The column that a leg ranked its rows by."""
    return "similarity" if "similarity" in frame.columns else "match_score"


def list_names(fused: pl.DataFrame) -> list[str]:
    """The lists that were fused, by the columns that they left."""
    return [name.removesuffix("_rank") for name in fused.columns if name.endswith("_rank")]


def shares_of(row: dict[str, Any], lists: list[str]) -> list[Share]:
    """What each list gave to a row of `fuse_ranks` or `fuse_scores`, largest share first."""
    shares = [
        Share(
            list_name=name, rank=row[f"{name}_rank"], value=row[f"{name}_value"], share=row[f"{name}_share"]
        )
        for name in lists
        if row[f"{name}_rank"] is not None
    ]
    return sorted(shares, key=lambda share: -share.share)
