"""Topics: which cells belong together, by their vectors.

Every function is pure and gives the same answer for any order of its rows. Topics never reach over an owner
(`user_id`, `project_id`, `scope`). Nothing here decides that two memories are the same: that is
reconciliation. How rows are joined and clustered is in `topic_clusters`.
"""

import polars as pl

from slowwave.home.centroids import with_vectors
from slowwave.schemas.tables import OWNER
from slowwave.stages.topics.topic_clusters import Placed, place

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
