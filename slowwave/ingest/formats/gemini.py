"""Sessions of Gemini CLI: a JSON file with all messages, and since 2026 a log of them (`.jsonl`), a change a line.

    {"sessionId", "projectHash", "startTime", "kind"}                      the head of a session
    {"id", "timestamp", "type": "user" | "gemini" | "info" ..., "content"}  a message, or a newer version of it
    {"$set": {"messages": [...]}}                                          what the model is sent from now on
    {"$rewindTo": id}                                                      this message and all after it are taken back

The last version of a message counts, at its place. What was rewound is left out. A `$set` makes nothing unsaid: it is
also written when a conversation is compressed. Messages that are only in one are taken from there. Questions that the
assistant asks by a call (`ask_user`) are its words, and what the call returns is the person's. Other tool calls,
thoughts, notices, files that `@` put into a prompt and sessions of sub-agents are left out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from slowwave.ingest.counts import UNSPOKEN
from slowwave.ingest.fields import (
    LONGEST_LABEL,
    Fields,
    id_of,
    json_value,
    list_of,
    object_of,
    questions_in,
    time_of,
)
from slowwave.ingest.files import Input, file_time
from slowwave.ingest.formats.row import Format, Place
from slowwave.ingest.lines import json_object, json_records
from slowwave.ingest.turns import RawMessage, Role
from slowwave.schemas.refusals import clean_text

_Place = tuple[int, int]
"""A line, and the place of a message on it."""
_Placed = tuple[str, str, Fields]
"""The session and the place of a message, and the message."""

_ROLES: Final[dict[str, Role]] = {"user": "user", "gemini": "assistant"}
_FILES: Final = re.compile(r"(?:^|\n)[ \t]*--- Content from referenced files ---")
_OF_HOOKS: Final = re.compile(r"\s*<hook_context>.*</hook_context>", re.DOTALL)
"""Context of the hooks at the start of a session, which precedes the prompt of `gemini -p` in one text."""
_INJECTED: Final = re.compile(
    r"\s*(?:<(?:state_snapshot|session_context|loaded_context|hook_context)>"
    r"|This is the Gemini CLI\. We are setting up)"
)
_COMMAND: Final = re.compile(r"\s*/[a-z-]+(?: [a-z-]+)?\s*")
_ASKING: Final = "ask_user"
"""The tool by which the assistant asks the person. Tools of servers have other names (`mcp_...`)."""


class _Log:
    """The messages of a log that count: a first reading finds them, since a message is taken back after it."""

    def __init__(self, file: Input) -> None:
        self.session_id: str | None = None
        self.is_subagent = False
        self.last: dict[str, _Place] = {}
        """Places of the last version of each message."""
        self.rewound = set[str]()
        for line, record in json_records(file.again()):
            if "$rewindTo" in record:
                self._take_back(id_of(record, "$rewindTo"))
                continue
            head = object_of(record.get("$set")) or record
            self.session_id = self.session_id or id_of(head, "sessionId")
            self.is_subagent = self.is_subagent or head.get("kind") == "subagent"
            for number, message in enumerate(_messages_on(record)):
                if (name := id_of(message, "id")) is not None:
                    self.last[name] = line, number
                    self.rewound.discard(name)

    def _take_back(self, target: str | None) -> None:
        """Take back a message and all after it, or where it is unknown all there are."""
        names = [*self.last]
        gone = names[names.index(target) :] if target in self.last else names
        self.rewound.update(gone)
        for name in gone:
            del self.last[name]


def _is_record(record: Fields) -> bool:
    """Return whether a line is one of a log: its head, a change, or a message."""
    if "sessionId" in record and ("projectHash" in record or "startTime" in record):
        return True
    return "$set" in record or "$rewindTo" in record


def _of_log(file: Input) -> Iterator[_Placed]:
    log, counts = _Log(file), file.counts
    for line, record in json_records(file):
        if log.is_subagent:
            counts.skip("sub-agent")
            continue
        if not _is_message(record):
            counts.skip("session record")
        for number, message in enumerate(_messages_on(record)):
            counts.entry_count += not _is_message(record)
            name = id_of(message, "id")
            if name is None or log.last.get(name) == (line, number):
                yield log.session_id or file.name, f"line {line}", message
            else:
                counts.skip("rewound message" if name in log.rewound else "repeated message")


def _of_file(file: Input) -> Iterator[_Placed]:
    found = json_object(file)
    messages = list_of(found.get("messages"))
    file.counts.entry_count += len(messages)
    if found.get("kind") == "subagent":
        file.counts.skip("sub-agent", len(messages))
        return
    session_id = id_of(found, "sessionId") or file.name
    for number, message in enumerate(messages, start=1):
        yield session_id, f"message {number}", object_of(message)


def _raw(messages: Iterable[_Placed], file: Input) -> Iterator[RawMessage]:
    counts, time, folder = file.counts, file_time(file.path), _folder_of(file.path)
    for session_id, place, message in messages:
        time = time_of(message, counts.parts) or time
        kind = str(message.get("type"))
        if (role := _ROLES.get(kind)) is None:
            counts.skip("harness message" if kind in ("info", "error", "warning") else "unknown record type")
        elif texts := _texts(message, role, counts.parts):
            name = id_of(message, "id")
            yield RawMessage(
                session_id=session_id,
                role=role,
                parts=tuple(texts),
                event_time=time,
                identity=None if name is None else ("gemini", session_id, name),
                cwd=folder,
                place=place,
            )
        else:
            counts.skip(UNSPOKEN)


def _texts(message: Fields, role: Role, skipped: Counter[str]) -> list[str]:
    """The texts that were said, and the questions of a call; of a prompt what the person saw where that is noted."""
    shown = message.get("displayContent") if role == "user" else None
    content = shown or message.get("content")
    texts: list[str] = []
    for part in content if isinstance(content, list) else [content] if content else []:
        fields, text = object_of(part), object_of(part).get("text", part)
        if fields.get("thought"):
            skipped["thinking"] += 1
        elif isinstance(text, str) and role == "assistant":
            texts.append(text)
        elif isinstance(text, str):
            typed, has_files = _typed(text, skipped)
            texts.append(typed)
            if has_files:
                break
        elif answers := _answers(fields) if role == "user" else "":
            texts.append(answers)
        else:
            skipped["block without text"] += 1
    calls = map(object_of, list_of(message.get("toolCalls")) if role == "assistant" else ())
    for call in calls:
        if call.get("name") == _ASKING and call.get("status") == "success":
            texts += questions_in(object_of(call.get("args")))
    return [text for text in texts if text.strip()]


def _typed(text: str, skipped: Counter[str]) -> tuple[str, bool]:
    """The typed text of a part of a prompt, and whether files follow that `@` put into it."""
    if hooks := _OF_HOOKS.match(text):
        skipped["injected context"] += 1
        text = text[hooks.end() :]
    if _COMMAND.fullmatch(text) or _INJECTED.match(text):
        skipped["command" if _COMMAND.fullmatch(text) else "injected context"] += 1
        return "", False
    if files := _FILES.search(text):
        skipped["attached file"] += 1
    return (text[: files.start()], True) if files else (text, False)


def _answers(part: Fields) -> str:
    """The person's answers in what a call with questions returned, a line each; empty for another part."""
    returned = object_of(part.get("functionResponse"))
    if returned.get("name") != _ASKING:
        return ""
    told = object_of(json_value(object_of(returned.get("response")).get("output")))
    return "\n".join(answer for answer in object_of(told.get("answers")).values() if isinstance(answer, str))


def _messages_on(record: Fields) -> list[Fields]:
    """The messages of a line: itself, or those of a change or a head."""
    if _is_message(record):
        return [record]
    held = (object_of(record.get("$set")) or record).get("messages")
    return [object_of(message) for message in list_of(held)]


def _is_message(record: Fields) -> bool:
    return "id" in record and "type" in record


def _folder_of(path: Path) -> str | None:
    """The folder of the project, as Gemini CLI notes it next to its sessions; null where that cannot be read."""
    note = path.parent.parent / ".project_root"
    try:
        if not note.is_file():  # opening a pipe would wait for its writer
            return None
        with note.open("rb") as file:
            head = file.read(4 * LONGEST_LABEL)
    except OSError:
        return None
    return clean_text(head.decode("utf-8", "replace").partition("\n")[0]).strip() or None


LOG: Final = Format(
    name="gemini",
    title="Gemini CLI",
    messages=lambda file: _raw(_of_log(file), file),
    is_record=_is_record,
    in_folders=r".*\.jsonl",
    places=(
        Place(
            "Gemini CLI",
            ("$GEMINI_CLI_HOME/.gemini/tmp", ".gemini/tmp"),
            ("*/chats/session-*.json", "*/chats/session-*.jsonl"),
        ),
    ),
)
FILE: Final = Format(
    name="gemini",
    title="",
    messages=lambda file: _raw(_of_file(file), file),
    start=re.compile(rb'\{\s*"(?:sessionId|projectHash)"\s*:'),
    suffix=".json",
    in_folders=r".*/chats/session-[^/]*\.json",
)
