"""Evaluate measures a home on its own questions, a benchmark on public sets; neither changes a memory."""

import json
from pathlib import Path

import pytest

from benchmarks.evaluation import add_up, ask, conversation_home
from benchmarks.question_sets import Conversation
from flows.evaluate import evaluate
from flows.ingest import ingest
from slowwave.errors import InputError, NotFoundError
from slowwave.home.paths import open_home
from slowwave.measure import markdown
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


def conversation(*questions: dict[str, object]) -> Conversation:
    turns = [{"id": key, "content": text, "timestamp": TIME} for key, text in SAID.items()]
    sessions = [{"session_id": "june", "turns": turns}]
    memories = [{"content": "Kiln 2 is at 1040 degrees.", "evidence": ["a1"]}]
    return Conversation.model_validate(
        {"name": "workshop", "sessions": sessions, "memories": memories, "questions": questions}
    )


def test_a_public_set_is_asked_of_a_home_of_its_own_next_to_other_ways(tmp_path, monkeypatch):
    monkeypatch.setenv("SLOWWAVE_EMBEDDING__PROVIDER", "wordllama")
    questions = [{"question": text, "evidence": [key], "category": "easy"} for key, text in ASKED.items()]
    earlier = {"question": ASKED["a1"], "evidence": ["a1"], "category": "before", "asked_at": "2026-06-01"}
    lost = {"question": "Who knows?", "evidence": ["a9"], "category": "lost"}
    asked = conversation(*questions, earlier, lost)
    with conversation_home(tmp_path / "own", asked, has_memories=True) as workspace:
        found = add_up([ask(workspace, asked)], seconds=0.0)
    assert found.left_out == {"evidence that is not there": 1, "question without evidence": 1}
    assert found.by_category["easy"] == {**dict.fromkeys(found.sessions, 1.0), "questions": 3}
    assert found.by_category["before"]["recall@5"] == 0.0  # it was said later
    assert set(found.granularities["alone"]) == {"turn", "near", "wide", "vector", "cell", "cell_vector"}
    assert set(found.baselines) == {"full text only", "vectors only", "plain hybrid"}
    assert found.embedder.startswith("wordllama/")
    assert 10 < found.tokens_returned < 200


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
    assert "| all questions | 100.0% |" in markdown(found)
    with pytest.raises(
        InputError, match=r"brings its sessions is measured by benchmarks/retrieval_quality\.py"
    ):
        evaluate.fn(questions=written(tmp_path, {"conversations": []}), home=home)


def test_where_nothing_can_be_measured_it_says_so_and_makes_no_home(tmp_path):
    questions = [{"question": "Who knows?", "evidence": ["a9"], "category": "lost"}]
    asked = written(tmp_path, {"questions": questions})
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
