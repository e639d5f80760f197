"""Answers of a model without keys and tokens: it may put together what stood apart in what it was shown."""

import json

from slowwave.redaction.finding import Covered, find
from slowwave.redaction.own import in_force

_BY_WORDS = ("label-", "again", "sibling")
"""Rules that go by the words around a value. The texts that a model is shown were searched by them already, and in its
short sentences a year beside "alarm" would pass for a code."""


def safe_answer(text: str) -> str:
    """The JSON text of an answer with marks in the place of secrets; one without any stays byte for byte.

    Each text of it is looked at by itself: what stands beside another in JSON says nothing about it.
    """
    answer = json.loads(text)
    safe = _masked(answer)
    return text if safe == answer else json.dumps(safe, ensure_ascii=False)


def _masked(value: object) -> object:
    if isinstance(value, dict):
        return {name: _masked(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_masked(item) for item in value]
    if not isinstance(value, str):
        return value
    found = (span for span in find(value, in_force()) if not span.rule.startswith(_BY_WORDS))
    return Covered.of(value, found).text
