"""Topics that outgrew one summary are parted by their themes: pure, for any order of rows."""

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from slowwave.home.centroids import with_vectors
from slowwave.schemas.identity import stable_id
from slowwave.stages.topics.topic_clusters import in_order, unit_means
from slowwave.stages.topics.topic_names import normalized, rarity, words_of
from slowwave.stages.topics.topic_upkeep import MIN_PART, SPLIT_SAMPLE

SESSION_WEIGHT = 0.3
"""Similarity that one conversation adds to two memories of a topic: people stay with a theme while they talk.

B-cubed F1 of the parts of one real night's topics against a reader's groups: 0.62 without it, 0.67 with it.
"""

PART_WORDS = 2
"""Words that tell a part from its siblings, behind the name that they share."""


def part_topics(cells: pl.DataFrame) -> pl.DataFrame:
    """Cells that leave a topic which is too large for new ones: cell_id, topic_id (the new one), by cell_id.

    `cells`: cell_id, topic_id, topic_hint (nullable), session_id (nullable), vector, most_cells, all live cells of the
    topics to look at. A topic with more than `most_cells` cells is halved until no part has more: between the names
    that it holds as long as there are several, else by what is left of the vectors without their mean, and by
    conversations. The largest part stays. The new id is made from the old one and the smallest cell of the part.
    """
    usable = with_vectors(cells.drop_nulls("topic_id")).with_columns(hint=normalized("topic_hint"))
    large = usable.filter(
        (pl.len().over("topic_id") > pl.col("most_cells")) & (pl.col("most_cells") >= 2 * MIN_PART)
    )
    answers = [pl.DataFrame(schema={"cell_id": pl.String, "topic_id": pl.String})]
    for members in large.sort("topic_id", "cell_id").partition_by("topic_id", maintain_order=True):
        label = _parts(
            _features(members),
            members["hint"].rank("dense").to_numpy().astype(np.intp),
            int(members.item(0, "most_cells")),
        )
        parted = members.select("cell_id", "topic_id", part=pl.Series(label, dtype=pl.Int64))
        stays = int(np.bincount(label).argmax())
        for (part,), left in parted.group_by("part", maintain_order=True):
            if part != stays:
                new = stable_id("topic", left.item(0, "topic_id"), left.item(0, "cell_id"))
                answers.append(left.select("cell_id", topic_id=pl.lit(new)))
    return pl.concat(answers).sort("cell_id")


def name_parts(opened: pl.DataFrame, cells: pl.DataFrame, taken: pl.DataFrame) -> pl.DataFrame:
    """Names of new topics (topic_id, name) that no other bears, with the words that tell a part from its siblings.

    `cells`: topic_id, family (the topic that was parted), content of the parts and of what stayed. `taken`: name of
    the topics there are. A name that is taken, or given twice here, gets the words behind it.
    """
    words = (
        words_of(cells.select(document="topic_id", text="content"))
        .join(cells.select("family", document="topic_id").unique(), on="document")
        .join(opened.select(document="topic_id", name="name"), on="document")
        .filter(~pl.col("name").str.to_lowercase().str.contains(pl.col("word"), literal=True))
        .filter(~pl.col("word").str.contains(r"^\d"))  # a date or a number tells no theme
        .with_columns(weight=pl.col("times") * rarity(cells["topic_id"].n_unique()))
        .sort("document", "weight", "word", descending=[False, True, False])
        .group_by("document", maintain_order=True)
        .agg(telling=pl.col("word").head(PART_WORDS).str.join(", "))
    )
    known = taken.select(key=normalized("name")).unique()
    keyed = opened.with_columns(key=normalized("name")).join(
        words, left_on="topic_id", right_on="document", how="left"
    )
    is_taken = pl.col("key").is_in(known["key"].implode()) | (pl.len().over("key") > 1)
    told = pl.when(is_taken & pl.col("telling").is_not_null()).then(pl.format("{}: {}", "name", "telling"))
    return keyed.select("topic_id", name=told.otherwise("name")).sort("topic_id")


def _features(members: pl.DataFrame) -> NDArray[np.float64]:
    """A row for each member: its vector without the topic's mean, of unit length, beside a mark of its conversation."""
    vectors = members["vector"].to_numpy().astype(np.float64)
    around = vectors - vectors.mean(axis=0)
    length = np.linalg.norm(around, axis=1, keepdims=True)
    themes = np.divide(around, length, out=np.zeros_like(around), where=length > 0)
    session = members["session_id"].fill_null("").rank("dense").to_numpy().astype(np.intp) - 1
    marks = np.zeros((len(themes), int(session.max()) + 1))
    marks[np.arange(len(themes)), session] = SESSION_WEIGHT**0.5
    return np.hstack([themes, marks])


def _parts(rows: NDArray[np.float64], hint: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """A label for each row, so that no label has more than `most` rows."""
    label = np.zeros(len(rows), dtype=np.intp)
    while (sizes := np.bincount(label)).max() > most:
        part = np.flatnonzero(label == int(sizes.argmax()))
        label[part[_leaves(rows[part], hint[part])]] = len(sizes)
    return label


def _leaves(rows: NDArray[np.float64], hint: NDArray[np.intp]) -> NDArray[np.bool_]:
    """A mark on each row of one half; both halves have rows. Rows of one name go together where there are several."""
    names = in_order(hint)
    by_name = names.max() > 0
    node = names if by_name else np.arange(len(rows))
    weight = np.bincount(node).astype(np.float64)
    means = _means(rows, node, weight) if by_name else rows
    residual = means - np.average(means, axis=0, weights=weight)
    half = _ward_half(residual)
    sizes = np.bincount(half, weights=weight, minlength=2)
    if sizes.min() < MIN_PART:
        half = _even_half(residual, weight)
    leaver: NDArray[np.bool_] = (half == 1)[node]
    return leaver


def _means(
    rows: NDArray[np.float64], node: NDArray[np.intp], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    sums = np.zeros((len(weight), rows.shape[1]))
    np.add.at(sums, node, rows)
    return sums / weight[:, None]


def _ward_half(rows: NDArray[np.float64]) -> NDArray[np.intp]:
    """Two clusters by Ward linkage, 0 and 1; those of a sample where there are many rows."""
    if len(rows) < 2:  # noqa: PLR2004 - halves need two
        return np.zeros(len(rows), dtype=np.intp)
    looked_at = np.linspace(0, len(rows) - 1, min(len(rows), SPLIT_SAMPLE)).astype(np.intp)
    tree = scipy.cluster.hierarchy.linkage(rows[looked_at], "ward")
    half = in_order(scipy.cluster.hierarchy.fcluster(tree, 2, "maxclust"))
    if len(looked_at) == len(rows) or half.max() == 0:
        return half if len(half) == len(rows) else np.zeros(len(rows), dtype=np.intp)
    return np.asarray((rows @ unit_means(rows[looked_at], half).T).argmax(axis=1), dtype=np.intp)


def _even_half(rows: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.intp]:
    """Two halves along the direction in which the rows differ most, cut where the weights are most even."""
    direction = np.linalg.svd(rows * np.sqrt(weight)[:, None], full_matrices=False)[2][0]
    direction = direction * np.sign(direction[np.abs(direction).argmax()] or 1.0)
    order = np.lexsort((np.arange(len(rows)), (rows @ direction).round(9)))
    total = weight[order].cumsum()[:-1]
    cut = int(np.abs(total - weight.sum() / 2).argmin()) + 1
    half = np.zeros(len(rows), dtype=np.intp)
    half[order[cut:]] = 1
    return half
