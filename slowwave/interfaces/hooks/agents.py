"""The agents that can be connected, a row each: their settings files, and how our entries look there.

Nothing is written here. Where a form is known from documentation alone, `docs/agents.md` says so.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

AgentName = Literal["claude-code", "codex", "gemini", "opencode", "cursor", "claude-desktop", "vscode"]
Scope = Literal["user", "project"]

SERVER = "slowwave"
"""The name of the MCP server in all settings."""

Entry = dict[str, Any]


class Places(NamedTuple):
    """Folders of settings: the user's and the project's; `environment` may move them; `system` as `sys.platform`."""

    user: Path
    project: Path
    system: str = sys.platform
    environment: dict[str, str] = {}  # noqa: RUF012


class File(NamedTuple):
    """A settings file of a row. Paths and keys are patterns over the names of `folders_of`.

    `table` are the keys under which the MCP servers are. `server` makes our entry there of its command; `hook` makes
    one item of an event's list of the hook's command and the seconds that it may take.
    """

    user: str
    project: str = ""
    table: tuple[str, ...] = ()
    project_table: tuple[str, ...] = ()
    server: Callable[[list[str]], Entry] | None = None
    hook: Callable[[list[str], int], Entry] | None = None
    fixed: Entry = {}  # noqa: RUF012 # further values that a new file needs
    script: str = ""


class Agent(NamedTuple):
    """A row: its program on the PATH, the folder that it makes, its files, and what the user must still do.

    `transcripts` is the name that `Memory.discover` gives to its transcripts; "" where it keeps none to follow.
    """

    program: str
    folder: str
    files: tuple[File, ...]
    next_step: str
    transcripts: str = ""


def _plain(words: list[str]) -> Entry:
    return {"command": words[0], "args": words[1:]}


def _typed(words: list[str]) -> Entry:
    return {"type": "stdio", **_plain(words)}


def _timed(words: list[str]) -> Entry:
    return {**_plain(words), "startup_timeout_sec": 60}


def _in_one_list(words: list[str]) -> Entry:
    return {"type": "local", "command": words, "enabled": True}


def _hook_with_args(words: list[str], seconds: int) -> Entry:
    return {"hooks": [{"type": "command", **_plain(words), "timeout": seconds}]}


def _hook_line(words: list[str], seconds: int) -> Entry:
    return {"hooks": [{"type": "command", "command": _line(words), "timeout": seconds}]}


def _named_hook(words: list[str], seconds: int) -> Entry:
    return {
        "hooks": [{"name": SERVER, "type": "command", "command": _line(words), "timeout": seconds * 1000}]
    }


def _bare_hook(words: list[str], seconds: int) -> Entry:
    """Without a timeout: Cursor's vendor and users disagree on its unit, and the program ends itself."""
    return {"command": _line(words)}


def _line(words: list[str]) -> str:
    return shlex.join(words) if os.name == "posix" else subprocess.list2cmdline(words)


_MCP = ("mcpServers",)
AGENTS: dict[AgentName, Agent] = {
    # a project's entries name folders of this machine, so they go where Claude Code keeps what is private to it
    "claude-code": Agent("claude", "{claude}", (
        File("{claude}/settings.json", "{project}/.claude/settings.local.json", hook=_hook_with_args),
        File("{state}/.claude.json", "{state}/.claude.json", _MCP, ("projects", "{project}", *_MCP), server=_typed),
    ), "start a new session; hooks run only in folders that you trust, and not under `disableAllHooks`",
       transcripts="Claude Code"),
    "codex": Agent("codex", "{codex}", (
        File("{codex}/config.toml", "{project}/.codex/config.toml", ("mcp_servers",), server=_timed),
        File("{codex}/hooks.json", "{project}/.codex/hooks.json", hook=_hook_line),
    ), "start it and trust the hooks where it asks, or type /hooks, again after each change of their command: until "
       "then it skips them, `codex exec` without a word; with --project trust the project, too",
       transcripts="Codex"),
    "gemini": Agent("gemini", "{user}/.gemini", (
        File("{user}/.gemini/settings.json", "{project}/.gemini/settings.json", _MCP, server=_plain, hook=_named_hook),
    ), "start a new session; with --project trust the folder, and look that `hooksConfig` switches no hooks off",
       transcripts="Gemini CLI"),
    "opencode": Agent("opencode", "{config}/opencode", (
        File("{config}/opencode/opencode.json", "{project}/opencode.json", ("mcp",), server=_in_one_list),
        File("{config}/opencode/plugins/slowwave.js", "{project}/.opencode/plugins/slowwave.js",
             script="opencode_plugin.js"),
    ), "start it again"),
    "cursor": Agent("cursor", "{user}/.cursor", (
        File("{user}/.cursor/mcp.json", "{project}/.cursor/mcp.json", _MCP, server=_plain),
        File("{user}/.cursor/hooks.json", "{project}/.cursor/hooks.json", hook=_bare_hook, fixed={"version": 1}),
    ), "reload the window, and switch the server on under Tools & MCP where Cursor asks",
       transcripts="Cursor"),
    "claude-desktop": Agent("", "{applications}/Claude", (
        File("{applications}/Claude/claude_desktop_config.json", "", _MCP, server=_plain),
    ), "quit it fully and start it again; it has no hooks and gets the tools alone"),
    "vscode": Agent("code", "{applications}/Code/User", (
        File("{applications}/Code/User/mcp.json", "{project}/.vscode/mcp.json", ("servers",), server=_typed),
    ), "start the server once by `MCP: List Servers` and trust it; it has no hooks and gets the tools alone"),
}  # fmt: skip
"""A new agent is a row here, its name above, and a line in `docs/agents.md`."""


def folders_of(places: Places) -> dict[str, str]:
    """The folders that the rows name."""
    user, moved = places.user, places.environment.get
    config = moved("XDG_CONFIG_HOME") or user / ".config"
    applications = {
        "darwin": user / "Library" / "Application Support",
        "win32": moved("APPDATA") or user / "AppData" / "Roaming",
    }.get(places.system, config)
    named = {
        "user": user,
        "project": places.project,
        "claude": moved("CLAUDE_CONFIG_DIR") or user / ".claude",
        "state": moved("CLAUDE_CONFIG_DIR") or user,
        "codex": moved("CODEX_HOME") or user / ".codex",
        "config": config,
        "applications": applications,
    }
    return {name: str(folder) for name, folder in named.items()}
