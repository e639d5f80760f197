"""Known topics kept in shape: when two become one, and when one becomes two; pure, for any order of rows."""

from collections.abc import Callable, Collection

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from slowwave.home.centroids import with_vectors
from slowwave.schemas.identity import stable_id
from slowwave.schemas.tables import OWNER
from slowwave.stages.topics.hints import noise_of, same_about
from slowwave.stages.topics.topic_clusters import in_order, nearest_other, unit_means

_MayMerge = Callable[[NDArray[np.float64]], NDArray[np.bool_]]

MIN_PART = 3
"""Cells that each part of a split topic keeps."""

SPLIT_SAMPLE = 1_000
"""Members by which a topic is parted: enough to find two themes. A large topic is looked at again each night that
adds to it, and Ward linkage grows with the square."""

MIN_GAIN = 0.10
"""The least rise of the mean member-centroid similarity by a split, relative to what it was. With this gain
the centroids of two equal parts have a cosine of at most 0.65 (2 / 1.1 ** 2 - 1), and of unequal parts less,
which stays under every merge threshold (profiles, `calibration.MERGE_FLOOR`): no merge undoes a split."""


def merge_topics(
    topics: pl.DataFrame, touched: Collection[str], *, threshold: float, noise: float = 0.0
) -> pl.DataFrame:
    """Near-identical topics: topic_id, merged_into, in the order of topic_id.

    `topics`: topic_id, the owner's columns, vector, cell_count. Two topics of one owner merge when each is
    the other's nearest, their cosine is at least `threshold`, and at least one is in `touched`. The one
    with more cells keeps its id; of equal ones the untouched (known longer), then the smaller id. A merged
    topic may merge again; `merged_into` is always the last survivor and is never merged itself.

    Topics that bear names have further columns: `about` (whom they are for, "" for nobody), `hint` (the name of most of
    their cells, "" for none) and `most_cells`. Topics about different people, topics that share their name (they were
    parted) and topics that are too large together stay apart, and cosines are measured from the median of the pairs for
    the same people up, or from `noise` among few.
    """
    answers = [pl.DataFrame(schema={"topic_id": pl.String, "merged_into": pl.String})]
    for owner in with_vectors(topics).sort("topic_id").partition_by(OWNER, maintain_order=True):
        ids = owner["topic_id"].to_numpy()
        vectors = owner["vector"].to_numpy().astype(np.float64)
        named = "hint" in owner.columns and (owner["hint"] != "").any()
        over = noise_of(vectors @ vectors.T, same_about(owner["about"]), otherwise=noise) if named else 0.0
        survivor = _survivors(
            vectors,
            owner["cell_count"].to_numpy().astype(np.float64),
            owner["topic_id"].is_in(list(touched)).to_numpy().copy(),
            over + threshold * (1.0 - over),
            _may_merge(owner) if named else None,
        )
        gone = survivor != np.arange(len(ids))
        merged = {"topic_id": ids[gone], "merged_into": ids[survivor[gone]]}
        answers.append(pl.DataFrame(merged, schema=answers[0].schema))
    return pl.concat(answers).sort("topic_id")


def _may_merge(topics: pl.DataFrame) -> "_MayMerge":
    """Marks on the pairs of one owner's topics that may become one, by their sizes of the moment."""
    hint = topics["hint"].to_numpy()
    parted = (hint[:, None] == hint[None, :]) & (hint != "")[:, None]
    standing = same_about(topics["about"]) & ~parted
    most = topics["most_cells"].to_numpy()

    def may_merge(size: NDArray[np.float64]) -> NDArray[np.bool_]:
        allowed: NDArray[np.bool_] = standing & (size[:, None] + size[None, :] <= most[:, None])
        return allowed

    return may_merge


def split_topics(cells: pl.DataFrame, *, split_threshold: float, min_cells: int) -> pl.DataFrame:
    """Cells that leave an incoherent topic for a new one: cell_id, topic_id (the new one), by cell_id.

    `cells`: cell_id, topic_id, vector, all cells of the topics to look at. A topic of at least `min_cells`
    cells whose mean member-centroid similarity lies under `split_threshold` is parted in two by Ward linkage
    (average linkage mostly peels off one outlier); the smaller part leaves, if both parts keep `MIN_PART`
    cells and the mean rises by `MIN_GAIN`. The new id is made from the old one and the smallest leaving cell.
    """
    answers = [pl.DataFrame(schema={"cell_id": pl.String, "topic_id": pl.String})]
    usable = with_vectors(cells.drop_nulls("topic_id")).sort("topic_id", "cell_id")
    for members in usable.partition_by("topic_id", maintain_order=True):
        if members.height >= max(min_cells, 2 * MIN_PART):
            leaving = _leaving(members["vector"].to_numpy().astype(np.float64), split_threshold)
            left = members.filter(pl.Series(leaving)).select("cell_id", "topic_id")
            if left.height:
                new = stable_id("topic", left.item(0, "topic_id"), left.item(0, "cell_id"))
                answers.append(left.with_columns(topic_id=pl.lit(new)))
    return pl.concat(answers).sort("cell_id")


def _survivors(
    vectors: NDArray[np.float64],
    size: NDArray[np.float64],
    touched: NDArray[np.bool_],
    threshold: float,
    may_merge: "_MayMerge | None",
) -> NDArray[np.intp]:
    """For each topic the position of the one that it ends in; its own where it stays.

    Passes of pairs that are each other's nearest, until none is near enough: a pass takes at least one topic
    away, so they end, and each topic points at one that was still there, so there is no circle.
    """
    into = np.arange(len(vectors))
    alive = np.ones(len(vectors), dtype=bool)
    while True:
        allowed = None if may_merge is None else may_merge(size)
        keep, drop = _mutual_pairs(vectors, size, alive, touched, threshold, allowed)
        if not len(keep):
            return into
        sums = vectors[keep] * size[keep, None] + vectors[drop] * size[drop, None]
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        vectors, size = vectors.copy(), size.copy()
        vectors[keep] = np.divide(sums, length, out=np.zeros_like(sums), where=length > 0)
        size[keep] += size[drop]
        alive[drop] = False
        touched[keep] = True
        step = np.arange(len(into))
        step[drop] = keep
        into = step[into]


def _mutual_pairs(
    vectors: NDArray[np.float64],
    size: NDArray[np.float64],
    alive: NDArray[np.bool_],
    touched: NDArray[np.bool_],
    threshold: float,
    allowed: NDArray[np.bool_] | None,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions that keep and positions that go. Only the touched and their nearest are compared with all."""
    asked = np.flatnonzero(alive & touched)
    if not len(asked) or alive.sum() < 2:  # noqa: PLR2004 - a pair needs two
        return asked[:0], asked[:0]
    nearest, cosine = nearest_other(vectors, asked, alive, allowed)
    near = cosine >= threshold
    left, right = asked[near], nearest[near]
    back, _ = nearest_other(vectors, right, alive, allowed)
    left, right = left[back == left], right[back == left]
    pairs = np.unique(np.sort(np.column_stack([left, right]), axis=1), axis=0)
    first, second = pairs[:, 0], pairs[:, 1]
    second_keeps = (size[second] > size[first]) | (
        (size[second] == size[first]) & touched[first] & ~touched[second]
    )
    return np.where(second_keeps, second, first), np.where(second_keeps, first, second)


def _leaving(vectors: NDArray[np.float64], split_threshold: float) -> NDArray[np.bool_]:
    """A mark on each member that leaves; none leaves where the topic is coherent or no split is clearly better."""
    stay = np.zeros(len(vectors), dtype=bool)
    whole = float(np.linalg.norm(vectors.mean(axis=0)))  # = mean cosine of the members to their centroid
    if whole >= split_threshold:
        return stay
    looked_at = np.linspace(0, len(vectors) - 1, min(len(vectors), SPLIT_SAMPLE)).astype(np.intp)
    tree = scipy.cluster.hierarchy.linkage(vectors[looked_at], "ward")
    half = scipy.cluster.hierarchy.fcluster(tree, 2, "maxclust") - 1
    if half.max() == 0:
        return stay
    means = unit_means(vectors[looked_at], in_order(half))
    part = (vectors @ means.T).argmax(axis=1)
    sizes = np.bincount(part, minlength=2)
    if sizes.min() < MIN_PART:
        return stay
    sums = np.stack([vectors[part == 0].sum(axis=0), vectors[part == 1].sum(axis=0)])
    parted = float(np.linalg.norm(sums, axis=1).sum()) / len(vectors)
    if parted < whole * (1 + MIN_GAIN):
        return stay
    leaver: NDArray[np.bool_] = part == (1 if sizes[1] <= sizes[0] else 0)
    return leaver
