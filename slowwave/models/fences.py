"""Fences around stored text, so that no line of it can pass for a part of the page or of the chat.

`fenced` puts "> " before every line, `fenced_line` makes one line of it.
"""

import datetime
import re
import unicodedata

from slowwave.errors import ContractError
from slowwave.language.lexicon import WEEKDAYS
from slowwave.schemas.moments import DAY_UNKNOWN

JOINERS = "\u200c\u200d"
"""The only invisible characters that stay: scripts and emoji need them."""

_CHAT_MARKUP = re.compile(
    r"<(?=[|｜])"
    r"|<(?=/?\s*(?:s|bos|eos|pad|unk|think|thinking|tool_call|tool_response|start_of_turn|end_of_turn)\s*>)"
    r"|<(?=/\s*(?:turn|memory|memories|cell|user|assistant|system|data)s?\b)"
    r"|<(?=<\s*/?\s*SYS\s*>)"
    r"|\[(?=/?\s*(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\s*\])",
    re.IGNORECASE,
)
"""Marks that a model server's chat template, or a reader of the page, could take for the end of the data."""

_PAGE_MARKUP = re.compile(r"^\s*(?=#{1,6}(?:\s|$)|\[\d+\])")
"""A line of data that looks like a heading or a numbered item of the page."""


class Fenced(str):
    """Text that went through a fence and may stand on a page."""

    __slots__ = ()


def fenced(value: object) -> Fenced:
    """Text as quoted lines, "> " before each; runs of empty lines become one."""
    lines = [_PAGE_MARKUP.sub(r"\\", line).rstrip() for line in _lines(value)] or [""]
    kept = [line for index, line in enumerate(lines) if line or index == 0 or lines[index - 1]]
    return Fenced("\n".join(f"> {line}".rstrip() for line in kept))


def fenced_line(value: object) -> Fenced:
    """Text as one line, every run of white space as one blank."""
    return Fenced(" ".join(" ".join(_lines(value)).split()))


def _lines(value: object) -> list[str]:
    """Lines of a text without invisible and control characters, chat markup broken by a blank."""
    text = str(value)
    if not (text.isascii() and text.isprintable()):  # then every character is visible
        text = "".join(map(_visible, text))
    return [_CHAT_MARKUP.sub(lambda match: match[0] + " ", line) for line in text.strip().splitlines()]


def _visible(character: str) -> str:
    """The character; a blank for a tab, "" for what is invisible, a replacement for half a character."""
    category = unicodedata.category(character)
    if category == "Cs":
        return "\N{REPLACEMENT CHARACTER}"
    if character == "\t":
        return "    "
    is_hidden = category == "Cf" and character not in JOINERS
    is_control = category == "Cc" and character not in "\n\r\v\f\x1c\x1d\x1e\x85"
    is_smuggled = "\U000e0100" <= character <= "\U000e01ef"
    return "" if is_hidden or is_control or is_smuggled else character


def dated(value: object) -> Fenced:
    """An ISO date with its weekday, "2026-06-02 Tuesday"; any other text as `fenced_line`."""
    try:
        day = datetime.date.fromisoformat(str(value)[:10])
    except ValueError:
        return fenced_line(value)
    return Fenced(f"{day.isoformat()} {WEEKDAYS[day.weekday()].capitalize()}")


def weeks(value: object) -> Fenced:
    """The weeks before, of and after an ISO date, so that a small model need not count days.

    Dates are whole on Mondays and where a month begins, else their day alone. Nothing beside an unknown day.

    Raises:
        ContractError: it is no ISO date.
    """
    if value == DAY_UNKNOWN:
        return Fenced("")
    try:
        day = datetime.date.fromisoformat(str(value))
        monday, week = day - datetime.timedelta(days=day.weekday()), datetime.timedelta(days=7)
        rows = {"last week": monday - week, "this week": monday, "next week": monday + week}
        return Fenced("\n".join(f"{name}: {_week(first)}" for name, first in rows.items()))
    except (ValueError, OverflowError) as error:
        raise ContractError("a session's date must be an ISO date, YYYY-MM-DD") from error


def _week(monday: datetime.date) -> str:
    days = [monday + datetime.timedelta(days=number) for number in range(len(WEEKDAYS))]
    return ", ".join(
        f"{name[:3].capitalize()} {day if day == monday or day.day == 1 else f'{day:%d}'}"
        for name, day in zip(WEEKDAYS, days, strict=True)
    )
