"""An id of the rules of today: other rules, another id."""

import hashlib
from functools import cache
from pathlib import Path


@cache
def rules_id() -> str:
    """Hash of the files that say what a secret is, in the order of their names."""
    files = sorted(Path(__file__).parent.glob("*.*"))
    parts = (path.read_bytes() for path in files if path.suffix in (".py", ".txt", ".toml"))
    return hashlib.sha256(b"\x00".join(parts)).hexdigest()[:16]
