"""The table of rules that are patterns: `rules.toml` holds it, here its lines get their types."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, Final

from slowwave.redaction.checks import CHECKS
from slowwave.redaction.values import without_closers

Accepts = Callable[[re.Match[str], int, int], bool]

EDGE = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})"
    r"|(?<=\[\dm)|(?<=\[\d\dm)|(?<=\[\d;\d\dm))"
)
"""The edge at which a token may begin: not inside a word, but after an escaped line break, a %-escape or a colour."""

VALUE = r"(?:\"(?P<double>[^\"\n]{3,200})\"|'(?P<single>[^'\n]{3,200})'|(?P<bare>[^\s\"'`]{3,256}))"
_REACH = 400
"""Characters around a hint in which its match begins and ends, but for the rest of the last line."""
_MASK = re.compile(r"[xX]{12}|0{16}|\*{6}|(?:X{4}-){3}")
"""What a placeholder holds in the place of a key."""
_GROUPS = ("secret", "double", "single", "bare")


@dataclass(frozen=True)
class Rule:
    """One pattern, and which part of its match is the secret.

    `hints` are lower-case texts, one of which every match holds: without any of them the pattern is not tried.
    `is_long` says that they stand in a run of 16 characters or more. `accepts` has the last word. `where`, `what`,
    `why` and `example` are for people.
    """

    name: str
    kind: str
    expression: str
    hints: tuple[str, ...]
    accepts: Accepts | None = None
    is_long: bool = False
    where: str = ""
    what: str = ""
    why: str = ""
    example: str = ""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled once a text has one of the hints: compiling all takes a tenth of a second."""
        return re.compile(self.expression)

    def spans(self, text: str, lowered: str, hints: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Start and end of each secret that the pattern finds, in the order of the text.

        `lowered` is the text in lower case, `hints` are those of the rule's that it holds.
        """
        for start, end in self._windows(lowered, hints):
            position = start
            while match := self.pattern.search(text, position, end):
                found_start, found_end = self._span(match)
                if found_start < found_end and self._is_accepted(match, found_start, found_end):
                    yield found_start, found_end
                    position = max(found_end, match.start() + 1)
                else:
                    position = max(
                        found_start if found_start > match.start() else found_end, match.start() + 1
                    )

    def _is_accepted(self, match: re.Match[str], start: int, end: int) -> bool:
        if self.is_long and end - start <= _REACH and _MASK.search(match.string, start, end):
            return False
        return self.accepts is None or self.accepts(match, start, end)

    def _windows(self, lowered: str, hints: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Parts of the text in which a match can be: the lines around each hint."""
        position, length = 0, len(lowered)
        if self.is_long:
            yield position, length
            return
        upcoming = {hint: lowered.find(hint) for hint in hints}
        while position < length:
            for hint, found in upcoming.items():
                if 0 <= found < position:
                    upcoming[hint] = lowered.find(hint, position)
            if (nearest := min((found for found in upcoming.values() if found >= 0), default=-1)) < 0:
                return
            end = lowered.find("\n", min(nearest + _REACH, length))
            end = length if end < 0 else end
            yield max(position, nearest - _REACH), end
            position = end

    def _span(self, match: re.Match[str]) -> tuple[int, int]:
        """Start and end of the secret: its named group, else the whole match."""
        for group in _GROUPS:
            if group in self.pattern.groupindex and match.start(group) >= 0:
                start, end = match.span(group)
                return start, start + len(without_closers(match[group])) if group == "bare" else end
        return match.span()


def _read(name: str, given: Mapping[str, Any], group: Mapping[str, Any]) -> Rule:
    return Rule(
        name=name,
        kind=given["kind"],
        expression=given["pattern"].replace("<edge>", EDGE).replace("<value>", VALUE),
        hints=tuple(given["hints"]),
        accepts=CHECKS[given["check"]] if "check" in given else None,
        is_long=given.get("long", group.get("long", False)),
        where=group["where"],
        what=given["what"],
        why=group["why"],
        example=given["example"],
    )


def _read_all() -> Iterator[Rule]:
    table = tomllib.loads((files(__package__) / "rules.toml").read_text(encoding="utf-8"))
    for title, group in table.items():
        for number, given in enumerate(group["rules"], start=1):
            yield _read(f"{title}-{number}", given, group)


RULES: Final = tuple(_read_all())
"""The rules in the order of their table: where two find the same place, the first names the kind."""


def own_rule(name: str, pattern: str) -> Rule:
    """A rule of the settings: its pattern is bounded there, and is tried on every text."""
    return Rule(name, name, pattern, hints=("",), where="settings", what="own rule")
