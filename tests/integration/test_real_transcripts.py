"""Real sessions of coding agents, counted a second time in another way."""

import json
import random
import re
from pathlib import Path

import pytest

from slowwave.ingest.sources import find_sources
from slowwave.language.excerpt import asked_terms, excerpt
from tests.reading import read_path

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
        if record["type"] not in ("user", "assistant") or record.get("isMeta"):
            continue
        outcome = record.get("toolUseResult", "")
        if "toolUseResult" in record and "the user said:" not in outcome and "answers" not in outcome:
            continue
        texts = [content] if isinstance(content, str) else [said(b, is_answer=bool(outcome)) for b in content]
        texts = [text for text in texts if text is not None]
        if record["type"] == "user":
            texts = [text for text in texts if not text.startswith(NOT_SAID)]
        key = record["message"].get("id") or record["uuid"]
        if texts and key not in keys:
            keys.append(key)
    return keys


def said(block, *, is_answer):
    is_told = block.get("name") == "AskUserQuestion" or (is_answer and block["type"] == "tool_result")
    return str(block) if is_told else block.get("text")


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_a_real_session_has_as_many_turns_as_a_plain_count_finds(path):
    reading = read_path(path)
    assert reading.kind == "claude_code"
    assert reading.turns.height == len(spoken_keys(path)) > 0
    assert not reading.turns["content"].str.contains(r"tool_use_id|<system-reminder>|<command-name>").any()
    assert reading.turns["event_time"].is_sorted()


def codex_texts(path):
    """The messages of a Codex session, by a plain look at the raw lines: its events, else what the model was sent."""
    shown, sent = [], []
    for line in path.read_text().splitlines():
        payload = json.loads(line)["payload"]
        kind = payload.get("type")
        if kind in ("user_message", "agent_message"):
            shown.append(payload["message"])
        elif kind == "message" and payload["role"] in ("user", "assistant"):
            sent.append(payload["content"][0]["text"])
    return shown or [text for text in sent if not text.startswith(("<environment_context>", "# AGENTS.md"))]


@pytest.mark.parametrize("path", CODEX, ids=lambda path: path.stem)
def test_a_real_codex_session_has_the_messages_that_a_plain_look_finds(path):
    reading = read_path(path)
    assert reading.kind == "codex"
    assert reading.turns["content"].to_list() == codex_texts(path) != []
    assert reading.turns["turn_id"].n_unique() == reading.turns.height
    assert reading.turns["cwd"].null_count() == 0
    assert reading.turns["event_time"].is_sorted()


def test_a_folder_of_real_data_is_found_whole():
    assert set(SESSIONS) <= set(find_sources([FOLDER]).paths)


def windows(path: Path, characters: int = 2_500) -> list[str]:
    """What was said in a session, in windows as long as raw memories are."""
    said = "\n".join(read_path(path).turns["content"])
    return [said[start : start + characters] for start in range(0, len(said), characters)]


def test_the_line_that_a_question_is_made_of_can_be_read_wherever_it_stands():
    chosen, asked, shown = random.Random(7), 0, 0
    for window in [window for path in SESSIONS for window in windows(path)]:
        lines = [line for line in window.splitlines() if 40 <= len(line) <= 200 and len(line.split()) > 4]
        for line in chosen.sample(lines, min(3, len(lines))):
            words = sorted(set(re.findall(r"[A-Za-z]{4,}", line)), key=len)[-4:]
            found = excerpt(window, asked_terms(f"what about {' '.join(words)}"), most=600)
            asked, shown = asked + 1, shown + (line.strip() in found.text)
    assert shown >= 0.9 * asked > 30
