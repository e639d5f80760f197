"""Rows of `slowwave doctor` about coding agents: what is connected, what is still to do, and when it last worked."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from slowwave.entrypoints.connecting.agents import Install, Places
from slowwave.entrypoints.connecting.survey import State, survey
from slowwave.entrypoints.harness.events import EVENTS
from slowwave.entrypoints.harness.state import HookState, hook_state
from slowwave.entrypoints.show.terminal import ago
from slowwave.schemas.report import several

Row = tuple[str, bool, str]
"""Name, whether it is well, and what was found or what to do."""


def agent_rows(places: Places, install: Install, *, now: datetime) -> Iterator[Row]:
    """A row for each agent that is connected or cannot be looked at, and one where hooks found no server."""
    states = [state for state in survey(places, install) if state.connected != "no"]
    hooks = hook_state(Path(install.home))
    if not any(state.homes for state in states):
        yield "agents", True, "none is connected: `slowwave connect` lists those on this machine"
    for state in states:
        yield _row(state, hooks, install.home, now=now)
    if hooks.missed_since and hooks.missed_until:
        count = f"{several(hooks.missed_count, 'event')} of agents found no server"
        when = f"the first {ago(hooks.missed_since, now)}, the last {ago(hooks.missed_until, now)}"
        why = ", ".join(hooks.reasons)
        yield "hooks", False, f"{count} ({why}), {when}: start `slowwave serve`, it catches up"


def no_server_row(places: Places, install: Install) -> Row:
    """The row of a home that no server serves; that is worth a look only where an agent's hooks need one."""
    needed = [one.harness for one in survey(places, install)
              if install.home in one.homes and one.harness in EVENTS]  # fmt: skip
    if not needed:
        return "server", True, "none runs; agents' hooks would need one (`slowwave serve`)"
    names = ", ".join(dict.fromkeys(needed))
    return "server", False, f"none runs: until `slowwave serve` does, hooks of {names} are silent"


def _row(state: State, hooks: HookState, home: str, *, now: datetime) -> Row:
    name = f"{state.harness} in {Path(state.project).name}" if state.project else state.harness
    others = [other for other in state.homes if other != home]
    told = list(state.problems)
    if others:
        told.append(f"it has another home, {', '.join(others)}")
    if told:
        return name, False, "; ".join(told)
    if state.harness not in EVENTS:
        return name, True, "connected, tools alone"
    answered = hooks.answered_at.get(state.harness)
    when = f"hooks last answered {ago(answered, now)}" if answered else "no hook was answered yet"
    return name, True, f"connected; {when}"
