"""Topics: which cells belong together, by their vectors.

Every function is pure and gives the same answer for any order of its rows. Topics never reach over an owner
(`user_id`, `project_id`, `scope`). Nothing here decides that two memories are the same: that is
reconciliation. How rows are joined and clustered is in `topic_clusters`.
"""

import polars as pl

from slowwave.home.centroids import centroids, with_vectors
from slowwave.schemas.tables import OWNER
from slowwave.stages.topics.topic_clusters import Placed, place
from slowwave.stages.topics.topic_names import normalized

ASSIGNMENT = pl.Schema(
    {"cell_id": pl.String, "topic_id": pl.String, "similarity": pl.Float64, "is_new_topic": pl.Boolean}
)
"""The result of both ways of assigning: one row a cell, in the order of `cell_id`."""


def assign_topics(cells: pl.DataFrame, topics: pl.DataFrame, *, threshold: float) -> pl.DataFrame:
    """A topic for every cell that has a vector.

    `cells`: cell_id, the owner's columns, vector as Array(Float32, d). `topics`: topic_id, the owner's
    columns, vector (the centroid, unit length). Other columns are ignored. A cell joins the nearest topic
    of its owner from `threshold` on. The rest are clustered in blocks of at most `BLOCK`, each trying the
    topics of the blocks before it first; the id of a new topic is made from the smallest cell id that
    founded it.

    Returns `ASSIGNMENT`; similarity is to the topic's centroid, for a new topic that of its founders. Cells whose
    vector is null or NaN are left out: they have no place here until they are embedded.
    """
    usable = with_vectors(cells).sort("cell_id")
    known = with_vectors(topics).sort("topic_id")
    centroid_of = known.partition_by(OWNER, as_dict=True)
    answers = [pl.DataFrame(schema=ASSIGNMENT)]
    for owner, members in usable.partition_by(OWNER, as_dict=True, maintain_order=True).items():
        topics_of_owner = centroid_of.get(owner, known.clear())
        ids = topics_of_owner["topic_id"].to_list()
        centres = topics_of_owner["vector"].to_numpy() if ids else None
        opened = place(members["vector"].to_numpy(), members["cell_id"].to_list(), centres, ids, threshold)
        answers.append(assignment(members["cell_id"], opened, ids))
    return pl.concat(answers).sort("cell_id")


def assign_hinted_topics(cells: pl.DataFrame, topics: pl.DataFrame, *, threshold: float) -> pl.DataFrame:
    """A topic for every cell, by its hint and its vector.

    `cells`: cell_id, the owner's columns, topic_hint (nullable), vector. `topics`: as for `assign_topics`, with
    name. A hint that is the name of a known topic decides. Else the cells of one hint stay together: their mean
    vector joins the nearest topic, or opens a new one, as one cell would. A cell without a hint stands for itself.

    Returns `ASSIGNMENT`; similarity is 1 where the name decided, else that of the hint's mean.
    """
    usable = with_vectors(cells).with_columns(hint=normalized("topic_hint"))
    names = (
        topics.with_columns(hint=normalized("name"))
        .sort("topic_id")
        .unique([*OWNER, "hint"], keep="first", maintain_order=True)
    )
    names = names.select(*OWNER, "hint", "topic_id")
    named = usable.filter(pl.col("hint") != "").join(names, on=[*OWNER, "hint"], how="inner")
    by_name = by_hint(named, is_new=False)
    rest = usable.join(named, on="cell_id", how="anti")
    leader = pl.col("cell_id").min().over(*OWNER, "hint")
    grouped = rest.with_columns(
        leader=pl.when(pl.col("hint").fill_null("") == "").then("cell_id").otherwise(leader)
    )
    means = centroids(grouped.select("vector", topic_id="leader")).rename({"topic_id": "cell_id"})
    leaders = grouped.filter(pl.col("cell_id") == pl.col("leader")).select("cell_id", *OWNER)
    placed = assign_topics(leaders.join(means, on="cell_id", how="inner"), topics, threshold=threshold)
    by_vector = grouped.select("cell_id", "leader").join(
        placed.rename({"cell_id": "leader"}), on="leader", how="inner"
    )
    return pl.concat([by_name, by_vector.select(by_name.columns)]).sort("cell_id")


def by_hint(rows: pl.DataFrame, *, is_new: bool) -> pl.DataFrame:
    """`ASSIGNMENT` of rows with `cell_id` and `topic_id` that a hint decided."""
    return rows.select("cell_id", "topic_id", similarity=pl.lit(1.0), is_new_topic=pl.lit(is_new))


def assignment(cell_ids: pl.Series, opened: Placed, known: list[str]) -> pl.DataFrame:
    """`ASSIGNMENT` of placed cells; what lies behind the `known` topics is new."""
    return pl.DataFrame(
        {
            "cell_id": cell_ids,
            "topic_id": pl.Series(opened.topic_ids, dtype=pl.String).gather(opened.position),
            "similarity": opened.similarity.clip(-1.0, 1.0),
            "is_new_topic": opened.position >= len(known),
        },
        schema=ASSIGNMENT,
    )
