"""The rules by which `redaction.py` finds secrets.

Three kinds of rule, in this order: forms that give a secret away by themselves (`secret_forms.py`), places
where a secret stands (URLs, headers, command lines), and names that a secret is given to (`password = ...`).
When in doubt a value under a secret's name is redacted, and a word in running text is left. Every pattern is
linear, as in `secret_forms.py`.
"""

import re

from slowwave.redaction.secret_forms import FORMS, rule
from slowwave.redaction.secret_values import (
    SHORTEST_CHOSEN,
    SHORTEST_GIVEN,
    SHORTEST_RANDOM,
    SHORTEST_SAID_KEY,
    fills_its_line,
    is_ordinary,
    is_random,
    is_reference,
    is_sentence,
    looks_chosen,
    without_closers,
)

# --- places where a secret stands ---------------------------------------------------------------------------

_DATABASES = (
    r"(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|oracle|clickhouse|cockroachdb)"
)


def _is_secret(match: re.Match[str]) -> bool:
    return not is_ordinary(match["secret"])


_PLACES = (
    rule(
        "connection-string",
        r"(?i)" + _DATABASES + r"(?:\+\w{1,20})?://[^\s:/?#@\"'<>`]{0,128}:(?P<secret>[^\s\"'<>`?]{1,256})@",
        "://",
        accepts=lambda match: not is_ordinary(match["secret"], words=False),
    ),
    rule(
        "connection-string",
        r"://[^\s:/?#@\"'<>`]{0,128}:(?P<secret>[^\s/\"'<>`?]{1,256})@",
        "://",
        accepts=lambda match: not is_ordinary(match["secret"], words=False),
    ),
    rule(
        "authorization",
        r"(?i)authorization\\?[\"'`]?\s{0,4}[:=,]\s{0,4}\\?[\"'`]?"
        r"(?P<scheme>(?:bearer|basic|token|apikey|digest|bot|negotiate)\s{1,4})?(?P<secret>[^\s\"'`,;\\]{6,})",
        "authorization",
        accepts=lambda match: _is_secret(match) if match["scheme"] else is_random(match["secret"]),
    ),
    rule(
        "authorization",
        r"(?i)\bbearer\s{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{12,})",
        "bearer",
        accepts=lambda match: is_random(match["secret"]),
    ),
    rule(
        "cookie",
        r"(?i)\b(?:set-)?cookie\\?[\"'`]?:\s{0,4}\\?[\"'`]?(?P<secret>[\w.-]{1,64}=[^\s\"'`;]{8,}(?:;\s?[^\s\"'`;=]{1,64}=[^\s\"'`;]+)*)",
        "cookie",
    ),
    rule(
        "signature",
        r"(?i)[?&](?:sig|signature|x-amz-signature|x-goog-signature|x-amz-security-token)=(?P<secret>[A-Za-z0-9%+/=_-]{16,})",
        "sig",
        "security-token",
    ),
    rule(
        "password",
        r"\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"'$]{1,100}:(?P<secret>[^\s\"'`]{3,})",
        "curl",
        accepts=lambda match: _is_secret(match) and not match["secret"].isdigit(),
    ),
    rule(
        "password",
        r"\blogin\s{1,4}\S{1,100}\s{1,4}password\s{1,4}(?P<secret>\S{4,})",
        "login",
        accepts=_is_secret,
    ),
    rule(
        "password", r"\bsshpass\s{1,4}-p\s{0,4}[\"']?(?P<secret>[^\s\"']{3,})", "sshpass", accepts=_is_secret
    ),
)


# --- names that a secret is given to ------------------------------------------------------------------------

_STRONG_NAMES = (
    r"passw(?:or)?d|passphrase|passcode|passwort|kennwort|contrase(?:ñ|n)a|pwd"
    r"|(?<=[_-])pass(?=\\?[\"']?\]?\s{0,3}[:=])|(?<=[\"'])pass(?=\\?[\"'])"
)
_KEY_NAMES = (
    r"secret(?:[-_ ]?access)?(?:[-_ ]?key)?"
    r"|(?:api|access|private|auth|account|encryption|signing|master|service|storage"
    r"|subscription|client|license)[-_ ]?key"
)
_WEAK_NAME = r"token|credentials?|_auth|sessionid|session[-_]id"
_TAIL = (
    r"(?:[-_]?(?:\d{1,3}|prod|production|dev|test|staging|base64|b64|value|default|live|old|new|root|admin))?"
)
_GIVEN = (
    r"\\{0,3}[\"'`]?\]?\s{0,4}"
    r"(?::\s{0,2}[A-Za-z_][\w\[\]|. ]{0,30}=|=>|:=|={1,3}|!={1,2}|(?P<colon>:)(?!:))\s{0,4}"
)
_VALUE = (
    r"(?:[bBrRuUfF@]{0,2}(?P<quote>\\{0,3}[\"'`])(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\r\n\\])){1,2000}+)(?P=quote)"
    r"|\\{0,3}[\"'`]?(?P<bare>(?:(?!&[\w-]{1,40}=|\\+[nrt\"'])[^\s\"'`,;])++))"
)


def _is_given_strong(match: re.Match[str]) -> bool:
    quoted, bare = match["quoted"], without_closers(match["bare"] or "")
    value = quoted or bare
    if is_ordinary(value) or len(value) < SHORTEST_GIVEN:
        return False
    if quoted:
        return not is_sentence(quoted)
    if is_reference(bare, is_shell=match["name"].isupper()):
        return False
    if match["colon"]:
        is_long = len(bare) >= SHORTEST_CHOSEN
        return looks_chosen(bare) or (is_long and (bare.isdigit() or fills_its_line(match)))
    return True


def _is_given_weak(match: re.Match[str]) -> bool:
    value = match["quoted"] or without_closers(match["bare"] or "")
    return is_random(value) and not is_reference(value, is_shell=False)


def _is_said(match: re.Match[str]) -> bool:
    value = match["secret"].rstrip(".,;:!?)")
    if is_ordinary(value) or is_reference(value, is_shell=False):
        return False
    if "token" in match["name"].lower() or "key" in match["name"].lower():
        return len(value) >= SHORTEST_SAID_KEY and is_random(value)
    is_quoted = bool(match["mark"]) and match.string[match.end() : match.end() + 1] == match["mark"]
    return looks_chosen(value) or (is_quoted and len(value) >= SHORTEST_RANDOM)


def _is_flag(match: re.Match[str]) -> bool:
    return is_random(match["secret"]) if "token" in match["name"].lower() else _is_secret(match)


_NAMED = tuple(
    rule(kind, rf"(?i)(?<!redacted:)(?P<name>{names}){_TAIL}{_GIVEN}{_VALUE}", *hints, accepts=accepts)
    for kind, names, hints, accepts in (
        ("password", _STRONG_NAMES, ("pass", "pwd", "kennwort", "contrase"), _is_given_strong),
        ("secret", _KEY_NAMES, ("secret", "key"), _is_given_strong),
        ("token", _WEAK_NAME, ("token", "credential", "_auth", "session"), _is_given_weak),
    )
)
_SAID = (
    rule(
        "password",
        r"(?i)\b(?P<name>passw(?:or)?d|passphrase|passcode|passwort|pwd|api[- ]key|secret(?:[- ]key)?|token)"
        r"(?:\s{1,4}(?:for|of|on|in|to)(?:\s{1,4}[\w@.'/-]{1,40}){1,3}?)?"
        r"\s{1,4}(?:is|was|to)\s{1,4}(?:(?:now|still|currently)\s{1,4})?"
        r"(?P<mark>[\"'`])?(?P<secret>[^\s\"'`]{4,})",
        "pass",
        "pwd",
        "key",
        "secret",
        "token",
        accepts=_is_said,
    ),
    rule(
        "password",
        r"(?i)(?<![\w-])--[\w-]{0,30}?(?P<name>password|passwd|pass|pwd|token|secret|api-?key|secret-?key|access-?key)"
        r" {1,4}[\"']?(?P<secret>[^\s\"'`-][^\s\"'`]{3,})",
        "--",
        accepts=_is_flag,
    ),
    rule(
        "password",
        r"(?i)(?:(?P<sql>with\s{1,4}password|identified\s{1,4}by)|\bpassword)\s{1,4}"
        r"(?P<mark>['\"`])(?P<secret>[^'\"`\s]{4,128})(?P=mark)",
        "password",
        "identified",
        accepts=lambda match: looks_chosen(match["secret"]) or (bool(match["sql"]) and _is_secret(match)),
    ),
    rule(
        "password",
        r"(?i)<[\w:-]{0,40}?(?:password|passwd|secret|token|api_?key)>(?P<secret>[^<>\s]{4,})</",
        "</",
        accepts=_is_secret,
    ),
    rule(
        "password",  # a cell of a table
        r"(?i)\b(?:password|passwd|pwd|pass)\s{0,8}\|\s{0,4}`?(?P<secret>[^\s|`]{4,})`?\s{0,8}\|",
        "|",
        accepts=lambda match: looks_chosen(match["secret"]),
    ),
)

RULES = (*FORMS, *_PLACES, *_NAMED, *_SAID)
