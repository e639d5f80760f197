"""What a change of a prompt changes: `python benchmarks/prompts.py OLD_FILE NEW_FILE [--chunks 10] [--home HOME]`.

The configured model (SLOWWAVE_LLM__...) reads the same chunks with both versions of `extract_cells` or `gate_chunk`;
shown are the memories that only one of them gives, and what each version cost. The chunks are the newest of the sample
or of a home, where nothing is stored; a page is shown what was known before it.
"""

import argparse
import difflib
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import polars as pl
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.environment import hide_settings  # noqa: E402
from slowwave.errors import InputError, SlowwaveError  # noqa: E402
from slowwave.models.prompts import PromptFile, prompt_files, read_prompt_file  # noqa: E402
from slowwave.schemas.ledger import LedgerLine  # noqa: E402
from slowwave.schemas.tables import OWNER  # noqa: E402

SAMPLES = tuple(ROOT / "data" / "samples" / name for name in ("claude_code", "chat", "notes"))
COMPARED = ("extract_cells", "gate_chunk")


def prompt_of(path: Path) -> tuple[str, PromptFile]:
    """Name and parts of one version of a prompt.

    Raises:
        InputError: there is no such file, or its prompt is none of those that read chunks.
    """
    name = path.name.partition(".v")[0]
    if name not in COMPARED or not path.is_file():
        raise InputError(f"{path} is no version of {' or '.join(COMPARED)}")
    return name, read_prompt_file(path.name, path.read_text(encoding="utf-8"))


def memories(home: Path, path: Path, chunk_count: int) -> tuple[list[str], LedgerLine]:
    """The memories that the newest chunks give with this version, a line each by page, and what that cost.

    Raises:
        SlowwaveError: no model is configured, or it cannot be used.
    """
    from tasks.extract.extract import ask_memories, find_lines, find_past, find_rounds, worth_reading
    from tasks.extract.gate import ask_gate
    from tasks.step import open_stage

    name, file = prompt_of(path)
    told: list[str] = []
    with patch.dict(prompt_files(), {name: file}), open_stage("extract", home=str(home), dry_run=True) as run:
        if run.model is None:
            raise InputError("no language model is configured: set SLOWWAVE_LLM__PROVIDER and its model")
        newest = run.reader.store.rows("chunks").sort("event_time", "chunk_id", descending=True)
        asked = newest.head(chunk_count).sort(*OWNER, "session_id", "first_turn_index")
        for chunks in find_rounds(run.reader, asked):
            lines = find_lines(run.reader, chunks)
            worth, shown = worth_reading(chunks, lines, ask_gate(run.model, lines)[0])
            if worth.height:
                past = find_past(run.reader, worth, shown)
                told += memory_lines(ask_memories(run.model, run.reader, worth, shown, past).cells)
        return told, run.report.ledger.total


def memory_lines(cells: pl.DataFrame) -> list[str]:
    """Each memory as a line, in the order in which its page was said."""
    named = pl.format(" ({}, {}: {})", "subject", "attribute", "value").fill_null("")
    line = pl.format("[{}] {}{}", "cell_type", "content", named)
    return cells.sort("event_time", maintain_order=True).select(line).to_series().to_list()


def show(versions: Sequence[Path], found: Sequence[tuple[list[str], LedgerLine]]) -> None:
    """The memories that only one version gives, and the totals of both."""
    console = Console(highlight=False)
    old, new = (lines for lines, _ in found)
    differing = difflib.unified_diff(old, new, lineterm="", n=0)
    changes = [line for line in differing if line[:1] in "+-" and line[:3] not in ("---", "+++")]
    for line in changes:
        console.print(line, markup=False, soft_wrap=True)
    table = Table("version", "memories", "only in this one", "calls", "tokens in", "tokens out")
    for path, sign, (lines, used) in zip(versions, "-+", found, strict=True):
        own = str(sum(line.startswith(sign) for line in changes))
        counts = (used.call_count, used.input_tokens, used.output_tokens)
        table.add_row(path.name, str(len(lines)), own, *map(str, counts))
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the chunks with both versions, and print the difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", type=Path, help="a version of the prompt")
    parser.add_argument("new", type=Path, help="another one of the same prompt")
    parser.add_argument("--chunks", type=int, default=10, help="chunks that are read")
    parser.add_argument("--home", type=Path, help="the newest chunks of this home instead of the sample's")
    given = parser.parse_args(arguments)
    try:
        if len({prompt_of(path)[0] for path in (given.old, given.new)}) > 1:
            raise InputError("these are versions of two prompts")
        with tempfile.TemporaryDirectory(prefix="slowwave-prompts-") as folder:
            home = given.home or sample_home(Path(folder))
            versions = (given.old, given.new)
            show(versions, [memories(home, path, given.chunks) for path in versions])
    except SlowwaveError as error:
        print(f"slowwave: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def sample_home(folder: Path) -> Path:
    """A home with the sample's conversations, read by no model."""
    from flows.ingest import ingest

    hide_settings(keep="SLOWWAVE_LLM__")
    os.environ["SLOWWAVE_EMBEDDING__PROVIDER"] = "none"
    ingest.fn(sources=[str(source) for source in SAMPLES], home=str(folder / "home"))
    return folder / "home"


if __name__ == "__main__":
    sys.exit(main())
