"""The part of a secret that stands in a text, and the part of its surroundings: what counts as stored, and as lost."""

import re
from collections import Counter

from benchmarks.made_secrets.filling import Case

SHARE = 0.6
"""A piece of a secret of this share of its length counts as the whole."""
SHORTEST = 5
"""Pieces are at least so long: shorter ones stand in any text by chance."""
_MARK = re.compile(r"\[redacted:[^\]]*\]")
_WORD = re.compile(r"[^\W\d_]{3,}")


def stored(case: Case, kept: str) -> bool:
    """Whether a secret of the case, any line of one, or the larger part of one stands in what was kept."""
    unmarked = _MARK.sub(" ", kept)
    return any(stands(secret, unmarked) for secret in case.secrets)


def stands(secret: str, kept: str) -> bool:
    """Whether a secret stands in a text: whole, 60 % of it as one piece, or 60 % of the words of a phrase."""
    if words := set(words_of(secret)):
        return sum(bool(re.search(rf"\b{word}\b", kept)) for word in words) >= SHARE * len(words)
    size = max(SHORTEST, -(-len(secret) * 6 // 10))
    if size >= len(secret):
        return bool(re.search(rf"(?<!\w){re.escape(secret)}(?!\w)", kept))
    return any(secret[at : at + size] in kept for at in range(len(secret) - size + 1))


def words_of(secret: str) -> list[str]:
    """The words of a phrase; none where the secret is no phrase of four words or more."""
    words = secret.split()
    return words if len(words) > 3 and all(word.isalpha() for word in words) else []


def lost_words(case: Case, kept: str) -> tuple[int, int]:
    """Words of the surroundings that went with the secret, and all of them."""
    rest = case.text
    for secret in sorted((*case.secrets, *(word for one in case.secrets for word in words_of(one))), key=len)[
        ::-1
    ]:
        rest = rest.replace(secret, " ")
    words = Counter(_WORD.findall(rest))
    return (words - Counter(_WORD.findall(_MARK.sub(" ", kept)))).total(), words.total()
