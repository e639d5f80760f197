"""Results that `Memory` returns, beside those of `search`, `context`, `entity` and `timeline`."""

from slowwave.schemas.results.edits import Dispute, Done, Erased, Recorded, Remembered, Resolved, Side
from slowwave.schemas.results.explanation import Explanation, Judged, Link, Quote, Step
from slowwave.schemas.results.found import (
    Fading,
    ForgottenCell,
    FoundSource,
    SecretPlace,
    TopicSummary,
)
from slowwave.schemas.results.home import Night, Pending, QuarantinedChunk, Stats, Status

__all__ = [
    "Dispute",
    "Done",
    "Erased",
    "Explanation",
    "Fading",
    "ForgottenCell",
    "FoundSource",
    "Judged",
    "Link",
    "Night",
    "Pending",
    "QuarantinedChunk",
    "Quote",
    "Recorded",
    "Remembered",
    "Resolved",
    "SecretPlace",
    "Side",
    "Stats",
    "Status",
    "Step",
    "TopicSummary",
]
