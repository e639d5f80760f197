"""Secrets that show by their form: keys and tokens with a prefix or shape of their own.

Our own forms stand first, where detect-secrets' patterns leave a tail or know no such key; then the patterns
of its plugins. Every pattern is linear: what may repeat without bound is followed by nothing that must match,
or is possessive from a place that cannot repeat inside it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

from slowwave.redaction.secret_values import without_closers

Accepts = Callable[[re.Match[str]], bool]


@dataclass(frozen=True)
class Rule:
    """One pattern, and which part of its match is the secret.

    `hints` are lower-case texts, one of which every match holds: without any of them the pattern is not
    tried. `accepts` has the last word.
    """

    kind: str
    pattern: re.Pattern[str]
    hints: tuple[str, ...]
    accepts: Accepts | None = None

    def span(self, match: re.Match[str]) -> tuple[int, int]:
        """Where the secret is: its named group, else the whole match."""
        for group in ("secret", "quoted", "bare"):
            if group in self.pattern.groupindex and match.start(group) >= 0:
                start, end = match.span(group)
                return start, start + len(without_closers(match[group])) if group == "bare" else end
        return match.span()


_EDGE = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})"
    r"|(?<=\[\dm)|(?<=\[\d\dm)|(?<=\[\d;\d\dm))"
)
"""Where a token may begin: not inside a word, but after an escaped line break, a %-escape or a colour."""


def _has_digit(match: re.Match[str]) -> bool:
    return any(character.isdigit() for character in match[0])


def _form(kind: str, pattern: str, *hints: str, accepts: Accepts | None = None) -> Rule:
    return Rule(kind, re.compile(pattern), hints, accepts)


OWN_FORMS = (
    _form("jwt", _EDGE + r"eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+){0,3}", "eyj"),
    _form("anthropic", r"sk-ant-[A-Za-z0-9_-]{16,}", "sk-ant-"),
    _form("openai", _EDGE + r"sk-[A-Za-z0-9_-]{20,}", "sk-", accepts=_has_digit),
    _form("huggingface", _EDGE + r"(?:hf|api_org)_[A-Za-z0-9]{30,}", "hf_", "api_org_"),
    _form("groq", _EDGE + r"gsk_[A-Za-z0-9]{30,}", "gsk_"),
    _form(
        "google",
        r"AIza[A-Za-z0-9_-]{30,}|GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,}",
        "aiza",
        "gocspx-",
        "ya29.",
    ),
    _form("google", _EDGE + r"1//0[A-Za-z0-9_-]{40,}", "1//0"),
    _form("github", r"gh[pousr]_[A-Za-z0-9_]{36,}|github_pat_[A-Za-z0-9_]{22,}", "gh", "github_pat_"),
    _form("gitlab", r"gl(?:pat|dt|ft|soat|rt|ptt|cbt|imt|agent|oas)-[A-Za-z0-9_.-]{20,}", "gl"),
    _form("bitbucket", r"ATBB[A-Za-z0-9]{24,}|AT(?:ATT|CTT)3[A-Za-z0-9_=-]{20,}", "atbb", "atatt3", "atctt3"),
    _form("npm", _EDGE + r"npm_[A-Za-z0-9]{30,}", "npm_"),
    _form("pypi", r"pypi-[A-Za-z0-9_-]{32,}", "pypi-", accepts=_has_digit),
    _form(
        "slack", r"xox[abceoprs](?:\.xox[abp])?-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}", "xox", "xapp-"
    ),
    _form(
        "slack",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9_/+-]{16,})",
        "hooks.slack.com",
    ),
    _form(
        "discord",
        r"discord(?:app)?\.com/api/webhooks/(?P<secret>\d{6,}/[A-Za-z0-9_-]{20,})",
        "/api/webhooks/",
    ),
    _form("stripe", r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{10,}", "k_live_", "k_test_", "whsec_"),
    _form("sendgrid", r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{20,}", "sg."),
    _form("telegram", _EDGE + r"(?:bot)?(?P<secret>\d{8,12}:AA[A-Za-z0-9_-]{30,})", ":aa"),
    _form("aws", r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16,}", "a3t", "abia", "acca", "akia", "asia"),
    _form(
        "azure",
        r"(?i:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/=%]{20,})",
        "accountkey=",
        "sharedaccesskey=",
    ),
    _form("azure", _EDGE + r"[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}", "q~"),
    _form("age", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}", "age-secret-key-1"),
    _form("vault", _EDGE + r"hv[sbr]\.[A-Za-z0-9_-]{20,}", "hvs.", "hvb.", "hvr."),
    _form("shopify", r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32,}", "shp"),
    _form("digitalocean", r"do[oprt]_v1_[a-f0-9]{40,}", "_v1_"),
    _form("databricks", _EDGE + r"dapi[a-f0-9]{32,}", "dapi"),
    _form("xai", _EDGE + r"xai-[A-Za-z0-9]{40,}", "xai-"),
    _form("perplexity", _EDGE + r"pplx-[A-Za-z0-9]{32,}", "pplx-"),
    _form("replicate", _EDGE + r"r8_[A-Za-z0-9]{30,}", "r8_"),
    _form("notion", _EDGE + r"(?:ntn_|secret_)[A-Za-z0-9]{40,}", "ntn_", "secret_"),
    _form("linear", _EDGE + r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}", "lin_"),
)

_PLUGINS: tuple[tuple[str, type[RegexBasedDetector], tuple[str, ...]], ...] = (
    ("aws", AWSKeyDetector, ("a3t", "abia", "acca", "akia", "asia", "aws")),
    ("azure", AzureStorageKeyDetector, ("accountkey=",)),
    ("discord", DiscordBotTokenDetector, (".",)),
    ("github", GitHubTokenDetector, ("gh",)),
    ("gitlab", GitLabTokenDetector, ("gl", "gr1348941")),
    ("mailchimp", MailchimpDetector, ("-us",)),
    ("pypi", PypiTokenDetector, ("pypi-",)),
    ("sendgrid", SendGridDetector, ("sg.",)),
    ("slack", SlackDetector, ("xox", "hooks.slack.com")),
    ("square", SquareOAuthDetector, ("sq0csp-",)),
    ("stripe", StripeDetector, ("k_live_",)),
    ("telegram", TelegramBotTokenDetector, (":",)),
    ("twilio", TwilioKeyDetector, ("ac", "sk")),
)
"""The plugins with bounded patterns. Left out: those on its assignment pattern (cubic on blanks), keyword,
basic auth, JWT, OpenAI and npm (quadratic, or one match a line), Artifactory (matches words in capitals),
public IPs and entropy (no secrets by themselves)."""


PLUGIN_FORMS = tuple(
    Rule(kind, pattern, hints) for kind, plugin, hints in _PLUGINS for pattern in plugin().denylist
)
