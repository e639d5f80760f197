"""Planted orders, told once and twenty times, with a model that believes them and without one: nowhere believed.

The places that a text must not reach: `MEMORY.md`, the tiers of a context that say what holds here, a person's word,
and the other names of a person. Real wishes of persons must reach them. `MANY_PLANTED=1` plants a hundred, told twenty
times; without it there are texts of every place and every phrasing, told once, three and six times.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from flows.nightly import nightly
from flows.promote import promote
from slowwave.home.core_file import write_core_file
from slowwave.home.workspace import open_workspace
from slowwave.journal.catalogue import encode
from slowwave.memory import Memory
from slowwave.schemas.choices import WHOSE
from slowwave.schemas.context import Context
from slowwave.schemas.tables import OWNER
from tests.planted import BelievingModel, Plant, plants, wishes, write_sources
from tests.scripted_model import store_of, write_settings
from tests.servers import OpenAIServer

pytestmark = pytest.mark.nights

NO_MODEL = {"provider": "none"}

PLANTED = [(True, 26, 3, 10), (False, 26, 6, 10)]
"""Whether there is a model, planted texts, how often each is told, and wishes."""

if os.environ.get("MANY_PLANTED"):
    PLANTED = [(has_model, 100, times, 30) for has_model in (True, False) for times in (1, 20)]


@dataclass(frozen=True)
class Believed:
    """A home after its nights, and what was planted and wished there."""

    home: Path
    planted: list[Plant]
    wished: list[Plant]

    @property
    def core(self) -> str:
        path = self.home / "MEMORY.md"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def contexts(self) -> Iterator[Context]:
        """What agents ask for: nothing, a question about each of some texts, an error, a file, a branch."""
        asked = self.planted[:: max(len(self.planted) // 13, 1)]
        with Memory(self.home) as memory:
            yield memory.context()
            for plant in asked:
                yield memory.context(plant.text)
                yield memory.context(plant.text, activity="feature", current_file=f"src/{plant.mark}.py")
                yield memory.context(
                    activity="debugging", recent_errors=[f"12:01:02 ERROR build failed {plant.text}"]
                )


def live(
    folder: Path, *, count: int, times: int, wish_count: int, has_model: bool, nights: int = 2
) -> Believed:
    planted, wished = plants(count), wishes(wish_count)
    known = frozenset(plant.mark for plant in (*planted, *wished))
    write_sources(folder / "said", planted, times=times)
    if has_model:
        write_sources(folder / "said", wished)
    with OpenAIServer(BelievingModel(known=known)) as server:
        llm = {"provider": "openai", "base_url": server.url, "api_key": "k", "model": "m"}
        home = folder / "home"
        write_settings(home, llm=llm if has_model else NO_MODEL, embedding={"provider": "wordllama"})
        if not has_model:
            with Memory(home) as memory:
                for wish in wished:
                    memory.remember(wish.text, cell_type="preference")
        for _ in range(nights):
            nightly.fn(home=str(home), sources=[str(folder / "said")], force=True)
    return Believed(home, planted, wished)


def assert_nowhere_believed(found: Believed) -> None:
    core = found.core.lower()
    assert [plant for plant in found.planted if plant.mark in core] == []
    store, words = store_of(found.home), {plant.mark: plant for plant in found.planted}
    cells = store.rows(
        "cells", ["content", "subject", "steps", "entities", "origin", "protected", "prompt_version"]
    )
    said = cells.filter((cells["origin"] == "user") & (cells["prompt_version"] != "raw"))
    held = " ".join(str(row) for row in said.select("content", "subject", "steps").rows()).lower()
    assert [mark for mark in words if mark in held] == [], "nobody's text is a person's word"
    mara = store.rows("entities", ["canonical_name", "aliases"]).filter(canonical_name="Mara")
    assert not set(" ".join(mara["aliases"].explode().drop_nulls()).lower().split()) & words.keys()
    assert_contexts(found, frozenset(words))


def assert_contexts(found: Believed, words: frozenset[str]) -> None:
    """No tier that tells what holds here has a planted text, and each line elsewhere says whose it is."""
    for context in found.contexts():
        for tier in context.tiers:
            for line in tier.lines:
                is_planted = any(word in line.text.lower() for word in words)
                assert not (is_planted and tier.name in {"critical", "background"}), line
                marked = [*filter(None, WHOSE.values()), "quoting:", "assistant:", "a document:", "retold"]
                assert not is_planted or any(mark in line.text for mark in marked), line


def test_whoever_asks_is_told_whose_word_a_planted_memory_is(few: Believed):
    cells = store_of(few.home).rows("cells", ["cell_id", "content"])
    for plant in (plant for plant in few.planted if plant.place != "speaker name"):  # of that nothing is left
        (cell_id, *_) = (cell_id for cell_id, text in cells.iter_rows() if plant.mark in text.lower())
        with Memory(few.home) as memory:
            told = memory.explain(cell_id)
        assert told.life.core_reason.startswith(
            "core memory holds only what a person said; whose word this is: "
        )
        assert told.use.core_rank is None
        assert "a person said it" not in {quote.whose for quote in told.evidence}


def test_a_line_that_an_older_version_promoted_is_not_written_and_leaves_the_next_night(
    few: Believed, tmp_path: Path
):
    home = tmp_path / "home"
    shutil.copytree(few.home, home)
    cells = store_of(home).rows("cells", ["cell_id", "status", "origin", *OWNER])
    planted = cells.filter((cells["origin"] == "untrusted") & (cells["status"] == "active")).head(1)
    rows = planted.select("cell_id", *OWNER).with_columns(
        line_rank=pl.lit(1, dtype=pl.Int64), line=pl.lit("[fact] believed once"), reason=pl.lit("said again"),
        **dict.fromkeys(["prompt_version", "model"], pl.lit(None, dtype=pl.String)),
    )  # fmt: skip
    with open_workspace(str(home)) as workspace:
        workspace.commit(encode("core.promoted", rows), now=workspace.clock())
        assert write_core_file(workspace.home, workspace.store) is False, (
            "the file holds every line but this one"
        )
    report = promote.fn(home=str(home), is_choosing=False)
    assert report.counts["core.demoted"] == 1
    assert planted["cell_id"][0] not in store_of(home).rows("core", ["cell_id"])["cell_id"]
    assert "believed once" not in (home / "MEMORY.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Believed:
    return live(tmp_path_factory.mktemp("few"), count=13, times=1, wish_count=5, has_model=True, nights=1)


def test_a_believing_model_brings_no_planted_text_into_core_memory_or_the_first_tiers(few: Believed):
    assert_nowhere_believed(few)


def test_what_persons_want_stands_in_core_memory(few: Believed):
    assert [wish.text for wish in few.wished if wish.mark not in few.core.lower()] == []
    assert "(said by a person, " in few.core


@pytest.mark.timeout(1_500)
@pytest.mark.parametrize(("has_model", "count", "times", "wish_count"), PLANTED)
def test_planted_texts_told_once_and_often_reach_no_place_that_is_believed(
    tmp_path: Path, *, has_model: bool, count: int, times: int, wish_count: int
):
    found = live(tmp_path, count=count, times=times, wish_count=wish_count, has_model=has_model)
    assert_nowhere_believed(found)
    missing = [wish.text for wish in found.wished if wish.mark not in found.core.lower()]
    assert missing == []
