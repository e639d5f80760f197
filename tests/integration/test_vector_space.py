"""The vectors of a home without what all its texts share: fitted by a night, the same after a rebuild."""

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from flows.ingest import ingest
from flows.nightly import nightly
from flows.rebuild import rebuild
from slowwave import Memory
from slowwave.home import vector_space
from slowwave.home.paths import open_home
from slowwave.home.stored_embedder import wanted_space
from slowwave.home.workspace import open_workspace
from slowwave.journal.catalogue import encode
from slowwave.models.embed.batches import BatchEmbedder
from slowwave.models.embed.relevance import guessed_relevance
from slowwave.models.embed.space import base_id_of, base_of
from slowwave.recall.reader import open_reader
from slowwave.store import EMBEDDER_OF, Store
from tasks.extract.deleted import WAITS
from tests.scripted_model import (
    ScriptedModel,
    assert_no_row_twice,
    store_of,
    tables,
    write_chat,
    write_settings,
)
from tests.servers import RESET, OpenAIServer, answer_name, hashed_vector

SUBJECTS = ("kiln", "bread", "bicycle", "tax form", "violin", "ferry", "garden", "dentist", "printer", "tent")
PLAIN = "wordllama/l2_supercat/256/v1"


def told(first: int, count: int) -> list[tuple[str, str, str]]:
    """Turns of two people who name each other whatever they talk about."""
    speakers = ("Mara", "Jonas")
    return [
        (
            f"2026-06-{1 + number // 60:02d}T{number // 4 % 15 + 8:02d}:{number % 4 * 15:02d}:00Z",
            speakers[number % 2],
            f"Mara and Jonas talked about the {SUBJECTS[number % 10]}, number {number}.",
        )
        for number in range(first, first + count)
    ]


def home_of(folder: Path, count: int, **embedding: object) -> str:
    home = write_settings(folder / "home", embedding={"provider": "wordllama", **embedding})
    write_chat(folder / "chats", "first", told(0, count))
    ingest.fn(home=home, sources=[str(folder / "chats")])
    return home


def grow(folder: Path, home: str, *, to: int) -> None:
    write_chat(folder / "chats", "first", told(0, to))
    ingest.fn(home=home, sources=[str(folder / "chats")])


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("space")
    home_of(folder, 60)
    return folder


@pytest.fixture
def folder(fitted: Path, tmp_path: Path) -> Path:
    """A copy of a home that was fitted, with its sources at the same relative place."""
    return shutil.copytree(fitted, tmp_path / "copy")


def vectors_of(store: Store, table: str = "turns") -> pl.DataFrame:
    key = store.rows(table).columns[0]
    return store.vectors(table, store.rows(table, [key])[key])


def test_a_first_ingest_takes_out_what_all_texts_share(fitted):
    home = open_home(fitted / "home")
    store = store_of(home.root)
    fits = store.rows("spaces")
    assert fits.height == 1
    assert fits["text_count"][0] == 60
    assert store.meta.embedder_id == fits["space_id"][0]
    assert base_id_of(store.meta.embedder_id) == PLAIN
    vectors = vectors_of(store)["vector"].to_numpy()
    assert vectors.shape == (60, 256)
    assert abs(float(np.median(vectors @ vectors.T))) < 0.1, "names alone bring no two turns together"
    reader = open_reader(home)
    assert reader.embedder is not None
    assert reader.embedder.embedder_id == store.meta.embedder_id
    question, _ = reader.vector_of("Who plays the violin?")
    assert question is not None
    near = store.nearest("turns", question[None, :], 6)
    assert all("violin" in text for text in store.by_key("turns", near["turn_id"])["content"])


def test_a_home_with_few_texts_is_fitted_from_the_sixth_on(tmp_path):
    home = home_of(tmp_path, 5)
    assert store_of(home).meta.embedder_id == PLAIN
    assert store_of(home).count("spaces") == 0
    grow(tmp_path, home, to=6)
    assert store_of(home).meta.embedder_id.startswith(f"{PLAIN}+")
    assert vectors_of(store_of(home)).height == 6


def test_a_fit_measures_what_similarity_means_in_the_home(fitted):
    home = open_home(fitted / "home")
    reader = open_reader(home)
    assert reader.embedder is not None
    measured = reader.embedder.relevance
    fit = store_of(home.root).rows("spaces").row(0, named=True)
    assert (measured.noise_mean, measured.noise_std, measured.kin) == (
        fit["noise_mean"],
        fit["noise_std"],
        fit["kin"],
    )
    assert measured.noise_mean < measured.noise_best(60) < measured.kin < 1, "turns of one subject are kin"
    vectors = vectors_of(store_of(home.root))["vector"].to_numpy()
    answered = float((vectors @ reader.embedder.embed_query("Who plays the violin?")).max())
    unanswered = float((vectors @ reader.embedder.embed_query("How deep is the fjord?")).max())
    assert unanswered < measured.noise_best(60) < answered


def test_a_fit_of_a_former_version_serves_with_a_guess_until_the_next_ingest_measures(folder):
    home = str(folder / "home")
    with open_workspace(home) as workspace:
        fits = workspace.store.rows("spaces").drop("fitted_at")
        unmeasured = fits.with_columns(noise_mean=None, noise_std=None, kin=None)
        workspace.commit_plan({"space.fitted": unmeasured.cast(fits.schema)})
    reader = open_reader(open_home(home))
    assert reader.embedder is not None
    assert reader.embedder.relevance == guessed_relevance(reader.embedder.profile)
    ingest.fn(home=home, sources=[str(folder / "chats")])
    assert store_of(home).rows("spaces")["noise_std"].null_count() == 0
    assert vectors_of(store_of(home)).height == 60


def test_a_first_fit_embeds_each_text_once(tmp_path, monkeypatch):
    asked: list[str] = []
    of_batch = BatchEmbedder.embed

    def counted(self, texts, prefix):
        asked.extend(texts)
        return of_batch(self, texts, prefix)

    monkeypatch.setattr(BatchEmbedder, "embed", counted)
    home = home_of(tmp_path, 60)
    texts = [text for text in asked if "talked about" in text]
    assert len(texts) == len(set(texts)) == 60
    grow(tmp_path, home, to=90)
    assert store_of(home).count("spaces") == 2
    texts = [text for text in asked if "talked about" in text]
    assert len(texts) == 60 + 30 + 90, "new texts for their night, all of them once for the fit"


def test_a_rebuild_from_the_journal_alone_has_the_same_space_and_vectors(folder):
    home = str(folder / "home")
    wanted, vectors = tables(home), vectors_of(store_of(home))
    space = store_of(home).meta.embedder_id
    shutil.rmtree(folder / "home" / "store")
    rebuild.fn(home=home)
    assert store_of(home).meta.embedder_id == space
    for table, rows in wanted.items():
        assert rows.equals(tables(home)[table]), table
    after = vectors_of(store_of(home))
    assert after["turn_id"].equals(vectors["turn_id"])
    np.testing.assert_allclose(after["vector"].to_numpy(), vectors["vector"].to_numpy(), atol=1e-6)


def test_growth_calls_for_a_new_fit_and_a_little_growth_does_not(folder):
    home = str(folder / "home")
    first = store_of(home).meta.embedder_id
    grow(folder, home, to=80)
    assert store_of(home).meta.embedder_id == first, "80 are not 1.5 times 60"
    assert vectors_of(store_of(home)).height == 80
    reader = open_reader(open_home(home))
    assert reader.current() is not None
    grow(folder, home, to=90)
    store = store_of(home)
    assert store.count("spaces") == 2
    assert store.meta.embedder_id != first
    assert vectors_of(store).height == 90
    assert set(store.rows("turns", [EMBEDDER_OF["vector"]])[EMBEDDER_OF["vector"]]) == {
        store.meta.embedder_id
    }
    current = reader.current()
    assert current is not None, "a reader that stayed open follows to the new space"
    assert current.meta.embedder_id == store.meta.embedder_id
    assert reader.embedder is not None
    assert reader.embedder.embedder_id == store.meta.embedder_id


def test_the_old_vectors_serve_until_all_new_ones_are_there(folder, monkeypatch):
    home = str(folder / "home")
    first = store_of(home).meta.embedder_id
    copied: list[Store] = []

    def cut_off(store: Store, *, embedder_id: str) -> Store:
        copied.append(store)
        raise KeyboardInterrupt(embedder_id)

    with monkeypatch.context() as patch:
        patch.setattr(vector_space, "copy_store", cut_off)
        with pytest.raises(KeyboardInterrupt):
            grow(folder, home, to=90)
    assert copied
    assert store_of(home).meta.embedder_id == first
    assert store_of(home).count("spaces") == 2, "the fit is in the journal"
    assert vectors_of(store_of(home)).height == 90
    with Memory(home) as memory:
        found = memory.search("violin", detail_level="evidence")
        assert not found.notes, "vectors still answer"
        assert "violin" in found.turns[0].content
    ingest.fn(home=home, sources=[str(folder / "chats")])
    with open_workspace(home) as workspace:
        assert workspace.embedder is not None
        assert workspace.store.meta.embedder_id == workspace.embedder.embedder_id != first
        base = base_of(workspace.embedder)
        assert wanted_space(workspace.store, base) == workspace.embedder


def test_what_a_person_remembers_comes_into_the_fitted_space(folder):
    home = str(folder / "home")
    with Memory(home) as memory:
        memory.remember("The kiln of Mara is green.")
        store = store_of(home)
        assert vectors_of(store, "cells").height == 1
        assert store.rows("cells", [EMBEDDER_OF["vector"]])[EMBEDDER_OF["vector"]].to_list() == [
            store.meta.embedder_id
        ]
        assert memory.search("What colour is the kiln?").cells[0].content == "The kiln of Mara is green."


def test_a_fit_looks_at_a_bounded_number_of_texts(tmp_path, monkeypatch):
    monkeypatch.setattr("slowwave.home.vector_space.SAMPLE", 20)
    home = home_of(tmp_path, 60)
    with open_workspace(home) as workspace:
        assert vector_space._sample(workspace.store).height == 20
    assert store_of(home).meta.embedder_id.startswith(f"{PLAIN}+")


EMBED = "/v1/embeddings"


def kill(server: OpenAIServer) -> None:
    """Nobody listens any longer, and connections that were kept open are cut."""
    server.fail(EMBED, *[RESET] * 1_000)
    server.__exit__(None, None, None)


def night_with(folder: Path, model: OpenAIServer, embeddings: OpenAIServer):
    quick = {"provider": "openai", "api_key": "k", "model": "m", "transport_retries": 0}
    home = write_settings(
        folder / "home",
        llm={**quick, "base_url": model.url},
        embedding={**quick, "base_url": embeddings.url},
        chunks={"window_tokens": 60, "overlap_tokens": 0},
    )
    with pytest.MonkeyPatch.context() as small:
        small.setattr("slowwave.models.embed.batches.BATCH_SIZE", 4)
        return home, nightly.fn(home=home, sources=[str(folder / "chats")], force=True)


@pytest.mark.nights
@pytest.mark.parametrize("moment", ["among the turns", "before the memories"])
def test_a_night_whose_embedding_server_is_killed_ends_with_all_memories_and_the_next_one_embeds_them(
    tmp_path, moment
):
    says = "The port of the {} service is {}."
    turns = [(f"2026-06-01T{8 + n}:00:00Z", "Mara", says.format(SUBJECTS[n], 5000 + n)) for n in range(10)]
    write_chat(tmp_path / "chats", "first", turns)
    answers, asked = ScriptedModel(), []

    def answer(body):
        if moment == "before the memories" and answer_name(body) == "ExtractAnswer":
            kill(embeddings)
        return answers(body)

    def embed(text):
        asked.append(text)
        if moment == "among the turns" and len(asked) == 7:
            kill(embeddings)
        return hashed_vector(text)

    with OpenAIServer(answer) as model, OpenAIServer(embed=embed) as embeddings:
        home, report = night_with(tmp_path, model, embeddings)
        waits = [note for stage in report.stages for note in stage.notes if "vectors wait" in note]
        assert waits
        store = store_of(home)
        assert (store.count("turns"), store.count("cells")) == (10, 10)
        assert len(store.without_vector("cells")) == 10
        with Memory(home) as memory:
            assert "5003" in memory.search("What is the port of the tax form service?").lead
    with OpenAIServer(answers) as model, OpenAIServer() as alive:
        night_with(tmp_path, model, alive)
    store = store_of(home)
    assert [len(store.without_vector(table)) for table in ("turns", "cells")] == [0, 0]
    assert store.count("cells") == 10
    assert_no_row_twice(home)


@pytest.mark.nights
def test_what_a_person_deleted_does_not_come_back_in_other_words_while_the_embedding_server_is_dead(tmp_path):
    says = "The port of the kiln service is {}."
    write_chat(tmp_path / "chats", "first", [("2026-06-01T08:00:00Z", "Mara", says.format(5000))])
    answers = ScriptedModel()

    def answer(body):
        if answer_name(body) == "ExtractAnswer":
            kill(embeddings)
        return answers(body)

    with OpenAIServer(answers) as model, OpenAIServer() as alive:
        home, _ = night_with(tmp_path, model, alive)
        with open_workspace(home) as workspace:
            gone = workspace.store.rows("cells")
            deleted = encode("cell.deleted", gone.with_columns(note=pl.lit("test")))
            workspace.commit(deleted, now=gone["recorded_at"][0])
    write_chat(tmp_path / "chats", "second", [("2026-06-02T08:00:00Z", "Mara", says.format(5001))])
    with OpenAIServer(answer) as model, OpenAIServer() as embeddings:
        _, report = night_with(tmp_path, model, embeddings)
    assert sum(stage.rejected.get(WAITS, 0) for stage in report.stages) == 1
    assert "pending" in store_of(home).rows("chunks")["status"].to_list()
    assert answers.said.get("TombstoneAnswer", 0) == 0, "nobody could say what to ask about"
    assert store_of(home).count("cells") == 0
