"""Stored text in Markdown, escaped so that it stays text whatever stands in it, and names of files from titles."""

import re
import unicodedata
from typing import Final

from slowwave.schemas.identity import stable_id

_SPECIAL: Final = re.compile(r"[\\`*_{}\[\]<>#|~!$=%^&]")
_LINE_START: Final = re.compile(r"^(?:[-+]|\d{1,9}[.)])(?=\s|$)")
_FIELD: Final = re.compile(r"::")
_LINK: Final = re.compile(r"(?i)\b(https?|ftp|file|obsidian|mailto|javascript|data):")
_NO_NAME: Final = re.compile(r'[\\/:*?"<>|#^\[\]\x00-\x1f\x7f]')
_RESERVED: Final = re.compile(r"(?i)^(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?$")
_LONGEST: Final = 80
_MOST_BYTES: Final = 240
"""Bytes of a file's name without its ending and the part of a hash: file systems take 255."""
_TAIL: Final = 6


def plain(text: str) -> str:
    """Text as one line of Markdown that shows it as it is: no markup, tag, link, embed, comment, field or query in it.

    Addresses stay readable and are no links.
    """
    line = " ".join(_without_controls(text).split())
    safe = _SPECIAL.sub(r"\\\g<0>", line)
    safe = _FIELD.sub(r":\\:", safe)
    safe = _LINK.sub(r"\1\\:", safe)
    return _LINE_START.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", safe)


def file_names(titles: dict[str, str]) -> dict[str, str]:
    """A file name without its ending for each key, from its title; titles that would share one get a part of a hash."""
    bare = {key: _file_name(title) for key, title in titles.items()}
    folded = [name.casefold() for name in bare.values()]
    return {
        key: name if folded.count(name.casefold()) == 1 else f"{name} {stable_id('file', key)[:_TAIL]}"
        for key, name in bare.items()
    }


def _file_name(title: str) -> str:
    name = " ".join(_NO_NAME.sub(" ", _without_controls(title)).split())[:_LONGEST]
    name = name.encode()[:_MOST_BYTES].decode(errors="ignore").strip(" .")
    return f"_{name}" if not name or _RESERVED.match(name) else name


def _without_controls(text: str) -> str:
    """Text without characters that are not seen but for blanks: those that turn the direction of writing among them."""
    composed = unicodedata.normalize("NFC", text)
    return "".join(
        character if unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp") else " "
        for character in composed
    )
