"""Places that a report names: the first of each reason, and how many more there are."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from slowwave.home.stage import Stage
from slowwave.readers.files import named


class Places:
    """Sentences about files and their lines, of which a report shows so many for each reason."""

    def __init__(self, run: Stage) -> None:
        self._run = run
        self._told: Counter[str] = Counter()
        self._late_count = 0

    def tell(self, reason: str, text: str) -> None:
        """Notes a sentence, or counts it where the report has enough for its reason."""
        self._told[reason] += 1
        if self._told[reason] <= self._run.settings.readers.shown_places:
            self._run.note(text)

    def tell_redacted(self, path: Path, redacted: Mapping[str, int]) -> None:
        """Notes which secrets of a file were redacted, by their kinds, if there were any."""
        if redacted:
            secrets = ", ".join(f"{number} {kind}" for kind, number in sorted(redacted.items()))
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
        most = self._run.settings.readers.shown_places
        for reason, number in self._told.items():
            if number > most:
                self._run.note(f"{number - most:,} more: {reason}")
