"""Runs flows for the command line: through Prefect, or as plain functions without its server.

A plain run is the same story in this process: it starts at once and leaves nothing on Prefect's pages. The
names of the flows stand here, so this file itself stays quick to import.
"""

import signal
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from slowwave.entrypoints.prefect_ui.cancelling import run_cancellable
from slowwave.entrypoints.prefect_ui.environment import api_address, prepare_prefect, under_prefect

if TYPE_CHECKING:
    from slowwave.schemas.derivation import Derivation, RederiveAction
    from slowwave.schemas.questions import Evaluation
    from slowwave.schemas.report import NightReport, StageReport

FlowName = Literal[
    "ingest",
    "extract",
    "cluster",
    "reconcile",
    "consolidate",
    "compress",
    "link",
    "decay",
    "forget",
    "promote",
    "learn",
    "nightly",
    "rebuild",
    "reembed",
    "redact",
]
FLOWS: tuple[str, ...] = get_args(FlowName)
WITH_SOURCES = ("ingest", "nightly")
Report: TypeAlias = "StageReport | NightReport"
Parameters = dict[str, str | bool | list[str] | None]


def run_plain(name: FlowName, home: str | None, parameters: Parameters | None = None) -> "Report":
    """The report of a flow that runs as a plain function; ingest needs no part of Prefect, and does not import it."""
    from slowwave.entrypoints.show.terminal import progress_bars

    if name == "ingest":
        with progress_bars():
            return _ingested(home, parameters or {})
    folder = _prepared(home)
    story = _story(name)
    with progress_bars():
        return cast("Report", story.fn(home=str(folder), **(parameters or {})))


def _ingested(home: str | None, parameters: Parameters) -> "Report":
    from slowwave.memory import Memory

    _let_ctrl_c_through()
    sources = parameters.get("sources")
    with Memory(home) as memory:
        return memory.ingest(
            sources if isinstance(sources, list) else (),
            dry_run=bool(parameters.get("dry_run")),
            are_found=bool(parameters.get("are_found")),
        )


def run_evaluation(home: str | None, questions: Path) -> "tuple[Evaluation, str]":
    """Measure a question set in this process; the figures, and the same as a page."""
    folder = _prepared(home)
    from flows.evaluate import evaluate
    from slowwave.measure import markdown

    found = evaluate.fn(questions=str(questions), home=str(folder))
    return found, markdown(found)


def run_rederive(home: str | None, action: "RederiveAction", *, dry_run: bool) -> "Derivation":
    """A derivation beside the memory, made, shown, switched to or dropped in this process; its cost is said first."""
    from slowwave.entrypoints.show.terminal import progress_bars, say

    folder = str(_prepared(home))
    from flows.rederive import rederive

    if action == "derive" and not dry_run:
        waits = rederive.fn(home=folder, dry_run=True).estimate
        if waits is not None:
            say(waits.line)
    with progress_bars():
        return rederive.fn(home=folder, action=action, dry_run=dry_run)


def run_under_prefect(
    name: FlowName, home: str | None, parameters: Parameters | None = None, *, tags: tuple[str, ...] = ()
) -> "Report":
    """The report of a flow that runs through Prefect with these tags, on a temporary server when none is named.

    Raises:
        TransientError: the server does not answer, did not start, or went away in the middle.
        CancelledError: somebody cancelled the run on the server's page.
    """
    from slowwave.entrypoints.show.terminal import progress_bars, say

    folder = _prepared(home)
    address = api_address()
    if address is None:
        say("Starting a temporary Prefect server (about 10 s); set PREFECT_API_URL to use a running one.")
    with under_prefect(), progress_bars():
        from prefect import tags as tagged
        from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

        story, given = _story(name), {"home": str(folder), **(parameters or {})}
        # nothing of ours listens to heartbeats, and the end of each stage would wait a second for its own
        with tagged(*tags), temporary_settings(updates={PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
            return cast("Report", story(**given) if address is None else run_cancellable(story, given))


def _story(name: FlowName) -> Any:
    """The flow, imported."""
    story = getattr(import_module(f"flows.{name}"), name)
    _let_ctrl_c_through()
    return story


def _let_ctrl_c_through() -> None:
    """Ctrl-C reaches Python again, which LanceDB's import takes away.

    Its runtime installs a handler with SA_RESTART, under which the main thread never wakes from a lock.
    """
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)


def _prepared(home: str | None) -> Path:
    """The home folder, whole, with Prefect's environment set for it."""
    from slowwave.settings.tree import load_settings

    folder = load_settings(home).home.resolve()
    prepare_prefect(folder)
    return folder
