"""An export in an empty home gives the same memory: rows, statuses and evidence, and the same export again."""

import json
import shutil
import tempfile
from pathlib import Path

import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from flows.ingest import ingest
from flows.rebuild import rebuild
from slowwave import Memory
from slowwave.export.export import plain
from slowwave.home.topic_counts import topic_counts
from slowwave.home.workspace import open_workspace
from slowwave.schemas.identity import content_hash, stable_id
from slowwave.schemas.tables import TABLES
from tasks.compress.sessions import find_sessions, plan_orphans
from tasks.step import Readable
from tests import made_once
from tests.examples import of_homes
from tests.property.test_edits import OWNER, STEP, beginning, home, say
from tests.rows import NOW, one_of_every_kind
from tests.scripted_model import store_of, tables, write_settings

SLOW = of_homes(2)

EXPORTED = [
    "cells", "cell_usage", "topics", "contradictions", "judgements", "entities", "identities", "mentions", "artifacts",
    "edges", "links", "core",
]  # fmt: skip
"""Tables that a memory consists of."""


def taken_in(folder: Path, owner: dict[str, str] = OWNER) -> tuple[Path, Path]:
    """The export of a home, and an empty home that took it in."""
    to = Path(tempfile.mkdtemp(prefix="slowwave-export-", dir=made_once.folder()))
    with Memory(folder) as memory:
        done = memory.export(to, now=NOW)
    other = Path(tempfile.mkdtemp(prefix="slowwave-import-", dir=made_once.folder()))
    write_settings(other, embedding={"provider": "none"}, owner=owner)
    ingest.fn(sources=[str(to / "memories.jsonl")], home=str(other))
    assert done.counts
    return to / "memories.jsonl", other


def lines_of(path: Path) -> list[dict[str, object]]:
    """The lines of an export; hashes, which are made anew from the texts, only where there is no text."""
    lines = [json.loads(line) for line in path.read_text().split("\n")[:-1]]
    return [
        {name: value for name, value in line.items() if name != "content_hash" or "content" not in line}
        for line in lines
    ]


def export_again(folder: Path) -> list[dict[str, object]]:
    to = Path(tempfile.mkdtemp(prefix="slowwave-export-", dir=made_once.folder()))
    with Memory(folder) as memory:
        memory.export(to, now=NOW)
    found = lines_of(to / "memories.jsonl")
    shutil.rmtree(to)
    return found


def exported_part(name: str, found: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """The rows of a table that an export holds: what is judged or linked of memories that are there."""
    rows, ids = found[name], found["cells"]["cell_id"].implode()
    turns = found["turns"].filter(pl.col("turn_id").is_in(cited(found)))["turn_id"]
    sessions = pl.concat([found["cells"]["session_id"], found["turns"]["session_id"]])
    ends = pl.concat([found["cells"]["cell_id"], turns, sessions]).implode()
    of_cells = {
        "contradictions": ["cell_a", "cell_b"],
        "judgements": ["cell_id", "target_id"],
        "mentions": ["cell_id"],
        "artifacts": ["cell_id"],
        "links": ["cell_id"],
        "core": ["cell_id"],
    }
    for column in of_cells.get(name, []):
        rows = rows.filter(pl.col(column).is_in(ids))
    if name == "edges":
        rows = rows.filter(pl.col("source_id").is_in(ends) & pl.col("target_id").is_in(ends))
    if name == "entities":
        named = exported_part("mentions", found)["entity_id"].implode()
        rows = rows.filter(pl.col("entity_id").is_in(named))
    if name == "identities":
        parts = pl.col("evidence").str.split("|")
        rows = rows.filter(
            parts.list.eval(pl.element().is_in(found["cells"]["cell_id"].to_list())).list.all()
        )
    return rows


def cited(found: dict[str, pl.DataFrame]) -> pl.Series:
    return found["cells"]["evidence"].str.split("|").explode().implode()


def without_hash(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.drop("content_hash", strict=False)


def assert_same_memory(folder: Path, other: Path) -> None:
    before, after = tables(folder), tables(other)
    for name in EXPORTED:
        assert_frame_equal(without_hash(after[name]), without_hash(exported_part(name, before)))
    kept = before["turns"].filter(pl.col("turn_id").is_in(cited(before)))
    assert_frame_equal(without_hash(after["turns"]), without_hash(kept))
    for name in ("cells", "turns"):
        assert after[name]["content_hash"].to_list() == [
            content_hash(text) for text in after[name]["content"]
        ]
    dead = ["cell_id", "content_hash", "evidence", "deleted_at"]
    assert after["tombstones"].select(dead).equals(before["tombstones"].select(dead))
    assert after["tombstones"]["content"].null_count() == after["tombstones"].height


def check(folder: Path) -> None:
    path, other = taken_in(folder)
    assert_same_memory(folder, other)
    assert export_again(other) == lines_of(path)
    before = tables(other)
    (other / "again.jsonl").write_bytes(path.read_bytes())
    report = ingest.fn(sources=[str(other / "again.jsonl")], home=str(other))
    assert set(report.counts) <= {"source.recorded"}, "nothing is new a second time"
    rebuild.fn(home=str(other))
    after = tables(other)
    changed = [name for name in TABLES if name != "sources" and not before[name].equals(after[name])]
    assert changed == []
    for place in (folder, other, path.parent):
        shutil.rmtree(place)


@SLOW
@given(st.lists(STEP, max_size=8))
@example([("merged", 0), ("correct", 1), ("forget", 3), ("both_valid", 2), ("confirm", 2)])
def test_any_home_is_the_same_after_export_and_ingest(story):
    folder = home()
    beginning(folder)
    with Memory(folder) as memory:
        for step, (word, number) in enumerate(story):
            say(memory, folder, word, number, step)
        memory.remember(
            'Mara\'s kiln is "blue" | red,\nand C:\\new stays.', entities=["Mara (person)"], now=NOW
        )
    check(folder)


def whole_history() -> pl.DataFrame:
    """One event of every kind; of the conversation one episode alone, with the id that it gives it."""
    is_second = pl.col("payload").str.contains('"cell_id":"e2"', literal=True)
    every = one_of_every_kind().filter((pl.col("kind") != "derivation.switched") & ~is_second)
    told = stable_id("episode", "ana", "kiln", "user-private", "text")
    named = pl.col("payload").str.replace('"cell_id":"e1"', f'"cell_id":"{told}"', literal=True)
    is_episode = pl.col("kind").str.starts_with("episode.")
    return every.with_columns(payload=pl.when(is_episode).then(named).otherwise("payload")).rechunk()


def lived(folder: Path, events: pl.DataFrame) -> int:
    """A home with these events and its topics counted; how many got a summary that leaves their memories out."""
    with open_workspace(folder) as workspace:
        workspace.commit(events, now=NOW)
        ids = workspace.store.rows("topics", ["topic_id"])["topic_id"].to_list()
        workspace.commit_plan({"topic.counted": topic_counts(workspace.store, ids, {})}, now=NOW)
        topics = workspace.store.rows("topics").filter(pl.col("unsummarized_count") > 0)
        none = pl.lit([], dtype=pl.List(pl.String))
        told = topics.head(1).with_columns(summary=pl.lit("The kiln is hot."), cell_ids=none)
        workspace.commit_plan({"topic.summarized": told}, now=NOW)
        return told.height


@SLOW
@given(st.sets(st.integers(0, 140), max_size=40))
@example(set())
def test_a_home_of_any_events_is_the_same_after_export_and_ingest(left_out):
    folder = home()
    every = whole_history().with_row_index("place")
    events = every.filter(~pl.col("place").is_in(list(left_out))).drop("place").rechunk()
    left_out_count = lived(folder, events)
    assert left_out_count or left_out
    check(folder)  # a memory that a summary left out waits for none in the other home either


def test_another_owner_takes_an_export_in_as_its_own():
    folder = home()
    lived(folder, whole_history())
    path, other = taken_in(folder, {"user_id": "bo", "project_id": "oven"})
    cells = store_of(other).rows("cells")
    assert set(cells.select("user_id", "project_id").unique().rows()) == {("bo", "oven")}
    assert "ana" not in path.read_text().replace("Ana", "").replace("anas", "")
    told = {line["cell_id"]: line["content"] for line in lines_of(path) if line["type"] == "memory"}
    assert sorted(told.values()) == sorted(cells["content"])
    with open_workspace(other) as workspace:
        reader = Readable(workspace.store, workspace.settings, NOW, workspace.embedder)
        assert workspace.store.count("episodes")
        assert plan_orphans(reader, find_sessions(reader)).events["episode.dropped"].is_empty()


WORD = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
NASTY = st.sampled_from(
    [
        "[[x|y]]", "![[x]]", "#tag", "%%c%%", "```js\nx", "<script>", "$a$", "a:: b", "---", "- [ ] x", "1. x",
        "{{x}}",
    ]
)  # fmt: skip


@given(st.lists(st.one_of(WORD, NASTY), max_size=5).map(" ".join))
def test_stored_text_stays_text_in_markdown(text):
    from markdown_it import MarkdownIt

    shown = plain(text)
    assert "\n" not in shown
    tokens = MarkdownIt("commonmark").parse(f"- {shown} (fact)\n")
    inline = [token for token in tokens if token.type == "inline"]
    assert [token.type for token in tokens] == [
        "bullet_list_open", "list_item_open", "paragraph_open", "inline", "paragraph_close", "list_item_close",
        "bullet_list_close",
    ]  # fmt: skip
    assert {child.type for child in inline[0].children or []} <= {"text", "text_special"}
    bare = shown.replace("\\\\", "")
    for mark in ("[[", "![", "%%", "`", "::", "$", "#", "<", "=", "{{"):
        assert mark not in bare.replace("\\" + mark[0], "")
