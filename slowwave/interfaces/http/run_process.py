"""The process of one flow: `python -m slowwave.interfaces.http.run_process HOME RUN_ID`."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

from slowwave.entrypoints.prefect_ui.runs import Parameters, Report, run_plain, run_under_prefect
from slowwave.errors import SlowwaveError
from slowwave.interfaces.http.runs import NICENESS, Ended, Failure, Started, note


def carry_out(home: Path, run_id: str) -> None:
    """Run the flow of a record, and write its report or its error beside it."""
    folder = home / "server" / "runs"
    with FileLock(folder / f"{run_id}.lock", timeout=0):
        started = Started.model_validate_json((folder / f"{run_id}.json").read_bytes())
        report, failure = None, None
        try:
            report = _report(home, started)
        except SlowwaveError as error:
            failure = Failure(type=type(error).__name__, detail=str(error))
        except BaseException as error:
            failure = Failure(
                type=type(error).__name__, detail="an error of Slowwave, or the run was stopped"
            )
            raise
        finally:
            ended = Ended(finished_at=datetime.now(UTC), report=report, failure=failure)
            note(folder / f"{run_id}.done.json", ended)


def _report(home: Path, started: Started) -> Report:
    parameters: Parameters = {} if started.dry_run is None else {"dry_run": started.dry_run}
    if started.sources:
        parameters["sources"] = started.sources
    if started.force:
        parameters["force"] = True
    if started.where == "process":
        return run_plain(started.flow, str(home), parameters)
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "INFO")  # for the run's page: nobody reads what it prints
    return run_under_prefect(started.flow, str(home), parameters, tags=("slowwave", started.run_id))


if __name__ == "__main__":
    os.umask(0o077)
    os.nice(NICENESS)
    carry_out(Path(sys.argv[1]), sys.argv[2])
