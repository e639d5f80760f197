"""Payloads of hooks as their harnesses document them, the schemas of what goes in and out, and calls of the program.

The schemas in `tests/hooks/` were written from the documentation of Claude Code, the generated schemas of Codex, and
the pages of Gemini CLI and Cursor, and mended by what Claude Code 2.1.197, Codex 0.169.0 and Gemini CLI 0.61.0 send;
those of Codex are closed, as it refuses what it does not know.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema

FOLDER = Path(__file__).parent / "hooks"
PROGRAM = Path(__file__).parents[1] / "slowwave" / "interfaces" / "hooks" / "hook.py"

EVENTS = {
    "claude-code": {
        "SessionStart": {"source": "startup", "model": "claude-opus-4-7"},
        "UserPromptSubmit": {"prompt": "How do we deploy?"},
        "Stop": {"stop_hook_active": False, "last_assistant_message": "Done.", "background_tasks": []},
        "SubagentStop": {
            "stop_hook_active": False,
            "agent_id": "a1",
            "agent_type": "Explore",
            "agent_transcript_path": "/x/s/subagents/agent-a1.jsonl",
        },
        "PreCompact": {"trigger": "manual", "custom_instructions": None},
        "SessionEnd": {"reason": "prompt_input_exit"},
    },
    "codex": {
        "SessionStart": {"source": "startup"},
        "UserPromptSubmit": {"prompt": "How do we deploy?", "turn_id": "t1"},
        "Stop": {"turn_id": "t1", "stop_hook_active": False, "last_assistant_message": "Done."},
        "SubagentStop": {
            "turn_id": "t1",
            "stop_hook_active": False,
            "last_assistant_message": None,
            "agent_id": "a1",
            "agent_type": "explorer",
            "agent_transcript_path": None,
        },
        "PreCompact": {"turn_id": "t1", "trigger": "manual"},
        "SessionEnd": {"reason": "other"},
    },
    "gemini": {
        "SessionStart": {"source": "startup"},
        "BeforeAgent": {"prompt": "How do we deploy?"},
        "AfterAgent": {"prompt": "How do we deploy?", "prompt_response": "Done."},
        "PreCompress": {"trigger": "auto"},
        "SessionEnd": {"reason": "exit"},
    },
    "cursor": {
        "sessionStart": {"session_id": "c1", "is_background_agent": False, "composer_mode": "agent"},
        "beforeSubmitPrompt": {"prompt": "How do we deploy?", "attachments": []},
        "stop": {"status": "completed", "loop_count": 0},
        "preCompact": {"trigger": "auto"},
        "sessionEnd": {"session_id": "c1", "reason": "completed", "duration_ms": 12},
    },
}
"""What each event has beside the common fields."""

COMMON: dict[str, dict[str, Any]] = {
    "claude-code": {"permission_mode": "default", "prompt_id": "p1", "effort": {"level": "medium"}},
    "codex": {"model": "gpt-5.5-codex", "permission_mode": "default"},
    "gemini": {"timestamp": "2026-11-20T09:00:00Z"},
    "cursor": {"generation_id": "g1", "model": "auto", "cursor_version": "3.1", "user_email": None},
}

LACKS = {
    ("claude-code", "SessionStart"): ("permission_mode", "prompt_id", "effort"),
    ("codex", "PreCompact"): ("permission_mode",),
    ("codex", "SessionEnd"): ("model", "permission_mode"),
}
"""Common fields that an event does not have."""

CASES = [(harness, event) for harness, events in EVENTS.items() for event in events]


def payload(
    harness: str, event: str, *, session: str = "s1", transcript: str = "/x/s.jsonl", **more: Any
) -> Any:
    """A payload as the harness documents it, checked against its schema."""
    where: dict[str, Any] = {"session_id": session, "cwd": "/home/ana/kiln"}
    if harness == "cursor":
        where = {"conversation_id": session, "workspace_roots": ["/home/ana/kiln"]}
    made = {**COMMON[harness], **EVENTS[harness][event], **where, "transcript_path": transcript}
    made = {**made, "hook_event_name": event, **more}
    for name in LACKS.get((harness, event), ()):
        del made[name]
    if harness == "cursor" and "session_id" in made:
        made["session_id"] = session  # the same by another name
    jsonschema.validate(made, schemas(harness)["payloads"][event])
    return made


def schemas(harness: str) -> dict[str, dict[str, Any]]:
    """The schemas of a harness: `payloads` and `outputs`, by event."""
    found: dict[str, dict[str, Any]] = json.loads((FOLDER / f"{harness}.json").read_text(encoding="utf-8"))
    return found


def check_output(harness: str, event: str, told: str) -> str:
    """The text that an answer puts into the prompt, after checking it; "" where nothing was printed."""
    if not told:
        return ""
    document = json.loads(told)
    jsonschema.validate(document, schemas(harness)["outputs"][event])
    if harness == "cursor":
        return str(document["additional_context"])
    return str(document["hookSpecificOutput"]["additionalContext"])


def call(home: Path, harness: str, event: str, given: bytes | Any) -> str:
    """Call the hook program as a harness does; it must exit with 0 and say nothing on stderr."""
    words = [sys.executable, "-I", "-S", str(PROGRAM), harness, event, "--home", str(home)]
    data = given if isinstance(given, bytes) else json.dumps(given).encode()
    done = subprocess.run(words, input=data, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def used(home: Path, kind: str, session: str) -> list[str]:
    """Ids that the journal holds as used so in a conversation."""
    files = home.glob("journal/*/*/*/*.jsonl")
    found = list[str]()
    for line in (line for path in files for line in path.read_text(encoding="utf-8").splitlines()):
        record = json.loads(line)
        told = record.get("payload", record)
        told = json.loads(told) if isinstance(told, str) else told
        if told.get("usage_type") == kind and told.get("context") == session:
            found.append(told["cell_id"])
    return sorted(found)
