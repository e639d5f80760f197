"""Transcripts of Claude Code as it writes them, line by line: messages, and the records of hooks between them."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


class Transcript:
    """A session file that grows; every record has the fields that Claude Code gives it."""

    def __init__(self, folder: Path, session: str, *, cwd: str = "/home/ana/kiln") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{session}.jsonl"
        self.session, self.cwd, self._count = session, cwd, 0

    def user(self, text: str) -> None:
        """Write what a person typed."""
        self._write("user", message={"role": "user", "content": text})

    def assistant(self, text: str) -> None:
        """Write an answer: first its thinking, then its text, as lines of one message."""
        name = f"msg_{self.session}_{self._count}"
        for block in ({"type": "thinking", "thinking": "", "signature": "x"}, {"type": "text", "text": text}):
            self._write(
                "assistant", message={"role": "assistant", "id": name, "model": "m", "content": [block]}
            )

    def hook(self, event: str, text: str) -> None:
        """Write what a hook put beside a prompt: as an attachment, and as older versions did, in a message."""
        told = {"type": "hook_additional_context", "content": [text], "hookName": event, "hookEvent": event}
        self._write("attachment", attachment=told)
        success = {
            "type": "hook_success",
            "hookName": event,
            "stdout": json.dumps({"additionalContext": text}),
        }
        self._write("attachment", attachment=success)
        reminder = f"<system-reminder>\n{event} hook additional context: {text}\n</system-reminder>"
        self._write("user", isMeta=True, message={"role": "user", "content": reminder})

    def half_a_line(self) -> None:
        """Begin a record and write no end, as at a kill."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write('{"type":"assistant","uuid":"half","mess')

    def _write(self, kind: str, **record: Any) -> None:
        self._count += 1
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        common = {
            "parentUuid": f"{self.session}-{self._count - 1}" if self._count > 1 else None,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": "2.1.240",
            "gitBranch": "main",
            "type": kind,
            "uuid": f"{self.session}-{self._count}",
            "timestamp": now,
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**common, **record}) + "\n")
