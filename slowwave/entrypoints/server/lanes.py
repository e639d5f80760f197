"""The way from a route to the memory: a few threads for questions, others for writes, and a bound on who waits.

A write may wait seconds for the home's writer lock; a question never waits behind one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import anyio
from anyio.to_thread import run_sync
from fastapi import Depends, Request
from pydantic import BaseModel

from slowwave.entrypoints.server.limits import Limits
from slowwave.entrypoints.server.runs import FlowRuns
from slowwave.errors import TransientError
from slowwave.memory import Memory

Given = ParamSpec("Given")
Found = TypeVar("Found")


@dataclass
class _Lane:
    """So many at work at once, and the number of all that are in it, at work or waiting.

    The limiter's own count comes late for requests that arrive together: each would see none waiting.
    """

    limiter: anyio.CapacityLimiter
    inside: int = 0


class Lanes:
    """The memory of a server, and its two queues."""

    def __init__(self, memory: Memory, limits: Limits, home: Path) -> None:
        self.memory = memory
        self.home = home
        self.runs = FlowRuns(home, most=limits.runs, kept=limits.kept_runs, niceness=limits.run_niceness)
        self._reads, self._writes = (
            _Lane(anyio.CapacityLimiter(most)) for most in (limits.reads, limits.writes)
        )
        self._most = limits.waiting

    async def read(self, method: Callable[Given, Found], *args: Given.args, **given: Given.kwargs) -> Found:
        """The answer of a method that changes nothing.

        Raises:
            TransientError: too many wait already.
        """
        return await self._run(self._reads, partial(method, *args, **given))

    async def write(self, method: Callable[Given, Found], *args: Given.args, **given: Given.kwargs) -> Found:
        """The answer of a method that writes. Raises as `read`."""
        return await self._run(self._writes, partial(method, *args, **given))

    async def _run(self, lane: _Lane, work: Callable[[], Found]) -> Found:
        if lane.inside >= lane.limiter.total_tokens + self._most:
            raise TransientError("too many requests wait for their turn: try again")
        lane.inside += 1
        try:
            return await run_sync(work, limiter=lane.limiter)
        finally:
            lane.inside -= 1


def fields(asked: BaseModel, *without: str) -> dict[str, Any]:
    """The fields that a request gives, as keywords; the others are left to the defaults of `Memory`."""
    return {name: getattr(asked, name) for name in asked.model_fields_set if name not in without}


def _lanes(request: Request) -> Lanes:
    found: Lanes = request.app.state.lanes
    return found


Ask = Annotated[Lanes, Depends(_lanes)]
"""The one dependency of the routes."""
