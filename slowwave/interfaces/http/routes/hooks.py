"""The server's side of the hooks: `POST /hooks/{agent}/{event}`, the hook's payload in, what it prints out.

What stands at the start of a conversation is kept in `<home>/cache/opening`, a file for each folder that one was held
in: where no server runs, the hook program prints that. The files are written anew when the server leaves.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, FastAPI, Header, Request, Response

from slowwave.errors import SlowwaveError, TransientError
from slowwave.interfaces.hooks.connect import connected_since
from slowwave.interfaces.hooks.events import (
    Action,
    HookAgent,
    Payload,
    PromptPayload,
    StartPayload,
    answer_of,
    event_of,
)
from slowwave.interfaces.hooks.follower import Follower, read_kept
from slowwave.interfaces.http.lanes import Ask, Lanes
from slowwave.memory import Memory
from slowwave.schemas.refusals import possible
from slowwave.schemas.requests import MOST_MESSAGES, RecordTurn
from slowwave.schemas.search import MAX_QUERY_CHARACTERS
from slowwave.whole_file import PRIVATE, write_whole

TOLD_AT_PROMPT: frozenset[HookAgent] = frozenset({"gemini"})
"""Agents that are told at the first prompt what others are told at the start.

`gemini -p` puts what a start tells before the prompt, in one text, and drops such a message where it goes on.
"""

WHOLE = frozenset({"startup", "clear", "compact"})
"""Starts at which all is told; a conversation that is resumed was told most of it before."""

MOST_KEPT = 50
"""Openings that are kept for a server that sleeps; of more, the oldest go."""

WARM_SECONDS: dict[Action, float] = {"start": 1.5, "prompt": 0.4}
"""How long a question waits for a server that just started; hooks end soon after (`hook.py`)."""

WARM_LOOK_SECONDS = 0.02

SLACK_SECONDS = 2.0
"""Changes shortly before the last look count as later: file systems keep times in steps of up to two seconds."""


@asynccontextmanager
async def _following(app: FastAPI) -> AsyncIterator[None]:
    app.state.follower, app.state.put_off = follower_of(app), {}
    app.state.follower.start()
    try:
        yield
    finally:
        await run_sync(app.state.follower.close)
        if app.state.is_warm and not app.state.place.is_gone():
            await run_sync(renew_openings, app.state.lanes.memory, app.state.lanes.home)


router = APIRouter(tags=["hooks"], lifespan=_following)


@router.post("/hooks/{agent}/{event}", responses={204: {"description": "Nothing is to be printed."}})
async def hook(
    agent: HookAgent,
    event: str,
    body: dict[str, Any],
    request: Request,
    ask: Ask,
    slowwave_late: Annotated[str, Header(description="Of an event that is handed over late.")] = "",
) -> Response:
    """Do what belongs to an event of an agent; the answer is what its hook prints, or nothing (204)."""
    name, action = event_of(agent, event)
    follower: Follower = request.app.state.follower
    follower.answered[agent] = datetime.now(UTC).isoformat(timespec="seconds")
    if action in WARM_SECONDS:
        await _until_warm(request.app, 60.0 if slowwave_late else WARM_SECONDS[action])
    text = ""
    if action == "start":
        follower.hear_begin()
        begun = possible(StartPayload, body)
        if agent in TOLD_AT_PROMPT or slowwave_late == "untold":
            request.app.state.put_off[begun.session_id] = begun  # until the first prompt
        else:
            text = await ask.read(opening, ask.memory, begun)
            if begun.source in WHOLE:
                await run_sync(_keep, ask.home, begun.folder, text)
    elif action == "prompt" and not slowwave_late:
        asked = possible(PromptPayload, body)
        begun = request.app.state.put_off.pop(asked.session_id, None)
        first = await ask.read(opening, ask.memory, begun) if begun else ""
        text = "\n\n".join(filter(None, (first, await ask.read(recalled, ask.memory, asked))))
    elif action in ("record", "end"):
        payload = possible(Payload, body)
        if payload.messages:
            await ask.write(record_messages, ask.memory, agent, payload)
        hear = partial(follower.hear, payload.session_id, payload.transcript_path, is_over=action == "end")
        await run_sync(hear)
        if payload.messages and agent == "opencode":  # its plugin sends these messages no more
            return Response('{"recorded": true}', media_type="application/json")
    answer = "" if slowwave_late else answer_of(agent, name, text)
    return Response(answer, media_type="application/json") if answer else Response(status_code=204)


def follower_of(app: FastAPI) -> Follower:
    """The follower of a server: of what agents that are connected with its home wrote since its last look.

    One without a language model, or whose settings say so, learns nothing by itself.
    """
    lanes: Lanes = app.state.lanes
    settings, memory, home = app.state.settings, lanes.memory, lanes.home
    learns = settings.night.learn_at_once and settings.llm.provider != "none"
    kept = home / "hooks" / "follower.json"
    looked_at = read_kept(kept).looked_at - SLACK_SECONDS

    def look() -> Iterator[Path]:
        since = {} if app.state.place.is_gone() else connected_since(home)
        for found in memory.discover() if since else ():
            first = max(since.get(found.source, float("inf")), looked_at)
            yield from (path for path in found.paths if _changed_at(path) >= first)

    def learn() -> None:
        if is_unlearned(memory.status().pending):
            lanes.runs.start("learn")

    quiet = 60.0 * settings.hooks.quiet_minutes
    return Follower(memory, look, quiet_seconds=quiet, learn=learn if learns else None, kept=kept)


def is_unlearned(pending: Mapping[str, int]) -> bool:
    """Return whether a conversation waits to be read, or memories of one whose learning was cut off."""
    return bool(pending.get("chunks_pending") or pending.get("memories_not_reconciled"))


def opening(memory: Memory, payload: StartPayload) -> str:
    """The text for the start of a conversation; of one that goes on, what it was not shown yet.

    After a compaction or a clearing all is told again: what was told before is no longer in the window. A fork begins
    with the window of another conversation, in which it stands already.
    """
    is_emptied = payload.source in ("compact", "clear")
    conversation = "" if is_emptied else payload.session_id
    project = _project(memory, payload)
    text = memory.context(opening=True, ids=True, conversation_id=conversation, project=project).text
    return "" if payload.source == "fork" else text


def renew_openings(memory: Memory, home: Path) -> None:
    """Write the openings anew that are kept for a server that sleeps: what is in the memory changed."""
    paths = sorted((home / "cache" / "opening").glob("*"), key=_changed_at, reverse=True)
    for path in paths[:MOST_KEPT]:
        with suppress(OSError, ValueError, SlowwaveError):
            folder = str(json.loads(path.read_text(encoding="utf-8").partition("\n")[0]))
            project = memory.project_of(folder) if folder else None
            _keep(home, folder, memory.context(opening=True, ids=True, project=project).text)
    for path in paths[MOST_KEPT:]:
        path.unlink(missing_ok=True)


def recalled(memory: Memory, payload: PromptPayload) -> str:
    """The few memories that a message calls for, never one twice in a conversation; "" below the threshold."""
    question, project = payload.typed[:MAX_QUERY_CHARACTERS], _project(memory, payload)
    return memory.context(
        question, small=True, ids=True, conversation_id=payload.session_id, project=project
    ).text


def record_messages(memory: Memory, agent: HookAgent, payload: Payload) -> None:
    """Record the messages of an agent that writes no transcript; those that were recorded before add nothing."""
    turns = [
        RecordTurn(
            session_id=payload.session_id,
            role=message.role,
            text=message.content,
            id=message.id,
            time=_moment(message.time.get("created")),
            cwd=payload.folder,
        )
        for message in payload.messages
    ]
    for start in range(0, len(turns), MOST_MESSAGES):
        memory.record(turns[start : start + MOST_MESSAGES], client=agent)


def _keep(home: Path, folder: str, text: str) -> None:
    """Keep an opening for the conversations of a folder, behind a line that names it; an empty one is removed."""
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:24]  # as `hook.py` finds it
    path = home / "cache" / "opening" / name
    with suppress(OSError):
        if text:
            write_whole(path, f"{json.dumps(folder)}\n{text}", mode=PRIVATE, is_durable=False)
        else:
            path.unlink(missing_ok=True)


def _project(memory: Memory, payload: Payload) -> str | None:
    """The project of the folder that the conversation is held in; null for all that the owner has."""
    return memory.project_of(payload.folder) if payload.folder else None


def _moment(milliseconds: float | None) -> datetime | None:
    """The time of a message; None where it has none that is possible, which means now."""
    try:
        return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1_000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


async def _until_warm(app: FastAPI, seconds: float) -> None:
    """Wait for the tables: an answer that comes too late is not printed, and would count as shown.

    Raises:
        TransientError: they are not loaded in time; nothing was shown.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not app.state.is_warm:
        if loop.time() > deadline:
            raise TransientError("the memory is being loaded: ask again in a moment")
        await asyncio.sleep(WARM_LOOK_SECONDS)
