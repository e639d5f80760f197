"""The server's side of the hooks: `POST /hooks/{harness}/{event}`, the hook's payload in, what it prints out."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Annotated, Any, ParamSpec, Protocol, TypeVar

from anyio.to_thread import run_sync
from fastapi import APIRouter, Body, FastAPI, Request, Response

from slowwave.entrypoints.harness.events import (
    Action,
    ContextAnswer,
    CursorPromptAnswer,
    CursorStartAnswer,
    HarnessName,
    Payload,
    PromptPayload,
    RecordedAnswer,
    StartPayload,
    answer_of,
    event_of,
)
from slowwave.entrypoints.harness.learner import Runs, learner_of
from slowwave.entrypoints.harness.recorder import Recorder
from slowwave.entrypoints.harness.state import Work, write_seen
from slowwave.errors import TransientError
from slowwave.memory import Memory
from slowwave.schemas.refusals import possible
from slowwave.schemas.requests import MOST_MESSAGES, RecordTurn
from slowwave.schemas.search import MAX_QUERY_CHARACTERS

WARM_POLL_SECONDS = 0.02

MARK = {"x-slowwave-hook": "1"}
"""The header by which the hook program knows that the answer is ours."""

EXAMPLE = {
    "session_id": "5f1c6a6e-6a43-4c1b-9d53-0d2f6f0f7f11",
    "transcript_path": "/home/ana/.claude/projects/-home-ana-kiln/5f1c6a6e-6a43-4c1b-9d53-0d2f6f0f7f11.jsonl",
    "cwd": "/home/ana/kiln",
    "hook_event_name": "UserPromptSubmit",
    "prompt": "Which port does the staging database listen on?",
}

SEEN_SECONDS = 60.0

TOLD_AT_PROMPT: frozenset[HarnessName] = frozenset({"gemini"})
"""Harnesses that are told at the first prompt what others are told at the start.

`gemini -p` puts what a start tells before the prompt, in one text, and drops such a message where it goes on.
"""

MOST_PUT_OFF = 1_000
"""Starts that are kept until a prompt comes; of more, the oldest are forgotten."""

WARM_SECONDS: dict[Action, float] = {"start": 1.5, "prompt": 0.4}
"""Seconds that a question waits for a server that just started; hooks end soon after (`hook.py`)."""

Given = ParamSpec("Given")
Found = TypeVar("Found")


class Lanes(Protocol):
    """The server's way to the memory, `app.state.lanes`."""

    memory: Memory

    @property
    def runs(self) -> Runs:
        """The flows that the server starts."""
        ...

    async def read(self, method: Callable[Given, Found], *args: Given.args, **given: Given.kwargs) -> Found:
        """The answer of a method that changes nothing."""
        ...

    async def write(self, method: Callable[Given, Found], *args: Given.args, **given: Given.kwargs) -> Found:
        """The answer of a method that writes."""
        ...


@asynccontextmanager
async def _recording(app: FastAPI) -> AsyncIterator[None]:
    settings = app.state.settings
    lanes: Lanes = app.state.lanes
    learner = learner_of(lanes.memory, lanes.runs, settings)
    recorder = Recorder(lanes.memory, settings.home.resolve(), taken_in=learner.taken_in)
    recorder.start()
    learner.start()
    app.state.learner = learner
    app.state.recorder, app.state.seen, app.state.put_off = recorder, {}, {}
    try:
        yield
    finally:
        await run_sync(learner.close)
        await run_sync(recorder.close)


router = APIRouter(tags=["hooks"], lifespan=_recording)


@router.post(
    "/hooks/{harness}/{event}",
    response_model=ContextAnswer | CursorPromptAnswer | CursorStartAnswer | RecordedAnswer,
    responses={204: {"description": "Nothing is to be printed."}},
)
async def hook(
    harness: HarnessName,
    event: str,
    body: Annotated[dict[str, Any], Body(examples=[EXAMPLE])],
    request: Request,
) -> Response:
    """Do what belongs to an event of a harness; the answer is what its hook prints, or nothing (204)."""
    name, action = event_of(harness, event)
    recorder: Recorder = request.app.state.recorder
    recorder.catch_up()
    await _note_seen(request.app, harness)
    lanes: Lanes = request.app.state.lanes
    text, is_taken = "", False
    if action in WARM_SECONDS:
        await _until_warm(request.app, WARM_SECONDS[action])
    if action == "start":  # the conversation before it is over
        request.app.state.learner.taken_in(is_over=True)
    if action == "start" and harness in TOLD_AT_PROMPT:
        _put_off(request.app.state.put_off, possible(StartPayload, body))
    elif action == "start":
        text = await lanes.read(opening, lanes.memory, possible(StartPayload, body))
    elif action == "prompt":
        asked = possible(PromptPayload, body)
        begun = request.app.state.put_off.pop(asked.session_id, None)
        first = await lanes.read(opening, lanes.memory, begun) if begun else ""
        text = "\n\n".join(filter(None, (first, await lanes.read(recalled, lanes.memory, asked))))
    else:
        payload = possible(Payload, body)
        if payload.messages:
            await lanes.write(record_messages, lanes.memory, harness, payload)
            is_taken = harness == "opencode"
        if payload.transcript_path or action == "end":
            await run_sync(recorder.accept, _work(harness, action, payload))
    answer = RecordedAnswer().model_dump_json() if is_taken else answer_of(harness, name, text)
    if not answer:
        return Response(status_code=204, headers=MARK)
    return Response(answer, media_type="application/json", headers=MARK)


def _put_off(waiting: dict[str, StartPayload], begun: StartPayload) -> None:
    """Keep a start for the first prompt of its conversation."""
    waiting[begun.session_id] = begun
    while len(waiting) > MOST_PUT_OFF:
        del waiting[next(iter(waiting))]


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


def recalled(memory: Memory, payload: PromptPayload) -> str:
    """The few memories that a message calls for, never one twice in a conversation; "" below the threshold."""
    question, project = payload.typed[:MAX_QUERY_CHARACTERS], _project(memory, payload)
    return memory.context(
        question, small=True, ids=True, conversation_id=payload.session_id, project=project
    ).text


def record_messages(memory: Memory, harness: HarnessName, payload: Payload) -> None:
    """Record the messages of a harness that writes no transcript; those that were recorded before add nothing."""
    turns = [
        RecordTurn(
            session_id=payload.session_id,
            role=message.role,
            text=message.content,
            id=message.id,
            time=_moment(message.time.get("created")),
            cwd=payload.folder or "",
        )
        for message in payload.messages
    ]
    for start in range(0, len(turns), MOST_MESSAGES):
        memory.record(turns[start : start + MOST_MESSAGES], client=harness)


def _project(memory: Memory, payload: Payload) -> str | None:
    """The project of the folder that the conversation is held in; null for all that the owner has."""
    return memory.project_of(payload.folder) if payload.folder else None


def _moment(milliseconds: float | None) -> datetime | None:
    """The time of a message; None where it has none that is possible, which means now."""
    try:
        return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1_000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _work(harness: HarnessName, action: Action, payload: Payload) -> Work:
    return Work(
        harness=harness,
        session_id=payload.session_id,
        transcript_path=payload.transcript_path,
        ends=action == "end",
    )


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
        await asyncio.sleep(WARM_POLL_SECONDS)


async def _note_seen(app: FastAPI, harness: HarnessName) -> None:
    """Note now and then that a harness is answered, for `slowwave doctor`."""
    now, seen = asyncio.get_running_loop().time(), app.state.seen
    if now - seen.get(harness, -SEEN_SECONDS) >= SEEN_SECONDS:
        seen[harness] = now
        await run_sync(write_seen, app.state.settings.home.resolve(), harness)
