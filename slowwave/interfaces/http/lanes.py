"""The way from a route to the memory: a few threads for questions, others for writes.

A write may wait seconds for the home's writer lock; a question never waits behind one. Uvicorn bounds how many requests
wait (`serve.CONNECTIONS`).
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import anyio
from anyio.to_thread import run_sync
from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel

from slowwave.interfaces.http.runs import FlowRuns
from slowwave.memory import Memory

Given = ParamSpec("Given")
Found = TypeVar("Found")

READS, WRITES = 2, 8
"""Questions and writes at work at once. A question computes, so more than two only share the cores; a write waits."""


class Lanes:
    """The memory of a server, its two queues, and the flows that it starts."""

    def __init__(self, memory: Memory, home: Path) -> None:
        self.memory, self.home, self.runs = memory, home, FlowRuns(home)
        self._reads, self._writes = anyio.CapacityLimiter(READS), anyio.CapacityLimiter(WRITES)

    async def read(self, method: Callable[Given, Found], *args: Given.args, **given: Given.kwargs) -> Found:
        """The answer of a method that changes nothing."""
        return await run_sync(partial(method, *args, **given), limiter=self._reads)

    async def write(self, method: Callable[Given, Found], *args: Given.args, **given: Given.kwargs) -> Found:
        """The answer of a method that writes."""
        return await run_sync(partial(method, *args, **given), limiter=self._writes)


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
