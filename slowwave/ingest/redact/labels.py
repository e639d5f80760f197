"""Labels: words that name a secret, in names of settings and in sentences. `labels.txt` has them for eight languages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

from slowwave.ingest.redact import looks

KINDS: Final = {
    "password": "password", "key": "secret", "token": "token", "pin": "pin", "codes": "recovery-code", "seed": "seed-phrase",
    "totp": "totp",
}  # fmt: skip
"""The kind of the mark for each kind of label."""
MOST_A_LINE: Final = 8
_JOINT: Final = r"[ _.-]?"
_NAME_AFTER = re.compile(r"[\w-]{0,60}")
_NAME_BEFORE = re.compile(r"[\w.-]{0,60}\Z")
_WORD_BEFORE = re.compile(r"([^\W\d_]{2,20})[ _.-]{0,2}\Z")
_SPELLED = re.compile(r"[ _.-]")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_A-Za-z]+")


def _read() -> dict[str, tuple[str, ...]]:
    sections: dict[str, list[str]] = {}
    words: list[str] = []
    for line in (files(__package__) / "labels.txt").read_text(encoding="utf-8").splitlines():
        if re.fullmatch(r"\[[a-z]+\]", line):
            words = sections.setdefault(line[1:-1], [])
        elif line and not line.startswith("# "):
            words += line.split()
    return {name: tuple(dict.fromkeys(entries)) for name, entries in sections.items()}


TABLE: Final = _read()
_AFTER: Final = frozenset(TABLE["after"])
_BEFORE: Final = frozenset(TABLE["before"])
_KIND_OF: Final = {word.strip("~"): kind for kind in reversed([*KINDS]) for word in TABLE[kind]}
_INSIDE: Final = frozenset(word[1:] for kind in KINDS for word in TABLE[kind] if word.startswith("~"))
_STEMS: Final = {
    stem: tuple(word for word in _KIND_OF if max(word.split("_"), key=len) == stem)
    for stem in dict.fromkeys(max(word.split("_"), key=len) for word in _KIND_OF)
}
"""Labels by the part of them that stands in any spelling."""
_SPACELESS = re.compile(r"[぀-ヿ一-鿿가-힣]")


@dataclass(frozen=True, slots=True)
class Label:
    """A word that names a secret: `start` and `end` of the name that it is part of, and what kind it is of."""

    kind: str
    word: str
    start: int
    end: int
    is_name: bool
    """Whether it stands in a name of a setting, as in `DB_PASSWORD`, and not alone."""

    @property
    def mark(self) -> str:
        """The kind of the mark."""
        return KINDS[self.kind]


def find_labels(text: str, lowered: str, own: tuple[str, ...]) -> Iterator[Label]:
    """The labels of a text, in order: at most 8 a line."""
    present = tuple(word for stem, words in _STEMS.items() if stem in lowered for word in words) + own
    if not present:
        return
    pattern, line_end, count, place = _pattern(present), -1, 0, 0
    while match := pattern.search(lowered, place):
        if match.start() > line_end:
            found = text.find("\n", match.start())
            line_end, count = (found if found >= 0 else len(text)), 0
        label = _label(text, match)
        place = label.end if label else match.start() + 1  # `otp` is in `rootPassword`
        count += bool(label)
        if label:
            yield label
        if count >= MOST_A_LINE:
            place = max(place, line_end)


@lru_cache(256)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    ordered = sorted(words, key=len, reverse=True)
    return re.compile(
        "|".join(re.escape(word).replace("_", _JOINT).replace(r"\ ", _JOINT) for word in ordered)
    )


def _label(text: str, match: re.Match[str]) -> Label | None:
    """The label that a word is, with the whole name that it is part of; null where the name is of something else."""
    start, end = match.span()
    word = _canonical(match[0])
    is_inside, is_spaceless = word in _INSIDE, bool(_SPACELESS.match(match[0]))
    before, after = ("", "") if is_spaceless else _around(text, start, end)
    rest = after.removeprefix("s")
    is_longer = rest[:1].islower() or (rest[:1].isupper() and text[start:end].isupper() and not is_inside)
    if is_longer or (not is_inside and _is_in_word(text, start)):
        return None
    words = {found.lower() for found in _WORDS.findall(rest)}
    if not _AFTER.isdisjoint(words) or looks.is_scattered(name := before + text[start:end] + after):
        return None
    kind = _KIND_OF.get(word, "password")
    if kind in ("token", "key", "pin") and (former := _WORD_BEFORE.search(text, max(0, start - 24), start)):
        last = _WORDS.findall(former[1])
        if last and last[-1].lower() in _BEFORE:
            return None
    return Label(kind, word, start - len(before), end + len(after), name != text[start:end])


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    """The parts of a name before and after a word in it."""
    before = next(_NAME_BEFORE.finditer(text, max(0, start - 60), start))[0]
    return before, next(_NAME_AFTER.finditer(text, end))[0]


@lru_cache(512)
def _canonical(written: str) -> str:
    """The word of the table for a spelling of it."""
    word = _SPELLED.sub("_", written)
    return (
        word
        if word in _KIND_OF
        else next((one for one in _KIND_OF if one.replace("_", "") == word.replace("_", "")), word)
    )


def _is_in_word(text: str, start: int) -> bool:
    """Return whether a longer word goes on before a place: `compass`, but not `dbPass`."""
    return (
        start > 0
        and text[start - 1].isalpha()
        and text[max(0, start - 2) : start] != "-D"
        and not (text[start - 1].islower() and text[start].isupper())
    )
