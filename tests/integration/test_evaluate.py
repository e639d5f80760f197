"""Evaluate measures a home's own memory, or brings its sessions; it changes no memory."""

import json
from pathlib import Path

import pytest

from flows.evaluate import evaluate
from flows.ingest import ingest
from slowwave.errors import InputError, NotFoundError
from slowwave.evaluation.evaluate import markdown
from slowwave.home.paths import open_home
from slowwave.store import open_store

SAID = {
    "a1": "Kiln 2 runs at 1040 degrees since the new thermostat came.",
    "a2": "The ferry to the island leaves at seven in the morning.",
    "a3": "Our tomato beds need compost before the first frost.",
    "a4": "The lease of the workshop ends in March.",
}
ASKED = {
    "a1": "How hot does kiln 2 run?",
    "a2": "When does the ferry leave?",
    "a4": "When does the lease end?",
}
TIME = "2026-06-05T09:00:00Z"


@pytest.fixture
def home(tmp_path: Path) -> str:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "slowwave.toml").write_text('[embedding]\nprovider = "wordllama"\n', encoding="utf-8")
    return str(folder)


def written(folder: Path, content: object) -> str:
    path = folder / "set.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def test_a_set_with_sessions_is_asked_in_temporary_homes(tmp_path, home):
    conversation = {
        "name": "workshop",
        "sessions": [
            {
                "session_id": "june",
                "turns": [{"id": key, "content": text, "timestamp": TIME} for key, text in SAID.items()],
            }
        ],
        "memories": [{"content": "Kiln 2 is at 1040 degrees.", "evidence": ["a1"]}],
        "questions": [
            *({"question": text, "evidence": [key], "category": "easy"} for key, text in ASKED.items()),
            {"question": "Who knows?", "evidence": ["a9"], "category": "lost"},
        ],
    }
    found = evaluate.fn(questions=written(tmp_path, {"conversations": [conversation]}), home=home)
    assert found.questions == 3
    assert found.left_out == {"evidence that is not there": 1, "question without evidence": 1}
    assert found.recall["recall@5"] == 1.0
    assert found.by_category["easy"]["questions"] == 3
    assert found.sessions == {**dict.fromkeys(found.recall, 1.0), "questions": 3}
    assert set(found.granularities["alone"]) == {"turn", "near", "wide", "vector", "cell", "cell_vector"}
    assert set(found.baselines) == {"full text only", "vectors only", "plain hybrid"}
    assert found.embedder.startswith("wordllama/")
    assert 10 < found.tokens_returned < 200
    assert not (Path(home) / "journal").exists()
    assert "recall over 3 questions" in markdown(found)
    shown = {(line.way, line.budget_tokens): line for line in found.coverage}
    assert {way for way, _ in shown} == {"context", "search", "turns", "ranked turns", "memories"}
    assert shown["context", 2000].coverage == shown["turns", 500].coverage == 1.0
    assert (
        shown["memories", None].coverage == shown["memories", None].complete == pytest.approx(1 / 3, abs=1e-4)
    )
    assert all(line.questions == 3 for line in found.coverage)
    assert all(line.tokens <= line.budget_tokens for line in found.coverage if line.budget_tokens)
    assert "| context | 100.0% |" in markdown(found)


def test_a_set_of_turn_ids_is_asked_of_the_home_itself(tmp_path, home):
    sources = tmp_path / "chats"
    sources.mkdir()
    lines = [{"role": "user", "content": text, "timestamp": TIME} for text in SAID.values()]
    (sources / "june.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    ingest.fn(sources=[str(sources)], home=home)
    turns = open_store(open_home(home).store_root).rows("turns", ["turn_id", "content"])
    ids = dict(zip(turns["content"], turns["turn_id"], strict=True))
    before = open_home(home).journal.segment_ids()
    asked = [{"question": text, "evidence": [ids[SAID[key]]]} for key, text in ASKED.items()]
    found = evaluate.fn(questions=written(tmp_path, {"questions": asked}), home=home)
    assert found.questions == 3
    assert found.recall["recall@5"] == 1.0
    assert open_home(home).journal.segment_ids() == before


def test_a_question_asked_earlier_does_not_find_what_was_said_later(tmp_path, home):
    conversation = {
        "sessions": [
            {"session_id": "june", "turns": [{"id": "a1", "content": SAID["a1"], "timestamp": TIME}]}
        ],
        "questions": [
            {"question": ASKED["a1"], "evidence": ["a1"], "category": "before", "asked_at": "2026-06-01"},
            {"question": ASKED["a1"], "evidence": ["a1"], "category": "after", "asked_at": "2026-07-01"},
        ],
    }
    found = evaluate.fn(questions=written(tmp_path, conversation), home=home)
    assert found.by_category["before"]["recall@5"] == 0.0
    assert found.by_category["after"]["recall@5"] == 1.0
    assert {line.questions for line in found.coverage} == {1}  # context has no view of an earlier state


def test_where_nothing_can_be_measured_it_says_so_and_makes_no_home(tmp_path):
    questions = [{"question": "Who knows?", "evidence": ["a9"], "category": "lost"}]
    asked = written(tmp_path, {"conversations": [{"name": "w", "questions": questions}]})
    with pytest.raises(NotFoundError, match="no memory here to ask"):
        evaluate.fn(questions=asked, home=str(tmp_path / "nowhere"))
    assert not (tmp_path / "nowhere").exists()


def test_without_a_file_it_says_what_is_missing(home):
    with pytest.raises(InputError, match="name the file of a question set"):
        evaluate.fn(home=home)


def test_the_questions_of_the_samples_are_answered_by_turns_that_are_there(home):
    samples = Path(__file__).parents[2] / "data" / "samples"
    ingest.fn(sources=[str(samples)], home=home)
    found = evaluate.fn(questions=str(samples / "questions.json"), home=home)
    assert found.questions == 27
    assert found.left_out == {"question without evidence": 2}  # those that nothing answers
    assert found.recall["recall@10"] >= 0.9
    shown = {(line.way, line.budget_tokens): line.coverage for line in found.coverage}
    assert shown["turns", 2000] >= 0.9
    assert shown["context", 4000] >= 0.5  # raw turns alone: context quotes few of them
