"""Secret values by their real forms: drawn from a random generator at run time, so that no source holds one.

A maker takes the generator and gives the value's text. `MAKERS` names them for the surroundings; a value of several
lines is a secret of several pieces.
"""

import base64
import hashlib
import json
import string
from collections.abc import Callable, Sequence
from random import Random

from benchmarks.made_secrets.words import SEED_WORDS, SIMPLE, STEMS

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
LEET = str.maketrans({"a": "4", "e": "3", "i": "1", "o": "0", "s": "5"})


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


def person_password(dice: Random, signs: str = "!#$%&*+-?@_=.") -> str:
    """A password as a person invents it: a word with digits and a sign, two words, leet, a phrase, or a manager's."""
    stem, other = dice.choice(STEMS), dice.choice(STEMS)
    year, number, sign = str(dice.randint(1965, 2026)), str(dice.randint(10, 9999)), dice.choice(signs)
    safe = [mark for mark in signs if mark in "!-_.?+=@#*%$&"]
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
        return sign + stem + dice.choice(safe) + other.capitalize() + str(dice.randint(1, 99))
    if form == 6:
        return mixed(dice, ALNUM, dice.randint(10, 20))
    return mixed(dice, ALNUM + "".join(safe), dice.randint(12, 22))


def mixed(dice: Random, signs: str, count: int) -> str:
    """Drawn signs that begin with a letter and hold a small letter, a capital and a digit, as managers make them."""
    needed = [dice.choice(LOWER), dice.choice(UPPER), dice.choice(DIGITS)]
    rest = [*needed, *drawn(dice, signs, count - 4)]
    dice.shuffle(rest)
    return dice.choice(string.ascii_letters) + "".join(rest)


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


def token_json(dice: Random) -> str:
    """A signed JSON web token of three parts."""
    head = {"alg": dice.choice(("HS256", "RS256")), "typ": "JWT"}
    body = {
        "sub": drawn(dice, DIGITS, 8),
        "name": dice.choice(STEMS),
        "iat": dice.randint(1_700_000_000, 1_790_000_000),
    }
    parts = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (head, body)
    )
    return ".".join((*parts, encoded_url(dice, 32)))


def key_block(dice: Random, label: str, lines: int = 8, width: int = 64) -> str:
    """A private key between its BEGIN and END lines."""
    border = f"{label} KEY-----"
    body = [drawn(dice, BASE64, width) for _ in range(lines)] + [drawn(dice, BASE64, width // 2) + "=="]
    return "\n".join((f"-----BEGIN {border}", *body, f"-----END {border}"))


def key_block_escaped(dice: Random) -> str:
    """A private key as JSON holds it, with its line breaks as backslash n."""
    return key_block(dice, "PRIVATE").replace("\n", "\\n") + "\\n"


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


def slack_bot(dice: Random) -> str:
    """A Slack bot's token."""
    return f"xoxb-{drawn(dice, DIGITS, 12)}-{drawn(dice, DIGITS, 13)}-{drawn(dice, ALNUM, 24)}"


def discord_bot(dice: Random) -> str:
    """A Discord bot's token: the id in base64, a time and a signature."""
    who = base64.b64encode(drawn(dice, "123456789", 18).encode()).decode()
    return f"{who}.G{drawn(dice, URLSAFE, 5)}.{drawn(dice, URLSAFE, 38)}"


def azure_client(dice: Random) -> str:
    """A client secret of an Azure application."""
    return f"{drawn(dice, ALNUM, 3)}8Q~{drawn(dice, ALNUM + '-_.~', 33)}{dice.choice(ALNUM)}"


def wallet_key(dice: Random) -> str:
    """A Bitcoin private key in its wallet import format."""
    return dice.choice("KL") + drawn(dice, BASE58, 51)


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


def cisco_seven(dice: Random) -> str:
    """A password that a Cisco router turned into its type 7."""
    return f"{dice.randint(0, 15):02d}" + drawn(dice, HEX[:10] + "ABCDEF", 2 * dice.randint(7, 14))


def digest(dice: Random, name: str) -> str:
    """The hexadecimal digest of random bytes by a named algorithm."""
    return hashlib.new(name, dice.randbytes(16), usedforsecurity=False).hexdigest()


def grouped(dice: Random, signs: str, groups: int, size: int, between: str = "-") -> str:
    """Groups of drawn signs of one size."""
    return between.join(drawn(dice, signs, size) for _ in range(groups))


def docker_json(dice: Random) -> str:
    """The configuration of a registry's credentials in base64, as Kubernetes keeps it."""
    user = base64.b64encode(f"ci:{mixed(dice, ALNUM, 20)}".encode()).decode()
    return base64.b64encode(json.dumps({"auths": {"registry.example.com": {"auth": user}}}).encode()).decode()


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
    "licence_six": lambda dice: grouped(dice, UPPER + DIGITS, 6, 4),
    "ssha_short": lambda dice: encoded(dice, 20),
    "grub": lambda dice: f"{drawn(dice, HEX.upper()[:16], 128)}.{drawn(dice, HEX.upper()[:16], 128)}",
}
"""What people type, remember or write on paper, and hashes of it."""

VENDORS: dict[str, Maker] = {
    "aws_id": of(BASE32, 16, before="AKIA"),
    "aws_secret": of(BASE64, 40),
    "aws_session": lambda dice: "IQoJb3JpZ2luX2Vj" + drawn(dice, BASE64, 320) + "==",
    "gcp_api": of(URLSAFE, 35, before="AI" + "za"),
    "google_client": of(URLSAFE, 28, before="GOCSPX-"),
    "google_refresh": lambda dice: "1//0" + drawn(dice, URLSAFE, 99),
    "azure_storage": lambda dice: encoded(dice, 64),
    "azure_client": azure_client,
    "azure_sas": lambda dice: encoded(dice, 32).replace("+", "%2B").replace("/", "%2F").replace("=", "%3D"),
    "b64_32": lambda dice: encoded(dice, 32),
    "b64_24": lambda dice: encoded(dice, 24),
    "b64_48": lambda dice: encoded(dice, 48),
    "github": of(ALNUM, 36, before="gh" + "p_"),
    "github_fine": lambda dice: (
        "github_" + f"pat_11{drawn(dice, UPPER + DIGITS, 20)}_{drawn(dice, ALNUM, 59)}"
    ),
    "gitlab": of(URLSAFE, 20, before="gl" + "pat-"),
    "gitlab_runner": of(URLSAFE, 20, before="gl" + "rt-"),
    "slack_bot": slack_bot,
    "slack_hook": lambda dice: (
        f"T{drawn(dice, UPPER + DIGITS, 8)}/B{drawn(dice, UPPER + DIGITS, 10)}/{drawn(dice, ALNUM, 24)}"
    ),
    "stripe": of(ALNUM, 99, before="sk_" + "live_51"),
    "stripe_hook": of(ALNUM, 32, before="whsec_"),
    "openai": lambda dice: "sk-" + f"proj-{drawn(dice, URLSAFE, 74)}T3BlbkFJ{drawn(dice, URLSAFE, 74)}",
    "anthropic": of(URLSAFE, 93, before="sk-" + "ant-api03-", after="AA"),
    "huggingface": of(string.ascii_letters, 34, before="hf" + "_"),
    "twilio_sid": of(HEX, 32, before="AC"),
    "twilio_key": of(HEX, 32, before="SK"),
    "hex32": of(HEX, 32),
    "hex14": of(HEX, 14),
    "hex_37": of(HEX, 37),
    "hex48": of(HEX, 48),
    "alnum50": lambda dice: mixed(dice, LOWER + DIGITS, 50),
    "b64_36": lambda dice: encoded(dice, 36),
    "b64_64": lambda dice: encoded(dice, 64),
    "b64_33": lambda dice: encoded(dice, 33),
    "hex40": of(HEX, 40),
    "hex64": of(HEX, 64),
    "hex128": of(HEX, 128),
    "sendgrid": lambda dice: f"S{'G'}.{drawn(dice, URLSAFE, 22)}.{drawn(dice, URLSAFE, 43)}",
    "mailgun": of(HEX, 32, before="key-"),
    "mailgun_new": lambda dice: f"{drawn(dice, HEX, 32)}-{drawn(dice, HEX, 8)}-{drawn(dice, HEX, 8)}",
    "mailchimp": lambda dice: f"{drawn(dice, HEX, 32)}-us{dice.randint(1, 21)}",
    "dockerhub": of(URLSAFE, 27, before="dckr_" + "pat_"),
    "uuid": uuid,
    "heroku_new": of(URLSAFE, 60, before="HRKU-AA"),
    "newrelic": of(UPPER + DIGITS, 27, before="NRAK-"),
    "newrelic_licence": of(HEX, 36, after="NRAL"),
    "sentry_token": lambda dice: f"sntrys_{encoded_url(dice, 75)}_{drawn(dice, BASE64, 43)}",
    "discord": discord_bot,
    "discord_hook": lambda dice: f"{drawn(dice, DIGITS, 18)}/{drawn(dice, URLSAFE, 68)}",
    "telegram": lambda dice: f"{drawn(dice, '123456789', 10)}:AA{drawn(dice, URLSAFE, 33)}",
    "npm": of(ALNUM, 36, before="np" + "m_"),
    "pypi": lambda dice: "pypi-" + "AgEIcHlwaS5vcmc" + drawn(dice, URLSAFE, 150),
    "rubygems": of(HEX, 48, before="rubygems_"),
    "digitalocean": of(HEX, 64, before="dop_" + "v1_"),
    "linear": of(ALNUM, 40, before="lin_api_"),
    "notion": of(ALNUM, 43, before="secret_"),
    "airtable": lambda dice: f"pat{drawn(dice, ALNUM, 14)}.{drawn(dice, HEX, 64)}",
    "shopify": of(HEX, 32, before="shp" + "at_"),
    "square": of(URLSAFE, 60, before="EAAA"),
    "paypal": of(URLSAFE, 80, before="E"),
    "cloudflare": of(URLSAFE, 40),
    "google_access": of(URLSAFE, 180, before="ya" + "29.a0"),
    "docker_json": docker_json,
    "mosquitto": lambda dice: f"{encoded(dice, 9)}${encoded(dice, 64)}",
    "nextcloud": lambda dice: grouped(dice, ALNUM, 5, 5),
    "bytes64": lambda dice: ",".join(str(dice.randrange(256)) for _ in range(64)),
    "alnum16": lambda dice: mixed(dice, ALNUM, 16),
    "alnum20": lambda dice: mixed(dice, ALNUM, 20),
    "alnum24": lambda dice: mixed(dice, ALNUM, 24),
    "alnum32": lambda dice: mixed(dice, ALNUM, 32),
    "alnum40": lambda dice: mixed(dice, ALNUM, 40),
    "alnum64": lambda dice: mixed(dice, ALNUM, 64),
    "url16": of(URLSAFE, 16),
    "url32": of(URLSAFE, 32),
    "url43": lambda dice: encoded_url(dice, 32),
    "vault": of(URLSAFE, 90, before="hvs.CAES"),
    "terraform": lambda dice: f"{drawn(dice, ALNUM, 14)}.atlasv1.{drawn(dice, URLSAFE, 67)}",
    "jwt": token_json,
    "grafana": lambda dice: f"glsa_{drawn(dice, ALNUM, 32)}_{drawn(dice, HEX, 8)}",
    "atlassian": lambda dice: f"ATATT3xFfGF0{drawn(dice, URLSAFE, 171)}={drawn(dice, HEX.upper()[:16], 8)}",
    "twitter": lambda dice: "A" * 22 + drawn(dice, ALNUM, 30) + "%3D" + drawn(dice, ALNUM, 50),
    "okta": of(URLSAFE, 40, before="00"),
    "databricks": of(HEX, 32, before="dap" + "i"),
    "supabase": of(HEX, 40, before="sbp_"),
    "planetscale": of(URLSAFE, 43, before="pscale_pw_"),
    "netlify": of(ALNUM, 36, before="nfp_"),
    "doppler": of(ALNUM, 43, before="dp.pt."),
    "sonar": of(HEX, 40, before="squ_"),
    "artifactory": of(ALNUM, 69, before="AKCp8"),
    "age": of(BECH32, 58, before="AGE-SECRET-KEY-1"),
    "pem_rsa": lambda dice: key_block(dice, "RSA PRIVATE", lines=10),
    "pem_ssh": lambda dice: key_block(dice, "OPENSSH PRIVATE", lines=6, width=70),
    "pem_pgp": lambda dice: key_block(dice, "PGP PRIVATE", lines=9).replace("KEY-----", "KEY BLOCK-----"),
    "pem_head": lambda dice: "\n".join(key_block(dice, "RSA PRIVATE").split("\n")[:4]),
    "pem_escaped": key_block_escaped,
    "wireguard": lambda dice: encoded(dice, 32),
    "totp": of(BASE32, 32),
    "totp16": of(BASE32, 16),
    "totp_spaced": lambda dice: grouped(dice, LOWER + "234567", 8, 4, " "),
    "laravel": lambda dice: "base64:" + encoded(dice, 32),
    "django_key": of(LOWER + DIGITS + "!@#$%^&*(-_=+)", 50),
    "django_insecure": of(LOWER + DIGITS + "!@#$%^&*-_=+", 50, before="django-insecure-"),
    "wif": wallet_key,
    "eth": of(HEX, 64, before="0x"),
    "xprv": of(BASE58, 107, before="xprv"),
    "session_id": of(LOWER + DIGITS, 26),
    "express_session": lambda dice: f"s%3A{drawn(dice, URLSAFE, 32)}.{drawn(dice, BASE64, 43)}",
    "kubeadm": lambda dice: f"{drawn(dice, LOWER + DIGITS, 6)}.{drawn(dice, LOWER + DIGITS, 16)}",
    "tailscale": lambda dice: f"tskey-auth-k{drawn(dice, ALNUM, 11)}CNTRL-{drawn(dice, ALNUM, 32)}",
    "replicate": of(ALNUM, 37, before="r8_"),
    "groq": of(ALNUM, 52, before="gsk_"),
    "figma": of(URLSAFE, 40, before="figd_"),
    "facebook": of(ALNUM, 180, before="EAA"),
    "postman": lambda dice: f"PMAK-{drawn(dice, HEX, 24)}-{drawn(dice, HEX, 34)}",
    "jenkins": of(HEX, 32, before="11"),
    "travis": of(URLSAFE, 22),
    "windows_key": lambda dice: grouped(dice, UPPER + DIGITS, 5, 5),
}
"""What machines make: vendors' keys, tokens, private keys, seeds."""

MAKERS: dict[str, Maker] = PASSWORDS | VENDORS
