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

import httpx
import polars as pl
from pydantic import Field
from rich.filesize import decimal

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
from slowwave.models.checks import check_llm
from slowwave.models.embed.choice import check_embedder
from slowwave.schemas.refusals import Frozen
from slowwave.schemas.report import several, several_memories
from slowwave.settings.place import former_home, home_folder
from slowwave.settings.projects import namesakes, project_of
from slowwave.store import damaged_stores, in_any_project, open_store, table_damage

PYTHONS = ((3, 11), (3, 14))
"""The first version that serves and the first one that does not."""

ROOM_NEEDED = 100 * 1024**2
ROOM_WISHED = 1024**3
_IMPORT_SECONDS = 120
NO_SERVER = "none runs: the first question starts one, which leaves when nobody asks"
_PROBE = "import prefect, prefect.server.api.server; print(prefect.__version__)"


class Check(Frozen):
    """One row: what was checked, whether it is well and needed, what was found or what to do."""

    name: str
    is_well: bool
    is_needed: bool = Field(default=True, description="Not well and needed means broken.")
    found: str

    @property
    def state(self) -> str:
        """The check in a word."""
        return "well" if self.is_well else "broken" if self.is_needed else "look"


def _row(name: str, is_well: bool, found: str) -> Check:
    return Check(name=name, is_well=is_well, found=found)


def _look(name: str, found: str, is_well: bool = False) -> Check:
    """A row that is worth a look and breaks nothing."""
    return Check(name=name, is_well=is_well, is_needed=False, found=found)


def examine(path: str | None) -> list[Check]:
    """Every check, in the order in which a person would mend things."""
    here = ".".join(map(str, sys.version_info[:3]))
    is_served = PYTHONS[0] <= sys.version_info[:2] < PYTHONS[1]
    python = _row("python", is_served, here if is_served else f"{here}; use 3.11, 3.12 or 3.13")
    try:
        home = open_home(path)
    except SlowwaveError as error:
        return [python, _row("settings", False, str(error)), *_prefect(None)]
    models = [*check_llm(home.settings.llm), *check_embedder(home.settings.embedding)]
    return [
        python,
        _row("settings", True, f"home is {home.root.resolve()}"),
        *former_home_checks(home),
        *_disk(home),
        *_journal(home),
        *_store(home),
        *_secrets(home),
        *project_checks(home),
        *(_row(*found) for found in models),
        _server(home.root.resolve()),
        *agent_rows(str(home_folder(path).resolve())),
        *_prefect(place_of(path)),
    ]


def is_broken(checks: Sequence[Check]) -> bool:
    """Return whether something is not well that is needed."""
    return any(check.state == "broken" for check in checks)


def blocks_of(checks: Sequence[Check]) -> list[Block]:
    """The checks as a table, and one line at the end."""
    rows = [(check.name, check.state, check.found) for check in checks]
    looks = sum(check.state == "look" for check in checks)
    works = "Everything needed works" + (f"; {looks} to look at." if looks else ".")
    last = "Something that is needed is broken." if is_broken(checks) else works
    return [Table(("check", "", "found, or what to do"), tuple(rows)), line(last)]


def former_home_checks(home: Home) -> list[Check]:
    """The memory in `data/home` below the current folder, where earlier versions kept it."""
    former = former_home(home.root)
    found = f"{former} holds a memory of an earlier version, which is not used: --home {former} uses it"
    return [_look("earlier home", found)] if former is not None else []


def _disk(home: Home) -> list[Check]:
    whole = home.root.resolve()
    place = next((place for place in (whole, *whole.parents) if place.exists()), whole)
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        found = f"{place} cannot be written. Mend its permissions, or choose another home with --home."
        return [_row("home folder", False, found)]
    state = "can be written" if place == whole else "is not there yet and will be made"
    free = shutil.disk_usage(place).free
    room = f"{decimal(free)} free" + ("" if free >= ROOM_WISHED else ": make room, a night may need more")
    is_needed = free < ROOM_NEEDED
    return [
        _row("home folder", True, f"{home.root} {state}"),
        Check(name="disk room", is_well=free >= ROOM_WISHED, is_needed=is_needed, found=room),
    ]


def _journal(home: Home) -> Iterator[Check]:
    try:
        segment_ids, leftovers = home.journal.listing()
        scan = home.journal.read(segment_ids)
    except (SlowwaveError, OSError) as error:
        yield _row("journal", False, str(error))
        return
    whole = several(len(segment_ids) - len(scan.problems), "whole segment")
    yield _row("journal", True, f"{whole}, {several(scan.events.height, 'event')}")
    for one in (*scan.problems, *leftovers):
        found = f"{one.path}: {one.reason}. {one.advice}"
        yield _row("journal segment", False, found) if one.is_loss else _look("journal file", found)
    held = set[str]()
    with suppress(SlowwaveError):
        held = open_store(home.store_root).applied_segments() - {*segment_ids}
    advice = "put it back from a backup, then run `slowwave run rebuild`"
    for segment_id in sorted(held):
        found = f"{segment_id} is gone and only the store has its events: {advice}."
        yield _row("journal segment", False, found)
    for segment_id in sorted({*home.journal.missing()} - held):
        yield _look("journal segment", f"{segment_id} is gone, with its events: {advice}.")


def _store(home: Home) -> Iterator[Check]:
    for path in damaged_stores(home.store_root):
        yield _look("damaged store", f"{path} keeps a store that was damaged; it may be removed.")
    try:
        store = open_store(home.store_root)
        if damage := table_damage(store):
            mend = "`slowwave run rebuild` makes it anew from the journal."
            yield from (_row("store", False, f"{one}. {mend}") for one in damage)
            return
        counts = f"{several(store.count('turns'), 'turn')}, {several_memories(store.count('cells'))}"
        behind = len(set(home.journal.segment_ids()) - store.applied_segments())
    except NotFoundError as error:
        yield _row("store", True, str(error))
    except (SlowwaveError, OSError, RuntimeError) as error:
        yield _row("store", False, f"{error}.")
    else:
        vectors = store.meta.embedder_id or "no embedder"
        found = f"schema version {store.meta.schema_version}, {vectors}, {counts}"
        waiting = several(behind, "segment waits", "segments wait")
        yield _row("store", True, f"{found}; {waiting} for the next writer" if behind else found)


def _secrets(home: Home) -> list[Check]:
    if home.journal.last_id() is None:
        return []
    if home.redact_path.exists():
        return [_look("secrets", "a redaction was cut off: `slowwave run redact` ends it")]
    is_due = needs_sweep(home)
    return [_look("secrets", ADVICE if is_due else "redacted by the rules of today", is_well=not is_due)]


def project_checks(home: Home) -> list[Check]:
    """The project of the current folder, where another has the same name: it may have moved from there."""
    owner, rows = home.settings.owner, pl.DataFrame()
    with suppress(SlowwaveError, OSError):  # the row of the store says what is broken
        rows = open_store(home.store_root).rows("turns", ["project_id"], in_any_project(owner))
        project = project_of(owner, str(Path.cwd()))
    if rows.is_empty() or project == owner.project_id:
        return []
    counts = Counter(rows["project_id"])
    others = namesakes(project, counts)
    if not others:
        return []
    named = ", ".join(f"{one} has {several(counts[one], 'message')}" for one in others)
    found = (
        f"{project} has {several(counts[project], 'message')}, and of the same name {named}. Is it one of these, moved "
        f'or cloned? Then write moved = {{ "{project}" = "{others[0]}" }} under [owner] in slowwave.toml.'
    )
    return [_look("project here", found, is_well=project in counts)]


def _server(folder: Path) -> Check:
    """The server of the home, by its own report (`/health/ready`); none is needed, since a question starts one."""
    address = read_address(folder)
    where = f"answers at {address.url}" if address else "answers on its socket"
    try:
        if (body := _ready(folder, address)) is None:
            found = "it does not answer: start `slowwave serve` again" if address else NO_SERVER
            return _look("server", found, is_well=address is None)
        state: dict[str, list[str]] = json.loads(body)
        problems = [*state["reasons"], *state["notes"]]
        return _look("server", "; ".join([where, *problems, *state["does"]]), is_well=not problems)
    except SlowwaveError as error:
        return _look("server", str(error))
    except (ValueError, KeyError, TypeError):
        return _look("server", "it answers with something else: start it again")


def _ready(folder: Path, address: Address | None) -> bytes | None:
    if client.has_sockets():
        request = ("GET", "/health/ready", None, dict[str, str]())
        reply = client.exchange(client.socket_path(folder), request, writes=False)
        return reply.body if reply is not None else None
    with suppress(httpx.HTTPError):
        return httpx.get(f"{address.url}/health/ready", trust_env=False).content if address else None
    return None


def _prefect(place: Place | None) -> list[Check]:
    """Prefect and its server, imported in a process of their own: that costs seconds and may break anyhow."""
    command = [sys.executable, "-c", _PROBE]
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter and a constant
            command, capture_output=True, text=True, timeout=_IMPORT_SECONDS, check=True
        )
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no reason given"])[-1]
        return [
            _row("prefect", False, f"cannot be imported ({last[:200]}). Install requirements.lock again.")
        ]
    except (OSError, subprocess.TimeoutExpired) as error:
        return [_row("prefect", False, f"could not be tried ({type(error).__name__})")]
    version = _row("prefect", True, f"version {done.stdout.split()[-1]}")
    if place is None:
        return [version]
    server = (True, place.line) if place.api is None else check_server(place.api)
    return [version, _row("prefect server", *server)]


def agent_rows(home: str, places: Places | None = None) -> Iterator[Check]:
    """A row for each agent that is connected or cannot be looked at; `home` is the resolved home."""
    states = [state for state in survey(home, places) if state.connected != "no"]
    if not any(state.home for state in states):
        found = "none is connected: `slowwave connect` lists those on this machine"
        yield _look("agents", found, is_well=True)
    answered = read_kept(Path(home) / "hooks" / "follower.json").answered
    for state in states:
        name = f"{state.agent} in {Path(state.project).name}" if state.project else state.agent
        other = f"it has another home, {state.home}" if state.home not in ("", home) else ""
        problem = "; ".join(filter(None, [state.problem, other]))
        yield _look(name, problem or _connected(state, home, answered), is_well=not problem)


def _connected(state: State, home: str, answered: dict[str, str]) -> str:
    """The last answer of its hooks since it was connected; else what is left to do, by its documentation."""
    if state.agent not in EVENTS:
        return "connected, tools alone"
    at = answered.get(state.agent, "")
    note = Path(home) / "hooks" / "connected" / state.agent
    if at and not (note.exists() and datetime.fromisoformat(at).timestamp() < int(note.stat().st_mtime)):
        return f"connected; its hooks were last answered on {at[:16].replace('T', ' ')} UTC"
    return f"connected; no hook was answered since: {AGENTS[state.agent].next_step}"
