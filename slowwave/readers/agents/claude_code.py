"""Sessions of Claude Code: one JSON record a line, most of them no message.

A turn is what a person typed or what the assistant wrote to them. Tool calls and results, thinking, images,
reminders, hooks, slash commands, summaries, sub-agents and the harness's own messages are counted and left
out. One answer of the assistant is written as several lines with one message id: they become one turn, with
the time of the first line. A session is a tree; all its branches are kept, in file order. What a person types while
the assistant works stands in no message: it is an attachment, `queued_command`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from slowwave.readers.agents.claude_code_records import SpokenRole, said_texts, spoken_message
from slowwave.readers.bounds import DEFAULTS, UNSPOKEN, Counts
from slowwave.readers.files import file_time, id_of, path_text, text_of, time_of
from slowwave.readers.lines import json_records
from slowwave.readers.reading import RawMessage, Reading, source_of, to_parts
from slowwave.settings.readers import ReaderSettings


@dataclass
class _Message:
    """A message under way: lines with its id may still come."""

    session_id: str
    role: SpokenRole
    native_id: str | None
    time: datetime | None
    """Null where neither this line nor one before it has a time: the file's own time would change the id."""
    cwd: str | None
    git_branch: str | None
    line: int
    parts: dict[str, None] = field(default_factory=dict)
    """Texts in their order, each once."""
    line_count: int = 0
    size: int = 0
    """Characters of its texts."""
    left_out: int = 0
    """Characters of texts that came after there were more than a message may have."""

    @property
    def key(self) -> tuple[str, str | None, object]:
        """The same for lines that repeat the message, also in a forked session."""
        return self.role, self.native_id, self.session_id if self.time is None else self.time


class _Session:
    """The messages of a file as they grow, line by line.

    A message may grow until it is handed on: then only numbers of its texts are kept, to know repetitions by.
    """

    def __init__(self, bounds: ReaderSettings) -> None:
        self._bounds = bounds
        self._messages: list[_Message] = []
        self._latest: dict[tuple[str, str], _Message] = {}
        self._at_time: dict[tuple[str, str, datetime | None], _Message] = {}
        self._handed_on: set[int] = set()
        self._size = 0

    def add(self, message: _Message, texts: list[str]) -> bool:
        """Add one line; false if it only repeats a message that is known."""
        known = self._known(message)
        if known is None:
            if texts and all(hash((message.key, text)) in self._handed_on for text in texts):
                return False
            known = message
            if message.native_id is not None:
                self._latest[message.role, message.native_id] = message
                self._at_time[message.role, message.native_id, message.time] = message
        elif texts and all(text in known.parts for text in texts):
            return False
        new_texts = [text for text in texts if text not in known.parts]
        if new_texts and not known.parts:
            self._messages.append(known)
            if known.role == "user":
                self._latest.clear()
        for text in new_texts:
            self._extend(known, text)
        known.line_count += bool(texts)
        return True

    def _extend(self, message: _Message, text: str) -> None:
        if message.size > self._bounds.message_characters:
            message.left_out += len(text)
        else:
            message.parts[text] = None
            message.size += len(text)
            self._size += len(text)

    def full_part(self) -> list[_Message]:
        """All messages but the newest, handed on, where they are as many or as long as a part may be; else none."""
        bounds = self._bounds
        if len(self._messages) <= bounds.part_turns and self._size < bounds.part_characters:
            return []
        *done, newest = self._messages
        for message in done:
            if message.native_id is not None:
                self._handed_on.update(hash((message.key, text)) for text in message.parts)
        self._messages, self._size = [newest], newest.size
        self._latest = {key: message for key, message in self._latest.items() if message is newest}
        self._at_time = {key: message for key, message in self._at_time.items() if message is newest}
        return done

    def rest(self) -> list[_Message]:
        """The messages that were not handed on before; the file is at its end."""
        return self._messages

    def _known(self, message: _Message) -> _Message | None:
        """The message that this line belongs to.

        The same id at the same time is the same message, also when a forked session repeats it. The same id
        later continues it only until a person speaks: after that it is an id used again.
        """
        if message.native_id is None:
            return None
        same = self._at_time.get((message.role, message.native_id, message.time))
        if same is not None and (message.time is not None or same.session_id == message.session_id):
            return same
        return self._latest.get((message.role, message.native_id)) if message.role == "assistant" else None


def read_claude_code(
    path: Path, *, speaker: str | None = None, bounds: ReaderSettings = DEFAULTS
) -> Iterator[Reading]:
    """Turns of a Claude Code session file, in parts; `speaker` is the person whose sessions these are, null if unknown.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or no line of it is JSON.
    """
    counts = Counts()
    yield from to_parts(
        _raw(_messages(path, counts, bounds), speaker=speaker, fallback_time=file_time(path)),
        source=source_of(path, "conversation"),
        kind="claude_code",
        counts=counts,
        bounds=bounds,
    )


def _messages(path: Path, counts: Counts, bounds: ReaderSettings) -> Iterator[_Message]:
    """The messages of a file, each once all its lines were read, or as many as a part holds."""
    session = _Session(bounds)
    session_id, time = path_text(path.stem), None
    calls: dict[str, str] = {}
    for line, record in json_records(path, counts, bounds):
        session_id = id_of(record, "sessionId") or session_id
        time = time_of(record, counts.parts) or time
        if (spoken := spoken_message(record, calls, counts)) is None:
            continue
        role, said = spoken
        if (texts := said_texts(said.get("content"), role, counts)) is None:
            continue
        message = _Message(
            session_id=session_id,
            role=role,
            native_id=(id_of(said, "id") if role == "assistant" else None) or id_of(record, "uuid"),
            time=time,
            cwd=text_of(record, "cwd"),
            git_branch=text_of(record, "gitBranch"),
            line=line,
        )
        if not session.add(message, texts):
            counts.skip("repeated message")
        elif not texts:
            counts.skip(UNSPOKEN)
        yield from session.full_part()
    yield from session.rest()


def _raw(
    messages: Iterable[_Message], *, speaker: str | None, fallback_time: datetime
) -> Iterator[RawMessage]:
    for message in messages:
        when = message.session_id if message.time is None else message.time.isoformat()
        yield RawMessage(
            session_id=message.session_id,
            role=message.role,
            parts=tuple(message.parts),
            event_time=message.time or fallback_time,
            identity=None if message.native_id is None else (message.role, message.native_id, when),
            speaker=speaker if message.role == "user" else None,
            cwd=message.cwd,
            git_branch=message.git_branch,
            place=f"line {message.line}",
            entry_count=message.line_count,
            left_out=message.left_out,
        )
