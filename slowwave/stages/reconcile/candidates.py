"""Candidates as frames: exact repetition, neighbours by rank, and pages for the judge.

Similarity only ever finds candidates here; nothing is decided.
"""

import polars as pl

from slowwave.lifecycle.order import PAIR, pair_key
from slowwave.schemas.moments import are_unknown
from slowwave.schemas.tables import OWNER
from slowwave.stages.reconcile.pairs import oriented


def exact_duplicates(cells: pl.DataFrame) -> pl.DataFrame:
    """Active cells that say exactly what an older one of the same owner says; they need no judge.

    Returns `cell_id`, `superseded_by` (the survivor: the oldest, one whose day is known if there is any), sorted.
    """
    oldest = pl.col("cell_id").first().over(*OWNER, "content_hash")
    ranked = cells.sort(are_unknown(pl.col("event_time")), "event_time", "cell_id").select(
        "cell_id", superseded_by=oldest
    )
    return ranked.filter(pl.col("cell_id") != pl.col("superseded_by")).sort("cell_id")


def fuse_candidates(
    queries: pl.DataFrame, near: pl.DataFrame, matching: pl.DataFrame, *, k: int, rank_constant: int
) -> pl.DataFrame:
    """The k best candidates of each new cell from a vector list and a full-text list, by reciprocal rank.

    `queries` has `query_index` and `cell_id`; `near` has `query_index`, `cell_id`, `similarity`; `matching` has
    `query_index`, `cell_id`, `match_score`. Score = sum of 1 / (rank_constant + rank) (Cormack, Clarke and
    Buettcher, 2009). Returns `cell_id`, `target_id`, `score`, `similarity` (null when only the text matched),
    best first within a cell.
    """
    lists = [
        near.select("query_index", target_id="cell_id", similarity="similarity", value="similarity"),
        matching.select(
            "query_index", target_id="cell_id", similarity=pl.lit(None, dtype=pl.Float64), value="match_score"
        ),
    ]
    ranked = [
        frame.join(queries, on="query_index", how="inner")
        .filter(pl.col("cell_id") != pl.col("target_id"))
        .sort("cell_id", "value", "target_id", descending=[False, True, False])
        .with_columns(share=1.0 / (rank_constant + pl.int_range(1, pl.len() + 1).over("cell_id")))
        for frame in lists
    ]
    return (
        pl.concat(ranked)
        .group_by("cell_id", "target_id")
        .agg(score=pl.col("share").sum(), similarity=pl.col("similarity").max())
        .sort("cell_id", "score", "target_id", descending=[False, True, False])
        .group_by("cell_id", maintain_order=True)
        .head(k)
    )


def best_of_later(candidates: pl.DataFrame, new: pl.DataFrame, *, k: int) -> pl.DataFrame:
    """The k best candidates of each memory; of two that are both new, the later has the earlier as its candidate."""
    is_new = pl.col("target_id").is_in(new["cell_id"].implode())
    ranked = candidates.sort("score", *PAIR, descending=[True, False, False])
    both = oriented(ranked.filter(is_new), new).select(candidates.columns)
    return (
        pl.concat([ranked.filter(~is_new), both])
        .sort("cell_id", "score", "target_id", descending=[False, True, False])
        .group_by("cell_id", maintain_order=True)
        .head(k)
    )


def near_pairs(candidates: pl.DataFrame, *, threshold: float) -> pl.DataFrame:
    """Candidates close enough to be noted as unjudged while there is no judge, each pair once."""
    return (
        candidates.filter(pl.col("similarity") >= threshold)
        .with_columns(pair=pair_key("cell_id", "target_id"))
        .sort("pair", "cell_id")
        .unique("pair", keep="first", maintain_order=True)
        .select("cell_id", "target_id", "similarity")
    )


def build_pages(
    candidates: pl.DataFrame, new_ids: pl.Series, *, max_cells: int, group_cells: int
) -> pl.DataFrame:
    """Groups of new cells with their candidates, and pages of at most `max_cells` cells filled with whole groups.

    Pairs are taken strongest first; two groups become one when their cells together are at most `group_cells`
    (Kruskal's algorithm with a bound, so connected cells share a group as far as it holds them). The largest group goes
    first, each onto the first page that has room: the judge's instructions are paid once a page. A known cell may stand
    in several groups, a new one is judged in one. A new cell without candidates needs no judge and gets no page.

    Returns `page`, `group` (0-based, in the order of the pages), `cell_id`, `is_new`, sorted.
    """
    most = min(max_cells, group_cells)
    wanted = candidates.filter(pl.col("cell_id").is_in(new_ids.implode()))
    targets = wanted.group_by("cell_id", maintain_order=True).agg("target_id")
    members = {
        cell: {cell, *known[: most - 1]}
        for cell, known in zip(targets["cell_id"], targets["target_id"].to_list(), strict=True)
    }
    group = {cell: cell for cell in members}
    new = {cell: {cell} for cell in members}
    shared = _linked_pairs(wanted)
    for one, other in zip(shared["cell_id"].to_list(), shared["other_id"].to_list(), strict=True):
        left, right = group[one], group[other]
        if left != right and len(members[left] | members[right]) <= most:
            members[left] |= members.pop(right)
            new[left] |= new.pop(right)
            group.update(dict.fromkeys(new[left], left))
    pages: list[list[str]] = []
    room: list[int] = []
    for root in sorted(members, key=lambda root: (-len(members[root]), root)):
        size = len(members[root])
        place = next((place for place, left in enumerate(room) if left >= size), len(pages))
        if place == len(pages):
            pages.append([])
            room.append(max_cells)
        pages[place].append(root)
        room[place] -= size
    placed = [(page, root) for page, roots in enumerate(pages) for root in roots]
    rows = [
        (page, number, cell, cell in new[root])
        for number, (page, root) in enumerate(placed)
        for cell in sorted(members[root])
    ]
    names = {"page": pl.Int64, "group": pl.Int64, "cell_id": pl.String, "is_new": pl.Boolean}
    return pl.DataFrame(rows, schema=names, orient="row")


def _linked_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """Pairs of new cells that belong together, strongest first: one is the other's candidate, or they share one."""
    new = pairs.select("cell_id").unique()
    direct = pairs.join(new, left_on="target_id", right_on="cell_id", how="semi").select(
        "cell_id", other_id="target_id", score="score"
    )
    common = (
        pairs.join(pairs, on="target_id", suffix="_other")
        .filter(pl.col("cell_id") < pl.col("cell_id_other"))
        .select("cell_id", other_id="cell_id_other", score=pl.min_horizontal("score", "score_other"))
    )
    return pl.concat([direct, common]).sort("score", "cell_id", "other_id", descending=[True, False, False])
