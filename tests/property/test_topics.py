import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from slowwave.home.centroids import centroids
from slowwave.schemas.tables import OWNER
from slowwave.stages.topics.topic_names import name_topics
from slowwave.stages.topics.topic_upkeep import merge_topics, split_topics
from slowwave.stages.topics.topics import assign_topics
from slowwave.stages.topics.topics_by_text import assign_topics_by_text

DIMS = 4
VECTOR = pl.Array(pl.Float32, DIMS)
THRESHOLDS = st.floats(0.05, 0.95)
WORDS = st.sampled_from(["invoice", "card", "zebra", "stripes", "server", "replica", "the", "deploy"])


@st.composite
def owned(draw, prefix: str, max_size: int = 25):
    """Rows with an owner and a unit vector; ids come in any order."""
    size = draw(st.integers(0, max_size))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    centres = rng.normal(size=(4, DIMS))
    rows = centres[rng.integers(0, 4, size)] + rng.normal(
        0, draw(st.sampled_from([0.0, 0.1, 0.6])), (size, DIMS)
    )
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    ids = [f"{prefix}{number:03}" for number in rng.permutation(size)]
    users = [["me", "you"][number] for number in rng.integers(0, 2, size)]
    return pl.DataFrame(
        {"id": ids, "user_id": users, "vector": pl.Series(rows, dtype=VECTOR)},
        schema_overrides={"id": pl.String, "user_id": pl.String},
    ).with_columns(project_id=pl.lit("p"), scope=pl.lit("user-private"))


def cells_of(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.rename({"id": "cell_id"})


def topics_of(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.rename({"id": "topic_id"}).with_columns(
        cell_count=pl.int_range(pl.len()) % 3 + 1, name=pl.lit("n")
    )


def opened(cells: pl.DataFrame, answer: pl.DataFrame) -> pl.DataFrame:
    """Topics as the store holds them after this answer."""
    filed = cells.join(answer.select("cell_id", "topic_id"), on="cell_id")
    owners = filed.group_by("topic_id").agg(pl.col(*OWNER).first())
    return centroids(filed).join(owners, on="topic_id")


@given(owned("c"), owned("t", 6), THRESHOLDS, st.randoms())
def test_the_order_of_rows_does_not_matter(cells, topics, threshold, random):
    first = assign_topics(cells_of(cells), topics_of(topics), threshold=threshold)
    order = random.sample(range(cells.height), cells.height)
    known = random.sample(range(topics.height), topics.height)
    second = assign_topics(cells_of(cells[order]), topics_of(topics)[known], threshold=threshold)
    assert first.equals(second)


@given(owned("c"), owned("t", 6), THRESHOLDS)
def test_every_cell_has_exactly_one_topic_and_never_one_of_another_owner(cells, topics, threshold):
    answer = assign_topics(cells_of(cells), topics_of(topics), threshold=threshold)
    assert answer["cell_id"].to_list() == sorted(cells["id"])
    assert answer["topic_id"].null_count() == 0
    filed = answer.join(cells_of(cells), on="cell_id")
    assert filed.group_by("topic_id").agg(pl.col("user_id").n_unique())["user_id"].to_list() == [1] * (
        answer["topic_id"].n_unique()
    )
    old = filed.filter(~pl.col("is_new_topic")).join(topics_of(topics), on="topic_id")
    assert old.height == (~answer["is_new_topic"]).sum()
    assert (old["user_id"] == old["user_id_right"]).all()


@given(owned("c"), owned("t", 6), THRESHOLDS)
def test_a_cell_joins_a_known_topic_exactly_when_one_is_near_enough(cells, topics, threshold):
    answer = assign_topics(cells_of(cells), topics_of(topics), threshold=threshold)
    pairs = cells_of(cells).join(topics, on=OWNER)
    cosines = pairs.select(
        "cell_id",
        cosine=pl.Series(np.einsum("ij,ij->i", pairs["vector"].to_numpy(), pairs["vector_right"].to_numpy())),
    )
    best = cosines.group_by("cell_id").agg(pl.col("cosine").max())
    clear = answer.join(best, on="cell_id").filter((pl.col("cosine") - threshold).abs() > 1e-5)
    assert (clear["is_new_topic"] == (clear["cosine"] < threshold)).all()


@given(owned("c"), THRESHOLDS)
def test_assigning_again_with_its_own_topics_moves_a_cell_only_to_a_nearer_topic(cells, threshold):
    frame = cells_of(cells)
    first = assign_topics(frame, topics_of(cells).clear(), threshold=threshold)
    second = assign_topics(frame, opened(frame, first), threshold=threshold)
    both = first.join(second, on="cell_id")
    moved = both.filter(pl.col("topic_id") != pl.col("topic_id_right"))
    joined = moved.filter(~pl.col("is_new_topic_right"))
    assert (joined["similarity_right"] >= joined["similarity"] - 1e-5).all()
    apart = moved.filter(pl.col("is_new_topic_right"))
    assert (apart["similarity"] < threshold + 1e-5).all()


@given(owned("c"), THRESHOLDS)
def test_a_centroid_has_unit_length_whatever_the_order(cells, threshold):
    frame = cells_of(cells).with_columns(topic_id=pl.col("cell_id").str.slice(0, 3))
    answer = centroids(frame)
    np.testing.assert_allclose(np.linalg.norm(answer["vector"].to_numpy(), axis=1), 1.0, atol=1e-5)
    again = centroids(frame.sort("cell_id", descending=True))
    np.testing.assert_allclose(answer["vector"].to_numpy(), again["vector"].to_numpy(), atol=1e-5)


@given(owned("t"), THRESHOLDS, st.sets(st.integers(0, 24)))
def test_merging_has_no_circles_and_never_leaves_an_owner(topics, threshold, touched):
    frame = topics_of(topics)
    answer = merge_topics(frame, [f"t{number:03}" for number in touched], threshold=threshold)
    assert answer["topic_id"].is_unique().all()
    assert not set(answer["topic_id"]) & set(answer["merged_into"])
    owner = dict(zip(frame["topic_id"], frame["user_id"], strict=True))
    assert all(owner[left] == owner[right] for left, right in answer.iter_rows())
    assert answer.equals(
        merge_topics(frame.reverse(), [f"t{number:03}" for number in touched], threshold=threshold)
    )


@given(owned("c", 40), THRESHOLDS)
def test_a_split_leaves_both_parts_standing(cells, threshold):
    frame = cells_of(cells).with_columns(topic_id=pl.col("user_id"))
    answer = split_topics(frame, split_threshold=threshold, min_cells=6)
    assert answer["cell_id"].is_unique().all()
    assert not set(answer["topic_id"]) & set(frame["topic_id"])
    after = frame.join(answer, on="cell_id", how="left").with_columns(
        part=pl.coalesce("topic_id_right", "topic_id")
    )
    for _, members in after.group_by("topic_id"):
        sizes = members.group_by("part").len()["len"].to_list()
        assert len(sizes) in (1, 2)
        assert len(sizes) == 1 or min(sizes) >= 3
    assert answer.equals(split_topics(frame.reverse(), split_threshold=threshold, min_cells=6))


TEXTS = st.lists(
    st.tuples(
        st.lists(WORDS, max_size=5).map(" ".join),
        st.sampled_from([None, "Billing", "billing ", "animals", ""]),
        st.sampled_from(["me", "you"]),
    ),
    max_size=12,
)


@given(TEXTS, THRESHOLDS, st.randoms())
def test_by_text_every_cell_has_one_topic_of_its_owner_in_any_order(texts, threshold, random):
    columns = {
        "cell_id": [f"c{number:02}" for number in range(len(texts))],
        "content": [text for text, _, _ in texts],
        "topic_hint": [hint for _, hint, _ in texts],
        "user_id": [user for _, _, user in texts],
    }
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)).with_columns(
        project_id=pl.lit("p"), scope=pl.lit("user-private")
    )
    known = pl.DataFrame(
        {
            "topic_id": ["t1", "t2"],
            "user_id": ["me", "you"],
            "name": ["Animals", "servers"],
            "text": ["zebra stripes", None],
        }
    ).with_columns(project_id=pl.lit("p"), scope=pl.lit("user-private"))
    answer = assign_topics_by_text(frame, known, threshold=threshold)
    assert answer["cell_id"].to_list() == columns["cell_id"]
    assert answer["topic_id"].null_count() == 0
    filed = answer.join(frame, on="cell_id")
    assert filed.group_by("topic_id").agg(pl.col("user_id").n_unique())["user_id"].to_list() == [1] * (
        answer["topic_id"].n_unique()
    )
    shuffled = frame[random.sample(range(frame.height), frame.height)]
    assert answer.equals(assign_topics_by_text(shuffled, known, threshold=threshold))
    assert name_topics(filed).equals(name_topics(filed.reverse()))
