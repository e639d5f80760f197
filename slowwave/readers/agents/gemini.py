"""Sessions of Gemini CLI: a JSON file with all messages, and since 2026 a log of them (`.jsonl`), a change a line.

    {"sessionId", "projectHash", "startTime", "kind"}                      the head of a session
    {"id", "timestamp", "type": "user" | "gemini" | "info" ..., "content"}  a message, or a newer version of it
    {"$set": {"messages": [...]}}                                          what the model is sent from now on
    {"$rewindTo": id}                                                      this message and all after it are taken back

The last version of a message counts, at its place. What was rewound is left out. A `$set` makes nothing unsaid: it is
also written when a conversation is compressed. Messages that stand only in one are taken from there. Questions that the
assistant asks by a call (`ask_user`) are its words, and what the call returns is the person's. Other tool calls,
thoughts, notices, files that `@` put into a prompt and sessions of sub-agents are left out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from slowwave.readers.agents.json_file import json_object
from slowwave.readers.agents.questions import object_in, questions_in
from slowwave.readers.bounds import DEFAULTS, UNSPOKEN, Counts
from slowwave.readers.files import file_time, id_of, list_of, object_of, path_text, small_text, time_of
from slowwave.readers.lines import json_records
from slowwave.readers.reading import RawMessage, Reading, source_of, to_parts
from slowwave.settings.readers import ReaderSettings

_Fields = Mapping[str, object]
_Role = Literal["user", "assistant"]
_Place = tuple[int, int]
"""A line, and the place of a message on it."""

GEMINI_START: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:sessionId|projectHash)"\s*:')
"""The beginning of a session of the older form."""

_ROLES: Final[dict[str, _Role]] = {"user": "user", "gemini": "assistant"}
_FILES: Final = re.compile(r"(?:^|\n)[ \t]*--- Content from referenced files ---")
_OF_HOOKS: Final = re.compile(r"\s*<hook_context>.*</hook_context>", re.DOTALL)
"""Context of the hooks at the start of a session, which stands before the prompt of `gemini -p` in one text."""
_INJECTED: Final = re.compile(
    r"\s*(?:<(?:state_snapshot|session_context|loaded_context|hook_context)>"
    r"|This is the Gemini CLI\. We are setting up)"
)
_COMMAND: Final = re.compile(r"\s*/[a-z-]+(?: [a-z-]+)?\s*")
_RECORD: Final = "session record"
_ASKING: Final = "ask_user"
"""The tool by which the assistant asks the person. Tools of servers have other names (`mcp_...`)."""


@dataclass
class _Log:
    """Places of the last version of each message of a log, and the messages that were taken back."""

    last: dict[str, _Place] = field(default_factory=dict)
    rewound: set[str] = field(default_factory=set)
    session_id: str | None = None
    is_subagent: bool = False

    def follow(self, line: int, record: _Fields) -> None:
        """Take over a line."""
        if "$rewindTo" in record:
            self._take_back(id_of(record, "$rewindTo"))
            return
        head = object_of(record.get("$set")) or record
        self.session_id = self.session_id or id_of(head, "sessionId")
        self.is_subagent = self.is_subagent or head.get("kind") == "subagent"
        for number, message in enumerate(_messages_on(record)):
            if (name := id_of(message, "id")) is not None:
                self.last[name] = line, number
                self.rewound.discard(name)

    def _take_back(self, target: str | None) -> None:
        """Take back a message and all after it, or where it is unknown all there are."""
        is_known = target in self.last
        while self.last:
            name, _ = self.last.popitem()
            self.rewound.add(name)
            if is_known and name == target:
                return


def is_gemini_record(record: _Fields) -> bool:
    """Return whether a line is one of a log: its head, a change, or a message."""
    if "sessionId" in record and ("projectHash" in record or "startTime" in record):
        return True
    return "$set" in record or "$rewindTo" in record


def read_gemini(
    path: Path, *, speaker: str | None = None, bounds: ReaderSettings = DEFAULTS
) -> Iterator[Reading]:
    """Turns of a session of Gemini CLI, in parts; `speaker` is the person whose sessions these are, null if unknown.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or is not JSON.
    """
    counts = Counts()
    is_log = path.suffix.lower() != ".json"
    messages = _of_log(path, counts, bounds) if is_log else _of_file(path, counts, bounds)
    yield from to_parts(
        _raw(messages, path, speaker, counts),
        source=source_of(path, "conversation"),
        kind="gemini",
        counts=counts,
        bounds=bounds,
    )


def _of_log(path: Path, counts: Counts, bounds: ReaderSettings) -> Iterator[tuple[str, str, _Fields]]:
    """Messages with their session and place. The log is read twice: what is taken back stands behind it."""
    log = _Log()
    for line, record in json_records(path, Counts(), bounds):
        log.follow(line, record)
    session_id = log.session_id or path_text(path.stem)
    for line, record in json_records(path, counts, bounds):
        if log.is_subagent:
            counts.skip("sub-agent")
            continue
        if not _is_message(record):
            counts.skip(_RECORD)
        for number, message in enumerate(_messages_on(record)):
            counts.entry_count += not _is_message(record)
            name = id_of(message, "id")
            if name is None or log.last.get(name) == (line, number):
                yield session_id, f"line {line}", message
            else:
                counts.skip("rewound message" if name in log.rewound else "repeated message")


def _of_file(path: Path, counts: Counts, bounds: ReaderSettings) -> Iterator[tuple[str, str, _Fields]]:
    found = json_object(path, bounds)
    messages = list_of(found.get("messages"))
    counts.entry_count += len(messages)
    if found.get("kind") == "subagent":
        counts.skip("sub-agent", len(messages))
        return
    session_id = id_of(found, "sessionId") or path_text(path.stem)
    for number, message in enumerate(messages, start=1):
        yield session_id, f"message {number}", object_of(message)


def _raw(
    messages: Iterable[tuple[str, str, _Fields]], path: Path, speaker: str | None, counts: Counts
) -> Iterator[RawMessage]:
    time, folder = file_time(path), _folder_of(path)
    for session_id, place, message in messages:
        time = time_of(message, counts.parts) or time
        kind = message.get("type")
        role = _ROLES.get(kind) if isinstance(kind, str) else None
        if role is None:
            counts.skip("harness message" if kind in ("info", "error", "warning") else "unknown record type")
            continue
        texts = _texts(message, role, counts.parts)
        if not texts:
            counts.skip(UNSPOKEN)
            continue
        name = id_of(message, "id")
        yield RawMessage(
            session_id=session_id,
            role=role,
            parts=tuple(texts),
            event_time=time,
            identity=None if name is None else ("gemini", session_id, name),
            speaker=speaker if role == "user" else None,
            cwd=folder,
            place=place,
        )


def _texts(message: _Fields, role: _Role, skipped: Counter[str]) -> list[str]:
    """The texts that were said: what a person saw of their own prompt where that is told, without attached files."""
    content = message.get("content")
    if role == "user":
        content = message.get("displayContent") or content
    texts: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        text = part.get("text") if isinstance(part, dict) else part
        if role == "user" and isinstance(text, str) and (hooks := _OF_HOOKS.match(text)):
            skipped["injected context"] += 1
            text = text[hooks.end() :]
        if isinstance(part, dict) and part.get("thought"):
            skipped["thinking"] += 1
        elif not isinstance(text, str):
            answers = _answers(part) if role == "user" else ""
            texts += [answers] if answers else []
            skipped["block without text"] += not answers and part not in (None, {}, [])
        elif role == "user" and (_INJECTED.match(text) or _COMMAND.fullmatch(text)):
            skipped["command" if _COMMAND.fullmatch(text) else "injected context"] += 1
        elif role == "user" and (files := _FILES.search(text)):
            skipped["attached file"] += 1
            return [*texts, text[: files.start()]] if text[: files.start()].strip() else texts
        elif text.strip():
            texts.append(text)
    return [*texts, *_questions(message)] if role == "assistant" else texts


def _questions(message: _Fields) -> Iterator[str]:
    """The questions that the assistant asked the person by a call, with what he could choose of."""
    for call in map(object_of, list_of(message.get("toolCalls"))):
        if call.get("name") == _ASKING and call.get("status") == "success":
            yield from questions_in(object_of(call.get("args")))


def _answers(part: object) -> str:
    """The person's answers in what such a call returned, a line each; empty for another part."""
    returned = object_of(object_of(part).get("functionResponse"))
    if returned.get("name") != _ASKING:
        return ""
    told = object_in(object_of(returned.get("response")).get("output"))
    return "\n".join(answer for answer in object_of(told.get("answers")).values() if isinstance(answer, str))


def _messages_on(record: _Fields) -> list[_Fields]:
    """The messages of a line: itself, or those of a change or a head."""
    if _is_message(record):
        return [record]
    held = (object_of(record.get("$set")) or record).get("messages")
    return [object_of(message) for message in list_of(held)]


def _is_message(record: _Fields) -> bool:
    return "id" in record and "type" in record


def _folder_of(path: Path) -> str | None:
    """The folder of the project, as Gemini CLI notes it beside its sessions."""
    return small_text(path.parent.parent / ".project_root")
