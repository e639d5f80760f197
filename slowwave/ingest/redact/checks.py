"""Numbers that prove themselves: bank cards, accounts, phrases of the list of BIP-39."""

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Final

SEED_WORDS: Final = frozenset((files(__package__) / "seed_words.txt").read_text(encoding="ascii").split())
"""The 2048 English words of BIP-39; a phrase of another list needs a label."""
_DIGITS = re.compile(r"(?<![\w.+/-])\d(?:[ -]?\d){11,18}(?![\w+/=-])(?!\.\d)")
_ISSUER = re.compile(
    r"4\d{15}|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}"
    r"|6(?:011|4[4-9]\d|5\d\d)\d{12}|62\d{14,17}|(?:50|5[6-9]|6[37])\d{10,17}"
)
"""Visa, Mastercard, American Express, Diners, JCB, Discover, UnionPay, Maestro: prefix and length."""
_ACCOUNT = re.compile(
    r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,4})?(?![A-Za-z0-9])"
)
_WORDS = re.compile(r"(?<![\w-])(?:[a-z]{3,8}(?:[\s,;|\"'`]|\d{1,2}[.):]){1,6}){11,40}[a-z]{3,8}(?![\w-])")
_SHORTEST_PHRASE: Final = 12


def numbers(text: str) -> Iterator[tuple[int, int, str]]:
    """Places of bank cards, accounts and seed phrases, with their kinds."""
    for found in _DIGITS.finditer(text):
        if _is_card(re.sub(r"\D", "", found[0])):
            yield *found.span(), "card"
    for found in _ACCOUNT.finditer(text):
        if end := _account_end(found[0]):
            yield found.start(), found.start() + end, "iban"
    for found in _WORDS.finditer(text):
        yield from ((*span, "seed-phrase") for span in _phrases(text, *found.span()))


def _is_card(digits: str) -> bool:
    """Return whether a number has an issuer's prefix and length, and the check digit of Luhn."""
    doubled = (sum(divmod(int(digit) * (1 + at % 2), 10)) for at, digit in enumerate(reversed(digits)))
    return bool(_ISSUER.fullmatch(digits)) and sum(doubled) % 10 == 0 and len(set(digits)) > 1


def _account_end(text: str) -> int:
    """End of the account at the begin of a text, by its remainder of 97 (ISO 13616); 0 where there is none: a word may follow."""
    for end in dict.fromkeys((len(text), *(gap.start() for gap in reversed([*re.finditer(" ", text)])))):
        number = text[:end].replace(" ", "")
        if (
            len(number) >= 15
            and int("".join(str(int(sign, 36)) for sign in number[4:] + number[:4])) % 97 == 1
        ):
            return end
    return 0


def _phrases(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Runs of twelve words and more of the list, of which few come twice."""
    run: list[re.Match[str]] = []
    for word in (*re.finditer(r"[a-z]+", text[start:end]), None):
        if word and word[0] in SEED_WORDS:
            run.append(word)
            continue
        if len(run) >= _SHORTEST_PHRASE and 2 * len({found[0] for found in run}) > len(run):
            yield start + run[0].start(), start + run[-1].end()
        run = []
