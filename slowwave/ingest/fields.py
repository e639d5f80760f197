"""Values of a record's fields: texts, ids, times, and the questions that agents ask a person by a call."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from slowwave.schemas.identity import stable_id
from slowwave.schemas.refusals import FIRST_YEAR_TOO_LATE, clean_text

Fields = Mapping[str, object]

LONGEST_LABEL: Final = 1_000
"""Characters of an id, a speaker or a folder's name in a record: a longer one is no name."""

_LATEST_EPOCH_SECOND: Final = 1e11
_NO_REASONS: Final[Mapping[str, str]] = {}


def object_of(value: object) -> Fields:
    """A JSON object; empty where it is another value."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[object]:
    """A JSON list; empty where it is another value."""
    return value if isinstance(value, list) else []


def text_of(record: Fields, *names: str) -> str | None:
    """The first of the fields that holds text or a number, as text without blanks around it; else null."""
    for name in names:
        value = record.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18:
            return str(value)
        if isinstance(value, str) and (cleaned := clean_text(value).strip()):
            return cleaned
    return None


def id_of(record: Fields, *names: str) -> str | None:
    """The first of the fields that holds text or a number, as an id; one that is too long for a name as its hash."""
    given = text_of(record, *names)
    return stable_id("id", given) if given is not None and len(given) > LONGEST_LABEL else given


def role_name(value: object) -> str:
    """The name of a role, in lower case; empty where there is none."""
    return value.strip().lower() if isinstance(value, str) else ""


def time_of(record: Fields, skipped: Counter[str]) -> datetime | None:
    """The time in a record's `timestamp`; null, and counted, where that is no time."""
    said = record.get("timestamp")
    time = parse_time(said)
    if said is not None and time is None:
        skipped["time that is none: taken as the one before"] += 1
    return time


def parse_time(value: object) -> datetime | None:
    """A UTC time from ISO 8601 text or epoch seconds, milli-, micro- or nanoseconds; null where it is none.

    A time without a zone is UTC; a year from `FIRST_YEAR_TOO_LATE` on is no time that anybody spoke at.
    """
    with suppress(ValueError, OverflowError, OSError):
        if isinstance(value, str):
            value = value.strip()
            if re.fullmatch(r"\d{9,19}(?:\.\d{1,9})?", value):
                return _from_epoch(float(value))
            moment = datetime.fromisoformat(value)
            return _plausible((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC))
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _from_epoch(float(value))
    return None


def _from_epoch(value: float) -> datetime | None:
    if not value > 0:
        return None
    for unit in (1, 1e3, 1e6, 1e9):
        if value / unit < _LATEST_EPOCH_SECOND:
            return _plausible(datetime.fromtimestamp(value / unit, UTC))
    return None


def _plausible(moment: datetime) -> datetime | None:
    return moment if moment.year < FIRST_YEAR_TOO_LATE else None


def texts_in(
    content: object,
    skipped: Counter[str],
    *,
    kind: str | None = None,
    reasons: Mapping[str, str] = _NO_REASONS,
) -> list[str]:
    """The texts of a message: its content is a text, or blocks that are texts or objects with one.

    With a `kind` only objects of that `type` have a text. Other blocks are counted, by the reason for their type.
    """
    texts = []
    for block in content if isinstance(content, list) else [content] if content else []:
        fields = object_of(block)
        text = fields.get("text") if fields and kind in (None, fields.get("type")) else block
        if isinstance(text, str):
            texts.append(text)
        else:
            skipped[reasons.get(str(fields.get("type")), "block without text")] += 1
    return texts


def json_value(text: object) -> object:
    """The JSON value in a text, `()` for JSON's null; null where it holds none, or is no text."""
    try:
        value: object = json.loads(text, strict=False) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return () if value is None and isinstance(text, str) else value


def questions_in(arguments: Fields) -> list[str]:
    """The questions that an agent asks by a call, each with its choices; all agents write them alike."""
    return [_with_choices(question) for question in map(object_of, list_of(arguments.get("questions")))]


def _with_choices(question: Fields) -> str:
    labels = [str(object_of(option).get("label")) for option in list_of(question.get("options"))]
    return f"{question.get('question')} ({', '.join(labels)})" if labels else str(question.get("question"))
