"""The state of a home as blocks: its status and counts, quarantine, the checks of `doctor`, sources and agents."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from slowwave.interfaces.rendering.blocks import Block, Line, Opening, Render, Table, line, notes
from slowwave.interfaces.rendering.view import View
from slowwave.interfaces.rendering.words import FIRST_STEPS, listed, short, size_of
from slowwave.schemas.moments import day_of
from slowwave.schemas.report import forgetting_line, several, several_memories
from slowwave.schemas.results import FoundSource, Night, Pending, QuarantinedChunk, Stats, Status

WOULD: Final = {
    "made": "would make",
    "changed": "would change",
    "kept": "would keep",
    "removed": "would remove",
}


def _status(found: Status, view: View) -> list[Block]:
    """The home of the memory, the last night, waiting work, rows and sizes."""
    home = _named("home", str(found.home))
    if not found.has_memory:
        segments = several(found.pending.segments, "journal segment")
        waiting = [Opening(f"{segments} not applied: `slowwave run rebuild` makes the store.")]
        return [home, Opening(f"No memory yet {FIRST_STEPS}"), *(waiting if found.pending.segments else [])]
    lost = f"{several(found.lost_segments, 'segment')} missing or unreadable: `slowwave doctor` names them"
    sizes = {"journal": found.journal_bytes, "store": found.store_bytes, "cache": found.cache_bytes}
    return [
        home,
        _named("embedder", found.embedder_id or "none: full-text search only"),
        _named("night", _night(found.last_night, view)),
        _named("forgotten", forgetting_line(found.forgetting)),
        *([_named("journal", lost)] if found.lost_segments else []),
        _named("on disk", ", ".join(f"{name} {size_of(size)}" for name, size in sizes.items())),
        _named("waiting", listed(_pending(found.pending)) or "nothing"),
        _named("rows", listed(found.rows) or "none"),
    ]


def _pending(found: Pending) -> dict[str, int]:
    """Counts of waiting work by its name; chunks that are done do not wait."""
    waiting = ("pending", "failed", "quarantined")
    return {
        **{f"chunks {name}": count for name, count in found.chunks.items() if name in waiting},
        "journal segments not applied": found.segments,
        "memories not reconciled": found.unjudged_cells,
        "pairs not judged": found.unjudged_pairs,
        "memories to review": found.cells_to_review,
        "judgements in quarantine": found.judgements_in_quarantine,
        "memories without a topic": found.cells_without_topic,
        "texts without a vector": found.texts_without_vector,
        "open contradictions": found.open_contradictions,
        "usage records not applied": found.usage_not_folded,
    }


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
    kinds = {
        "status": found.by_status,
        "type": found.by_type,
        "origin": found.by_origin,
        "age": found.by_age,
        "use": found.usage,
        "topic": found.by_topic,
    }
    rate = found.false_forgetting_rate
    wrong = "" if rate is None else f" ({rate:.1%} of the archived)"
    sizes = (
        f"journal {size_of(found.journal_bytes)} in {several(found.journal_segments, 'segment')}, "
        f"store {size_of(found.store_bytes)}"
    )
    return [
        Opening(
            f"{several_memories(found.cells)} from {several(found.turns, 'message')}, {several(found.topics, 'topic')}"
        ),
        *(_named(kind, listed(counts)) for kind, counts in kinds.items() if counts),
        _named(
            "of these", f"{found.protected} confirmed by a person, {found.never_used} never used, "
            f"{found.without_topic} without a topic",
        ),
        _named(
            "also", f"{several(found.open_contradictions, 'open contradiction')}, {found.tombstones} deleted, "
            f"{several(found.erased_turns, 'message')} erased",
        ),
        _named("forgotten", f"{found.archived_events} archived, {found.revived_events} revived{wrong}"),
        _named("on disk", sizes),
        *notes(found.notes),
    ]  # fmt: skip


def _quarantine(found: Sequence[QuarantinedChunk], view: View) -> list[Block]:
    """Work for which the model gave no usable answer."""
    if not found:
        return [Opening("Nothing is in quarantine.")]
    rows = tuple(
        (
            short(one.chunk_id),
            one.kind,
            day_of(one.event_time),
            str(one.attempts),
            one.error or "no reason kept",
            one.source_name,
        )
        for one in found
    )
    return [Table(("id", "kind", "date", "tries", "reason", "source"), rows, frozenset({3}))]


def _sources(found: Sequence[FoundSource], view: View) -> list[Block]:
    """The places of coding agents, a row each."""
    if not found:
        return [Opening("No coding agent keeps anything here that could be read: name files or folders.")]
    rows = tuple(
        (
            one.source,
            _below_home(one.place),
            f"{one.file_count:,}",
            size_of(one.byte_count),
            view.ago(one.newest_at),
        )
        for one in found
    )
    return [Table(("source", "place", "files", "size", "newest"), rows, frozenset({2, 3, 4}))]


# Agents


def _connections(found: Sequence[Any], view: View) -> list[Block]:
    """The agents of this machine and how each is connected; what to do about those that are not well."""
    rows = tuple(
        (
            one.agent,
            "found" if one.is_found else "not found",
            one.connected,
            ", ".join(one.homes),
            (f"project {Path(one.project).name}" if one.project else "your own") if one.homes else "",
        )
        for one in found
    )
    hint = "`slowwave connect NAME` connects one; with --dry-run it shows what it would change."
    problems = [line(f"{one.agent}: {one.problem}") for one in found if one.problem]
    return [
        Table(("agent", "on this machine", "connected", "home", "settings"), rows),
        *problems,
        *([] if any(one.homes for one in found) else [Opening(hint)]),
    ]


def _connected(found: Any, view: View) -> list[Block]:
    """The files that connecting or disconnecting changed or would change, and what is left to do by hand."""
    homes = f", home {', '.join(found.homes)}" if found.homes else ""
    where = f", project {found.project}" if found.project else ""
    first = f"{found.agent}{homes}{where}" + (": nothing was changed" if found.dry_run else ":")
    return [
        line(first),
        *(one for file in found.files for one in _file(file, is_dry=found.dry_run)),
        *(line(note, indent=1) for note in found.notes),
    ]


def _file(file: Any, *, is_dry: bool) -> list[Line]:
    did = WOULD[file.did] if is_dry else file.did
    copy = f" (a copy of it before: {file.backup})" if file.backup else ""
    entries = [line(one, indent=2) for one in file.entries.splitlines()]
    return [line(f"{did} {file.path}{copy}", indent=1), *entries]


def _named(name: str, text: str) -> Line:
    return line(f"{name:<10}{text}")


def _below_home(place: str) -> str:
    """A path with the user's own folder as `~`."""
    path = Path(place)
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else place


RENDERERS: Final[dict[str, Render]] = {"Status": _status, "Stats": _stats, "Connected": _connected}
LISTS: Final[dict[str, Render]] = {
    "QuarantinedChunk": _quarantine,
    "FoundSource": _sources,
    "State": _connections,
}
