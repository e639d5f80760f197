import numpy as np
import polars as pl
import pytest

from slowwave.home.centroids import centroids
from slowwave.schemas.identity import stable_id
from slowwave.stages.topics import topic_clusters
from slowwave.stages.topics.topic_names import name_topics
from slowwave.stages.topics.topic_upkeep import MIN_GAIN, merge_topics, split_topics
from slowwave.stages.topics.topics import ASSIGNMENT, assign_topics
from slowwave.stages.topics.topics_by_text import assign_topics_by_text

ME = {"user_id": "me", "project_id": "p", "scope": "user-private"}
VECTOR = pl.Array(pl.Float32, 3)


def unit(*rows: tuple[float, ...]) -> np.ndarray:
    return np.array(rows, np.float32) / np.linalg.norm(rows, axis=1, keepdims=True)


def cells(vectors: dict[str, tuple[float, float, float] | None], **owner: str) -> pl.DataFrame:
    rows = [None if row is None else unit(row)[0].tolist() for row in vectors.values()]
    columns = [pl.lit(value).alias(name) for name, value in (ME | owner).items()]
    return pl.DataFrame({"cell_id": list(vectors), "vector": pl.Series(rows, dtype=VECTOR)}).with_columns(
        columns
    )


def known(
    vectors: dict[str, tuple[float, float, float]], counts: list[int] | None = None, **owner: str
) -> pl.DataFrame:
    frame = cells(vectors, **owner).rename({"cell_id": "topic_id"})
    return frame.with_columns(
        pl.Series("cell_count", counts or [1] * frame.height, dtype=pl.Int64), name=pl.lit("n")
    )


def told(**columns: list[str | None]) -> pl.DataFrame:
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    return frame.with_columns([pl.lit(value).alias(name) for name, value in ME.items()])


def topic_of(answer: pl.DataFrame) -> dict[str, str]:
    return dict(answer.select("cell_id", "topic_id").iter_rows())


NONE = known({"t": (1, 0, 0)}).clear()


def test_a_cell_joins_the_nearest_topic_that_is_near_enough():
    answer = assign_topics(
        cells({"a": (1, 0.2, 0), "b": (0, 1, 0.3)}), known({"x": (1, 0, 0), "y": (0, 1, 0)}), threshold=0.7
    )
    assert topic_of(answer) == {"a": "x", "b": "y"}
    assert not answer["is_new_topic"].any()
    assert answer["similarity"].to_list() == pytest.approx([1 / 1.04**0.5, 1 / 1.09**0.5], abs=1e-6)


def test_what_is_near_to_no_topic_is_clustered_into_new_ones():
    answer = assign_topics(
        cells({"d": (0, 1, 0), "b": (0, 1, 0.1), "c": (0, 0, 1), "a": (1, 0, 0)}),
        known({"x": (1, 0, 0)}),
        threshold=0.7,
    )
    assert topic_of(answer) == {
        "a": "x",
        "b": stable_id("topic", "b"),
        "c": stable_id("topic", "c"),
        "d": stable_id("topic", "b"),
    }
    assert answer["is_new_topic"].to_list() == [False, True, True, True]


def test_a_chain_of_neighbours_is_not_one_topic():
    """Each cell is near the next one, the ends are far apart: the mean similarity decides."""
    angles = np.deg2rad([0, 40, 80, 120])
    rows = {f"c{number}": (np.cos(angle), np.sin(angle), 0) for number, angle in enumerate(angles)}
    assert assign_topics(cells(rows), NONE, threshold=0.75)["topic_id"].n_unique() > 1


def test_a_cell_without_a_vector_waits():
    frame = cells({"a": (1, 0, 0), "b": None})
    frame = pl.concat(
        [frame, cells({"c": (1, 0, 0)}).with_columns(vector=pl.lit([np.nan] * 3, dtype=VECTOR))]
    )
    assert assign_topics(frame, NONE, threshold=0.7)["cell_id"].to_list() == ["a"]


def test_nothing_in_gives_nothing_out_in_the_same_shape():
    assert assign_topics(cells({"a": (1, 0, 0)}).clear(), NONE, threshold=0.5).schema == ASSIGNMENT
    nothing = told(cell_id=[], topic_hint=[], content=[])
    assert (
        assign_topics_by_text(nothing, told(topic_id=[], name=[], text=[]), threshold=0.2).schema
        == ASSIGNMENT
    )
    assert centroids(pl.DataFrame(schema={"topic_id": pl.String, "vector": VECTOR})).is_empty()
    assert merge_topics(NONE, [], threshold=0.9).columns == ["topic_id", "merged_into"]


@pytest.mark.parametrize("scope", ["project-shared", "system"])
def test_a_topic_of_another_owner_is_out_of_reach(scope):
    answer = assign_topics(cells({"a": (1, 0, 0)}), known({"x": (1, 0, 0)}, scope=scope), threshold=0.1)
    assert answer["is_new_topic"].to_list() == [True]


def test_a_founder_that_founds_again_gets_another_id():
    taken = stable_id("topic", "a")
    answer = assign_topics(cells({"a": (1, 0, 0)}), known({taken: (0, 1, 0)}), threshold=0.5)
    assert topic_of(answer)["a"] == stable_id("topic", taken)


def test_later_blocks_join_the_topics_of_earlier_ones(monkeypatch):
    monkeypatch.setattr(topic_clusters, "BLOCK", 2)
    draw = np.random.default_rng(0)
    rows = {f"c{number}": tuple(np.eye(3)[number % 3] + draw.normal(0, 0.05, 3)) for number in range(9)}
    answer = assign_topics(cells(rows), NONE, threshold=0.8)
    assert answer["topic_id"].n_unique() == 3
    assert answer.group_by("topic_id").len()["len"].to_list() == [3, 3, 3]


def test_ten_thousand_cells_are_assigned_in_bounded_blocks():
    draw = np.random.default_rng(1)
    rows = unit(*(np.repeat(draw.normal(size=(50, 3)), 200, axis=0) + draw.normal(0, 0.01, (10_000, 3))))
    frame = pl.DataFrame(
        {"cell_id": [f"{number:05}" for number in range(10_000)], "vector": pl.Series(rows, dtype=VECTOR)}
    ).with_columns([pl.lit(value).alias(name) for name, value in ME.items()])
    answer = assign_topics(frame, NONE, threshold=0.95)
    assert answer.height == 10_000
    assert answer["topic_id"].n_unique() <= 60


def test_a_centroid_is_the_unit_mean_of_its_members():
    frame = cells({"a": (1, 0, 0), "b": (0, 1, 0), "c": (0, 0, 1), "d": None}).with_columns(
        topic_id=pl.Series(["y", "y", "x", "x"])
    )
    answer = centroids(frame)
    assert answer["topic_id"].to_list() == ["x", "y"]
    np.testing.assert_allclose(answer["vector"].to_numpy(), unit((0, 0, 1), (1, 1, 0)), atol=1e-6)


def test_members_that_cancel_out_have_no_centroid():
    frame = cells({"a": (1, 0, 0), "b": (-1, 0, 0)}).with_columns(topic_id=pl.lit("x"))
    assert centroids(frame).is_empty()


def test_a_name_is_the_most_frequent_hint_as_it_is_mostly_written():
    frame = told(
        topic_id=["x"] * 5,
        topic_hint=["Billing", "billing ", "Billing", "Login", None],
        content=["words"] * 5,
    )
    assert name_topics(frame).rows() == [("x", "Billing")]


def test_without_a_hint_the_words_that_mark_the_topic_name_it():
    frame = told(
        topic_id=["x", "x", "y"],
        topic_hint=[None, " ", None],
        content=[
            "the server rejects the invoice",
            "an invoice of the server about postage",
            "the server has a replica",
        ],
    )
    assert name_topics(frame).rows() == [("x", "invoice server postage"), ("y", "replica server")]


def test_names_that_tie_go_by_the_alphabet_and_a_topic_without_words_is_untitled():
    frame = told(topic_id=["x", "x", "y"], topic_hint=["b", "a", None], content=["", "", "!?"])
    assert name_topics(frame).rows() == [("x", "a"), ("y", "untitled")]


def test_the_larger_of_two_near_identical_topics_survives():
    frame = known({"a": (1, 0.05, 0), "b": (1, 0, 0), "c": (0, 1, 0)}, [2, 5, 9])
    assert merge_topics(frame, ["a"], threshold=0.95).rows() == [("a", "b")]


def test_of_two_equally_large_topics_the_untouched_one_survives():
    frame = known({"a": (1, 0.05, 0), "b": (1, 0, 0)}, [2, 2])
    assert merge_topics(frame, ["a"], threshold=0.95).rows() == [("a", "b")]
    assert merge_topics(frame, ["b"], threshold=0.95).rows() == [("b", "a")]
    assert merge_topics(frame, ["a", "b"], threshold=0.95).rows() == [("b", "a")]


def test_topics_that_nobody_touched_stay_apart():
    assert merge_topics(known({"a": (1, 0, 0), "b": (1, 0, 0)}), [], threshold=0.5).is_empty()


def test_a_chain_of_merges_ends_in_one_survivor():
    frame = known({"a": (1, 0, 0), "b": (1, 0.05, 0), "c": (1, 0.11, 0)}, [1, 2, 9])
    assert merge_topics(frame, ["a"], threshold=0.9).rows() == [("a", "c"), ("b", "c")]


def test_a_merged_topic_counts_the_cells_of_both():
    frame = known({"a": (1, 0, 0), "b": (1, 0.02, 0), "c": (1, 0.2, 0)}, [2, 2, 3])
    assert merge_topics(frame, ["a", "b", "c"], threshold=0.9).rows() == [("b", "a"), ("c", "a")]


def test_topics_of_different_owners_never_merge():
    frame = pl.concat([known({"a": (1, 0, 0)}), known({"b": (1, 0, 0)}, user_id="you")])
    assert merge_topics(frame, ["a", "b"], threshold=0.5).is_empty()


def two_themes(first: int, second: int) -> pl.DataFrame:
    draw = np.random.default_rng(5)
    rows = [(1, *draw.normal(0, 0.05, 2)) for _ in range(first)]
    rows += [(*draw.normal(0, 0.05, 2), 1) for _ in range(second)]
    frame = cells({f"c{number:02}": row for number, row in enumerate(rows)})
    return frame.with_columns(topic_id=pl.lit("old"))


def test_an_incoherent_topic_loses_its_smaller_part_under_a_new_id():
    answer = split_topics(two_themes(7, 4), split_threshold=0.9, min_cells=6)
    assert answer["cell_id"].to_list() == ["c07", "c08", "c09", "c10"]
    assert answer["topic_id"].unique().to_list() == [stable_id("topic", "old", "c07")]


def test_a_coherent_topic_stays_whole():
    assert split_topics(two_themes(7, 4), split_threshold=0.5, min_cells=6).is_empty()
    assert split_topics(two_themes(9, 0), split_threshold=1.0, min_cells=6).is_empty()


@pytest.mark.parametrize(("first", "second", "min_cells"), [(9, 2, 6), (4, 4, 9), (2, 2, 1)])
def test_a_topic_is_not_split_into_crumbs(first, second, min_cells):
    assert split_topics(two_themes(first, second), split_threshold=0.99, min_cells=min_cells).is_empty()


def test_no_merge_undoes_a_split():
    """The widest cosine that a split leaves lies under every profile's merge threshold."""
    from slowwave.models.embed.profiles import _profiles, centred_profile, load_profile
    from slowwave.stages.topics.calibration import MERGE_FLOOR

    widest = 2 / (1 + MIN_GAIN) ** 2 - 1
    plain = [load_profile(name) for name in _profiles() if not name.endswith("+centred")]
    assert all(profile.merge_threshold > widest for profile in [*plain, *map(centred_profile, plain)])
    assert widest < MERGE_FLOOR


def test_a_hint_that_names_a_topic_decides_whatever_the_words_say():
    answer = assign_topics_by_text(
        told(cell_id=["a"], topic_hint=[" Invoice  Matters"], content=["zebra stripes"]),
        told(topic_id=["x", "y"], name=["invoice matters", "zebras"], text=[None, "zebra stripes"]),
        threshold=0.1,
    )
    assert answer.rows() == [("a", "x", 1.0, False)]


def test_words_decide_where_no_hint_does():
    answer = assign_topics_by_text(
        told(
            cell_id=["a", "b"],
            topic_hint=[None, "unheard of"],
            content=["the zebra has stripes", "zebra stripes"],
        ),
        told(topic_id=["x", "y"], name=["invoices", "zebras"], text=["pay the bill", "zebra stripes"]),
        threshold=0.1,
    )
    assert topic_of(answer) == {"a": "y", "b": "y"}


def test_the_same_new_hint_opens_one_topic_and_cells_like_it_join():
    answer = assign_topics_by_text(
        told(
            cell_id=["d", "c", "b", "a"],
            topic_hint=["Deploy", "deploy", None, None],
            content=["rollback runbook", "canary stage", "the canary runbook", "zebra"],
        ),
        told(topic_id=[], name=[], text=[]),
        threshold=0.1,
    )
    deploy = stable_id("topic", "c")
    assert topic_of(answer) == {"a": stable_id("topic", "a"), "b": deploy, "c": deploy, "d": deploy}
    assert answer["is_new_topic"].all()


def test_every_cell_has_a_topic_even_without_a_word():
    answer = assign_topics_by_text(
        told(cell_id=["a", "b"], topic_hint=[None, None], content=["", "?!"]),
        told(topic_id=["x"], name=["things"], text=[None]),
        threshold=0.1,
    )
    assert answer["cell_id"].to_list() == ["a", "b"]
    assert answer["is_new_topic"].all()
