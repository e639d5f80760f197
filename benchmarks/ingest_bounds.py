"""Time and memory by the size of what comes in: `python benchmarks/ingest_bounds.py [--cases KIND=SIZE ...] [--json]`.

Each case is written into a folder and taken in by a process of its own with the embedded embedder. Told are seconds,
the peak of its memory, turns taken in, and what was left out by its reason.
"""

import argparse
import json
import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.night import use_home  # noqa: E402

MOST_MEMORY = 1_500_000_000
CASES = ("line=10", "line=50", "message=20", "files=2000", "lines=20000")
WORDS = ("store", "vectors", "turns", "night", "events", "tables", "readers", "look", "while", "the", "fold")
FILES_A_FOLDER = 1_000


def sentence(chance: random.Random, words: int = 12) -> str:
    """Words in no order."""
    return " ".join(chance.choices(WORDS, k=words))


def write_chat(path: Path, texts: Iterator[str] | Sequence[str]) -> None:
    """A chat of these messages."""
    with path.open("w") as file:
        file.writelines(json.dumps({"role": "user", "content": text}) + "\n" for text in texts)


def write_line(folder: Path, megabytes: int) -> None:
    """One message of that size on one line, and a small file beside it."""
    write_chat(folder / "large.jsonl", ["x" * (megabytes * 1_000_000)])
    write_chat(folder / "small.jsonl", ["We take Postgres for the ledger."])


def write_messages(folder: Path, megabytes: int) -> None:
    """As many messages of a megabyte each."""
    chance = random.Random(1)  # noqa: S311 - a benchmark's dice
    write_chat(folder / "large.jsonl", (sentence(chance, 200_000)[:1_000_000] for _ in range(megabytes)))


def write_files(folder: Path, number: int) -> None:
    """That many notes, in folders of a thousand."""
    chance = random.Random(1)  # noqa: S311 - a benchmark's dice
    for place in range(number):
        part = folder / f"{place // FILES_A_FOLDER:04d}"
        part.mkdir(exist_ok=True)
        (part / f"note-{place}.md").write_text(f"# Note {place}\n\n{sentence(chance)}\n")


def write_session(folder: Path, number: int) -> None:
    """One session of that many lines, a message each."""
    chance = random.Random(1)  # noqa: S311 - a benchmark's dice
    with (folder / "session.jsonl").open("w") as file:
        for place in range(number):
            said = {"id": f"m{place}", "content": [{"type": "text", "text": f"{place} {sentence(chance)}"}]}
            kind = "assistant" if place % 2 else "user"
            record = {"type": kind, "uuid": f"u{place}", "sessionId": "s", "message": said}
            file.write(json.dumps(record | {"timestamp": 1_780_000_000 + 60 * place}) + "\n")


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "line": write_line,
    "message": write_messages,
    "files": write_files,
    "lines": write_session,
}


def peak_bytes() -> int:
    """The most memory that this process had. Where there is no /proc it includes what its parent had at its start."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def take_folder(folder: str, home: str, told: Connection) -> None:
    """Take a folder in; send what it took."""
    use_home(Path(home))
    from flows.ingest import ingest

    started = time.monotonic()
    report = ingest.fn(sources=[folder], home=home)
    told.send(
        {
            "seconds": round(time.monotonic() - started, 1),
            "peak_bytes": peak_bytes(),
            "turns": report.counts.get("turn.recorded", 0),
            "left_out": report.rejected,
        }
    )


def measure(case: str, folder: Path) -> dict[str, Any]:
    """The figures of one case."""
    kind, _, size = case.partition("=")
    if kind not in WRITERS or not size.isdecimal():
        raise SystemExit(f"no case {case!r}: name line=MB, message=MB, files=N or lines=N")
    incoming = folder / "incoming"
    incoming.mkdir()
    WRITERS[kind](incoming, int(size))
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=take_folder, args=(str(incoming), str(folder / "home"), there))
    process.start()
    there.close()
    found: dict[str, Any] = here.recv()
    process.join()
    return {"case": case, **found}


def table(found: Sequence[dict[str, Any]]) -> str:
    """The figures as a table."""
    lines = [f"{'case':<16} {'seconds':>8} {'peak MB':>8} {'turns':>9}  left out"]
    for row in found:
        left_out = ", ".join(f"{number} {reason}" for reason, number in row["left_out"].items()) or "-"
        peak = row["peak_bytes"] / 1e6
        lines.append(f"{row['case']:<16} {row['seconds']:>8} {peak:>8.0f} {row['turns']:>9,}  {left_out}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", default=CASES, metavar="KIND=SIZE", help="what comes in")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    options = parser.parse_args(arguments)
    found = []
    for case in options.cases:
        with tempfile.TemporaryDirectory(prefix="bench_bounds_") as temporary:
            found.append(measure(case, Path(temporary)))
    print(json.dumps({"cases": found}) if options.json else table(found))
    return 1 if max(row["peak_bytes"] for row in found) > MOST_MEMORY else 0


if __name__ == "__main__":
    sys.exit(main())
