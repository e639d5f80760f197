"""`benchmarks/answers.py`: nights with the clock at each, coverage without a reader, and judged answers."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest

from benchmarks import answers, answers_nights
from benchmarks.answers_judge import MARKED, Answered, accuracy_lines
from benchmarks.answers_memory import audited, chosen_pages, read_audit
from benchmarks.answers_read import Asked
from benchmarks.pages import Page
from benchmarks.question_sets import Conversation
from slowwave.errors import InputError
from slowwave.schemas.questions import Question
from tests.scripted_model import ScriptedModel
from tests.servers import Body, Fault, OpenAIServer, answer_name, refused, user_text

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

SAID = {
    "june": ("2026-06-05T09:00:00Z", ["The heat of kiln 2 is 1040 degrees.", "Mara prefers green glaze."]),
    "june-evening": ("2026-06-05T21:00:00Z", ["The colour of the ferry is blue.", "We met 14 people there."]),
    "july": ("2026-07-11T09:00:00Z", ["The heat of kiln 2 is now 1080 degrees.", "The lease ends on 3 May."]),
}
ASKED = [
    ("How hot is kiln 2?", "1080 degrees", ["july-0"], "value"),
    ("Which colour is the ferry?", "blue", ["june-evening-0"], "value"),
    (
        "What does Mara prefer, and when does the lease end?",
        "green glaze; 3 May",
        ["june-1", "july-1"],
        "list",
    ),
    ("Which songs does Mara sing?", None, [], "trap"),
]


def conversation() -> dict:
    sessions = [
        {
            "session_id": name,
            "turns": [
                {"id": f"{name}-{place}", "content": text, "timestamp": at, "speaker": "Mara"}
                for place, text in enumerate(texts)
            ],
        }
        for name, (at, texts) in SAID.items()
    ]
    questions = [
        {
            "question": text,
            "answer": answer,
            "evidence": evidence,
            "category": category,
            "is_answerable": answer is not None,
        }
        for text, answer, evidence, category in ASKED
    ]
    return {"name": "kiln", "sessions": sessions, "questions": questions}


@dataclass
class Model:
    """The scripted model of nights, a reader that knows all, and a judge that compares words; it notes every page."""

    nights: ScriptedModel = field(default_factory=ScriptedModel)
    pages: dict[str, list[str]] = field(default_factory=dict)
    given: dict[str, str] = field(
        default_factory=lambda: {text: answer or "not in memory" for text, answer, *_ in ASKED}
    )
    is_away: bool = False

    def __call__(self, body: Body) -> str | Fault:
        name, page = answer_name(body), user_text(body)
        if self.is_away:
            return refused(500)
        self.pages.setdefault(name, []).append(page)
        if name == "ReaderAnswer":
            asked = re.findall(r"^\[(\d+)\] (.*)$", page, re.MULTILINE)
            said = [{"question": int(number), "answer": self.given[text]} for number, text in asked]
            return json.dumps({"answers": said})
        if name == "JudgeAnswer":
            items = re.findall(r"^\[(\d+)\]\n.*\nright answer: (.*)\ngiven answer: (.*)$", page, re.MULTILINE)
            return json.dumps(
                {
                    "marks": [
                        {"item": int(n), "reason": "r", "mark": mark(right, given)}
                        for n, right, given in items
                    ]
                }
            )
        return self.nights(body)


def mark(right: str, given: str) -> str:
    if right == given:
        return "right"
    return "half" if given in right.split("; ") else "wrong"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(Model()) as running:
        yield running


@pytest.fixture(scope="module")
def raw_night(tmp_path_factory) -> Path:
    """A folder with one night that had no model."""
    folder = tmp_path_factory.mktemp("raw")
    (folder / "set.json").write_text(json.dumps(conversation()), encoding="utf-8")
    with patch.dict(os.environ):
        assert (
            answers.main(["night", str(folder / "set.json"), "0", "--folder", str(folder / "n"), "--json"])
            == 0
        )
    return folder / "n"


@pytest.fixture
def slept(raw_night, tmp_path) -> None:
    """The same night in this test's own folder."""
    shutil.copytree(raw_night, tmp_path / "n")


@pytest.fixture
def run(tmp_path, capsys):
    """A command of `answers.py` on the set: its exit code, and what it prints with --json."""
    (tmp_path / "set.json").write_text(json.dumps(conversation()), encoding="utf-8")

    def command(name: str, *arguments: str, code: int = 0) -> dict:
        places = {"night": [str(tmp_path / "set.json"), "0", "--folder", str(tmp_path / "n")]}
        with patch.dict(os.environ):
            assert (
                answers.main([name, *places.get(name, [str(tmp_path / "n")]), *arguments, "--json"]) == code
            )
        printed = capsys.readouterr()
        return json.loads(printed.out) if code == 0 else {"error": printed.err}

    return command


def model_of(server: OpenAIServer) -> Model:
    assert isinstance(server.answer, Model)
    return server.answer


def test_nights_lie_between_days_of_talk_or_at_the_end():
    said = Conversation.model_validate(conversation())
    between = answers_nights.clocks(said, "between")
    assert between == [(datetime(2026, 6, 6, 3, tzinfo=UTC), 2), (datetime(2026, 7, 12, 3, tzinfo=UTC), 3)]
    assert answers_nights.clocks(said, "end") == [(datetime(2026, 7, 13, 9, tzinfo=UTC), 3)]


def test_talk_until_two_in_the_morning_waits_for_the_night_after():
    late = {"session_id": "s", "turns": [{"id": "a", "content": "x", "timestamp": "2026-06-05T02:00:00Z"}]}
    said = Conversation.model_validate({"sessions": [late], "questions": []})
    assert answers_nights.clocks(said, "between") == [(datetime(2026, 6, 6, 3, tzinfo=UTC), 1)]


def test_without_a_model_all_that_was_said_is_covered_and_nothing_is_paid(run):
    report = run("night")
    assert (report["nights"], report["turns"]) == (1, 6)
    assert report["prompts"] == {"all": dict.fromkeys(report["prompts"]["all"], 0)}
    found = run("coverage", "--budgets", "40,4000")
    lines = {(line["way"], line["budget_tokens"]): line for line in found["coverage"]}
    assert lines["memories", None]["coverage"] == 1.0
    assert lines["turns", 4000]["coverage"] == 1.0
    assert lines["turns", 40]["coverage"] < 1.0
    assert lines["turns", 40]["tokens"] <= 40
    assert all(
        line["questions"] == 3 and set(line["by_category"]) == {"value", "list"} for line in lines.values()
    )
    assert found["left_out"] == {"not answerable": 1}


def test_a_night_with_a_model_tells_tokens_a_turn_by_prompt(run, server):
    report = run("night", "--base-url", server.url, "--model", "m", "--nights", "between")
    assert report["nights"] == 2
    total = report["prompts"]["all"]
    assert total["calls"] == len(server.requests) > 0
    assert total["tokens_a_turn"] == round(total["calls"] * 110 / 6, 1)
    assert {name.split(".v")[0] for name in report["prompts"]} >= {"extract_cells", "all"}
    assert sum(line["calls"] for line in report["prompts"].values()) == 2 * total["calls"]
    assert report["memories"] >= 4
    assert 0 < report["largest_topic"] <= 1
    found = {(line["way"], line["budget_tokens"]): line for line in run("coverage")["coverage"]}
    assert found["memories", None]["coverage"] == 1.0
    assert found["context", 2000]["coverage"] > 0.5


def test_finished_nights_are_not_done_again(run, server):
    given = ("--base-url", server.url, "--model", "m", "--nights", "between")
    first = run("night", *given)
    asked = len(server.requests)
    assert run("night", *given) == first
    assert len(server.requests) == asked


def test_a_night_that_was_stopped_goes_on_and_what_it_paid_counts(run, server, tmp_path):
    given = ("--base-url", server.url, "--model", "m", "--nights", "between")
    sleep = answers_nights._sleep
    with patch.object(answers_nights, "_sleep", side_effect=[None, KeyboardInterrupt]) as stopped:
        stopped.side_effect = lambda *part: sleep(*part) if stopped.call_count == 1 else interrupt()
        with pytest.raises(KeyboardInterrupt):
            run("night", *given)
    assert len(answers_nights.finished(tmp_path / "n")) == 1
    model_of(server).is_away = True
    assert (
        "is not done (language model away): give the command again" in run("night", *given, code=75)["error"]
    )
    model_of(server).is_away = False
    report = run("night", *given)
    assert report["nights"] == 2
    assert report["prompts"]["all"]["calls"] == len(server.requests)
    assert report["memories"] >= 4


def interrupt() -> None:
    raise KeyboardInterrupt


def test_a_recorded_night_is_replayed_without_its_server(run, server, tmp_path):
    kept = str(tmp_path / "night.jsonl")
    first = run("night", "--base-url", server.url, "--model", "m", "--record", kept)
    asked = len(server.requests)
    shutil.rmtree(tmp_path / "n")
    again = run("night", "--replay", kept)
    assert len(server.requests) == asked
    assert {**again, "seconds": 0} == {**first, "seconds": 0}
    shutil.rmtree(tmp_path / "n")
    lines = Path(kept).read_text(encoding="utf-8").splitlines()
    Path(kept).write_text("\n".join(line for line in lines if "ExtractAnswer" not in line), encoding="utf-8")
    assert "prompt-changed-since-the-recording" in run("night", "--replay", kept, code=78)["error"]


def test_a_folder_holds_one_conversation_with_its_nights(run, tmp_path):
    run("night")
    assert "nights at other times" in run("night", "--nights", "between", code=65)["error"]
    other = conversation() | {"name": "other"}
    (tmp_path / "set.json").write_text(json.dumps(other), encoding="utf-8")
    assert "another conversation" in run("night", code=65)["error"]


def test_before_the_first_night_nothing_is_measured(run):
    assert "holds no nights" in run("coverage", code=65)["error"]


PAGES = "context:2000,turns:2000,memories,whole"


def test_answers_are_read_marked_and_told_by_page(run, server, slept):
    model = model_of(server)
    model.given["How hot is kiln 2?"] = "1040 degrees"
    model.given["What does Mara prefer, and when does the lease end?"] = "3 May"
    found = run("answers", "--base-url", server.url, "--model", "m", "--pages", PAGES)
    lines = {(line["way"], line["budget_tokens"]): line for line in found["answers"]}
    assert list(lines) == [("context", 2000), ("turns", 2000), ("memories", None), ("whole", None)]
    for line in lines.values():
        assert line["accuracy"] == 0.5  # wrong, right and half
        assert (line["questions"], line["unanswerable"], line["unanswerable_questions"]) == (3, 1.0, 1)
        assert line["by_category"] == {"value": 0.5, "list": 0.5, "trap": 1.0}
    assert len(model.pages["ReaderAnswer"]) == 4 + 4 + 1 + 1  # everything is read once for all questions
    assert len(model.pages["JudgeAnswer"]) == 1
    assert model.pages["JudgeAnswer"][0].count("given answer:") == 3  # said on every page, marked once
    assert not re.search("context|turns|whole|memories", model.pages["JudgeAnswer"][0])


def test_what_was_answered_and_marked_is_not_asked_again(run, server, slept):
    given = ("--base-url", server.url, "--model", "m", "--pages", PAGES)
    first, asked = run("answers", *given), len(server.requests)
    again = run("answers", *given)
    assert again["answers"] == first["answers"]
    assert len(server.requests) == asked
    assert again["ledger"]["total"]["call_count"] == 0
    more = run("answers", *given[:-1], f"{PAGES},turns:40", "--pages-a-request", "4")
    assert len(server.requests) == asked + 1  # four pages in one request; their answers were marked before
    assert more["answers"][:4] == first["answers"]


def test_pages_in_one_request_stand_apart_each_with_its_question(run, server, slept):
    given = ("--base-url", server.url, "--model", "m", "--pages", "turns:40", "--pages-a-request", "3")
    run("answers", *given, "--concurrency", "1")
    first, second = model_of(server).pages["ReaderAnswer"]
    parts = re.split(r"^## Page \d+$", first, flags=re.MULTILINE)[1:]
    assert [re.findall(r"^\[(\d+)\]", part, re.MULTILINE) for part in parts] == [["1"], ["2"], ["3"]]
    assert "[1] Which songs does Mara sing?" in second


def test_a_stopped_reader_goes_on_where_it_was(run, server, slept):
    model = model_of(server)
    given = ("--base-url", server.url, "--model", "m", "--pages", "turns:100", "--concurrency", "1")
    model.is_away = True
    found = run("answers", *given)
    assert found["answers"] == []
    assert found["left_out"] == {"not answered yet": 4}
    model.is_away = False
    found = run("answers", *given)
    assert found["answers"][0]["questions"] == 3
    assert "not answered yet" not in found["left_out"]


def test_every_second_question_is_a_sample(run, server, slept):
    given = ("--base-url", server.url, "--model", "m", "--pages", "whole", "--every", "2")
    (line,) = run("answers", *given)["answers"]
    assert line["questions"] == 2


def answered(given: str, *, is_answerable: bool = True) -> Answered:
    question = Question(
        question="Who?", answer="Mara" if is_answerable else None, is_answerable=is_answerable
    )
    return Answered(Asked(Path("f"), question, "whole", None, Page("", 0, frozenset()), "2026-07-13"), given)


@pytest.mark.parametrize("text", ["not in memory", "Not in memory.", '"not in memory"'])
def test_an_abstention_needs_no_judge(text):
    assert answered(text).is_abstention
    assert not answered(text).needs_judge


def test_a_question_without_an_answer_needs_no_judge():
    assert not answered("Mara", is_answerable=False).needs_judge
    assert answered("Mara").needs_judge


def test_points_are_means_by_page_and_unanswerable_questions_stand_apart():
    rows = [
        ("a", "turns", 500, "value", True, "q", "r", "g", points, None, 480)
        for points in (1.0, 0.5, 0.0, None)
    ]
    rows += [("a", "turns", 500, "trap", False, "q", None, "g", 1.0, None, 500)]
    (line,) = accuracy_lines(pl.DataFrame(rows, schema=MARKED, orient="row"))
    assert (line.accuracy, line.questions) == (0.5, 3)
    assert (line.unanswerable, line.unanswerable_questions) == (1.0, 1)
    assert line.by_category == {"trap": 1.0, "value": 0.5}


def test_the_audit_leaves_out_wrong_answers_and_puts_evidence_right(tmp_path):
    entries = [
        {"question": "A?", "golden_answer": "1", "error_type": "HALLUCINATION", "correct_evidence": []},
        {"question": "B?", "golden_answer": 2, "error_type": "WRONG_CITATION", "correct_evidence": ["D1:2"]},
    ]
    (tmp_path / "audit.json").write_text(json.dumps(entries), encoding="utf-8")
    questions = [
        Question(question="A?", answer="1", evidence=("D1:1",)),
        Question(question="B?", answer="2", evidence=("D1:1",)),
        Question(question="A?", answer="3", evidence=("D1:3",)),
    ]
    kept, left_out = audited(questions, read_audit(tmp_path / "audit.json"))
    assert {place: one.evidence for place, one in kept.items()} == {1: ("D1:2",), 2: ("D1:3",)}
    assert left_out == {"answer called wrong by the audit": 1}


def test_a_file_that_is_no_audit_is_told(tmp_path):
    (tmp_path / "audit.json").write_text("[{}]", encoding="utf-8")
    with pytest.raises(InputError, match="is no audit"):
        read_audit(tmp_path / "audit.json")


def test_pages_are_chosen_by_name_and_budget():
    assert chosen_pages("context:500, whole") == (("context", 500), ("whole", None))
    for wrong in ("context", "whole:500", "topics:500"):
        with pytest.raises(ValueError, match="no page"):
            chosen_pages(wrong)
