"""The state of a home as blocks: its status and counts, quarantine, the checks of `doctor`, sources and agents."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from rich.filesize import decimal

from slowwave.interfaces.rendering.blocks import Block, Line, Opening, Render, line, notes, table
from slowwave.interfaces.rendering.view import View
from slowwave.interfaces.rendering.words import FIRST_STEPS, listed, short
from slowwave.schemas.moments import day_of
from slowwave.schemas.report import forgetting_line, several, several_memories
from slowwave.schemas.results import FoundSource, Night, QuarantinedChunk, Stats, Status


def _status(found: Status, view: View) -> list[Block]:
    """The home of the memory, the last night, waiting work, rows and sizes."""
    home, waiting = _named("home", str(found.home)), found.pending
    if not found.has_memory:
        segments = waiting.get("journal_segments_not_applied", 0)
        said = f"{several(segments, 'journal segment')} not applied: `slowwave run rebuild` makes the store."
        return [home, Opening(f"No memory yet {FIRST_STEPS}"), *([Opening(said)] if segments else [])]
    lost = f"{several(found.lost_segments, 'segment')} missing or unreadable: `slowwave doctor` names them"
    sizes = {"journal": found.journal_bytes, "store": found.store_bytes, "cache": found.cache_bytes}
    return [
        home,
        _named("embedder", found.embedder_id or "none: full-text search only"),
        _named("night", _night(found.last_night, view)),
        _named("forgotten", forgetting_line(found.forgetting)),
        *([_named("journal", lost)] if found.lost_segments else []),
        _on_disk(sizes),
        _named("waiting", listed({name.replace("_", " "): waiting[name] for name in waiting}) or "nothing"),
        _named("rows", listed(found.rows) or "none"),
    ]


def _night(night: Night | None, view: View) -> str:
    if night is None:
        return "none yet: `slowwave run nightly`"
    spent = "no language model"
    if night.has_llm:
        cost = "cost unknown" if night.cost is None else f"${night.cost:.4f}"
        spent = f"{night.call_count} calls, {night.token_count} tokens, {cost}"
    note = f"; {night.note}" if night.note else ""
    return f"{night.outcome} {view.ago(night.finished_at)}, {spent}{note}"


def _stats(found: Stats, view: View) -> list[Block]:
    """Counts of memories and of their use, a line a kind."""
    counted = [several_memories(found.cells), several(found.turns, "message"), several(found.topics, "topic")]
    apart = [several(found.open_contradictions, "open contradiction"), f"{found.tombstones} deleted"]
    return [
        Opening(f"{counted[0]} from {counted[1]}, {counted[2]}"),
        *(_named(kind, listed(counts)) for kind, counts in found.by.items() if counts),
        _named(
            "of these",
            f"{found.protected} confirmed by a person, {found.never_used} never used, "
            f"{found.without_topic} without a topic",
        ),
        _named("also", ", ".join([*apart, f"{several(found.erased_turns, 'message')} erased"])),
        _named("forgotten", forgetting_line(found.forgetting)),
        _on_disk({"journal": found.journal_bytes, "store": found.store_bytes}),
        *notes(found.notes),
    ]


def _quarantine(found: Sequence[QuarantinedChunk], view: View) -> list[Block]:
    """Work for which the model gave no usable answer."""
    columns: dict[str, Callable[[QuarantinedChunk], str]] = {
        "id": lambda one: short(one.chunk_id),
        "kind": lambda one: one.kind,
        "date": lambda one: day_of(one.event_time),
        "tries": lambda one: str(one.attempts),
        "reason": lambda one: one.error or "no reason kept",
        "source": lambda one: one.source_name,
    }
    return table(found, columns, "Nothing is in quarantine.", numbers=["tries"])


def _sources(found: Sequence[FoundSource], view: View) -> list[Block]:
    """The places of coding agents, a row each."""
    columns: dict[str, Callable[[FoundSource], str]] = {
        "source": lambda one: one.source,
        "place": lambda one: one.place,
        "files": lambda one: f"{one.file_count:,}",
        "size": lambda one: decimal(one.byte_count),
        "newest": lambda one: view.ago(one.newest_at),
    }
    nothing = "No coding agent keeps anything here that could be read: name files or folders."
    return table(found, columns, nothing, numbers=["files", "size", "newest"])


# Agents


def _connections(found: Sequence[Any], view: View) -> list[Block]:
    """The agents of this machine and how each is connected; what to do about those that are not well."""
    columns: dict[str, Callable[[Any], str]] = {
        "agent": lambda one: one.agent,
        "on this machine": lambda one: "found" if one.is_found else "not found",
        "connected": lambda one: one.connected,
        "home": lambda one: one.home,
        "settings": _settings_of,
    }
    hint = "`slowwave connect NAME` connects one; with --dry-run it shows what it would change."
    problems = [line(f"{one.agent}: {one.problem}") for one in found if one.problem]
    is_one_connected = any(one.home for one in found)
    return [*table(found, columns), *problems, *([] if is_one_connected else [Opening(hint)])]


def _settings_of(one: Any) -> str:
    """The settings of an agent that connect it: a project's, or the user's own."""
    if not one.home:
        return ""
    return f"project {Path(one.project).name}" if one.project else "your own"


def _connected(found: Any, view: View) -> list[Block]:
    """The files that connecting or disconnecting changed or would change, and what is left to do by hand."""
    where = f", project {found.project}" if found.project else ""
    if not found.files:
        return [Opening(f"{found.agent}{where} was not connected: there is nothing to remove")]
    home = f", home {found.home}" if found.home else ""
    first = f"{found.agent}{home}{where}" + (": nothing was changed" if found.dry_run else ":")
    return [
        line(first),
        *(one for file in found.files for one in _file(file, is_dry=found.dry_run)),
        *(line(note, indent=1) for note in found.notes),
    ]


def _file(file: Any, *, is_dry: bool) -> list[Line]:
    did = f"would have {file.did}" if is_dry else file.did
    copy = f" (a copy of it before: {file.backup})" if file.backup else ""
    entries = [line(one, indent=2) for one in file.entries.splitlines()]
    return [line(f"{did} {file.path}{copy}", indent=1), *entries]


def _named(name: str, text: str) -> Line:
    return line(f"{name:<10}{text}")


def _on_disk(sizes: dict[str, int]) -> Line:
    return _named("on disk", ", ".join(f"{name} {decimal(size)}" for name, size in sizes.items()))


RENDERERS: Final[dict[str, Render]] = {"Status": _status, "Stats": _stats, "Connected": _connected}
LISTS: Final[dict[str, Render]] = {
    "QuarantinedChunk": _quarantine,
    "FoundSource": _sources,
    "State": _connections,
}
