"""The tour: one night on the sample conversations with recorded answers, then what the memory became.

The home is temporary, the model server is a recording on this machine, and the embedder lives in a wheel: no
key, no network, no cost. Settings of whoever runs it do not reach it.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
from rich.rule import Rule
from rich.text import Text

import slowwave
from slowwave.entrypoints.commands.runs import Parameters, run_plain
from slowwave.entrypoints.replay import LOOPBACK, MODEL, replaying
from slowwave.entrypoints.show.answer import show_answer
from slowwave.entrypoints.show.terminal import flat, results, say, show_report, visible
from slowwave.errors import ConfigError, InputError, NotFoundError
from slowwave.home.paths import open_home
from slowwave.search import search
from slowwave.store import Store, col, lit, open_store

SAMPLES = Path(slowwave.__file__).parents[1] / "data" / "samples"
RECORDING = Path("..") / "recording" / "answers.jsonl"
SOURCES = ("claude_code", "chat", "notes")
QUESTIONS = ("how do we handle login tokens", "what is the rate limit of the booking API")
CORE_LINES = 12
SHOWN = 6

SETTINGS = """\
# The home of `slowwave demo`: answers come from a recording.
[llm]
provider = "openai"
base_url = "{base_url}"
model = "{model}"
transport_retries = 0

[embedding]
provider = "wordllama"

"""


def run_demo(keep: Path | None, samples: Path = SAMPLES) -> None:
    """Runs the sample night and shows what came of it.

    Raises:
        NotFoundError: the sample data or its recording is not there (it comes with a checkout, not a wheel).
        InputError: the folder to keep is not empty.
        ConfigError: the recording no longer fits the prompts.
    """
    sources = [samples / name for name in SOURCES]
    if not all(source.is_dir() for source in sources) or not (samples / RECORDING).is_file():
        raise NotFoundError(
            f"the demo needs the sample conversations and their recording in {samples}. They come with a "
            "checkout of the repository: clone it and run `make demo`."
        )
    with _folder(keep) as folder, own_environment(), replaying(samples / RECORDING) as replay:
        settings = SETTINGS.format(base_url=replay.base_url, model=MODEL)
        (folder / "slowwave.toml").write_text(settings, encoding="utf-8")
        say("A night on the sample conversations. The model's answers were recorded: nothing is spent.")
        parameters: Parameters = {"sources": [str(source) for source in sources], "force": True}
        try:
            report = run_plain("nightly", str(folder), parameters)
        except ConfigError as error:
            raise replay.problem() or error from error
        problem = replay.problem()
        if problem is not None:
            raise problem
        _title("The night (with recorded answers)")
        show_report(report, is_brief=True)
        _tour(folder)
        if keep is not None:
            (folder / "slowwave.toml").unlink()  # the recording's address does not outlive this process
            say(f"The memory is kept in {folder}: slowwave search --home {folder} ...")


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="slowwave-demo-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)
        return
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise InputError(f"{keep} is not an empty folder. Name a new one, so that nothing there is touched.")
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{keep} cannot be made ({error.strerror}). Name another folder.") from error
    yield keep


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


def _title(text: str) -> None:
    results().print(Rule(Text(text, style="bold"), align="left"))


def _tour(folder: Path) -> None:
    home = open_home(folder)
    store = open_store(home.store_root)
    now = datetime.now(UTC)
    _show_topics(store)
    _show_superseded(store)
    _show_contradictions(store)
    _title("Core memory: MEMORY.md, always in the agent's prompt")
    core = home.core_path.read_text(encoding="utf-8") if home.core_path.is_file() else "(empty)"
    lines = core.splitlines()
    more = f"\n... and {len(lines) - CORE_LINES} more lines" if len(lines) > CORE_LINES else ""
    results().print(Text(visible("\n".join(lines[:CORE_LINES])) + more))
    for question in QUESTIONS:
        _title(f'slowwave search "{question}"')
        show_answer(search(home, question, limit=4, now=now), now=now)


def _show_topics(store: Store) -> None:
    topics = store.rows("topics", ["name", "summary", "cell_count"], col("merged_into").is_null())
    topics = topics.filter(pl.col("summary").is_not_null()).sort(
        "cell_count", "name", descending=[True, False]
    )
    _title(f"Topics that it found: {topics.height} with a summary")
    for name, summary, count in topics.head(SHOWN).rows():
        results().print(Text.assemble((flat(name), "bold"), f" ({count} memories)\n  {flat(summary)}"))


def _show_superseded(store: Store) -> None:
    old = store.rows("cells", ["content", "superseded_by", "event_time"], col("status") == lit("superseded"))
    new = store.by_key(
        "cells", old["superseded_by"].drop_nulls(), ["cell_id", "content", "summary", "subject"]
    )
    pairs = old.join(new, left_on="superseded_by", right_on="cell_id", how="inner", suffix="_new")
    pairs = pairs.filter(pl.col("content") != pl.col("content_new")).sort("event_time", "content")
    _title(f"What no longer holds: {pairs.height} superseded memories")
    for row in pairs.head(SHOWN).iter_rows(named=True):
        timeline = f"\n  {flat(row['summary'])}" if row["summary"] else ""
        old_text, new_text = flat(row["content"]), flat(row["content_new"])
        results().print(Text.assemble((f"- {old_text}\n", "strike dim"), f"+ {new_text}", (timeline, "dim")))


def _show_contradictions(store: Store) -> None:
    found = store.rows("contradictions", ["cell_a", "cell_b", "note"], col("status") == lit("open"))
    cells = store.by_key("cells", [*found["cell_a"], *found["cell_b"]], ["cell_id", "content"])
    content = dict(cells.select("cell_id", "content").iter_rows())
    _title(f"Open contradictions: {found.height}, for a person to decide")
    for cell_a, cell_b, note in found.sort("cell_a", "cell_b").head(SHOWN).rows():
        first, second = (flat(content.get(cell, "(gone)")) for cell in (cell_a, cell_b))
        results().print(Text.assemble(f"? {first}\n? {second}", (f"\n  {flat(note)}" if note else "", "dim")))
