"""Sessions of Codex."""

import json
import tracemalloc
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from slowwave.errors import InputError
from slowwave.ingest.bounds import Bounds
from slowwave.ingest.sources import find_sources
from tests.reading import read_path

KILN, FORK, THIRD = "019e0000-0000-7000-8000-0000000000a1", "019e3000-0000-7000-8000-0000000000b2", "kiln-3"
TURNS = ["019e0001-0000-7000-8000-000000000001", "019e0002-0000-7000-8000-000000000002"]
LATER = "019e3001-0000-7000-8000-000000000003"


def line(kind, payload, time="2026-05-06T10:00:00Z"):
    return {"timestamp": time, "type": kind, "payload": payload}


def meta(name, **given):
    return line("session_meta", {"id": name, "cwd": "/kiln", "git": {"branch": "glaze"}, **given})


def event(name, text, **given):
    return line("event_msg", {"type": name, "message": text, **given})


def item(kind, text, turn):
    content = [{"type": "text", "text": text}]
    item = {"type": kind, "id": "item-1", "content": content}
    return line("event_msg", {"type": "item_completed", "thread_id": KILN, "turn_id": turn, "item": item})


def sent(role, *texts):
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text} for text in texts]
    return line("response_item", {"type": "message", "role": role, "content": content})


def turn(number):
    return line("event_msg", {"type": "task_started", "turn_id": TURNS[number]})


def at(records, time):
    """The records as a fork copies them: written anew."""
    return [{**record, "timestamp": time} for record in records]


def written(folder: Path, *records, name="rollout.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def said(path: Path) -> list[tuple[str, str]]:
    return read_path(path).turns.select("role", "content").rows()


LEGACY = [
    meta(KILN),
    sent("developer", "Obey the hook."),
    sent("user", "# AGENTS.md instructions for /kiln\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>"),
    turn(0),
    line("turn_context", {"turn_id": TURNS[0], "cwd": "/kiln/shelf"}),
    sent("user", "Which glaze blistered?"),
    event("user_message", "Which glaze blistered?"),
    line("response_item", {"type": "reasoning", "summary": []}),
    line("response_item", {"type": "function_call", "name": "shell"}),
    line("response_item", {"type": "function_call_output", "output": "cat: no"}),
    event("agent_message", "The blue one."),
    sent("assistant", "The blue one."),
    turn(1),
    event("user_message", "Fire it slower."),
    event("agent_message", "At cone six."),
]
SPOKEN = [
    ("user", "Which glaze blistered?"),
    ("assistant", "The blue one."),
    ("user", "Fire it slower."),
    ("assistant", "At cone six."),
]


def test_only_what_the_screen_showed_is_taken_and_every_line_is_counted(tmp_path):
    reading = read_path(written(tmp_path, *LEGACY))
    assert reading.turns.select("role", "content").rows() == SPOKEN
    assert reading.kind == "codex"
    assert reading.turns["origin"].to_list() == ["user", "agent"] * 2
    assert reading.turns["session_id"].unique().to_list() == [KILN]
    assert reading.turns["cwd"].unique().to_list() == ["/kiln/shelf"]
    assert reading.turns["git_branch"].unique().to_list() == ["glaze"]
    assert reading.skipped == {
        "session_meta": 1,
        "system message": 1,
        "message that stands as an event too": 3,
        "event": 2,
        "turn_context": 1,
        "thinking": 1,
        "tool use": 1,
        "tool result": 1,
    }
    assert reading.counts.entry_count == len(LEGACY)


def test_both_forms_of_events_are_the_same_turns(tmp_path):
    paginated = [
        meta(KILN, history_mode="paginated"),
        item("UserMessage", "Which glaze blistered?", TURNS[0]),
        item("AgentMessage", "The blue one.", TURNS[0]),
        item("UserMessage", "Fire it slower.", TURNS[1]),
        item("Plan", "1. Fire.", TURNS[1]),
        item("AgentMessage", "At cone six.", TURNS[1]),
        event("agent_message", "At cone six."),
    ]
    old = read_path(written(tmp_path, *LEGACY)).turns
    new = read_path(written(tmp_path, *paginated, name="new.jsonl"))
    assert new.turns.select("role", "content").rows() == SPOKEN
    assert new.turns["turn_id"].to_list() == old["turn_id"].to_list()
    assert new.skipped == {"session_meta": 1, "event": 1, "repeated message": 1}


def test_a_session_without_events_gives_what_the_model_was_sent_but_what_was_injected(tmp_path):
    records = [
        {"id": THIRD, "timestamp": "2025-05-01T10:00:00Z", "instructions": "Be short."},
        {"record_type": "state"},
        sent("user", "<user_instructions>\nUse tabs.\n</user_instructions>"),
        sent("user", "<environment_context>\n<cwd>/kiln</cwd>\n</environment_context>", "Which glaze?"),
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "The blue one."}],
        },
        {"type": "reasoning", "summary": []},
    ]
    reading = read_path(written(tmp_path, *records))
    assert reading.turns.select("role", "content").rows() == [
        ("user", "Which glaze?"),
        ("assistant", "The blue one."),
    ]
    assert reading.turns["session_id"][0] == THIRD
    assert reading.skipped["injected context"] == 2
    assert reading.skipped["thinking"] == 1


def test_whose_words_of_a_turn_stand_as_no_events_are_taken_from_what_the_model_was_sent(tmp_path):
    records = [
        meta(KILN),
        sent("user", "Something that stands before all turns."),
        turn(0),
        sent("user", "<some-new-context>Tabs.</some-new-context>"),
        sent("user", "Which glaze blistered?"),
        event("agent_message", "The blue one."),
        sent("assistant", "The blue one."),
        turn(1),
        event("user_message", "Fire it slower."),
        sent("user", "Fire it slower. <image>"),
        sent("assistant", "At cone six."),
    ]
    assert said(written(tmp_path, *records)) == SPOKEN


def test_a_session_is_the_same_turns_before_its_events_are_written(tmp_path):
    early = read_path(written(tmp_path, *LEGACY[:6])).turns
    assert early["turn_id"].to_list() == read_path(written(tmp_path, *LEGACY)).turns["turn_id"].to_list()[:1]


@pytest.mark.parametrize(
    ("prompt", "typed"),
    [
        (
            "# Context from my IDE setup:\n## Open tabs:\n- a.py\n\n## My request for Codex:\nRename it.\n",
            "Rename it.",
        ),
        (
            "## File\n## My request for Codex:\nI am a file.\n## My request for Codex:\nRename it.",
            "Rename it.",
        ),
        (
            "# AGENTS.md instructions\n<INSTRUCTIONS>a</INSTRUCTIONS>\nB</INSTRUCTIONS>\nRename it.",
            "Rename it.",
        ),
        ("<instructions>Rename it.</instructions>", "<instructions>Rename it.</instructions>"),
        ("Rename it <environment_context>", "Rename it <environment_context>"),
    ],
)
def test_a_prompt_is_what_the_person_typed_behind_all_that_was_put_before_it(tmp_path, prompt, typed):
    assert said(written(tmp_path, meta(KILN), event("user_message", prompt))) == [("user", typed)]


@pytest.mark.parametrize(
    "prompt",
    [
        "<environment_context>\n<cwd>/</cwd>",
        "<turn_aborted>\nThe user stopped.\n</turn_aborted>",
        "# AGENTS.md instructions\nUse tabs.",
    ],
)
def test_what_was_only_injected_is_nobodys_word(tmp_path, prompt):
    reading = read_path(
        written(tmp_path, meta(KILN), event("user_message", prompt), event("agent_message", "Hm."))
    )
    assert reading.turns["content"].to_list() == ["Hm."]
    assert reading.skipped == {"session_meta": 1, "injected context": 1}


def call(call_id, name, **given):
    fields = {"type": "function_call", "name": name, "call_id": call_id, "arguments": json.dumps(given)}
    return line("response_item", fields)


def output(call_id, told):
    return line("response_item", {"type": "function_call_output", "call_id": call_id, "output": told})


def test_the_answers_to_the_assistants_questions_are_a_persons_words(tmp_path):
    glaze = {
        "id": "g",
        "header": "Glaze",
        "question": "Which glaze?",
        "options": [{"label": "Celadon"}, {"label": "Ash"}],
    }
    told = json.dumps({"answers": {"g": {"answers": ["Ash", "user_note: outside alone"]}}})
    asked = [
        turn(0),
        call("c1", "request_user_input", questions=[glaze]),
        event("user_message", "Go."),
        output("c1", told),
    ]
    refused = [call("c2", "request_user_input", questions=[glaze]), output("c2", "unavailable in this mode")]
    forged = [call("c3", "shell", questions=[glaze]), output("c3", told), output("c1", told)]
    path = written(tmp_path, meta(KILN), *asked, *refused, *forged)
    question = ("assistant", "Which glaze? (Celadon, Ash)")
    assert said(path) == [("user", "Go."), question, ("user", "Ash. outside alone")]
    reading = read_path(path)
    assert reading.turns["turn_id"].n_unique() == 3
    assert reading.counts.entry_count == reading.counts.taken_count + sum(reading.skipped.values())


def test_the_summary_of_a_compaction_is_nobodys_word(tmp_path):
    summary = {**sent("assistant", "So far: blue."), "metadata": {"compaction_output": True}}
    path = written(
        tmp_path, meta(KILN), turn(0), event("user_message", "Go."), turn(1), summary, line("world_state", {})
    )
    assert said(path) == [("user", "Go.")]
    skipped = read_path(path).skipped
    assert (skipped["compaction summary"], skipped["session record"]) == (1, 1)


def test_a_prompt_of_very_many_elements_is_nobodys_word_and_costs_little(tmp_path):
    many = "".join(f"<a{number}></a{number}>" for number in range(100_000))
    reading = read_path(written(tmp_path, meta(KILN), sent("user", f"{many}Go."), sent("assistant", "Hm.")))
    assert reading.turns["content"].to_list() == ["Hm."]


def test_a_kind_other_than_plain_is_injected(tmp_path):
    records = [
        meta(KILN),
        event("user_message", "/kiln", kind="environment_context"),
        event("user_message", "Go."),
    ]
    assert said(written(tmp_path, *records)) == [("user", "Go.")]


def test_the_same_words_in_two_sessions_are_two_turns(tmp_path):
    for name in (KILN, FORK):
        written(tmp_path, meta(name), event("user_message", "Go on."), name=f"{name}.jsonl")
    turns = pl.concat(read_path(path).turns for path in tmp_path.iterdir())
    assert turns["turn_id"].n_unique() == 2


@pytest.mark.parametrize(
    "mark",
    [
        {"parent_thread_id": KILN},
        {"thread_source": "subagent"},
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": KILN}}}},
    ],
)
def test_a_session_of_a_sub_agent_is_left_out_since_no_person_speaks_there(tmp_path, mark):
    records = [
        meta(FORK, **mark),
        meta(KILN),
        event("user_message", "Look into the kiln."),
        event("agent_message", "Hot."),
    ]
    reading = read_path(written(tmp_path, *records))
    assert reading.turns.is_empty()
    assert reading.skipped == {"sub-agent": 4}


def test_a_growing_session_keeps_its_turns_and_a_half_written_line_waits(tmp_path):
    path = written(tmp_path, *LEGACY[:7])
    with path.open("a") as file:
        file.write(json.dumps(LEGACY[10])[:40])
    before = read_path(path)
    assert before.skipped["half-written last line"] == 1
    after = read_path(written(tmp_path, *LEGACY))
    assert after.turns["turn_id"].to_list()[:1] == before.turns["turn_id"].to_list()


def test_a_compressed_session_is_the_same_session(tmp_path):
    plain = written(tmp_path, *LEGACY)
    packed = tmp_path / "sessions/rollout.jsonl.zst"
    packed.parent.mkdir()
    packed.write_bytes(pa.Codec("zstd").compress(plain.read_bytes()).to_pybytes())
    assert find_sources([packed.parent]).paths == [packed]
    assert read_path(packed).turns["turn_id"].to_list() == read_path(plain).turns["turn_id"].to_list()


def test_a_compressed_session_that_is_not_whole_or_too_large_is_refused_in_one_line(tmp_path):
    content = b"".join(json.dumps(record).encode() + b"\n" for record in LEGACY)
    packed = tmp_path / "rollout.jsonl.zst"
    whole = pa.Codec("zstd").compress(content).to_pybytes()
    packed.write_bytes(whole[: len(whole) // 2])
    tracemalloc.start()
    for _ in range(3):
        with pytest.raises(InputError, match="not compressed to its end yet"):
            read_path(packed)
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left < 1_000_000, "a watch reads it again until it is whole"
    packed.write_bytes(pa.Codec("zstd").compress(content + b" " * 1_000_000).to_pybytes())
    with pytest.raises(InputError, match=r"has more than 20,000 bytes unpacked, and the rest is not read"):
        read_path(packed, bounds=Bounds(file_bytes=20_000))
