"""The whole night over the samples with the recorded answers: what a reader of this memory may rely on."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from benchmarks.coverage import CoverageLine, cover, coverage_lines
from benchmarks.evaluation import reader_of
from benchmarks.pages import memory_pages
from benchmarks.replay import Replay, replaying
from flows.nightly import nightly
from flows.rebuild import rebuild
from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.measure import read_questions
from slowwave.memory import Memory
from slowwave.recall.assemble import assemble
from slowwave.recall.reader import open_reader
from slowwave.recall.search import ask
from slowwave.schemas.context import ContextRequest
from slowwave.schemas.report import NightReport
from slowwave.schemas.search import Filters
from slowwave.store import Store, open_store
from tasks.nightly.report import night_markdown

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "data" / "samples"
RECORDING = ROOT / "data" / "recording" / "answers.jsonl"
EXPECTED = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))


@dataclass
class SampleNight:
    """The home that a recorded night filled, its report, and the server it asked."""

    home: Path
    samples: Path
    report: NightReport
    replay: Replay

    @property
    def store(self) -> Store:
        return open_store(open_home(self.home).store_root)

    @property
    def cells(self) -> pl.DataFrame:
        return self.store.rows("cells")

    def run(self) -> NightReport:
        return nightly.fn(home=str(self.home), sources=[str(self.samples)], force=True)


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SampleNight]:
    home = tmp_path_factory.mktemp("sample-night")
    samples = tmp_path_factory.mktemp("checkout") / "samples"
    shutil.copytree(SAMPLES, samples)  # no id may depend on where a checkout lies
    with replaying(RECORDING) as replay:
        lines = [
            "[llm]",
            'provider = "openai"',
            f'base_url = "{replay.base_url}"',
            'model = "recorded"',
            "transport_retries = 0",
            "[embedding]",
            'provider = "wordllama"',
        ]
        (home / "slowwave.toml").write_text("\n".join(lines), encoding="utf-8")
        report = nightly.fn(home=str(home), sources=[str(samples)], force=True)
        assert replay.problem() is None
        yield SampleNight(home, samples, report, replay)


@pytest.fixture(scope="module")
def coverage(night: SampleNight) -> list[CoverageLine]:
    """The share of the evidence of the samples' questions that is shown, by way and budget."""
    questions = read_questions(SAMPLES / "questions.json")
    evidence = {place: frozenset(one.evidence) for place, one in enumerate(questions)}
    with open_workspace(night.home) as workspace:
        pages = memory_pages(reader_of(workspace), workspace.store)
        return coverage_lines(cover(pages, questions, evidence, now=workspace.clock()))


def about(cells: pl.DataFrame, *words: str) -> pl.DataFrame:
    """Cells whose text has all the words."""
    return cells.filter(
        pl.all_horizontal(pl.col("content").str.contains(word, literal=True) for word in words)
    )


def test_every_chunk_was_extracted(night: SampleNight):
    statuses = night.store.rows("chunks")["status"].unique().to_list()
    assert statuses == ["extracted"]


def test_the_turns_are_those_that_people_and_the_assistant_said(night: SampleNight):
    turns = night.store.rows("turns").filter(pl.col("source_type") == "conversation")
    counted = dict(turns.group_by("source_name").len().iter_rows())
    assert counted == {Path(name).name: count for name, count in EXPECTED["turns"].items()}


def test_the_reversed_decision_is_superseded_and_its_history_kept(night: SampleNight):
    decision = EXPECTED["reversed_decision"]
    cells = night.cells.filter(pl.col("source_name") == Path(decision["new_session_file"]).name)
    new = about(cells, "JWT", "Ed25519").filter(pl.col("supersedes").is_not_null())
    assert new.height == 1
    old = night.cells.filter(pl.col("cell_id") == new["supersedes"][0])
    assert old["status"][0] == "superseded"
    assert old["source_name"][0] == Path(decision["old_session_file"]).name
    assert "Redis" in old["content"][0]
    assert f"{old['valid_until'][0]:%Y-%m-%d}" == decision["new_date"]
    timeline = Memory(night.home).explain(new["cell_id"][0]).summary or ""
    assert timeline.startswith("now JWT")
    assert "previously server-side sessions in Redis" in timeline


def test_the_value_that_changed_twice_shows_its_latest_and_its_timeline(night: SampleNight):
    first, second, latest = EXPECTED["changed_value"]["values"]
    holding = night.cells.filter((pl.col("status") == "active") & pl.col("supersedes").is_not_null())
    timelines = [Memory(night.home).explain(name).summary or "" for name in holding["cell_id"]]
    [summary] = [text for text in timelines if "requests per minute per API key" in text]
    assert summary.startswith(f"now {latest['value']} requests per minute")
    assert f"previously {second['value']} requests per minute per API key (until {latest['date']})" in summary
    assert f"{first['value']} requests per minute per API key (until {second['date']})" in summary


def test_the_correction_leaves_no_stale_value_in_search(night: SampleNight):
    correction = EXPECTED["correction"]
    found = ask(open_reader(open_home(night.home)), "which port does the staging database listen on")
    stale = about(night.cells, "staging database", f"port {correction['wrong']}").filter(
        (pl.col("attribute") == "port") & ~pl.col("content").str.contains(correction["right"], literal=True)
    )
    assert stale["status"].to_list() == ["superseded"]
    assert stale["valid_until"].to_list() == stale["valid_from"].to_list(), "what was wrong never held"
    assert stale["cell_id"][0] not in {cell.cell_id for cell in found.cells}
    assert any(f"listens on port {correction['right']}" in cell.content for cell in found.cells[:3])


def test_the_past_and_the_present_each_get_their_own_answer(night: SampleNight):
    question, decision = "how does the login keep its sessions", EXPECTED["reversed_decision"]
    changed = datetime.fromisoformat(decision["new_date"]).replace(tzinfo=UTC)

    def told(moment: datetime) -> str:
        found = ask(open_reader(open_home(night.home)), question, filters=Filters(as_of=moment))
        return " ".join(hit.content for hit in found.cells if hit.cell_type == "decision")

    before, after = told(changed - timedelta(days=1)), told(changed + timedelta(days=1))
    assert "uses server-side sessions in Redis" in before
    assert "goes to JWT" not in before
    assert "goes to JWT" in after
    assert "uses server-side sessions in Redis" not in after


def test_the_rate_limit_of_a_day_is_the_one_of_that_day(night: SampleNight):
    for value in EXPECTED["changed_value"]["values"]:
        day = datetime.fromisoformat(value["date"]).replace(tzinfo=UTC) + timedelta(days=2)
        found = ask(
            open_reader(open_home(night.home)), "departures rate limit per minute", filters=Filters(as_of=day)
        )
        said = [hit for hit in found.cells if (hit.value or "").startswith(value["value"])]
        assert said, (value, [hit.content for hit in found.cells])


def test_while_debugging_the_fix_of_the_earlier_same_error_is_told_first(night: SampleNight):
    request = ContextRequest(
        activity="debugging",
        current_file="jobs/season_pass.py",
        recent_errors=("canceling statement due to lock timeout\nSQLSTATE 55P03",),
    )
    context = assemble(open_reader(open_home(night.home)), request, now=datetime.now(UTC))
    critical = next(tier for tier in context.tiers if tier.name == "critical")
    told = "\n".join(line.text for line in critical.lines)
    assert EXPECTED["error_and_fix"]["first"]["quote"] in told
    assert "idle_in_transaction_session_timeout" in told


def test_a_reversed_decision_is_not_told_as_current(night: SampleNight):
    request = ContextRequest(question="where does the login keep its session state?", activity="feature")
    context = assemble(open_reader(open_home(night.home)), request, now=datetime.now(UTC))
    assert "JWT" in context.text
    assert "The user decided that the kittiwake login uses server-side sessions" not in context.text


def test_the_pair_that_cannot_both_hold_is_an_open_contradiction(night: SampleNight):
    contents = dict(night.cells.select("cell_id", "content").iter_rows())
    open_pairs = [
        (contents[row["cell_a"]], contents[row["cell_b"]])
        for row in night.store.rows("contradictions").filter(pl.col("status") == "open").iter_rows(named=True)
    ]
    assert any("Tuesday" in a and "Thursday" in b and "settlement" in a for a, b in open_pairs)
    assert len(open_pairs) <= 6
    both = night.cells.filter(
        pl.col("content").str.contains("settlement job") & pl.col("content").str.contains("Tuesday|Thursday")
    )
    assert {"active"} == set(both["status"])


@pytest.mark.parametrize(
    ("words", "times"),
    [(("holds.ttl_minutes = 12",), 0), (("named exports only", "never default"), 1)],
)
def test_a_fact_said_again_is_one_cell_with_confirmations(
    night: SampleNight, words: tuple[str, ...], times: int
):
    is_memory = (pl.col("status") == "active") & ~pl.col("cell_type").is_in(["episode"])
    active = about(night.cells.filter(is_memory), *words)
    assert active.height == 1
    told = active.join(night.store.rows("cell_usage"), on="cell_id")
    assert told["confirmations"].to_list() == [times]


def test_two_facts_of_one_topic_are_both_kept(night: SampleNight):
    both = EXPECTED["both_true"]
    active = night.cells.filter(pl.col("status") == "active")
    for side in (both["a"], both["b"]):
        assert about(active, side["subject"], "visibility timeout", side["value"].split()[0]).height >= 1


def test_core_memory_names_people_and_their_wishes(night: SampleNight):
    core = (night.home / "MEMORY.md").read_text(encoding="utf-8")
    for person in ("Mara", "Priya", "Tobias"):
        assert f"[preference] {person}" in core


def test_no_secret_is_anywhere_in_the_home(night: SampleNight):
    files = [path.read_bytes() for path in night.home.rglob("*") if path.is_file()]
    report = night_markdown(night.report)
    for secret in EXPECTED["secrets"]:
        assert not any(secret.encode() in data for data in files)
        assert secret not in report


def test_a_summary_stands_under_no_filter_that_lets_a_part_of_it_through(night: SampleNight):
    home, question = open_home(night.home), "departures rate limit per minute"
    late = Filters(after=datetime(2026, 8, 1, tzinfo=UTC))
    assert ask(open_reader(home), question).topics
    assert ask(open_reader(home), question, filters=late).topics == []
    assert ask(open_reader(home), question, filters=late).cells
    assert ask(open_reader(home), question, filters=late, detail_level="summary").topics


def test_what_was_injected_or_planted_is_no_memory(night: SampleNight):
    texts = [*night.cells["content"], *night.store.rows("turns")["content"]]
    assert not any(EXPECTED["injected_phrase"] in text for text in texts)
    assert not any(EXPECTED["planted"]["phrase"] in text for text in texts)


@pytest.mark.nights
@pytest.mark.parametrize(
    ("way", "budget_tokens", "least"),
    [("memories", None, 0.95), ("context", 500, 0.65), ("context", 1000, 0.85), ("context", 2000, 0.9)],
)
def test_what_is_shown_for_a_question_rests_on_the_turns_that_answer_it(
    coverage: list[CoverageLine], way: str, budget_tokens: int | None, least: float
):
    (line,) = [one for one in coverage if (one.way, one.budget_tokens) == (way, budget_tokens)]
    assert line.questions == 27
    assert line.coverage >= least, line


@pytest.mark.nights
def test_when_all_causes_were_asked_a_night_asks_nothing_and_changes_nothing(night: SampleNight):
    # a night looks for causes on so many pages and leaves the others to the next one, as it does with the pairs that
    # contradictions leave when they end
    rest = night.run()
    asked_for = {name.split(".")[0] for name in rest.ledger.by_prompt_version}
    assert asked_for <= {"infer_cause", "reconcile_cells"}
    before = {table: night.store.rows(table).height for table in ("cells", "turns", "topics", "judgements")}
    asked = night.run()
    assert asked.ledger.total.call_count == 0
    assert asked.change_count == 0
    assert {table: night.store.rows(table).height for table in before} == before


def test_a_rebuild_gives_the_same_memory(night: SampleNight):
    before = {
        table: night.store.rows(table).sort(pl.first())
        for table in ("cells", "topics", "chunks", "cell_usage")
    }
    report = rebuild.fn(home=str(night.home))
    assert [note for note in report.notes if "differ" in note] == []
    for table, rows in before.items():
        assert night.store.rows(table).sort(pl.first()).equals(rows)
