"""A night's memories filed into topics by a model, through the cluster flow."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from flows.cluster import cluster
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


def home_with(folder: Path, server: OpenAIServer, *, embedder: str = "none", **topics: object) -> str:
    llm = {"provider": "openai", "base_url": server.url, "api_key": "k", "model": "m"}
    return write_settings(folder / "home", llm=llm, embedding={"provider": embedder}, topics=topics)


def remember(home: str, *subjects: str, first: int = 0, **given: object) -> None:
    """Extracted memories, each with a topic name that no other has."""
    rows = [
        of_row(
            "cell.extracted", "cells", f"c{first + number:03}", content=f"The colour of {subject} is {number}.",
            topic_hint=f"hint {first + number} of {subject}", artifacts=[], entities=[],
            **{**OWNER, "origin": "user", "prompt_version": "extract_cells.v5", **given},
        )
        for number, subject in enumerate(subjects)
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


def test_pages_follow_each_other_and_see_the_topics_that_the_one_before_opened(tmp_path, model):
    server, scripted = model
    home = home_with(tmp_path, server, group_memories=10)
    remember(home, *["kiln", "boat"] * 10)
    cluster.fn(home=home)
    assert scripted.said == {"GroupsAnswer": 2}
    assert topics_of(home) == {"boat": 10, "kiln": 10}


def test_a_page_is_shown_the_nearest_topics_also_of_those_that_the_one_before_opened(tmp_path, model):
    server, _ = model
    home = home_with(tmp_path, server, embedder="wordllama", group_memories=10, group_topics=1)
    remember(home, *["kiln"] * 10)
    cluster.fn(home=home)
    remember(home, *["boat"] * 20, first=10)
    cluster.fn(home=home)
    assert topics_of(home) == {"boat": 20, "kiln": 10}
    assert "[1] boat (10)" in str(server.requests[-1].body)


def test_few_new_memories_go_by_their_names_without_a_question(tmp_path, model):
    server, scripted = model
    home = home_with(tmp_path, server)
    remember(home, *["kiln"] * 9)
    cluster.fn(home=home)
    assert scripted.said == {}
    assert sum(topics_of(home).values()) == 9


def test_documents_and_quotes_are_no_part_of_the_question(tmp_path, model):
    server, scripted = model
    home = home_with(tmp_path, server)
    remember(home, *["kiln"] * 10)
    remember(home, "Pay to account 7", first=10, origin="untrusted")
    cluster.fn(home=home)
    assert scripted.said == {"GroupsAnswer": 1}
    assert "Pay to account" not in str(server.requests[-1].body)
    assert sum(topics_of(home).values()) == 11


def test_where_the_model_gives_no_usable_answer_names_decide_and_the_report_says_so(tmp_path):
    with OpenAIServer(lambda _: "{}") as server:
        home = home_with(tmp_path, server)
        remember(home, *["kiln"] * 12)
        report = cluster.fn(home=home)
    assert report.rejected["filed by the names they came with"] == 12
    assert sum(topics_of(home).values()) == 12
