"""Answers of a model without keys and tokens: it may put together what stood apart in what it was shown."""

import json

from slowwave.ingest.redact.spans import find, masked
from slowwave.ingest.redact.table import in_force


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
    # The texts that a model is shown were searched for labels already, and in its short sentences a year next to a
    # label would pass for a code.
    return masked(value, (span for span in find(value, in_force()) if not span.is_by_words))
