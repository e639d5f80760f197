"""Exports of ChatGPT and Claude.ai, bare and in ZIP archives."""

import json
import struct
import zipfile
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from slowwave.errors import InputError
from slowwave.ingest.bounds import Bounds
from slowwave.ingest.formats.archive import split
from tests.reading import read_path


def node(name, parent, *children, role="user", parts=("",), kind="text", time=None, **more):
    message = None
    if role:
        message = {
            "id": name,
            "author": {"role": role},
            "create_time": time,
            "content": {"content_type": kind, "parts": list(parts)},
            "metadata": more.pop("metadata", {}),
            **more,
        }
    return {name: {"id": name, "parent": parent, "children": list(children), "message": message}}


def tree(**more):
    """A conversation whose answer was asked for again: the second one is read."""
    nodes = {
        **node("root", None, "system", role=None),
        **node("system", "root", "about", role="system", parts=["Be kind."]),
        **node("about", "system", "q1", kind="user_editable_context", parts=["I am a potter."]),
        **node("q1", "about", "a1", "a2", parts=["Which glaze blisters?"], time=1_780_000_000.5),
        **node("a1", "q1", role="assistant", parts=["The white one."], time=1_780_000_009),
        **node("a2", "q1", "t1", role="assistant", parts=["The blue one."]),
        **node("t1", "a2", "x1", role="tool", parts=["[search]"]),
        **node("x1", "t1", "c1", role="assistant", kind="thoughts", parts=["Hm."]),
        **node("c1", "x1", "h1", role="assistant", kind="code", parts=["run()"], recipient="python"),
        **node("h1", "c1", "q2", metadata={"is_visually_hidden_from_conversation": True}, parts=["x"]),
        **node("q2", "h1", kind="multimodal_text", parts=[{"asset_pointer": "file"}, "See this pot."]),
    }
    return {
        "id": "talk-1",
        "title": "Glazes",
        "create_time": 1_779_999_999,
        "current_node": "q2",
        "mapping": nodes,
    } | more


def write(folder, conversations, name="conversations.json"):
    path = folder / name
    path.write_text(json.dumps(conversations))
    return path


def pack(folder, members, name="export.zip"):
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, value in members.items():
            archive.writestr(member, value if isinstance(value, bytes) else json.dumps(value))
    return path


def test_the_branch_that_was_read_is_taken_and_all_else_is_counted(tmp_path):
    reading = read_path(write(tmp_path, [tree()]))
    assert reading.kind == "chatgpt"
    assert reading.turns.select("role", "content").rows() == [
        ("user", "Which glaze blisters?"),
        ("assistant", "The blue one."),
        ("user", "See this pot."),
    ]
    assert reading.turns["session_id"].unique().to_list() == ["talk-1"]
    first = datetime.fromtimestamp(1_780_000_000.5, UTC)
    assert reading.turns["event_time"].to_list() == [first] * 3  # the later ones have no time of their own
    assert reading.skipped == {
        "system message": 1,
        "custom instructions": 1,
        "message of another branch": 1,
        "tool message": 1,
        "reasoning": 1,
        "message to a tool": 1,
        "hidden message": 1,
        "block without text": 1,
    }
    assert reading.counts.entry_count == 10


def test_a_conversation_that_shall_not_be_remembered_is_left_out_whole_and_counted(tmp_path):
    reading = read_path(write(tmp_path, [tree(is_do_not_remember=True), tree(id="talk-2")]))
    assert set(reading.turns["session_id"]) == {"talk-2"}
    assert reading.skipped["conversation not to be remembered"] == 1
    assert reading.skipped["message of a conversation not to be remembered"] == 10


def test_a_conversation_without_any_time_gets_that_of_the_file(tmp_path):
    path = write(tmp_path, [{"id": "t", "current_node": "q", "mapping": node("q", None, parts=["Hello."])}])
    modified = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    assert abs((read_path(path).turns["event_time"][0] - modified).total_seconds()) < 0.001


@pytest.mark.parametrize(
    "names", [["conversations.json"], ["export/conversations-000.json", "export/conversations-001.json"]]
)
def test_an_archive_is_read_as_it_was_downloaded(tmp_path, names):
    members = {name: [tree(id=name)] for name in names}
    path = pack(tmp_path, {"user.json": {"email": "x"}, **members})
    reading = read_path(path)
    assert reading.turns["session_id"].unique(maintain_order=True).to_list() == names
    assert reading.turns.height == 3 * len(names)


CLAUDE = {
    "uuid": "c-1",
    "name": "Glazes",
    "created_at": "2026-05-01T10:00:00Z",
    "chat_messages": [
        {
            "uuid": "m1",
            "sender": "human",
            "text": "What does the note say?",
            "created_at": "2026-05-01T10:00:01Z",
            "attachments": [
                {"file_name": "note.txt", "extracted_content": "Fire the kiln on Friday."},
                {"file_name": "photo.png", "extracted_content": ""},
            ],
            "files": [{"file_name": "photo.png"}],
        },
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": "whole",
            "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Friday."}],
            "created_at": None,
        },
        {"uuid": "m3", "sender": "robot", "text": "?"},
    ],
}


@pytest.mark.parametrize("is_packed", [False, True])
def test_what_is_attached_in_claude_ai_is_a_document_and_nobodys_word(tmp_path, is_packed):
    path = pack(tmp_path, {"conversations.json": [CLAUDE]}) if is_packed else write(tmp_path, [CLAUDE])
    reading = read_path(path)
    assert reading.kind == "claude_ai"
    assert reading.turns.select("role", "origin", "content").rows() == [
        ("document", "untrusted", "note.txt\n\nFire the kiln on Friday."),
        ("user", "user", "What does the note say?"),
        ("assistant", "agent", "Friday."),
    ]
    assert reading.skipped == {
        "attachment without text": 1,
        "file without text": 1,
        "block without text": 1,
        "unknown role": 1,
    }
    assert reading.counts.entry_count == 5
    assert reading.turns["event_time"].to_list() == [datetime(2026, 5, 1, 10, 0, 1, tzinfo=UTC)] * 3


def test_a_longer_export_gives_the_old_messages_the_same_ids(tmp_path):
    first = read_path(write(tmp_path, [CLAUDE | {"chat_messages": CLAUDE["chat_messages"][:1]}])).turns
    second = read_path(write(tmp_path, [CLAUDE])).turns
    assert first["turn_id"].to_list() == second["turn_id"].head(2).to_list()


def test_a_truncated_export_gives_what_is_whole(tmp_path):
    whole = json.dumps([tree(), tree(id="talk-2")])
    (tmp_path / "conversations.json").write_text(whole[:-200])
    reading = read_path(tmp_path / "conversations.json")
    assert set(reading.turns["session_id"]) == {"talk-1"}
    assert reading.skipped["half-written last conversation"] == 1


def test_a_conversation_over_its_bound_is_never_held_and_is_named(tmp_path):
    long = tree(id="long", title="x" * 50_000)
    path = write(tmp_path, [tree(), long, tree(id="talk-3")])
    reading = read_path(path, bounds=Bounds(conversation_bytes=20_000))
    assert set(reading.turns["session_id"]) == {"talk-1", "talk-3"}
    assert reading.skipped["conversation over its bound"] == 1
    assert reading.counts.excesses[0][1].startswith("conversation 2 has 5")


def test_an_empty_export_is_an_empty_file(tmp_path):
    assert read_path(write(tmp_path, [])).skipped == {"empty file": 1}
    assert read_path(pack(tmp_path, {"conversations.json": []})).skipped == {"empty file": 1}


def test_an_archive_that_unpacks_to_more_than_is_read_is_refused(tmp_path):
    path = pack(tmp_path, {"conversations.json": b"[" + b" " * 3_000_000 + b"]"})
    with pytest.raises(InputError, match=r"3,000,002 bytes unpacked .* a file may have 100,000"):
        read_path(path, bounds=Bounds(file_bytes=100_000))


def test_a_bomb_within_the_bound_is_read_through_in_little_memory(tmp_path):
    path = pack(tmp_path, {"conversations.json": b'[{"mapping":{"' + b"a" * 40_000_000 + b'":1}}]'})
    assert path.stat().st_size < 100_000
    reading = read_path(path, bounds=Bounds(conversation_bytes=10_000))
    assert reading.skipped == {"conversation over its bound": 1}


@pytest.mark.parametrize(
    "name", ["../../conversations.json", "/etc/conversations.json", "a/b/c/conversations.json"]
)
def test_no_name_in_an_archive_leads_anywhere(tmp_path, name):
    (tmp_path / "deep").mkdir()
    path = pack(tmp_path / "deep", {name: [tree()]})
    before = sorted(tmp_path.rglob("*"))
    with suppress(InputError):
        read_path(path)
    assert sorted(tmp_path.rglob("*")) == before


def broken_archives():
    whole = b"".join(struct.pack("<I", number * 2_654_435_761 % 2**32) for number in range(2_000))
    yield "cut", lambda data: data[: len(data) // 2], whole
    yield "scrambled", lambda data: data[:80] + bytes(100) + data[180:], whole
    yield "encrypted", _flagged, b"[]"
    huge = struct.pack("<I", 4_000_000_000)
    yield "many files", lambda data: data[:-10] + huge + data[-6:], b"[]"


def _flagged(data):
    """The archive with the flag of encryption in both records of its first member."""
    local, central = data.index(b"PK\x03\x04") + 6, data.index(b"PK\x01\x02") + 8
    changed = bytearray(data)
    changed[local] |= 1
    changed[central] |= 1
    return bytes(changed)


@pytest.mark.parametrize(("name", "change", "content"), list(broken_archives()))
def test_a_broken_archive_ends_in_one_clear_line(tmp_path, name, change, content):
    path = pack(tmp_path, {"conversations.json": content})
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputError) as caught:
        read_path(path)
    assert "\n" not in str(caught.value)
    assert "ZIP archive" in str(caught.value)


def test_an_archive_of_anything_else_is_refused(tmp_path):
    with pytest.raises(InputError, match="without a conversations.json"):
        read_path(pack(tmp_path, {"notes.txt": b"x"}))


def test_an_archive_without_anything_in_it_is_named_as_one(tmp_path):
    with pytest.raises(InputError, match="ZIP archive without a conversations.json"):
        read_path(pack(tmp_path, {}))
    with pytest.raises(InputError, match="ZIP archive whose conversations.json holds no conversations"):
        read_path(pack(tmp_path, {"conversations.json": b" " * 3_000_000}))
    late = b" " * 3_000_000 + json.dumps([tree()]).encode()
    assert read_path(pack(tmp_path, {"conversations.json": late})).kind == "chatgpt"


def test_a_conversation_in_another_encoding_is_counted_and_named(tmp_path):
    wrong = json.dumps([tree()]).replace("blue", "bl\xe4u").encode("latin-1")
    (tmp_path / "conversations.json").write_bytes(wrong)
    reading = read_path(tmp_path / "conversations.json")
    assert reading.skipped["conversation that is not UTF-8"] == 1
    assert [told for _, told in reading.counts.excesses if told.startswith("conversation 1 is not UTF-8")]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_elements_do_not_depend_on_how_the_text_is_cut(size):
    elements = [{"a": 'x"}]{[\\'}, {}, {"b": [{"c": {}}, "]"]}, {"\\": "\\\\"}]
    for text in (json.dumps(elements), json.dumps({"n": 1, "results": elements, "z": {"y": [{"a": 1}]}})):
        data = text.encode()
        blocks = [data[place : place + size] for place in range(0, len(data), size)]
        found = list(split(blocks, most=100))
        assert [json.loads(one.data) for one in found] == elements
        assert [one.number for one in found] == [1, 2, 3, 4]
