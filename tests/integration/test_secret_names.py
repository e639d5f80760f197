"""No string that comes from outside reaches the home with a secret in it: texts, names, ids, paths, labels, fields."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.journal.catalogue import CATALOGUE
from slowwave.memory import Memory
from slowwave.rewrite.byte_scan import files_with, rows_with
from slowwave.schemas.tables import TABLES, frame_schema
from slowwave.schemas.text_columns import is_text, text_columns
from tests.scripted_model import store_of, write_settings

READ = frozenset({"content", "speaker", "cwd", "git_branch", "source_name", "imported_from", "context"})
"""Texts that readers, `record` and the record of use clean."""

SAID = frozenset({"subject", "attribute", "value", "entities", "note", "resolution_note"})
"""Texts that a person or an agent gives with an edit."""

ANSWERED = frozenset(
    {
        "topic_hint", "question", "summary", "compressed", "index_label", "steps", "template", "artifacts", "reason",
        "name", "same_as", "aliases", "canonical_name", "predicate", "reference", "line",
    }
)  # fmt: skip
"""Texts of a model's answer, or made from texts of the columns above."""

OURS = frozenset({"error", "family"})
"""Texts that Slowwave itself makes: errors without texts in them, the key of a name."""

WAYS: list[str] = []


def token(way: str) -> str:
    """A token of its own for each way in."""
    WAYS.append(way)
    digits = base64.b64encode(hashlib.sha256(way.encode()).digest()).decode()
    return "ghp_" + "".join(digit for digit in digits if digit.isalnum())[:36].ljust(36, "a")


def test_every_text_column_is_known_for_whose_text_it_holds():
    columns = {name for table in TABLES for name in text_columns(table)}
    columns |= {
        name for kind in CATALOGUE.values() for name, dtype in kind.payload.items() if is_text(name, dtype)
    }
    assert columns == READ | SAID | ANSWERED | OURS


def write_sources(folder: Path) -> list[str]:
    """Files of every kind whose names, ids, titles and fields hold tokens."""
    folder = folder / f"folder {token('folder')}"
    folder.mkdir()
    talk = {
        "id": token("chatgpt id"), "title": token("chatgpt title"), "create_time": 1_780_000_000, "current_node": "a",
        "mapping": {"a": {"id": "a", "parent": None, "children": [], "message": {
            "id": token("chatgpt message"), "author": {"role": "user", "name": token("chatgpt author")},
            "content": {"content_type": "text", "parts": ["Which glaze?"]}}}},
    }  # fmt: skip
    graph = [
        {"type": "entity", "name": f"Kiln {token('entity')}", "entityType": token("entity type"),
         "observations": [f"fires {token('observation')}"]},
        {"type": "relation", "from": "Mara", "to": f"Kiln {token('relation end')}",
         "relationType": f"owns {token('relation')}"},
    ]  # fmt: skip
    claude = {
        "type": "user", "sessionId": token("claude session"), "uuid": token("uuid"), "cwd": f"/w/{token('claude cwd')}",
        "gitBranch": token("claude branch"), "message": {"role": "user", "content": "Fix the build."},
    }  # fmt: skip
    chat = {"session_id": token("chat session"), "id": token("chat id"), "role": "user", "name": token("chat name"),
            "content": "We take Redis."}  # fmt: skip
    files = {
        f"{token('document')}.md": f"---\ntags: [{token('tag')}]\n---\n# T {token('heading')}\n\nThe kiln is hot.",
        f"chat {token('chat file')}.jsonl": json.dumps(chat),
        f"{token('claude file')}.jsonl": json.dumps(claude),
        "memory.jsonl": "".join(f"{json.dumps(one)}\n" for one in graph),
        "conversations.json": json.dumps([talk]),
        "mem0.json": json.dumps({"results": [{"id": token("mem0 id"), "memory": f"Mara {token('mem0')}"}]}),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [str(folder / name) for name in files]


def tell(memory: Memory) -> None:
    """Whatever a client can give with a call."""
    turn: dict[str, Any] = {
        "session_id": token("session"), "id": token("message"), "role": "user", "text": f"Look: {token('text')}",
        "speaker": token("speaker"), "cwd": f"/home/{token('cwd')}", "branch": token("branch"),
    }  # fmt: skip
    memory.record([turn], client=f"agent {token('client')}", project=token("project"), new_project=True)
    told = memory.remember(
        f"The kiln has {token('statement')}.", subject=f"kiln {token('subject')}",
        project=token("told project"), new_project=True,
        attribute=f"door {token('attribute')}", value=f"red {token('value')}",
        entities=[f"Kiln {token('said entity')} (tool)"],
    )  # fmt: skip
    memory.search("kiln", conversation_id=token("conversation"))
    memory.cite([told.cell_id], context=token("context"))
    memory.confirm(told.cell_id, note=token("note of a confirmation"))
    done = memory.correct(
        told.cell_id, f"The kiln is {token('correction')}.", note=token("note of a correction")
    )
    memory.forget(done.cell_id, note=token("note of a deletion"))


def hostile_export(memory: Memory, folder: Path) -> Path:
    """An export of this home in which every text and id of the outside has a token."""
    memory.export(folder / "export")
    (path,) = (folder / "export").glob("*.jsonl")
    texts = {
        name for table in TABLES for name in frame_schema(table) if is_text(name, frame_schema(table)[name])
    }
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)
        for name in (texts | {"session_id", "source_id"}) & fields.keys():
            if isinstance(fields[name], str):
                fields[name] = f"{fields[name]} {token(f'export {name}')}"
        lines.append(json.dumps(fields))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def assert_none_left(home: Path) -> None:
    tokens = {way: token(way) for way in dict.fromkeys(WAYS)}
    held = files_with(home, [*tokens.values()]) | rows_with(store_of(home), [*tokens.values()])
    assert held == {}, [way for way, secret in tokens.items() if files_with(home, [secret])]


def test_no_secret_in_a_name_an_id_or_a_field_reaches_the_home(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    homes = [tmp_path / name for name in ("home", "other")]
    for home in homes:
        write_settings(home, embedding={"provider": "none"})
    with Memory(homes[0]) as memory:
        tell(memory)
        report = memory.ingest(write_sources(tmp_path))
        assert report.counts["turn.recorded"] >= 7, report
        memory.flush()
        path = hostile_export(memory, tmp_path)
    assert "ghp_" not in report.model_dump_json()
    with Memory(homes[1]) as memory:
        report = memory.ingest([str(path)])
        assert report.counts["cell.extracted"] >= 3, report
    for home in homes:
        assert_none_left(home)
    assert "ghp_" not in "".join(capsys.readouterr())
