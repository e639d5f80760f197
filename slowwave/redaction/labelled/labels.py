"""Labels: the words near which a secret stands. `labels.toml` holds them, here they are found in a text."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, Final, Literal

from slowwave.deferred import pattern
from slowwave.redaction.shapes import is_scattered

LabelKind = Literal[
    "password", "key", "token", "weak", "pin", "code", "codes", "seed", "totp", "login", "hint"
]

TABLE: Final[dict[str, Any]] = tomllib.loads((files(__package__) / "labels.toml").read_text(encoding="utf-8"))
_KINDS: Final[tuple[LabelKind, ...]] = (
    "password", "key", "totp", "codes", "pin", "seed", "token", "weak", "code", "login", "hint"
)  # fmt: skip
NO_LABEL_ENDS: Final = frozenset(TABLE["no_label"]["ends"].split())
NO_LABEL_STARTS: Final = frozenset(TABLE["no_label"]["starts"].split())
ABOUT: Final = frozenset(TABLE["links"]["about"].split())
"""Words with which a sentence speaks about a secret and does not tell it."""
LINKS_AFTER: Final = frozenset(TABLE["links"]["says"].split())
"""Words between a label and its value."""
LINKS_TELLING: Final = frozenset(TABLE["links"]["telling"].split())
"""Those among them that say what something is: a word in quotes after them is a value."""
LINKS_REPORTING: Final = frozenset(TABLE["links"]["reporting"].split())
"""Those after which even a plain word is one."""
LINK_FILLERS: Final = frozenset(TABLE["links"]["fillers"].split())
LINKS_TOLD: Final = frozenset(TABLE["links"]["told"].split())
"""Words after which somebody is told to type a value: a word with digits after them is one."""
LINKS_BEFORE: Final = frozenset(TABLE["links"]["before"].split())
"""Words between a value and the label after it."""


@dataclass(frozen=True)
class Label:
    """A label in a text: from `start` to `end`, and `kinds` that the word can have, the likeliest first.

    `name_start` and `name_end` are the whole name that it is a part of, as in `DB_PASSWORD_2`.
    """

    start: int
    end: int
    kind: LabelKind
    kinds: tuple[LabelKind, ...]
    name_start: int
    name_end: int
    word: str


def _units(entry: str) -> list[str]:
    """An entry, a pattern a character."""
    return [{" ": "[ _.-]?", "'": "['’]?", "-": "[ _-]?"}.get(one, re.escape(one)) for one in entry]


def _trie(entries: Iterable[list[str]], *, is_top: bool = True) -> str:
    """A pattern that finds the longest of the entries, and tries each character once.

    A sign that may be missing comes last: before "signing key" is found, "sign in" must not have been.
    """
    branches: dict[str, list[list[str]]] = {}
    is_end = False
    for units in entries:
        if units:
            branches.setdefault(units[0], []).append(units[1:])
        else:
            is_end = True
    parts = [
        (rf"{unit}(?<![^\W\d_]{unit})" if is_top else unit) + _trie(rest, is_top=False)
        for unit, rest in sorted(branches.items(), key=lambda branch: branch[0].endswith("?"))
    ]
    if not parts:
        return ""
    whole = parts[0] if len(parts) == 1 and not is_end else f"(?:{'|'.join(parts)})"
    return whole + "?" if is_end else whole


def alternatives(entries: Iterable[str]) -> re.Pattern[str]:
    """A pattern that finds words in a text in lower case; an entry with a star at its end may go on."""
    open_ended = [_units(entry.removesuffix("*")) for entry in entries if entry.endswith("*")]
    whole = [_units(entry) for entry in entries if not entry.endswith("*")]
    return re.compile(rf"(?:{_trie(open_ended)}|(?:{_trie(whole)})(?![^\W\d_]))")


def _plain(word: str) -> str:
    return re.sub(r"[ _.'’-]", "", word)


LABEL_WORDS: Final = frozenset(
    _plain(word.removeprefix("."))
    for kind in ("password", "key", "token")
    for words in TABLE[kind].values()
    for word in words
)
"""The words that name a secret, without blanks and signs."""


FIRST_TEXTS: Final = 30
SHORT_TEXT: Final = 2_000
"""So many texts of so many characters are looked through for each label before all are compiled."""


@dataclass(frozen=True)
class _Patterns:
    """Labels as patterns, each compiled when it is first used; `inside` are those that a word may have within it."""

    entries: tuple[str, ...]
    inside: frozenset[str]

    @property
    def has_inside(self) -> bool:
        return not self.inside.isdisjoint(self.entries)

    @cached_property
    def at_begin(self) -> re.Pattern[str]:
        return re.compile(_trie(map(_units, self.entries)))

    @cached_property
    def anywhere(self) -> re.Pattern[str]:
        return re.compile(_trie(map(_units, self.entries), is_top=False))

    @cached_property
    def within(self) -> re.Pattern[str]:
        return re.compile(_trie(map(_units, filter(self.inside.__contains__, self.entries)), is_top=False))


def _misspelled() -> Iterator[str]:
    """The long words for a password with a letter left out, doubled or swapped with the next."""
    for word in TABLE["misspelled"]["words"].split():
        for place in range(1, len(word)):
            yield word[:place] + word[place + 1 :]
            yield word[:place] + word[place] + word[place:]
            yield word[:place] + word[place : place + 2][::-1] + word[place + 2 :]


def _compounds() -> Iterator[str]:
    """Names of settings in one word that end in a word for a password: `dbpass`, `rootpw`."""
    compounds = TABLE["compounds"]
    for start in compounds["starts"].split():
        yield from (start + end for end in compounds["ends"].split())


class Labels:
    """All labels, those of the settings among them, as one pattern."""

    def __init__(self, own: Iterable[str] = ()) -> None:
        kinds: dict[str, list[LabelKind]] = {}
        inside: set[str] = set()
        entries: set[str] = set()
        for kind in _KINDS:
            for entry in (word for words in TABLE[kind].values() for word in words):
                word = entry.removeprefix(".")
                entries.add(word)
                if entry != word:
                    inside.add(word)
                kinds.setdefault(_plain(word), []).append(kind)
        for entry in (*_misspelled(), *_compounds()):
            if entry not in entries:
                entries.add(entry)
                kinds.setdefault(_plain(entry), []).append("password")
        for entry in (word.strip().lower() for word in own):
            entries.add(entry)
            kinds[_plain(entry)] = ["password"]
        self._kinds = {word: tuple(dict.fromkeys(found)) for word, found in kinds.items()}
        self._hints = sorted({word[:4] for word in inside})
        self._all = _Patterns(tuple(sorted(entries)), frozenset(inside))
        self._plain = [(entry, _plain(entry)) for entry in self._all.entries]
        self._text_count = 0

    def _patterns_for(self, lowered: str) -> "_Patterns":
        """The patterns of all labels; of the first texts, if they are short, of those that may stand in this one.

        To compile all takes a tenth of a second, which is longer than whoever says one sentence should wait.
        """
        self._text_count += 1
        if self._text_count > FIRST_TEXTS or len(lowered) > SHORT_TEXT:
            return self._all
        plain = _plain(lowered)
        return _Patterns(tuple(entry for entry, word in self._plain if word in plain), self._all.inside)

    def find(self, text: str, lowered: str) -> Iterator[Label]:
        """The labels of a text, by their start; `lowered` is the text in lower case, as long as the text."""
        patterns = self._patterns_for(lowered)
        if not patterns.entries:
            return
        starts: dict[int, int] = {}
        position = 0
        while match := patterns.at_begin.search(lowered, position):
            starts[match.start()] = match.end()
            position = match.end() if _ends_word(text, lowered, match.end()) else match.start() + 1
        if patterns.has_inside and any(hint in lowered for hint in self._hints):
            for match in patterns.within.finditer(lowered):
                starts.setdefault(match.start(), match.end())
        for match in _CAMEL.finditer(text):
            if match.start() not in starts and (found := patterns.anywhere.match(lowered, match.start())):
                starts[match.start()] = found.end()
        done = 0
        for start in sorted(starts):
            end = starts[start]
            if (
                start >= done
                and not _is_in_mark(text, start)
                and not _is_in_name(text, start)
                and (label := self._label(text, lowered, start, end))
            ):
                yield label
                done = label.end

    def _label(self, text: str, lowered: str, start: int, end: int) -> Label | None:
        kinds = self._kinds.get(_plain(lowered[start:end]))
        if text.rfind("-----", max(0, start - _HEAD_REACH), start) > text.rfind(
            "\n", max(0, start - _HEAD_REACH), start
        ):
            return None  # the first or the last line of a block
        is_folder = lowered[start:end] == "pwd" and text[max(0, start - 2) : start].endswith(("$", "${"))
        if is_folder or _MODULE.match(text, start) or _is_encoded(text, start, end):
            return None
        if not kinds or not _ends_word(text, lowered, end):
            return None
        tail = _TAIL.match(text, end)
        name_end = tail.end() if tail else end
        if tail and tail[0]:
            pieces = _SEGMENT.findall(tail[0])
            if pieces and (pieces[-1].lower() in NO_LABEL_ENDS or pieces[0].lower() in NO_LABEL_ENDS):
                return None
        head = _HEAD.search(text, max(0, start - _HEAD_REACH), start)
        before = head[0] if head else ""
        name_start = start if before.endswith(" ") else start - len(before)
        if _is_verb(text, lowered[start:end], start, end) or before.lower().endswith(("public", "public ")):
            return None
        if end - start <= 4 and (text[start - 1 : start].isdigit() or is_scattered(text[name_start:start])):
            return None
        if kinds[0] not in ("password", "codes", "seed", "login") and " of " not in lowered[start:end]:
            first = _SEGMENT.findall(before)
            is_lock = kinds[0] in ("pin", "code") and before.lower().endswith("lock ")
            if first and first[-1].lower() in NO_LABEL_STARTS and not is_lock:
                return None
        return Label(start, end, kinds[0], kinds, name_start, name_end, lowered[start:end])


_VERB_BEFORE = pattern(
    r"(?i)(?:\b(?:to|can|not|don't|we|you|they|i|must|should|will|could|that|please|let|it|and|or|then|all|tests|checks)|^|\A)[ ]\Z"
)
_OBJECT = pattern(r"[ ](?:to|it|the|an?|in|on|through|over|this|that|them|all|your|any|as|along|by)[ ]")
_ARTICLE = pattern(r"(?i)\b(?:the|my|our|your|new|old|an?|his|her|their)[ ]\Z")
_STATEMENT = pattern(r":[^\n]{0,60}\n[ \t#.>]*\Z")


def _is_verb(text: str, word: str, start: int, end: int) -> bool:
    """Return whether "pass" is what somebody does, or a statement of a program that does nothing."""
    if word != "pass" or text[end : end + 1] not in ("", " ", "\n", "\\", ")", ".", ",", ";"):
        return False
    is_told = bool(_VERB_BEFORE.search(text, max(0, start - 10), start))
    is_told = is_told or bool(
        _OBJECT.match(text, end) and not _ARTICLE.search(text, max(0, start - 10), start)
    )
    return is_told or bool(_STATEMENT.search(text, max(0, start - 120), start))


_NETWORK = pattern(r"(?i)\b(?:wi-?fi|wlan|wpa2?|psk2?|ssid)\b")
_NETWORK_REACH = 160


def is_of_network(text: str, label: Label, end: int) -> bool:
    """Return whether words of a wireless network stand near what goes from a label to `end`."""
    return bool(_NETWORK.search(text, max(0, label.start - _NETWORK_REACH), end + _NETWORK_REACH))


_SIGNS_OF_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_LONGEST_NAME = 40


def _is_encoded(text: str, start: int, end: int) -> bool:
    """Return whether a word stands by chance inside base64, as that of a certificate or an image."""
    first, last = start, end
    while first > start - _LONGEST_NAME and text[first - 1 : first] in _SIGNS_OF_BASE64:
        first -= 1
    while last < end + _LONGEST_NAME and text[last : last + 1] in _SIGNS_OF_BASE64:
        last += 1
    return last - first >= _LONGEST_NAME and is_scattered(text[first:last])


_HEAD_REACH = 40
_MODULE = pattern(r"pwd\.\w+\(")
_CAMEL = pattern(r"[A-Z](?<=[a-z0-9][A-Z])(?=[a-z]|[A-Z]{2})")
_TAIL = pattern(r"(?:(?:[sS](?![A-Za-z]))?(?:[A-Za-z0-9]|[_.-](?=[A-Za-z0-9])){0,60})(?:\[\w{1,20}\])?")
_HEAD = pattern(r"[\w.-]{1,40}[ ]?\Z")
_RESOURCE = pattern(r"(?<![\w:])(?:arn|urn|crn):[\w:/.*@+-]{0,200}\Z")
_TYPE_NAME = pattern(r"[A-Z]\w*::[A-Z]\w*::\w*\Z")
_TEMPLATE = pattern(r"\{\{[^\n{}\"'`:=]{1,160}\}\}")
_SEGMENT = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def _is_in_mark(text: str, position: int) -> bool:
    """Return whether a place is inside a mark of redaction: the kind that it names is no label."""
    opened = text.rfind("[redacted:", max(0, position - 60), position)
    return opened >= 0 and text.find("]", opened, position) < 0


def _is_in_name(text: str, position: int) -> bool:
    """Return whether a place is inside the name of a resource (`arn:...:secret:x`) or a template without a literal."""
    if _TYPE_NAME.search(text, max(0, position - 60), position):
        return True
    if text[position - 1 : position] == ":" and _RESOURCE.search(text, max(0, position - 200), position):
        return True
    begin = text.rfind("{{", max(0, position - 80), position)
    template = _TEMPLATE.match(text, begin) if begin >= 0 else None
    return bool(template and position < template.end())


def _ends_word(text: str, lowered: str, end: int) -> bool:
    """Return whether a word ends here: no letter follows, or a capital after a small one; a plural's s is no letter."""
    if lowered[end : end + 1] == "s":
        end += 1
    following = text[end : end + 1]
    if not following.isalpha():
        return True
    return following.isupper() and text[end - 1].islower()
