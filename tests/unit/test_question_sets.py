"""Question sets are read in two forms, and what is wrong with a file is said in one line."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.question_sets import read_question_set
from slowwave.errors import InputError

TURN = {"id": "a1", "content": "Kiln 2 runs at 1040 degrees.", "timestamp": "2026-06-05T09:00:00Z"}
LOCOMO = {
    "sample_id": "pottery",
    "conversation": {
        "speaker_a": "Mara",
        "speaker_b": "Ilya",
        "session_1_date_time": "1:56 pm on 8 May, 2026",
        "session_1": [
            {"dia_id": "D1:1", "speaker": "Mara", "text": "Look at this.", "blip_caption": "a red bowl"},
            {"dia_id": "D1:2", "speaker": "Ilya", "text": "The glaze is new."},
        ],
        "session_2_date_time": "9:05 am on 1 June, 2026",
    },
    "observation": {"session_1_observation": {"Mara": [["Mara made a red bowl.", "D1:1"]]}},
    "qa": [
        {"question": "What did Mara show?", "answer": "a bowl", "evidence": ["D1:1; D1:2"], "category": 4},
        {"question": "What is new?", "answer": "glaze", "evidence": ["D1:2 D1:9", "D1:2"], "category": 2},
    ],
}


def written(folder: Path, content: object) -> Path:
    path = folder / "set.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_our_form_is_read_whole(tmp_path):
    given = {
        "conversations": [
            {
                "name": "kiln",
                "sessions": [{"session_id": "june", "turns": [{**TURN, "speaker": "Mara"}]}],
                "memories": [{"content": "Kiln 2 is hot.", "evidence": ["a1"]}],
                "questions": [
                    {
                        "question": "How hot is it?",
                        "evidence": "a1, a2",
                        "category": "number",
                        "asked_at": "2026-07-01T02:00:00+02:00",
                    }
                ],
            }
        ]
    }
    (found,) = read_question_set(written(tmp_path, given)).conversations
    assert found.sessions[0].turns[0].speaker == "Mara"
    assert found.memories[0].evidence == ("a1",)
    assert found.questions[0].evidence == ("a1", "a2")
    assert found.questions[0].asked_at == datetime(2026, 7, 1, tzinfo=UTC)


def test_questions_alone_ask_about_a_home_that_is_there(tmp_path):
    found = read_question_set(
        written(tmp_path, {"questions": [{"question": "How hot?", "evidence": ["t1"]}]})
    )
    assert not found.brings_sessions
    assert found.conversations[0].questions[0].category == "all"


def test_locomo_is_read_into_the_same_form(tmp_path):
    (found,) = read_question_set(written(tmp_path, [LOCOMO])).conversations
    assert found.name == "pottery"
    (session,) = found.sessions
    assert [turn.content for turn in session.turns] == [
        "Look at this. [shares a picture: a red bowl]",
        "The glaze is new.",
    ]
    assert [turn.role for turn in session.turns] == ["user", "user"]
    assert session.turns[0].timestamp == datetime(2026, 5, 8, 13, 56, tzinfo=UTC)
    assert [(memory.content, memory.evidence) for memory in found.memories] == [
        ("Mara made a red bowl.", ("D1:1",))
    ]
    assert [(question.category, question.evidence) for question in found.questions] == [
        ("single-hop", ("D1:1", "D1:2")),
        ("temporal", ("D1:2", "D1:9")),
    ]


@pytest.mark.parametrize("text", ["D1:1;D1:2", "D1:1, D1:2", " D1:1  D1:2 ", "D1:1;,D1:2;"])
def test_ids_may_be_split_by_semicolons_commas_or_blanks(tmp_path, text):
    asked = {"questions": [{"question": "What?", "evidence": [text]}]}
    found = read_question_set(written(tmp_path, asked))
    assert found.conversations[0].questions[0].evidence == ("D1:1", "D1:2")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("no json", "is not JSON"),
        ({"conversations": []}, "conversations: "),
        ([{"sessions": []}], "entry 0 of the list has no `conversation` and `qa`"),
        ({"questions": [{"question": ""}]}, "conversations.0.questions.0.question"),
        ({"questions": [{"question": "What?", "evidence": [7]}]}, "questions.0.evidence"),
        ({"questions": [{"question": "What?", "when": "now"}]}, "questions.0.when"),
        ({"questions": [{"question": "What?", "asked_at": "soon"}]}, "questions.0.asked_at"),
        (
            {"questions": [], "sessions": [{"session_id": "s", "turns": [TURN, TURN]}]},
            "the turn id 'a1' stands twice",
        ),
        (
            [{**LOCOMO, "conversation": {**LOCOMO["conversation"], "session_1_date_time": "May"}}],
            "`session_1_date_time` is 'May'",
        ),
    ],
)
def test_a_file_that_is_no_question_set_is_refused_in_one_line(tmp_path, content, says):
    with pytest.raises(InputError) as caught:
        read_question_set(written(tmp_path, content))
    message = str(caught.value)
    assert says in message
    assert "set.json" in message
    assert "\n" not in message


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="nothing.json"):
        read_question_set(tmp_path / "nothing.json")


def test_locomo_itself_can_be_read(shared_data):
    found = read_question_set(shared_data / "locomo" / "locomo_dev.json")
    assert len(found.conversations) == 5
    assert sum(len(conversation.questions) for conversation in found.conversations) == 999


def test_locomos_answers_are_read_and_adversarial_questions_have_none(tmp_path):
    asked = [
        {"question": "What is new?", "answer": 2, "evidence": ["D1:2"], "category": 1},
        {
            "question": "What did Ilya lose?",
            "adversarial_answer": "a bowl",
            "evidence": ["D1:2"],
            "category": 5,
        },
    ]
    (found,) = read_question_set(written(tmp_path, [{**LOCOMO, "qa": asked}])).conversations
    assert [(one.answer, one.is_answerable) for one in found.questions] == [("2", True), (None, False)]


def test_turns_of_a_session_with_one_time_follow_each_other(tmp_path):
    (found,) = read_question_set(written(tmp_path, [LOCOMO])).conversations
    first, second = (turn.timestamp for turn in found.sessions[0].turns)
    assert first < second
    assert (second - first).total_seconds() < 60


HAYSTACK = {
    "question_id": "q1",
    "question_type": "knowledge-update",
    "question": "How hot is kiln 2?",
    "answer": 1040,
    "question_date": "2026/06/09 (Tue) 10:05",
    "haystack_session_ids": ["a", "b", "a"],
    "haystack_dates": ["2026/06/01 (Mon) 09:00", "2026/06/02 (Tue) 23:40", "2026/06/03 (Wed) 08:00"],
    "haystack_sessions": [
        [{"role": "user", "content": "Hello."}],
        [
            {"role": "user", "content": "Kiln 2 runs at 1040 degrees.", "has_answer": True},
            {"role": "assistant", "content": "Noted.", "has_answer": False},
        ],
        [{"role": "user", "content": "It rains."}, {"role": "user", "content": ""}],
    ],
    "answer_session_ids": ["b"],
}


def test_longmemevals_form_is_one_conversation_a_question(tmp_path):
    (found,) = read_question_set(written(tmp_path, [HAYSTACK])).conversations
    assert [session.session_id for session in found.sessions] == ["a", "b", "a-2"]
    assert [turn.role for turn in found.sessions[1].turns] == ["user", "assistant"]
    assert [len(session.turns) for session in found.sessions] == [1, 2, 1]
    (question,) = found.questions
    assert question.evidence == (found.sessions[1].turns[0].id,)
    assert (question.answer, question.category, question.is_answerable) == ("1040", "knowledge-update", True)
    assert question.asked_at == datetime(2026, 6, 9, 10, 5, tzinfo=UTC)
    assert found.sessions[1].turns[0].timestamp == datetime(2026, 6, 2, 23, 40, tzinfo=UTC)


def test_without_marked_turns_the_whole_session_that_answers_is_the_evidence(tmp_path):
    sessions = [[{"role": turn["role"], "content": turn["content"]} for turn in said] for said in
                HAYSTACK["haystack_sessions"]]  # fmt: skip
    entry = {**HAYSTACK, "haystack_sessions": sessions, "question_id": "q1_abs"}
    (found,) = read_question_set(written(tmp_path, [entry])).conversations
    assert found.questions[0].evidence == tuple(turn.id for turn in found.sessions[1].turns)
    assert not found.questions[0].is_answerable


def test_a_date_that_longmemeval_does_not_write_is_told(tmp_path):
    entry = {**HAYSTACK, "question_date": "June"}
    with pytest.raises(InputError, match=r"entry 0 has the date 'June'"):
        read_question_set(written(tmp_path, [entry]))


def test_jsonl_has_one_conversation_a_line(tmp_path):
    lines = [
        json.dumps({"name": name, "questions": [{"question": "Who?", "evidence": ["t1"]}]}) for name in "ab"
    ]
    found = read_question_set(written(tmp_path, "\n".join(lines)))
    assert [one.name for one in found.conversations] == ["a", "b"]
