"""How each coding agent is started on a prompt with a home folder of its own, and told which model to ask.

No agent reaches beyond this machine: updates, telemetry and lists of models are switched off where it has a switch.
"""

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

LONGEST = 180
"""Seconds that an agent may take for a prompt."""


class Agent(NamedTuple):
    """A way to run one agent: its words before a prompt in a new conversation and in the last one, and its files."""

    new: tuple[str, ...]
    again: tuple[str, ...]
    files: Callable[[str], Mapping[str, str]]
    environment: Callable[[str], Mapping[str, str]]
    takes_stdin: bool = False
    waits: str = ""
    """A call that takes some seconds, for an agent whose first request does not wait long for servers of tools."""


def _no_files(_: str) -> Mapping[str, str]:
    return {}


def _codex_files(url: str) -> Mapping[str, str]:
    lines = [
        'model = "scripted"', 'model_provider = "scripted"', "check_for_update_on_startup = false", "",
        "[model_providers.scripted]", 'name = "Scripted"', f'base_url = "{url}/v1"', 'env_key = "SCRIPTED_KEY"',
        'wire_api = "responses"', "", "[analytics]", "enabled = false", "",
    ]  # fmt: skip
    return {".codex/config.toml": "\n".join(lines)}


def _gemini_files(_: str) -> Mapping[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    }
    return {".gemini/settings.json": json.dumps(settings, indent=2)}


def _opencode_files(url: str) -> Mapping[str, str]:
    model = {"name": "Scripted", "limit": {"context": 100_000, "output": 8_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{url}/v1", "apiKey": "scripted"},
        "models": {"scripted": model},
    }
    chosen = dict.fromkeys(("model", "small_model"), "scripted/scripted")
    settings = {**chosen, "autoupdate": False, "share": "disabled", "provider": {"scripted": provider}}
    return {".config/opencode/opencode.json": json.dumps(settings, indent=2) + "\n"}


_CLAUDE_SWITCHES = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING",
                    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")  # fmt: skip
_TOOLS = ("--allowedTools", "mcp__slowwave,Bash")
_TRUSTED = ("--dangerously-bypass-hook-trust", "--skip-git-repo-check")
_YOLO = ("--skip-trust", "--approval-mode", "yolo")

AGENTS: dict[str, Agent] = {
    "claude-code": Agent(
        new=(*_TOOLS, "-p"),
        again=(*_TOOLS, "--continue", "-p"),
        files=_no_files,
        environment=lambda url: {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "scripted",
            **dict.fromkeys(_CLAUDE_SWITCHES, "1"),
        },
        waits='CALL Bash {"command": "sleep 8"} ',
    ),
    "codex": Agent(
        new=("exec", *_TRUSTED),
        again=("exec", "resume", "--last", *_TRUSTED),
        files=_codex_files,
        environment=lambda _: {"SCRIPTED_KEY": "scripted"},
        waits='CALL exec_command {"cmd": "sleep 8"} ',
    ),
    "gemini": Agent(
        new=(*_YOLO, "-p"),
        again=(*_YOLO, "-r", "latest", "-p"),
        files=_gemini_files,
        environment=lambda url: {"GEMINI_API_KEY": "scripted", "GOOGLE_GEMINI_BASE_URL": url},
    ),
    "opencode": Agent(
        new=("run",),
        again=("run", "--continue"),
        files=_opencode_files,
        environment=lambda _: dict.fromkeys(
            ("OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH"), "1"
        ),
        takes_stdin=True,  # it puts quotation marks around a prompt among its words
    ),
}


class Program(NamedTuple):
    """An installed agent with its home folder, the repository that it works in, and the address of its model."""

    name: str
    path: str
    home: Path
    repository: Path
    url: str

    def prepare(self) -> None:
        """Make the home folder and the repository, and write the agent's own settings."""
        self.repository.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(self.repository)], check=True)
        for name, text in AGENTS[self.name].files(self.url).items():
            (self.home / name).parent.mkdir(parents=True, exist_ok=True)
            (self.home / name).write_text(text, encoding="utf-8")

    def version(self) -> str:
        """The agent's word on its version."""
        return self._run(["--version"], "").stdout.strip().splitlines()[-1]

    def prompt(self, text: str, *, goes_on: bool = False) -> str:
        """The agent's output for a prompt, in a new conversation or in the last one; "" where it failed."""
        agent = AGENTS[self.name]
        words = [*(agent.again if goes_on else agent.new), *([] if agent.takes_stdin else [text])]
        done = self._run(words, text if agent.takes_stdin else "")
        return "" if done.returncode else done.stdout

    def _run(self, words: Sequence[str], given: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TERM": "dumb",
            **AGENTS[self.name].environment(self.url),
        }
        return subprocess.run(
            [self.path, *words], input=given, capture_output=True, text=True, check=False,
            timeout=LONGEST, cwd=self.repository, env=environment,
        )  # fmt: skip
