"""The look of a value by itself: a placeholder or a reference, drawn at random, chosen by a person, or strong.

Nothing here knows where the value stands.
"""

import re
from typing import Final

_LONGEST_CHOSEN: Final = 200
_MASKED = re.compile(r"[xX]{12}|0{16}|\*{6}|(?:X{4}-){3}|(?!A)(.)\1{15}|\ue000")
_PLACEHOLDER = re.compile(
    r"""
    \W* | \(.* | [*xX.•#_?-]{3,} | \d{1,3} | <[^>]*>? | \[[^\]]*\] | \(.*\) | \{.*\}? | %[\w(]*[)%]\w? | @\w+@  # a mask, a count, a gap
    | \$[A-Za-z_]*[A-Za-z]\]?[)}]?["']? | \$?\$[({].* | \#\{.* | [%$]\w*_\w*%?   # a variable
    | (?:your|my|the|some|an?|enter|insert|change|replace|put|set|use|add|example|sample|dummy|fake|placeholder|redacted|masked
      |hidden|todo|tbd|new|old|secret|test|default|not|no)(?:[-_. \\]{1,2}[a-z]+){0,6}[-_.]?(?:here|goes|value)?\W{0,2}
    | your[a-z]*(?:[-_. ][a-z]+)*
    | (?:none|null|nil|undefined|true|false|yes|on|off|empty|unset|required|optional|str(?:ing)?|bytes|int|bool(?:ean)?|number|any
      |object|secretstr|text|char|varchar|type|auto|unknown|void|self|this|env|file|vault|keyring|plain|xxx+|changeme|hunter\*+
      |pflichtfeld|obligatoire|obligatorio|opcional)\W{0,2}
    | (?:[a-z0-9]+[_.-]){0,5}(?:pass(?:w(?:or[dt]|d))?|pwd|secrets?|tokens?|keys?|hash|credentials?|passphrase|kennwort|contraseña|senha
      |wachtwoord|hasło|login|username)(?:[_.-]?(?:here|value|name|field|input|hash))?s?\W{0,2}
    """,
    re.VERBOSE | re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"""
    [$@]?[A-Za-z_][\w.:>=-]*[(\[].* | \$?[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+;? | [A-Z][a-z]+-[A-Z]\w+  # a call, an attribute
    | \$[a-z_]+-? | !(?:vault|secret|env|ref|sub|include)\b.* | --?[a-z][\w-]* | \?[a-z]*\}? | (?:[\w.-]+/)+[\w.#-]+ | [A-Z]+=[a-z]+                                                  # a tag, an option, a path
    | [A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+ | [a-z]+(?:[A-Z][a-z]+)*(?:Password|Passwd|Pwd|Secret|Token|Key|Hash)s? # a name
    | (?:/[\w.@-]+){2,}/? | ~?/?(?:[\w.-]+/)+[\w.-]*\.\w{1,5} | [\w+.-]+:(?://)?[/?].* | https?:.* | (?:arn|vault|env|file|ref|urn|op):\S+
    | [A-Z][a-z]+(?:[A-Z][a-z]+)+ | [a-z]+(?:_[a-z]+)+ | [A-Z][a-z]+\[.*
    """,
    re.VERBOSE,
)
_MUNDANE = re.compile(
    r"""
    [\w.%+-]+@[\w-]+(?:\.[\w-]+)+ | [A-Za-z][\w+.-]*://.* | (?:[\w-]+\.)+[a-z]{2,10}(?::\d+)?(?:/.*)? | (?:[\w.-]*/)+[\w.*-]*  # an address, a path
    | [vV]?\d+(?:[.:,]\d+)+\S{0,12} | \d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\S* | [~<>=+-]?[$€£]?[\d.,_]+[A-Za-z%]{0,3} # a version, a date, an amount
    | [#&]\w+ | [A-Z]{2,10}-\d+ | [A-Za-z_]\w*\(.* | (?i:argon2\w*|s?cram\S*|bcrypt\w*|pbkdf2\w*) | (?i:sha|md|aes|rsa|utf|base|hs|rs|es|ed|oauth|http|ipv|log4|k8|s|v|py|python|node|rfc|iso|php|web|p|x|c)-?\d[\w.-]{0,16}
    | (?:[A-Z][a-z]+){2,}\d? | [a-z]+(?:-[a-z]+)+\d? | [A-Z]\w+\d(?:[A-Z][a-z]+)+ | \d+(?:st|nd|rd|th|px|ms|kb|mb|gb|min|h|d)
    | \S+[.]\w{1,5}(?::\d+)* | --?\w[\w=-]* | [a-z_]+=\S*
    """,
    re.VERBOSE,
)
_IDENTIFIER = re.compile(
    r"(?:[a-z0-9]+[-_:/])*(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|(?:0x)?(?:[0-9a-f]{7,}|[0-9A-F]{7,}))|(?:[0-9a-fA-F]{2}:){4,}[0-9a-fA-F]{2}|(?:sha\d{1,3}|md5|SHA256|MD5)[:-].*|ssh-\w+|AAAA[BCE][23].*|pk_\w+|(?:xpub|age1)\w+"
)
_CHANGE = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[a-z0-9])|(?<=[0-9])(?=[A-Za-z])")
_SPOKEN = re.compile(r"[A-Z]?[a-z]{4,}|[A-Z]{5,}")
_VOWEL = re.compile(r"[aeiouyäöüáéíóúąęó]", re.IGNORECASE)
_CLUSTER = re.compile(r"[bcdfghjklmnpqrstvwxz]{4}", re.IGNORECASE)
_SIGNS: Final = frozenset("!@#$%^&*+?=~§€£")
_PHRASE = re.compile(r"[a-z]{3,12}(?:-[a-z]{3,12}){2,7}")


def is_masked(value: str) -> bool:
    """Return whether a value is a mask, a mark, or hardly a value at all."""
    return bool(_MASKED.search(value[:_LONGEST_CHOSEN]))


def _kinds(value: str) -> tuple[bool, bool, bool]:
    signs = any(sign in _SIGNS for sign in value)
    return any(map(str.isalpha, value)), any(map(str.isdigit, value)), signs


def is_placeholder(value: str) -> bool:
    """Return whether a value stands for one: a mask, a type, a word for a secret, something to be filled in."""
    if len(value) > _LONGEST_CHOSEN:
        return False
    return is_masked(value) or (not is_scattered(value) and bool(_PLACEHOLDER.fullmatch(value)))


def is_reference(value: str) -> bool:
    """Return whether a bare value names a secret that is elsewhere: a call, a variable, a path, a constant."""
    if len(value) > _LONGEST_CHOSEN or is_scattered(value):
        return False
    return bool(_REFERENCE.fullmatch(value))


def is_given(value: str) -> bool:
    """Return whether a value can be a secret where its place says that one stands: no placeholder, no reference."""
    return not is_placeholder(value) and not is_reference(value)


def is_drawn(value: str) -> bool:
    """Return whether a word behind the prefix of a vendor was drawn: it has digits, or capitals all over it."""
    return any(map(str.isdigit, value)) or is_scattered(value)


def spoken_share(value: str) -> float:
    """Share of the characters in runs of four letters and more that can be spoken, 0..1."""
    return sum(
        len(run) for run in _SPOKEN.findall(value) if _VOWEL.search(run) and not _CLUSTER.search(run)
    ) / max(len(value), 1)


def is_scattered(value: str) -> bool:
    """Return whether letters and digits are mixed all over it, as only a generator writes them."""
    letters, digits, _ = _kinds(value)
    is_mixed = len(value) >= 16 and value.lower() != value != value.upper()
    if len(value) < 10 or not letters or not (digits or is_mixed):
        return False
    return spoken_share(value) < 0.5 and len(_CHANGE.findall(value)) >= 0.2 * (len(value) - 1)


def is_random(value: str) -> bool:
    """Return whether a program made it: 12 characters and more, scattered, or letters in mixed case without words."""
    if len(value) < 12 or " " in value or is_placeholder(value):
        return False
    if is_scattered(value):
        return True
    is_mixed = value.lower() != value != value.upper()
    is_unspoken = spoken_share(value) < (0.4 if len(value) < 32 else 0.7)
    return len(value) >= 16 and is_mixed and is_unspoken and not is_reference(value)


def is_identifier(value: str) -> bool:
    """Return whether it more often names something than opens it: a UUID, a digest, a commit, a public key."""
    return bool(_IDENTIFIER.fullmatch(value))


def is_mundane(value: str) -> bool:
    """Return whether it is an address, a file, a version, a date, an amount, an algorithm or a name of code."""
    return len(value) < _LONGEST_CHOSEN and bool(_MUNDANE.fullmatch(value))


def is_chosen(value: str) -> bool:
    """Return whether a person or a program may have made it as a password: letters with digits or signs, a phrase."""
    if is_random(value):
        return True
    if not 6 <= len(value) <= _LONGEST_CHOSEN or not is_given(value):
        return False
    letters, digits, signs = _kinds(value)
    return letters and (digits or signs) and not is_mundane(value.rstrip("?!.,;:)"))


def is_strong(value: str) -> bool:
    """Return whether it can hardly be anything but a password: letters, digits and signs, or scattered ones."""
    if len(value) < 8 or len(value) > _LONGEST_CHOSEN or is_identifier(value) or not is_given(value):
        return False
    letters, digits, signs = _kinds(value.rstrip("?"))
    return letters and digits and (signs or is_scattered(value)) and not is_mundane(value.rstrip("?!.,;:)"))


def is_phrase(value: str) -> bool:
    """Return whether it is a pass phrase in one word: three words or more with hyphens between them."""
    return bool(_PHRASE.fullmatch(value))


def is_argument(value: str) -> bool:
    """Return whether it can be a password that a program is given: no number such as a port, no option, no path."""
    return is_given(value) and value[0] not in "-/" and not value.isdigit() and ":" not in value[:1]


def is_header(value: str) -> bool:
    """Return whether it can be a credential in a header, and no word of a sentence about headers."""
    return is_given(value) and not (value.isalpha() and value.islower())
