"""Finding secrets: all rules over a text, and one list of places."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from slowwave.ingest.redact import blocks, checks, grids, values
from slowwave.ingest.redact.labels import find_labels
from slowwave.ingest.redact.table import STANDARD, Rules
from slowwave.ingest.redact.views import View, as_read, replaced

_HEARD: Final = 400
"""Characters of the message before that are heard with a text: a question and its sentence."""
_WAYS: Final = (
    ("given", values.given),
    ("said", values.said),
    ("below", values.below),
)
"""The ways in which a label gets its value: the first that finds one ends the search."""


class Span(NamedTuple):
    """A secret in a text: from `start` up to before `end`, its kind, and the rule that found it."""

    start: int
    end: int
    kind: str
    rule: str

    @property
    def is_by_words(self) -> bool:
        """Return whether only the words around it show that it is one."""
        return self.rule.startswith("label")


def find(text: str, rules: Rules = STANDARD) -> list[Span]:
    """The secrets of a text, in its order; no two overlap.

    What was found is looked at as marks in a next round, until nothing is found: a redacted text has no secrets left.
    """
    spans = _round(text, rules)
    while spans:
        covered = replaced(text, ((span.start, span.end, f"[redacted:{span.kind}]") for span in spans))
        more = [_moved(span, covered) for span in _round(covered.text, rules)]
        if not more:
            break
        spans = _merged([*spans, *more])
    return spans


def find_in_reply(text: str, before: str, rules: Rules) -> list[Span]:
    """The secrets of a message that the end of the one before it shows.

    "What was the password of the wiki?" is one message, and a word that shows nothing by itself is the next. A text
    longer than what is heard is no such answer.
    """
    if not before or len(text) > _HEARD:
        return []
    head = f"{before[-_HEARD:].rstrip()}\n"
    return [
        span._replace(start=max(0, span.start - len(head)), end=span.end - len(head))
        for span in find(head + text, rules)
        if span.end > len(head)
    ]


def masked(text: str, spans: Iterable[Span]) -> str:
    """The text with a mark in the place of each span."""
    return replaced(text, ((span.start, span.end, f"[redacted:{span.kind}]") for span in spans)).text


def without(text: str, spans: Sequence[Span]) -> tuple[str, dict[str, int]]:
    """The text with a mark in the place of each span, and how many there are of each kind."""
    return (masked(text, spans), dict(Counter(span.kind for span in spans))) if spans else (text, {})


def _round(text: str, rules: Rules) -> list[Span]:
    view = as_read(text)
    read = view.text if view else text
    found = [span for span in _found(read, _lowered(read), rules) if not _is_kept(read, span, rules)]
    spans = _merged(found)
    return [_moved(span, view) for span in spans] if view else spans


def _moved(span: Span, view: View) -> Span:
    """The span in the text that was read as this view."""
    start, end = view.span(span.start, span.end)
    return span._replace(start=start, end=end)


def _lowered(text: str) -> str:
    """The text in lower case, character for character."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := sign.lower()) == 1 else sign for sign in text)


def _found(text: str, lowered: str, rules: Rules) -> Iterator[Span]:
    yield from (Span(*place, "private-key", "block") for place in blocks.private_keys(text))
    yield from (Span(*place, "kubernetes", "block") for place in blocks.secret_objects(text))
    formed = [*_by_table(text, lowered, rules), *(Span(*number, "number") for number in checks.numbers(text))]
    yield from formed
    formed.sort()
    for span in _by_labels(text, lowered, rules):
        inside = bisect_left(formed, (span.start,))
        # a label takes whole words: an address goes with the token in it
        if inside == len(formed) or formed[inside].end > span.end:
            yield span


def _by_table(text: str, lowered: str, rules: Rules) -> Iterator[Span]:
    for row in rules.rows:
        name = "own" if row.own else "place" if row.is_place else "form"
        if not row.hints or any(hint in lowered for hint in row.hints):
            yield from (Span(*place, row.kind, name) for place in row.find(text))


def _by_labels(text: str, lowered: str, rules: Rules) -> Iterator[Span]:
    labels = list(find_labels(text, lowered, rules.labels))
    for label in labels:
        for way, find_values in _WAYS:
            if places := list(find_values(text, label)):
                yield from (Span(*place, label.mark, f"label-{way}") for place in places)
                break
        if label.kind == "codes":
            yield from (Span(*place, label.mark, "label-list") for place in grids.codes(text, label))
    yield from (Span(start, end, kind, "label-column") for start, end, kind in grids.columns(text, labels))


def _is_kept(text: str, span: Span, rules: Rules) -> bool:
    return any(pattern.fullmatch(text, span.start, span.end) for pattern in rules.keep)


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those that overlap as one, which has the name of the first."""
    merged: list[Span] = []
    for span in sorted(spans, key=attrgetter("start")):
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged
