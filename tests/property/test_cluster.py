"""Topics by vectors, for any memories in any order."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tasks.cluster.by_vector import assign_topics

DIMS = 4
VECTOR = pl.Array(pl.Float32, DIMS)


@st.composite
def owned(draw, name: str, max_size: int = 25):
    """Rows with an owner, perhaps a hint, and a unit vector; ids come in any order."""
    size = draw(st.integers(0, max_size))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([0.0, 0.1, 0.6]))
    rows = rng.normal(size=(4, DIMS))[rng.integers(0, 4, size)] + rng.normal(0, spread, (size, DIMS))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    columns = {
        name: [f"{name}{number:03}" for number in rng.permutation(size)],
        "user_id": [["me", "you"][number] for number in rng.integers(0, 2, size)],
        "hint": [["", "", "billing"][number] for number in rng.integers(0, 3, size)],
        "vector": pl.Series(rows, dtype=VECTOR),
    }
    schema = dict.fromkeys([name, "user_id", "hint"], pl.String)
    frame = pl.DataFrame(columns, schema_overrides=schema)
    return frame.with_columns(project_id=pl.lit("p"), scope=pl.lit("user-private"))


@given(owned("cell_id"), owned("topic_id", 6), st.floats(0.05, 0.95), st.randoms())
def test_every_memory_has_one_topic_of_its_owner_whatever_the_order(cells, topics, threshold, random):
    answer = assign_topics(cells, topics, threshold=threshold, taken=())
    assert answer["cell_id"].to_list() == sorted(cells["cell_id"])
    assert answer["topic_id"].null_count() == 0
    owners = pl.concat(
        [answer.join(cells, on="cell_id").select("topic_id", "user_id"), topics.select("topic_id", "user_id")]
    )
    assert owners.unique().height == owners["topic_id"].n_unique()
    near = answer.join(topics, on="topic_id", how="semi")
    assert (near["similarity"] >= threshold - 1e-5).all() or (cells["hint"] != "").any()
    shuffled = (rows[random.sample(range(rows.height), rows.height)] for rows in (cells, topics))
    assert answer.equals(assign_topics(*shuffled, threshold=threshold, taken=()))
