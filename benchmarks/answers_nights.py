"""Nights over one conversation of a question set, each with the clock at its night, in a folder that keeps everything.

The folder holds `conversation.json` (the conversation in our own form), `talk/` (its sessions as chat JSONL), `home/`,
`nights.jsonl` (a line a finished night) and `ledgers/` (what each run spent, also a killed one). Nights that are done
are not done again; a killed night starts again at its own clock, and the answers that it had paid for come from the
home's cache.
"""

import json
import os
import shutil
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from benchmarks.environment import hide_settings
from benchmarks.evaluation import AFTER_THE_LAST, write_sessions
from benchmarks.question_sets import Conversation, read_question_set
from slowwave.errors import InputError, TransientError
from slowwave.schemas.ledger import Ledger, LedgerLine
from slowwave.schemas.report import AWAY, SPENT

Nights = Literal["between", "end"]

NIGHT_HOUR = 3
QUIET = timedelta(hours=3)
"""Hours after a day's last turn before its night: a conversation is over by then."""
KEY = "SLOWWAVE_LLM__API_KEY"


@dataclass(frozen=True)
class Model:
    """A model server and how it is asked; without an address nights are done without a model."""

    base_url: str = ""
    model: str = "model"
    gate_model: str = ""
    concurrency: int = 16
    timeout_seconds: float = 5_000.0
    transport_retries: int = 0
    budget_tokens: int | None = None

    def settings(self) -> dict[str, Any]:
        """The group `llm` of the settings."""
        if not self.base_url:
            return {"provider": "none"}
        named = {name: value for name, value in vars(self).items() if value not in (None, "")}
        return {"provider": "openai", **named}


def read_conversation(file: Path, index: int) -> Conversation:
    """Conversation `index` (from 0) of a question set.

    Raises:
        InputError: there is no such conversation, or it brings no sessions.
    """
    conversations = read_question_set(file).conversations
    if not 0 <= index < len(conversations):
        raise InputError(f"{file} has conversations 0 to {len(conversations) - 1}, not {index}")
    if not conversations[index].sessions:
        raise InputError(f"conversation {index} of {file} has no sessions: there is nothing to take in")
    return conversations[index]


def kept_conversation(folder: Path) -> Conversation:
    """The conversation of a folder.

    Raises:
        InputError: nothing was taken in there.
    """
    path = folder / "conversation.json"
    if not path.is_file():
        raise InputError(
            f"{folder} holds no nights: run `answers.py night SET INDEX --folder {folder}` first"
        )
    return Conversation.model_validate_json(path.read_text(encoding="utf-8"))


def clocks(conversation: Conversation, nights: Nights) -> list[tuple[datetime, int]]:
    """The moment of each night, and how many sessions it has taken in by then, in order of their first turns.

    Nights lie between days of talk, at three in the morning once it has been quiet for three hours; the one at the end
    is two days after the last turn.
    """
    times = [(turns[0].timestamp, turns[-1].timestamp) for turns in _turns_by_session(conversation)]
    if nights == "end":
        return [(max(last for _, last in times) + AFTER_THE_LAST, len(times))]
    found = list[tuple[datetime, int]]()
    for place, (_, last) in enumerate(times):
        night = _next_night(max(last, *(end for _, end in times[:place]), last))
        if place + 1 < len(times) and times[place + 1][0] < night:
            continue
        found.append((night, place + 1))
    return found


def _turns_by_session(conversation: Conversation) -> list[Any]:
    return [session.turns for session in ordered(conversation).sessions]


def ordered(conversation: Conversation) -> Conversation:
    """The conversation with its sessions in the order of time; empty ones are left out."""
    said = [session for session in conversation.sessions if session.turns]
    said.sort(key=lambda session: session.turns[0].timestamp)
    return conversation.model_copy(update={"sessions": tuple(said)})


def _next_night(last: datetime) -> datetime:
    night = last.replace(hour=NIGHT_HOUR, minute=0, second=0, microsecond=0)
    return night if night >= last + QUIET else night + timedelta(days=1)


def write_home(folder: Path, model: Model, embedder: str, others: Sequence[str]) -> Path:
    """The home of a folder, with settings for this run: of the model, the embedder, and `GROUP.NAME=VALUE`.

    Raises:
        InputError: a setting has no such form.
    """
    tree: dict[str, dict[str, Any]] = {"embedding": {"provider": embedder}, "llm": model.settings()}
    for given in others:
        name, is_given, value = given.partition("=")
        group, has_group, key = name.strip().partition(".")
        if not (is_given and has_group and group and key):
            raise InputError(
                f"{given!r} is no setting: write GROUP.NAME=VALUE, such as night.extract_batch=8"
            )
        tree.setdefault(group, {})[key] = _value(value)
    lines = [
        line
        for group, entries in tree.items()
        for line in [f"[{group}]", *(f"{key} = {json.dumps(value)}" for key, value in entries.items())]
    ]
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    (home / "slowwave.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return home


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def use_own_environment(folder: Path) -> None:
    """Hide the machine's own settings, but for the key of the model server."""
    key = os.environ.get(KEY, "none")
    hide_settings()
    os.environ.update({KEY: key, "PREFECT_HOME": str(folder / "prefect"), "PREFECT_LOGGING_LEVEL": "ERROR"})


def sleep_through(
    folder: Path,
    conversation: Conversation,
    nights: Nights,
    model: Model,
    embedder: str,
    others: Sequence[str],
) -> None:
    """Do every night that is not done yet.

    Raises:
        InputError: the folder holds another conversation, or nights at other times.
    """
    conversation = ordered(conversation)
    _keep(folder, conversation)
    home, planned, done = (
        write_home(folder, model, embedder, others),
        clocks(conversation, nights),
        finished(folder),
    )
    if [night["clock"] for night in done] != [clock.isoformat() for clock, _ in planned[: len(done)]]:
        raise InputError(
            f"{folder} holds nights at other times: give it the same --nights, or another folder"
        )
    files = sorted((folder / "talk").glob("*.jsonl"))
    for place, (clock, count) in enumerate(planned[len(done) :], start=len(done) + 1):
        told = f"night {place} of {len(planned)} ({clock:%Y-%m-%d}, {count} sessions)"
        _sleep(folder, home, clock, [str(file) for file in files[:count]], told)


def _keep(folder: Path, conversation: Conversation) -> None:
    """Write the conversation and its sessions, or check that the folder holds the same."""
    path = folder / "conversation.json"
    if path.is_file():
        if kept_conversation(folder) != conversation:
            raise InputError(f"{folder} holds another conversation: name another folder")
        return
    shutil.rmtree(folder / "talk", ignore_errors=True)
    write_sessions(folder / "talk", conversation)
    path.write_text(conversation.model_dump_json(indent=1), encoding="utf-8")


def _sleep(folder: Path, home: Path, clock: datetime, sources: list[str], told: str) -> None:
    """One night at its clock; its report becomes a line of `nights.jsonl`."""
    from flows.nightly import nightly
    from slowwave.home.workspace import open_workspace

    started = time.monotonic()
    with (
        open_workspace(home, clock=lambda: clock) as workspace,
        shown_progress(f"{told}: "),
        _kept_ledger(folder, workspace),
    ):
        report = nightly.fn(home=str(home), sources=sources, force=True)
    rejected = {
        f"{stage.stage}: {reason}": count
        for stage in report.stages
        for reason, count in stage.rejected.items()
    }
    if waiting := {AWAY, SPENT} & {reason for stage in report.stages for reason in stage.rejected}:
        raise TransientError(
            f"{told} is not done ({', '.join(sorted(waiting))}): give the command again, it goes on"
        )
    line = {
        "clock": clock.isoformat(),
        "seconds": round(time.monotonic() - started, 1),
        "rejected": rejected,
        "stages": {stage.stage: stage.counts for stage in report.stages if stage.counts},
        "notes": report.notes,
    }
    print(f"{told}: {line['seconds']:.0f} s; rejected: {rejected or 'nothing'}", file=sys.stderr)
    with (folder / "nights.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


@contextmanager
def shown_progress(told: str = "") -> Iterator[None]:
    """Progress on stderr, at most a line a second."""
    from slowwave.progress import listening

    last = 0.0

    def show(work: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= 1.0 or done == total:
            last = time.monotonic()
            print(f"{told}{work} {done} of {total}", file=sys.stderr, flush=True)

    with listening(show):
        yield


@contextmanager
def _kept_ledger(folder: Path, workspace: Any) -> Iterator[None]:
    """Keep what the run spends, written after every answer: a killed run has paid too."""
    from slowwave.progress import listening

    ledgers = folder / "ledgers"
    ledgers.mkdir(exist_ok=True)
    path = ledgers / f"{len(list(ledgers.iterdir())):04d}.json"

    def write(*_: object) -> None:
        if workspace.llm is not None:
            whole = path.with_suffix(".part")
            whole.write_text(workspace.llm.ledger.model_dump_json(), encoding="utf-8")
            whole.replace(path)

    with listening(write):
        try:
            yield
        finally:
            write()


def finished(folder: Path) -> list[dict[str, Any]]:
    """The nights that are done, in order."""
    path = folder / "nights.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [json.loads(line) for line in lines if line.strip()]


def spent(folder: Path) -> Ledger:
    """Calls and tokens of all runs of a folder, killed ones too."""
    ledgers = [Ledger.model_validate_json(path.read_text(encoding="utf-8")) for path in _ledgers(folder)]
    return sum(ledgers, Ledger())


def _ledgers(folder: Path) -> list[Path]:
    return sorted((folder / "ledgers").glob("*.json"))


def night_report(folder: Path) -> dict[str, Any]:
    """What the nights of a folder cost and what they made.

    `prompts` has calls, tokens and tokens a turn by prompt; `largest_topic` is a share of the memories with a topic.
    """
    from slowwave.home.paths import open_home
    from slowwave.store import col, lit, open_store

    store, ledger = open_store(open_home(folder / "home").store_root), spent(folder)
    living = col("status") == lit("active")
    cells = store.rows("cells", ["cell_type", "topic_id"], living & (col("cell_type") != lit("episode")))
    topics, turns = cells["topic_id"].drop_nulls(), store.count("turns")
    sizes = topics.value_counts()["count"].to_list()
    lines = {"all": ledger.total, **ledger.by_prompt_version}
    return {
        "nights": len(finished(folder)),
        "turns": turns,
        "prompts": {name: _prompt_line(line, turns) for name, line in lines.items()},
        "memories": cells.height,
        "memories_by_type": dict(sorted(cells["cell_type"].value_counts().iter_rows())),
        "episodes": store.count("cells", living & (col("cell_type") == lit("episode"))),
        "topics": len(sizes),
        "largest_topic": round(max(sizes, default=0) / max(sum(sizes), 1), 4),
        "rejected": _rejected(folder),
        "seconds": round(sum(night["seconds"] for night in finished(folder)), 1),
    }


def _prompt_line(line: LedgerLine, turns: int) -> dict[str, float]:
    tokens = line.input_tokens + line.output_tokens
    return {
        "calls": line.call_count,
        "cached": line.cached_count,
        "input_tokens": line.input_tokens,
        "output_tokens": line.output_tokens,
        "tokens_a_turn": round(tokens / max(turns, 1), 1),
    }


def _rejected(folder: Path) -> dict[str, int]:
    total: dict[str, int] = {}
    for night in finished(folder):
        for reason, count in night["rejected"].items():
            total[reason] = total.get(reason, 0) + count
    return total
