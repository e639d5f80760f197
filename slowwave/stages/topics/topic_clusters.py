"""Clusters of plain matrices: join rows that are near a topic, cluster the rest, take unit means.

One plan for all ways of assigning, whether a row is an embedding or the words of a text: join the nearest known
topic if it is near enough, and cluster the rest by average linkage cut at the same threshold. Measured on
CLINC150 (`benchmarks/topics.py`): average linkage beat complete and weighted linkage, and joining by an estimated
mean similarity, and moving cells to their nearest centroid afterwards; Ward was equal, but its cut is no
similarity and does not carry over to another embedder.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from slowwave.schemas.identity import stable_id

BLOCK = 4_000
"""Cells that are clustered together: their similarities fill 64 MB, and linkage takes a second."""

ASKED_TOGETHER = 256
"""Rows that are compared with all others at once, so that memory stays bounded."""

Rows = Any
"""Unit rows, dense (n, d) or sparse: cells, topics. A dot product of two rows is their cosine."""


class Placed(NamedTuple):
    """The topics of the rows of a matrix: positions among `topic_ids`, known ones first, then new ones."""

    position: NDArray[np.intp]
    similarity: NDArray[np.float64]
    topic_ids: list[str]


def place(
    rows: Rows, cell_ids: list[str], centres: Rows | None, known: list[str], threshold: float
) -> Placed:
    """Join, then cluster what is left block by block; `rows` come in the order of `cell_ids`, sorted."""
    topic_ids, taken, topics = list(known), set(known), centres
    position, similarity = joined_known(rows, centres, threshold)
    leftover = np.flatnonzero(position < 0)
    for start in range(0, len(leftover), BLOCK):
        block = leftover[start : start + BLOCK]
        if start and topics is not None:
            block = _join_nearest(rows, block, topics, len(known), threshold, position, similarity)
        if not len(block):
            continue
        label = _clusters(rows[block], threshold)
        founded = unit_means(rows[block], label)
        first = np.unique(label, return_index=True)[1]
        position[block] = label + len(topic_ids)
        similarity[block] = _own_similarity(rows[block], founded, label)
        for smallest in block[first]:
            topic_ids.append(free_id(stable_id("topic", cell_ids[smallest]), taken))
            taken.add(topic_ids[-1])
        topics = founded if topics is None else _stack(topics, founded)
    return Placed(position, similarity, topic_ids)


def joined_known(
    rows: Rows, topics: Rows | None, threshold: float
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """For each row the position of the nearest topic that is near enough, -1 for none, and their cosine."""
    position, similarity = np.full(rows.shape[0], -1, dtype=np.intp), np.zeros(rows.shape[0])
    for start in range(0, rows.shape[0], BLOCK):
        block = np.arange(start, min(start + BLOCK, rows.shape[0]))
        _join_nearest(rows, block, topics, 0, threshold, position, similarity)
    return position, similarity


def _join_nearest(
    rows: Rows,
    block: NDArray[np.intp],
    topics: Rows | None,
    first: int,
    threshold: float,
    position: NDArray[np.intp],
    similarity: NDArray[np.float64],
) -> NDArray[np.intp]:
    """Enter the rows of `block` that are near a topic (from number `first` on); the others come back."""
    if topics is None or topics.shape[0] <= first:
        return block
    cosines = _dense(rows[block] @ topics[first:].T)
    nearest = cosines.argmax(axis=1)
    best = cosines[np.arange(len(block)), nearest]
    near = best >= threshold
    position[block[near]] = nearest[near] + first
    similarity[block[near]] = best[near]
    apart: NDArray[np.intp] = block[~near]
    return apart


def nearest_other(
    vectors: NDArray[Any],
    asked: NDArray[np.intp],
    alive: NDArray[np.bool_] | None = None,
    allowed: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The nearest other living row of each one asked for, the first of equal ones, and its cosine.

    `allowed` (n, n) marks the pairs that may be named; without such a pair a row's cosine is -2.
    """
    nearest, best = np.zeros(len(asked), dtype=np.intp), np.zeros(len(asked))
    for start in range(0, len(asked), ASKED_TOGETHER):
        block = asked[start : start + ASKED_TOGETHER]
        cosine = vectors[block] @ vectors.T
        if alive is not None:
            cosine[:, ~alive] = -2.0
        if allowed is not None:
            cosine[~allowed[block]] = -2.0
        cosine[np.arange(len(block)), block] = -2.0
        nearest[start : start + len(block)] = cosine.argmax(axis=1)
        best[start : start + len(block)] = cosine.max(axis=1)
    return nearest, best


def _clusters(rows: Rows, threshold: float) -> NDArray[np.intp]:
    """Average linkage cut at the threshold: labels from 0 in the order in which clusters first appear."""
    if rows.shape[0] == 1:
        return np.zeros(1, dtype=np.intp)
    distance = 1.0 - _dense(rows @ rows.T).astype(np.float64)
    np.fill_diagonal(distance, 0.0)
    condensed = scipy.spatial.distance.squareform(np.maximum(distance, 0.0), checks=False)
    tree = scipy.cluster.hierarchy.linkage(condensed, "average")
    return in_order(scipy.cluster.hierarchy.fcluster(tree, 1.0 - threshold, "distance"))


def in_order(label: NDArray[Any]) -> NDArray[np.intp]:
    """Labels renumbered from 0 in the order in which they first appear."""
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def unit_means(rows: Rows, label: NDArray[np.intp]) -> Rows:
    """Unit mean row of each label; rows that cancel out stay zero and attract nothing."""
    member = scipy.sparse.csr_array((np.ones(len(label), np.float32), (label, np.arange(len(label)))))
    sums = member @ rows
    if scipy.sparse.issparse(sums):
        length = np.sqrt(np.asarray(sums.multiply(sums).sum(axis=1)).ravel())
        scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        return scipy.sparse.csr_array(sums.multiply(scale[:, None]))
    length = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.divide(sums, length, out=np.zeros_like(sums), where=length > 0)


def _own_similarity(rows: Rows, means: Rows, label: NDArray[np.intp]) -> NDArray[np.float64]:
    own = means[label]
    product = (
        rows.multiply(own).sum(axis=1) if scipy.sparse.issparse(rows) else np.einsum("ij,ij->i", rows, own)
    )
    return np.asarray(product, dtype=np.float64).ravel()


def _dense(product: Any) -> NDArray[Any]:
    return np.asarray(product.toarray() if scipy.sparse.issparse(product) else product)


def _stack(above: Rows, below: Rows) -> Rows:
    return (
        scipy.sparse.vstack([above, below], format="csr")
        if scipy.sparse.issparse(above)
        else np.vstack([above, below])
    )


def free_id(topic_id: str, taken: set[str]) -> str:
    """The id, or the next one made from it: a founder may found again after its first topic drifted away."""
    while topic_id in taken:
        topic_id = stable_id("topic", topic_id)
    return topic_id
