"""The way from a route to the memory: a few threads for questions, others for writes, and a bound on the waiting.

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
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel

from slowwave.errors import TransientError
from slowwave.interfaces.http.runs import FlowRuns
from slowwave.memory import Memory

Given = ParamSpec("Given")
Found = TypeVar("Found")

READS, WRITES = 2, 8
"""Questions and writes at work at once. A question computes, so more than two only share the cores; a write waits."""

MOST_WAITING = 256
"""Requests that may wait in a lane; of more than these the last would wait for longer than clients do."""


@dataclass
class _Lane:
    """A limit on the requests at work, and the number of all that are in the lane, at work or waiting.

    The limiter's own count comes late for requests that arrive together: each would see none waiting.
    """

    limiter: anyio.CapacityLimiter
    inside: int = 0


class Lanes:
    """The memory of a server, its two queues, and the flows that it starts."""

    def __init__(
        self,
        memory: Memory,
        home: Path,
        *,
        reads: int = READS,
        writes: int = WRITES,
        waiting: int = MOST_WAITING,
    ) -> None:
        self.memory, self.home, self.runs = memory, home, FlowRuns(home)
        self._reads, self._writes = (_Lane(anyio.CapacityLimiter(most)) for most in (reads, writes))
        self._waiting = waiting

    async def read(self, method: Callable[Given, Found], *args: Given.args, **given: Given.kwargs) -> Found:
        """The answer of a method that changes nothing.

        Raises:
            TransientError: too many requests wait already.
        """
        return await self._run(self._reads, partial(method, *args, **given))

    async def write(self, method: Callable[Given, Found], *args: Given.args, **given: Given.kwargs) -> Found:
        """The answer of a method that writes. Raises as `read`."""
        return await self._run(self._writes, partial(method, *args, **given))

    async def _run(self, lane: _Lane, work: Callable[[], Found]) -> Found:
        if lane.inside >= lane.limiter.total_tokens + self._waiting:
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
    """The lanes of the app; a query parameter of a route without any is refused, as models refuse unknown fields.

    Raises:
        RequestValidationError: names the first parameter.
    """
    if request.query_params and not request.scope["route"].dependant.query_params:  # codespell:ignore
        name = next(iter(request.query_params))
        raise RequestValidationError([{"type": "extra_forbidden", "loc": ("query", name), "msg": ""}])
    found: Lanes = request.app.state.lanes
    return found


Ask = Annotated[Lanes, Depends(_lanes)]
"""The one dependency of the routes."""
