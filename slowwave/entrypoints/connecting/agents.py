"""The agents that can be connected, one row each: their settings files, and the entries written there.

Nothing is written here. Where a form is known from documentation alone, `docs/connect.md` says so. No entry holds the
server's key: the programs named in the entries read it in the home.
"""

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from slowwave.entrypoints.connecting.names import Harness, Scope
from slowwave.entrypoints.harness.events import EVENTS, HarnessName
from slowwave.schemas.refusals import Frozen

SERVER = "slowwave"
"""The name of the MCP server in all settings."""

MODULE = "slowwave.entrypoints.cli"
PROGRAM = "entrypoints/harness/hook.py"
"""An entry is ours if its command names one of these: the module that serves MCP, or the hook program."""

_SECONDS = {"SessionStart": 5, "SessionEnd": 3}
_HOOK_SECONDS = 5
"""Hooks end themselves sooner. Codex allows 3 at the end of a session; Claude Code raises its 1.5 to what is named."""

_IN_PROJECT = "These files lie in the project and name folders of this machine: leave them out of commits."
_CODEX_TRUST = "Codex reads a project's files only after you trusted the project."
_WITH_HOOKS = (
    "Hooks work while the server runs: `slowwave serve`, or `slowwave serve --install` once.",
    "Earlier conversations: `slowwave ingest --discover` lists them and asks before it ingests them.",
)


class Install(Frozen):
    """An installation to connect: this environment's Python, the hook program and the home, all absolute."""

    python: str
    hook: str
    home: str


class Places(Frozen):
    """Folders of settings: the user's folder, the project's, and the variables that move them."""

    user: Path
    project: Path
    system: str = Field(description="As `sys.platform` has it.")
    environment: dict[str, str] = Field(default_factory=dict)


class SettingsFile(Frozen):
    """One file of an agent with the entries that belong there: JSON, TOML, or a script of ours."""

    path: Path
    table: tuple[str, ...] = Field(default=(), description="Keys under which the MCP servers are.")
    server: dict[str, Any] = Field(default_factory=dict, description="The MCP server's entry; empty if none.")
    hooks: dict[str, list[dict[str, Any]]] = Field(
        default_factory=dict, description="What is added to the list of each event under `hooks`."
    )
    fixed: dict[str, Any] = Field(default_factory=dict, description="Further values that a new file needs.")
    script: str = ""

    @property
    def is_toml(self) -> bool:
        """TOML, by its suffix."""
        return self.path.suffix == ".toml"


class _File(NamedTuple):
    """A file of a row. Paths and keys are patterns over the names of `_folders`; without a path: not in that scope."""

    user: str
    project: str = ""
    table: tuple[str, ...] = ()
    project_table: tuple[str, ...] = ()
    server: Literal["plain", "typed", "timed", "one list", ""] = ""
    has_hooks: bool = False
    fixed: dict[str, Any] = {}  # noqa: RUF012
    is_script: bool = False


class Agent(NamedTuple):
    """A row: its program on the PATH, the folder that it makes, its files, and what the user must still do."""

    program: str
    folder: str
    files: tuple[_File, ...]
    next_step: str


_MCP = ("mcpServers",)
AGENTS: dict[Harness, Agent] = {
    # a project's entries name folders of this machine, so they go where Claude Code keeps what is private to it
    "claude-code": Agent("claude", "{claude}", (
        _File("{claude}/settings.json", "{project}/.claude/settings.local.json", has_hooks=True),
        _File("{state}/.claude.json", "{state}/.claude.json", _MCP, ("projects", "{project}", *_MCP), server="typed"),
    ), "Start a new session. Claude Code runs hooks only in folders that you trust, and none under `disableAllHooks`."),
    "codex": Agent("codex", "{codex}", (
        _File("{codex}/config.toml", "{project}/.codex/config.toml", ("mcp_servers",), server="timed"),
        _File("{codex}/hooks.json", "{project}/.codex/hooks.json", has_hooks=True),
    ), "Start Codex and trust Slowwave's hooks where it asks, or type /hooks: until then it skips them, and again "
       "after each change of their command; `codex exec` does so silently."),
    "gemini": Agent("gemini", "{user}/.gemini", (
        _File("{user}/.gemini/settings.json", "{project}/.gemini/settings.json", _MCP, server="plain", has_hooks=True),
    ), "Start a new session. Gemini CLI reads a project's settings only in folders that you trust."),
    "opencode": Agent("opencode", "{config}/opencode", (
        _File("{config}/opencode/opencode.json", "{project}/opencode.json", ("mcp",), server="one list"),
        _File("{config}/opencode/plugins/slowwave.js", "{project}/.opencode/plugins/slowwave.js", is_script=True),
    ), "Start OpenCode again."),
    "cursor": Agent("cursor", "{user}/.cursor", (
        _File("{user}/.cursor/mcp.json", "{project}/.cursor/mcp.json", _MCP, server="plain"),
        _File("{user}/.cursor/hooks.json", "{project}/.cursor/hooks.json", has_hooks=True, fixed={"version": 1}),
    ), "Reload Cursor's window, and switch the server on under Tools & MCP where Cursor asks. Cursor also runs "
       "the hooks of Claude Code's user settings."),
    "claude-desktop": Agent("", "{applications}/Claude", (
        _File("{applications}/Claude/claude_desktop_config.json", "", _MCP, server="plain"),
    ), "Quit Claude Desktop fully and start it again. It has no hooks: it gets the tools alone."),
    "vscode": Agent("code", "{applications}/Code/User", (
        _File("{applications}/Code/User/mcp.json", "{project}/.vscode/mcp.json", ("servers",), server="typed"),
    ), "Start the server once by `MCP: List Servers` and trust it. It gets the tools alone, no hooks."),
}  # fmt: skip
"""A new agent is a row here, its name in `names.py` and a line in `docs/connect.md`."""


def files_of(harness: Harness, scope: Scope, places: Places, install: Install) -> tuple[SettingsFile, ...]:
    """The files of a harness with the entries that connect it; none if it has no settings of that scope."""
    folders, found = _folders(places), []
    for file in AGENTS[harness].files:
        pattern = file.project if scope == "project" else file.user
        keys = (file.project_table or file.table) if scope == "project" else file.table
        path = Path(pattern.format(**folders))
        settings = SettingsFile(
            path=_jsonc_or(path) if path.name == "opencode.json" else path,
            table=tuple(key.format(**folders) for key in keys),
            server=_server(file.server, install) if file.server else {},
            hooks=_hooks(harness, install) if file.has_hooks else {},
            fixed=file.fixed,
            script=_opencode_plugin(install) if file.is_script else "",
        )
        found += [settings] if pattern else []
    return tuple(found)


def folder_of(harness: Harness, places: Places) -> Path:
    """The folder that exists if the harness was ever used on this machine."""
    return Path(AGENTS[harness].folder.format(**_folders(places)))


def advice_of(harness: Harness, scope: Scope) -> tuple[str, ...]:
    """Steps that are left to the user after connecting, by the vendors' documentation: no program can do them."""
    in_project = (*([_CODEX_TRUST] if harness == "codex" else []), _IN_PROJECT) if scope == "project" else ()
    return (AGENTS[harness].next_step, *in_project, *(_WITH_HOOKS if harness in EVENTS else ()))


def is_own(value: object) -> bool:
    """Return whether an MCP server's entry or a hook is one that `connect` wrote."""
    words = words_of(value) if isinstance(value, dict) else []
    return (MODULE in words and "mcp" in words) or any(PROGRAM in word.replace("\\", "/") for word in words)


def words_of(value: object) -> list[str]:
    """All words of the commands in an entry; a shell command is split."""
    if isinstance(value, dict):
        if isinstance(value.get("args"), list):  # then the command is a program, not a shell command
            return [str(value.get("command")), *words_of(value["args"])]
        return [word for key in ("command", "hooks") for word in words_of(value.get(key))]
    if isinstance(value, list):
        return [word for item in value for word in ([item] if isinstance(item, str) else words_of(item))]
    if not isinstance(value, str):
        return []
    try:
        return [value] if " " not in value else shlex.split(value, posix=os.name == "posix")
    except ValueError:
        return [value]


def _folders(places: Places) -> dict[str, str]:
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


def _jsonc_or(path: Path) -> Path:
    """OpenCode may have two settings files: the one with our entry, else the first that is there."""
    known = [one for one in (path.with_suffix(".jsonc"), path) if one.is_file()]
    ours = [one for one in known if os.access(one, os.R_OK) and MODULE.encode() in one.read_bytes()]
    return (*ours, *known, path)[0]


def _server(form: str, install: Install) -> dict[str, Any]:
    """The MCP server over standard input and output; -I ignores modules in a project's folder."""
    arguments = ["-I", "-m", MODULE, "mcp", "--home", install.home]
    if form == "one list":
        return {"type": "local", "command": [install.python, *arguments], "enabled": True}
    plain: dict[str, Any] = {"command": install.python, "args": arguments}
    more = {"typed": {"type": "stdio", **plain}, "timed": {**plain, "startup_timeout_sec": 60}}
    return more.get(form, plain)


def _hooks(harness: Harness, install: Install) -> dict[str, list[dict[str, Any]]]:
    known = [name for name in EVENTS if name == harness]
    return {event: [_hook(name, event, install)] for name in known for event in EVENTS[name]}


def _hook(harness: HarnessName, event: str, install: Install) -> dict[str, Any]:
    """The item of an event's list: the hook program, as a shell command if the agent has no other form."""
    words = ["-I", install.hook, harness, event, "--home", install.home]
    seconds = _SECONDS.get(event, _HOOK_SECONDS)
    if harness == "claude-code":
        return {"hooks": [{"type": "command", "command": install.python, "args": words, "timeout": seconds}]}
    line = (shlex.join if os.name == "posix" else subprocess.list2cmdline)([install.python, *words])
    if harness == "cursor":  # no timeout: vendors and users disagree on its unit
        return {"command": line}
    handler = {"type": "command", "command": line, "timeout": seconds}
    return {
        "hooks": [{"name": SERVER, **handler, "timeout": seconds * 1000} if harness == "gemini" else handler]
    }


def _opencode_plugin(install: Install) -> str:
    """The plugin for an installation: it can only call the hook program."""
    command = [install.python, "-I", install.hook]
    text = (Path(__file__).parent / "opencode_plugin.js").read_text(encoding="utf-8")
    return text.replace('["COMMAND"]', json.dumps(command)).replace('"HOME"', json.dumps(install.home))
