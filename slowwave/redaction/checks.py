"""The last word about a match of a rule in `rules.toml`, by the name that its line gives in `check`."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Final

from slowwave.deferred import pattern
from slowwave.redaction.labelled.captions import is_caption
from slowwave.redaction.labelled.labels import ABOUT
from slowwave.redaction.labelled.near import is_generated, is_invented, is_word_and_number
from slowwave.redaction.shapes import is_mixed, is_mundane, is_scattered, is_shuffled, is_strong, is_uuid
from slowwave.redaction.values import is_ordinary, is_random, is_reference, is_sentence, looks_chosen
from slowwave.redaction.wallets import has_checksum

Check = Callable[[re.Match[str], int, int], bool]

_PORTS = pattern(r"[\d.:/-]+(?:/(?:tcp|udp))?")
_PATH = pattern(r"(?:~|\.{1,2}|\$\w+|[A-Za-z]:)?[/\\].*|\S*/\S*/\S*")
_OPTION = pattern(
    r"[a-z]{2,12}|[A-Z]{2,12}|--?\w.*|[\w.-]+=\S*|\w[\w.-]*\.(?:zip|7z|rar|tar|gz|json|yml|yaml|txt|pem|conf|js|py|sql|log|csv)"
)
_NAME = pattern(r"[a-z]+(?:_[a-z]+)+|[\w-]+:[x*!]?:.*")
_DIGEST = pattern(r"[0-9a-fA-F]{32}|[0-9a-fA-F]{40}")
_SPOKEN_KEY = pattern(r"(?i)pass|pw|secret|token|key|auth|cred|login|user|://")


def _value(match: re.Match[str], start: int, end: int) -> str:
    return match.string[start:end]


def _digit(match: re.Match[str], start: int, end: int) -> bool:
    return any(character.isdigit() for character in _value(match, start, end))


def _given(match: re.Match[str], start: int, end: int) -> bool:
    value = _value(match, start, end)
    return not is_ordinary(value) and not is_reference(value, is_shell=True)


def _no_number(match: re.Match[str], start: int, end: int) -> bool:
    return _given(match, start, end) and not _value(match, start, end).isdigit()


def _argument(match: re.Match[str], start: int, end: int) -> bool:
    """An argument that is no port, path, file or option."""
    value = _value(match, start, end)
    is_plain = (
        _PORTS.fullmatch(value)
        or _NAME.fullmatch(value)
        or _PATH.fullmatch(value)
        or (_OPTION.fullmatch(value) and not is_strong(value))
    )
    return not is_plain and _given(match, start, end) and not is_mundane(value)


def _piped(match: re.Match[str], start: int, end: int) -> bool:
    value = _value(match, start, end)
    is_greeting = " " in value and value.replace(" ", "").isalpha() and "base64" in match[0]
    return _given(match, start, end) and not is_sentence(value) and not is_greeting


_TOLD = pattern(r"[:=]")
_SHORT_HEX = pattern(r"[0-9a-f]{1,16}")


def _header(match: re.Match[str], start: int, end: int) -> bool:
    value = _value(match, start, end)
    is_told = bool(_TOLD.search(match.string, match.start(), start))
    is_known = is_told and bool(match["scheme"]) and not match["other"]
    if not is_known and (is_mundane(value) or _SHORT_HEX.fullmatch(value) or set("()[]<>") & set(value)):
        return False
    return not is_ordinary(value) if is_known else is_random(value)


def _encoded(match: re.Match[str], start: int, end: int) -> bool:
    """Base64 of a password, of a key, of something that says it is one, or of bytes."""
    value = _value(match, start, end)
    try:
        raw = base64.b64decode(
            value.replace("-", "+").replace("_", "/") + "=" * (-len(value) % 4), validate=True
        )
    except (binascii.Error, ValueError):
        return False
    try:
        inside = raw.decode().strip()
    except UnicodeDecodeError:
        return len(raw) >= 16
    if not inside.isprintable() and "\n" not in inside:
        return True
    return any(looks_chosen(word) or is_mixed(word) for word in inside.split()[:50]) or bool(
        _SPOKEN_KEY.search(inside[:500])
    )


def _random_or_base64(match: re.Match[str], start: int, end: int) -> bool:
    return is_random(_value(match, start, end)) or _encoded(match, start, end)


def _random_tail(match: re.Match[str], start: int, end: int) -> bool:
    return is_random(_value(match, start, end).partition("=")[2].partition(";")[0])


def _digest_line(match: re.Match[str], start: int, end: int) -> bool:
    """A hash after a user's name: of the old crypt, or a digest where the text speaks of accounts."""
    value = _value(match, start, end)
    if _DIGEST.fullmatch(value):
        around = match.string[max(0, start - 400) : start].lower()
        return any(word in around for word in ("htpasswd", "passwd", "shadow", "hashes", "password"))
    return is_scattered(value)


def _printed(match: re.Match[str], start: int, end: int) -> bool:
    value = _value(match, start, end)
    return (
        (looks_chosen(value) or is_random(value) or is_shuffled(value))
        and not is_mundane(value)
        and not is_reference(value, is_shell=False)
    )


def _argument_chosen(match: re.Match[str], start: int, end: int) -> bool:
    return _argument(match, start, end) and looks_chosen(_value(match, start, end))


_LOGIN_LINE = pattern(r"[*x!]{0,2}:?\d+:\d+:")


def _strong_or_beside(match: re.Match[str], start: int, end: int) -> bool:
    """A strong password, or one that a stroke with blanks puts beside a name."""
    value = _value(match, start, end).rstrip(".,;:)")
    if is_ordinary(value, words=False):
        return False
    if _LOGIN_LINE.match(value):
        return False
    before_host, is_address, _ = value.partition("@")
    if is_address and is_ordinary(before_host, words=False):
        return False
    return is_strong(value) or (" / " in match[0] and looks_chosen(value))


def _listed(match: re.Match[str], start: int, end: int) -> bool:
    """A password, or digits beside a device."""
    value = _value(match, start, end)
    if value.isdigit():
        return bool(match["device"])
    return _invented(match, start, end)


def _invented(match: re.Match[str], start: int, end: int) -> bool:
    """A password by its look: made by a generator, or words and digits that a person puts together."""
    value = _value(match, start, end)
    is_password = is_generated(value) or is_invented(value) or is_word_and_number(value)
    return is_password and not is_mundane(value.rstrip("!?."))


def _prompted(match: re.Match[str], start: int, end: int) -> bool:
    """A value typed at a prompt, which may be a plain word."""
    value = _value(match, start, end)
    return _given(match, start, end) and value.lower() not in ABOUT and not is_caption(value)


_OTHER_NUMBERS = pattern(
    r"(?i)(?:error|port|version|line|row|year|since|in|of|logic|number|no\.?|nr\.?|room|page)[ ]?\Z"
)
_YEAR = pattern(r"(?:19|20)\d\d")


def _door(match: re.Match[str], start: int, end: int) -> bool:
    """Digits that are no year and that no other word names."""
    return not _YEAR.fullmatch(_value(match, start, end)) and not _OTHER_NUMBERS.search(
        match.string[match.start() : start]
    )


def _generated(match: re.Match[str], start: int, end: int) -> bool:
    """Mixed by a generator, or a UUID that stands as an argument."""
    value = _value(match, start, end)
    return (
        (is_uuid(value) or is_mixed(value))
        and not is_mundane(value)
        and not is_reference(value, is_shell=False)
    )


def _credential(match: re.Match[str], start: int, end: int) -> bool:
    value = _value(match, start, end)
    return looks_chosen(value) and value.count(" ") < 2


_OF_KEYS = pattern(r"(?i)key|schlüssel|clé|clave|chiave|chave|sleutel|klucz|secret")
_PUBLISHED = pattern(
    r"(?i)sha-?\d|integrity|signature|digest|public|checksum|fingerprint|cert|commit|\bsig\b"
)


def _near_key(match: re.Match[str], start: int, end: int) -> bool:
    """Scattered, near a word for a key and none for what everybody may see."""
    before = match.string[max(0, start - 240) : start]
    return (
        bool(_OF_KEYS.search(before))
        and not _PUBLISHED.search(before)
        and any(map(str.islower, _value(match, start, end)))
        and is_mixed(_value(match, start, end))
    )


_IN_BASE64 = pattern(r"[A-Za-z0-9+/\n]{40}")


def _path(match: re.Match[str], start: int, end: int) -> bool:
    """Mixed by a generator, in an address and not in base64."""
    return is_mixed(_value(match, start, end)) and not _IN_BASE64.match(
        match.string, max(0, match.start() - 40)
    )


def _near_chpasswd(match: re.Match[str], start: int, end: int) -> bool:
    around = match.string[max(0, start - 300) : end + 100]
    return "chpasswd" in around and looks_chosen(_value(match, start, end))


CHECKS: Final[Mapping[str, Check]] = {
    "digit": _digit,
    "door": _door,
    "generated": _generated,
    "scattered": lambda match, start, end: is_scattered(_value(match, start, end)),
    "scrambled": lambda match, start, end: is_mixed(_value(match, start, end)),
    "random": lambda match, start, end: is_random(_value(match, start, end)),
    "chosen": lambda match, start, end: looks_chosen(_value(match, start, end)),
    "given": _given,
    "no_number": _no_number,
    "no_placeholder": lambda match, start, end: not is_ordinary(_value(match, start, end), words=False),
    "argument": _argument,
    "argument_chosen": _argument_chosen,
    "printed": _printed,
    "invented": _invented,
    "listed": _listed,
    "prompted": _prompted,
    "credential": _credential,
    "near_key": _near_key,
    "path": _path,
    "strong_or_beside": _strong_or_beside,
    "near_chpasswd": _near_chpasswd,
    "strong": lambda match, start, end: is_strong(_value(match, start, end).rstrip(".,;:)")),
    "piped": _piped,
    "header": _header,
    "encoded": _encoded,
    "random_or_base64": _random_or_base64,
    "random_tail": _random_tail,
    "digest_line": _digest_line,
    "base58_checksum": lambda match, start, end: has_checksum(_value(match, start, end)),
}
