"""The events of each agent's hooks: what is done at them, what is read of a payload, and the form of an answer.

    start    what is open, and core memory            record   look at the transcript
    prompt   the few memories that it calls for       end      the same, and count citations

OpenCode has no hooks of this kind and writes no transcript: a plugin calls them by the names of Claude Code, with the
messages themselves.
"""

import json
import re
from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from slowwave.errors import NotFoundError

HookAgent = Literal["claude-code", "codex", "gemini", "cursor", "opencode"]
Action = Literal["start", "prompt", "record", "end"]

_CLAUDE_CODE: dict[str, Action] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "Stop": "record",
    "SubagentStop": "record",
    "PreCompact": "record",
    "SessionEnd": "end",
}

EVENTS: dict[str, dict[str, Action]] = {
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
"""Each event by its agent's own name."""

LONGEST_PROMPT = 8_000_000
MOST_MESSAGES = 100_000

Name = Annotated[str, Field(max_length=200)]
FilePath = Annotated[str, Field(max_length=4_096)]

_OF_HOOKS = re.compile(r"\s*<hook_context>.*</hook_context>\s*", re.DOTALL)


class Message(BaseModel):
    """A message of a conversation, as OpenCode's plugin hands it over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: Name = ""
    role: Literal["user", "assistant", "system", "tool"]
    content: Annotated[str, Field(max_length=LONGEST_PROMPT)]
    time: dict[str, float | None] = {}  # `created`, in milliseconds


class Payload(BaseModel):
    """The fields of any payload that are read; agents add others, which are left alone.

    Cursor says `conversation_id`, and names folders of which the first counts as `cwd`. OpenCode, which writes no
    transcript, hands over the messages themselves.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    session_id: Annotated[Name, Field(min_length=1)] = Field(
        validation_alias=AliasChoices("session_id", "conversation_id")
    )
    transcript_path: FilePath | None = None
    cwd: FilePath | None = None
    messages: Annotated[tuple[Message, ...], Field(max_length=MOST_MESSAGES)] = ()
    workspace_roots: tuple[FilePath, ...] = ()

    @property
    def folder(self) -> str:
        """The folder that the conversation is held in; "" where none is named."""
        return self.cwd or next(iter(self.workspace_roots), "")


class StartPayload(Payload):
    """The start of a session. `source` says what it goes on from."""

    source: Name = "startup"


class PromptPayload(Payload):
    """A person's message, before the agent reads it."""

    prompt: Annotated[str, Field(max_length=LONGEST_PROMPT)]

    @property
    def typed(self) -> str:
        """The message without the context of hooks, which Gemini CLI puts before the first one under `-p`."""
        return self.prompt[found.end() :] if (found := _OF_HOOKS.match(self.prompt)) else self.prompt


def event_of(agent: HookAgent, name: str) -> tuple[str, Action]:
    """The event as the agent writes it, and what is done at it; case, `-` and `_` do not matter.

    Raises:
        NotFoundError: the agent has no such event, or nothing is done at it.
    """
    known = {_plain(event): (event, action) for event, action in EVENTS[agent].items()}
    if _plain(name) not in known:
        raise NotFoundError(
            f"nothing is done at that event of {agent}: its events are {', '.join(EVENTS[agent])}"
        )
    return known[_plain(name)]


def answer_of(agent: HookAgent, event: str, text: str) -> str:
    """The text that the hook prints, as its agent reads it; "" where there is nothing to say.

    No field beyond these: Codex refuses the answer then. Builds of Cursor that take no context before a prompt read
    `continue` alone.
    """
    if not text:
        return ""
    if agent != "cursor":
        return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
    goes_on = {"continue": True} if EVENTS[agent][event] == "prompt" else {}
    return json.dumps({"additional_context": text, **goes_on})


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()
