"""Claude Code's auto memory: an agent's notes, and never a person's word."""

from pathlib import Path

import pytest

from slowwave.ingest.sources import find_sources
from slowwave.trust.origins import TRUST
from tests.reading import read_path

NOTE = """---
name: glazes
description: Which glaze the person likes
metadata:
  type: feedback
---
The person wants the blue glaze.

**Why:** the white one blisters.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / ".claude/projects/-home-mara-kiln/memory"
    folder.mkdir(parents=True)
    (folder / "feedback_glazes.md").write_text(NOTE)
    index = "# Memory\n\n- [Glazes](feedback_glazes.md): the blue one\n- [Gone](gone.md): nowhere\n- Fire on Fridays.\n"
    (folder / "MEMORY.md").write_text(index)
    return folder


def test_a_note_is_the_same_by_whatever_path_it_is_named(folder, monkeypatch):
    whole = read_path(folder / "feedback_glazes.md").turns
    monkeypatch.chdir(folder)
    assert read_path(Path("feedback_glazes.md")).turns.equals(whole)


def test_a_note_is_what_an_assistant_wrote_with_its_name_and_kind(folder):
    reading = read_path(folder / "feedback_glazes.md")
    (turn,) = reading.turns.to_dicts()
    assert (turn["role"], turn["origin"], turn["source_type"]) == ("assistant", "agent", "file")
    assert TRUST.index(turn["origin"]) > TRUST.index("user")
    assert turn["content"].startswith("glazes (feedback)\n\nWhich glaze the person likes\n\nThe person wants")
    assert reading.kind == "auto_memory"


def test_a_note_belongs_to_the_folder_that_the_sessions_beside_it_were_held_in(folder):
    def cwd():
        return read_path(folder / "feedback_glazes.md").turns["cwd"].to_list()

    assert cwd() == [None]
    (folder.parent / "a.jsonl").write_text('half\n[]\n{"cwd": 1}\n{"cwd": "/home/mara/other"}\n')
    assert cwd() == [None]
    (folder.parent / "b.jsonl").write_text('{"type": "x"}\n{"cwd": "/home/mara/kiln"}\n')
    assert cwd() == ["/home/mara/kiln"]


def test_notes_of_two_projects_are_two_and_a_changed_note_is_new(folder):
    other = folder.parent.parent / "-home-mara-oven/memory"
    other.mkdir(parents=True)
    (other / "feedback_glazes.md").write_text(NOTE)
    first, second = read_path(folder / "feedback_glazes.md"), read_path(other / "feedback_glazes.md")
    assert first.turns["turn_id"][0] != second.turns["turn_id"][0]
    (folder / "feedback_glazes.md").write_text(NOTE.replace("blue", "white"))
    assert read_path(folder / "feedback_glazes.md").turns["turn_id"][0] != first.turns["turn_id"][0]


@pytest.mark.parametrize("place", ["notes/memory", "projects/kiln/memory", "projects/-kiln/docs"])
def test_a_document_elsewhere_cannot_call_itself_an_agents_note(tmp_path, place):
    folder = tmp_path / place
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Memory\n")
    (folder / "a.md").write_text(NOTE)
    assert read_path(folder / "a.md").turns["origin"].to_list() == ["untrusted"]


def test_secrets_and_injected_memory_are_taken_out_and_the_folder_is_found(folder):
    text = "The key is AKIA" + "Q3ZT5WXYB7NMK2LP.\n<slowwave-memory>Old.</slowwave-memory>\n"
    (folder / "keys.md").write_text(text)
    (content,) = read_path(folder / "keys.md").turns["content"]
    assert "AKIA" not in content
    assert "Old." not in content
    assert len(find_sources([folder.parent.parent]).paths) == 3
