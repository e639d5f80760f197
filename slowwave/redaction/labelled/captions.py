"""Captions: what a form or a screen calls a secret, in the words of `labels.toml`."""

from slowwave.deferred import pattern
from slowwave.redaction.labelled.labels import LABEL_WORDS

_WORD = pattern(r"[^\W\d_]++(?:['’-][^\W\d_]++)*+")
_CAPTION = pattern(rf"(?:{_WORD.pattern}[ ]?){{1,6}}\d?[?!:.…*]{{0,3}}")
"""Its words are never tried in parts: a long word that ends in a digit would take minutes."""
_LONGEST_CAPTION = 6


def is_caption(value: str) -> bool:
    """Return whether a value is what a screen calls a secret, in any language: "Passwort", "Mot de passe oublié ?"."""
    words = _WORD.findall(value)
    if not words or len(words) > _LONGEST_CAPTION or not _CAPTION.fullmatch(value):
        return False
    if len(words) > 1 and value[0].islower():
        return False
    plain = [word.lower() for word in words]
    return any(
        "".join(plain[start:end]) in LABEL_WORDS
        for start in range(len(plain))
        for end in range(start + 1, min(start + 4, len(plain) + 1))
    )
