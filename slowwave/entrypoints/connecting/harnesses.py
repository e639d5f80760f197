"""The harnesses that can be connected: which files hold their settings, and what goes into them.

Paths and values in, paths and values out. Where a form is known from documentation alone, `docs/connect.md` says
so. No entry holds the server's key: the programs named here read it in the home.
"""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from slowwave.entrypoints.connecting.names import PROGRAMS, Harness, Scope
from slowwave.entrypoints.harness.events import EVENTS
from slowwave.schemas.refusals import Frozen

SERVER = "slowwave"
"""The name of the MCP server in all settings."""

MODULE = "slowwave.entrypoints.cli"
PROGRAM = "entrypoints/harness/hook.py"
"""By these an entry is recognised as ours: the module that serves MCP, and the end of the hook program's path."""

_SECONDS = {"SessionStart": 5, "SessionEnd": 3}
_HOOK_SECONDS = 5
"""Hooks end themselves sooner. Codex allows a session's end 3; Claude Code raises its 1.5 to what is named."""


class Install(Frozen):
    """An installation to connect: this environment's Python, the hook program and the home, all absolute."""

    python: str
    hook: str
    home: str


class Places(Frozen):
    """Folders in which settings are looked for: the user's folder, the project's, and the variables that move them."""

    user: Path
    project: Path
    system: str = Field(description="As `sys.platform` has it.")
    environment: dict[str, str] = Field(default_factory=dict)


class Entry(Frozen):
    """One value under a path of an object; without a key it is an item of the list there."""

    path: tuple[str, ...]
    key: str | None = None
    value: Any


class SettingsFile(Frozen):
    """One file of a harness, with what it should hold."""

    path: Path
    kind: Literal["json", "toml", "script"]
    entries: tuple[Entry, ...] = ()
    skeleton: dict[str, Any] = Field(
        default_factory=dict, description="What a new file needs besides the entries."
    )
    script: str = ""


def files_of(harness: Harness, scope: Scope, places: Places, install: Install) -> tuple[SettingsFile, ...]:
    """The files of a harness with the entries that connect it; none where it has no settings of that scope."""
    folder = places.project if scope == "project" else places.user
    if harness == "claude-code":
        return _claude_code(scope, places, install)
    if harness == "codex":
        return _codex(folder / ".codex" if scope == "project" else codex_home(places), install)
    if harness == "gemini":
        return (_gemini(folder / ".gemini" / "settings.json", install),)
    if harness == "opencode":
        return _opencode(scope, places, install)
    if harness == "cursor":
        return _cursor(folder / ".cursor", install)
    if harness == "vscode":
        path = folder / ".vscode" / "mcp.json" if scope == "project" else _vscode_user(places) / "mcp.json"
        return (_with_server(path, ("servers",), {"type": "stdio", **_stdio(install)}),)
    if scope == "project":
        return ()
    path = _application(places, "Claude") / "claude_desktop_config.json"
    return (_with_server(path, ("mcpServers",), _stdio(install)),)


def is_shared(harness: Harness, places: Places, install: Install) -> bool:
    """Return whether the project's files are the user's own, as in the user's folder: one connection, not two."""
    own, others = (files_of(harness, scope, places, install) for scope in ("user", "project"))
    return {one.path for one in own} == {one.path for one in others}


def is_own(value: object) -> bool:
    """Return whether an MCP server's entry or a hook is one that `connect` wrote."""
    words = words_of(value) if isinstance(value, dict) else []
    return (MODULE in words and "mcp" in words) or any(PROGRAM in word.replace("\\", "/") for word in words)


def words_of(value: object) -> list[str]:
    """All words of the commands in an entry, those of a shell's line each by itself."""
    if isinstance(value, dict):
        if isinstance(value.get("args"), list):  # then the command is a program, not a shell's line
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


def is_found(harness: Harness, places: Places) -> bool:
    """Return whether the harness was used on this machine, or its program is on the PATH."""
    program = PROGRAMS.get(harness)
    path = places.environment.get("PATH")
    return os.access(_folder_of(harness, places), os.F_OK) or bool(
        program and path and shutil.which(program, path=path)
    )


def _folder_of(harness: Harness, places: Places) -> Path:
    """The folder that is there where the harness was ever used on this machine."""
    return {
        "claude-code": _claude_home(places),
        "codex": codex_home(places),
        "gemini": places.user / ".gemini",
        "opencode": _config(places) / "opencode",
        "cursor": places.user / ".cursor",
        "claude-desktop": _application(places, "Claude"),
        "vscode": _vscode_user(places),
    }[harness]


def codex_home(places: Places) -> Path:
    """The folder of Codex: `CODEX_HOME`, else `~/.codex`."""
    return Path(places.environment.get("CODEX_HOME") or places.user / ".codex")


def _claude_code(scope: Scope, places: Places, install: Install) -> tuple[SettingsFile, ...]:
    """Settings and, for the MCP server, the file in which Claude Code keeps private servers.

    A project's entries name folders of this machine, so they go where Claude Code keeps what is private to it:
    `settings.local.json`, and the project's part of its own file.
    """
    moved = places.environment.get("CLAUDE_CONFIG_DIR")
    state = (Path(moved) if moved else places.user) / ".claude.json"
    path: tuple[str, ...] = ("mcpServers",)
    settings = _claude_home(places) / "settings.json"
    if scope == "project":
        path = ("projects", str(places.project), "mcpServers")
        settings = places.project / ".claude" / "settings.local.json"
    hooks = tuple(
        _group(event, {"type": "command", **_exec(install, "claude-code", event), "timeout": _seconds(event)})
        for event in EVENTS["claude-code"]
    )
    return (
        SettingsFile(path=settings, kind="json", entries=hooks),
        _with_server(state, path, {"type": "stdio", **_stdio(install)}),
    )


def _codex(folder: Path, install: Install) -> tuple[SettingsFile, ...]:
    hooks = tuple(
        _group(
            event, {"type": "command", "command": _line(install, "codex", event), "timeout": _seconds(event)}
        )
        for event in EVENTS["codex"]
    )
    server = Entry(path=("mcp_servers",), key=SERVER, value={**_stdio(install), "startup_timeout_sec": 60})
    return (
        SettingsFile(path=folder / "config.toml", kind="toml", entries=(server,)),
        SettingsFile(path=folder / "hooks.json", kind="json", entries=hooks),
    )


def _gemini(path: Path, install: Install) -> SettingsFile:
    hooks = tuple(
        _group(
            event,
            {
                "name": SERVER,
                "type": "command",
                "command": _line(install, "gemini", event),
                "timeout": _seconds(event) * 1000,
            },
        )
        for event in EVENTS["gemini"]
    )
    server = Entry(path=("mcpServers",), key=SERVER, value=_stdio(install))
    return SettingsFile(path=path, kind="json", entries=(server, *hooks))


def _opencode(scope: Scope, places: Places, install: Install) -> tuple[SettingsFile, ...]:
    """Settings and a plugin, which OpenCode loads from its folder.

    Of two settings files it is the one that has our entry, else the first that is there.
    """
    folder = places.project if scope == "project" else _config(places) / "opencode"
    plugins = (folder / ".opencode" if scope == "project" else folder) / "plugins"
    known = [
        path for name in ("opencode.jsonc", "opencode.json") if os.access(path := folder / name, os.R_OK)
    ]
    ours = [path for path in known if path.is_file() and MODULE.encode() in path.read_bytes()]
    settings = (*ours, *known, folder / "opencode.json")[0]
    server = {"type": "local", "command": [install.python, *_arguments(install)], "enabled": True}
    return (
        _with_server(settings, ("mcp",), server),
        SettingsFile(path=plugins / "slowwave.js", kind="script", script=opencode_plugin(install)),
    )


def opencode_plugin(install: Install) -> str:
    """The plugin's text for an installation: a program that can only call the hook program."""
    command = [install.python, "-I", install.hook]
    text = (Path(__file__).parent / "opencode_plugin.js").read_text(encoding="utf-8")
    return text.replace('["COMMAND"]', json.dumps(command)).replace('"HOME"', json.dumps(install.home))


def _cursor(folder: Path, install: Install) -> tuple[SettingsFile, ...]:
    hooks = tuple(
        Entry(path=("hooks", event), value={"command": _line(install, "cursor", event)})
        for event in EVENTS["cursor"]
    )
    return (
        _with_server(folder / "mcp.json", ("mcpServers",), _stdio(install)),
        SettingsFile(path=folder / "hooks.json", kind="json", entries=hooks, skeleton={"version": 1}),
    )


def _with_server(path: Path, under: tuple[str, ...], value: dict[str, Any]) -> SettingsFile:
    return SettingsFile(path=path, kind="json", entries=(Entry(path=under, key=SERVER, value=value),))


def _group(event: str, handler: dict[str, Any]) -> Entry:
    return Entry(path=("hooks", event), value={"hooks": [handler]})


def _arguments(install: Install) -> list[str]:
    """Arguments of the MCP server over standard input and output; -I keeps a project's own files out of it."""
    return ["-I", "-m", MODULE, "mcp", "--home", install.home]


def _stdio(install: Install) -> dict[str, Any]:
    return {"command": install.python, "args": _arguments(install)}


def _words(install: Install, harness: str, event: str) -> list[str]:
    return ["-I", install.hook, harness, event, "--home", install.home]


def _exec(install: Install, harness: str, event: str) -> dict[str, Any]:
    return {"command": install.python, "args": _words(install, harness, event)}


def _line(install: Install, harness: str, event: str) -> str:
    """The hook command as a line of the shell, for harnesses that have no other form."""
    words = [install.python, *_words(install, harness, event)]
    return shlex.join(words) if os.name == "posix" else subprocess.list2cmdline(words)


def _seconds(event: str) -> int:
    return _SECONDS.get(event, _HOOK_SECONDS)


def _claude_home(places: Places) -> Path:
    return Path(places.environment.get("CLAUDE_CONFIG_DIR") or places.user / ".claude")


def _config(places: Places) -> Path:
    return Path(places.environment.get("XDG_CONFIG_HOME") or places.user / ".config")


def _application(places: Places, name: str) -> Path:
    """The folder of a desktop program's settings."""
    if places.system == "darwin":
        return places.user / "Library" / "Application Support" / name
    if places.system == "win32":
        return Path(places.environment.get("APPDATA") or places.user / "AppData" / "Roaming") / name
    return _config(places) / name


def _vscode_user(places: Places) -> Path:
    return _application(places, "Code") / "User"
