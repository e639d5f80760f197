"""Check everything that Slowwave depends on, and say what works and what to do. Changes nothing."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import polars as pl
from pydantic import Field

from flows.running import Place, check_server, place_of
from slowwave.errors import NotFoundError, SlowwaveError
from slowwave.home.paths import Home, open_home
from slowwave.home.swept import ADVICE, needs_sweep
from slowwave.interfaces import client
from slowwave.interfaces.hooks.agents import AGENTS, Places
from slowwave.interfaces.hooks.connect import State, survey
from slowwave.interfaces.hooks.events import EVENTS
from slowwave.interfaces.hooks.follower import read_kept
from slowwave.interfaces.http.address import Address, read_address
from slowwave.interfaces.rendering.blocks import Block, Table, line
from slowwave.interfaces.rendering.words import size_of
from slowwave.models.checks import check_llm
from slowwave.models.embed.choice import check_embedder
from slowwave.schemas.refusals import Frozen
from slowwave.schemas.report import several, several_memories
from slowwave.settings.place import former_home, home_folder
from slowwave.settings.projects import namesakes, project_of
from slowwave.store import damaged_folders, in_any_project, open_store, table_damage

PYTHONS = ((3, 11), (3, 14))
"""The first version that serves and the first one that does not."""

ROOM_NEEDED = 100 * 1024**2
ROOM_WISHED = 1024**3
_IMPORT_SECONDS = 120
_ANSWER_SECONDS = 5.0
NO_SERVER = "none runs: the first question starts one, which leaves when nobody asks"
_PROBE = "import prefect, prefect.server.api.server; print(prefect.__version__)"


class Check(Frozen):
    """One row: what was looked at, whether it is well and needed, what was found or what to do."""

    name: str
    is_well: bool
    is_needed: bool = Field(default=True, description="Not well and needed means broken.")
    found: str

    @property
    def state(self) -> str:
        """The check in a word."""
        return "well" if self.is_well else "broken" if self.is_needed else "look"


def _row(name: str, is_well: bool, found: str, is_needed: bool = True) -> Check:
    return Check(name=name, is_well=is_well, is_needed=is_needed, found=found)


def _aside(name: str, is_well: bool, found: str) -> Check:
    """A row that is worth a look and breaks nothing."""
    return _row(name, is_well, found, is_needed=False)


def examine(path: str | None) -> list[Check]:
    """Every check, in the order in which a person would mend things."""
    checks = [_python()]
    try:
        home = open_home(path)
    except SlowwaveError as error:
        return [*checks, _row("settings", False, str(error)), *_prefect(None)]
    checks += [_row("settings", True, f"home is {home.root.resolve()}"), *former_home_checks(home)]
    checks += [*_disk(home), *_journal(home), *_store(home), *_secrets(home), *project_checks(home)]
    models = (*check_llm(home.settings.llm), *check_embedder(home.settings.embedding))
    checks += [
        _row(*found, is_needed=found[0] != "thresholds") for found in models
    ]  # guessed ones still work
    agents = agent_rows(str(home_folder(path).resolve()))
    return [*checks, *server_checks(home), *agents, *_prefect(place_of(path))]


def is_broken(checks: list[Check]) -> bool:
    """Return whether something is not well that is needed."""
    return any(check.state == "broken" for check in checks)


def blocks_of(checks: Sequence[Check]) -> list[Block]:
    """The checks as a table, and one line at the end."""
    rows = [(check.name, check.state, check.found) for check in checks]
    looks = sum(check.state == "look" for check in checks)
    works = "Everything needed works" + (f"; {looks} to look at." if looks else ".")
    last = "Something that is needed is broken." if is_broken([*checks]) else works
    return [Table(("check", "", "found, or what to do"), tuple(rows)), line(last)]


def _python() -> Check:
    here = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    is_well = PYTHONS[0] <= sys.version_info[:2] < PYTHONS[1]
    return _row("python", is_well, here if is_well else f"{here}; use 3.11, 3.12 or 3.13")


def former_home_checks(home: Home) -> list[Check]:
    """The memory in `data/home` below the current folder, where earlier versions kept it."""
    former = former_home(home.root)
    if former is None:
        return []
    found = f"{former} holds a memory of an earlier version, which is not used: --home {former} uses it"
    return [_aside("earlier home", False, found)]


def _disk(home: Home) -> list[Check]:
    whole = home.root.resolve()
    place = next((place for place in (whole, *whole.parents) if place.exists()), whole)
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        found = f"{place} cannot be written. Mend its permissions, or choose another home with --home."
        return [_row("home folder", False, found)]
    state = "can be written" if place == whole else "is not there yet and will be made"
    free = shutil.disk_usage(place).free
    is_wide = free >= ROOM_WISHED
    found = f"{size_of(free)} free" + ("" if is_wide else ": make room, a night may need more")
    return [
        _row("home folder", True, f"{home.root} {state}"),
        _row("disk room", is_wide, found, is_needed=free < ROOM_NEEDED),
    ]


def _journal(home: Home) -> list[Check]:
    journal = home.journal
    try:
        segment_ids, leftovers = journal.listing()
        scan = journal.read(segment_ids)
    except (SlowwaveError, OSError) as error:
        return [_row("journal", False, str(error))]
    broken = [
        (_row if one.is_loss else _aside)(
            "journal segment" if one.is_loss else "journal file",
            False,
            f"{one.path}: {one.reason}. {one.advice}",
        )
        for one in (*scan.problems, *leftovers)
    ]
    found = f"{several(len(segment_ids) - len(scan.problems), 'whole segment')}, {several(scan.events.height, 'event')}"
    return [_row("journal", True, found), *broken, *_missing(home, segment_ids), *_mixed(home)]


def _mixed(home: Home) -> list[Check]:
    """Segments name those before them, and not their home: another one's are known by a second beginning alone."""
    beginnings = home.journal.beginnings()
    if len(beginnings) < 2:  # noqa: PLR2004
        return []
    found = (
        f"begins {len(beginnings)} times, with {' and '.join(beginnings)}: probably segments of another home were put "
        "into it, and what both told is one memory now. To part them take the journal from a backup, then run "
        "`slowwave run rebuild`."
    )
    return [_aside("journal file", False, found)]


def _missing(home: Home, segment_ids: Sequence[str]) -> list[Check]:
    """Segments that are gone: others name them, or the store holds them. Without the store's copy it is past."""
    held = set[str]()
    with suppress(SlowwaveError):
        held = open_store(home.store_root).applied_segments() - {*segment_ids}
    advice = "put it back from a backup, then run `slowwave run rebuild`"
    return [
        _row("journal segment", False, f"{one} is gone and only the store has what it told: {advice}.")
        if one in held
        else _aside("journal segment", False, f"{one} is gone, with what it told: {advice}.")
        for one in sorted(held | {*home.journal.missing()})
    ]


def _store(home: Home) -> list[Check]:
    kept = [
        _aside(
            "damaged store",
            False,
            f"{path} keeps what was damaged on {moved_at:%Y-%m-%d}; it may be removed.",
        )
        for path, moved_at in damaged_folders(home.store_root).items()
    ]
    try:
        store = open_store(home.store_root)
        if damage := table_damage(store):
            mend = "`slowwave run rebuild` makes it anew from the journal."
            return [*(_row("store", False, f"{one}. {mend}") for one in damage), *kept]
        turn_count, cell_count = store.count("turns"), store.count("cells")
        behind = len(set(home.journal.segment_ids()) - store.applied_segments())
    except NotFoundError as error:
        return [_row("store", True, str(error)), *kept]
    except (SlowwaveError, OSError, RuntimeError) as error:
        return [_row("store", False, f"{error}."), *kept]
    vectors = store.meta.embedder_id or "no embedder"
    counts = f"{several(turn_count, 'turn')}, {several_memories(cell_count)}"
    found = f"schema version {store.meta.schema_version}, {vectors}, {counts}"
    waiting = f"; {several(behind, 'segment waits', 'segments wait')} for the next writer" if behind else ""
    return [_row("store", True, found + waiting), *kept]


def _secrets(home: Home) -> list[Check]:
    if home.journal.last_id() is None:
        return []
    is_cut_off = home.redact_path.exists()
    is_well = not is_cut_off and not needs_sweep(home)
    found = "redacted by the rules of today" if is_well else ADVICE
    if is_cut_off:
        found = "a redaction was cut off: `slowwave run redact` ends it"
    return [_aside("secrets", is_well, found)]


def project_checks(home: Home) -> list[Check]:
    """The project of the folder that one stands in, where another has the same name: it may have moved from there."""
    owner, rows = home.settings.owner, pl.DataFrame()
    with suppress(SlowwaveError, OSError):  # a broken store is told above
        rows = open_store(home.store_root).rows("turns", ["project_id"], in_any_project(owner))
        project = project_of(owner, str(Path.cwd()))
    if rows.is_empty() or project == owner.project_id:
        return []
    counts = Counter(rows["project_id"])
    others = namesakes(project, counts)
    if not others:
        return []
    told = ", ".join(f"{one} has {several(counts[one], 'message')}" for one in others)
    found = (
        f"{project} has {several(counts[project], 'message')}, and of the same name {told}. Is it one of these, moved "
        f'or cloned? Then write moved = {{ "{project}" = "{others[0]}" }} under [owner] in slowwave.toml.'
    )
    return [_aside("project here", project in counts, found)]


def server_checks(home: Home) -> list[Check]:
    """The server of the home: none is needed, since a question starts one. One on a port is asked there."""
    folder = home.root.resolve()
    address = read_address(folder)
    where = f"answers at {address.url}" if address else "answers on its socket"
    try:
        state = _ready(folder, address)
        if state is None:
            found = "it does not answer: start `slowwave serve` again" if address else NO_SERVER
            return [_aside("server", address is None, found)]
        problems = [*map(str, state["reasons"]), *map(str, state["notes"])]
        does = [*map(str, state.get("does", []))]
    except (SlowwaveError, ValueError, KeyError, TypeError):
        problems, does = ["it answers with something else: start it again"], []
    return [_aside("server", not problems, "; ".join([where, *problems, *does]))]


def _ready(folder: Path, address: Address | None) -> dict[str, Any] | None:
    """The server's own report (`/health/ready`); None where none answers."""
    body: bytes | None = None
    if address is not None:
        with suppress(httpx.HTTPError):
            url = f"{address.url}/health/ready"
            body = httpx.get(url, timeout=_ANSWER_SECONDS, trust_env=False).content
    elif client.has_sockets():
        request = ("GET", "/health/ready", None, dict[str, str]())
        reply = client.exchange(client.socket_path(folder), request, writes=False)
        body = reply.body if reply is not None else None
    found: dict[str, Any] | None = None if body is None else json.loads(body)
    return found


def _prefect(place: Place | None) -> list[Check]:
    """Prefect and its server, imported in a process of their own: that costs seconds and may break anyhow."""
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter and a constant
            [sys.executable, "-c", _PROBE],
            capture_output=True,
            text=True,
            timeout=_IMPORT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [_row("prefect", False, f"could not be tried ({type(error).__name__})")]
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        found = f"cannot be imported ({last[:200]}). Install requirements.lock again."
        return [_row("prefect", False, found)]
    version = _row("prefect", True, f"version {done.stdout.split()[-1]}")
    if place is None:
        return [version]
    server = (True, place.line) if place.api is None else check_server(place.api)
    return [version, _row("prefect server", *server)]


def agent_rows(home: str, places: Places | None = None) -> Iterator[Check]:
    """A row for each agent that is connected or cannot be looked at; `home` is the resolved home."""
    states = [state for state in survey(home, places) if state.connected != "no"]
    if not any(state.home for state in states):
        yield _aside("agents", True, "none is connected: `slowwave connect` lists those on this machine")
    answered = read_kept(Path(home) / "hooks" / "follower.json").answered
    for state in states:
        name = f"{state.agent} in {Path(state.project).name}" if state.project else state.agent
        problem = _problem(state, home)
        yield _aside(name, not problem, problem or _found(state, home, answered))


def _problem(state: State, home: str) -> str:
    other = f"it has another home, {state.home}" if state.home not in ("", home) else ""
    return "; ".join(filter(None, [state.problem, other]))


def _found(state: State, home: str, answered: dict[str, str]) -> str:
    """The last answer of its hooks since it was connected; else what is left to do, by its documentation."""
    if state.agent not in EVENTS:
        return "connected, tools alone"
    at = answered.get(state.agent, "")
    note = Path(home) / "hooks" / "connected" / state.agent
    if at and not (note.exists() and datetime.fromisoformat(at).timestamp() < int(note.stat().st_mtime)):
        return f"connected; its hooks were last answered on {at[:16].replace('T', ' ')} UTC"
    return f"connected; no hook was answered since: {AGENTS[state.agent].next_step}"
