"""What a process does that spends a night in `test_kills.py`: it tells which stage begins, and may die there.

It imports Slowwave within its functions alone: until then it must be a fork of one thread (`tests/forked.py`).
"""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from tests.forked import assert_sound


@dataclass(frozen=True)
class Crash:
    """The process kills itself in a stage, right before or after a method of `Path`, `Store` or `Home`."""

    stage: str
    when: Literal["before", "after"]
    owner: Literal["Path", "Store", "Home"]
    method: str


def spend_night(told: Connection, home: str, sources: str, crash: Crash | None) -> None:
    """Gets ready, waits for a word, and spends the night; exits with the code of a Slowwave error."""
    assert_sound()
    import wordllama  # noqa: F401 - imported before the night, as everything else is

    from flows.nightly import nightly
    from slowwave.errors import SlowwaveError
    from slowwave.home import core_file
    from slowwave.home.stage import Stage
    from slowwave.journal.segments import Journal
    from slowwave.store import Store

    stage_now = ""

    def begins(_: Stage, name: str, *__: object) -> None:
        nonlocal stage_now
        stage_now = name
        told.send(f"stage {name}")

    def dies(*arguments: object) -> None:
        assert crash is not None
        is_other_file = (
            crash.owner == "Path" and isinstance(arguments[0], Path) and ".draft" not in arguments[0].name
        )
        if stage_now == crash.stage and not is_other_file:
            told.send(f"dying {crash.stage}")
            os.kill(os.getpid(), signal.SIGKILL)

    _before(Stage, "__init__", begins)
    _after(Journal, "commit", lambda segment: segment and told.send(f"acknowledged {segment}"))
    if crash is not None:
        owner = {"Path": Path, "Store": Store, "core_file": core_file}[crash.owner]
        (_before if crash.when == "before" else _after)(owner, crash.method, dies)
    told.send("ready")
    told.recv()
    try:
        report = nightly.fn(home=home, sources=[sources], force=True)
    except SlowwaveError as error:
        told.send(f"error {error}")
        sys.exit(error.exit_code)
    told.send(f"done {report.change_count}")


def _before(owner: object, name: str, hears: Callable[..., object]) -> None:
    work = getattr(owner, name)

    def wrapped(*arguments: Any, **named: Any) -> Any:
        hears(*arguments)
        return work(*arguments, **named)

    setattr(owner, name, wrapped)


def _after(owner: object, name: str, hears: Callable[..., object]) -> None:
    work = getattr(owner, name)

    def wrapped(*arguments: Any, **named: Any) -> Any:
        result = work(*arguments, **named)
        hears(result)
        return result

    setattr(owner, name, wrapped)
