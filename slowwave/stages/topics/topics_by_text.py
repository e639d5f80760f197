"""Topics where there are no vectors: by hint, then by words.

The same promises as with vectors (`topics`): pure, any order of rows, never over an owner; and the same plan of
joining and clustering (`topic_clusters`), over tf-idf rows.
"""

import numpy as np
import polars as pl
import scipy

from slowwave.schemas.identity import stable_id
from slowwave.schemas.tables import OWNER
from slowwave.stages.topics.topic_clusters import Placed, free_id, joined_known, place, unit_means
from slowwave.stages.topics.topic_names import normalized, rarity, words_of
from slowwave.stages.topics.topics import ASSIGNMENT, assignment, by_hint


def assign_topics_by_text(cells: pl.DataFrame, topics: pl.DataFrame, *, threshold: float) -> pl.DataFrame:
    """A topic for every cell.

    `cells`: cell_id, the owner's columns, topic_hint (nullable), content. `topics`: topic_id, the owner's
    columns, name, text (nullable; what describes the topic: its summary or its cells' contents). In order:
    the topic whose name is the cell's hint; the topic with the nearest words, from `threshold` (tf-idf
    cosine) on; a new topic for each hint that is left; and for cells without a hint the same clustering as
    with vectors.

    Returns `ASSIGNMENT` of every cell; similarity is 1 where the hint decided.
    """
    known = topics.sort("topic_id").partition_by(OWNER, as_dict=True, maintain_order=True)
    by_owner = cells.sort("cell_id").partition_by(OWNER, as_dict=True, maintain_order=True)
    answers = [
        _assign_of_owner(members, known.get(owner, topics.clear()), threshold)
        for owner, members in by_owner.items()
    ]
    return pl.concat([pl.DataFrame(schema=ASSIGNMENT), *answers]).sort("cell_id")


def _assign_of_owner(cells: pl.DataFrame, topics: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """The four steps of `assign_topics_by_text` for one owner; both frames are sorted by id."""
    hinted = cells.with_columns(hint=normalized("topic_hint"))
    named = topics.select("topic_id", hint=normalized("name")).unique(
        "hint", keep="first", maintain_order=True
    )
    by_name = hinted.filter(pl.col("hint") != "").join(named, on="hint")
    answers = [by_hint(by_name, is_new=False)]

    rest = hinted.join(by_name, on="cell_id", how="anti", maintain_order="left")
    known = topics.select("topic_id", text=pl.concat_str("name", "text", separator="\n", ignore_nulls=True))
    rows, known_rows = _word_vectors(rest["content"], known["text"])
    position, similarity = joined_known(rows, known_rows, threshold)
    near = position >= 0
    joined = Placed(position[near], similarity[near], known["topic_id"].to_list())
    answers.append(assignment(rest["cell_id"].filter(pl.Series(near)), joined, joined.topic_ids))

    apart = rest.select("cell_id", "hint").with_row_index("row").filter(pl.Series(~near))
    grouped = apart.filter(pl.col("hint") != "").with_columns(founder=pl.col("cell_id").min().over("hint"))
    founders = grouped["founder"].unique().sort()
    taken = set(joined.topic_ids)
    ids = [free_id(stable_id("topic", founder), taken) for founder in founders]
    opened = pl.DataFrame({"founder": founders, "topic_id": pl.Series(ids, dtype=pl.String)})
    grouped = grouped.join(opened, on="founder", how="left", maintain_order="left")
    answers.append(by_hint(grouped, is_new=True))

    bare = apart.filter(pl.col("hint") == "")
    if bare.height:
        centres = None
        if ids:
            group = grouped["founder"].rank("dense").to_numpy().astype(np.intp) - 1
            centres = unit_means(rows[grouped["row"].to_numpy()], group)
        found = place(rows[bare["row"].to_numpy()], bare["cell_id"].to_list(), centres, ids, threshold)
        answers.append(assignment(bare["cell_id"], found, []))
    return pl.concat(answers)


def _word_vectors(
    texts: pl.Series, topic_texts: pl.Series
) -> "tuple[scipy.sparse.csr_array, scipy.sparse.csr_array]":
    """Unit tf-idf rows of the cells and of the topics, over one vocabulary. A text without words is zero."""
    documents = pl.concat([texts, topic_texts]).to_frame("text").with_row_index("document")
    words = words_of(documents).sort("document", "word")
    weighed = words.with_columns(
        weight=(1 + pl.col("times").log()) * rarity(documents.height),
        column=pl.col("word").rank("dense") - 1,
    ).with_columns(weight=pl.col("weight") / (pl.col("weight") ** 2).sum().over("document").sqrt())
    matrix = scipy.sparse.csr_array(
        (
            weighed["weight"].to_numpy().astype(np.float32),
            (weighed["document"].to_numpy(), weighed["column"].to_numpy()),
        ),
        shape=(documents.height, max(words["word"].n_unique(), 1)),
    )
    return matrix[: len(texts)], matrix[len(texts) :]
