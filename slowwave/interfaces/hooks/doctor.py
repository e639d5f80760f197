"""Rows of `slowwave doctor` about coding agents: what is connected, what is still to do, and when it last worked."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from slowwave.interfaces.hooks.agents import AGENTS, Places
from slowwave.interfaces.hooks.connect import State, survey
from slowwave.interfaces.hooks.events import EVENTS
from slowwave.interfaces.hooks.follower import read_kept

Row = tuple[str, bool, str]
"""Name, whether it is well, and what was found or what to do."""


def agent_rows(home: str, places: Places | None = None) -> Iterator[Row]:
    """A row for each agent that is connected or cannot be looked at; `home` is the resolved home."""
    states = [state for state in survey(home, places) if state.connected != "no"]
    if not any(state.homes for state in states):
        yield "agents", True, "none is connected: `slowwave connect` lists those on this machine"
    answered = read_kept(Path(home) / "hooks" / "follower.json").answered
    for state in states:
        name = f"{state.agent} in {Path(state.project).name}" if state.project else state.agent
        yield name, not _problem(state, home), _problem(state, home) or _found(state, home, answered)


def _problem(state: State, home: str) -> str:
    others = [other for other in state.homes if other != home]
    return "; ".join([*filter(None, [state.problem]), *(f"it has another home, {other}" for other in others)])


def _found(state: State, home: str, answered: dict[str, str]) -> str:
    """The last answer of its hooks since it was connected; else what is left to do, by its documentation."""
    if state.agent not in EVENTS:
        return "connected, tools alone"
    at = answered.get(state.agent, "")
    note = Path(home) / "hooks" / "connected" / state.agent
    if at and not (note.exists() and datetime.fromisoformat(at).timestamp() < int(note.stat().st_mtime)):
        return f"connected; its hooks were last answered on {at[:16].replace('T', ' ')} UTC"
    return f"connected; no hook was answered since: {AGENTS[state.agent].next_step}"
