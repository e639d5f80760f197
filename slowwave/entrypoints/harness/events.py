"""The events of each harness: what the server does at them, what it reads of a payload, and the form of an answer.

    action   claude-code          codex                gemini        cursor
    start    SessionStart         SessionStart         SessionStart  sessionStart        what is open, core memory
    prompt   UserPromptSubmit     UserPromptSubmit     BeforeAgent   beforeSubmitPrompt  the few memories it calls for
    record   Stop, SubagentStop,  Stop, SubagentStop,  AfterAgent,   stop, subagentStop, take the transcript in
             PreCompact           PreCompact           PreCompress   preCompact
    end      SessionEnd           SessionEnd           SessionEnd    sessionEnd          take it in, count citations

OpenCode has no hooks of this kind and writes no transcript: a plugin calls them by the names of Claude Code, with the
messages themselves.
"""

import re
from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from slowwave.errors import NotFoundError

HarnessName = Literal["claude-code", "codex", "gemini", "cursor", "opencode"]
Action = Literal["start", "prompt", "record", "end"]

_CLAUDE_CODE: dict[str, Action] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "Stop": "record",
    "SubagentStop": "record",
    "PreCompact": "record",
    "SessionEnd": "end",
}

EVENTS: dict[HarnessName, dict[str, Action]] = {
    "claude-code": _CLAUDE_CODE,
    "codex": _CLAUDE_CODE,
    "gemini": {
        "SessionStart": "start",
        "BeforeAgent": "prompt",
        "AfterAgent": "record",
        "PreCompress": "record",
        "SessionEnd": "end",
    },
    "cursor": {
        "sessionStart": "start",
        "beforeSubmitPrompt": "prompt",
        "stop": "record",
        "subagentStop": "record",
        "preCompact": "record",
        "sessionEnd": "end",
    },
    "opencode": _CLAUDE_CODE,
}
"""Each event by its harness's own name."""

LONGEST_PATH = 4_096
LONGEST_NAME = 200
LONGEST_PROMPT = 8_000_000
MOST_MESSAGES = 100_000


_OF_HOOKS = re.compile(r"\s*<hook_context>.*</hook_context>\s*", re.DOTALL)


class Message(BaseModel):
    """A message of a conversation, as OpenCode's plugin tells it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: Annotated[str, Field(max_length=LONGEST_NAME)] = ""
    role: Literal["user", "assistant", "system", "tool"]
    content: Annotated[str, Field(max_length=LONGEST_PROMPT)]
    time: dict[str, float | None] = Field(default_factory=dict, description="`created`, in milliseconds.")


class Payload(BaseModel):
    """The fields of any payload that are read; harnesses add others, which are left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    session_id: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)] = Field(
        validation_alias=AliasChoices("session_id", "conversation_id"),
        description="The conversation; Cursor calls it `conversation_id`.",
    )
    transcript_path: Annotated[str, Field(max_length=LONGEST_PATH)] | None = Field(
        default=None, description="The file that the harness writes the conversation to."
    )
    cwd: Annotated[str, Field(max_length=LONGEST_PATH)] | None = Field(
        default=None, description="The folder that the conversation is held in."
    )
    messages: Annotated[tuple[Message, ...], Field(max_length=MOST_MESSAGES)] = Field(
        default=(), description="The conversation itself, from a harness without a transcript file: OpenCode."
    )
    workspace_roots: tuple[Annotated[str, Field(max_length=LONGEST_PATH)], ...] = Field(
        default=(), description="Cursor's folders, the first of which stands for `cwd`."
    )

    @property
    def folder(self) -> str | None:
        """The folder that the conversation is held in."""
        return self.cwd or next(iter(self.workspace_roots), None)


class StartPayload(Payload):
    """The start of a session. `source` says what it goes on from."""

    source: Annotated[str, Field(max_length=LONGEST_NAME)] = "startup"


class PromptPayload(Payload):
    """A person's message, before the agent reads it."""

    prompt: Annotated[str, Field(max_length=LONGEST_PROMPT)]

    @property
    def typed(self) -> str:
        """The message without the context of hooks, which Gemini CLI puts before the first one under `-p`."""
        return self.prompt[found.end() :] if (found := _OF_HOOKS.match(self.prompt)) else self.prompt


class _Context(BaseModel):
    hookEventName: str  # noqa: N815 # the harness's own name
    additionalContext: str  # noqa: N815


class ContextAnswer(BaseModel):
    """The answer to Claude Code, Codex and Gemini CLI: text beside the prompt. No other field: Codex refuses them."""

    hookSpecificOutput: _Context  # noqa: N815


class CursorStartAnswer(BaseModel):
    """The answer to Cursor at the start of a session."""

    additional_context: str


class CursorPromptAnswer(CursorStartAnswer):
    """The answer to Cursor before a prompt; builds that take no context there read `continue` alone."""

    go_on: Literal[True] = Field(default=True, serialization_alias="continue")


class RecordedAnswer(BaseModel):
    """The answer to OpenCode's plugin once its messages are on disk: it sends them no more."""

    recorded: Literal[True] = True


def event_of(harness: HarnessName, name: str) -> tuple[str, Action]:
    """The event as the harness writes it, and what is done at it; case, `-` and `_` do not matter.

    Raises:
        NotFoundError: the harness has no such event, or nothing is done at it.
    """
    known = {_plain(event): (event, action) for event, action in EVENTS[harness].items()}
    if _plain(name) not in known:
        raise NotFoundError(
            f"nothing is done at that event of {harness}: its events are {', '.join(EVENTS[harness])}"
        )
    return known[_plain(name)]


def answer_of(harness: HarnessName, event: str, text: str) -> str:
    """The text that the hook prints, as its harness reads it; "" where there is nothing to say."""
    if not text:
        return ""
    if harness != "cursor":
        context = _Context(hookEventName=event, additionalContext=text)
        return ContextAnswer(hookSpecificOutput=context).model_dump_json()
    model = CursorPromptAnswer if EVENTS[harness][event] == "prompt" else CursorStartAnswer
    return model(additional_context=text).model_dump_json(by_alias=True)


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()
