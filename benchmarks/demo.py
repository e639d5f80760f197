"""`make run` and `make demo`: one night over the sample conversations with recorded answers, then what came of it.

The model server is a recording on this machine, and the embedder lies in a wheel: no key, no network, no cost. The
memory stays in `data/demo-home`, which each run makes anew. Settings of whoever runs it do not reach it.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.replay import LOOPBACK, MODEL, replaying  # noqa: E402
from flows.running import Parameters, run_flow  # noqa: E402
from slowwave.errors import ConfigError, InputError, NotFoundError, SlowwaveError  # noqa: E402
from slowwave.interfaces.cli.local import progress_bars, show_blocks, show_result  # noqa: E402
from slowwave.interfaces.cli.output import fail, prepare  # noqa: E402
from slowwave.interfaces.rendering.blocks import Block, Heading, Page, Span, line  # noqa: E402
from slowwave.memory import Memory  # noqa: E402
from slowwave.schemas.report import NightReport, StageReport, several_memories  # noqa: E402
from slowwave.schemas.results import Dispute  # noqa: E402

HOME = ROOT / "data" / "demo-home"
SAMPLES = ROOT / "data" / "samples"
RECORDING = Path("..") / "recording" / "answers.jsonl"
SOURCES = ("claude_code", "chat", "notes")
QUESTIONS = ("what is the rate limit of the booking API", "how do we handle login tokens")
CORE_LINES = 12
SHOWN = 6
RESULTS = 4

RECORDED = """\
[llm]
provider = "openai"
base_url = "{base_url}"
model = "{model}"
prices = {{ {model} = {{ input = 0, output = 0 }} }}
transport_retries = 0

"""
KEPT = """\
# The home of `make demo`, made anew by each `make run` and `make demo`.
[embedding]
provider = "wordllama"

# The recording fits the days of the samples, also where the clock is behind them.
[readers]
ahead_hours = 8784
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the night and show one question, or with --tour all that it made; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--tour", action="store_true", help="show topics, history, contradictions, core memory"
    )
    is_tour = parser.parse_args(argv).tour
    prepare()
    try:
        run_demo(HOME, is_tour=is_tour)
    except SlowwaveError as error:
        fail(str(error))
        return error.exit_code
    return 0


def run_demo(home: Path, *, samples: Path = SAMPLES, is_tour: bool = False) -> None:
    """Make the home anew by one night over the samples, and show what came of it.

    Raises:
        NotFoundError: the sample data or its recording is not there.
        InputError: the home cannot be made anew.
        ConfigError: the recording no longer fits the prompts.
    """
    sources = [samples / name for name in SOURCES]
    if not all(source.is_dir() for source in sources) or not (samples / RECORDING).is_file():
        raise NotFoundError(f"the sample conversations or their recording are not in {samples}: clone anew")
    show_blocks(
        [line("One night over the sample conversations, with recorded answers of a language model: no cost.")]
    )
    _make_anew(home)
    with own_environment():
        show_result(_night(home, samples, sources), as_json=False)
        with Memory(home, records_usage=False) as memory:
            if is_tour:
                _show_what_it_made(memory)
            for question in QUESTIONS if is_tour else QUESTIONS[:1]:
                show_blocks([Heading(f'slowwave search "{question}" --limit {RESULTS}')])
                show_result(memory.search(question, limit=RESULTS), as_json=False)
    _say_how_to_go_on(home)


def _make_anew(home: Path) -> None:
    try:
        if home.is_dir() and not home.is_symlink():
            shutil.rmtree(home)
        home.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise InputError(
            f"{home} cannot be made anew ({error.strerror}): remove it, then try again"
        ) from error


def _night(home: Path, samples: Path, sources: list[Path]) -> StageReport | NightReport:
    """The report of the night; the address of the recording does not outlive it."""
    path = home / "slowwave.toml"
    with replaying(samples / RECORDING) as replay:
        path.write_text(RECORDED.format(base_url=replay.base_url, model=MODEL) + KEPT, encoding="utf-8")
        parameters: Parameters = {"sources": [str(source) for source in sources], "force": True}
        try:
            with progress_bars():
                report = run_flow("nightly", str(home), parameters, api=None)
        except ConfigError as error:
            raise replay.problem() or error from error
        if problem := replay.problem():
            raise problem
    path.write_text(KEPT, encoding="utf-8")
    return report


def _say_how_to_go_on(home: Path) -> None:
    program, here = _shown(Path(sys.executable).with_name("slowwave")), _shown(home)
    show_blocks(
        [
            Heading("Next steps"),
            line(f'Explore this memory:     {program} search --home {here} "why do we use JWT"'),
            line(
                f"Your own conversations:  {program} ingest --discover   (shows what it finds, and asks first)"
            ),
            line(
                f'Your own model:          README.md, "Connect a language model"; then {program} run nightly'
            ),
        ]
    )


def _shown(path: Path) -> str:
    """A path as it is typed in the current folder."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


@contextmanager
def own_environment() -> Iterator[None]:
    """Hides the caller's SLOWWAVE_ settings and proxies for this machine while the block runs."""
    before = dict(os.environ)
    for name in [name for name in before if name.startswith("SLOWWAVE_")]:
        del os.environ[name]
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = f"{LOOPBACK},localhost"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _show_what_it_made(memory: Memory) -> None:
    topics, replaced = memory.topics(limit=SHOWN), _replaced(memory)
    blocks: list[Block] = [Heading(f"Topics: {topics.total}")]
    for topic in topics.entries:
        blocks.append(line(Span(topic.name, "bold"), f" ({several_memories(topic.cell_count)})"))
        blocks.append(line(topic.summary or "(no summary yet)", indent=1))
    blocks.append(Heading(f"Superseded: {several_memories(replaced.height)}, each with its successor"))
    for old, new in replaced.head(SHOWN).iter_rows():
        blocks += [line(Span(f"- {old}", "dim")), line(f"+ {new}")]
    core = (memory.core() or "(empty)").splitlines()
    more = [line(f"... and {len(core) - CORE_LINES} more lines")] if len(core) > CORE_LINES else []
    show_blocks(
        [
            *blocks,
            *_contradictions(memory.contradictions()),
            Heading("Core memory: MEMORY.md, always in the agent's prompt"),
            Page("\n".join(core[:CORE_LINES])),
            *more,
        ]
    )


def _replaced(memory: Memory) -> pl.DataFrame:
    """Texts of memories that another one superseded in other words, and the other's text; oldest first."""
    cells = memory.frame("cells", columns=["cell_id", "content", "status", "superseded_by", "event_time"])
    new = cells.select("cell_id", new="content")
    return (
        cells.filter(pl.col("status") == "superseded")
        .join(new, left_on="superseded_by", right_on="cell_id", how="inner")
        .filter(pl.col("content") != pl.col("new"))
        .sort("event_time", "content")
        .select("content", "new")
    )


def _contradictions(found: list[Dispute]) -> list[Block]:
    blocks: list[Block] = [Heading(f"Open contradictions: {len(found)}, for a person to decide")]
    for one in found[:SHOWN]:
        blocks += [line(f"? {side.content if side else '(gone)'}") for side in (one.a, one.b)]
        blocks += [line(Span(one.note, "dim"), indent=1)] if one.note else []
    return blocks


if __name__ == "__main__":
    sys.exit(main())
