"""What of a Claude Code session becomes turns, and what is counted and left out."""

import json
import os
from datetime import UTC, datetime

import polars as pl
import pytest

from slowwave.ingest.fences import FENCE_CLOSE, FENCE_OPEN
from slowwave.ingest.turns import READ_SCHEMA
from slowwave.schemas.identity import content_hash, stable_id
from tests.reading import read_path


def user(content, **fields):
    record = {
        "type": "user",
        "uuid": "u1",
        "sessionId": "s1",
        "timestamp": "2026-06-02T08:00:00Z",
        "message": {"role": "user", "content": content},
    }
    return {**record, **fields}


def assistant(*blocks, message_id="m1", **fields):
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    record = {
        "type": "assistant",
        "uuid": "a1",
        "sessionId": "s1",
        "timestamp": "2026-06-02T08:00:05Z",
        "message": {"role": "assistant", "id": message_id, "content": content},
    }
    return {**record, **fields}


def queued(prompt, **fields):
    """A message that was typed while the assistant worked; fields of the record or of what it holds."""
    own = {name: fields.pop(name) for name in ("uuid", "isSidechain", "timestamp") if name in fields}
    held = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt", **fields}
    record = {"type": "attachment", "uuid": "q1", "sessionId": "s1", "timestamp": "2026-06-02T08:00:03Z"}
    return {**record, "attachment": held, **own}


def write(folder, *lines, name="session.jsonl"):
    path = folder / name
    rendered = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"".join(line + b"\n" for line in rendered))
    return path


def test_a_turn_has_the_columns_of_the_table_and_says_where_it_comes_from(tmp_path):
    path = write(tmp_path, user("Hello", cwd="/src", gitBranch="main"), assistant("Hi"))
    reading = read_path(path)
    assert reading.turns.schema == READ_SCHEMA
    first, second = reading.turns.to_dicts()
    assert first == {
        "turn_id": stable_id("turn", "user", "u1", "2026-06-02T08:00:00+00:00"),
        "session_id": "s1",
        "turn_index": 0,
        "role": "user",
        "speaker": None,
        "content": "Hello",
        "origin": "user",
        "event_time": datetime(2026, 6, 2, 8, tzinfo=UTC),
        "source_type": "conversation",
        "source_id": path.as_posix(),
        "source_name": "session.jsonl",
        "cwd": "/src",
        "git_branch": "main",
        "content_hash": content_hash("Hello"),
    }
    assert (second["role"], second["origin"], second["speaker"], second["turn_index"]) == (
        "assistant",
        "agent",
        None,
        1,
    )


def test_lines_of_one_message_become_one_turn_with_the_time_of_the_first(tmp_path):
    path = write(
        tmp_path,
        assistant({"type": "thinking", "thinking": "hm"}),
        assistant("First.", uuid="a2", timestamp="2026-06-02T08:00:06Z"),
        user([{"type": "tool_result", "content": "x"}], uuid="u2", toolUseResult="x"),
        assistant("Second.", uuid="a3", timestamp="2026-06-02T08:00:07Z"),
    )
    (turn,) = read_path(path).turns.to_dicts()
    assert turn["content"] == "First.\n\nSecond."
    assert turn["event_time"] == datetime(2026, 6, 2, 8, 0, 5, tzinfo=UTC)


def test_a_message_that_grew_keeps_its_id_and_changes_its_hash(tmp_path):
    before = read_path(write(tmp_path, assistant("First."))).turns.row(0, named=True)
    after = read_path(write(tmp_path, assistant("First."), assistant("Second.", uuid="a2")))
    turn = after.turns.row(0, named=True)
    assert turn["turn_id"] == before["turn_id"]
    assert turn["content_hash"] != before["content_hash"]


def test_a_message_id_used_again_after_a_person_spoke_is_another_turn(tmp_path):
    path = write(
        tmp_path,
        assistant("One."),
        user("And?"),
        assistant("Two.", uuid="a2", timestamp="2026-06-02T09:00:00Z"),
    )
    turns = read_path(path).turns
    assert turns["content"].to_list() == ["One.", "And?", "Two."]
    assert turns["turn_id"].n_unique() == 3


def test_a_forked_session_file_repeats_the_same_ids(tmp_path):
    original = [user("Hello"), assistant("Hi")]
    forked = [{**record, "sessionId": "s2"} for record in original]
    first = read_path(write(tmp_path, *original, name="one.jsonl"))
    second = read_path(write(tmp_path, *forked, user("More", uuid="u2"), name="two.jsonl"))
    assert second.turns["turn_id"].to_list()[:2] == first.turns["turn_id"].to_list()
    both = read_path(write(tmp_path, *original, *forked, name="both.jsonl"))
    assert both.turns.height == 2
    assert both.skipped == {"repeated message": 2}


def test_the_same_synthetic_ids_in_unrelated_sessions_do_not_collide(tmp_path):
    one = read_path(write(tmp_path, user("A"), name="one.jsonl"))
    two = read_path(
        write(tmp_path, user("B", sessionId="s2", timestamp="2026-06-03T08:00:00Z"), name="two.jsonl")
    )
    timeless = [
        read_path(write(tmp_path, {k: v for k, v in user("A", sessionId=name).items() if k != "timestamp"}))
        for name in ("s1", "s2")
    ]
    ids = [reading.turns["turn_id"][0] for reading in (one, two, *timeless)]
    assert len(set(ids)) == 4


def test_all_branches_of_a_session_stay_in_file_order(tmp_path):
    path = write(
        tmp_path,
        user("Root", uuid="r"),
        user("Left", uuid="l", parentUuid="r"),
        user("Right", uuid="x", parentUuid="r"),
    )
    assert read_path(path).turns["content"].to_list() == ["Root", "Left", "Right"]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (user("x", isMeta=True), "meta"),
        (user("x", isSidechain=True), "sidechain"),
        (user("x", isCompactSummary=True), "compaction summary"),
        (
            user("This session is being continued from a previous conversation that ran out."),
            "compaction summary",
        ),
        (user("Error", toolUseResult="Error"), "tool result"),
        (user([{"type": "tool_result", "content": "x"}]), "tool result"),
        (user([{"type": "image", "source": {}}]), "image"),
        (user([{"type": "hologram"}]), "block without text"),
        (user([7]), "block without text"),
        (user("<command-name>/clear</command-name>"), "command"),
        (user("<command-message>x</command-message>\n<command-name>/x</command-name>"), "command"),
        (user("<local-command-stdout>done</local-command-stdout>"), "command"),
        (
            user("Caveat: The messages below were generated by the user while running local commands."),
            "command",
        ),
        (user("<system-reminder>be kind</system-reminder>"), "system reminder"),
        (user("[Request interrupted by user]"), "harness message"),
        (assistant("API Error: 529", isApiErrorMessage=True), "harness message"),
        (assistant({"type": "tool_use", "name": "Bash", "input": {}}), "tool use"),
        (assistant({"type": "thinking", "thinking": "hm"}), "thinking"),
        (user(None), "unreadable message"),
        (user("x", message="error"), "unreadable message"),
        ({"type": "summary", "summary": "x", "leafUuid": "y"}, "summary"),
        ({"type": "system", "content": "x", "uuid": "y"}, "system"),
        ({"type": "queue-operation", "operation": "dequeue"}, "queue-operation"),
        ({"type": "file-history-snapshot", "snapshot": {}}, "file-history-snapshot"),
        ({"type": "last-prompt", "lastPrompt": "x", "leafUuid": "y"}, "session record"),
        (user("x", origin={"kind": "task-notification"}), "harness message"),
        (queued("x", commandMode="task-notification"), "attachment"),
        (queued("x", origin={"kind": "channel"}), "attachment"),
        (queued("x", isMeta=True), "attachment"),
        (queued("x", isSidechain=True), "sidechain"),
        (
            {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": ["x"]}},
            "attachment",
        ),
        ({"type": "something-new"}, "session record"),
        ({"type": ["odd"]}, "session record"),
        ([1], "not an object"),
        (b"{nonsense", "unreadable line"),
        (user(f"{FENCE_OPEN}old{FENCE_CLOSE}"), "injected memory"),
        (user("   "), None),
    ],
)
def test_what_nobody_said_is_counted_and_left_out(tmp_path, record, reason):
    reading = read_path(write(tmp_path, user("Kept", uuid="kept"), record))
    assert reading.turns["content"].to_list() == ["Kept"]
    if reason is not None:
        assert reading.skipped[reason] == 1


def test_what_a_person_types_while_the_assistant_works_is_a_turn(tmp_path):
    path = write(
        tmp_path,
        user("Fire the kiln."),
        assistant({"type": "tool_use", "name": "Bash", "input": {}}),
        queued("Never above cone six.", origin={"kind": "human"}),
        queued([{"type": "text", "text": "And log it."}, {"type": "image", "source": {}}], uuid="q2"),
        assistant("Done."),
    )
    reading = read_path(path)
    assert reading.turns["content"].to_list() == [
        "Fire the kiln.",
        "Never above cone six.",
        "And log it.",
        "Done.",
    ]
    assert reading.turns["role"].to_list() == ["user", "user", "user", "assistant"]


def call(name, call_id="c1", **given):
    return assistant({"type": "tool_use", "id": call_id, "name": name, "input": given}, message_id=call_id)


def result(content, outcome, call_id="c1", **fields):
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}
    return user([block], uuid=f"r{call_id}", toolUseResult=outcome)


GLAZE = {
    "question": "Which glaze?",
    "header": "Glaze",
    "options": [{"label": "Celadon"}, {"label": "Tenmoku"}],
}
CONE = {"question": "Which cone?", "header": "Cone"}
REFUSED = (
    "The user doesn't want to proceed with this tool use. It was rejected: the user said:\nNever delete it."
)


def test_the_answers_to_the_assistants_questions_are_a_persons_words(tmp_path):
    one = {"questions": [GLAZE], "answers": {"Which glaze?": "Tenmoku"}}
    two = {"questions": [GLAZE, CONE], "answers": {"Which glaze?": "Celadon", "Which cone?": "Ten"}}
    path = write(
        tmp_path,
        call("AskUserQuestion", questions=[GLAZE]),
        result("Answered.", one),
        call("AskUserQuestion", "c2", questions=[GLAZE, CONE]),
        result("Answered.", two, "c2"),
        call("mcp__pots__ask", "c3", questions=[GLAZE]),
        result("Answered.", one, "c3"),
        result("Answered.", one, "c4"),
    )
    turns = read_path(path).turns
    assert turns.select("role", "content").rows() == [
        ("assistant", "Which glaze? (Celadon, Tenmoku)"),
        ("user", "Tenmoku"),
        ("assistant", "Which glaze? (Celadon, Tenmoku)\nWhich cone?"),
        ("user", "Celadon\nTen"),
    ]


def test_the_reason_of_a_refusal_is_a_persons_word_where_no_server_can_have_said_it(tmp_path):
    path = write(
        tmp_path,
        call("Bash"),
        result(REFUSED, f"Error: {REFUSED}", is_error=True),
        call("mcp__pots__fire", "c2"),
        result(REFUSED.replace("it", "all"), "Error", "c2", is_error=True),
        call("Bash", "c3"),
        result(f"Exit code 1\n{REFUSED}", "Error", "c3", is_error=True),
        call("Bash", "c4"),
        result(REFUSED, {"stdout": REFUSED}, "c4", is_error=False),
    )
    assert read_path(path).turns["content"].to_list() == ["Never delete it."]


def test_reminders_inside_a_typed_text_are_cut_out_of_it(tmp_path):
    path = write(tmp_path, user("Do it.\n<system-reminder>\nsecret plan\n</system-reminder>\nNow."))
    assert "plan" not in read_path(path).turns["content"][0]
    quoted = write(tmp_path, user("What is a <system-reminder> tag?"))
    assert read_path(quoted).turns["content"][0] == "What is a <system-reminder> tag?"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-06-02T08:00:00.250Z", datetime(2026, 6, 2, 8, 0, 0, 250000, tzinfo=UTC)),
        ("2026-06-02T10:00:00+02:00", datetime(2026, 6, 2, 8, tzinfo=UTC)),
        ("2026-06-02T08:00:00", datetime(2026, 6, 2, 8, tzinfo=UTC)),
        (1780387200000, datetime(2026, 6, 2, 8, tzinfo=UTC)),
        (1780387200, datetime(2026, 6, 2, 8, tzinfo=UTC)),
        ("1780387200000", datetime(2026, 6, 2, 8, tzinfo=UTC)),
    ],
)
def test_times_of_every_form_are_utc(tmp_path, written, read):
    assert read_path(write(tmp_path, user("x", timestamp=written))).turns["event_time"][0] == read


@pytest.mark.parametrize("odd", [None, "yesterday", -1, 1e300, float("nan"), True, [], "9" * 400])
def test_a_missing_time_is_the_last_known_one_else_that_of_the_file(tmp_path, odd):
    path = write(
        tmp_path, user("A", uuid="a", timestamp=odd), user("B", uuid="b"), user("C", uuid="c", timestamp=odd)
    )
    os.utime(path, (1_700_000_000, 1_700_000_000))
    first, second, third = read_path(path).turns["event_time"].to_list()
    assert first == datetime.fromtimestamp(1_700_000_000, UTC)
    assert second == third == datetime(2026, 6, 2, 8, tzinfo=UTC)


def test_an_id_never_depends_on_the_time_of_the_file(tmp_path):
    path = write(tmp_path, user("A", timestamp=None))
    before = read_path(path).turns["turn_id"][0]
    os.utime(path, (1, 1))
    assert read_path(path).turns["turn_id"][0] == before


def test_damaged_text_is_mended_and_kept(tmp_path):
    path = tmp_path / "session.jsonl"
    line = json.dumps(user("X and \ud83d and \x00 and Y", cwd="/a\ud83d")).encode().replace(b"X", b"na\xefve")
    path.write_bytes(b"\xef\xbb\xbf" + line + b"\r\n\x00\x00\n")
    reading = read_path(path)
    assert reading.turns["content"][0] == "na\ufffdve and \ufffd and  and Y"
    assert reading.turns["cwd"][0] == "/a\ufffd"
    assert reading.skipped == {"line that is not UTF-8": 1}


def test_secrets_go_from_the_text_and_from_what_stands_around_it(tmp_path):
    key = "ghp_" + "aB3dE5gH7jK9mN2pQ4sT6vW8xY1zA3cD5eF7"
    path = write(tmp_path, user(f"use {key}", cwd=f"/src/{key}", gitBranch=f"try-{key}"))
    reading = read_path(path)
    assert reading.redacted == {"github": 3}
    assert key not in reading.turns.select(pl.exclude("source_id")).write_csv()


def test_messages_without_any_id_are_told_apart_by_their_position(tmp_path):
    records = [{k: v for k, v in user("same").items() if k != "uuid"} for _ in range(3)]
    reading = read_path(write(tmp_path, *records))
    assert reading.turns["turn_id"].to_list() == [stable_id("turn", "s1", "user", str(n)) for n in range(3)]
