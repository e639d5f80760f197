"""Show what redaction would take out of files, without taking it and without showing it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from slowwave.ingest.bounds import Bounds
from slowwave.ingest.files import open_bytes
from slowwave.ingest.redact.spans import Span, find, masked
from slowwave.ingest.redact.table import Rules
from slowwave.schemas.results import SecretPlace

_BOUNDS: Final = Bounds(file_bytes=100_000_000)
"""A file is looked through as a whole, in some ten times its size of memory."""
_BEFORE: Final = 60
_AFTER: Final = 30
_NEAR: Final = 30
"""Secrets before and after one that may stand in what is shown of it."""


def check_file(path: Path, rules: Rules) -> Iterator[SecretPlace]:
    """The secrets of a file, in its order; bytes that are no UTF-8 are read as signs for that.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or has more than 100 MB.
    """
    with open_bytes(path, _BOUNDS) as (file, size):
        text = file.read(size).decode("utf-8-sig", "replace")
    spans, line, done = find(text, rules), 1, 0
    for number, span in enumerate(spans):
        line, done = line + text.count("\n", done, span.start), span.start
        yield SecretPlace(
            file=str(path),
            line=line,
            column=span.start - text.rfind("\n", 0, span.start),
            kind=span.kind,
            rule=span.rule,
            shown=_shown(text, span, spans[max(0, number - _NEAR) : number + _NEAR]),
        )


def _shown(text: str, span: Span, near: Sequence[Span]) -> str:
    """The surroundings of a secret on its line, with marks for it and for all others in them."""
    begin = max(text.rfind("\n", 0, span.start) + 1, span.start - _BEFORE)
    stop = text.find("\n", span.end, span.end + _AFTER)
    stop = min(len(text), span.end + _AFTER) if stop < 0 else stop
    inside = [
        one._replace(start=max(one.start, begin) - begin, end=min(one.end, stop) - begin)
        for one in near
        if one.start < stop and begin < one.end
    ]
    return " ".join(masked(text[begin:stop], inside).split())
