"""Health, for whoever keeps the server alive: open without the key, and free of anything stored."""

import os
from typing import Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from slowwave.errors import SlowwaveError
from slowwave.interfaces.client import fingerprint
from slowwave.interfaces.http.security import HOME_GONE

router = APIRouter(prefix="/health", tags=["health"])

CHANGED = "slowwave.toml or the program was changed since the server started: start it again"


class Live(BaseModel):
    """The server runs."""

    is_live: bool = True


class Ready(BaseModel):
    """State of the server: ready to answer, or the reasons why not."""

    is_ready: bool
    reasons: list[str] = Field(default_factory=list, description="Why it is not ready; what to do.")
    notes: list[str] = Field(default_factory=list, description="What it lacks, though it is ready.")
    does: list[str] = Field(default_factory=list, description="What it does besides answering.")


@router.get("/live")
async def live() -> Live:
    """Say that the server runs."""
    return Live()


@router.get("/ready", responses={503: {"model": Ready}})
async def ready(request: Request, response: Response) -> Ready:
    """Say whether questions are answered and messages are kept, with the reasons where not."""
    state: Any = request.app.state
    found = (
        Ready(is_ready=False, reasons=[HOME_GONE]) if state.place.is_gone() else await run_sync(_look, state)
    )
    response.status_code = 200 if found.is_ready else 503
    return found


def _look(state: Any) -> Ready:
    """Reasons why the home cannot be read or written, without paths or texts of it."""
    home, reasons = state.lanes.home, []
    if not state.is_warm:
        reasons.append("the tables are being loaded: ask again in a moment")
    if home.exists() and not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        reasons.append("the home folder cannot be written: look at its permissions")
    try:
        state.lanes.memory.status()
    except SlowwaveError as error:
        reasons.append(f"the memory cannot be read ({type(error).__name__}): `slowwave doctor` says more")
    notes = [CHANGED] if state.print and fingerprint(home) != state.print else []
    does = [state.follower.does()] if state.follower is not None else []
    return Ready(is_ready=not reasons, reasons=reasons, notes=notes, does=does)
