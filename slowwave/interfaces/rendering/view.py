"""The caller's view of an answer, from the header `Slowwave-View`.

`width=100, color=1, explain=1`: every part may be missing. The command line sends it; a program that sends none gets
plain text of 100 columns.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from slowwave.interfaces.rendering.words import ago

NARROWEST, WIDEST = 20, 1_000


@dataclass(frozen=True)
class View:
    """The asker's screen: columns, colours or not, and whether scores are explained; `now` dates relative times."""

    now: datetime
    width: int = 100
    color: bool = False
    explain: bool = False

    def ago(self, moment: datetime) -> str:
        """A moment in words, as seen from `now`."""
        return ago(moment, self.now)


def view_of(header: str, *, now: datetime | None = None) -> View:
    """The view that a header describes; parts that are unknown or impossible are passed over."""
    given = dict(part.strip().partition("=")[::2] for part in header.split(","))
    view = View(
        now or datetime.now(UTC), color=given.get("color") == "1", explain=given.get("explain") == "1"
    )
    width = given.get("width", "")
    return replace(view, width=min(max(int(width), NARROWEST), WIDEST)) if width.isdecimal() else view
