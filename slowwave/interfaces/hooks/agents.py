"""The agents that can be connected, a row each: their settings files, and the entries that belong there.

Nothing is written here. Where a form is known from documentation alone, `docs/agents.md` says so. No entry holds the
server's key: the programs that they name ask over the home's own socket.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal, NamedTuple

import slowwave
from slowwave.interfaces.hooks.events import EVENTS

AgentName = Literal["claude-code", "codex", "gemini", "opencode", "cursor", "claude-desktop", "vscode"]
Scope = Literal["user", "project"]
Entry = dict[str, Any]

SERVER = "slowwave"
"""The name of the MCP server in all settings."""

MCP = ("-I", "-m", "slowwave", "mcp")
"""The MCP server over standard input and output; -I ignores modules in a project's folder."""

HOOK = Path(slowwave.__file__).absolute().parent / "interfaces" / "hooks" / "hook.py"

HOOK_SECONDS, END_SECONDS = 5, 3
"""Hooks end themselves sooner. Codex allows 3 at the end of a session; Claude Code raises its 1.5 to what is named."""


class Places(NamedTuple):
    """Folders of settings: the user's and the project's; `environment` may move them; `system` as `sys.platform`."""

    user: Path
    project: Path
    system: str = sys.platform
    environment: dict[str, str] = {}  # noqa: RUF012


class File(NamedTuple):
    """A settings file of a row. Paths and keys are patterns over the names of `folders_of`.

    `servers` are the keys under which the MCP servers are, none where the file has no servers.
    """

    user: str
    project: str = ""
    servers: tuple[str, ...] = ()
    project_servers: tuple[str, ...] = ()
    has_hooks: bool = False
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


class SettingsFile(NamedTuple):
    """A settings file on this machine, and the entries that belong there by the keys that lead to them.

    A server is an object; the hooks of an event are a list, in which others have theirs. A `script` is the whole file.
    """

    path: Path
    entries: dict[tuple[str, ...], Entry | list[Entry]]
    fixed: Entry
    script: str


_MCP = ("mcpServers",)
AGENTS: dict[AgentName, Agent] = {
    # a project's entries name folders of this machine, so they go where Claude Code keeps what is private to it
    "claude-code": Agent("claude", "{claude}", (
        File("{claude}/settings.json", "{project}/.claude/settings.local.json", has_hooks=True),
        File("{state}/.claude.json", "{state}/.claude.json", _MCP, ("projects", "{project}", *_MCP)),
    ), "start a new session; hooks run only in folders that you trust, and not under `disableAllHooks`",
       transcripts="Claude Code"),
    "codex": Agent("codex", "{codex}", (
        File("{codex}/config.toml", "{project}/.codex/config.toml", ("mcp_servers",)),
        File("{codex}/hooks.json", "{project}/.codex/hooks.json", has_hooks=True),
    ), "start it and trust the hooks where it asks, or type /hooks, again after each change of their command: until "
       "then it skips them, `codex exec` without a word; with --project trust the project, too",
       transcripts="Codex"),
    "gemini": Agent("gemini", "{user}/.gemini", (
        File("{user}/.gemini/settings.json", "{project}/.gemini/settings.json", _MCP, has_hooks=True),
    ), "start a new session; with --project trust the folder, and look that `hooksConfig` switches no hooks off",
       transcripts="Gemini CLI"),
    "opencode": Agent("opencode", "{config}/opencode", (
        File("{config}/opencode/opencode.json", "{project}/opencode.json", ("mcp",)),
        File("{config}/opencode/plugins/slowwave.js", "{project}/.opencode/plugins/slowwave.js",
             script="opencode_plugin.js"),
    ), "start it again"),
    "cursor": Agent("cursor", "{user}/.cursor", (
        File("{user}/.cursor/mcp.json", "{project}/.cursor/mcp.json", _MCP),
        File("{user}/.cursor/hooks.json", "{project}/.cursor/hooks.json", has_hooks=True, fixed={"version": 1}),
    ), "reload the window, and switch the server on under Tools & MCP where Cursor asks",
       transcripts="Cursor"),
    "claude-desktop": Agent("", "{applications}/Claude", (
        File("{applications}/Claude/claude_desktop_config.json", "", _MCP),
    ), "quit it fully and start it again; it has no hooks and gets the tools alone"),
    "vscode": Agent("code", "{applications}/Code/User", (
        File("{applications}/Code/User/mcp.json", "{project}/.vscode/mcp.json", ("servers",)),
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


def files_of(agent: AgentName, scope: Scope, places: Places, home: str) -> list[SettingsFile]:
    """The files of an agent in a scope, with the entries that connect it with a home; none if it has no such scope."""
    folders, found = folders_of(places), []
    for file in AGENTS[agent].files:
        pattern = file.user if scope == "user" else file.project
        keys = file.servers if scope == "user" else file.project_servers or file.servers
        path, entries = Path(pattern.format(**folders)), dict[tuple[str, ...], Entry | list[Entry]]()
        if path.name == "opencode.json" and not path.exists() and path.with_suffix(".jsonc").exists():
            path = path.with_suffix(".jsonc")
        if keys:
            entries[*(key.format(**folders) for key in keys), SERVER] = _server(agent, home)
        for event in EVENTS[agent] if file.has_hooks else ():
            entries["hooks", event] = [_hook(agent, event, home)]
        script = _script(file.script, home) if file.script else ""
        found += [SettingsFile(path, entries, file.fixed, script)] * bool(pattern)
    return found


def _server(agent: AgentName, home: str) -> Entry:
    """The entry of the MCP server, in the form of an agent."""
    words = [_python(), *MCP, "--home", home]
    plain = {"command": words[0], "args": words[1:]}
    match agent:
        case "claude-code" | "vscode":
            return {"type": "stdio", **plain}
        case "codex":
            return {**plain, "startup_timeout_sec": 60}
        case "opencode":
            return {"type": "local", "command": words, "enabled": True}
        case _:
            return plain


def _hook(agent: AgentName, event: str, home: str) -> Entry:
    """An item for the list of an event, in the form of an agent."""
    words = [_python(), "-I", "-S", str(HOOK), agent, event, "--home", home]
    line = shlex.join(words) if os.name == "posix" else subprocess.list2cmdline(words)
    seconds = END_SECONDS if event == "SessionEnd" else HOOK_SECONDS
    command: Entry = {"type": "command", "command": line, "timeout": seconds}
    match agent:
        case "claude-code":
            command = {**command, "command": words[0], "args": words[1:]}
        case "gemini":
            command = {"name": SERVER, **command, "timeout": seconds * 1_000}
        case "cursor":  # its vendor and users disagree on the unit of a timeout, and the program ends itself
            return {"command": line}
    return {"hooks": [command]}


def _script(name: str, home: str) -> str:
    """OpenCode's plugin for an installation: it can only call the hook program."""
    text = (HOOK.parent / name).read_text(encoding="utf-8")
    command = json.dumps([_python(), "-I", "-S", str(HOOK)])
    return text.replace('["COMMAND"]', command).replace('"HOME"', json.dumps(home))


def _python() -> str:
    return str(Path(sys.executable).absolute())
