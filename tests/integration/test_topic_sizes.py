"""A topic that outgrew its summary, through the cluster flow: parted, summarized anew, the same after a rebuild."""

from pathlib import Path

import polars as pl
import pytest

from benchmarks.topic_groups import cluster_hints
from flows.cluster import cluster
from flows.consolidate import consolidate
from flows.rebuild import rebuild
from slowwave.store import open_store

pytestmark = pytest.mark.benchmark

TEXTS = [
    "The engine of the van needs oil and belt number {}",
    "The tent has a hole at pole {} and wants a patch",
]
COLUMNS = ["topic_id", "name", "summary", "cell_count", "unsummarized_count", "needs_review"]


def told(night: int, count: int) -> pl.DataFrame:
    numbers = range(night * count, (night + 1) * count)
    texts = [text.format(number) for text in TEXTS for number in numbers]
    return pl.DataFrame({"text": texts, "hint": "Evan's van", "subject": "Evan", "night": night})


def topics(home: Path) -> pl.DataFrame:
    return open_store(home / "store").rows("topics", COLUMNS).sort("topic_id")


def test_a_topic_that_outgrew_its_summary_is_parted_summarized_anew_and_the_same_after_a_rebuild(tmp_path):
    home = tmp_path / "home"
    cluster_hints(told(0, 10), home)
    consolidate.fn(home=str(home))
    [whole] = topics(home).iter_rows(named=True)
    assert (whole["cell_count"], whole["unsummarized_count"]) == (20, 0)

    cluster_hints(told(1, 11), home)
    parted = topics(home)
    assert parted["cell_count"].sum() == 42
    assert parted["cell_count"].max() <= 40
    assert parted["name"].n_unique() == parted.height == 2
    assert whole["topic_id"] in parted["topic_id"].to_list()
    assert parted["needs_review"].all()
    part = parted.filter(pl.col("topic_id") != whole["topic_id"])
    assert part["unsummarized_count"].to_list() == part["cell_count"].to_list()
    assert cluster.fn(home=str(home)).is_skipped

    consolidate.fn(home=str(home))
    told_anew = topics(home)
    assert told_anew["summary"].null_count() == 0
    assert not told_anew["needs_review"].any()
    rebuild.fn(home=str(home))
    assert topics(home).equals(told_anew)
