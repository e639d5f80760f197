"""Limits of the server: what it takes on at once, and how long it waits; arguments of its parts, and no settings."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one server, for a few agents of one person on one machine."""

    reads: int = 2
    """Questions answered at once; more wait their turn. A question keeps a core busy."""
    writes: int = 8
    """Writes carried out at once: they wait for the writer lock and not for a core."""
    waiting: int = 256
    """Requests that may wait for their turn; beyond them the answer is 503."""
    body_bytes: int = 8_000_000
    """Largest body of a request."""
    head_seconds: float = 10.0
    body_seconds: float = 20.0
    """Time in which the head and the body of a request must arrive."""
    connections: int = 512
    """Connections held open at once."""
    stop_seconds: float = 20.0
    """Time that requests may take to end when the server stops."""
    flush_seconds: float = 5.0
    """Time between two writes of what was used: a kill loses no more than that."""
    runs: int = 2
    """Flows that run at once for the server."""
    run_niceness: int = 10
    """How far a flow steps back for questions: 0 not at all, 19 as far as it can."""
    kept_runs: int = 100
    """Reports of flows that are kept, newest first."""


LIMITS: Final = Limits()
