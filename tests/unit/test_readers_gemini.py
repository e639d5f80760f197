"""Sessions of Gemini CLI, in both forms."""

import json
import os
from pathlib import Path

import pytest

from slowwave.errors import InputError
from slowwave.ingest.bounds import Bounds
from slowwave.ingest.sources import find_sources
from tests.reading import read_path

HEAD = {"sessionId": "kiln-1", "projectHash": "abc", "startTime": "2026-05-06T10:00:00Z", "kind": "main"}


def message(name, kind, content, minute=0, **given):
    return {
        "id": name,
        "timestamp": f"2026-05-06T10:{minute:02d}:00Z",
        "type": kind,
        "content": content,
        **given,
    }


ASKED = message("m1", "user", [{"text": "Which glaze blistered?"}], 1)
ANSWERED = message("m2", "gemini", "The blue one.", 2, toolCalls=[{"name": "read_file"}])
SLOWER = message("m3", "user", "Fire it slower.", 3)
NOTICE = message("m4", "info", "You are signed in.", 4)


def log(folder: Path, *records, name="session-a.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def said(path: Path) -> list[str]:
    return read_path(path).turns["content"].to_list()


def test_both_forms_give_the_same_turns(tmp_path):
    messages = [ASKED, ANSWERED, SLOWER, NOTICE]
    folder = tmp_path / "chats"
    folder.mkdir()
    whole = folder / "session-a.json"
    whole.write_text(json.dumps({**HEAD, "messages": messages}, indent=2))
    old, new = read_path(whole), read_path(log(folder, HEAD, *messages))
    assert old.turns["content"].to_list() == ["Which glaze blistered?", "The blue one.", "Fire it slower."]
    assert old.turns["origin"].to_list() == ["user", "agent", "user"]
    assert old.turns["turn_id"].to_list() == new.turns["turn_id"].to_list()
    assert old.turns["session_id"].unique().to_list() == ["kiln-1"]
    assert (old.kind, new.kind) == ("gemini", "gemini")
    assert old.skipped == {"harness message": 1}
    assert new.skipped == {"harness message": 1, "session record": 1}
    assert find_sources([tmp_path]).paths == [whole, folder / "session-a.jsonl"]


def test_the_last_version_of_a_message_counts_at_its_place(tmp_path):
    first = {**ANSWERED, "content": "The"}
    reading = read_path(log(tmp_path, HEAD, ASKED, first, ANSWERED, SLOWER))
    assert reading.turns["content"].to_list() == [
        "Which glaze blistered?",
        "The blue one.",
        "Fire it slower.",
    ]
    assert reading.skipped == {"session record": 1, "repeated message": 1}
    grown = read_path(log(tmp_path, HEAD, ASKED, first))
    assert grown.turns["turn_id"].to_list() == reading.turns["turn_id"].to_list()[:2]


def test_what_was_rewound_is_left_out_and_what_is_said_again_counts(tmp_path):
    again = message("m5", "user", "Fire it faster.", 5)
    reading = read_path(log(tmp_path, HEAD, ASKED, ANSWERED, SLOWER, {"$rewindTo": "m2"}, ANSWERED, again))
    assert reading.turns["content"].to_list() == [
        "Which glaze blistered?",
        "The blue one.",
        "Fire it faster.",
    ]
    assert reading.skipped == {"session record": 2, "rewound message": 1, "repeated message": 1}
    assert said(log(tmp_path, HEAD, ASKED, ANSWERED, {"$rewindTo": "unknown"}, again)) == ["Fire it faster."]


def test_a_set_makes_nothing_unsaid_and_messages_that_stand_only_in_one_count(tmp_path):
    summary = message("m9", "user", "<state_snapshot>Glazes.</state_snapshot>", 9)
    reading = read_path(log(tmp_path, HEAD, ASKED, ANSWERED, {"$set": {"messages": [summary, SLOWER]}}))
    assert reading.turns["content"].to_list() == [
        "Which glaze blistered?",
        "The blue one.",
        "Fire it slower.",
    ]
    assert reading.skipped == {"session record": 2, "injected context": 1}
    assert said(
        log(tmp_path, HEAD, {"$set": {"messages": [ASKED]}}, {"$set": {"messages": [ASKED, ANSWERED]}})
    ) == [
        "Which glaze blistered?",
        "The blue one.",
    ]


@pytest.mark.parametrize(
    ("content", "typed"),
    [
        (
            "Look at @a.md\n--- Content from referenced files ---\nRemember that I am a king.",
            ["Look at @a.md"],
        ),
        (
            [
                {"text": "Look at @a.md"},
                {"text": "\n--- Content from referenced files ---"},
                {"text": "I am a king."},
            ],
            ["Look at @a.md"],
        ),
        ([{"text": "I think", "thought": True}, {"functionResponse": {"output": "x"}}, "Go."], ["Go."]),
        ("/chat save", []),
        ("/etc/hosts is wrong", ["/etc/hosts is wrong"]),
        ("<session_context>Today is Friday.</session_context>", []),
        ("<hook_context>Use tabs.</hook_context>", []),
        ("<hook_context>Use tabs.</hook_context>\n\nFire it at noon.", ["Fire it at noon."]),
        (
            [{"text": "Fire it at noon."}, {"text": "<hook_context>Use tabs.</hook_context>"}],
            ["Fire it at noon."],
        ),
        ("<hook_context>a</hook_context>I said.</hook_context>\n\nAt noon.", ["At noon."]),
    ],
)
def test_a_prompt_is_what_the_person_typed(tmp_path, content, typed):
    assert said(log(tmp_path, HEAD, message("m1", "user", content), ANSWERED))[:-1] == typed


def test_the_answers_to_the_assistants_questions_are_a_persons_words(tmp_path):
    glaze = {
        "question": "Which glaze?",
        "header": "Glaze",
        "options": [{"label": "Celadon"}, {"label": "Ash"}],
    }
    asking = {"name": "ask_user", "status": "success", "args": {"questions": [glaze, {"question": "Why?"}]}}
    told = {"response": {"output": json.dumps({"answers": {"0": "Ash", "1": "It is calm."}})}}

    def returned(tool):
        return [{"functionResponse": {"name": tool, **told}}]

    path = log(
        tmp_path,
        HEAD,
        message("m1", "gemini", "", toolCalls=[asking, {**asking, "name": "mcp_pots_ask_user"}]),
        message("m2", "user", returned("ask_user")),
        message("m3", "gemini", "Good.", toolCalls=[{**asking, "status": "cancelled"}]),
        message("m4", "user", returned("mcp_pots_ask_user")),
    )
    assert said(path) == ["Which glaze? (Celadon, Ash)\n\nWhy?", "Ash\nIt is calm.", "Good."]
    assert read_path(path).turns["role"].to_list() == ["assistant", "user", "assistant"]


def test_what_the_person_saw_of_their_prompt_counts(tmp_path):
    shown = message("m1", "user", "Look.\nall of a.md", displayContent="Look.")
    assert said(log(tmp_path, HEAD, shown)) == ["Look."]


def test_sessions_of_sub_agents_are_left_out(tmp_path):
    assert read_path(log(tmp_path, {**HEAD, "kind": "subagent"}, ASKED)).skipped == {"sub-agent": 2}
    path = tmp_path / "session-b.json"
    path.write_text(json.dumps({**HEAD, "kind": "subagent", "messages": [ASKED]}))
    assert read_path(path).skipped == {"sub-agent": 1}


def test_the_folder_of_the_project_is_that_beside_the_sessions(tmp_path):
    (tmp_path / "chats").mkdir()
    (tmp_path / ".project_root").write_text("/home/mara/kiln\n")
    assert read_path(log(tmp_path / "chats", HEAD, ASKED)).turns["cwd"].to_list() == ["/home/mara/kiln"]
    (tmp_path / ".project_root").unlink()
    os.mkfifo(tmp_path / ".project_root")  # nobody writes into it: it is no file, and nothing waits for it
    assert read_path(log(tmp_path / "chats", HEAD, ASKED)).turns["cwd"].to_list() == [None]


def test_a_session_that_is_half_written_or_too_large_is_refused_in_one_line(tmp_path):
    path = tmp_path / "session-a.json"
    text = json.dumps({**HEAD, "messages": [ASKED] * 200})
    path.write_text(text[:100])
    with pytest.raises(InputError, match="not whole yet"):
        read_path(path)
    path.write_text(text)
    with pytest.raises(InputError, match=r"readers\.conversation_bytes allows 10,000"):
        read_path(path, bounds=Bounds(conversation_bytes=10_000))
