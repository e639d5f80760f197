"""Finding secrets: all rules over a text, and one list of places.

Rules with a form of their own come first, then places where a secret stands, then labels ("the password is ..."), blocks,
and values that are split over lines. Each looks at the text through hints before it looks closely.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from slowwave.deferred import pattern
from slowwave.redaction.again import again, siblings
from slowwave.redaction.blocks import private_keys, secret_objects, secret_sections
from slowwave.redaction.joined import (
    Joined,
    escaped_lines,
    join_strings,
    join_wrapped,
    near_gaps,
    only,
    unescape,
)
from slowwave.redaction.labelled.asked import asked_spans
from slowwave.redaction.labelled.below import below_spans
from slowwave.redaction.labelled.codes import code_spans
from slowwave.redaction.labelled.given import given_spans
from slowwave.redaction.labelled.labels import Label, Labels
from slowwave.redaction.labelled.near import near_spans
from slowwave.redaction.labelled.openings import opening_spans
from slowwave.redaction.labelled.phrases import phrase_spans
from slowwave.redaction.labelled.said import said_spans
from slowwave.redaction.labelled.written import line_end, line_start
from slowwave.redaction.remembering import forget
from slowwave.redaction.rules import RULES, Rule
from slowwave.redaction.wallets import labelled_phrase, seed_spans

MARK: Final = re.compile(r"\[redacted:[a-z0-9-]{1,40}\]")
_LONG_RUN = pattern(r"[\w.~+/=:$*{}%@!?&,-]{16,}+")
_REACH_OF_RULES: Final = 1000
"""Characters around a mark in which its coming can show another secret."""
_BEFORE_RUN: Final = 8
"""Characters before a run of which a token's edge can be made: an escape, a colour."""
_KIND_OF_LABEL: Final = {
    "password": "password", "key": "secret", "token": "token", "weak": "token", "pin": "pin", "code": "pin", "codes": "recovery-code",
    "totp": "totp", "seed": "seed-phrase", "login": "password", "hint": "password",
}  # fmt: skip
_WAYS: Final = (
    ("listed", code_spans),
    ("given", given_spans),
    ("said", said_spans),
    ("below", below_spans),
    ("asked", asked_spans),
    ("phrase", phrase_spans),
)
"""The ways in which a label gets its value, in their order: the first that finds one ends the search."""
_WAYS_OF_HINT: Final = ()
_SPLIT_HINTS: Final = ('"\n', "'\n", "\\\n", '" ', "' ", "|\n", ">\n", "-\n", '"+', "'+", '" +', "^\n", "`\n")


class Span(NamedTuple):
    """A secret in a text: from `start` up to before `end`, its kind, and the rule that found it."""

    start: int
    end: int
    kind: str
    rule: str


@dataclass(frozen=True)
class RuleSet:
    """Everything by which secrets are found: the table, the labels, and what the settings add."""

    rules: tuple[Rule, ...]
    labels: Labels
    exceptions: tuple[re.Pattern[str], ...] = ()
    own: str = ""

    @cached_property
    def hints(self) -> tuple[str, ...]:
        """All hints of the rules, each once."""
        return tuple(dict.fromkeys(hint for rule in self.rules for hint in rule.hints))


STANDARD: Final = RuleSet(RULES, Labels())


def find(text: str, rules: RuleSet = STANDARD) -> list[Span]:
    """The secrets of a text, in its order; no two overlap.

    What a rule finds is looked at as a mark in a next round, until no rule finds anything: so a redacted text has no
    secrets left that these rules find.
    """
    try:
        spans = _round(text, rules)
        while spans:
            covered = Covered.of(text, spans)
            near = only(covered.text, _around_marks(covered))
            more = [_placed(near, span) for span in _round(near.text, rules)]
            if not more:
                return spans
            spans = _merged([*spans, *(covered.whole(span) for span in more)])
        return spans
    finally:
        forget()


class Covered(NamedTuple):
    """A text with marks in the place of secrets, and the way back to the places of the text."""

    text: str
    marks: list[tuple[int, int, int, int]]

    @classmethod
    def of(cls, text: str, spans: Iterable[Span]) -> "Covered":
        """The text with each span as a mark."""
        pieces: list[str] = []
        marks: list[tuple[int, int, int, int]] = []
        done = length = 0
        for span in spans:
            mark = f"[redacted:{span.kind}]"
            pieces += [text[done : span.start], mark]
            length += span.start - done
            marks.append((length, length + len(mark), span.start, span.end))
            length += len(mark)
            done = span.end
        return cls("".join([*pieces, text[done:]]), marks)

    def whole(self, span: Span) -> Span:
        """The span's place in the text without marks; a mark that it cuts goes with it."""
        return span._replace(
            start=self._place(span.start, is_end=False), end=self._place(span.end, is_end=True)
        )

    def _place(self, position: int, *, is_end: bool) -> int:
        number = bisect_left(self.marks, (position,)) - 1
        if number < 0:
            return position
        _, end, real_start, real_end = self.marks[number]
        if position < end:
            return real_end if is_end else real_start
        return position + real_end - end


def _around_marks(covered: Covered) -> list[tuple[int, int]]:
    """The lines around the marks of a text: what is more than that away was looked at in the round before."""
    kept: list[tuple[int, int]] = []
    for start, end, _, _ in covered.marks:
        if kept and end + _REACH_OF_RULES < kept[-1][1]:
            continue
        begin = line_start(covered.text, max(0, start - _REACH_OF_RULES), _REACH_OF_RULES)
        stop = line_end(covered.text, end + _REACH_OF_RULES, _REACH_OF_RULES)
        if kept and begin <= kept[-1][1]:
            begin = kept.pop()[0]
        kept.append((begin, min(len(covered.text), stop)))
    return kept


def _round(text: str, rules: RuleSet) -> list[Span]:
    lowered = _lowered(text)
    found = [*_by_blocks(text, lowered), *_by_rules(text, lowered, rules), *_by_labels(text, lowered, rules)]
    found += list(_split(text, rules, found))
    found += list(_elsewhere(text, found))
    kept = (span for span in found if not _is_excepted(text, span, rules))
    return _merged(trimmed for span in kept for trimmed in _without_marks(text, span))


def _lowered(text: str) -> str:
    """The text in lower case, character for character."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := character.lower()) == 1 else character for character in text)


def _present(hints: Iterable[str], lowered: str) -> frozenset[str]:
    """Those of the hints that stand in a text; their first and last three characters rule most of the others out."""
    threes = {"".join(three) for three in zip(lowered, lowered[1:], lowered[2:], strict=False)}
    return frozenset(
        hint
        for hint in hints
        if (len(hint) < 3 or (hint[:3] in threes and hint[-3:] in threes)) and hint in lowered
    )


def _by_rules(text: str, lowered: str, rules: RuleSet) -> Iterator[Span]:
    long_runs = only(
        text, [(max(0, run.start() - _BEFORE_RUN), run.end()) for run in _LONG_RUN.finditer(text)]
    )
    low_runs = _lowered(long_runs.text)
    present = _present(rules.hints, lowered)
    for rule in rules.rules:
        hints = [hint for hint in rule.hints if hint in present]
        if hints and not rule.is_long:
            found = rule.spans(text, lowered, hints)
            yield from (Span(start, end, rule.kind, rule.name) for start, end in found)
        elif hints and any(hint in low_runs for hint in hints):
            found = rule.spans(long_runs.text, low_runs, hints)
            yield from (Span(*long_runs.span(start, end), rule.kind, rule.name) for start, end in found)


def _by_labels(text: str, lowered: str, rules: RuleSet) -> Iterator[Span]:
    for label in rules.labels.find(text, lowered):
        kind = _KIND_OF_LABEL[label.kind]
        for way, spans in _WAYS_OF_HINT if label.kind == "hint" else _WAYS:
            found = list(spans(text, label))
            yield from (Span(start, end, kind, f"label-{way}") for start, end in found)
            if found and way != "listed":
                break
        near = near_spans(text, label)
        yield from (Span(start, end, kind, "label-near") for start, end in near)
        yield from _wallets(text, label)


def _wallets(text: str, label: Label) -> Iterator[Span]:
    if "seed" in label.kinds and (phrase := labelled_phrase(text, label.name_end)):
        yield Span(*phrase, "seed-phrase", "wallet-phrase")


def _by_blocks(text: str, lowered: str) -> Iterator[Span]:
    yield from (Span(start, end, "private-key", "private-key-block") for start, end in private_keys(text))
    yield from (Span(start, end, "kubernetes", "kubernetes-secret") for start, end in secret_objects(text))
    yield from (Span(start, end, "secret", "secret-section") for start, end in secret_sections(text, lowered))
    yield from (Span(start, end, "pin", "opening") for start, end in opening_spans(text, lowered))
    yield from (Span(start, end, "seed-phrase", "seed-words") for start, end in seed_spans(text, lowered))


def _split(text: str, rules: RuleSet, known: list[Span]) -> Iterator[Span]:
    """Secrets that only show when the pieces of split values are put together."""
    if any(hint in text for hint in _SPLIT_HINTS) and (joined := join_strings(text)):
        parts = only(joined.text, near_gaps(joined))
        lowered = _lowered(parts.text)
        found = [*_by_rules(parts.text, lowered, rules), *_by_labels(parts.text, lowered, rules)]
        yield from _unjoined(joined, [_placed(parts, span) for span in found])
    if lines := escaped_lines(text):
        written = only(text, lines)
        plain = unescape(written.text)
        lowered = _lowered(plain.text)
        places = RuleSet(tuple(rule for rule in rules.rules if not rule.is_long), rules.labels)
        escaped = [*_by_rules(plain.text, lowered, places), *_by_labels(plain.text, lowered, rules)]
        yield from (_placed(written, _placed(plain, span)) for span in escaped)
    if "\n" in text and (wrapped := join_wrapped(text)):
        forms = RuleSet(tuple(rule for rule in rules.rules if rule.is_long), rules.labels)
        broken = _unjoined(wrapped, _by_rules(wrapped.text, _lowered(wrapped.text), forms))
        yield from (span for span in broken if not any(_overlap(span, other) for other in known))


def _elsewhere(text: str, known: list[Span]) -> Iterator[Span]:
    """The values that were found where they stand again, and those made like them beside them."""
    kinds = {text[span.start : span.end]: span.kind for span in known}
    found = again(text, [(span.start, span.end) for span in known])
    yield from (Span(start, end, kinds[text[start:end]], "again") for start, end in found)
    for span in known:
        yield from (
            Span(start, end, span.kind, "sibling")
            for start, end in siblings(text, span.start, span.end, span.kind)
        )


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def _unjoined(joined: Joined, spans: Iterable[Span]) -> Iterator[Span]:
    for span in spans:
        if joined.is_joined(span.start, span.end):
            yield _placed(joined, span)


def _placed(joined: Joined, span: Span) -> Span:
    start, end = joined.span(span.start, span.end)
    return span._replace(start=start, end=end)


def _is_excepted(text: str, span: Span, rules: RuleSet) -> bool:
    return any(pattern.fullmatch(text, span.start, span.end) for pattern in rules.exceptions)


def _without_marks(text: str, span: Span) -> Iterator[Span]:
    """The parts of a span that stand outside marks and are more than signs."""
    start = span.start
    for mark in MARK.finditer(text, max(0, span.start - 60), min(len(text), span.end + 60)):
        if mark.end() <= span.start or mark.start() >= span.end:
            continue
        yield from _worth(text, span, start, mark.start())
        start = mark.end()
    yield from _worth(text, span, start, span.end)


def _worth(text: str, span: Span, start: int, end: int) -> Iterator[Span]:
    if start < end and any(character.isalnum() for character in text[start:end]):
        yield span._replace(start=start, end=end)


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those that overlap as one; the one that was found first names it."""
    ranked = sorted(enumerate(spans), key=lambda numbered: (numbered[1].start, numbered[0]))
    merged: list[tuple[int, Span]] = []
    for rank, span in ranked:
        if merged and span.start < merged[-1][1].end:
            best_rank, best = min(merged[-1], (rank, span), key=lambda numbered: numbered[0])
            start, end = merged[-1][1].start, max(merged[-1][1].end, span.end)
            merged[-1] = (best_rank, best._replace(start=start, end=end))
        else:
            merged.append((rank, span))
    return [span for _, span in merged]
