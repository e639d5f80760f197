"""Commands that work in this process, with progress on stderr: reading files, flows, an export; and the servers."""

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slowwave.errors import InputError, NotFoundError
from slowwave.interfaces.cli import output
from slowwave.interfaces.cli.client import project_id
from slowwave.interfaces.cli.options import dry_run_option, home_option, json_option, project_option

if TYPE_CHECKING:
    from slowwave.schemas.choices import ExportFormat
    from slowwave.schemas.report import StageReport

OWN_REPORTS = ("rederive", "evaluate")
"""Flows that always run in this process: what they return is no report of a stage."""

FOUND = 1
"""Exit code of `ingest --dry-run` where a named file holds secrets."""


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--discover", is_flag=True, help="Find what coding agents keep on this machine, show it, and ask."
)
@click.option("--yes", is_flag=True, help="With --discover: read it without asking.")
@click.option("--follow", is_flag=True, help="Go on reading as the files grow, until Ctrl-C.")
@dry_run_option
@home_option
@json_option
def ingest(
    paths: tuple[Path, ...],
    *,
    discover: bool,
    yes: bool,
    follow: bool,
    dry_run: bool,
    home: str | None,
    as_json: bool,
) -> None:
    """Read transcripts and documents.

    Unchanged files are skipped; no language model is asked. --follow without paths follows what --discover finds. A dry
    run also lists the secrets that redaction would take out of named files, with place, kind and rule and never the
    secret; exit code 1 if there are any. A file that cannot be read is reported and stops no other; the exit code is
    65 then, and where there was nothing to read.
    """
    if follow and discover:
        raise click.UsageError("--follow without paths follows what --discover finds: leave --discover out")
    if not follow and bool(paths) == discover:
        raise click.UsageError("name files or folders, or give --discover or --follow")
    _require_existing(paths)
    if follow:
        _follow(paths, home, as_json=as_json)
        return
    from slowwave.interfaces.cli.local import progress_bars, show_result, stopping_in_order
    from slowwave.memory import Memory

    with Memory(home) as memory:
        sources = (
            _discovered(memory, is_agreed=yes or dry_run, as_json=as_json) if discover else [*map(str, paths)]
        )
        if not sources:
            return
        with stopping_in_order(), progress_bars():
            report = memory.ingest(sources, dry_run=dry_run, are_found=discover)
    show_result(report, as_json=as_json)
    _require_readable(report)
    if dry_run and not discover and not as_json and _show_secrets(paths, home):
        raise SystemExit(FOUND)


@click.command()
@click.argument("flow")
@click.option(
    "--source",
    "sources",
    metavar="PATH",
    multiple=True,
    type=click.Path(),
    help="Read this first (nightly and ingest). May be repeated.",
)
@click.option(
    "--dry-run/--no-dry-run",
    default=None,
    help="Show what would change, and change nothing; the default for forget.",
)
@click.option("--force", is_flag=True, help="Nightly: ask the model even if too little is new.")
@click.option(
    "--action",
    type=click.Choice(["derive", "show", "switch", "drop"]),
    help="Rederive: derive next to the memory (default), show the difference, put it in place, or remove it.",
)
@click.option(
    "--questions",
    metavar="FILE",
    type=click.Path(),
    help="Evaluate: a question set about this home (benchmarks/README.md).",
)
@home_option
@json_option
def run(flow: str, *, home: str | None, as_json: bool, **given: Any) -> None:
    """Run a flow and show its report.

    The night is `nightly`; its stages are ingest, extract, cluster, reconcile, consolidate, compress, link, decay,
    forget and promote. `rebuild` makes the store from the journal, `reembed` computes all vectors with the configured
    embedder, `rederive` decides everything again with today's prompts, `redact` takes out secrets that earlier rules
    missed, `evaluate` measures recall. Prefect runs the flow where PREFECT_API_URL names a server or `slowwave ui`
    runs; else it runs in this process.
    """
    parameters = _parameters(flow, given)
    from slowwave.interfaces.cli.local import progress_bars, show_result, stopping_in_order

    with stopping_in_order(), progress_bars():
        report = _report(flow, home, parameters)
    show_result(report, as_json=as_json)


def _report(flow: Any, home: str | None, parameters: dict[str, Any]) -> Any:
    """Run a flow; stderr says where it runs."""
    from flows.running import place_of, run_flow, run_plain

    if flow in OWN_REPORTS:
        return run_plain(flow, home, parameters)
    place = place_of(home)
    output.remark([place.line])
    return run_flow(flow, home, parameters, api=place.api)


@click.command()
@click.option(
    "--to", required=True, metavar="FOLDER", help="The folder to write into; an earlier export is replaced."
)
@click.option(
    "--format",
    "form",
    metavar="jsonl|markdown",
    default="jsonl",
    help="jsonl is complete: `ingest` reads it again; markdown is a page for people.",
)
@click.option(
    "--scope", "scopes", metavar="user-private|project-shared|system", multiple=True, help="Only this scope."
)
@project_option
@dry_run_option
@home_option
@json_option
def export(
    *,
    to: str,
    form: "ExportFormat",
    scopes: tuple[Any, ...],
    project: str | None,
    dry_run: bool,
    home: str | None,
    as_json: bool,
) -> None:
    """Write your memories into a folder.

    What you deleted or erased is not in it.
    """
    from slowwave.interfaces.cli.local import progress_bars, show_result
    from slowwave.memory import Memory

    with Memory(home) as memory, progress_bars():
        done = memory.export(
            to, format=form, scopes=scopes, project=project_id(project, home), dry_run=dry_run
        )
    show_result(done, as_json=as_json)


@click.command()
@click.option(
    "--port",
    type=click.IntRange(1, 65_535),
    help="Port (default: the setting server.port, or the next free one).",
)
@click.option("--nightly", is_flag=True, help="Also run the night at the hour of the setting night.at.")
@click.option("--print-unit", is_flag=True, help="Print a unit for systemd that keeps this server running.")
@home_option
def serve(*, port: int | None, nightly: bool, print_unit: bool, home: str | None) -> None:
    """Serve the memory over HTTP on this machine, until Ctrl-C.

    Agents and the command line need no `serve`: a server starts on demand. It is for browsers and other programs, which
    come through a loopback port with a key.
    """
    from slowwave.interfaces.http import serve as server

    if print_unit:
        output.emit(server.unit(home))
        return
    server.serve(home, port=port, nightly=nightly)


@click.command()
@home_option
def mcp(*, home: str | None) -> None:
    """Serve the memory to one agent over stdin and stdout (MCP).

    Agents start it themselves: see docs/mcp.md.
    """
    from slowwave.interfaces.mcp.bridge import run as run_bridge

    run_bridge(home)


@click.command()
@click.option("--port", type=click.IntRange(1, 65_535), help="Port of the pages (default: 4200).")
@home_option
def ui(*, port: int | None, home: str | None) -> None:
    """Serve Prefect's pages with every deployment.

    On this machine, until Ctrl-C.
    """
    from flows.serve import serve_ui

    serve_ui(home, say=output.emit, port=port)


def _parameters(flow: str, given: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a flow, as they were given.

    Raises:
        UsageError: there is no such flow, or it has no such parameter, or needs one.
    """
    from flows.running import FLOWS, WITH_SOURCES

    if flow not in (*FLOWS, *OWN_REPORTS):
        raise click.UsageError(f"there is no flow {flow}: choose one of {', '.join((*FLOWS, *OWN_REPORTS))}")
    found = {name: one for name, one in given.items() if one or (name == "dry_run" and one is not None)}
    owners = {
        "sources": WITH_SOURCES,
        "force": ("nightly",),
        "action": ("rederive",),
        "questions": ("evaluate",),
    }
    for name in found.keys() & owners:
        if flow not in owners[name]:
            option = "--source" if name == "sources" else f"--{name}"
            raise click.UsageError(f"{option} belongs to {' and '.join(owners[name])}, not to {flow}")
    if flow == "evaluate" and "questions" not in found:
        raise click.UsageError("evaluate needs --questions FILE")
    _require_existing(map(Path, [*given["sources"], *filter(None, [given["questions"]])]))
    return {name: list(one) if isinstance(one, tuple) else one for name, one in found.items()}


def _require_existing(paths: Iterable[Path]) -> None:
    for path in paths:
        if not path.exists():
            raise NotFoundError(f"there is no file or folder {path}: check the path")


def _require_readable(report: "StageReport") -> None:
    """End with an error where files or folders cannot be read, though all others were, or where nothing is in any."""
    from slowwave.schemas.report import EMPTY, UNREADABLE

    if refused := report.rejected.get(UNREADABLE, 0):
        what = "1 file or folder" if refused == 1 else f"{refused} files or folders"
        raise InputError(f"{what} could not be read: the report says which and why")
    if report.rows_in == report.rejected.get(f"not a turn: {EMPTY}", 0):
        raise InputError("there was nothing to read: the report says what to name")


def _discovered(memory: Any, *, is_agreed: bool, as_json: bool) -> list[str]:
    """The files of coding agents on this machine that the user wants read; they are shown first.

    Empty where there are none or the user does not agree; without a terminal to ask at, only --yes agrees.
    """
    from slowwave.interfaces.cli.local import show_result

    found = memory.discover()
    can_ask = sys.stdin.isatty() and not as_json
    if not (as_json and is_agreed):
        show_result(found, as_json=as_json)
    if found and not is_agreed and not (can_ask and click.confirm("Read all of this?")):
        if not as_json:
            output.emit("Nothing was read." if can_ask else "Nothing was read: add --yes to read it.")
        return []
    return [str(path) for source in found for path in source.paths]


def _follow(paths: tuple[Path, ...], home: str | None, *, as_json: bool) -> None:
    """Read what is new in files as they grow, until Ctrl-C."""
    from threading import Event

    from slowwave.interfaces.cli.local import stopping_in_order
    from slowwave.interfaces.hooks.follower import follow
    from slowwave.memory import Memory

    def began() -> None:
        where = "what you named" if paths else "what coding agents keep on this machine"
        output.remark([f"Following {where}; Ctrl-C ends it."])

    def took(report: "StageReport") -> None:
        if turns := report.counts.get("turn.recorded", 0):
            output.remark([f"{turns} new messages from {report.counts.get('source.recorded', 0)} files"])

    with Memory(home) as memory, stopping_in_order():
        memory.discover(paths or None)  # a path that is missing is refused before anything is said
        began()
        found = follow(memory, paths or None, stop=Event(), told=took)
    if as_json:
        output.emit(json.dumps({"turn_count": found.turn_count, "followed_count": found.followed_count()}))
    else:
        output.emit(f"{found.turn_count} messages were taken in; {found.followed_count()} files followed.")


def _show_secrets(paths: tuple[Path, ...], home: str | None) -> bool:
    """List what redaction would take out of the named files; return whether there is anything."""
    from slowwave.ingest.preview import check_file
    from slowwave.ingest.redact.table import rules_with
    from slowwave.interfaces.rendering.text import flat
    from slowwave.settings.tree import load_settings

    own = load_settings(home).redaction
    rules = rules_with(own.rules, own.labels, own.keep)
    counts: Counter[str] = Counter()
    for place in (place for path in paths if path.is_file() for place in check_file(path, rules)):
        counts[place.kind] += 1
        output.emit(f"{flat(place.file)}:{place.line}:{place.column}: {place.kind} ({place.rule})")
        output.emit(f"    {flat(place.shown)}")
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items()))
    output.emit(
        f"Secrets that would be redacted: {counts.total()} ({kinds})" if kinds else "No secrets found."
    )
    return bool(counts)
