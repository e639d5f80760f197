"""Secrets are found and taken out before anything is stored: each becomes a mark, `[redacted:kind]`."""

from collections import Counter
from typing import Final

from slowwave.ingest.redact.spans import find, masked
from slowwave.ingest.redact.table import in_force

_HEARD: Final = 400
"""Characters of the message before that are heard with a text: a question and its sentence."""


def redact(text: str) -> tuple[str, dict[str, int]]:
    """Text with each secret as `[redacted:<kind>]`, and how many of each kind were replaced.

    Doing it again changes nothing.
    """
    spans = find(text, in_force())
    return (masked(text, spans), dict(Counter(span.kind for span in spans))) if spans else (text, {})


def redact_reply(text: str, before: str) -> tuple[str, dict[str, int]]:
    """Redact a message together with the end of the one before it.

    "What was the password of the wiki?" is one message, and a word that shows nothing by itself is the next. A text
    longer than what is heard is no such answer and stays as it is.
    """
    if not before or len(text) > _HEARD:
        return text, {}
    head = f"{before[-_HEARD:].rstrip()}\n"
    spans = [
        span._replace(start=max(0, span.start - len(head)), end=span.end - len(head))
        for span in find(head + text, in_force())
        if span.end > len(head)
    ]
    return masked(text, spans), dict(Counter(span.kind for span in spans))
