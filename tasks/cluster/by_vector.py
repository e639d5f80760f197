"""Topics without a model: by an equal name, else by vectors. Pure, and the same for any order of rows.

Memories join the nearest topic from a threshold on; the rest are clustered by average linkage, cut at that threshold.
On CLINC150 (`benchmarks/topics.py`) average linkage beat complete and weighted linkage, and topics that are merged and
split by their vectors afterwards were no better (F1 0.590 against 0.588), so only a model splits a topic.
"""

from collections.abc import Collection

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray
from pandera.typing.polars import DataFrame

from slowwave.home.vectors import with_vectors
from slowwave.language.text import plain_value
from slowwave.models.embed.protocol import Embedder
from slowwave.schemas.tables import OWNER
from slowwave.store import col
from slowwave.trust.origins import surely_answered_for_first
from tasks.ask import author_columns
from tasks.cluster.cluster import Filed, KnownTopics, NewCells, living
from tasks.cluster.names import founded_id, name_topics
from tasks.step import Readable, step

BLOCK = 4_000
"""Cells that are clustered together: their similarities fill 128 MB, and linkage takes a second."""

TOPIC_STDS = 4.3
"""Standard deviations of noise from which a memory belongs to a topic.

F1 on CLINC150 in nights, centred: WordLlama 0.60, all-MiniLM 0.68, multilingual-e5-small 0.65, each within 0.01 of the
best that a sweep with the labels finds, as from 4.2 to 5.0 (`benchmarks/topics.py`).
"""

Rows = NDArray[np.floating]
Labels = NDArray[np.intp]


@step
def find_threshold(embedder: Embedder | None) -> float | None:
    """The cosine from which a memory belongs to a topic, by the noise of the newest fit; null without an embedder."""
    if embedder is None:
        return None
    noise = embedder.relevance
    if noise.kin is None:  # no fit measured this space
        return embedder.profile.topic_threshold
    return noise.noise_mean + TOPIC_STDS * noise.noise_std


@step
def file_left_over(
    reader: Readable, cells: DataFrame[NewCells], topics: DataFrame[KnownTopics], *, threshold: float | None
) -> DataFrame[Filed]:
    """Topics of what no model filed: the one of an equal name, else by vectors.

    Without an embedder (`threshold` of null) names alone decide, and memories without one get no topic, as do those
    that have no vector yet.
    """
    hinted = cells.with_columns(hint=plain_value(pl.col("topic_hint")), similarity=pl.lit(1.0))
    known = living(topics).sort("topic_id").with_columns(hint=plain_value(pl.col("name")))
    by_name = hinted.join(known.unique([*OWNER, "hint"], keep="first"), on=[*OWNER, "hint"])
    rest = hinted.join(by_name, on="cell_id", how="anti")
    taken = set(topics["topic_id"])
    if threshold is None:
        placed = _one_a_name(rest.filter(pl.col("hint") != ""), taken)
    else:
        rest = rest.join(reader.store.vectors("cells", rest["cell_id"]), on="cell_id")
        where = col("merged_into").is_null() & col("centroid").is_not_null()
        centres = reader.store.rows("topics", ["topic_id", *OWNER, "centroid"], where)
        placed = assign_topics(rest, centres.rename({"centroid": "vector"}), threshold=threshold, taken=taken)
    columns = ["cell_id", "topic_id", "similarity"]
    filed = pl.concat([by_name.select(columns), placed.select(columns)]).join(cells, on="cell_id")
    opened = filed.filter(~pl.col("topic_id").is_in([*taken]))
    names = name_topics(opened.filter(surely_answered_for_first("topic_id")))
    every = filed.join(names, on="topic_id", how="left").with_columns(author_columns())
    return Filed.of(every.sort("cell_id"))


def assign_topics(
    cells: pl.DataFrame, centres: pl.DataFrame, *, threshold: float, taken: Collection[str]
) -> pl.DataFrame:
    """A topic for each cell with a vector: cell_id, topic_id, similarity (the cosine to the topic's centre).

    `cells`: cell_id, the owner's columns, hint ("" for none), vector. `centres`: topic_id, the owner's columns, vector.
    Cells of one hint stay together. New topics are those whose id is not among the centres; `taken` are ids in use.
    """
    schema = {"cell_id": pl.String, "topic_id": pl.String, "similarity": pl.Float64}
    answers, ids = [pl.DataFrame(schema=schema)], {*taken, *centres["topic_id"]}
    known = with_vectors(centres).sort("topic_id").partition_by(OWNER, as_dict=True)
    usable = with_vectors(cells).sort("cell_id")
    for owner, own in usable.partition_by(OWNER, as_dict=True, maintain_order=True).items():
        near = known.get(owner, centres.clear())
        topic_ids, similarity = _place(own, near, threshold, ids)
        ids |= set(topic_ids)
        answers.append(
            pl.DataFrame(
                {"cell_id": own["cell_id"], "topic_id": topic_ids, "similarity": similarity}, schema=schema
            )
        )
    return pl.concat(answers).sort("cell_id")


# Inside


def _one_a_name(cells: pl.DataFrame, taken: set[str]) -> pl.DataFrame:
    """The cells with `topic_id`, a new topic for each `hint` of an owner."""
    founded = cells.with_columns(founder=pl.col("cell_id").min().over(*OWNER, "hint"))
    ids = {founder: founded_id(founder, taken) for founder in founded["founder"].unique()}
    return founded.with_columns(
        topic_id=pl.col("founder").replace_strict(ids, default=None, return_dtype=pl.String)
    )


def _place(
    cells: pl.DataFrame, centres: pl.DataFrame, threshold: float, taken: Collection[str]
) -> tuple[list[str], Rows]:
    """The topic of each cell of one owner, and its cosine; `cells` come in the order of their ids."""
    unit = pl.when(pl.col("hint") == "").then("cell_id").otherwise(pl.format("hint {}", "hint"))
    keyed = cells.with_columns(unit=unit)
    founders = keyed.unique("unit", keep="first", maintain_order=True)
    label = (
        keyed["unit"].replace_strict(founders["unit"], pl.int_range(founders.height, eager=True)).to_numpy()
    )
    vectors = cells["vector"].to_numpy().astype(np.float64)
    rows = _unit_means(vectors, label)
    ids, known = centres["topic_id"].to_list(), centres["vector"].to_numpy().astype(np.float64)
    position = np.full(len(rows), -1, dtype=np.intp)
    for start in range(0, len(rows), BLOCK):
        block = np.arange(start, min(start + BLOCK, len(rows)))
        if ids:
            cosine = rows[block] @ known.T
            position[block] = np.where(cosine.max(axis=1) >= threshold, cosine.argmax(axis=1), -1)
        left = block[position[block] < 0]
        if len(left):
            group = _clusters(rows[left], threshold)
            position[left] = group + len(ids)
            founding = left[np.unique(group, return_index=True)[1]]
            ids += [founded_id(founders["cell_id"][int(at)], {*taken, *ids}) for at in founding]
            known = np.vstack([known, _unit_means(rows[left], group)])
    of_cell = position[label]
    return [ids[at] for at in of_cell], np.einsum("ij,ij->i", vectors, known[of_cell]).clip(-1.0, 1.0)


def _clusters(rows: Rows, threshold: float) -> Labels:
    """Average linkage cut at the threshold: labels from 0."""
    if len(rows) == 1:
        return np.zeros(1, dtype=np.intp)
    distance = scipy.spatial.distance.squareform(np.maximum(1.0 - rows @ rows.T, 0.0), checks=False)
    tree = scipy.cluster.hierarchy.linkage(distance, "average")
    label: Labels = scipy.cluster.hierarchy.fcluster(tree, 1.0 - threshold, "distance").astype(np.intp) - 1
    return label


def _unit_means(rows: Rows, label: Labels) -> Rows:
    """Unit mean row of each label; rows that cancel out stay zero and attract nothing."""
    sums = np.zeros((int(label.max()) + 1, rows.shape[1]))
    np.add.at(sums, label, rows)
    length = np.linalg.norm(sums, axis=1, keepdims=True)
    means: Rows = np.divide(sums, length, out=np.zeros_like(sums), where=length > 0)
    return means
