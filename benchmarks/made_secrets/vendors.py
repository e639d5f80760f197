"""What machines make, by the forms that it really has: vendors' keys, tokens, private keys, seeds.

Everything is drawn at run time, and prefixes are put together, so that no source holds what looks like a key.
"""

import base64
import json
import string
from random import Random

from benchmarks.made_secrets.drawing import (
    ALNUM,
    BASE32,
    BASE58,
    BASE64,
    BECH32,
    DIGITS,
    HEX,
    LOWER,
    UPPER,
    URLSAFE,
    Maker,
    drawn,
    encoded,
    encoded_url,
    grouped,
    mixed,
    of,
    uuid,
)
from benchmarks.made_secrets.words import STEMS


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


def docker_json(dice: Random) -> str:
    """The configuration of a registry's credentials in base64, as Kubernetes keeps it."""
    user = base64.b64encode(f"ci:{mixed(dice, ALNUM, 20)}".encode()).decode()
    return base64.b64encode(json.dumps({"auths": {"registry.example.com": {"auth": user}}}).encode()).decode()


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
    "atlassian": lambda dice: f"ATATT3xFfGF0{drawn(dice, URLSAFE, 171)}={drawn(dice, HEX.upper(), 8)}",
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
    "ngrok": lambda dice: f"2{drawn(dice, ALNUM, 26)}_{drawn(dice, ALNUM, 21)}",
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
