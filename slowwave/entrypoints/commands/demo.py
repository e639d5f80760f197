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

from rich.rule import Rule
from rich.text import Text

import slowwave
from slowwave.entrypoints.commands.replay import LOOPBACK, MODEL, replaying
from slowwave.entrypoints.prefect_ui.runs import Parameters, run_plain
from slowwave.entrypoints.show.answer import show_answer
from slowwave.entrypoints.show.report import show_report
from slowwave.entrypoints.show.terminal import flat, results, say, visible
from slowwave.errors import ConfigError, InputError, NotFoundError
from slowwave.memory import Memory
from slowwave.schemas.report import several_memories
from slowwave.schemas.results import Dispute

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

# The recording fits the days of the samples, also where the clock is behind them.
[readers]
ahead_hours = 8784

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
        if problem := replay.problem():
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
    with Memory(folder, records_usage=False) as memory:
        topics, replaced = memory.topics(limit=SHOWN), memory.replacements()
        _title(f"Topics that it found: {topics.total}")
        for topic in topics.topics:
            head = (flat(topic.name), "bold")
            results().print(
                Text.assemble(
                    head,
                    f" ({several_memories(topic.cell_count)})\n  {flat(topic.summary or '(no summary yet)')}",
                )
            )
        _title(f"Superseded: {several_memories(len(replaced))} that no longer hold")
        for one in replaced[:SHOWN]:
            line = (f"\n  {flat(one.timeline)}" if one.timeline else "", "dim")
            results().print(Text.assemble((f"- {flat(one.old)}\n", "strike dim"), f"+ {flat(one.new)}", line))
        _show_contradictions(memory.contradictions())
        _title("Core memory: MEMORY.md, always in the agent's prompt")
        lines = (memory.core() or "(empty)").splitlines()
        more = f"\n... and {len(lines) - CORE_LINES} more lines" if len(lines) > CORE_LINES else ""
        results().print(Text(visible("\n".join(lines[:CORE_LINES])) + more))
        for question in QUESTIONS:
            _title(f'slowwave search "{question}"')
            show_answer(memory.search(question, limit=4), now=datetime.now(UTC))


def _show_contradictions(found: list[Dispute]) -> None:
    _title(f"Open contradictions: {len(found)}, for a person to decide")
    for one in found[:SHOWN]:
        first, second = (flat(side.content) if side else "(gone)" for side in (one.a, one.b))
        note = (f"\n  {flat(one.note)}" if one.note else "", "dim")
        results().print(Text.assemble(f"? {first}\n? {second}", note))
