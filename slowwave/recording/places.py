"""Sentences about files and their lines that a report shows: the first of each reason, and how many more there are."""

from collections import Counter
from pathlib import Path

from slowwave.home.stage import Stage
from slowwave.ingest.counts import SHOWN_PLACES, Counts
from slowwave.ingest.files import named


class Places:
    """The places that were named so far."""

    def __init__(self, run: Stage) -> None:
        self._run = run
        self._named: Counter[str] = Counter()
        self._late_count = 0

    def tell(self, reason: str, text: str) -> None:
        """Notes a sentence, or counts it where the report has enough for its reason."""
        self._named[reason] += 1
        if self._named[reason] <= SHOWN_PLACES:
            self._run.note(text)

    def tell_of(self, path: Path, counts: Counts) -> None:
        """Names what was over a bound in a part of a file, and the secrets that were redacted, by their kinds."""
        for reason, text in counts.excesses:
            self.tell(reason, f"{named(str(path))}: {text}")
        if counts.redacted:
            secrets = ", ".join(f"{number} {kind}" for kind, number in sorted(counts.redacted.items()))
            text = f"secrets redacted in {named(path.name)} before anything was stored: {secrets}"
            self.tell("file with secrets redacted", text)

    def count_late(self, number: int) -> None:
        """Counts messages and memories that are dated after the moment at which they came in."""
        self._late_count += number

    def finish(self) -> None:
        """Says how many sentences of each reason were only counted, and how many dates were not possible."""
        if self._late_count:
            hours = self._run.settings.readers.ahead_hours
            self._run.note(
                f"dated in the future, or by a clock that was never set: {self._late_count:,} of the texts, whose day "
                f"counts as unknown (readers.ahead_hours allows {hours:g})"
            )
        for reason, number in self._named.items():
            if number > SHOWN_PLACES:
                self._run.note(f"{number - SHOWN_PLACES:,} more: {reason}")
