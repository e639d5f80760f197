"""Stop a flow run of this process once somebody cancels it on Prefect's page.

A worker ends the runs that it started; a run that Slowwave started without one has nobody but its own process.
"""

import os
import signal
import threading
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from slowwave.errors import CancelledError

if TYPE_CHECKING:
    from uuid import UUID

    from prefect import Flow
    from prefect.client.schemas.objects import FlowRun, State

R = TypeVar("R")
LOOK_SECONDS = 2.0
"""Seconds between two looks at the state of the run."""

INTERRUPTING = signal.SIGUSR1
"""The signal that interrupts the main thread, also one that waits: Ctrl-C has its own way of stopping."""


def run_cancellable(story: "Flow[..., R]", parameters: dict[str, Any]) -> R:
    """The report of a flow that runs in the main thread, through the Prefect server of the environment.

    Raises:
        CancelledError: somebody cancelled it on Prefect's page.
    """
    from prefect.states import Cancelled, Completed

    watch = _Watch()
    before = signal.signal(INTERRUPTING, signal.default_int_handler)
    try:
        report: R = story.with_options(on_running=[watch.begin])(**parameters)
        watch.end()
    except KeyboardInterrupt:
        watch.end()
        if not watch.has_interrupted:
            raise
        watch.settle(Cancelled(message="Cancelled on this page. What it had committed is kept."))
        raise CancelledError(
            "the run was cancelled on Prefect's page; what it had committed is kept"
        ) from None
    finally:
        watch.end()
        signal.signal(INTERRUPTING, before)
    if watch.is_cancelling():  # too late, and nobody else would end the cancelling
        watch.settle(Completed(message="It was done before it could be cancelled."))
    return report


class _Watch:
    """Looks at the state of one flow run until it ends, and interrupts the main thread once it is to be cancelled."""

    def __init__(self) -> None:
        self.has_interrupted = False
        self._run_id: UUID | None = None
        self._has_ended, self._guard = threading.Event(), threading.Lock()

    def begin(self, flow: "Flow[..., Any]", flow_run: "FlowRun", state: "State[Any]") -> None:
        """Watch this run from now on: a hook of Prefect's, which names its arguments."""
        self._run_id = flow_run.id
        settings = copy_context()  # Prefect's, which a thread would not have
        threading.Thread(target=settings.run, args=(self._look,), name="cancelling", daemon=True).start()

    def end(self) -> None:
        """Interrupt nobody any more."""
        with self._guard:
            self._has_ended.set()

    def is_cancelling(self) -> bool:
        """Return whether the run is to be cancelled; false while Prefect's server does not say so."""
        import httpx
        from prefect.client.orchestration import get_client
        from prefect.exceptions import PrefectException

        if self._run_id is None:
            return False
        with suppress(httpx.HTTPError, PrefectException), get_client(sync_client=True) as client:
            state = client.read_flow_run(self._run_id).state
            return state is not None and state.is_cancelling()
        return False

    def settle(self, state: "State[Any]") -> None:
        """Give the run its last state, as far as Prefect's server can be reached."""
        import httpx
        from prefect.client.orchestration import get_client

        if self._run_id is not None:
            with suppress(httpx.HTTPError), get_client(sync_client=True) as client:
                client.set_flow_run_state(self._run_id, state, force=True)

    def _look(self) -> None:
        while not self._has_ended.wait(LOOK_SECONDS):
            if self.is_cancelling():
                with self._guard:
                    if not self._has_ended.is_set():
                        self.has_interrupted = True
                        os.kill(os.getpid(), INTERRUPTING)  # once more next time: some code swallows it
