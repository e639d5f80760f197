"""The look of a value by itself: generated, chosen by a person, or something that everybody may see.

Nothing here knows where the value stands; `values.py` asks that.
"""

import re
from typing import Final

from slowwave.deferred import pattern
from slowwave.redaction.remembering import remembered

SHORTEST_CHOSEN: Final = 6
SHORTEST_RANDOM: Final = 8
SHORTEST_MIXED: Final = 20
SHORTEST_SHUFFLED: Final = 12
SHORTEST_SCATTERED: Final = 10
_WORD_SHARE: Final = 0.5
_SHUFFLED_SHARE: Final = 0.6
_CHANGE_SHARE: Final = 0.25
_SIGNS: Final = frozenset("!@#$%^&*+?=~§€£")

_WORD = pattern(
    r"[A-Z][a-z]{3,}|[a-z]{4,}|[A-Z]{4,}|(?:Key|Set|Map|Url|Ids?|Of|And|For|To|By|New|Get|Add)(?![a-z])"
)
_CLUSTER = pattern(r"[bcdfghjklmnpqrstvwxz]{4}")
_VOWEL = pattern(r"[aeiouyäöüáéíóúàèìòùâêîôûąęó]")
_KIND_CHANGE = pattern(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[a-z0-9])|(?<=[0-9])(?=[A-Za-z])")
_UUID = pattern(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX = pattern(r"(?:0x)?[0-9a-f]{16,}|(?:0x)?[0-9A-F]{16,}")
_MUNDANE = pattern(
    r"""
    [\w.%+'-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,5}[.,;:]?             # a mail address
    | [^\s@]{1,64}@[\w.-]{1,64}['’]s                                 # an account that has something
    | [A-Za-z][A-Za-z0-9+.-]{1,20}:(?://|\\\\)?[^\s@]*[/?].*           # an address
    | (?:[A-Za-z0-9-]{1,63}\.){1,6}[a-z]{2,12}(?::\d{1,5})?(?:/.*)?    # a host
    | (?:[\w.@-]{1,60}/){0,12}[\w-][\w.-]{0,80}\.(?:[a-z]{1,5}\d?|ipynb)(?::\d+){0,2}        # a file
    | (?:[a-z][a-zA-Z_]{0,20}\d?/){2,12}[\w*.-]{0,30}                    # a path
    | [vV]?\d{1,5}(?:[.:]\d{1,5}){1,4}(?:[-+.]?[a-z]{1,8}[.\d-]{0,8}|Z|(?:-\d{1,8}){1,3})? # a version, a time, an IP address
    | \d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ].*)?                      # a date
    | [~<>=+-]?[$€£]?\d[\d.,_]*(?:[A-Za-z]{1,3}|%|€|\$)?[+)]?          # an amount
    | [#@&](?!(?=\S*[A-Z])\S*\d\d)\w[\w-]*                                                   # a ticket, a name
    | [A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+ | [A-Z]{2,12}-\d{1,7}              # a constant, a ticket
    | [A-Za-z_][\w.]{0,60}\(.*                                         # a call
    | (?i:(?:sha|md|bcrypt|scrypt|argon|pbkdf|base|utf|aes|rsa|hmac|oauth|jwt|uuid|ed|ecdsa|http|ipv|es|rs|hs|tls|ssl
        |wpa|saml|log4|node|python|php|web|k8|i18|l10|a11|ss|s|h|p|x|c|v|u2f|o)
        -?\d[\d._-]*(?:[-_]?(?:bit|gcm|cbc|sha|psk|url|j|s|n|y|client|rsa)\d{0,4}){0,3})  # an algorithm, a product
    | (?i:s?cram|digest|xoauth)[-\dA-Za-z]{1,16} | \d{1,5}/(?:tcp|udp|sctp) | V\d(?:[A-Z]+[a-z]*){2,} | (?:[A-Z][a-z]+)+V\d(?:beta|alpha)?\d?   # a protocol, classes
    | 0x[0-9a-fA-F]{1,8} | [a-z][\w.]*-[\w.-]*\#\d+                              # a small number, a ticket of a repository
    | @?[\w./-]{1,60}@(?:npm:)?(?:[\^~]\d.*|\d+\.\d+\.\d.*) | (?:[a-z]+\+)+(?:https?|ssh|git|svn|file)   # a package, a scheme
    | [A-Za-z][a-z]+\#\d{6,}                                           # a ticket of a tracker
    | (?i:rfc|iso|ieee|cve|pep|fips|nist|pkcs)[ -]?\d[\d.:-]*             # a standard
    | [A-Za-z]\w{1,30}-\d{1,3}(?:\.\d{1,4}){1,3}                      # a name with a version
    | (?:[A-Z][a-z]+)+\d(?:[A-Z][a-z]+)+                             # a class
    | [A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,4})?      # an account of a bank
    """,
    re.VERBOSE,
)
_PUBLIC = pattern(
    r"(?:sha\d{1,3}|md5|blake\d\w?|h\d)[-:=]\S*|SHA256:\S*|MD5:\S*|(?:[0-9a-fA-F]{2}:){5,}[0-9a-fA-F]{2}|ssh-(?:rsa|ed25519|dss)\S*"
    r"|ecdsa-sha2-\S*|AAAA[BCE][23]\S*|age1[a-z0-9]{50,}|pk_(?:live|test)_\S*|0x[0-9a-fA-F]{1,16}[uUlL]{0,3}\Z|data:\S*|xpub\S*|(?:urn|spdx|pkg|arn|did|oid|doi|cid|tel|mailto|isbn):\S*"
)


def _kinds(value: str) -> tuple[bool, bool, bool]:
    """Has it letters, digits, signs."""
    return (
        any(character.isalpha() for character in value),
        any(character.isdigit() for character in value),
        any(character in _SIGNS for character in value),
    )


def has_sign(value: str) -> bool:
    """Return whether a sign of passwords stands in it, as ! or %."""
    return _kinds(value)[2]


@remembered
def word_share(value: str) -> float:
    """Share of the characters that stand in runs of letters that can be spoken, 0..1."""
    spoken = sum(
        len(word)
        for word in _WORD.findall(value)
        if _VOWEL.search(word.lower()) and not _CLUSTER.search(word.lower())
    )
    return spoken / max(len(value), 1)


@remembered
def is_scattered(value: str) -> bool:
    """Return whether letters and digits are mixed all over it, as only a generator writes them."""
    letters, digits, _ = _kinds(value)
    if not (letters and digits) or len(value) < SHORTEST_SCATTERED:
        return False
    changes = len(_KIND_CHANGE.findall(value))
    return word_share(value) < _WORD_SHARE and changes >= _CHANGE_SHARE * (len(value) - 1)


def is_mixed(value: str) -> bool:
    """Return whether it looks generated: scattered, or of upper and lower case in turns over 20 characters."""
    if is_scattered(value):
        return True
    return (
        len(value) >= SHORTEST_MIXED
        and value.lower() != value != value.upper()
        and word_share(value) < _WORD_SHARE
        and len(_KIND_CHANGE.findall(value)) >= _CHANGE_SHARE * len(value)
    )


def is_shuffled(value: str) -> bool:
    """Return whether it is letters in mixed case and nothing that can be spoken, with digits or without."""
    return (
        len(value) >= SHORTEST_SHUFFLED
        and value.replace("-", "").replace("_", "").isalnum()
        and value.lower() != value != value.upper()
        and word_share(value) < _SHUFFLED_SHARE
        and len(_KIND_CHANGE.findall(value)) >= _CHANGE_SHARE * len(value)
    )


def is_strong(value: str) -> bool:
    """Return whether it can hardly be anything but a password: letters, digits and signs, and no address."""
    letters, digits, signs = _kinds(value)
    if (
        len(value) < SHORTEST_RANDOM
        or " " in value
        or not (letters and digits)
        or value.startswith("--")
        or is_mundane(value.rstrip("?!.,;:)"))
    ):
        return False
    if is_scattered(value):
        return not is_identifier(value)
    inner = value.rstrip("!?.,;:)")
    return (
        signs
        and value[0] not in "$@#&<{[(/\\"
        and (any(sign in inner for sign in _SIGNS) or value[-1] in "!?")
    )


def is_identifier(value: str) -> bool:
    """Return whether it is a UUID or a hexadecimal number: a name of something more often than a secret."""
    return bool(_UUID.fullmatch(value) or _HEX.fullmatch(value))


@remembered
def is_mundane(value: str) -> bool:
    """Return whether it is an address, a file, a version, a date, an amount, an algorithm or a public key."""
    if len(value) >= 400:
        return False
    if _PUBLIC.match(value):
        return True
    is_name = bool(_MUNDANE.fullmatch(value))
    return is_name and ("@" in value or "/" in value or not any(map(is_scattered, value.split("."))))


def is_uuid(value: str) -> bool:
    """Return whether it has the form of a UUID."""
    return bool(_UUID.fullmatch(value))
