"""Learning after a conversation: its memories at once, within a budget, and not twice."""

from pathlib import Path

import polars as pl
import pytest

from flows.extract import extract
from flows.learn import learn
from flows.nightly import nightly
from slowwave.errors import BudgetError
from slowwave.home.paths import open_home
from slowwave.interfaces.http.routes.hooks import is_unlearned
from slowwave.memory import Memory
from tasks.learn import cut_recorded_turns, learning_budget
from tests.integration.test_night_llm import model_of
from tests.scripted_model import ScriptedModel, store_of, write_settings
from tests.servers import OllamaServer

pytestmark = pytest.mark.nights

SAID = "The port of the staging database is 5433 since the move to the new host."


def home_with(server: OllamaServer, folder: Path, **night: object) -> str:
    write_settings(folder, embedding={"provider": "wordllama"}, llm=model_of(server), night=night)
    with Memory(folder) as memory:
        memory.record([{"session_id": "s", "role": "user", "text": SAID}])
    return str(folder)


def test_what_a_conversation_said_is_learned_once_and_the_night_comes_all_the_same(tmp_path):
    with OllamaServer(ScriptedModel(), models={"m": {}}) as server:
        home = home_with(server, tmp_path / "home")
        report = learn.fn(home=home)
        assert [stage.stage for stage in report.stages] == ["ingest", "extract", "cluster", "reconcile"]
        cells = store_of(home).rows("cells", ["content", "topic_id", "prompt_version"])
        assert cells.filter(pl.col("content") == SAID)["topic_id"].null_count() == 0
        assert store_of(home).rows("nights")["outcome"].to_list() == ["learned"]
        assert learn.fn(home=home).ledger.total.call_count == 0
        night = nightly.fn(home=home)
        assert "compress" in [stage.stage for stage in night.stages], (
            "its gate is not closed by what was learned"
        )
        left = learning_budget(open_home(home))
        assert left == open_home(home).settings.night.learn_tokens - report.ledger.total.input_tokens - (
            report.ledger.total.output_tokens
        )


def test_what_a_killed_run_had_read_and_not_judged_is_still_learned(tmp_path):
    with OllamaServer(ScriptedModel(), models={"m": {}}) as server:
        home = home_with(server, tmp_path / "home")
        cut_recorded_turns(home, dry_run=False)
        extract.fn(home=home)  # the end of a run that was killed here
        with Memory(home) as memory:
            assert is_unlearned(memory.status().pending)
            learn.fn(home=home)
            assert not is_unlearned(memory.status().pending)


def test_beyond_the_tokens_of_a_day_the_rest_waits_for_the_night(tmp_path):
    with OllamaServer(ScriptedModel(), models={"m": {}}) as server:
        home = home_with(server, tmp_path / "home", learn_tokens=1)
        learn.fn(home=home)
        with pytest.raises(BudgetError, match="the night does the rest"):
            learn.fn(home=home)
