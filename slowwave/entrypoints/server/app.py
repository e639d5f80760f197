"""The app: routes behind the guard, errors as problems, the memory warm for as long as it lives."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from importlib import metadata

from anyio.to_thread import run_sync
from fastapi import Depends, FastAPI

from slowwave.entrypoints.harness import routes as harness
from slowwave.entrypoints.mcp.http import mount
from slowwave.entrypoints.resident.place import Place
from slowwave.entrypoints.server.guard import Guard
from slowwave.entrypoints.server.lanes import Lanes
from slowwave.entrypoints.server.limits import LIMITS, Limits
from slowwave.entrypoints.server.observing import add_metrics, telemetry_of
from slowwave.entrypoints.server.openapi import describe
from slowwave.entrypoints.server.problems import add_problems
from slowwave.entrypoints.server.routes import (
    cells,
    contradictions,
    flows,
    health,
    lists,
    reading,
    recording,
    usage,
)
from slowwave.entrypoints.server.unknown import refuse_unknown
from slowwave.entrypoints.server.watching import Watching
from slowwave.errors import SlowwaveError
from slowwave.memory import Memory
from slowwave.settings.tree import Settings

ROUTERS = (
    reading.router,
    cells.router,
    contradictions.router,
    flows.router,
    lists.router,
    recording.router,
    usage.router,
    harness.router,
)

_log = logging.getLogger("slowwave.server")


def create_app(memory: Memory, *, key: str, settings: Settings, limits: Limits = LIMITS) -> FastAPI:
    """The server of one home's memory; whoever asks needs the key. The app closes the memory when it ends."""
    app = FastAPI(
        title="Slowwave",
        version=metadata.version("slowwave"),
        summary="Long-term memory for AI agents.",
        docs_url=None,
        redoc_url=None,
        telemetry=telemetry_of(settings.server),
        lifespan=_lifespan(memory, settings, limits),
    )
    app.state.lanes = Lanes(memory, limits, settings.home.resolve())
    app.state.settings = settings
    app.state.settings_file = health.settings_file(settings.home)
    app.state.is_warm = False
    app.state.place = place = Place(settings.home.resolve())
    app.include_router(health.router)
    for router in ROUTERS:
        app.include_router(router, dependencies=[Depends(refuse_unknown)])
    mount(app, memory)
    add_problems(app)
    describe(app)
    add_metrics(app)
    app.add_middleware(Guard, key=key, limits=limits, place=place)
    return app


def _lifespan(
    memory: Memory, settings: Settings, limits: Limits
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        background = [
            asyncio.create_task(_warm(app, memory)),
            asyncio.create_task(_flush(memory, limits.flush_seconds, app.state.place)),
        ]
        watch = (
            Watching(memory, settings.watch.sources, limits, app.state.place)
            if settings.watch.with_server
            else None
        )
        app.state.watch = watch
        if watch is not None:
            watch.start()
        try:
            yield
        finally:
            if watch is not None:
                await run_sync(watch.close)
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            app.state.lanes.runs.leave()
            if not app.state.place.is_gone():  # its uses would make another home
                await run_sync(memory.close)

    return living


async def _warm(app: FastAPI, memory: Memory) -> None:
    try:
        await run_sync(partial(memory.warm, is_served=True))
        await run_sync(memory.fold_soon)
    except SlowwaveError as error:  # /health/ready says it, and so does every question
        _log.warning("the memory could not be made warm: %s", error)
    app.state.is_warm = True


async def _flush(memory: Memory, seconds: float, place: Place) -> None:
    """Write what was used to the home every few seconds; a kill loses no more than these."""
    while True:
        await asyncio.sleep(seconds)
        if place.is_gone():
            continue
        try:
            await run_sync(memory.flush)
        except SlowwaveError as error:
            _log.warning("what was used could not be written, and waits: %s", error)
