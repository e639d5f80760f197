"""Settings of redaction: rules, labels and exceptions of one's own, and which patterns are let in.

A pattern must be linear, whatever text it is tried on: each repetition has an upper bound, or stands at the end; none
stands inside another; and all together try few lengths at a place.
"""

import re
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any, Final

from pydantic import field_validator

from slowwave.settings.groups import Group, setting

_LONGEST_PATTERN: Final = 400
_MOST_TRIES: Final = 20_000
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")
_REPEATS: Final = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)


class RedactionSettings(Group):
    """Secrets that only this home knows of, in addition to the rules of `slowwave/ingest/redact/table.txt`."""

    rules: dict[str, str] = setting(
        {}, "Own rules: kind of the mark, and a regular expression whose group `secret` goes, or all of it."
    )
    labels: list[str] = setting([], 'Own words near which a secret stands, as "password" is one.')
    keep: list[str] = setting(
        [], "Regular expressions of what stays although a rule finds it, matched whole."
    )

    @field_validator("rules")
    @classmethod
    def _rules_are_usable(cls, rules: dict[str, str]) -> dict[str, str]:
        for name, pattern in rules.items():
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no kind: use small letters, digits and hyphens, 40 at most")
            refuse_slow(pattern)
        return rules

    @field_validator("keep")
    @classmethod
    def _exceptions_are_usable(cls, keep: list[str]) -> list[str]:
        for pattern in keep:
            refuse_slow(pattern)
        return keep

    @field_validator("labels")
    @classmethod
    def _labels_are_words(cls, labels: list[str]) -> list[str]:
        for label in labels:
            if not 2 <= len(label.strip()) <= 60 or not label.strip()[0].isalnum() or "\n" in label:  # noqa: PLR2004
                raise ValueError(
                    f"{label!r} is no label: a word or a few, 2 to 60 characters that begin with a letter"
                )
        return labels


def refuse_slow(pattern: str) -> None:
    """Refuse a pattern that is no regular expression, or whose time could grow faster than the text.

    Raises:
        ValueError: the pattern is refused, also where it matches the empty text; the message names it.
    """
    try:
        compiled = re.compile(pattern)
        parsed = _parser.parse(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error
    if len(pattern) > _LONGEST_PATTERN:
        raise ValueError(f"a pattern may have {_LONGEST_PATTERN} characters, and one has {len(pattern)}")
    if compiled.match("") is not None:
        raise ValueError(f"{pattern!r} matches the empty text: say what must stand there")
    tries = _tries(list(parsed), pattern, is_last=True, is_inside=False)
    if tries > _MOST_TRIES:
        raise ValueError(
            f"{pattern!r} could try {tries} lengths at each place: lower the bounds of its repetitions"
        )


def _tries(parts: list[Any], pattern: str, *, is_last: bool, is_inside: bool) -> int:
    """The most ways in which the parts can match at one place, by the lengths that each may have."""
    tries = 1
    for number, (kind, value) in enumerate(parts):
        at_end = is_last and number == len(parts) - 1
        if kind in _REPEATS:
            least, most, inner = value
            if most == _constants.MAXREPEAT and not at_end:
                raise ValueError(
                    f"{pattern!r} repeats without a bound before its end: write {{0,100}} instead of * or +"
                )
            if least != most and is_inside:
                raise ValueError(
                    f"{pattern!r} repeats inside a repetition: that can take for ever on some text"
                )
            varies = least != most and not at_end
            tries *= (int(most) - int(least) + 1) if varies else 1
            tries *= _tries(list(inner), pattern, is_last=False, is_inside=is_inside or most != 1)
        elif kind == _constants.BRANCH:
            tries *= sum(_tries(list(one), pattern, is_last=at_end, is_inside=is_inside) for one in value[1])
        elif kind == _constants.SUBPATTERN:
            tries *= _tries(list(value[-1]), pattern, is_last=at_end, is_inside=is_inside)
        elif kind in (_constants.ASSERT, _constants.ASSERT_NOT):
            tries *= _tries(list(value[1]), pattern, is_last=False, is_inside=is_inside)
        elif kind == _constants.ATOMIC_GROUP:
            tries *= _tries(list(value), pattern, is_last=at_end, is_inside=is_inside)
        elif kind == _constants.GROUPREF_EXISTS:
            raise ValueError(f"{pattern!r} has a condition, which is not let in: write two rules")
    return tries
