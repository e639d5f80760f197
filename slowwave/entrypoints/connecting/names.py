"""The harnesses that can be connected, by name; light, since every start of the command line imports it."""

from typing import Literal, get_args

Harness = Literal["claude-code", "codex", "gemini", "opencode", "cursor", "claude-desktop", "vscode"]
Scope = Literal["user", "project"]
HARNESSES: tuple[Harness, ...] = get_args(Harness)

PROGRAMS: dict[Harness, str] = {
    "claude-code": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "opencode": "opencode",
    "cursor": "cursor",
    "vscode": "code",
}
"""The program of a harness on the PATH, where it has one."""
