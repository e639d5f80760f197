"""Signs drawn from a random generator: what made secrets are put together from."""

import base64
import hashlib
import string
from collections.abc import Callable, Sequence
from random import Random

Maker = Callable[[Random], str]
DIGITS = string.digits
HEX = "0123456789abcdef"
LOWER = string.ascii_lowercase
UPPER = string.ascii_uppercase
ALNUM = string.ascii_letters + DIGITS
BASE32 = UPPER + "234567"
BASE64 = ALNUM + "+/"
URLSAFE = ALNUM + "-_"
BASE58 = "".join(sign for sign in ALNUM if sign not in "0OIl")
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"


def drawn(dice: Random, signs: Sequence[str], count: int) -> str:
    """Text of `count` signs drawn evenly."""
    return "".join(dice.choice(signs) for _ in range(count))


def encoded(dice: Random, count: int) -> str:
    """Random bytes in standard base64, padded."""
    return base64.b64encode(dice.randbytes(count)).decode()


def encoded_url(dice: Random, count: int) -> str:
    """Random bytes in URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(dice.randbytes(count)).decode().rstrip("=")


def of(signs: str, count: int, *, before: str = "", after: str = "") -> Maker:
    """A maker of a fixed form: a prefix, `count` drawn signs, a suffix."""
    return lambda dice: before + drawn(dice, signs, count) + after


def uuid(dice: Random) -> str:
    """A random UUID of version 4."""
    text = drawn(dice, HEX, 32)
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{dice.choice('89ab')}{text[17:20]}-{text[20:]}"


def mixed(dice: Random, signs: str, count: int) -> str:
    """Drawn signs that begin with a letter and hold a small letter, a capital and a digit, as managers make them."""
    needed = [dice.choice(LOWER), dice.choice(UPPER), dice.choice(DIGITS)]
    rest = [*needed, *drawn(dice, signs, count - 4)]
    dice.shuffle(rest)
    return dice.choice(string.ascii_letters) + "".join(rest)


def digest(dice: Random, name: str) -> str:
    """The hexadecimal digest of random bytes by a named algorithm."""
    return hashlib.new(name, dice.randbytes(16), usedforsecurity=False).hexdigest()


def grouped(dice: Random, signs: str, groups: int, size: int, between: str = "-") -> str:
    """Groups of drawn signs of one size."""
    return between.join(drawn(dice, signs, size) for _ in range(groups))
