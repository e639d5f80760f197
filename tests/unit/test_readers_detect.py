"""Which reader a file gets, and which files a folder offers."""

import hashlib
import json

import pytest

from slowwave.errors import InputError, NotFoundError
from slowwave.ingest.files import source_hash
from slowwave.ingest.sources import find_sources
from tests.reading import read_path

CLAUDE = json.dumps(
    {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "Hi"}}
)
CHAT = json.dumps({"role": "user", "content": "Hi"})


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.jsonl", CLAUDE, "claude_code"),
        ("a.jsonl", "42\n\n" + CLAUDE, "claude_code"),
        ("a.log", CLAUDE, "claude_code"),
        ("a.jsonl", '{"type": "summary", "summary": "x", "leafUuid": "y"}', "claude_code"),
        ("a.jsonl", CHAT, "chat"),
        ("a.txt", "plain", "document"),
        ("a.md", "# x\ny", "document"),
        ("a.rst", "plain", "document"),
    ],
)
def test_the_content_chooses_the_reader(tmp_path, name, content, kind):
    (tmp_path / name).write_text(content)
    assert read_path(tmp_path / name).kind == kind


@pytest.mark.parametrize("name", ["a.jsonl", "a.md", "a.txt"])
@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_an_empty_file_gives_no_turns_and_says_so(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    reading = read_path(tmp_path / name)
    assert reading.turns.is_empty()
    assert reading.skipped == {"empty file": 1}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"some": "thing"}', "no known form"),
        ("[1]\n42", "no known form"),
        ("nonsense\nmore", "2 lines and none is JSON"),
        ("[" * 200_000, "1 line and none is JSON"),
    ],
)
def test_a_file_in_no_known_form_is_refused_by_name(tmp_path, content, said):
    (tmp_path / "a.jsonl").write_text(content)
    with pytest.raises(InputError, match=said) as caught:
        read_path(tmp_path / "a.jsonl")
    assert "a.jsonl" in str(caught.value)
    assert "expected" in str(caught.value)


def test_what_is_not_there_or_not_a_file_is_said_so(tmp_path):
    for call in (read_path, source_hash, lambda path: find_sources([path])):
        for name in ("gone.jsonl", "gone\x00.jsonl"):
            with pytest.raises(NotFoundError, match="gone"):
                call(tmp_path / name)
        with pytest.raises(InputError, match="File name too long"):
            call(tmp_path / ("a" * 5000))
    with pytest.raises(InputError, match="not a regular file"):
        read_path(tmp_path)


def test_a_folder_is_walked_in_sorted_order_past_what_is_hidden_linked_or_foreign(tmp_path):
    names = [
        "b.jsonl",
        "a.md",
        "sub/c.TXT",
        "sub/d.markdown",
        ".hidden/x.md",
        ".x.md",
        "e.json",
        "f.rst",
        "sub/g.py",
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    (tmp_path / "linked").symlink_to(tmp_path / "sub")
    expected = [tmp_path / name for name in ("a.md", "b.jsonl", "sub/c.TXT", "sub/d.markdown")]
    assert find_sources([tmp_path]).paths == expected
    assert find_sources([tmp_path / "f.rst", tmp_path, tmp_path / "a.md"]).paths == [
        tmp_path / "f.rst",
        *expected,
    ]


def test_the_home_is_passed_by_in_a_folder_and_refused_by_name(tmp_path):
    for name in ("work/home/MEMORY.md", "work/home/journal/1.jsonl", "work/homestead.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "work")
    home = tmp_path / "link" / "home"
    for folder in (tmp_path, tmp_path / "work", tmp_path / "link"):
        found = find_sources([folder], home=home)
        assert [path.name for path in found.paths] == ["homestead.md"]
        assert found.passed_by["home of this memory in a folder"] == 1
    for named in (home, home / "MEMORY.md", tmp_path / "work" / "home" / "journal"):
        with pytest.raises(
            InputError, match="is this memory's own home, or a part of it: name your own files"
        ):
            find_sources([named], home=tmp_path / "work" / "home")


def test_a_readme_counts_as_a_document_only_where_no_transcripts_are(tmp_path):
    for name in ("docs/README.md", "talks/README.md", "talks/day/a.jsonl", "talks/notes/README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = [path.relative_to(tmp_path).as_posix() for path in find_sources([tmp_path]).paths]
    assert found == ["docs/README.md", "talks/day/a.jsonl", "talks/notes/README.md"]


def test_a_deep_folder_and_a_link_in_a_circle_end_no_search(tmp_path):
    deep = tmp_path.joinpath(*["d"] * 150)
    deep.mkdir(parents=True)
    (deep / "a.md").write_text("# Kiln")
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    (tmp_path / "up").symlink_to(tmp_path)
    found = find_sources([tmp_path])
    assert found.paths == [deep / "a.md"]
    assert found.passed_by["symbolic link in a folder"] == 3


def test_what_tools_put_out_beside_a_session_and_json_of_others_are_passed_by(tmp_path):
    for name in (
        "p/s1.jsonl",
        "p/s1/tool-results/a.txt",
        "p/tool-results/b.txt",
        "session-a.json",
        "chats/session-b.json",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = find_sources([tmp_path])
    names = [path.relative_to(tmp_path).as_posix() for path in found.paths]
    assert names == ["chats/session-b.json", "p/s1.jsonl", "p/tool-results/b.txt"]
    assert found.passed_by["folder of tool output"] == 1


def test_the_hash_is_that_of_the_bytes(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    assert source_hash(tmp_path / "a") == hashlib.sha256(b"x" * 3_000_000).hexdigest()
