"""How long an edit waits for a night: `python benchmarks/edits.py [--edits N] [--seconds N] [--json]`.

Nights run in a process of their own, over invented conversations and with a scripted model that takes its time. This
process remembers, corrects, confirms and forgets meanwhile. Told are the seconds of an edit (p50, p95, most), how many
were refused, and after a SIGKILL of the night in its middle which acknowledged edits the home does not have.
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # for `tests.servers` and the files beside this one

from benchmarks.invented import write_sessions  # noqa: E402
from benchmarks.night import run_night, use_home, use_model  # noqa: E402
from benchmarks.scripted_answers import ScriptedAnswers  # noqa: E402
from slowwave.errors import TransientError  # noqa: E402
from slowwave.home.lock import LEASE  # noqa: E402
from slowwave.home.paths import open_home  # noqa: E402
from slowwave.memory import Memory  # noqa: E402
from slowwave.schemas.results import Cell  # noqa: E402
from tests.servers import OpenAIServer  # noqa: E402

EDITS, MODEL_SECONDS, TURNS = 200, 1.0, 200
PAUSE_SECONDS = 0.2
"""Between two edits, so that they meet nights in all their stages."""


def nights(home: Path, folder: Path, seconds: float) -> None:
    """Nights one after the other, each over new conversations, until the process is killed."""
    said = ScriptedAnswers()

    def slowly(body: dict[str, Any]) -> str:
        time.sleep(seconds)
        return said(body)

    with OpenAIServer(slowly) as server:
        use_model(home, server.url)
        night = 0
        while True:
            sessions = folder / f"sessions-{night}"
            write_sessions(sessions, turns=TURNS, topics=10, label=f"night {night}")
            run_night(home, sessions)
            night += 1


class Editor:
    """One person's edits of a home: the seconds of each, those that were refused, and what must be there."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.seconds: list[float] = []
        self.refused: list[str] = []
        self.there: dict[str, str] = {}
        """Content of each acknowledged memory, by id."""
        self.forgotten: set[str] = set()

    def edit(self, number: int) -> None:
        """Edit number `number`: of four, two new memories, one correction, one that is confirmed and forgotten."""
        started = time.monotonic()
        try:
            self._edit(number)
        except TransientError as error:
            self.refused.append(str(error))
        self.seconds.append(time.monotonic() - started)

    def _edit(self, number: int) -> None:
        kind, newest = number % 4, next(reversed(self.there), "")
        if kind < 2:
            said = f"The berth of ferry {number} is pier {number % 7}."
            self.there[self.memory.remember(said).cell_id] = said
        elif kind == 2:
            done = self.memory.correct(newest, f"The berth of ferry {number - 1} is pier 9.")
            del self.there[newest]
            self.there[done.cell_id] = done.content
        else:
            oldest = next(iter(self.there))
            self.memory.forget(oldest)
            del self.there[oldest]
            self.forgotten.add(oldest)


def is_shown(cell: Cell) -> bool:
    """Return whether a memory that was explained is there as what holds."""
    return cell.life is not None and cell.life.state == "active"


def lost(home: Path, editor: Editor) -> list[str]:
    """Acknowledged edits that a memory opened anew does not have."""
    with Memory(home, records_usage=False) as memory:
        missing = [name for name, content in editor.there.items() if memory.explain(name).content != content]
        back = [name for name in editor.forgotten if is_shown(memory.explain(name))]
    return missing + back


def measure(edits: int, seconds: float) -> dict[str, Any]:
    """The figures of one run."""
    with tempfile.TemporaryDirectory(prefix="slowwave-edits-") as folder:
        home = Path(folder) / "home"
        use_home(home)
        with Memory(home, records_usage=False) as memory:
            editor = Editor(memory)
            memory.remember("The harbour has nine piers.")
            process = multiprocessing.get_context("spawn").Process(
                target=nights, args=(home, Path(folder), seconds), daemon=True
            )
            process.start()
            while not (open_home(home).root / LEASE).exists() and process.is_alive():
                time.sleep(0.1)
            for number in range(edits):
                editor.edit(number)
                time.sleep(PAUSE_SECONDS)
            is_alive = process.is_alive()
            process.kill()
            process.join()
        took = pl.Series(editor.seconds)
        return {
            "edits": edits,
            "night_ran_to_the_end_of_the_edits": is_alive,
            "refused": len(editor.refused),
            "p50_seconds": round(float(took.quantile(0.5) or 0), 3),
            "p95_seconds": round(float(took.quantile(0.95) or 0), 3),
            "most_seconds": round(float(took.max() or 0), 3),  # type: ignore[arg-type]
            "lost_after_kill": len(lost(home, editor)),
            "load": os.getloadavg()[0],
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edits", type=int, default=EDITS, help="edits of one person")
    parser.add_argument("--seconds", type=float, default=MODEL_SECONDS, help="seconds of each model's answer")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    found = measure(options.edits, options.seconds)
    print(
        json.dumps(found) if options.json else "\n".join(f"{name}: {value}" for name, value in found.items())
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
