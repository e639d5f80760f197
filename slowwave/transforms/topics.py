"""Topics: which cells belong together, what a theme is called, when two become one and one becomes two.

Every function is pure and gives the same answer for any order of its rows. Topics never reach over an owner
(`user_id`, `project_id`, `scope`). Nothing here decides that two memories are the same: that is
reconciliation.

With vectors and without, the same plan: join the nearest known topic if it is near enough, and cluster the
rest by average linkage cut at the same threshold. Measured on CLINC150 (`benchmarks/topics.py`): average
linkage beat complete and weighted linkage, and joining by an estimated mean similarity, and moving cells to
their nearest centroid afterwards; Ward was equal, but its cut is no similarity and does not carry over to
another embedder.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import csr_array, issparse, vstack
from scipy.spatial.distance import squareform

from slowwave.schemas.identity import stable_id
from slowwave.schemas.tables import OWN

ASSIGNMENT = pl.Schema(
    {"cell_id": pl.String, "topic_id": pl.String, "similarity": pl.Float64, "is_new_topic": pl.Boolean}
)
"""What both ways of assigning return: one row a cell, in the order of `cell_id`."""

BLOCK = 4_000
"""Cells that are clustered together: their similarities fill 64 MB, and linkage takes a second."""

MIN_PART = 3
"""Cells that each part of a split topic keeps."""

MIN_GAIN = 0.10
"""How much a split must raise the mean member-centroid similarity, relative to what it was. With this gain
the centroids of two equal parts have a cosine of at most 0.65 (2 / 1.1 ** 2 - 1), and of unequal parts less,
which stays under every merge threshold (profiles, `calibration.MERGE_FLOOR`): no merge undoes a split."""

NAME_WORDS = 3

_WORD = r"[\p{L}\p{N}][\p{L}\p{N}_'-]*"
_STOP_TEXT = (
    "a about after all also am an and any are as at be because been before but by can could did do does "
    "for from had has have he her here him his how i if in into is it its just like may me more most my "
    "no not now of off on one only or our out over please she should so some such tell than that the "
    "their them then there these they this to too up us use used was we were what when where which who "
    "why will with would you your don't i'm it's can't "
)
_STOP_WORDS = frozenset(_STOP_TEXT.split())

Rows = Any
"""Unit rows, dense (n, d) or sparse: cells, topics. A dot product of two rows is their cosine."""


class _Opened(NamedTuple):
    """Where the rows of a matrix belong: positions among `topic_ids`, known ones first, then new ones."""

    position: NDArray[np.intp]
    similarity: NDArray[np.float64]
    topic_ids: list[str]


def assign_topics(cells: pl.DataFrame, topics: pl.DataFrame, *, threshold: float) -> pl.DataFrame:
    """A topic for every cell that has a vector.

    `cells`: cell_id, the owner's columns, vector as Array(Float32, d). `topics`: topic_id, the owner's
    columns, vector (the centroid, unit length). Other columns are ignored. A cell joins the nearest topic
    of its owner from `threshold` on. The rest are clustered in blocks of at most `BLOCK`, each trying the
    topics of the blocks before it first; the id of a new topic is made from the smallest cell id that
    founded it.

    Returns:
        `ASSIGNMENT`; similarity is to the topic's centroid, for a new topic that of its founders. Cells whose
        vector is null or NaN are left out: they have no place here until they are embedded.
    """
    usable = _with_vectors(cells).sort("cell_id")
    known = _with_vectors(topics).sort("topic_id")
    centroid_of = known.partition_by(OWN, as_dict=True)
    none_known = known.clear()
    answers = [_empty_assignment()]
    for owner, members in usable.partition_by(OWN, as_dict=True, maintain_order=True).items():
        own_topics = centroid_of.get(owner, none_known)
        ids = own_topics["topic_id"].to_list()
        centres = own_topics["vector"].to_numpy() if ids else None
        opened = _assign(members["vector"].to_numpy(), members["cell_id"].to_list(), centres, ids, threshold)
        answers.append(_assignment(members["cell_id"], opened, ids))
    return pl.concat(answers).sort("cell_id")


def assign_hinted_topics(cells: pl.DataFrame, topics: pl.DataFrame, *, threshold: float) -> pl.DataFrame:
    """A topic for every cell, by its hint and its vector.

    `cells`: cell_id, the owner's columns, topic_hint (nullable), vector. `topics`: as for `assign_topics`, with
    name. A hint that is the name of a known topic decides. Else the cells of one hint stay together: their mean
    vector joins the nearest topic, or opens a new one, as one cell would. A cell without a hint stands for itself.

    Returns:
        `ASSIGNMENT`; similarity is 1 where the name decided, else that of the hint's mean.
    """
    usable = _with_vectors(cells).with_columns(hint=_normalized("topic_hint"))
    names = (
        topics.with_columns(hint=_normalized("name"))
        .sort("topic_id")
        .unique([*OWN, "hint"], keep="first", maintain_order=True)
    )
    named = usable.filter(pl.col("hint") != "").join(
        names.select(*OWN, "hint", "topic_id"), on=[*OWN, "hint"], how="inner"
    )
    by_name = named.select("cell_id", "topic_id", similarity=pl.lit(1.0), is_new_topic=pl.lit(value=False))
    rest = usable.join(named, on="cell_id", how="anti")
    leader = pl.col("cell_id").min().over(*OWN, "hint")
    grouped = rest.with_columns(
        leader=pl.when(pl.col("hint").fill_null("") == "").then("cell_id").otherwise(leader)
    )
    means = centroids(grouped.select("vector", topic_id="leader")).rename({"topic_id": "cell_id"})
    leaders = grouped.filter(pl.col("cell_id") == pl.col("leader")).select("cell_id", *OWN)
    placed = assign_topics(leaders.join(means, on="cell_id", how="inner"), topics, threshold=threshold)
    by_vector = grouped.select("cell_id", "leader").join(
        placed.rename({"cell_id": "leader"}), on="leader", how="inner"
    )
    return (
        pl.concat([by_name, by_vector.select(by_name.columns)]).sort("cell_id").cast(dict(ASSIGNMENT.items()))
    )  # type: ignore[arg-type]


def assign_topics_by_text(cells: pl.DataFrame, topics: pl.DataFrame, *, threshold: float) -> pl.DataFrame:
    """A topic for every cell where there are no vectors: by hint, then by words.

    `cells`: cell_id, the owner's columns, topic_hint (nullable), content. `topics`: topic_id, the owner's
    columns, name, text (nullable; what describes the topic: its summary or its cells' contents). In order:
    the topic whose name is the cell's hint; the topic with the nearest words, from `threshold` (tf-idf
    cosine) on; a new topic for each hint that is left; and for cells without a hint the same clustering as
    with vectors.

    Returns:
        `ASSIGNMENT`; similarity is 1 where the hint decided. Every cell is in it.
    """
    answers = [_empty_assignment()]
    known = topics.sort("topic_id").partition_by(OWN, as_dict=True, maintain_order=True)
    none_known = topics.clear()
    for owner, members in cells.sort("cell_id").partition_by(OWN, as_dict=True, maintain_order=True).items():
        answers.append(_assign_own_by_text(members, known.get(owner, none_known), threshold))
    return pl.concat(answers).sort("cell_id")


def centroids(cells: pl.DataFrame) -> pl.DataFrame:
    """Mean vector of each topic, L2-normalised: topic_id, vector, in the order of topic_id.

    `cells`: topic_id, vector. Cells without a topic or a usable vector do not count, and a topic without any
    is not in the answer; neither is one whose vectors cancel out.
    """
    usable = _with_vectors(cells.select("topic_id", "vector").drop_nulls("topic_id")).sort("topic_id")
    if usable.is_empty():
        return usable
    vectors = usable["vector"].to_numpy().astype(np.float64)
    starts = np.flatnonzero(usable["topic_id"].rle_id().diff().fill_null(1).to_numpy())
    means = np.add.reduceat(vectors, starts, axis=0)
    length = np.linalg.norm(means, axis=1)
    kept = length > 0
    return pl.DataFrame(
        {
            "topic_id": usable["topic_id"].gather(starts[kept]),
            "vector": (means[kept] / length[kept, None]).astype(np.float32),
        },
        schema=usable.schema,
    )


def name_topics(cells: pl.DataFrame) -> pl.DataFrame:
    """A name for each topic: topic_id, name, in the order of topic_id.

    `cells`: topic_id, topic_hint (nullable), content. The most frequent hint (as it is most often written);
    without one, the words that mark this topic among the given ones (term count * inverse topic frequency),
    best first; without a word, `untitled`. Ties go by the alphabet.
    """
    filed = cells.drop_nulls("topic_id")
    by_hint = (
        filed.select("topic_id", hint=pl.col("topic_hint").str.strip_chars(), key=_normalized("topic_hint"))
        .filter(pl.col("key") != "")
        .group_by("topic_id", "key", "hint")
        .agg(times=pl.len())
        .with_columns(key_times=pl.col("times").sum().over("topic_id", "key"))
        .sort("topic_id", "key_times", "key", "times", "hint", descending=[False, True, False, True, False])
        .unique("topic_id", keep="first", maintain_order=True)
        .select("topic_id", "hint")
    )
    by_words = (
        _words(filed.select(document="topic_id", text="content"))
        .filter(pl.col("word").str.len_chars() > 2)  # noqa: PLR2004 - one or two letters name nothing
        .with_columns(weight=pl.col("times") * _rarity(filed["topic_id"].n_unique()))
        .sort("document", "weight", "word", descending=[False, True, False])
        .group_by("document", maintain_order=True)
        .agg(words=pl.col("word").head(NAME_WORDS).str.join(" "))
    )
    return (
        filed.select("topic_id")
        .unique()
        .join(by_hint, on="topic_id", how="left")
        .join(by_words, left_on="topic_id", right_on="document", how="left")
        .select("topic_id", name=pl.coalesce("hint", "words", pl.lit("untitled")))
        .sort("topic_id")
    )


def merge_topics(topics: pl.DataFrame, touched: Collection[str], *, threshold: float) -> pl.DataFrame:
    """Near-identical topics: topic_id, merged_into, in the order of topic_id.

    `topics`: topic_id, the owner's columns, vector, cell_count. Two topics of one owner merge when each is
    the other's nearest, their cosine is at least `threshold`, and at least one is in `touched`. The one
    with more cells keeps its id; of equal ones the untouched (known longer), then the smaller id. A merged
    topic may merge again; `merged_into` is always the last survivor and is never merged itself.
    """
    answers = [pl.DataFrame(schema={"topic_id": pl.String, "merged_into": pl.String})]
    for own in _with_vectors(topics).sort("topic_id").partition_by(OWN, maintain_order=True):
        ids = own["topic_id"].to_numpy()
        survivor = _survivors(
            own["vector"].to_numpy().astype(np.float64),
            own["cell_count"].to_numpy().astype(np.float64),
            own["topic_id"].is_in(list(touched)).to_numpy().copy(),
            threshold,
        )
        gone = survivor != np.arange(len(ids))
        answers.append(
            pl.DataFrame(
                {"topic_id": ids[gone], "merged_into": ids[survivor[gone]]}, schema=answers[0].schema
            )
        )
    return pl.concat(answers).sort("topic_id")


def split_topics(cells: pl.DataFrame, *, split_threshold: float, min_cells: int) -> pl.DataFrame:
    """Cells that leave an incoherent topic for a new one: cell_id, topic_id (the new one), by cell_id.

    `cells`: cell_id, topic_id, vector, all cells of the topics to look at. A topic of at least `min_cells`
    cells whose mean member-centroid similarity lies under `split_threshold` is parted in two by Ward linkage
    (average linkage mostly peels off one outlier); the smaller part leaves, if both parts keep `MIN_PART`
    cells and the mean rises by `MIN_GAIN`. The new id is made from the old one and the smallest leaving cell.
    """
    answers = [pl.DataFrame(schema={"cell_id": pl.String, "topic_id": pl.String})]
    usable = _with_vectors(cells.drop_nulls("topic_id")).sort("topic_id", "cell_id")
    for members in usable.partition_by("topic_id", maintain_order=True):
        if members.height >= max(min_cells, 2 * MIN_PART):
            leaving = _leaving(members["vector"].to_numpy().astype(np.float64), split_threshold)
            left = members.filter(pl.Series(leaving)).select("cell_id", "topic_id")
            if left.height:
                new = stable_id("topic", left.item(0, "topic_id"), left.item(0, "cell_id"))
                answers.append(left.with_columns(topic_id=pl.lit(new)))
    return pl.concat(answers).sort("cell_id")


def _empty_assignment() -> pl.DataFrame:
    return pl.DataFrame(schema=ASSIGNMENT)


def _with_vectors(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose vector is there and finite."""
    present = rows.drop_nulls("vector")
    if present.is_empty():
        return present
    return present.filter(pl.Series(np.isfinite(present["vector"].to_numpy()).all(axis=1)))


def _assignment(cell_ids: pl.Series, opened: _Opened, known: list[str]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "cell_id": cell_ids,
            "topic_id": pl.Series(opened.topic_ids, dtype=pl.String).gather(opened.position),
            "similarity": opened.similarity.clip(-1.0, 1.0),
            "is_new_topic": opened.position >= len(known),
        },
        schema=ASSIGNMENT,
    )


def _assign(
    rows: Rows, cell_ids: list[str], centres: Rows | None, known: list[str], threshold: float
) -> _Opened:
    """Join, then cluster what is left block by block; `rows` come in the order of `cell_ids`, sorted."""
    topic_ids, taken, topics = list(known), set(known), centres
    position = np.full(rows.shape[0], -1, dtype=np.intp)
    similarity = np.zeros(rows.shape[0])
    for start in range(0, rows.shape[0], BLOCK):
        _join(
            rows,
            np.arange(start, min(start + BLOCK, rows.shape[0])),
            topics,
            0,
            threshold,
            position,
            similarity,
        )
    leftover = np.flatnonzero(position < 0)
    for start in range(0, len(leftover), BLOCK):
        block = leftover[start : start + BLOCK]
        if start and topics is not None:
            block = _join(rows, block, topics, len(known), threshold, position, similarity)
        if not len(block):
            continue
        label = _clusters(rows[block], threshold)
        founded = _means(rows[block], label)
        first = np.unique(label, return_index=True)[1]
        position[block] = label + len(topic_ids)
        similarity[block] = _own_similarity(rows[block], founded, label)
        for smallest in block[first]:
            topic_ids.append(_free_id(stable_id("topic", cell_ids[smallest]), taken))
            taken.add(topic_ids[-1])
        topics = founded if topics is None else _stack(topics, founded)
    return _Opened(position, similarity, topic_ids)


def _join(
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


def _clusters(rows: Rows, threshold: float) -> NDArray[np.intp]:
    """Average linkage cut at the threshold: labels from 0 in the order in which clusters first appear."""
    if rows.shape[0] == 1:
        return np.zeros(1, dtype=np.intp)
    distance = 1.0 - _dense(rows @ rows.T).astype(np.float64)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(np.maximum(distance, 0.0), checks=False), "average")
    return _in_order(fcluster(tree, 1.0 - threshold, "distance"))


def _in_order(label: NDArray[Any]) -> NDArray[np.intp]:
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _means(rows: Rows, label: NDArray[np.intp]) -> Rows:
    """Unit mean row of each label; rows that cancel out stay zero and attract nothing."""
    member = csr_array((np.ones(len(label), np.float32), (label, np.arange(len(label)))))
    sums = member @ rows
    if issparse(sums):
        length = np.sqrt(np.asarray(sums.multiply(sums).sum(axis=1)).ravel())
        scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        return csr_array(sums.multiply(scale[:, None]))
    length = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.divide(sums, length, out=np.zeros_like(sums), where=length > 0)


def _own_similarity(rows: Rows, means: Rows, label: NDArray[np.intp]) -> NDArray[np.float64]:
    own = means[label]
    product = rows.multiply(own).sum(axis=1) if issparse(rows) else np.einsum("ij,ij->i", rows, own)
    return np.asarray(product, dtype=np.float64).ravel()


def _dense(product: Any) -> NDArray[Any]:
    return np.asarray(product.toarray() if issparse(product) else product)


def _stack(above: Rows, below: Rows) -> Rows:
    return vstack([above, below], format="csr") if issparse(above) else np.vstack([above, below])


def _free_id(topic_id: str, taken: set[str]) -> str:
    """The id, or the next one made from it: a founder may found again after its first topic drifted away."""
    while topic_id in taken:
        topic_id = stable_id("topic", topic_id)
    return topic_id


def _survivors(
    vectors: NDArray[np.float64], size: NDArray[np.float64], touched: NDArray[np.bool_], threshold: float
) -> NDArray[np.intp]:
    """For each topic the position of the one that it ends in; its own where it stays.

    Passes of pairs that are each other's nearest, until none is near enough: a pass takes at least one topic
    away, so they end, and each topic points at one that was still there, so there is no circle.
    """
    into = np.arange(len(vectors))
    alive = np.ones(len(vectors), dtype=bool)
    while True:
        keep, drop = _mutual_pairs(vectors, size, alive, touched, threshold)
        if not len(keep):
            return into
        sums = vectors[keep] * size[keep, None] + vectors[drop] * size[drop, None]
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        vectors = vectors.copy()
        vectors[keep] = np.divide(sums, length, out=np.zeros_like(sums), where=length > 0)
        size = size.copy()
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
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions that keep and positions that go. Only the touched and their nearest are compared with all."""
    asked = np.flatnonzero(alive & touched)
    if not len(asked) or alive.sum() < 2:  # noqa: PLR2004 - a pair needs two
        return asked[:0], asked[:0]
    nearest, cosine = _nearest(vectors, alive, asked)
    near = cosine >= threshold
    left, right = asked[near], nearest[near]
    back, _ = _nearest(vectors, alive, right)
    left, right = left[back == left], right[back == left]
    pairs = np.unique(np.sort(np.column_stack([left, right]), axis=1), axis=0)
    first, second = pairs[:, 0], pairs[:, 1]
    second_keeps = (size[second] > size[first]) | (
        (size[second] == size[first]) & touched[first] & ~touched[second]
    )
    return np.where(second_keeps, second, first), np.where(second_keeps, first, second)


def _nearest(
    vectors: NDArray[np.float64], alive: NDArray[np.bool_], asked: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Nearest living other topic of each one asked for, the first of equal ones, in bounded blocks."""
    nearest = np.zeros(len(asked), dtype=np.intp)
    best = np.full(len(asked), -2.0)
    for start in range(0, len(asked), BLOCK):
        block = asked[start : start + BLOCK]
        cosine = vectors[block] @ vectors.T
        cosine[:, ~alive] = -2.0
        cosine[np.arange(len(block)), block] = -2.0
        nearest[start : start + len(block)] = cosine.argmax(axis=1)
        best[start : start + len(block)] = cosine.max(axis=1)
    return nearest, best


def _leaving(vectors: NDArray[np.float64], split_threshold: float) -> NDArray[np.bool_]:
    """Which members leave; none where the topic is coherent or no split is clearly better."""
    stay = np.zeros(len(vectors), dtype=bool)
    whole = float(np.linalg.norm(vectors.mean(axis=0)))  # = mean cosine of the members to their centroid
    if whole >= split_threshold:
        return stay
    looked_at = np.linspace(0, len(vectors) - 1, min(len(vectors), BLOCK)).astype(np.intp)
    half = fcluster(linkage(vectors[looked_at], "ward"), 2, "maxclust") - 1
    if half.max() == 0:
        return stay
    means = _means(vectors[looked_at], _in_order(half))
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


def _assign_own_by_text(cells: pl.DataFrame, topics: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """The four steps of `assign_topics_by_text` for one owner; both frames are sorted by id."""
    hinted = cells.select("cell_id", hint=_normalized("topic_hint"))
    named = topics.select("topic_id", hint=_normalized("name")).unique(
        "hint", keep="first", maintain_order=True
    )
    by_name = hinted.filter(pl.col("hint") != "").join(named, on="hint")
    answers = [_decided(by_name, is_new=False)]

    rest = cells.join(by_name, on="cell_id", how="anti", maintain_order="left")
    known = topics.select("topic_id", text=pl.concat_str("name", "text", separator="\n", ignore_nulls=True))
    rows, known_rows = _word_vectors(rest["content"], known["text"])
    position, similarity = np.full(rest.height, -1, dtype=np.intp), np.zeros(rest.height)
    for start in range(0, rest.height, BLOCK):
        block = np.arange(start, min(start + BLOCK, rest.height))
        _join(rows, block, known_rows, 0, threshold, position, similarity)
    near = position >= 0
    joined = _Opened(position[near], similarity[near], known["topic_id"].to_list())
    answers.append(_assignment(rest["cell_id"].filter(pl.Series(near)), joined, joined.topic_ids))

    apart = (
        rest.select("cell_id", hint=_normalized("topic_hint")).with_row_index("row").filter(pl.Series(~near))
    )
    by_hint = apart.filter(pl.col("hint") != "").with_columns(founder=pl.col("cell_id").min().over("hint"))
    founders = by_hint["founder"].unique().sort()
    taken = set(joined.topic_ids)
    ids = [_free_id(stable_id("topic", founder), taken) for founder in founders]
    opened = pl.DataFrame({"founder": founders, "topic_id": pl.Series(ids, dtype=pl.String)})
    by_hint = by_hint.join(opened, on="founder", how="left", maintain_order="left")
    answers.append(_decided(by_hint, is_new=True))

    bare = apart.filter(pl.col("hint") == "")
    if bare.height:
        centres = None
        if ids:
            group = by_hint["founder"].rank("dense").to_numpy().astype(np.intp) - 1
            centres = _means(rows[by_hint["row"].to_numpy()], group)
        found = _assign(rows[bare["row"].to_numpy()], bare["cell_id"].to_list(), centres, ids, threshold)
        answers.append(_assignment(bare["cell_id"], found, []))
    return pl.concat(answers)


def _decided(rows: pl.DataFrame, *, is_new: bool) -> pl.DataFrame:
    return rows.select("cell_id", "topic_id", similarity=pl.lit(1.0), is_new_topic=pl.lit(is_new))


def _normalized(column: str) -> pl.Expr:
    """Text as hints and names are compared; null is the empty text."""
    return pl.col(column).str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars().fill_null("")


def _words(documents: pl.DataFrame) -> pl.DataFrame:
    """document, word, times: the words of each text without the stop words."""
    return (
        documents.select("document", word=pl.col("text").str.to_lowercase().str.extract_all(_WORD))
        .explode("word", empty_as_null=False)
        .drop_nulls("word")
        .filter(~pl.col("word").is_in(list(_STOP_WORDS)))
        .group_by("document", "word")
        .agg(times=pl.len())
    )


def _rarity(document_count: int) -> pl.Expr:
    """Inverse document frequency, smoothed so that a word of every document still counts a little."""
    return (1 + document_count / pl.len().over("word")).log()


def _word_vectors(texts: pl.Series, topic_texts: pl.Series) -> tuple[csr_array, csr_array]:
    """Unit tf-idf rows of the cells and of the topics, over one vocabulary. A text without words is zero."""
    documents = pl.concat([texts, topic_texts]).to_frame("text").with_row_index("document")
    words = _words(documents).sort("document", "word")
    weighed = words.with_columns(
        weight=(1 + pl.col("times").log()) * _rarity(documents.height),
        column=pl.col("word").rank("dense") - 1,
    ).with_columns(weight=pl.col("weight") / (pl.col("weight") ** 2).sum().over("document").sqrt())
    matrix = csr_array(
        (
            weighed["weight"].to_numpy().astype(np.float32),
            (weighed["document"].to_numpy(), weighed["column"].to_numpy()),
        ),
        shape=(documents.height, max(words["word"].n_unique(), 1)),
    )
    return matrix[: len(texts)], matrix[len(texts) :]
