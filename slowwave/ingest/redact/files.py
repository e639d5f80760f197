"""Show what redaction would take out of files, without taking it and without showing it."""

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from slowwave.errors import InputError, NotFoundError
from slowwave.ingest.redact.spans import Span, find, masked
from slowwave.ingest.redact.table import Rules
from slowwave.schemas.results import SecretPlace

BLOCK: Final = 262_144
"""Characters that are looked through at once."""
OVERLAP: Final = 32_768
"""Characters before and after a block that are looked at with it: the longest secret and its surroundings."""
_BEFORE: Final = 60
_AFTER: Final = 30


def check_file(path: Path, rules: Rules) -> Iterator[SecretPlace]:
    """The secrets of a file, in its order; bytes that are no UTF-8 are read as signs for that.

    Raises:
        NotFoundError: there is no such file.
        InputError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            yield from check_stream(file, str(path), rules)
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no file {path}: check the path") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from error


def check_stream(file: BinaryIO, name: str, rules: Rules) -> Iterator[SecretPlace]:
    """The secrets of a stream, block by block: never more of it is held than a block and its surroundings."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    text, done = "", 0
    line, column = 1, 1
    while True:
        raw = file.read(BLOCK)
        text += decoder.decode(raw, final=not raw)
        end = len(text) if not raw else len(text) - OVERLAP
        if end > done:
            spans = find(text, rules)
            place = done
            for span in spans:
                if done <= span.start < end:
                    line, column = _moved(text, place, span.start, line, column)
                    place = span.start
                    yield _shown(text, spans, span, name, line, column)
            line, column = _moved(text, place, end, line, column)
            done = end
        if not raw:
            return
        cut = max(0, done - OVERLAP)
        text, done = text[cut:], done - cut


def _moved(text: str, start: int, end: int, line: int, column: int) -> tuple[int, int]:
    breaks = text.count("\n", start, end)
    return (line + breaks, end - text.rfind("\n", start, end)) if breaks else (line, column + end - start)


def _shown(text: str, spans: list[Span], span: Span, name: str, line: int, column: int) -> SecretPlace:
    near = [one for one in spans if one.end > span.start - 2 * _BEFORE and one.start < span.end + 2 * _AFTER]
    begin = min([span.start - _BEFORE, *(one.start for one in near)])
    begin = max(text.rfind("\n", max(0, begin), span.start) + 1, begin, 0)
    stop = text.find("\n", span.end, span.end + _AFTER)
    stop = min(len(text), span.end + _AFTER) if stop < 0 else stop
    stop = max([stop, *(one.end for one in near if one.start < stop)])
    inside = [
        one._replace(start=one.start - begin, end=one.end - begin)
        for one in near
        if begin <= one.start and one.end <= stop
    ]
    shown = masked(text[begin:stop], inside)
    return SecretPlace(
        file=name, line=line, column=column, kind=span.kind, rule=span.rule, shown=" ".join(shown.split())
    )
