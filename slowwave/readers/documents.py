"""Markdown and text files: what somebody wrote down, as sections.

A file is not a conversation: its turns have the role `document` and are untrusted. Redaction and the cutting
out of injected memory come before the text is cut into sections, so that neither can be torn in two.
"""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from slowwave.errors import InputError
from slowwave.readers.fences import strip_injected
from slowwave.readers.files import file_time, open_bytes, parse_time, shown_path
from slowwave.readers.reading import RawMessage, Reading, empty_reading, source_of, to_reading
from slowwave.redaction.redaction import redact
from slowwave.schemas.identity import stable_id
from slowwave.schemas.refusals import clean_text

MARKDOWN_SUFFIXES = frozenset({".md", ".markdown"})
DOCUMENT_SUFFIXES = MARKDOWN_SUFFIXES | {".txt", ".rst"}

SECTION_WORDS = 400
"""About how many words a section may have before it is cut between paragraphs."""

_HEADING = re.compile(r" {0,3}(?P<marks>#{1,3})[ \t]+(?P<title>\S.*)")
_CODE_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)")
_UNDERLINE = re.compile(r"(?:={3,}|-{3,})[ \t]*")
_NO_TITLE = re.compile(r"[ \t]*(?:[-*+>|#`~]|\d+[.)])")
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(?P<fields>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_DATE_FIELD = re.compile(r"^date:[ \t]*[\"']?(?P<date>[^\"'#\n]+)", re.MULTILINE)
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
_PIECE = re.compile(r"(?:\S+\s*){1,%d}" % SECTION_WORDS)  # noqa: UP031


def read_document(path: Path) -> Reading:
    """Sections of a Markdown or text file.

    Markdown is cut at headings of level 1 to 3; a section begins with the path of its headings. Plain text,
    and a section that is too long, is cut between paragraphs at about `SECTION_WORDS`. The time is the
    front matter's `date`, else that of the file.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or is not text.
    """
    skipped: Counter[str] = Counter()
    text = _read_text(path)
    if not text.strip():
        return empty_reading()
    is_markdown = path.suffix.lower() in MARKDOWN_SUFFIXES
    event_time = file_time(path)
    if is_markdown and (front := _FRONT_MATTER.match(text)):
        skipped["front matter"] += 1
        date = _DATE_FIELD.search(front["fields"])
        event_time = (parse_time(date["date"]) if date else None) or event_time
        text = text[front.end() :]
    text, fence_count = strip_injected(text)
    if fence_count:
        skipped["injected memory"] += fence_count
    text, redacted = redact(text)
    source = source_of(path, "file")
    sections = _markdown_sections(text) if is_markdown else _gather("", _paragraphs(text.split("\n")))
    return to_reading(
        _messages(
            sections,
            session_id=stable_id("file", path.resolve().parent.name, path.name),
            event_time=event_time,
        ),
        source=source,
        kind="document",
        skipped=skipped,
        redacted=Counter(redacted),
    )


def _messages(sections: Iterator[str], *, session_id: str, event_time: datetime) -> Iterator[RawMessage]:
    for section in sections:
        yield RawMessage(session_id=session_id, role="document", parts=(section,), event_time=event_time)


def _read_text(path: Path) -> str:
    with open_bytes(path) as file:
        raw = file.read()
    text = raw.decode("utf-8-sig", "replace")
    odd_count = len(_CONTROL.findall(text))
    if b"\x00" in raw or odd_count * 20 > len(text):
        raise InputError(f"{shown_path(path)} is not text: name a Markdown or text file, saved as UTF-8.")
    return clean_text(text).replace("\r\n", "\n").replace("\r", "\n")


def _markdown_sections(text: str) -> Iterator[str]:
    path: list[tuple[int, str]] = []
    body: list[str] = []
    for heading, lines in _split_at_headings(text.split("\n")):
        if heading is not None:
            level, title = heading
            path = [*(upper for upper in path if upper[0] < level), (level, title)]
        body = lines
        if any(line.strip() for line in body):
            yield from _gather(" > ".join(title for _, title in path), _paragraphs(body))


def _split_at_headings(lines: list[str]) -> Iterator[tuple[tuple[int, str] | None, list[str]]]:
    """The level and title of each heading (null before the first) with the lines under it."""
    heading: tuple[int, str] | None = None
    body: list[str] = []
    fence = ""
    for line in lines:
        fence_before, fence = fence, _fence_after(line, fence)
        if fence or fence_before:
            body.append(line)
        elif marked := _HEADING.fullmatch(line):
            yield heading, body
            title = re.sub(r"[ \t]#+\Z", "", marked["title"].rstrip()).strip()
            heading, body = (len(marked["marks"]), title), []
        elif _UNDERLINE.fullmatch(line) and _is_title(body):
            title = body.pop().strip()
            yield heading, body
            heading, body = (1 if line.startswith("=") else 2, title), []
        else:
            body.append(line)
    yield heading, body


def _is_title(body: list[str]) -> bool:
    """Whether the last line stands alone and is plain, so that dashes under it make it a heading."""
    is_alone = len(body) == 1 or (len(body) > 1 and not body[-2].strip())
    return is_alone and bool(body[-1].strip()) and not _NO_TITLE.match(body[-1])


def _fence_after(line: str, fence: str) -> str:
    """The mark of the code block that is open after this line; empty where none is."""
    marked = _CODE_FENCE.fullmatch(line)
    if marked is None:
        return fence
    if not fence:
        return marked["mark"]
    closes = marked["mark"].startswith(fence) and not marked["info"].strip()
    return "" if closes else fence


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Text between blank lines; a code block stays whole."""
    paragraph: list[str] = []
    fence = ""
    for line in lines:
        fence = _fence_after(line, fence)
        if line.strip() or fence:
            paragraph.append(line)
        elif paragraph:
            yield "\n".join(paragraph)
            paragraph = []
    if paragraph:
        yield "\n".join(paragraph)


def _gather(heading: str, paragraphs: Iterator[str]) -> Iterator[str]:
    """Paragraphs put together to about `SECTION_WORDS`, each section under its heading."""
    gathered: list[str] = []
    word_count = 0
    for paragraph in paragraphs:
        size = len(paragraph.split())
        pieces = [paragraph] if size <= 2 * SECTION_WORDS else _PIECE.findall(paragraph)
        for piece in pieces:
            piece_words = len(piece.split())
            if gathered and word_count + piece_words > SECTION_WORDS:
                yield _section(heading, gathered)
                gathered, word_count = [], 0
            gathered.append(piece.rstrip())
            word_count += piece_words
    if gathered:
        yield _section(heading, gathered)


def _section(heading: str, paragraphs: list[str]) -> str:
    text = "\n\n".join(paragraphs)
    return f"{heading}\n\n{text}" if heading else text
