"""The fence around recalled memory, so that it is never ingested again as something new.

Whoever puts memory into a prompt writes it between `FENCE_OPEN` and `FENCE_CLOSE`; the readers cut it out
before anything is stored. Whoever writes the fence must keep these tags out of the text inside it.
"""

import re

FENCE_OPEN = "<slowwave-memory>"
FENCE_CLOSE = "</slowwave-memory>"

_TAG = re.compile(
    r"(?:<|&lt;|\\u003c)[ \t]{0,3}(?P<close>/?)[ \t]{0,3}slowwave-memory(?![\w-])"
    r"(?P<rest>(?:(?!&[lg]t;|\\u003[ce])[^<>])*+)(?:>|&gt;|\\u003e)?",
    re.IGNORECASE,
)
_QUOTE_PREFIX = re.compile(r"(?:^|(?<=\n))[>| \t]+\Z")


def strip_injected(text: str) -> tuple[str, int]:
    """Text without fenced memory, and how many fences were cut out.

    Attributes, upper case, escaped tags and "> " quotation are recognised; nested fences count as one. A
    fence that is never closed reaches to the end, a closing tag alone is only dropped.
    """
    kept: list[str] = []
    cut_count = depth = position = 0
    for tag in _TAG.finditer(text):
        if depth == 0:
            kept.append(text[position : tag.start()])
        if tag["close"]:
            depth = max(depth - 1, 0)
        elif not tag["rest"].endswith("/"):
            depth += 1
        if depth == 0:
            cut_count += 1
            position = tag.end()
    if not kept:
        return text, 0
    if depth:
        return _join(kept), cut_count + 1
    return _join([*kept, text[position:]]), cut_count


def _join(pieces: list[str]) -> str:
    """Pieces around the cuts with white space between them, so that no new tag can form there.

    What stood behind a cut in a quoted line stays quoted: a tag makes nobody else's text the writer's word.
    """
    told, is_quoted = list[str](), False
    for place, piece in enumerate(pieces):
        bare = piece
        if place < len(pieces) - 1:
            bare = piece[:-200] + _QUOTE_PREFIX.sub("", piece[-200:])
        goes_on = is_quoted and not piece.lstrip(" \t").startswith("\n")
        if text := bare.strip():
            told.append(f"> {text}" if goes_on else text)
        is_quoted = piece.rpartition("\n")[2].lstrip().startswith(">") or (goes_on and "\n" not in piece)
    return "\n".join(told)
