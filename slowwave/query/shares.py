"""Why a hit was found: what each list gave to it."""

from typing import Any

import polars as pl

from slowwave.schemas.search import Share


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
