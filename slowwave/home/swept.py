"""The rules by which a home's texts were last redacted, in `redacted.json`: after an upgrade they may be others."""

import json
from datetime import datetime

from slowwave.home.paths import Home, unwritable
from slowwave.ingest.redact.table import rules_id
from slowwave.whole_file import write_whole

SWEPT_FILE = "redacted.json"
ADVICE = "older rules may have let secrets in: `slowwave run redact` takes them out"


def keep_swept(home: Home, rules: str, *, now: datetime) -> None:
    """Notes that the home's texts went through these rules; noted already, it stays as it is.

    Raises:
        ConfigError: the home folder cannot be written.
    """
    noted = json.dumps({"rules_id": rules, "redacted_at": now.isoformat()})
    try:
        if swept_by(home) != rules:
            write_whole(home.root / SWEPT_FILE, noted)
    except OSError as error:
        raise unwritable(home, error) from error


def keep_fresh(home: Home, *, now: datetime) -> None:
    """Notes the rules of today for a home in which nothing was stored yet."""
    if not (home.root / SWEPT_FILE).exists() and home.journal.last_id() is None:
        keep_swept(home, rules_id(), now=now)


def swept_by(home: Home) -> str:
    """The rules by which the home's texts were last redacted; empty where nobody knows."""
    try:
        return str(json.loads((home.root / SWEPT_FILE).read_text(encoding="utf-8"))["rules_id"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def needs_sweep(home: Home) -> bool:
    """Return whether the home holds something that other rules than today's looked through."""
    return swept_by(home) != rules_id() and home.journal.last_id() is not None
