"""Take secrets out of text, before anything is written.

`rules.toml` and `labels.toml` say how secrets look and where they stand, `finding.py` finds them; here they are replaced by
marks.
"""

from collections import Counter

from slowwave.redaction.finding import Covered, find


def redact(text: str) -> tuple[str, dict[str, int]]:
    """Text with each secret as `[redacted:<kind>]`, and how many of each kind were replaced.

    Doing it again changes nothing.
    """
    spans = find(text)
    if not spans:
        return text, {}
    return Covered.of(text, spans).text, dict(Counter(span.kind for span in spans))
