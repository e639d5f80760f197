"""Markdown and text files: what somebody wrote down, as sections.

A file is not a conversation: its turns have the role `document` and are untrusted. Redaction and the cutting
out of injected memory come before the text is cut into sections, so that neither can be torn in two.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

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

_CUT_AT = ("h1", "h2", "h3")
_MARKDOWN = MarkdownIt("commonmark").disable("inline")  # only where blocks begin and end is asked of it

_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(?P<fields>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_DATE_FIELD = re.compile(r"^date:[ \t]*[\"']?(?P<date>[^\"'#\n]+)", re.MULTILINE)
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
_PIECE = re.compile(r"(?:\S+\s*){1,%d}" % SECTION_WORDS)  # noqa: UP031


class _Heading(NamedTuple):
    """A heading and the lines that it takes, from `first_line` up to before `end_line`."""

    level: int
    title: str
    first_line: int
    end_line: int


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
    session_id = stable_id("file", path.resolve().parent.name, path.name)
    return to_reading(
        (
            RawMessage(session_id=session_id, role="document", parts=(section,), event_time=event_time)
            for section in _sections(text, is_markdown=is_markdown)
        ),
        source=source_of(path, "file"),
        kind="document",
        skipped=skipped,
        redacted=Counter(redacted),
    )


def _read_text(path: Path) -> str:
    with open_bytes(path) as file:
        raw = file.read()
    text = raw.decode("utf-8-sig", "replace")
    odd_count = len(_CONTROL.findall(text))
    if b"\x00" in raw or odd_count * 20 > len(text):
        raise InputError(f"{shown_path(path)} is not text: name a Markdown or text file, saved as UTF-8.")
    return clean_text(text).replace("\r\n", "\n").replace("\r", "\n")


def _sections(text: str, *, is_markdown: bool) -> Iterator[str]:
    lines = text.split("\n")
    tokens = _MARKDOWN.parse(text)
    code = {line for token in tokens if token.type == "fence" and token.map for line in range(*token.map)}
    path: list[_Heading] = []
    begin = 0
    for heading in [*(_headings(tokens) if is_markdown else ()), _Heading(0, "", len(lines), 0)]:
        titles = " > ".join(upper.title for upper in path)
        yield from _gather(titles, _paragraphs(lines, range(begin, heading.first_line), code))
        path = [*(upper for upper in path if upper.level < heading.level), heading]
        begin = heading.end_line


def _headings(tokens: list[Token]) -> Iterator[_Heading]:
    """The headings of level 1 to 3 that stand in no list and no quotation.

    A paragraph of several lines over a row of dashes is one by the book, and yet nobody's title: it stays text.
    """
    for token, inline in pairwise(tokens):
        if token.type != "heading_open" or token.tag not in _CUT_AT or token.level or not token.map:
            continue
        if inline.content and "\n" not in inline.content:
            yield _Heading(int(token.tag[1]), inline.content.strip(), *token.map)


def _paragraphs(lines: list[str], numbers: range, code: set[int]) -> Iterator[str]:
    """Text between blank lines; a code block stays whole."""
    paragraph: list[str] = []
    for number in numbers:
        if lines[number].strip() or number in code:
            paragraph.append(lines[number])
        elif paragraph:
            yield "\n".join(paragraph)
            paragraph = []
    if paragraph:
        yield "\n".join(paragraph)


def _gather(heading: str, paragraphs: Iterator[str]) -> Iterator[str]:
    """Paragraphs put together to about `SECTION_WORDS`, each section under its heading."""
    title = [heading] if heading else []
    gathered: list[str] = []
    word_count = 0
    for paragraph in paragraphs:
        is_whole = len(paragraph.split()) <= 2 * SECTION_WORDS
        for piece in [paragraph] if is_whole else _PIECE.findall(paragraph):
            piece_words = len(piece.split())
            if gathered and word_count + piece_words > SECTION_WORDS:
                yield "\n\n".join([*title, *gathered])
                gathered, word_count = [], 0
            gathered.append(piece.rstrip())
            word_count += piece_words
    if gathered:
        yield "\n\n".join([*title, *gathered])
