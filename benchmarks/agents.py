"""What real coding agents do with a connected memory: `python benchmarks/agents.py --claude PATH --codex PATH ...`.

Each agent is started on prompts as a person would, with a home folder of its own and a scripted model
(`scripted_models.py`): it is told a preference, asked about it in another conversation, sent to the memory's tools,
left without a server, and disconnected. What is seen is looked up where it counts: in the requests that the model got,
in the memory, and in the agent's files. `benchmarks/README.md` says more.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.agents_programs import AGENTS, Program  # noqa: E402
from benchmarks.environment import hide_settings  # noqa: E402
from benchmarks.scripted_models import ANSWER, Asked, ScriptedModel  # noqa: E402
from slowwave.interfaces.hooks.settings_files import is_own  # noqa: E402

OPTIONS = {"claude-code": "claude", "codex": "codex", "gemini": "gemini", "opencode": "opencode"}
TOLD = "From now on I want tests run with pytest -x before a commit."
MARK = "pytest -x"
QUESTION = "How do I want the tests run before a commit?"
ONCE_MORE = "Once more: how do I want them run before a commit?"
ALONE = "From now on the kiln stays shut on Sundays."
REMEMBERED = "The ledger closes on the fifth of each month."
SECONDS = 60
"""Longest wait for a server, and for what it takes in behind its answers."""

Story = dict[str, str]


class Memory:
    """The memory of a home as its commands show it, and its server."""

    def __init__(self, home: Path, person: Path, repository: Path) -> None:
        self.home, self.repository = home, repository
        self.environment = {**os.environ, "HOME": str(person), "PREFECT_LOGGING_LEVEL": "ERROR"}

    def run(self, *words: str) -> str:
        """What a command of `slowwave` prints."""
        return subprocess.run(
            self.command(*words),
            capture_output=True,
            text=True,
            check=False,
            cwd=self.repository,
            env=self.environment,
        ).stdout

    def command(self, *words: str) -> list[str]:
        """The command line of a command."""
        return [sys.executable, "-m", "slowwave", *words, "--home", str(self.home)]

    def holds(self, text: str) -> bool:
        """Return whether somebody's word of this text is in the memory, waiting for it a while."""
        return until(lambda: text in self.run("search", text, "--detail", "evidence"))

    @contextmanager
    def server(self) -> Iterator[subprocess.Popen[bytes]]:
        """The server of the home, in a process of its own."""
        address = self.home / "server" / "address.json"
        address.unlink(missing_ok=True)
        with subprocess.Popen(
            self.command("serve"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment
        ) as process:
            if (
                not until(lambda: address.exists() or process.poll() is not None)
                or process.poll() is not None
            ):
                raise SystemExit("the server did not start")
            try:
                yield process
            finally:
                process.terminate()


def until(condition: Callable[[], bool]) -> bool:
    """Return whether a condition became true in time."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.5)
    return True


def tell(agent: Program, memory: Memory, model: ScriptedModel) -> Story:
    """A preference is told, a night passes, and other conversations are asked about it."""
    seen: Story = {"answers": told(ANSWER in agent.prompt(TOLD))}
    seen["what a person says is recorded"] = told(memory.holds(MARK))
    memory.run("run", "nightly")
    seen["a night makes a memory of it"] = told(MARK in memory.run("list", "--json"))
    first = asked(model, lambda: agent.prompt(QUESTION))
    seen["the model is sent it in a new conversation"] = told(bool(first) and MARK in first[0].text)
    again = asked(model, lambda: agent.prompt(ONCE_MORE, goes_on=True))
    is_known = bool(again) and QUESTION in again[0].text
    counts = [request.text.count(MARK) for request in (*first[:1], *again[:1])]
    seen["and once alone where it goes on"] = told(
        is_known and len(counts) == 2 and counts[0] == counts[1] > 0
    )
    return seen


def use_tools(agent: Program, memory: Memory, model: ScriptedModel) -> Story:
    """The model calls the memory's tools."""
    waits = AGENTS[agent.name].waits
    calls = (
        f'CALL search_memory {{"query": "{QUESTION}"}} CALL remember_fact {json.dumps({"text": REMEMBERED})}'
    )
    requests = asked(model, lambda: agent.prompt(f"{waits}Please {calls}"))
    tools = {tool for request in requests for tool in request.tools if "slowwave" in tool}
    results = requests[-1].results if requests else ()
    return {
        "tools of the memory in a request": str(len(tools)),
        "search_memory answers": told(any(MARK in result for result in results)),
        "remember_fact keeps": told(until(lambda: REMEMBERED in memory.run("list", "--json"))),
    }


def work_alone(agent: Program, memory: Memory, model: ScriptedModel) -> Story:
    """No server runs: the agent goes on, and a later server catches up."""
    seen = {"answers without a server": told(ANSWER in agent.prompt(ALONE))}
    with memory.server():
        agent.prompt("Hello again.", goes_on=True)
        seen["and what was said is taken in later"] = told(memory.holds(ALONE))
    return seen


def story(name: str, path: str, folder: Path) -> Story:
    """All that is seen of an agent, by what was looked for."""
    with ScriptedModel() as model:
        agent = Program(name, path, folder / "person", folder / "repository", model.url)
        memory = Memory(folder / "memory", agent.home, agent.repository)
        agent.prepare()
        seen = {"version": agent.version(), "answers before": told(ANSWER in agent.prompt("Hello."))}
        before = files_of(agent.home)
        memory.run("connect", name)
        with memory.server() as server:
            seen |= {
                "doctor says": doctor(memory, name),
                **tell(agent, memory, model),
                **use_tools(agent, memory, model),
            }
            seen["doctor says then"] = doctor(memory, name)
            server.kill()
        seen |= work_alone(agent, memory, model)
        memory.run("disconnect", name)
        after = files_of(agent.home)
        changed = [
            path for path, text in before.items() if values(path, after.get(path, b"")) != values(path, text)
        ]
        left = [
            str(path)
            for path, text in after.items()
            if is_own(text.decode(errors="replace")) or path.stem == "slowwave"
        ]
        seen["nothing is left after disconnect"] = told(not left) + (f" ({', '.join(left)})" if left else "")
        seen["settings have the values that they had"] = told(not changed) + (
            f" ({', '.join(map(str, changed))})" if changed else ""
        )
    return seen


def asked(model: ScriptedModel, act: Callable[[], object]) -> list[Asked]:
    """The requests with tools that an act led to: those of the conversation itself, no titles."""
    place = len(model.asked)
    act()
    return [request for request in model.asked[place:] if request.tools]


def doctor(memory: Memory, name: str) -> str:
    """The line of `slowwave doctor` on an agent."""
    checks: list[dict[str, Any]] = json.loads(memory.run("doctor", "--json"))["checks"]
    return next((str(check["found"]) for check in checks if check["name"] == name), "nothing")


def files_of(person: Path) -> dict[Path, bytes]:
    """The settings of all agents in a home folder, by their paths there."""
    places = (".claude.json", ".claude/settings*", ".codex/*.toml", ".codex/*.json", ".gemini/settings*")
    found = [
        path
        for place in (*places, ".config/opencode/opencode*", ".config/opencode/plugins/*")
        for path in person.glob(place)
    ]
    return {path.relative_to(person): path.read_bytes() for path in sorted(found)}


def values(path: Path, data: bytes) -> object:
    """The values of a settings file: agents write them anew with another layout."""
    text = data.decode(errors="replace")
    try:
        return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except ValueError:
        return text


def told(is_so: bool) -> str:
    """A finding as a word."""
    return "yes" if is_so else "NO"


def main() -> None:
    """Run the story with each agent that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, option in OPTIONS.items():
        parser.add_argument(f"--{option}", metavar="PATH", help=f"the program of {name}")
    parser.add_argument(
        "--folder", type=Path, help="keep what the agents write in this folder, which must be new"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    given = parser.parse_args()
    hide_settings()
    found: dict[str, Story] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name, option in OPTIONS.items():
            path = getattr(given, option)
            folder = (given.folder or Path(temporary)).resolve() / name
            found[name] = (
                story(name, str(Path(path).absolute()), folder)
                if path
                else {"skipped": f"no --{option} PATH"}
            )
            if not given.json:
                print(
                    name,
                    *(f"  {check:46} {seen}" for check, seen in found[name].items()),
                    sep="\n",
                    flush=True,
                )
    if given.json:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
