"""Health, for whoever keeps the server alive: open without the key, and free of anything stored."""

import os
import time
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from slowwave.errors import SlowwaveError
from slowwave.interfaces.http.security import HOME_GONE
from slowwave.memory import Memory
from slowwave.settings.tree import Settings

router = APIRouter(prefix="/health", tags=["health"])

LOOK_SECONDS, LOOK_AGAIN_SECONDS = 5.0, 0.5
"""Seconds for which an answer of `ready` is given again, where it is ready and where not: probes cost nothing."""

CHANGED = "slowwave.toml was changed since the server started: start it again"


class Live(BaseModel):
    """The server runs."""

    is_live: bool = True


class Ready(BaseModel):
    """The server can answer, or the reasons why not."""

    is_ready: bool
    reasons: list[str] = Field(default_factory=list, description="Why it is not ready; what to do.")
    notes: list[str] = Field(default_factory=list, description="What it does without, though it is ready.")
    does: list[str] = Field(default_factory=list, description="What it does beside answering.")


@router.get("/live")
async def live() -> Live:
    """Say that the server runs."""
    return Live()


@router.get("/ready", responses={503: {"model": Ready}})
async def ready(request: Request, response: Response) -> Ready:
    """Say whether questions are answered and words are kept, with the reasons where not."""
    state: Any = request.app.state
    at, found = getattr(state, "ready", (0.0, None))
    if state.place.is_gone():
        found = Ready(is_ready=False, reasons=[HOME_GONE])
    elif found is None or time.monotonic() - at > (LOOK_SECONDS if found.is_ready else LOOK_AGAIN_SECONDS):
        reasons = await run_sync(reasons_against, state.lanes.memory, state.settings)
        if not state.is_warm:
            reasons.insert(0, "the tables are being loaded: ask again in a moment")
        notes = [] if settings_file(state.settings.home) == state.settings_file else [CHANGED]
        notes += filter(None, (one.lacks() for one in state.companions))
        does = [*filter(None, (one.does() for one in state.companions))]
        found = Ready(is_ready=not reasons, reasons=reasons, notes=notes, does=does)
        state.ready = (time.monotonic(), found)
    response.status_code = 200 if found.is_ready else 503
    return found


def settings_file(home: Path) -> bytes | None:
    """The settings file as it is now; None where there is none."""
    try:
        return (home / "slowwave.toml").read_bytes()
    except OSError:
        return None


def reasons_against(memory: Memory, settings: Settings) -> list[str]:
    """Reasons why the home cannot be read or written, without paths or texts of it."""
    reasons = []
    if not os.access(settings.home, os.R_OK | os.W_OK | os.X_OK):
        reasons.append("the home folder is gone or cannot be written: look at its place and permissions")
    try:
        memory.status()
    except SlowwaveError as error:
        reasons.append(f"the memory cannot be read ({type(error).__name__}): `slowwave doctor` says more")
    return reasons
