"""The home: one writer, nothing lost after a kill, and never two kinds of vectors in one store."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from slowwave.errors import ConfigError, ContractError
from slowwave.home.lock import writing
from slowwave.home.paths import open_home
from slowwave.home.workspace import Workspace, apply_pending, open_workspace
from slowwave.journal.catalogue import encode
from slowwave.memory import Memory
from slowwave.models.embed.choice import open_embedder
from slowwave.settings.tree import load_settings
from slowwave.store import Store, create_store, open_store
from tasks.nightly.night import open_night
from tasks.step import open_stage
from tests.rows import NOW, events, of_row, row, rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    settings(home, "wordllama")
    return home


def settings(home: Path, provider: str, **more: str) -> None:
    lines = [f'provider = "{provider}"', *(f'{name} = "{value}"' for name, value in more.items())]
    (home / "slowwave.toml").write_text("\n".join(["[embedding]", *lines, ""]), encoding="utf-8")


def cell(key: str, content: str, **given: str) -> pl.DataFrame:
    return encode("cell.extracted", rows("cells", row("cells", key, content=content, **given)).with_columns(
        entities=pl.lit([], dtype=pl.List(pl.String)), artifacts=pl.lit([], dtype=pl.List(pl.String))
    ))  # fmt: skip


# the workspace


def test_a_workspace_opened_again_is_the_same_one_and_ends_with_the_first(folder: Path):
    with open_workspace(folder) as one:
        with open_workspace(str(folder)) as two:
            assert two is one
        one.commit(cell("a", "kiln"), now=NOW)
    with open_workspace(folder) as three:
        assert three is not one
        assert three.store.count("cells") == 1


# what is committed is applied

KILLED = """
import os, signal, sys
import slowwave.home.workspace
from tests.integration.test_home import cell
from tests.rows import NOW
slowwave.home.workspace.apply_segments = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
with slowwave.home.workspace.open_workspace(sys.argv[1]) as workspace:
    workspace.commit(cell("a", "acknowledged"), now=NOW)
"""


@pytest.mark.processes
def test_what_was_committed_before_a_kill_is_applied_by_the_next_writer(folder: Path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert open_store(folder / "store").count("cells") == 0
    with open_workspace(folder) as workspace:
        assert workspace.store.rows("cells", ["content"])["content"].to_list() == ["acknowledged"]
        assert workspace.store.applied_segments() == set(workspace.home.journal.segment_ids())


def tables(store: Store) -> dict[str, list[dict[str, object]]]:
    from slowwave.schemas.tables import KEYS, TABLES

    return {table: store.rows(table).sort(KEYS[table]).to_dicts() for table in TABLES}


def test_a_torn_segment_is_noted_skipped_and_applied_once_it_is_whole_again(folder: Path):
    journal = open_home(folder).journal
    segment = journal.commit(cell("a", "kiln"), now=NOW)
    assert segment is not None
    path = journal.path_of(segment)
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    with open_workspace(folder) as workspace:
        assert workspace.store.count("cells") == 0
        assert [note for note in workspace.notes if path.name in note and "torn" in note]
    path.write_bytes(whole)
    with open_workspace(folder) as workspace:
        assert workspace.store.count("cells") == 1
        assert not [note for note in workspace.notes if path.name in note]


def test_an_empty_plan_commits_nothing(folder: Path):
    with open_workspace(folder) as workspace:
        workspace.commit(events("cell.judged"), now=NOW)
        assert workspace.home.journal.segment_ids() == []


# one store, one kind of vectors

NEW_DIMS = 8


class Scripted:
    """Another embedder, as `open_embedder` would return it."""

    embedder_id = f"openai/scripted/{NEW_DIMS}/none"
    dims = NEW_DIMS

    def embed_documents(self, texts):
        raise AssertionError(f"the store of another embedder was given {len(texts)} vectors")


def fill(folder: Path) -> None:
    with open_workspace(folder) as workspace:
        workspace.commit(pl.concat([cell("a", "The kiln is hot."), cell("b", "Invoices are late.")]), now=NOW)
        assert workspace.refresh_vectors()["cells"] == 2


def spaces(workspace: Workspace) -> set[tuple[str, int]]:
    """Embedder and width of every vector that stands in the store."""
    found = workspace.store.rows("cells", ["embedder_id", "vector"])
    return {(name, len(vector)) for name, vector in found.drop_nulls("vector").rows()}


def test_a_store_made_with_an_embedder_keeps_it_when_the_settings_say_none(folder: Path):
    fill(folder)
    settings(folder, "none")
    with open_workspace(folder) as workspace:
        assert workspace.embedder is not None
        assert workspace.embedder.embedder_id == workspace.store.meta.embedder_id
        assert [note for note in workspace.notes if "as the store's vectors" in note and "reembed" in note]
        workspace.commit(cell("c", "The glaze blisters."), now=NOW)
        assert workspace.refresh_vectors()["cells"] == 1
        assert len(spaces(workspace)) == 1


def test_another_embedder_never_writes_into_the_store_and_the_notes_say_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    fill(folder)
    owner = open_store(folder / "store").meta.embedder_id

    def opened(configured):
        return open_embedder(configured) if configured.provider == "wordllama" else (Scripted(), "scripted")

    settings(folder, "openai", model="scripted", api_key="x")
    monkeypatch.setattr("slowwave.home.stored_embedder.open_embedder", opened)
    with open_workspace(folder) as workspace:
        assert workspace.embedder is not None
        assert workspace.embedder.embedder_id == owner
        note = next(note for note in workspace.notes if "reembed" in note)
        assert owner in note
        assert Scripted.embedder_id in note
        workspace.commit(cell("c", "The glaze blisters."), now=NOW)
        workspace.refresh_vectors()
        assert {name for name, _ in spaces(workspace)} == {owner}


def test_when_the_stores_own_embedder_does_not_serve_there_are_no_vectors_rather_than_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    fill(folder)

    def opened(configured):
        if configured.provider == "wordllama":
            raise ConfigError("gone")
        return Scripted(), "scripted"

    settings(folder, "openai", model="scripted", api_key="x")
    monkeypatch.setattr("slowwave.home.stored_embedder.open_embedder", opened)
    with open_workspace(folder) as workspace:
        assert workspace.embedder is None
        assert [note for note in workspace.notes if "does not serve" in note and "full text only" in note]
        workspace.commit(cell("c", "The glaze blisters."), now=NOW)
        assert workspace.refresh_vectors() == {}
        assert workspace.store.without_vector("cells").to_list() == ["c"]
        assert workspace.store.matching("cells", ["glaze"], 3)["cell_id"].to_list() == ["c"]


def test_a_store_made_without_vectors_stays_without_until_reembed(folder: Path):
    settings(folder, "none")
    with open_workspace(folder) as workspace:
        assert workspace.store.meta.embedder_id == ""
        workspace.commit(cell("a", "The kiln is hot."), now=NOW)
    settings(folder, "wordllama")
    with open_workspace(folder) as workspace:
        assert workspace.embedder is None
        assert [note for note in workspace.notes if "holds no vectors" in note and "reembed" in note]
        assert workspace.refresh_vectors() == {}


def test_vectors_that_are_missing_are_computed_and_a_query_finds_them(folder: Path):
    fill(folder)
    with open_workspace(folder) as workspace:
        assert workspace.refresh_vectors() == {}
        assert workspace.embedder is not None
        query = np.atleast_2d(workspace.embedder.embed_query("hot kiln"))
        assert workspace.store.nearest("cells", query, 1)["cell_id"].to_list() == ["a"]


def test_a_topics_centroid_is_the_mean_of_its_members(folder: Path):
    fill(folder)
    opened = events("topic.opened", {"topic_id": "T", "name": "kiln", "user_id": "ana", "project_id": "kiln",
                                     "scope": "user-private"})  # fmt: skip
    assigned = events("cell.assigned", {"cell_id": "a", "topic_id": "T"}, {"cell_id": "b", "topic_id": "T"})
    with open_workspace(folder) as workspace:
        workspace.commit(pl.concat([opened, assigned]), now=NOW)
        workspace.refresh_vectors()
        assert workspace.store.without_centroid() == []
        members = workspace.store.vectors("cells", ["a", "b"])["vector"].to_numpy()
        centroid = workspace.store.vectors("topics", ["T"], column="centroid")["centroid"].to_numpy()[0]
    mean = members.mean(axis=0)
    assert np.allclose(centroid / np.linalg.norm(centroid), mean / np.linalg.norm(mean), atol=1e-5)


# names of settings


@pytest.mark.parametrize("name", ["SLOWWAVE_SERCH__LIMIT", "SLOWWAVE_LIMIT"])
def test_a_name_that_is_no_setting_is_refused(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(name, "7")
    with pytest.raises(ConfigError, match=name):
        load_settings(tmp_path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[search]\nfusion = "ranks"\n', r"search\.fusion.*"),
        ("[lmm]\nprovider = 'openai'", "'lmm'.*"),
        ("[search]\nmemory_rows = 'many'", r"search\.memory_rows.*"),
        ("decay = 3", "decay.*"),
        *((text, "") for text in ("llm = = 1", "\x00\x01", "a = " + "[" * 10_000)),
    ],
)
def test_a_file_that_is_no_settings_is_refused_with_its_place(tmp_path: Path, text: str, told: str):
    (tmp_path / "slowwave.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"{told}slowwave\.toml"):
        load_settings(tmp_path)


# a language model that cannot be used


def test_a_night_or_stage_refuses_a_model_that_cannot_be_used_before_it_changes_anything(folder: Path):
    fill(folder)
    text = (folder / "slowwave.toml").read_text(encoding="utf-8")
    (folder / "slowwave.toml").write_text(f'{text}[llm]\nprovider = "ollama"\n', encoding="utf-8")
    journal = open_home(folder).journal
    before = journal.segment_ids()
    with pytest.raises(ConfigError), open_night(str(folder), dry_run=False):
        pytest.fail("the night began")
    with pytest.raises(ConfigError), open_stage("topics", home=str(folder)):
        pytest.fail("the stage began")
    assert journal.segment_ids() == before


def test_edits_and_reading_need_no_language_model(folder: Path):
    fill(folder)
    text = (folder / "slowwave.toml").read_text(encoding="utf-8")
    (folder / "slowwave.toml").write_text(f'{text}[llm]\nprovider = "ollama"\n', encoding="utf-8")
    memory = Memory(folder)
    assert memory.confirm(memory.remember("The glaze blisters.").cell_id).changed
    assert memory.search("glaze").cells


# another derivation


def switch_to(home: Path, *parts: pl.DataFrame) -> None:
    """Commits a derivation that takes the place of the memory, as a process would that is killed right after."""
    switched = events("derivation.switched", {"derivation_id": "r1"})
    open_home(home).journal.commit(pl.concat([switched, *parts]), now=NOW)


def test_a_derivation_in_the_journal_takes_the_place_of_what_was_derived_before(folder: Path, tmp_path: Path):
    home = open_home(folder)
    said = cell("n", "as a person said it", prompt_version="remembered")
    raw = of_row("turn.recorded", "turns", "t1", content="kept")
    with open_workspace(folder) as workspace:
        workspace.commit(pl.concat([raw, cell("a", "derived before"), said]), now=NOW)
        before = workspace.store.name
    switch_to(folder, cell("b", "derived anew"))
    assert open_store(home.store_root).name == before, (
        "readers find the memory of before until the new one is whole"
    )
    with open_workspace(folder) as workspace:
        assert workspace.store.name != before
        assert set(workspace.store.rows("cells")["content"]) == {"as a person said it", "derived anew"}
        assert workspace.store.rows("turns")["content"].to_list() == ["kept"]
        workspace.commit(cell("c", "derived since"), now=NOW)
        wanted = tables(workspace.store)
    anew = create_store(tmp_path / "anew", embedder_id="", dims=1)
    assert apply_pending(home.journal, anew) == []
    assert tables(anew) == wanted
    assert {"derived before", "derived since"} <= set(
        home.journal.scan().events["payload"].str.json_path_match("$.content")
    )


def test_a_derivation_is_never_folded_over_another_memory(folder: Path):
    with open_workspace(folder) as workspace:
        workspace.commit(cell("a", "derived before"), now=NOW)
        store = workspace.store
    switch_to(folder, cell("b", "derived anew"))
    with pytest.raises(ContractError, match="rebuild"):
        apply_pending(open_home(folder).journal, store)
    assert store.rows("cells")["content"].to_list() == ["derived before"]


def test_an_edit_that_finds_a_derivation_in_the_journal_works_on_it(folder: Path):
    with open_workspace(folder) as workspace:
        workspace.commit(cell("a", "derived before"), now=NOW)
    switch_to(folder)
    with Memory(folder) as memory:
        assert memory.remember("The kiln holds 1,040 degrees.").is_searchable
        assert [hit.content for hit in memory.search("kiln").cells] == ["The kiln holds 1,040 degrees."]
        assert "derived before" not in [hit.content for hit in memory.search("derived before").cells]


@pytest.mark.parametrize("first", ["remember", "record", "lock"])
def test_a_new_home_and_an_export_are_this_users_alone(tmp_path: Path, first: str):
    home, out = tmp_path / "home", tmp_path / "out"
    before = os.umask(0o022)
    try:
        with Memory(home, records_usage=False) as memory:
            if first == "remember":
                memory.remember("The port of staging is 6002.")
            elif first == "record":
                memory.record([{"session_id": "s", "role": "user", "text": "The port is 6002."}])
            else:
                with writing(open_home(home)):
                    pass
            assert home.stat().st_mode & 0o777 == 0o700
            if first == "remember":
                memory.export(out)
                assert {path.stat().st_mode & 0o077 for path in (out, *out.glob("*.jsonl"))} == {0}
    finally:
        os.umask(before)
