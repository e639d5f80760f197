"""Secrets that were found by their surroundings, masked where they stand without them, as derived texts quote them.

Pure. A secret that is a plain word or very short is masked in what was made from its own text alone: masked everywhere,
it would take innocent text.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from slowwave.erase.payloads import spellings
from slowwave.ingest.redact import redact
from slowwave.ingest.redact.marks import mark_of
from slowwave.language.names import plain_name


def tells_itself(secret: str, *, shortest: int, proof_shortest: int) -> bool:
    """Return whether a secret is known wherever it stands: letters with digits, or long and more than a word."""
    has_letter = any(character.isalpha() for character in secret)
    has_digit = any(character.isdigit() for character in secret)
    if len(secret) >= shortest and has_letter and has_digit:
        return True
    return len(secret) >= proof_shortest and not secret.isalpha()


@dataclass(frozen=True)
class Masker:
    """Masks secrets, given with their kinds, wherever they stand, in any case and however their accents are spelled."""

    secrets: Mapping[str, str]
    is_whole: bool = False
    """Whether a secret counts only where it stands by itself, and not within a longer word."""

    @cached_property
    def _forms(self) -> dict[str, str]:
        """Every spelling in lower case, names without signs among them, with its kind; longest first."""
        forms = {
            form.lower(): kind for secret, kind in self.secrets.items() for form in spellings(secret) if form
        }
        plain = (
            pl.Series(list(self.secrets), dtype=pl.String).to_frame("name").select(plain_name(pl.col("name")))
        )
        for (form,), (secret, kind) in zip(plain.iter_rows(), self.secrets.items(), strict=True):
            if len(form) * 2 > len(secret) and any(character.isdigit() for character in form):
                forms.setdefault(form, kind)
        return dict(sorted(forms.items(), key=lambda entry: (-len(entry[0]), entry[0])))

    def covers(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether a secret stands in it: one pass, however many secrets there are."""
        if not self.secrets:
            return [False] * len(texts)
        lowered = pl.Series(texts, dtype=pl.String).str.to_lowercase()
        return lowered.str.contains_any(list(self._forms)).to_list()

    def mask(self, text: str) -> tuple[str, Counter[str]]:
        """The text with a mark for each secret, and how many of each kind."""
        found: Counter[str] = Counter()
        lowered = text.lower()
        present = [form for form in self._forms if form in lowered]

        def marked(match: re.Match[str]) -> str:
            kind = self._forms.get(match[0].lower(), "secret")
            found[kind] += 1
            return mark_of(kind)

        either = "|".join(re.escape(form) for form in present)
        pattern = re.compile(rf"(?<!\w)(?:{either})(?!\w)" if self.is_whole else either, re.IGNORECASE)
        return (pattern.sub(marked, text) if present else text), found


def cleaned(text: str, *maskers: Masker) -> tuple[str, Counter[str]]:
    """A text as the rules leave it, without known secrets; and how many of each kind went.

    Doing it again changes nothing.
    """
    found: Counter[str] = Counter()
    while True:
        safe, counts = redact(text)
        found.update(counts)
        for masker in maskers:
            safe, more = masker.mask(safe)
            found.update(more)
        if safe == text:
            return text, found
        text = safe
