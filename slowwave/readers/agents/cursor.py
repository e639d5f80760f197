"""Sessions of Cursor's agent: `~/.cursor/projects/<project>/agent-transcripts/<session>/<session>.jsonl`.

    {"role": "user" | "assistant", "message": {"content": [{"type": "text", "text": "..."}, {"type": "tool_use", ...}]}}
    {"type": "turn_ended", "status": "success"}

The form is not documented; several programs that read it agree. A line has no id and no time: it is known by its
place in the session, which only grows, and gets the file's time. A person's words stand between `<user_query>` tags;
what stands beside them is context that Cursor put in. Tool calls, thoughts and sessions of sub-agents are left out.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

from slowwave.readers.bounds import DEFAULTS, UNSPOKEN, Counts
from slowwave.readers.files import file_time, path_text
from slowwave.readers.lines import json_records
from slowwave.readers.reading import RawMessage, Reading, source_of, to_parts
from slowwave.settings.readers import ReaderSettings

_Fields = Mapping[str, object]
_ROLES: Final[dict[str, Literal["user", "assistant"]]] = {"user": "user", "assistant": "assistant"}
_QUERY: Final = re.compile(r"<user_query>\s*(.*?)\s*(?=</user_query>|<user_query>|\Z)", re.DOTALL)
_CONTEXT: Final = re.compile(r"\s*<[a-z]+(?:_[a-z]+)*>")
_HIDDEN: Final = re.compile(r"\s*\[REDACTED\]\s*\Z")
_SUBAGENTS: Final = "subagents"


def is_cursor_record(record: _Fields) -> bool:
    """Return whether a line is a message of Cursor: its role stands beside the message that holds its content."""
    role, message = record.get("role"), record.get("message")
    return isinstance(role, str) and role in _ROLES and isinstance(message, dict) and "content" in message


def read_cursor(
    path: Path, *, speaker: str | None = None, bounds: ReaderSettings = DEFAULTS
) -> Iterator[Reading]:
    """Turns of a session of Cursor, in parts; `speaker` is the person who wrote, null if unknown.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read.
    """
    counts = Counts()
    yield from to_parts(
        _raw(path, speaker, counts, bounds),
        source=source_of(path, "conversation"),
        kind="cursor",
        counts=counts,
        bounds=bounds,
    )


def _raw(path: Path, speaker: str | None, counts: Counts, bounds: ReaderSettings) -> Iterator[RawMessage]:
    session_id, time = path_text(path.stem), file_time(path)
    for line, record in json_records(path, counts, bounds):
        if path.parent.name == _SUBAGENTS:
            counts.skip("sub-agent")
            continue
        if not is_cursor_record(record):
            counts.skip("session record" if record.get("type") == "turn_ended" else "unknown record type")
            continue
        role = _ROLES[str(record["role"])]
        texts = _texts(record["message"], role, counts.parts)
        if not texts:
            counts.skip(UNSPOKEN)
            continue
        yield RawMessage(
            session_id=session_id,
            role=role,
            parts=tuple(texts),
            event_time=time,
            identity=("cursor", session_id, str(line)),
            speaker=speaker if role == "user" else None,
            place=f"line {line}",
        )


def _texts(message: object, role: str, skipped: Counter[str]) -> list[str]:
    """The texts that were said in a message."""
    content = message.get("content") if isinstance(message, dict) else None
    texts: list[str] = []
    for block in content if isinstance(content, list) else [content]:
        text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else block
        if isinstance(text, str):
            texts.append(text)
        else:
            skipped["block without text"] += text not in (None, {}, [])
    said = _typed(texts, skipped) if role == "user" else [_HIDDEN.sub("", text) for text in texts]
    return [text for text in said if text.strip()]


def _typed(texts: list[str], skipped: Counter[str]) -> list[str]:
    """The words of a person's message. With two queries in it, one stands in a file that was attached: none counts."""
    queries = [query for text in texts for query in _QUERY.findall(text)]
    if queries:
        skipped["injected context"] += len(texts) - 1 if len(queries) == 1 else len(texts)
        return queries if len(queries) == 1 else []
    typed = [text for text in texts if not _CONTEXT.match(text)]
    skipped["injected context"] += len(texts) - len(typed)
    return typed
