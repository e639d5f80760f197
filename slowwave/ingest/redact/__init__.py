"""Secrets are found and taken out before anything is stored: each becomes a mark, `[redacted:kind]`."""

from slowwave.ingest.redact.spans import find, find_in_reply, without
from slowwave.ingest.redact.table import in_force


def redact(text: str) -> tuple[str, dict[str, int]]:
    """Text with each secret as `[redacted:<kind>]`, and how many of each kind were replaced.

    Doing it again changes nothing.
    """
    return without(text, find(text, in_force()))


def redact_reply(text: str, before: str) -> tuple[str, dict[str, int]]:
    """The same for what only the message before it shows to be a secret (`find_in_reply`)."""
    return without(text, find_in_reply(text, before, in_force()))
