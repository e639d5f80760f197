"""The command line: each command parses, calls one function and shows what came back.

Results go to stdout, progress and notes to stderr, and every error of ours is one line with its exit code.
Everything heavy is imported inside the commands, so that `--help` and `search` answer at once; Prefect is
imported only by the commands that run a flow.
"""

import gc
import os
import signal
import sys
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, cast

import typer
from typer.core import TyperGroup

from flows.running import (
    FLOWS,
    WITH_SOURCES,
    FlowName,
    Parameters,
    Report,
    let_ctrl_c_through,
    place_of,
    run_flow,
    run_plain,
)
from slowwave.entrypoints.caller import current_folder
from slowwave.entrypoints.commands import browse, connect, edits, export, inspect, recall, redact, sources
from slowwave.entrypoints.commands.options import DryRunOption, HomeOption, JsonOption
from slowwave.entrypoints.commands.serve import serve
from slowwave.entrypoints.output import checked_output
from slowwave.entrypoints.show.terminal import (
    progress_bars,
    results,
    say,
    show_error,
    show_json,
    visible,
)
from slowwave.errors import InputError, NotFoundError, SlowwaveError
from slowwave.schemas.refusals import plainly

if TYPE_CHECKING:
    from slowwave.schemas.derivation import Derivation
    from slowwave.schemas.questions import Evaluation

INTERRUPTED = 130

LIVING_OBJECTS = 50_000
"""New objects after which garbage is looked for: importing makes many and no garbage, and each look takes long."""


class Commands(TyperGroup):
    """The group that turns errors into one line and an exit code, for the program and for tests alike."""

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override] # Typer hides the base class
        """Runs a command.

        Raises:
            typer.Exit: with the exit code of the error class, or 130 after Ctrl-C.
        """
        try:
            return super().invoke(ctx)
        except SlowwaveError as error:
            show_error(str(error))
            raise typer.Exit(error.exit_code) from error
        except KeyboardInterrupt as error:
            for line in error.args:
                show_error(line)
            raise typer.Exit(INTERRUPTED) from error
        except typer.BadParameter as error:
            error.message = plainly(error.message)
            raise


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Long-term memory for AI agents, recorded by day and consolidated by night.",
    epilog="Exit codes: 0 done, 65 unusable input, 66 not found, 74 output not written, 75 busy or unreachable, "
    "78 configuration.",
)
quarantine_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="List or release work that the model could not do."
)
app.add_typer(quarantine_app, name="quarantine")


@app.callback(invoke_without_command=True)
def top(
    *,
    version: Annotated[bool, typer.Option("--version", help="Show the version.", is_eager=True)] = False,
) -> None:
    """Options of the program itself."""
    if version:
        typer.echo(f"slowwave {metadata.version('slowwave')}")
        raise typer.Exit


@app.command()
def ingest(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Transcripts, documents, or folders of them."),
    ] = None,
    *,
    discover: Annotated[
        bool,
        typer.Option("--discover", help="Find what coding agents keep on this machine, show it, and ask."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --discover: take it in without asking.")] = False,
    home: HomeOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Read transcripts and documents. Unchanged files are skipped; no language model is asked.

    A named file that cannot be read ends with exit code 65; in a folder it is reported and stops no other.
    """
    from slowwave.schemas.report import UNREADABLE, StageReport

    paths = paths or []
    if bool(paths) == discover:
        raise typer.BadParameter("name files or folders, or give --discover", param_hint="PATH...")
    if discover:
        found = sources.found_sources(home, is_agreed=yes or dry_run, as_json=as_json)
    else:
        found = _existing(paths)
    if not found:
        return
    report = _ingested(home, found, dry_run=dry_run, are_found=discover)
    _show(report, as_json=as_json)
    if not isinstance(report, StageReport):
        return
    refused = report.rejected.get(UNREADABLE, 0)
    is_named = not discover and all((current_folder() / path).is_file() for path in paths)
    if refused and (refused == report.rows_in or is_named):
        raise InputError(
            f"{refused} of {report.rows_in} files could not be read; the report says which and why"
        )


def _ingested(home: str | None, found: list[str], *, dry_run: bool, are_found: bool) -> "Report":
    """The report of an ingest by the server of this home, where one runs, else by this process."""
    from slowwave.entrypoints.resident.client import ask_server
    from slowwave.schemas.report import StageReport

    whole = [str(current_folder() / path) for path in found]
    asked = {"dry_run": dry_run, "are_found": are_found}
    said = ask_server(home, "ingest", {"sources": whole, **asked})
    if said is not None:
        return StageReport.model_validate(said[0])
    from slowwave.memory import Memory

    let_ctrl_c_through()
    with progress_bars(), Memory(home) as memory:
        return memory.ingest(found, dry_run=dry_run, are_found=are_found)


@app.command()
def run(
    flow: Annotated[FlowName, typer.Argument(metavar="FLOW", help=f"One of: {', '.join(FLOWS)}.")],
    *,
    source: Annotated[
        list[Path] | None,
        typer.Option(
            "--source", metavar="PATH", help="Read this in first (nightly and ingest). May be repeated."
        ),
    ] = None,
    home: HomeOption = None,
    dry_run: Annotated[
        bool | None,
        typer.Option(
            "--dry-run/--no-dry-run",
            help="Show what would change, and change nothing; the default for forget.",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Nightly: ask the model even if too little is new or too little time has passed."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a flow and show its report.

    It runs on Prefect's page where PREFECT_API_URL names a server or `slowwave ui` of this home runs, else without
    Prefect.
    """
    if source and flow not in WITH_SOURCES:
        raise typer.BadParameter(
            f"{flow} takes in nothing; {' and '.join(WITH_SOURCES)} do", param_hint="--source"
        )
    if force and flow != "nightly":
        raise typer.BadParameter(f"{flow} has no gate to pass; nightly has", param_hint="--force")
    parameters: Parameters = {} if dry_run is None else {"dry_run": dry_run}
    if source:
        parameters["sources"] = _existing(source)
    if force:
        parameters["force"] = True
    place = place_of(home)
    say(place.line)
    with progress_bars():
        report = run_flow(flow, home, parameters, api=place.api)
    _show(report, as_json=as_json)


app.command("list")(browse.list_cells)
for command in (
    *recall.COMMANDS,
    *browse.COMMANDS,
    *edits.COMMANDS,
    *inspect.COMMANDS,
    *export.COMMANDS,
    *redact.COMMANDS,
    *connect.COMMANDS,
    *sources.COMMANDS,
):
    app.command()(command)
quarantine_app.command("list")(inspect.list_quarantine)
quarantine_app.command("release")(inspect.release)


@app.command()
def doctor(*, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Check the home, the models and Prefect. Exit code 1 means that something needed is broken."""
    from slowwave.entrypoints.commands.doctor import examine, is_broken, show_checks

    checks = examine(home)
    if as_json:
        show_json({"is_broken": is_broken(checks), "checks": [check.model_dump() for check in checks]})
    else:
        show_checks(checks)
    if is_broken(checks):
        raise typer.Exit(1)


@app.command()
def rebuild(*, home: HomeOption = None, dry_run: DryRunOption = False, as_json: JsonOption = False) -> None:
    """Build the store again from the journal. As `run rebuild`, without Prefect; no language model is asked."""
    with progress_bars():
        report = run_flow("rebuild", home, {"dry_run": dry_run}, api=None)
    _show(report, as_json=as_json)


@app.command()
def reembed(*, home: HomeOption = None, dry_run: DryRunOption = False, as_json: JsonOption = False) -> None:
    """Compute all vectors again with the configured embedder. As `run reembed`, without Prefect."""
    with progress_bars():
        report = run_flow("reembed", home, {"dry_run": dry_run}, api=None)
    _show(report, as_json=as_json)


@app.command()
def rederive(
    *,
    show: Annotated[bool, typer.Option("--show", help="Show the difference again; derive nothing.")] = False,
    switch: Annotated[
        bool, typer.Option("--switch", help="Put the derivation in the place of the memory.")
    ] = False,
    drop: Annotated[
        bool, typer.Option("--drop", help="Remove the derivation; the memory stays as it is.")
    ] = False,
    home: HomeOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would cost, or whether it could be done.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Derive the memory again with today's prompts.

    It is made beside the living memory, with the configured model, and the difference is shown. Started again, it
    goes on where it stood and takes in what came since. The memory serves meanwhile.
    """
    actions = {"show": show, "switch": switch, "drop": drop}
    chosen = [name for name, is_chosen in actions.items() if is_chosen]
    if len(chosen) > 1:
        raise typer.BadParameter("give one of them", param_hint=" ".join(f"--{name}" for name in chosen))
    action = chosen[0] if chosen else "derive"
    if action == "derive" and not dry_run:
        waits = cast("Derivation", run_plain("rederive", home, {"dry_run": True})).estimate
        if waits is not None:
            say(waits.line)
    with progress_bars():
        found = cast("Derivation", run_plain("rederive", home, {"action": action, "dry_run": dry_run}))
    if as_json:
        show_json(found)
    else:
        from slowwave.entrypoints.show.derivation import show_derivation

        show_derivation(found)


@app.command()
def evaluate(
    questions: Annotated[
        Path, typer.Argument(metavar="FILE", help="A question set: see benchmarks/README.md.")
    ],
    *,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how well search finds answers. The memory does not change."""
    _existing([questions])
    found = cast("Evaluation", run_plain("evaluate", home, {"questions": str(questions)}))
    if as_json:
        show_json(found)
    else:
        from slowwave.measure import markdown

        results().print(visible(markdown(found)), soft_wrap=True)


app.command()(serve)


@app.command()
def ui(
    *,
    home: HomeOption = None,
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65535, help="Port of the pages (default: 4200).")
    ] = None,
) -> None:
    """Serve Prefect's pages with all flows and their schedule. On this machine only, until Ctrl-C."""
    from flows.serve import serve_ui

    serve_ui(home, say=lambda line: print(line, flush=True), port=port)


@app.command()
def mcp(*, home: HomeOption = None) -> None:
    """Serve the memory to one agent over stdin and stdout (MCP). Agents start it themselves: see docs/mcp.md."""
    from slowwave.entrypoints.mcp.stdio import serve_stdio

    serve_stdio(home)


def main() -> None:
    """The console script."""
    gc.set_threshold(LIVING_OBJECTS)
    signal.signal(signal.SIGINT, _interrupted)
    try:
        with checked_output():
            app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        gc.freeze()  # at its end Python looks through all objects for garbage: a tenth of the whole command


def _interrupted(_: int, __: FrameType | None) -> None:
    """Ctrl-C: stops in order, which waits for requests in flight; a second one leaves at once.

    What is committed survives a kill at any moment.
    """
    signal.signal(signal.SIGINT, lambda *_: _leave(b""))
    os.write(2, b"slowwave: stopping; what was committed is kept. Ctrl-C again leaves at once\n")
    raise KeyboardInterrupt


def _leave(message: bytes) -> None:
    """Ends the process without waiting for anything; a progress bar may have hidden the cursor."""
    cursor = b"\x1b[?25h" if sys.stderr.isatty() else b""
    os.write(2, cursor + (message + b"\n" if message else b""))
    os._exit(INTERRUPTED)


def _existing(paths: list[Path]) -> list[str]:
    """The paths as text, all of which exist: a slip of the pen is told before anything is opened."""
    for path in paths:
        if not (current_folder() / path).exists():
            raise NotFoundError(f"there is no file or folder {path}: check the path")
    return [str(path) for path in paths]


def _show(report: "Report", *, as_json: bool) -> None:
    if as_json:
        show_json(report)
    else:
        from slowwave.entrypoints.show.report import show_report

        show_report(report)


if __name__ == "__main__":
    main()
