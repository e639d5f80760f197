"""Markdown and text files: what somebody wrote down, as sections.

A file is not a conversation: its turns have the role `document` and are untrusted. Redaction and the cutting
out of injected memory come before the text is cut into sections, so that neither can be torn in two.

The scanner knows fenced code and the headings that begin with `#`; the rest of Markdown moves no section.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from slowwave.errors import InputError
from slowwave.ingest.fields import parse_time
from slowwave.ingest.files import Input, file_time, open_bytes, path_text, shown_path
from slowwave.ingest.formats.row import Format
from slowwave.ingest.redact import redact
from slowwave.ingest.turns import RawMessage, without_injected
from slowwave.schemas.identity import stable_id
from slowwave.schemas.refusals import clean_text

MARKDOWN_SUFFIXES: Final = frozenset({".md", ".markdown"})
_SUFFIXES: Final = MARKDOWN_SUFFIXES | {".rst", ".txt"}

SECTION_WORDS: Final = 400
"""About how many words a section may have before it is cut between paragraphs."""

_FRONT_MATTER: Final = re.compile(
    r"---[ \t]*\n(?P<fields>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_DATE_FIELD: Final = re.compile(r"^date:[ \t]*[\"']?(?P<date>[^\"'#\n]+)", re.MULTILINE)
_CONTROL: Final = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
_PIECE: Final = re.compile(r"(?:\S+\s*){1,%d}" % SECTION_WORDS)  # noqa: UP031

_HEADING: Final = re.compile(r"(?P<marks>#{1,3})[ \t]+(?P<title>.*?)(?:[ \t]+#+)?[ \t]*")
_FENCE: Final = re.compile(
    r"[ \t>]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)*(?P<marks>`{3,}(?=[^`]*\Z)|~{3,})(?P<after>.*)"
)
"""A line that opens code, also as the first of a list's item, or closes it where nothing is after the marks."""


class _Line(NamedTuple):
    """A line of a document: whether it is code, and the level and title of the heading that it is, 0 for none."""

    text: str
    is_code: bool = False
    level: int = 0
    title: str = ""


def messages(file: Input) -> Iterator[RawMessage]:
    """The sections of a Markdown or text file.

    Markdown is cut at headings of level 1 to 3; a section begins with the path of its headings. Plain text,
    and a section that is too long, is cut between paragraphs at about `SECTION_WORDS`. The time is the
    front matter's `date`, else that of the file.
    """
    fields, text = document_text(file)
    date = _DATE_FIELD.search(fields)
    event_time = (parse_time(date["date"]) if date else None) or file_time(file.path)
    session_id = stable_id("file", path_text(file.path.resolve().parent.name), path_text(file.path.name))
    is_markdown = file.path.suffix.lower() in MARKDOWN_SUFFIXES
    for number, section in enumerate(sections_of(text, is_markdown=is_markdown), start=1):
        file.counts.entry_count += 1
        yield RawMessage(session_id, "document", (section,), event_time, place=f"section {number}")


FORMAT: Final = Format(
    name="document",
    title=f"or a document ({', '.join(sorted(_SUFFIXES))})",
    messages=messages,
    is_path=lambda path: path.suffix.lower() in _SUFFIXES,
    in_folders=r".*\.(?:md|markdown|txt)",
    source_type="file",
)


def document_text(file: Input) -> tuple[str, str]:
    """The fields of a document's front matter, as it has them, and its text without injected memory and secrets.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or is not text.
    """
    text, fields = _read_text(file), ""
    if file.path.suffix.lower() in MARKDOWN_SUFFIXES and (front := _FRONT_MATTER.match(text)):
        file.counts.parts["front matter"] += 1
        fields, text = front["fields"], text[front.end() :]
    text, redacted = redact(without_injected(text, file.counts))
    file.counts.redacted.update(redacted)
    return fields, text


def _read_text(file: Input) -> str:
    with open_bytes(file.path, file.bounds, "document_bytes") as (opened, size):
        raw = opened.read(size)
    text = raw.decode("utf-8-sig", "replace")
    odd_count = sum(1 for _ in _CONTROL.finditer(text))
    if b"\x00" in raw or odd_count * 20 > len(text):
        raise InputError(
            f"{shown_path(file.path)} is not text: name a Markdown or text file, saved as UTF-8."
        )
    return clean_text(text).replace("\r\n", "\n").replace("\r", "\n")


def sections_of(text: str, *, is_markdown: bool) -> Iterator[str]:
    """The sections of a text, each under the path of its headings; without `is_markdown` there are none of these."""
    path: list[_Line] = []
    below: list[_Line] = []
    for line in _scanned(text.split("\n")):
        if not line.level or not is_markdown:
            below.append(line)
            continue
        yield from _gather(" > ".join(upper.title for upper in path), _paragraphs(below))
        path, below = [*(upper for upper in path if upper.level < line.level), line], []
    yield from _gather(" > ".join(upper.title for upper in path), _paragraphs(below))


def _scanned(lines: Iterable[str]) -> Iterator[_Line]:
    """The lines with what they are; code that nothing closes goes on to the end."""
    opened = ""
    for line in lines:
        fence, heading = _FENCE.fullmatch(line), _HEADING.fullmatch(line)
        if opened:
            is_closing = (
                fence is not None and fence["marks"].startswith(opened) and not fence["after"].strip()
            )
            yield _Line(line, is_code=True)
            opened = "" if is_closing else opened
        elif fence:
            yield _Line(line, is_code=True)
            opened = fence["marks"]
        elif heading and heading["title"]:
            yield _Line(line, level=len(heading["marks"]), title=heading["title"])
        else:
            yield _Line(line)


def _paragraphs(lines: list[_Line]) -> Iterator[str]:
    """Text between blank lines; a code block stays whole."""
    paragraph: list[str] = []
    for line in lines:
        if line.text.strip() or line.is_code:
            paragraph.append(line.text)
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
