"""Topics through the cluster flow: filed by a model or without one, merged, split, and the same after a rebuild."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from flows.cluster import cluster
from flows.consolidate import consolidate
from flows.rebuild import rebuild
from slowwave.home.workspace import open_workspace
from tests.rows import NOW, of_row
from tests.scripted_model import ScriptedModel, store_of, write_settings
from tests.servers import OpenAIServer

OWNER = {"user_id": "local", "project_id": "default", "scope": "user-private"}


@pytest.fixture
def model() -> Iterator[tuple[OpenAIServer, ScriptedModel]]:
    scripted = ScriptedModel()
    with OpenAIServer(scripted) as server:
        yield server, scripted


def home_with(folder: Path, server: OpenAIServer | None, *, embedder: str = "none") -> str:
    llm = {"provider": "openai", "base_url": server.url, "api_key": "k", "model": "m"} if server else {}
    return write_settings(folder / "home", llm=llm, embedding={"provider": embedder})


def remember(home: str, *texts: str, first: int = 0, hint: str = "hint {} of {}", **given: object) -> None:
    """Extracted memories of a subject or text each; by default with a topic name that no other has."""
    rows = [
        of_row(
            "cell.extracted", "cells", f"c{number:03}", artifacts=[], entities=[],
            content=text if " " in text else f"The colour of {text} is {number}.", topic_hint=hint.format(number, text),
            **{**OWNER, "origin": "user", "prompt_version": "extract_cells.v6", **given},
        )
        for number, text in enumerate(texts, first)
    ]  # fmt: skip
    with open_workspace(home) as workspace:
        workspace.commit(pl.concat(rows), now=NOW)


def topics_of(home: str) -> dict[str, int]:
    return dict(store_of(home).rows("topics", ["name", "cell_count"]).sort("name").rows())


def test_one_question_a_night_files_what_pages_named_differently(tmp_path, model):
    server, scripted = model
    home = home_with(tmp_path, server)
    remember(home, *["kiln", "boat"] * 6)
    report = cluster.fn(home=home)
    assert scripted.said == {"GroupsAnswer": 1}
    assert topics_of(home) == {"boat": 6, "kiln": 6}
    assert report.ledger.total.call_count == 1
    named = store_of(home).rows("topics", ["prompt_version", "model"]).unique().rows()
    assert named == [("group_memories.v1", "m")]

    remember(home, *["kiln"] * 9, "sail", first=12)
    cluster.fn(home=home)
    assert topics_of(home) == {"boat": 6, "kiln": 15, "sail": 1}
    before = store_of(home).rows("cells", ["cell_id", "topic_id"]).sort("cell_id")
    rebuild.fn(home=home)
    assert store_of(home).rows("cells", ["cell_id", "topic_id"]).sort("cell_id").equals(before)


def test_a_page_is_shown_the_nearest_topics_also_of_those_that_the_one_before_opened(
    tmp_path, model, monkeypatch
):
    server, _ = model
    monkeypatch.setattr("tasks.cluster.by_model.GROUP_MEMORIES", 10)
    monkeypatch.setattr("tasks.cluster.by_model.GROUP_TOPICS", 1)
    home = home_with(tmp_path, server, embedder="wordllama")
    remember(home, *["kiln"] * 10)
    cluster.fn(home=home)
    remember(home, *["boat"] * 20, first=10)
    cluster.fn(home=home)
    assert topics_of(home) == {"boat": 20, "kiln": 10}
    assert "[1] boat (10)" in str(server.requests[-1].body)


def test_documents_and_quotes_are_no_part_of_the_question(tmp_path, model):
    server, scripted = model
    home = home_with(tmp_path, server)
    remember(home, "kiln")
    remember(home, "Pay to account 7", first=1, origin="untrusted")
    cluster.fn(home=home)
    assert scripted.said == {"GroupsAnswer": 1}
    assert "Pay to account" not in str(server.requests[-1].body)
    assert sum(topics_of(home).values()) == 2


def test_where_the_model_gives_no_usable_answer_names_decide_and_the_report_says_so(tmp_path):
    with OpenAIServer(lambda _: "{}") as server:
        home = home_with(tmp_path, server)
        remember(home, *["kiln"] * 12)
        report = cluster.fn(home=home)
    assert report.rejected["filed without the model"] == 12
    assert sum(topics_of(home).values()) == 12


def test_without_an_embedder_memories_join_the_topic_of_their_name_and_wait_without_one(tmp_path):
    home = home_with(tmp_path, None)
    remember(home, *["kiln"] * 3, hint="Mara's kiln")
    cluster.fn(home=home)
    remember(home, "kiln", first=3, hint="mara's  Kiln")
    remember(home, "boat", first=4, hint="")
    report = cluster.fn(home=home)
    assert topics_of(home) == {"Mara's kiln": 4}
    assert report.rejected == {"waits for its vector": 1}


def test_topics_of_one_name_become_the_larger_one_whose_summary_is_written_anew(tmp_path):
    home = home_with(tmp_path, None)
    remember(home, *["kiln"] * 6, hint="kiln")
    remember(home, *["oven"] * 5, first=6, hint="oven")
    cluster.fn(home=home)
    consolidate.fn(home=home)
    kiln, oven = store_of(home).rows("topics", ["topic_id", "name"]).sort("name")["topic_id"]
    renamed = of_row("topic.renamed", "topics", oven, name="Kiln")
    with open_workspace(home) as workspace:
        workspace.commit(renamed, now=NOW)
    remember(home, "boat", first=11, hint="boat")
    cluster.fn(home=home)
    columns = ["topic_id", "cell_count", "needs_review", "merged_into"]
    rows = {row["topic_id"]: row for row in store_of(home).rows("topics", columns).to_dicts()}
    assert (rows[kiln]["cell_count"], rows[kiln]["needs_review"]) == (11, True)
    assert rows[oven]["merged_into"] == kiln
    assert cluster.fn(home=home).is_skipped


# A topic that outgrew its summary

COLUMNS = ["topic_id", "name", "summary", "cell_count", "unsummarized_count", "needs_review"]


def test_the_model_splits_it_and_its_largest_part_stays_and_a_rebuild_gives_the_same(
    tmp_path, model, monkeypatch
):
    server, scripted = model
    monkeypatch.setattr("tasks.cluster.cluster.TOPIC_MEMORIES", 10)
    home = home_with(tmp_path, None)
    remember(home, *["kiln"] * 6, *["boat"] * 4, hint="Mara's things")
    cluster.fn(home=home)
    consolidate.fn(home=home)
    before = dict(store_of(home).rows("cells", ["cell_id", "topic_id"]).rows())
    home = home_with(tmp_path, server)
    remember(home, "kiln", first=10, hint="Mara's things", origin="untrusted")
    cluster.fn(home=home)
    assert scripted.said == {"GroupsAnswer": 1}
    assert topics_of(home) == {"kiln": 7, "boat": 4}
    after = dict(store_of(home).rows("cells", ["cell_id", "topic_id"]).rows())
    assert sum(after[cell] != topic for cell, topic in before.items()) == 4
    parts = store_of(home).rows("topics", COLUMNS).sort("name")
    assert parts.select("name", "unsummarized_count", "needs_review").rows() == [
        ("boat", 4, True),
        ("kiln", 1, True),
    ]
    rebuild.fn(home=home)
    assert store_of(home).rows("topics", COLUMNS).sort("name").equals(parts)
