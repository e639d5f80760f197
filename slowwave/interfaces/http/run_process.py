"""The process of one flow: `python -m slowwave.interfaces.http.run_process HOME RUN_ID`."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

from flows.running import Parameters, Report, place_of, run_flow
from slowwave.errors import SlowwaveError
from slowwave.interfaces.http.runs import NICENESS, note
from slowwave.schemas.runs import Ended, Failure, Started


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
    api = place_of(str(home)).api if started.where == "prefect" else None
    return run_flow(started.flow, str(home), parameters, api=api, tags=("slowwave", started.run_id))


if __name__ == "__main__":
    os.umask(0o077)
    os.nice(NICENESS)
    carry_out(Path(sys.argv[1]), sys.argv[2])
