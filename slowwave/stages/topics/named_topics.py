"""Topics by the names that the extractor gives: one name is one topic, and names that mean the same join.

Pure, the same for any order of rows, never over an owner. Names for different people or projects never join, however
near their words and memories are. How near the memories of two names are is measured from the median of all pairs of
names up: texts that name the same people lie close together whatever they are about.
"""

from typing import Final, NamedTuple

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from slowwave.home.centroids import with_vectors
from slowwave.schemas.identity import stable_id
from slowwave.schemas.tables import OWNER
from slowwave.stages.topics.hints import abouts, noise_of, over_noise, overlap, owned_hints, same_about
from slowwave.stages.topics.topic_clusters import free_id, unit_means
from slowwave.stages.topics.topic_names import normalized
from slowwave.stages.topics.topics import ASSIGNMENT, assign_topics

APART: Final = 1e6
"""Distance of names for different people: no average of it comes near a threshold."""

NAMED_FROM: Final = 0.1
"""Share of the nearness asked for from which the memories of two names are near enough for the names to count whole."""

TOLD: Final = ["topic_hint", "subject", "entities"]
"""Columns of a memory by which its name is read."""


class Joining(NamedTuple):
    """The nearness from which two names join, and the memories that their topic may hold.

    `noise` is the cosine that unrelated names score, as long as there are too few to tell.
    """

    similarity: float
    name_weight: float
    crowding: float
    most_cells: int
    noise: float


def assign_named_topics(
    cells: pl.DataFrame, members: pl.DataFrame, topics: pl.DataFrame, *, joining: Joining, threshold: float
) -> pl.DataFrame:
    """A topic for every cell that has a vector: by its name, else by its vector alone.

    `cells`: cell_id, the owner's columns, topic_hint (nullable), subject, entities, vector. `members`: topic_id, the
    owner's columns and the same texts of the live memories of `topics`: topic_id, the owner's columns, name,
    cell_count, vector (the centroid). In order: the topic that holds the cell's name already, of several the nearest;
    the topic whose names mean the same; a new topic for the names that are left, joined where they mean the same;
    and without a name the nearest topic from `threshold` on, or a new one, as in `assign_topics`.

    Returns `ASSIGNMENT`; similarity is to the topic's centroid.
    """
    usable = with_vectors(cells).with_columns(hint=normalized("topic_hint")).sort("cell_id")
    known = with_vectors(topics).sort("topic_id")
    answers = [pl.DataFrame(schema=ASSIGNMENT)]
    for owner, own in usable.filter(pl.col("hint") != "").partition_by(OWNER, as_dict=True).items():
        mine = pl.all_horizontal(pl.col(name) == value for name, value in zip(OWNER, owner, strict=True))
        answers.append(_assign_of_owner(own, members.filter(mine), known.filter(mine), joining))
    by_name = pl.concat(answers)
    opened = usable.join(by_name.filter("is_new_topic"), on="cell_id", how="inner")
    centres = pl.concat([known.select("topic_id", *OWNER, "vector"), _centres(opened)])
    bare = assign_topics(usable.filter(pl.col("hint") == ""), centres, threshold=threshold)
    return pl.concat([by_name, bare]).sort("cell_id")


def names_of_topics(members: pl.DataFrame, topics: pl.DataFrame) -> pl.DataFrame:
    """topic_id, hint, cell_count: the names of the topics' memories, and each topic's own name."""
    held = members.select("topic_id", hint=normalized("topic_hint")).filter(pl.col("hint") != "")
    own = topics.select("topic_id", hint=normalized("name")).filter(pl.col("hint") != "")
    counted = held.group_by("topic_id", "hint").agg(cell_count=pl.len())
    named = own.join(counted, on=["topic_id", "hint"], how="anti").with_columns(
        cell_count=pl.lit(0, pl.UInt32)
    )
    return pl.concat([counted, named.select(counted.columns)]).sort("topic_id", "hint")


def names_and_owners(members: pl.DataFrame, topics: pl.DataFrame) -> pl.DataFrame:
    """topic_id, about (whom the topic is for) and hint (the name of most of its memories), each "" for none.

    `members` and `topics` are those of `assign_named_topics`.
    """
    answers = [pl.DataFrame(schema=dict.fromkeys(["topic_id", "about", "hint"], pl.String))]
    for owner, own in topics.partition_by(OWNER, as_dict=True, maintain_order=True).items():
        mine = pl.all_horizontal(pl.col(name) == value for name, value in zip(OWNER, owner, strict=True))
        told = members.filter(mine)
        held = names_of_topics(told, own.clear())
        best = held.sort("topic_id", "cell_count", "hint", descending=[False, True, False])
        main = best.unique("topic_id", keep="first", maintain_order=True).select("topic_id", "hint")
        owned = held.rename({"topic_id": "node"}).join(owned_hints(told), on="hint", how="left")
        about = owned.select("node").unique().sort("node").with_columns(about=abouts(owned))
        every = own.select("topic_id").join(main, on="topic_id", how="left")
        named = every.join(about.rename({"node": "topic_id"}), on="topic_id", how="left").fill_null("")
        answers.append(named.select(answers[0].columns))
    return pl.concat(answers).sort("topic_id")


def _centres(cells: pl.DataFrame) -> pl.DataFrame:
    """The topics that `cells` open: topic_id, the owner's columns, vector."""
    opened = cells.sort("topic_id", "cell_id")
    first = opened.unique("topic_id", keep="first", maintain_order=True).select("topic_id", *OWNER, "vector")
    if opened.is_empty():
        return first
    label = opened["topic_id"].rle_id().to_numpy().astype(np.intp)
    means = unit_means(opened["vector"].to_numpy(), label)
    return first.with_columns(vector=pl.Series(means, dtype=first.schema["vector"]))


def _assign_of_owner(
    cells: pl.DataFrame, members: pl.DataFrame, topics: pl.DataFrame, joining: Joining
) -> pl.DataFrame:
    """The steps by name for one owner; `cells` and `topics` are sorted by id."""
    held = names_of_topics(members, topics).join(topics.select("topic_id"), on="topic_id", how="semi")
    by_name = _by_known_name(cells, held, topics)
    rest = cells.join(by_name, on="cell_id", how="anti", maintain_order="left")
    if rest.is_empty():
        return by_name
    groups = rest.group_by("hint").agg(cell_count=pl.len(), founder=pl.col("cell_id").min()).sort("hint")
    label = rest["hint"].rank("dense").to_numpy().astype(np.intp) - 1
    means = unit_means(rest["vector"].to_numpy().astype(np.float64), label)
    told = pl.concat(
        [cells.select(TOLD), members.select(TOLD), topics.select(topic_hint="name")], how="diagonal"
    )
    near = _nearness(groups, means, owned_hints(told), held, topics, joining)
    placed = _place(groups, near, topics, joining)
    topic_of = groups.select("hint").with_columns(placed)
    joined = rest.select("cell_id", "hint").join(topic_of, on="hint", how="inner")
    similarity = (rest["vector"].to_numpy() * means[label]).sum(axis=1)
    alike = rest.select("cell_id", similarity=pl.Series(similarity, dtype=pl.Float64).clip(-1.0, 1.0))
    found = joined.join(alike, on="cell_id").select(ASSIGNMENT.names())
    return pl.concat([by_name, found.cast(dict(ASSIGNMENT.items()))])


def _by_known_name(cells: pl.DataFrame, held: pl.DataFrame, topics: pl.DataFrame) -> pl.DataFrame:
    """`ASSIGNMENT` of the cells whose name a topic holds already; of several topics the nearest."""
    centres = topics.select("topic_id", centre="vector")
    pairs = (
        cells.select("cell_id", "hint", "vector")
        .join(held, on="hint", how="inner")
        .join(centres, on="topic_id")
    )
    if pairs.is_empty():
        return pl.DataFrame(schema=ASSIGNMENT)
    cosine = np.einsum("ij,ij->i", pairs["vector"].to_numpy(), pairs["centre"].to_numpy())
    return (
        pairs.select("cell_id", "topic_id", similarity=pl.Series(cosine, dtype=pl.Float64).clip(-1.0, 1.0))
        .sort("cell_id", "similarity", "topic_id", descending=[False, True, False])
        .unique("cell_id", keep="first", maintain_order=True)
        .with_columns(is_new_topic=pl.lit(value=False))
        .cast(dict(ASSIGNMENT.items()))
    )


def _place(
    groups: pl.DataFrame, near: NDArray[np.float64], topics: pl.DataFrame, joining: Joining
) -> list[pl.Series]:
    """topic_id and is_new_topic of each group of one name: in a known topic, or with names that mean the same.

    `near` has the nearness of groups, then topics (`_nearness`).
    """
    count, size = (
        groups.height,
        np.concatenate([groups["cell_count"], topics["cell_count"]]).astype(np.float64),
    )
    ids, chosen = topics["topic_id"].to_list(), np.full(count, -1, dtype=np.intp)
    if ids:
        room = size[:count, None] + size[None, count:]
        fits = np.where(near[:count, count:] >= _needed(room, joining), near[:count, count:], -APART)
        chosen = np.where(fits.max(axis=1) > -APART, fits.argmax(axis=1), -1)
    apart = np.flatnonzero(chosen < 0)
    label = _joined(near[np.ix_(apart, apart)], size[apart], joining)
    founders = groups[apart].select("founder", label=pl.Series(label, dtype=pl.Int64))
    first = founders.group_by("label").agg(pl.col("founder").min()).sort("label")["founder"]
    taken, new = set(ids), []
    for founder in first:
        new.append(free_id(stable_id("topic", founder), taken))
        taken.add(new[-1])
    chosen[apart] = label + len(ids)
    return [
        pl.Series("topic_id", [*ids, *new], dtype=pl.String).gather(chosen),
        pl.Series("is_new_topic", chosen >= len(ids)),
    ]


def _nearness(
    groups: pl.DataFrame,
    means: NDArray[np.float64],
    owned: pl.DataFrame,
    held: pl.DataFrame,
    topics: pl.DataFrame,
    joining: Joining,
) -> NDArray[np.float64]:
    """The nearness of groups and topics, by memories and names; `-APART` for different people.

    Names count only where the memories are nearer than unrelated ones: alike names over others are two themes.
    """
    nodes = pl.concat(
        [
            groups.select("hint", "cell_count", node=pl.int_range(pl.len())),
            held.join(topics.select("topic_id").with_row_index("node"), on="topic_id").select(
                "hint", "cell_count", node=pl.col("node").cast(pl.Int64) + groups.height
            ),
        ],
        how="vertical_relaxed",
    ).join(owned, on="hint", how="left", maintain_order="left")
    nodes = nodes.sort("node", "hint", maintain_order=True)
    rows = np.vstack([means, topics["vector"].to_numpy()]) if topics.height else means
    start = np.flatnonzero(nodes["node"].rle_id().diff().fill_null(1).to_numpy())
    by_hint = overlap(nodes["words"])
    names = np.maximum.reduceat(np.maximum.reduceat(by_hint, start, axis=0), start, axis=1)
    cosine, same = rows @ rows.T, same_about(abouts(nodes))
    near = over_noise(cosine, noise_of(cosine, same, otherwise=joining.noise))
    near = near + joining.name_weight * names * (near / (NAMED_FROM * joining.similarity)).clip(0.0, 1.0)
    return np.where(same, near, -APART)


def _needed(cells: NDArray[np.float64], joining: Joining) -> NDArray[np.float64]:
    """The nearness from which names join in a topic of so many cells: more for larger ones, none where it is full."""
    needed = joining.similarity + joining.crowding * cells / joining.most_cells
    return np.where(cells <= joining.most_cells, needed, APART)


def _joined(near: NDArray[np.float64], size: NDArray[np.float64], joining: Joining) -> NDArray[np.intp]:
    """Average linkage of names: labels from 0. A join holds if all below it hold and the topic stays in bounds."""
    count = len(near)
    if count < 2:  # noqa: PLR2004 - a join needs two
        return np.zeros(count, dtype=np.intp)
    distance = 1.0 - near
    np.fill_diagonal(distance, 0.0)
    condensed = scipy.spatial.distance.squareform(np.maximum(distance, 0.0), checks=False)
    tree = scipy.cluster.hierarchy.linkage(condensed, "average")
    cells = np.concatenate([size, np.zeros(count - 1)])
    holds = np.ones(2 * count - 1, dtype=bool)
    top = np.arange(2 * count - 1)
    for step, (left, right, height, _) in enumerate(tree):
        node, parts = count + step, [int(left), int(right)]
        cells[node] = cells[parts].sum()
        holds[node] = holds[parts].all() and 1.0 - height >= _needed(cells[node], joining)
        if holds[node]:
            top[parts] = node
    for node in range(2 * count - 2, -1, -1):
        top[node] = top[top[node]]
    return np.unique(top[:count], return_inverse=True)[1].astype(np.intp)
