"""Looks at everything that Slowwave stands on, and says what works and what to do. Changes nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field
from rich.table import Column
from rich.text import Text

from slowwave.embeddings import check_embedder
from slowwave.entrypoints.prefect_ui.environment import api_address, check_server
from slowwave.entrypoints.show.terminal import flat, results, shown_bytes, table
from slowwave.errors import NotFoundError, SlowwaveError
from slowwave.home.paths import Home, open_home
from slowwave.llm import check_llm
from slowwave.schemas.tables import TABLES
from slowwave.store import open_store

PYTHONS = ((3, 11), (3, 14))
"""The first version that serves and the first one that does not."""

ROOM_NEEDED = 100 * 1024**2
ROOM_WISHED = 1024**3
_IMPORT_SECONDS = 120
_PROBE = "import prefect, prefect.server.api.server; print(prefect.__version__)"


class Check(BaseModel):
    """One row: what was looked at, whether it is well and needed, what was found or what to do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    is_well: bool
    is_needed: bool = Field(default=True, description="Not well and needed means broken.")
    found: str


def examine(path: str | None) -> list[Check]:
    """Every check, in the order in which a person would mend things."""
    checks = [_python()]
    try:
        home = open_home(path)
    except SlowwaveError as error:
        return [*checks, Check(name="settings", is_well=False, found=str(error)), *_prefect()]
    checks.append(Check(name="settings", is_well=True, found=f"home is {home.root.resolve()}"))
    checks += [*_disk(home), *_journal(home), *_store(home)]
    checks += [_row(*found) for found in check_llm(home.settings.llm)]
    checks += [_row(*found) for found in check_embedder(home.settings.embedding, home.calibration_path)]
    return [*checks, *_prefect()]


def is_broken(checks: list[Check]) -> bool:
    """Whether something is not well that is needed."""
    return any(check.is_needed and not check.is_well for check in checks)


def show_checks(checks: list[Check]) -> None:
    """The checks as a table, and one line at the end."""
    console = results()
    made = table(Column("check", no_wrap=True), Column("", no_wrap=True), "found, or what to do")
    for check in checks:
        word, style = ("well", "green") if check.is_well else ("broken", "bold red")
        if not check.is_well and not check.is_needed:
            word, style = "look", "yellow"
        made.add_row(flat(check.name), Text(word, style=style), flat(check.found))
    console.print(made)
    console.print()
    console.print("Something that is needed is broken." if is_broken(checks) else "Everything needed works.")


def _row(name: str, is_well: bool, found: str) -> Check:
    """A gateway's own row; guessed thresholds are worth a look and break nothing."""
    return Check(name=name, is_well=is_well, is_needed=name != "thresholds", found=found)


def _python() -> Check:
    here = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    is_well = PYTHONS[0] <= sys.version_info[:2] < PYTHONS[1]
    return Check(name="python", is_well=is_well, found=here if is_well else f"{here}; use 3.11, 3.12 or 3.13")


def _disk(home: Home) -> list[Check]:
    place = _nearest(home.root)
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        found = f"{place} cannot be written. Mend its permissions, or choose another home with --home."
        return [Check(name="home folder", is_well=False, found=found)]
    state = "can be written" if place == home.root.resolve() else "is not there yet and will be made"
    free = shutil.disk_usage(place).free
    found = f"{shown_bytes(free)} free" + (
        "" if free >= ROOM_WISHED else ": make room, a night may need more"
    )
    return [
        Check(name="home folder", is_well=True, found=f"{home.root} {state}"),
        Check(name="disk room", is_well=free >= ROOM_WISHED, is_needed=free < ROOM_NEEDED, found=found),
    ]


def _nearest(path: Path) -> Path:
    """The path itself, or the nearest parent that is there."""
    whole = path.resolve()
    return next((place for place in (whole, *whole.parents) if place.exists()), whole)


def _journal(home: Home) -> list[Check]:
    journal = home.journal
    try:
        segment_ids = journal.segment_ids()
        scan = journal.read(segment_ids)
        leftovers = journal.foreign_files()
    except (SlowwaveError, OSError) as error:
        return [Check(name="journal", is_well=False, found=str(error))]
    torn = [
        Check(
            name="journal segment",
            is_well=False,
            found=f"{problem.path}: {problem.reason}. Its events are left out; restore it from a backup.",
        )
        for problem in scan.problems
    ]
    foreign = [
        Check(
            name="journal file",
            is_well=False,
            is_needed=False,
            found=f"{problem.path}: {problem.reason}. It is passed by and may be removed.",
        )
        for problem in leftovers
    ]
    whole = len(segment_ids) - len(torn)
    summary = Check(
        name="journal", is_well=True, found=f"{whole} whole segments, {scan.events.height} events"
    )
    return [summary, *torn, *foreign]


def _store(home: Home) -> list[Check]:
    try:
        store = open_store(home.store_root)
        rows = {name: store.count(name) for name in TABLES}
        behind = len(set(home.journal.segment_ids()) - store.applied_segments())
    except NotFoundError as error:
        return [Check(name="store", is_well=True, found=str(error))]
    except (SlowwaveError, OSError, RuntimeError) as error:
        return [
            Check(
                name="store", is_well=False, found=f"{error}. `slowwave rebuild` makes it from the journal."
            )
        ]
    vectors = store.meta.embedder_id or "no embedder"
    found = (
        f"schema version {store.meta.schema_version}, {vectors}, {rows['turns']} turns, {rows['cells']} cells"
    )
    waiting = f"; {behind} segments wait for the next writer" if behind else ""
    return [Check(name="store", is_well=True, found=found + waiting)]


def _prefect() -> list[Check]:
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
        return [Check(name="prefect", is_well=False, found=f"could not be tried ({type(error).__name__})")]
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        found = f"cannot be imported ({last[:200]}). Install requirements.lock again."
        return [Check(name="prefect", is_well=False, found=found)]
    checks = [Check(name="prefect", is_well=True, found=f"version {done.stdout.split()[-1]}")]
    address = api_address()
    if address is None:
        found = "PREFECT_API_URL is not set: `slowwave run` starts a temporary one"
        return [*checks, Check(name="prefect server", is_well=True, found=found)]
    is_well, found = check_server(address)
    return [*checks, Check(name="prefect server", is_well=is_well, found=found)]
