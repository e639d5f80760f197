"""What people type, remember or write on paper, and hashes of it."""

from random import Random

from benchmarks.made_secrets.drawing import (
    ALNUM,
    BASE32,
    DIGITS,
    HEX,
    LOWER,
    UPPER,
    Maker,
    digest,
    drawn,
    encoded,
    grouped,
    mixed,
    of,
)
from benchmarks.made_secrets.words import SEED_WORDS, SIMPLE, STEMS

LEET = str.maketrans({"a": "4", "e": "3", "i": "1", "o": "0", "s": "5"})


def person_password(dice: Random, signs: str = "!#$%&*+-?@_=.") -> str:
    """A password as a person invents it: a word with digits and a sign, two words, leet, a phrase, or a manager's."""
    stem, other = dice.choice(STEMS), dice.choice(STEMS)
    year, number, sign = str(dice.randint(1965, 2026)), str(dice.randint(10, 9999)), dice.choice(signs)
    form = dice.choices(range(8), (30, 12, 12, 10, 8, 10, 10, 8))[0]
    if form == 0:
        return stem.capitalize() + dice.choice((year, number)) + sign
    if form == 1:
        return stem + number
    if form == 2:
        return stem.capitalize().translate(LEET) + other[:4] + sign + str(dice.randint(10, 99))
    if form == 3:
        return stem.capitalize() + other.capitalize() + str(dice.randint(1, 999))
    if form == 4:
        return "-".join((stem, other, dice.choice(STEMS), str(dice.randint(2, 99))))
    if form == 5:
        return sign + stem + dice.choice(signs) + other.capitalize() + str(dice.randint(1, 99))
    if form == 6:
        return mixed(dice, ALNUM, dice.randint(10, 20))
    return mixed(dice, ALNUM + signs, dice.randint(12, 22))


def plain_word(dice: Random) -> str:
    """A password that is nothing but a word."""
    return dice.choice(STEMS)


def pass_phrase(dice: Random) -> str:
    """Four to six plain words between blanks."""
    return " ".join(dice.choice(SIMPLE) for _ in range(dice.randint(4, 6)))


def hyphen_phrase(dice: Random) -> str:
    """Three to five plain words between hyphens, as pass phrase generators give them."""
    return "-".join(dice.choice(SIMPLE) for _ in range(dice.randint(3, 5)))


def seed_phrase(dice: Random, count: int = 12) -> str:
    """Words of a wallet's seed."""
    return " ".join(dice.sample(SEED_WORDS, count))


def pin(dice: Random, count: int = 4) -> str:
    """Digits that are no year and no row of one digit."""
    while True:
        text = drawn(dice, DIGITS, count)
        if len(set(text)) > 2 and not text.startswith(("19", "20")):
            return text


def hash_sha512(dice: Random) -> str:
    """A crypt(3) hash of a password, SHA-512."""
    return f"$6${drawn(dice, ALNUM + './', 16)}${drawn(dice, ALNUM + './', 86)}"


def hash_bcrypt(dice: Random) -> str:
    """A bcrypt hash."""
    return f"$2{dice.choice('aby')}${dice.choice(('10', '12'))}${drawn(dice, ALNUM + './', 53)}"


def hash_argon(dice: Random) -> str:
    """An Argon2 hash in its PHC form."""
    return f"$argon2id$v=19$m=65536,t=3,p=4${encoded(dice, 16).rstrip('=')}${encoded(dice, 32).rstrip('=')}"


def hash_django(dice: Random) -> str:
    """A password as Django stores it."""
    return f"pbkdf2_sha256$600000${drawn(dice, ALNUM, 22)}${encoded(dice, 32)}"


def hash_ldap(dice: Random) -> str:
    """A salted SHA-1 of LDAP."""
    return "{SSHA}" + encoded(dice, 24)


def recovery_code(dice: Random) -> str:
    """One recovery code of a second factor, as the big sites print them."""
    form = dice.randint(0, 3)
    if form == 0:
        return f"{drawn(dice, HEX, 5)}-{drawn(dice, HEX, 5)}"
    if form == 1:
        return f"{drawn(dice, DIGITS, 4)} {drawn(dice, DIGITS, 4)}"
    if form == 2:
        return f"{drawn(dice, LOWER + DIGITS, 4)}-{drawn(dice, LOWER + DIGITS, 4)}"
    return drawn(dice, BASE32, 10)


def seed_grid(dice: Random) -> str:
    """A seed phrase in four numbered rows of three."""
    words = [f"{place:2} {word:10}" for place, word in enumerate(seed_phrase(dice).split(), start=1)]
    return "\n".join("  ".join(words[at : at + 3]).rstrip() for at in range(0, len(words), 3))


def numbered(phrase: str) -> str:
    """A phrase with the place of each word but the first before it."""
    first, *others = phrase.split()
    return " ".join([first, *(f"{place} {word}" for place, word in enumerate(others, start=2))])


def letters(dice: Random) -> str:
    """Sixteen letters, small and capital in turns as they come, without a digit."""
    while (text := drawn(dice, LOWER + UPPER, 16)) in (text.lower(), text.upper()):
        pass
    return text


def cisco_seven(dice: Random) -> str:
    """A password that a Cisco router turned into its type 7."""
    return f"{dice.randint(0, 15):02d}" + drawn(dice, HEX[:10] + "ABCDEF", 2 * dice.randint(7, 14))


PASSWORDS: dict[str, Maker] = {
    "password": person_password,
    "plain": lambda dice: person_password(dice, signs="!-_.+"),
    "url": lambda dice: person_password(dice, signs="!-_."),
    "managed": lambda dice: mixed(dice, ALNUM, dice.randint(14, 24)),
    "managed_signs": lambda dice: mixed(dice, ALNUM + "!*-_.+", dice.randint(14, 22)),
    "word": plain_word,
    "phrase": pass_phrase,
    "hyphen_phrase": hyphen_phrase,
    "seed12": seed_phrase,
    "seed6": lambda dice: seed_phrase(dice, 6),
    "seed24": lambda dice: seed_phrase(dice, 24),
    "pin4": pin,
    "pin6": lambda dice: pin(dice, 6),
    "pin8": lambda dice: pin(dice, 8),
    "recovery": recovery_code,
    "wpa_hex": of(HEX, 64),
    "router_key": lambda dice: drawn(dice, DIGITS, 20),
    "licence": lambda dice: grouped(dice, UPPER + DIGITS, 5, 5),
    "app_password": lambda dice: grouped(dice, LOWER, 4, 4, " "),
    "apple_app": lambda dice: grouped(dice, LOWER, 4, 4),
    "bitlocker": lambda dice: grouped(dice, DIGITS, 8, 6),
    "sha512": hash_sha512,
    "bcrypt": hash_bcrypt,
    "argon": hash_argon,
    "django_hash": hash_django,
    "ssha": hash_ldap,
    "apr1": lambda dice: f"$apr1${drawn(dice, ALNUM + './', 8)}${drawn(dice, ALNUM + './', 22)}",
    "md5crypt": lambda dice: f"$1${drawn(dice, ALNUM + './', 4)}${drawn(dice, ALNUM + './', 22)}",
    "mysql_hash": of(HEX.upper(), 40),
    "md5_hash": lambda dice: digest(dice, "md5"),
    "sha1_hash": lambda dice: digest(dice, "sha1"),
    "ntlm": of(HEX, 32),
    "cisco7": cisco_seven,
    "code5": lambda dice: mixed(dice, UPPER + DIGITS, 5).upper(),
    "code44": lambda dice: f"{pin(dice)} {pin(dice)}",
    "rec_low": lambda dice: (
        f"{mixed(dice, LOWER + DIGITS, 5).lower()}-{mixed(dice, LOWER + DIGITS, 5).lower()}"
    ),
    "safe_turns": lambda dice: "-".join(str(dice.randint(10, 99)) for _ in range(3)),
    "seed_commas": lambda dice: seed_phrase(dice).replace(" ", ", "),
    "seed_grid": seed_grid,
    "seed_numbered_line": lambda dice: numbered(seed_phrase(dice)),
    "code33": lambda dice: f"{pin(dice, 3)}-{pin(dice, 3)}",
    "dash_password": lambda dice: "-" + person_password(dice, signs="!-_.+"),
    "word_digits": lambda dice: dice.choice(STEMS) + str(dice.randint(100, 9999)),
    "letters16": letters,
    "licence_six": lambda dice: grouped(dice, UPPER + DIGITS, 6, 4),
    "ssha_short": lambda dice: encoded(dice, 20),
    "grub": lambda dice: f"{drawn(dice, HEX.upper(), 128)}.{drawn(dice, HEX.upper(), 128)}",
}
"""What people type, remember or write on paper, and hashes of it."""
