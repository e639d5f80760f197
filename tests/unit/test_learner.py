"""The server's learner: when it starts the flow, and when it does not."""

import threading
from collections.abc import Callable, Iterator

import pytest

from slowwave.entrypoints.harness import learner as module
from slowwave.entrypoints.harness.learner import Learner
from slowwave.errors import BusyError

LONG = 3_600.0


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Learner, threading.Semaphore]]]:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(module, "START_SECONDS", LONG)
    learners = list[Learner]()

    def make(
        *, quiet: float = LONG, waits: bool = True, busy: int = 0
    ) -> tuple[Learner, threading.Semaphore]:
        begun, refusals = threading.Semaphore(0), iter(range(busy))

        def begin() -> None:
            if next(refusals, None) is not None:
                raise BusyError("a night is at work")
            begun.release()

        learner = Learner(quiet_seconds=quiet, is_waiting=lambda: waits, begin=begin)
        learners.append(learner)
        learner.start()
        return learner, begun

    yield make
    for learner in learners:
        learner.close()


def test_the_end_of_a_conversation_starts_learning_once(made):
    learner, begun = made()
    learner.taken_in(is_over=True)
    assert begun.acquire(timeout=10)
    assert not begun.acquire(timeout=0.2)


def test_silence_ends_a_conversation_and_a_message_is_none(made):
    learner, begun = made()
    learner.taken_in(is_over=False)
    assert not begun.acquire(timeout=0.2)
    learner, begun = made(quiet=0.05)
    learner.taken_in(is_over=False)
    assert begun.acquire(timeout=10)


def test_nothing_starts_where_nothing_waits_to_be_read(made):
    learner, begun = made(waits=False)
    learner.taken_in(is_over=True)
    assert not begun.acquire(timeout=0.2)


def test_while_a_run_is_at_work_it_tries_again(made):
    learner, begun = made(busy=3)
    learner.taken_in(is_over=True)
    assert begun.acquire(timeout=10)


def test_a_server_that_begins_takes_up_what_an_earlier_one_left(made, monkeypatch):
    monkeypatch.setattr(module, "START_SECONDS", 0.0)
    _, begun = made()
    assert begun.acquire(timeout=10)
