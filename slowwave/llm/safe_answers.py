"""Answers of a model without secrets: it may put together what stood apart, or name what nothing had shown."""

import json
from collections.abc import Mapping

from slowwave.redaction.marks import mark_of, secrets_in


def safe_answer(text: str) -> str:
    """The JSON text of an answer with marks in the place of secrets; a text without any stays as it is."""
    secrets = secrets_in(text)
    if not secrets:
        return text
    return json.dumps(_masked(json.loads(text), secrets), ensure_ascii=False)


def _masked(value: object, secrets: Mapping[str, str]) -> object:
    if isinstance(value, dict):
        return {name: _masked(item, secrets) for name, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, secrets) for item in value]
    if not isinstance(value, str):
        return value
    for secret, kind in {**secrets, **secrets_in(value)}.items():
        value = value.replace(secret, mark_of(kind))
    return value
