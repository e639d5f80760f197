"""Markdown and text files: what somebody wrote down, as sections.

A file is not a conversation: its turns have the role `document` and are untrusted. Redaction and the cutting
out of injected memory come before the text is cut into sections, so that neither can be torn in two.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from slowwave.deferred import deferred
from slowwave.errors import InputError
from slowwave.ingest.redact import redact
from slowwave.readers.bounds import CUT_DOCUMENT, DEFAULTS, MARGIN, Counts, border_before
from slowwave.readers.fences import strip_injected
from slowwave.readers.files import file_time, open_bytes, parse_time, path_text, shown_path
from slowwave.readers.reading import RawMessage, Reading, empty_reading, source_of, to_parts
from slowwave.schemas.identity import stable_id
from slowwave.schemas.refusals import clean_text
from slowwave.settings.readers import ReaderSettings

if TYPE_CHECKING:
    import markdown_it
    from markdown_it.token import Token
else:
    markdown_it = deferred("markdown_it")

MARKDOWN_SUFFIXES = frozenset({".md", ".markdown"})
DOCUMENT_SUFFIXES = MARKDOWN_SUFFIXES | {".txt", ".rst"}

SECTION_WORDS = 400
"""About how many words a section may have before it is cut between paragraphs."""

BLOCK_CHARACTERS = 300_000
"""Characters of a document that are parsed together."""

_CUT_AT = ("h1", "h2", "h3")

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


def read_document(path: Path, *, bounds: ReaderSettings = DEFAULTS) -> Iterator[Reading]:
    """Sections of a Markdown or text file, in parts.

    Markdown is cut at headings of level 1 to 3; a section begins with the path of its headings. Plain text,
    and a section that is too long, is cut between paragraphs at about `SECTION_WORDS`. The time is the
    front matter's `date`, else that of the file.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or is not text.
    """
    counts = Counts()
    fields, text = document_text(path, counts, bounds)
    if not text.strip():
        yield empty_reading()
        return
    date = _DATE_FIELD.search(fields)
    event_time = (parse_time(date["date"]) if date else None) or file_time(path)
    is_markdown = path.suffix.lower() in MARKDOWN_SUFFIXES
    yield from to_parts(
        _messages(path, text, event_time, counts, is_markdown=is_markdown),
        source=source_of(path, "file"),
        kind="document",
        counts=counts,
        bounds=bounds,
    )


def document_text(path: Path, counts: Counts, bounds: ReaderSettings) -> tuple[str, str]:
    """The fields of a document's front matter, as they stand there, and its text without injected memory and secrets.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or is not text.
    """
    text, is_whole = _read_text(path, counts, bounds)
    fields = ""
    if path.suffix.lower() in MARKDOWN_SUFFIXES and (front := _FRONT_MATTER.match(text)):
        counts.parts["front matter"] += 1
        fields, text = front["fields"], text[front.end() :]
    text, fence_count = strip_injected(text)
    if fence_count:
        counts.parts["injected memory"] += fence_count
    text, redacted = redact(text)
    counts.redacted.update(redacted)
    if not is_whole:  # a secret at the cut was seen by half
        text = text[: border_before(text, len(text) - MARGIN)]
    return fields, text


def _messages(
    path: Path, text: str, event_time: datetime, counts: Counts, *, is_markdown: bool
) -> Iterator[RawMessage]:
    session_id = stable_id("file", path_text(path.resolve().parent.name), path_text(path.name))
    for number, section in enumerate(sections_of(text, is_markdown=is_markdown), start=1):
        counts.entry_count += 1
        yield RawMessage(
            session_id=session_id,
            role="document",
            parts=(section,),
            event_time=event_time,
            place=f"section {number}",
        )


def _read_text(path: Path, counts: Counts, bounds: ReaderSettings) -> tuple[str, bool]:
    """The text of a file, or its beginning, and whether it is all of it."""
    with open_bytes(path, most_bytes=bounds.file_bytes) as (file, size):
        raw = file.read(min(size, bounds.document_bytes))
    text = raw.decode("utf-8-sig", "replace")
    odd_count = sum(1 for _ in _CONTROL.finditer(text))
    if b"\x00" in raw or odd_count * 20 > len(text):
        raise InputError(f"{shown_path(path)} is not text: name a Markdown or text file, saved as UTF-8.")
    if size > len(raw):
        counts.parts[CUT_DOCUMENT] += 1
        counts.exceed(
            CUT_DOCUMENT,
            f"has {size:,} bytes, and what comes after about {len(raw):,} is left out: "
            f"readers.document_bytes allows {bounds.document_bytes:,}",
            most=bounds.shown_places,
        )
    text = clean_text(text).replace("\r\n", "\n").replace("\r", "\n")
    return text, size <= len(raw)


class _Block(NamedTuple):
    """Lines of a document up to before `end_line`, with their headings and the lines of their code."""

    headings: list[_Heading]
    code: set[int]
    end_line: int


def sections_of(text: str, *, is_markdown: bool) -> Iterator[str]:
    """The sections of a text, each under the path of its headings."""
    lines = text.split("\n")
    path: list[_Heading] = []
    begin = 0
    for block in _blocks(lines, is_markdown=is_markdown):
        for heading in [*block.headings, None]:
            titles = " > ".join(upper.title for upper in path)
            end = block.end_line if heading is None else heading.first_line
            yield from _gather(titles, _paragraphs(lines, range(begin, end), block.code))
            if heading is not None:
                path = [*(upper for upper in path if upper.level < heading.level), heading]
            begin = end if heading is None else heading.end_line


def _blocks(lines: list[str], *, is_markdown: bool) -> Iterator[_Block]:
    """Parse block by block, so that the parser's tokens never are many; a block ends where one of them begins."""
    begin = 0
    while begin < len(lines):
        end, size = begin, 0
        while end < len(lines) and size < BLOCK_CHARACTERS:
            end, size = end + 1, size + len(lines[end]) + 1
        tokens = _markdown().parse("\n".join(lines[begin:end]))
        if end < len(lines):
            last = max((token.map[0] for token in tokens if token.map and token.level == 0), default=0)
            end = begin + last if last else end
        fences = [range(*token.map) for token in tokens if token.type == "fence" and token.map]
        code = {begin + line for fence in fences for line in fence}
        headings = list(_headings(tokens, begin)) if is_markdown else []
        yield _Block([heading for heading in headings if heading.first_line < end], code, end)
        begin = end


@cache
def _markdown() -> "markdown_it.MarkdownIt":
    return markdown_it.MarkdownIt("commonmark").disable("inline")  # asked only where blocks begin and end


def _headings(tokens: "list[Token]", begin: int) -> Iterator[_Heading]:
    """The headings of level 1 to 3 that stand in no list and no quotation; `begin` is the line of the first token.

    A paragraph of several lines over a row of dashes is one by the book, and yet nobody's title: it stays text.
    """
    for token, inline in pairwise(tokens):
        if token.type != "heading_open" or token.tag not in _CUT_AT or token.level or not token.map:
            continue
        if inline.content and "\n" not in inline.content:
            first, past = token.map
            yield _Heading(int(token.tag[1]), inline.content.strip(), begin + first, begin + past)


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
