"""Events and texts before and after a rewrite: what every planner needs to change one. Pure.

Ids, owners and choices are never touched by a mask; only texts that may quote somebody are.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

import polars as pl

from slowwave.journal.catalogue import CATALOGUE, FORMER_KINDS
from slowwave.language.names import family, plain_name
from slowwave.schemas.identity import content_hash
from slowwave.schemas.text_columns import is_text

WHOLE_TURN = 2**31 - 1
"""`last_char` of a chunk that ends with a whole turn."""

Payload = dict[str, object]


class Event(NamedTuple):
    """One event of a segment; `kind` is its name of today."""

    event_id: str
    kind: str
    payload: Payload


def read_line(line: str) -> Event:
    """The event of a segment's line."""
    event = json.loads(line)
    kind = str(event["kind"])
    return Event(str(event["event_id"]), FORMER_KINDS.get(kind, kind), event["payload"])


def line_after(line: str, before: Payload, after: Payload | None) -> str | None:
    """An event's line with another payload: byte for byte the same where nothing changed, None where the event goes."""
    if after is None or after == before:
        return None if after is None else line
    head, _, _ = line.partition('"payload": ')
    return (
        f'{head}"payload": {json.dumps(rehashed(before, after), ensure_ascii=False, separators=(",", ":"))}}}'
    )


def rehashed(before: Payload, after: Payload) -> Payload:
    """The payload after a change, with the hash of its text where that changed."""
    text = after.get("content")
    is_new = "content_hash" in after and text is not None and text != before.get("content")
    return {**after, "content_hash": content_hash(str(text))} if is_new else after


def texts_of(kind: str, payload: Mapping[str, object]) -> dict[str, list[str]]:
    """The texts of an event that may quote what somebody said, by the name of the field."""
    found = {
        name: [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]
        for name, value in payload.items()
        if _is_text_field(kind, name)
    }
    return {name: texts for name, texts in found.items() if texts}


def with_texts(kind: str, payload: Payload, change: Callable[[str], str]) -> Payload:
    """The payload with each of its texts changed."""
    changed = {name: [change(text) for text in texts] for name, texts in texts_of(kind, payload).items()}
    return payload | {
        name: texts if isinstance(payload[name], list) else texts[0] for name, texts in changed.items()
    }


@cache
def _is_text_field(kind: str, name: str) -> bool:
    """A field that only an older version of the kind had is taken for a text."""
    payload = CATALOGUE[kind].payload if kind in CATALOGUE else {}
    return is_text(name, payload.get(name, pl.String()))


@lru_cache(maxsize=1024)
def own_family(name: str) -> str:
    """The family of a name by itself, whoever it was found to stand for: that may be named in what goes."""
    return str(pl.select(family(plain_name(pl.lit(name)))).item())


def spellings(text: str) -> set[str]:
    """A text as it is, and with its accents as one character with the letter and as one of their own."""
    return {text, unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)}


def written_forms(text: str) -> set[str]:
    """A text in every spelling, plain and as JSON writes it, also within a text of JSON."""
    forms: set[str] = set()
    for spelled in spellings(text):
        once = {json.dumps(spelled, ensure_ascii=is_ascii)[1:-1] for is_ascii in (False, True)}
        forms |= {spelled, *once, *(json.dumps(form, ensure_ascii=False)[1:-1] for form in once)}
    return forms


@dataclass(frozen=True)
class Masker:
    """Puts marks in the place of texts, wherever they stand, in any case and however they are spelled or escaped.

    A text with a digit is also masked as a name without signs, as the graph keeps it.
    """

    marks: Mapping[str, str]
    """What stands in the place of each text."""
    is_whole: bool = False
    """Whether a text counts only where it stands by itself, and not within a longer word."""

    @cached_property
    def _forms(self) -> dict[str, str]:
        """Every form in lower case with its mark; longest first."""
        forms = {
            form.lower(): mark
            for text, mark in self.marks.items()
            for form in written_forms(text)
            if form.strip()
        }
        names = (
            pl.Series("name", list(self.marks), dtype=pl.String).to_frame().select(plain_name(pl.col("name")))
        )
        for (form,), (text, mark) in zip(names.iter_rows(), self.marks.items(), strict=True):
            if len(form) * 2 > len(text) and any(character.isdigit() for character in form):
                forms.setdefault(form, mark)
        return dict(sorted(forms.items(), key=lambda entry: (-len(entry[0]), entry[0])))

    def covers(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether a masked one stands in it: one pass, however many there are."""
        if not self.marks:
            return [False] * len(texts)
        lowered = pl.Series(texts, dtype=pl.String).str.to_lowercase()
        return lowered.str.contains_any(list(self._forms)).to_list()

    def mask(self, text: str) -> tuple[str, Counter[str]]:
        """The text with its marks, and how many of each were put."""
        found: Counter[str] = Counter()
        lowered = text.lower()
        present = [form for form in self._forms if form in lowered]
        if not present:
            return text, found

        def marked(match: re.Match[str]) -> str:
            # letters whose lower case is longer match, and are no key
            mark = self._forms.get(match[0].lower(), self._forms[present[0]])
            found[mark] += 1
            return mark

        either = "|".join(re.escape(form) for form in present)
        pattern = re.compile(rf"(?<!\w)(?:{either})(?!\w)" if self.is_whole else either, re.IGNORECASE)
        return pattern.sub(marked, text), found


def quoting(events: Sequence[Event], masker: Masker) -> list[bool]:
    """Return for each event whether one of its texts quotes what is masked."""
    return masker.covers(
        [
            "\x00".join(text for texts in texts_of(event.kind, event.payload).values() for text in texts)
            for event in events
        ]
    )
