"""The harnesses that can be connected, by name; light, since every start of the command line imports it."""

from typing import Literal, get_args

Harness = Literal["claude-code", "codex", "gemini", "opencode", "cursor", "claude-desktop", "vscode"]
Scope = Literal["user", "project"]
HARNESSES: tuple[Harness, ...] = get_args(Harness)
