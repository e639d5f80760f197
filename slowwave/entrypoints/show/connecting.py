"""Connections with coding agents, for a terminal."""

from collections.abc import Sequence
from pathlib import Path

from slowwave.entrypoints.show.terminal import flat, results, table, tell, visible
from slowwave.interfaces.hooks.connect import Connected, State

_WOULD = {"made": "would make", "changed": "would change", "kept": "would keep", "removed": "would remove"}


def show_connected(done: Connected) -> None:
    """The files that connecting changed, and what is left to do by hand."""
    _show_files(done, "Connected" if not done.dry_run else "Would connect", _with(done.homes))
    for note in done.notes:
        tell(f"  {flat(note)}")


def show_disconnected(done: Connected) -> None:
    """The files that disconnecting changed."""
    if all(file.did == "kept" for file in done.files):
        where = f"the project {done.project}" if done.project else "your own settings"
        tell(f"{done.agent} is not connected in {flat(where)}.")
    else:
        _show_files(done, "Disconnected" if not done.dry_run else "Would disconnect", _with(done.homes))
    for note in done.notes:
        tell(f"  {flat(note)}")


def show_states(states: Sequence[State]) -> None:
    """The harnesses as a table, and what to do about those that are not well."""
    made = table("agent", "on this machine", "connected", "home", "settings")
    for state in states:
        where = f"project {Path(state.project).name}" if state.project else "your own"
        found = "found" if state.is_found else "not found"
        homes = flat(", ".join(state.homes))
        made.add_row(state.agent, found, state.connected, homes, flat(where if state.homes else ""))
    results().print(made)
    for state in states:
        if state.problem:
            tell(f"{state.agent}: {flat(state.problem)}")
    if not any(state.homes for state in states):
        tell("`slowwave connect NAME` connects one; with --dry-run it shows what it would change.")


def _with(homes: Sequence[str]) -> str:
    return f" with the home {flat(', '.join(homes))}" if homes else ""


def _show_files(done: Connected, did: str, home: str) -> None:
    where = f", in the project {flat(done.project)}" if done.project else ""
    tell(f"{did} {done.agent}{home}{where}.")
    for file in done.files:
        did = _WOULD[file.did] if done.dry_run else file.did
        kept = (
            f" ({'kept' if not done.dry_run else 'keeps'} a copy: {flat(file.backup)})" if file.backup else ""
        )
        tell(f"  {did} {flat(file.path)}{kept}")
        if file.entries:
            tell(visible(file.entries))
