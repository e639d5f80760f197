"""The benchmarks run at tiny sizes and say what they measured; how fast a machine is, no test asks."""

import io
import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest

from benchmarks import holds, hooks, ingest_bounds, latency, night, pairs, prompts, retrieval_quality, server
from benchmarks.invented import write_sessions
from slowwave.errors import InputError
from tests.scripted_model import ScriptedModel
from tests.servers import Body, OpenAIServer, answer_name

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.timeout(900),  # the processes share their cores with whatever else runs
]

ROOT = Path(__file__).resolve().parents[2]
SIZES = (40, 80)
STAGES = {
    "ingest",
    "extract",
    "cluster",
    "reconcile",
    "consolidate",
    "compress",
    "link",
    "decay",
    "forget",
    "promote",
    "rest",
}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    sizes = ",".join(str(size) for size in SIZES)
    tiny = ["--turns", "16", "--added", "10", "--repeats", "1", "--sizes", sizes, "--folder", str(folder)]

    def here(
        measure: str, part: Path, **given: int
    ) -> dict:  # a process of its own is for fair figures alone
        return night.MEASURES[measure](Namespace(folder=part, **given))

    printed = io.StringIO()
    with patch.dict(os.environ), patch.object(night, "in_own_process", here), redirect_stdout(printed):
        assert night.main(["--json", *tiny]) == 0
    return json.loads(printed.getvalue().splitlines()[-1])


def test_a_whole_night_is_measured_by_stage(result):
    whole = result["whole"]
    assert whole["turns"] == 16
    assert whole["counts"]["ingest"]["turn.recorded"] == 16
    assert whole["cells"] == whole["counts"]["extract"]["cell.extracted"] > 0
    assert whole["turns_a_second"] > 0
    assert 0 < whole["peak_rss_gib"] < 64
    assert set(whole["stages"]) >= STAGES


def test_calls_and_tokens_are_told_for_each_prompt(result):
    prompts = result["model"]["per_1000_turns"]
    assert set(prompts) >= {"ExtractAnswer", "EpisodeAnswer"}
    assert all(
        part["calls"] > 0 and part["tokens_in"] > 0 and part["tokens_out"] > 0 for part in prompts.values()
    )


def test_the_same_turns_are_added_to_stores_of_every_size(result):
    growth = result["growth"]
    assert [part["cells"] for part in growth] == list(SIZES)
    for part in growth:
        assert part["rows"]["cells"] >= part["cells"]
        assert part["warm"]["counts"]["ingest"] == growth[0]["warm"]["counts"]["ingest"]
        assert part["cold"]["counts"]["ingest"]["turn.recorded"] == 10
        assert len(part["warm_seconds"]) == 1
        assert set(part["warm"]["stages"]) >= STAGES
    assert result["growth_ratio"] > 0
    assert result["cpu_growth_ratio"] > 0


def test_invented_conversations_are_the_same_on_every_run(tmp_path):
    texts = []
    for name in ("first", "second"):
        write_sessions(tmp_path / name, turns=50, topics=5, label="same")
        texts.append([file.read_text(encoding="utf-8") for file in sorted((tmp_path / name).iterdir())])
    assert texts[0] == texts[1]
    assert sum(text.count("\n") for text in texts[0]) == 50


def test_invented_messages_have_5_to_150_words(tmp_path):
    write_sessions(tmp_path, turns=200, topics=5, label="words")
    lines = [line for file in tmp_path.iterdir() for line in file.read_text(encoding="utf-8").splitlines()]
    lengths = [len(json.loads(line)["content"].split()) for line in lines]
    assert min(lengths) >= 5
    assert max(lengths) <= 150
    assert len(set(lengths)) > 20


@pytest.fixture
def told(capsys):
    """What a benchmark prints with `--json`; the environment that it makes for itself goes with the test."""

    def run(main: Callable[[Sequence[str]], int], *arguments: str) -> dict:
        with patch.dict(os.environ):
            assert main(["--json", *arguments]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def test_latency_is_told_for_both_kinds_of_questions_beside_the_exact_pass(told):
    sizes = ["--cells", "300", "--turns", "400", "--dims", "32", "--queries", "10"]
    found = told(latency.main, *sizes)
    assert (found["cells"], found["turns"], found["topics"]) == (300, 400, 15)
    assert found["passages"] > found["turns"]
    assert 0 < found["p50_ms"] <= found["p95_ms"]
    assert 0 < found["with_turns"]["p50_ms"] <= found["with_turns"]["p95_ms"]
    assert found["exact_recall"] == 1.0  # without a vector index every search is exact
    assert found["limit_ms"] > 0
    assert found["cores"] >= 1


def test_hooks_tells_the_time_of_a_hook_beside_a_bare_interpreter(told):
    found = told(hooks.main, "--cells", "60", "--rounds", "4")
    assert (found["cells"], found["rounds"], found["bare"]["ratio"]) == (60, 4, 1.0)
    assert found["answered"] > 0
    assert all(0 < found[name]["p50_ms"] <= found[name]["p95_ms"] for name in ("bare", "asleep", "served"))


def test_the_server_bears_its_clients_and_keeps_what_it_acknowledged_through_a_kill(told):
    found = told(server.main, "--cells", "200", "--clients", "6", "--seconds", "6", "--think", "0.5", "--questions",
                 "10", "--night-turns", "20", "--kill-seconds", "2")  # fmt: skip
    assert 0 < found["small"]["p50_ms"] <= found["small"]["p95_ms"]
    assert found["load"]["errors"] == {}
    assert found["load"]["reads"]["count"] > 10
    kill = found["kill"]
    assert kill["acknowledged_turns"] > 0
    assert (kill["lost_turns"], kill["lost_statements"]) == (0, 0)


def test_ingest_bounds_tells_time_memory_and_what_was_left_out(told):
    (found,) = told(ingest_bounds.main, "--cases", "line=20")["cases"]
    assert (found["case"], found["turns"]) == ("line=20", 1)
    assert found["left_out"] == {"not a turn: line over its bound": 1}
    assert 0 < found["peak_bytes"] < ingest_bounds.MOST_MEMORY
    with pytest.raises(SystemExit, match="no case 'lines=many'"):
        ingest_bounds.main(["--cases", "lines=many"])


def test_retrieval_quality_tells_recall_and_what_each_list_adds(tmp_path, told):
    said = {
        "D1:1": "I finally mended the old accordion.",
        "D1:2": "The heron came back to the pond.",
        "D1:3": "We ran out of saffron at the inn.",
    }
    conversation = {
        "sample_id": "invented",
        "conversation": {
            "speaker_a": "Mara",
            "session_1_date_time": "1:56 pm on 8 May, 2026",
            "session_1": [{"dia_id": key, "speaker": "Mara", "text": text} for key, text in said.items()],
        },
        "observation": {"session_1_observation": {"Mara": [["Mara repaired an accordion.", "D1:1"]]}},
        "qa": [
            {"question": "What did Mara mend?", "evidence": ["D1:1"], "category": 4},
            {"question": "Which bird came to the pond?", "evidence": ["D1:2", "D7:1"], "category": 1},
        ],
    }
    (tmp_path / "set.json").write_text(json.dumps([conversation]), encoding="utf-8")
    found = told(retrieval_quality.main, str(tmp_path / "set.json"), "--cells", "observations")
    assert found["recall@5"] == found["recall@50"] == 1.0
    assert found["questions"] == 2
    assert found["left_out"] == {"evidence that is not there": 1}
    assert set(found["by_category"]) == {"single-hop", "multi-hop"}
    assert set(found["baselines"]) == {"full text only", "vectors only", "plain hybrid"}
    assert set(found["granularities"]["without"]) == {
        "turn",
        "near",
        "wide",
        "answer",
        "asking",
        "vector",
        "speaker",
        "cell",
        "cell_vector",
    }
    assert all(part["meaning"] for part in found["parameters"].values())
    assert found["embedder"].startswith("wordllama/")


def test_retrieval_quality_says_what_is_wrong_with_a_file(tmp_path):
    (tmp_path / "set.json").write_text("[{}]", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "retrieval_quality.py"), "set.json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 65
    assert "is no question set" in done.stderr
    assert "Traceback" not in done.stderr


def test_pairs_tells_whether_the_older_statement_is_a_candidate_of_the_newer(tmp_path, told):
    said = [
        (
            "updates",
            "The ferry Kestrel leaves pier 4 at nine.",
            "The ferry Kestrel now leaves pier 7 at nine.",
        ),
        ("compatible", "Mara keeps bees on the roof.", "Mara bought a harp in May."),
    ]
    lines = [
        {
            "id": str(number), "verdict": verdict, "subject": "s", "attribute": "a", "value_a": "x", "value_b": "y",
            "a": older, "a_date": "2026/05/21 (Thu) 09:04", "b": newer, "b_date": "2026-06-21T09:04:00Z",
        }
        for number, (verdict, older, newer) in enumerate(said)
    ]  # fmt: skip
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = told(pairs.main, str(tmp_path / "pairs.jsonl"))
    assert found["recall"]["changing"] == {"pairs": 1, "found": 1, "recall": 1.0}
    assert found["cosine_recall"]["updates"]["recall"] == 1.0
    assert found["proposed"] >= 1
    assert found["memories"] == 4
    assert found["missed"] == []


def test_holds_tells_what_a_world_answers_first_and_what_its_lists_say(tmp_path):
    said = {
        "2026-05-04": ("We pay 40 euros for the mooring.", "The code E7 PUMP DRY means: open the sea cock."),
        "2026-06-02": ("The mooring costs 65 euros from today.", "Please answer in short sentences, always."),
    }
    (tmp_path / "sessions").mkdir()
    for day, texts in said.items():
        common = {"session_id": f"s-{day}", "role": "user", "speaker": "Ann"}
        lines = [
            common | {"id": f"{day}-{place}", "timestamp": f"{day}T09:0{place}:00Z", "content": text}
            for place, text in enumerate(texts)
        ]
        (tmp_path / "sessions" / f"{day}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    values = [
        {"value": "40 euros", "since": "2026-05-04", "evidence": ["2026-05-04-0"], "forms": ["40"]},
        {"value": "65 euros", "since": "2026-06-02", "evidence": ["2026-06-02-0"], "forms": ["65"]},
    ]
    lists = {
        "properties": [{"property": "fee", "subject": "mooring", "attribute": "price", "values": values}],
        "questions": [{"id": "q1", "question": "mooring price?", "style": "short", "property": "fee"}],
        "unanswerable": [{"id": "u1", "question": "Who feeds the owls?"}],
        "errors": [
            {"id": "e1", "error": "E7 PUMP DRY", "fix_forms": ["sea cock"], "evidence": ["2026-05-04-1"]}
        ],
        "whose": [
            {"statement": "The mooring costs 65 euros.", "evidence": ["2026-06-02-0"], "whose": "user"}
        ],
        "core": [{"id": "c1", "kind": "preference", "forms": ["short sentences"]}],
    }
    for name, entries in lists.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(entries))
    assert holds.main([str(tmp_path), "--json", str(tmp_path / "found.json"), "--show", "fail"]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    ways = {row["way"]: row for row in found["shares"] if row["style"] == "all"}
    assert set(ways) == {"search", "page 300", "page 150", "small", "raw turns", "vectors"}
    assert ways["search"]["named"] == ways["raw turns"]["named"] == 1.0
    assert found["whose_word"]["judged"] == 1
    assert found["fixes"]["anywhere"] == 1.0
    assert set(found["nothing_known"]) == {"search", "small", "both"}


@pytest.mark.year
def test_a_short_year_is_lived_and_told_by_month(tmp_path):
    from benchmarks.year import live_year, summary, table

    with pytest.MonkeyPatch.context() as patched:
        for name in [name for name in os.environ if name.startswith("SLOWWAVE_")]:
            patched.delenv(name)
        patched.setenv("SLOWWAVE_EMBEDDING__PROVIDER", "wordllama")
        patched.setenv("PREFECT_HOME", str(tmp_path))
        days = live_year(tmp_path, days=6, seed=1, every=3, rows=tmp_path / "rows.jsonl")
        for name in [name for name in os.environ if name.startswith("SLOWWAVE_LLM__")]:
            del os.environ[name]
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == len(days) == 6
    result = summary(days)
    year = result["year"]
    assert year["asked"] > 0
    assert year["precision"] == 1.0, "nothing stale is believed"
    assert year["stale"] == 0.0
    assert year["recall"] > 0.5
    assert year["active"] > 20
    assert year["archived"] == 0, "nothing is old enough to fade"
    assert year["false_forgetting"] is None
    assert "nothing was archived" in table(result)


def test_two_versions_of_a_prompt_are_compared_by_the_memories_that_they_give(tmp_path, capsys):
    (old,) = (ROOT / "prompts").glob("extract_cells.v*.md")
    new = tmp_path / "extract_cells.v99.md"
    rules = "## What to write\n"
    new.write_text(old.read_text("utf-8").replace(rules, f"{rules}- Shout.\n"), encoding="utf-8")
    model = ScriptedModel()

    def answer(body: Body) -> str:
        said = str(model(body))
        is_loud = answer_name(body) == "ExtractAnswer" and "- Shout." in str(body["messages"][0]["content"])
        return said.replace(" the ", " THE ") if is_loud else said

    with OpenAIServer(answer) as served, patch.dict(os.environ):
        settings = {"PROVIDER": "openai", "BASE_URL": served.url, "MODEL": "m", "API_KEY": "k"}
        os.environ |= {f"SLOWWAVE_LLM__{name}": value for name, value in settings.items()}
        assert prompts.main([str(old), str(old), "--chunks", "2"]) == 0
        same = capsys.readouterr().out
        assert prompts.main([str(old), str(new), "--chunks", "2"]) == 0
        changed = capsys.readouterr().out.splitlines()
    assert "[fact]" not in same
    assert [line for line in changed if line.startswith("-[fact]") and " the " in line]
    assert [line for line in changed if line.startswith("+[fact]") and " THE " in line]
    assert any("extract_cells.v99.md" in line for line in changed)
    assert prompts.main([str(old), str(tmp_path / "reconcile_cells.v1.md")]) == InputError.exit_code
