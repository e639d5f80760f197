"""The app: routes behind the guard, errors as problems, a memory that is warm for as long as the app lives.

Importing this imports neither the MCP SDK, which takes two seconds, nor Prefect.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib import metadata
from typing import Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, FastAPI
from fastapi.security import HTTPBearer
from prometheus_client import CollectorRegistry
from prometheus_fastapi_instrumentator import Instrumentator
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.routing import Route

from slowwave.errors import SlowwaveError
from slowwave.interfaces.hooks.follower import Follower
from slowwave.interfaces.http import mcp_mount
from slowwave.interfaces.http.accept import Rendered
from slowwave.interfaces.http.lanes import Lanes
from slowwave.interfaces.http.nightly import keep_nights
from slowwave.interfaces.http.problems import DESCRIBED, add_problems
from slowwave.interfaces.http.routes import flows, health, hooks, read, record, write
from slowwave.interfaces.http.runs import FlowRuns
from slowwave.interfaces.http.security import Activity, Guard, Place
from slowwave.memory import Memory
from slowwave.settings.tree import Settings

ROUTERS = (read.router, write.router, record.router, flows.router, hooks.router)

ALIASES: dict[str, Callable[..., Any]] = {
    "/context/assemble": read.assemble,
    "/consolidate": flows.consolidate,
    "/memory/consolidate": flows.consolidate,
    "/memory/reindex": flows.reindex,
    "/contradictions/{contradiction_id}/resolve": write.resolve,
}
"""Addresses without `/v1` that other memory servers have; the description of the API names each route once."""

KEY = HTTPBearer(description="The key in `<home>/server/key`.", scheme_name="key", auto_error=False)
"""For the description alone: `security.Guard` checks the key, also before what is no route."""

BODY_BYTES = 8_000_000
"""Largest body of a request: a batch of the most messages of ordinary length has a tenth of it."""

FLUSH_SECONDS = 5.0
"""Seconds between two writes of what was used; a kill loses no more than these."""

FIRST_SECONDS = 0.5
"""Seconds that a server on demand gives to the question which started it; loading tables meanwhile costs it .15 s."""

IDLE_LOOK_SECONDS = 1.0
"""Seconds between two looks whether a server on demand is still needed."""

BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Bounds of the histogram of latencies, in seconds."""

_log = logging.getLogger("slowwave.server")


def create_app(
    memory: Memory, *, settings: Settings, key: str | None = None, nightly: bool = False
) -> FastAPI:
    """The server of one home's memory, which it closes when it ends; over TCP every request needs the key.

    Without a key only the home's own socket, or this process, may lead to it. With `nightly` it starts the night each
    day at the setting `night.at`.
    """
    app = FastAPI(
        title="Slowwave",
        version=metadata.version("slowwave"),
        summary="Long-term memory for AI agents.",
        docs_url=None,
        redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        lifespan=_living,
    )
    home = settings.home.resolve()
    state: Any = app.state
    state.lanes, state.settings, state.place = Lanes(memory, home), settings, Place(home)
    state.is_warm, state.activity, state.follower = False, Activity(), None
    state.print, state.leave = "", None  # of a server in a process of its own: `serve.py`
    state.is_nightly = nightly
    state.mcp = mcp_mount.McpMount(app)
    _add_routes(app)
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=BODY_BYTES)
    app.add_middleware(Guard, key=key, place=state.place, activity=state.activity)
    return app


def _add_routes(app: FastAPI) -> None:
    app.include_router(health.router)
    for router in ROUTERS:
        app.include_router(router, dependencies=[Depends(KEY)], responses=DESCRIBED)
    aliases = APIRouter(route_class=Rendered, include_in_schema=False)
    for path, endpoint in ALIASES.items():
        aliases.post(path)(endpoint)
    app.include_router(aliases)
    app.router.routes.append(Route(mcp_mount.PATH, app.state.mcp))
    add_problems(app)
    meter = Instrumentator(
        should_ignore_untemplated=True,
        excluded_handlers=["/metrics", "/health/.*"],
        registry=CollectorRegistry(),  # of this app alone
    )
    meter.instrument(
        app, metric_namespace="slowwave", latency_lowr_buckets=BUCKETS, should_only_respect_2xx_for_highr=True
    ).expose(app, endpoint="/metrics", include_in_schema=False)


@asynccontextmanager
async def _living(app: FastAPI) -> AsyncIterator[None]:
    state: Any = app.state
    work = [_warm(state), _flush(state), _leave_when_idle(state)]
    if state.is_nightly:
        work.append(keep_nights(state.lanes.runs, state.settings.home.resolve(), at=state.settings.night.at))
    background = [asyncio.create_task(one) for one in work]
    try:
        yield
    finally:
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        await state.mcp.close()
        state.lanes.runs.leave()
        if not state.place.is_gone():  # its uses would make another home
            await run_sync(state.lanes.memory.close)


async def _warm(state: Any) -> None:
    memory: Memory = state.lanes.memory
    if state.leave is not None:
        await asyncio.sleep(FIRST_SECONDS)
    try:
        await run_sync(partial(memory.warm, is_served=True))
        await run_sync(memory.fold_soon)
    except SlowwaveError as error:  # /health/ready says it, and so does every question
        _log.warning("the memory could not be made warm: %s", error)
    state.is_warm = True


async def _flush(state: Any) -> None:
    while True:
        await asyncio.sleep(FLUSH_SECONDS)
        if state.place.is_gone():
            continue
        try:
            await run_sync(state.lanes.memory.flush)
        except SlowwaveError as error:
            _log.warning("what was used could not be written, and waits: %s", error)


async def _leave_when_idle(state: Any) -> None:
    """Let a server on demand leave when nobody asked for a while and nothing is pending, or when its home is gone."""
    most = state.settings.search.resident_minutes * 60
    while True:
        await asyncio.sleep(min(IDLE_LOOK_SECONDS, most or IDLE_LOOK_SECONDS))
        is_idle = state.activity.idle_seconds() > most and not _is_pending(state)
        if state.leave is not None and (is_idle or state.place.is_gone()):
            state.leave()


def _is_pending(state: Any) -> bool:
    follower: Follower | None = state.follower
    runs: FlowRuns = state.lanes.runs
    return runs.running_count() > 0 or (follower is not None and follower.is_pending())
