"""The entries that connecting writes: the settings files of an agent, with the entries that belong there.

No entry holds the server's key: the programs that they name ask over the home's own socket.
"""

import json
import os
import shlex
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import slowwave
from slowwave.interfaces.hooks.agents import AGENTS, AgentName, Entry, File, Places, Scope, folders_of
from slowwave.interfaces.hooks.events import EVENTS

MCP = ("-I", "-m", "slowwave", "mcp")
"""The MCP server over standard input and output; -I ignores modules in a project's folder."""

HOOK = Path(slowwave.__file__).absolute().parent / "interfaces" / "hooks" / "hook.py"

HOOK_SECONDS, END_SECONDS = 5, 3
"""Hooks end themselves sooner. Codex allows 3 at the end of a session; Claude Code raises its 1.5 to what is named."""


class Wanted(NamedTuple):
    """A settings file with the entries that belong there.

    `table` are the keys under which the MCP servers are; `hooks` is added to the list of each event under `hooks`;
    `fixed` are further values that a new file needs. A `script` is the whole file.
    """

    path: Path
    table: tuple[str, ...]
    server: Entry
    hooks: dict[str, list[Entry]]
    fixed: Entry
    script: str


def wanted_of(agent: AgentName, scope: Scope, places: Places, home: str) -> list[Wanted]:
    """The files of an agent in a scope, with the entries that connect it with a home; none if it has no such scope."""
    folders = folders_of(places)
    if scope == "user":
        return [_filled(agent, file, file.user, file.table, folders, home) for file in AGENTS[agent].files]
    return [
        _filled(agent, file, file.project, file.project_table or file.table, folders, home)
        for file in AGENTS[agent].files
        if file.project
    ]


def homes_in(entries: Iterable[object]) -> tuple[str, ...]:
    """The homes that entries name after `--home`, each once; a script's is not looked for."""
    words = [word for entry in entries if isinstance(entry, dict) for word in _words(entry)]
    return tuple(dict.fromkeys(after for word, after in pairwise(words) if word == "--home"))


def _words(value: object) -> list[str]:
    """All words in an entry; a command line is split."""
    if isinstance(value, dict | list):
        return [
            word for one in (value.values() if isinstance(value, dict) else value) for word in _words(one)
        ]
    if not isinstance(value, str):
        return []
    try:
        return shlex.split(value, posix=os.name == "posix") if "--home " in value else [value]
    except ValueError:
        return [value]


def _filled(
    agent: AgentName, file: File, pattern: str, keys: tuple[str, ...], folders: dict[str, str], home: str
) -> Wanted:
    python, path, hooks = str(Path(sys.executable).absolute()), Path(pattern.format(**folders)), {}
    if agent in EVENTS and file.hook:
        for event in EVENTS[agent]:
            words = [python, "-I", "-S", str(HOOK), agent, event, "--home", home]
            hooks[event] = [file.hook(words, END_SECONDS if event == "SessionEnd" else HOOK_SECONDS)]
    return Wanted(
        path=_jsonc_or(path) if path.name == "opencode.json" else path,
        table=tuple(key.format(**folders) for key in keys),
        server=file.server([python, *MCP, "--home", home]) if file.server else {},
        hooks=hooks,
        fixed=file.fixed,
        script=_script(file.script, python, home) if file.script else "",
    )


def _script(name: str, python: str, home: str) -> str:
    """OpenCode's plugin for an installation: it can only call the hook program."""
    text = (HOOK.parent / name).read_text(encoding="utf-8")
    command = json.dumps([python, "-I", "-S", str(HOOK)])
    return text.replace('["COMMAND"]', command).replace('"HOME"', json.dumps(home))


def _jsonc_or(path: Path) -> Path:
    """OpenCode may have two settings files: the one with our entry, else the first that is there."""
    known = [one for one in (path.with_suffix(".jsonc"), path) if one.is_file()]
    ours = [one for one in known if os.access(one, os.R_OK) and b'"slowwave"' in one.read_bytes()]
    return (*ours, *known, path)[0]
