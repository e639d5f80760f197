"""Real sessions of Claude Code, counted a second time in another way."""

import json
from pathlib import Path

import pytest

from slowwave.errors import InputError
from slowwave.readers.detect import read_path
from slowwave.readers.folders import find_sources

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "transcripts"
SESSIONS = sorted(FOLDER.glob("claude_code*/*.jsonl"))
CODEX = sorted(FOLDER.glob("codex/*.jsonl"))
NOT_SAID = ("<command-name>", "<local-command-stdout>", "Caveat: ", "[Request interrupted by user")

pytestmark = pytest.mark.skipif(
    not SESSIONS, reason="shared/data/transcripts does not stand beside this checkout"
)


def spoken_keys(path):
    """One key for each message with words of a person or the assistant, by a plain look at the raw lines."""
    keys = []
    for line in path.read_text(errors="replace").splitlines():
        try:
            record = json.loads(line)
            content = record["message"]["content"]
        except (ValueError, KeyError, TypeError):
            continue
        if record["type"] not in ("user", "assistant") or record.get("isMeta") or "toolUseResult" in record:
            continue
        texts = (
            [content] if isinstance(content, str) else [b["text"] for b in content if b.get("type") == "text"]
        )
        if record["type"] == "user":
            texts = [text for text in texts if not text.startswith(NOT_SAID)]
        key = record["message"].get("id") or record["uuid"]
        if texts and key not in keys:
            keys.append(key)
    return keys


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_a_real_session_has_as_many_turns_as_a_plain_count_finds(path):
    reading = read_path(path)
    assert reading.kind == "claude_code"
    assert reading.turns.height == len(spoken_keys(path)) > 0
    assert not reading.turns["content"].str.contains(r"tool_use_id|<system-reminder>|<command-name>").any()
    assert reading.turns["event_time"].is_sorted()


@pytest.mark.parametrize("path", CODEX, ids=lambda path: path.stem)
def test_a_codex_session_is_refused_in_one_clear_line(path):
    with pytest.raises(InputError, match="is a Codex session") as caught:
        read_path(path)
    assert "\n" not in str(caught.value)


def test_a_folder_of_real_data_is_found_whole():
    assert set(SESSIONS) <= set(find_sources([FOLDER]).paths)
