"""Secrets that show by their form: keys and tokens with a prefix or shape of their own, as their vendors document them.

Every pattern is linear: what may repeat without bound is followed by nothing that must match, or is possessive
from a place that cannot repeat inside it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

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
        """Start and end of the secret: its named group, else the whole match."""
        for group in ("secret", "quoted", "bare"):
            if group in self.pattern.groupindex and match.start(group) >= 0:
                start, end = match.span(group)
                return start, start + len(without_closers(match[group])) if group == "bare" else end
        return match.span()


def rule(kind: str, pattern: str, *hints: str, accepts: Accepts | None = None) -> Rule:
    """A rule from the text of its pattern."""
    return Rule(kind, re.compile(pattern), hints, accepts)


_EDGE = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})"
    r"|(?<=\[\dm)|(?<=\[\d\dm)|(?<=\[\d;\d\dm))"
)
"""The edge at which a token may begin: not inside a word, but after an escaped line break, a %-escape or a colour."""


def _has_digit(match: re.Match[str]) -> bool:
    return any(character.isdigit() for character in match[0])


FORMS = (
    rule("jwt", _EDGE + r"eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+){0,3}", "eyj"),
    rule("anthropic", r"sk-ant-[A-Za-z0-9_-]{16,}", "sk-ant-"),
    rule("openai", _EDGE + r"sk-[A-Za-z0-9_-]{20,}", "sk-", accepts=_has_digit),
    rule("huggingface", _EDGE + r"(?:hf|api_org)_[A-Za-z0-9]{30,}", "hf_", "api_org_"),
    rule("groq", _EDGE + r"gsk_[A-Za-z0-9]{30,}", "gsk_"),
    rule(
        "google",
        r"AIza[A-Za-z0-9_-]{30,}|GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,}",
        "aiza",
        "gocspx-",
        "ya29.",
    ),
    rule("google", _EDGE + r"1//0[A-Za-z0-9_-]{40,}", "1//0"),
    rule("github", r"gh[pousr]_[A-Za-z0-9_]{36,}|github_pat_[A-Za-z0-9_]{22,}", "gh", "github_pat_"),
    rule("gitlab", r"GR1348941[A-Za-z0-9_-]{20,}", "gr1348941"),  # a runner's registration
    rule("gitlab", r"gl(?:pat|dt|ft|soat|rt|ptt|cbt|imt|agent|oas)-[A-Za-z0-9_.-]{20,}", "gl"),
    rule("bitbucket", r"ATBB[A-Za-z0-9]{24,}|AT(?:ATT|CTT)3[A-Za-z0-9_=-]{20,}", "atbb", "atatt3", "atctt3"),
    rule("npm", _EDGE + r"npm_[A-Za-z0-9]{30,}", "npm_"),
    rule("pypi", r"pypi-[A-Za-z0-9_-]{32,}", "pypi-", accepts=_has_digit),
    rule(
        "slack", r"xox[abceoprs](?:\.xox[abp])?-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}", "xox", "xapp-"
    ),
    rule(
        "slack",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9_/+-]{16,})",
        "hooks.slack.com",
    ),
    rule(
        "discord",
        r"discord(?:app)?\.com/api/webhooks/(?P<secret>\d{6,}/[A-Za-z0-9_-]{20,})",
        "/api/webhooks/",
    ),
    rule(
        "discord",  # a bot's token: its id in base64, a time, a signature
        r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,40}",
        ".",
        accepts=_has_digit,
    ),
    rule("mailchimp", r"[a-z0-9]{32}-us\d{1,3}", "-us"),
    rule("square", r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}|" + _EDGE + r"EAAA[A-Za-z0-9_-]{60,}", "sq0", "eaaa"),
    rule("twilio", _EDGE + r"(?:AC|SK)[A-Fa-f0-9]{32}(?![A-Za-z0-9])", "ac", "sk"),
    rule("stripe", r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{10,}", "k_live_", "k_test_", "whsec_"),
    rule("sendgrid", r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{20,}", "sg."),
    rule("telegram", _EDGE + r"(?:bot)?(?P<secret>\d{8,12}:AA[A-Za-z0-9_-]{30,})", ":aa"),
    rule("telegram", r"\d{8,12}:[A-Za-z0-9_-]{35,}", ":"),
    rule("aws", r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16,}", "a3t", "abia", "acca", "akia", "asia"),
    rule(
        "aws",  # a secret key has no form of its own but its length: it must be called one
        r"(?i:aws)[^\n]{0,24}?(?i:key|secret|token|passw|pwd)[^\n]{0,24}?(?P<mark>[\"'])(?P<secret>[A-Za-z0-9+/]{40})(?P=mark)",
        "aws",
    ),
    rule(
        "azure",
        r"(?i:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/=%]{20,})",
        "accountkey=",
        "sharedaccesskey=",
    ),
    rule("azure", _EDGE + r"[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,}", "q~"),
    rule("age", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}", "age-secret-key-1"),
    rule("vault", _EDGE + r"hv[sbr]\.[A-Za-z0-9_-]{20,}", "hvs.", "hvb.", "hvr."),
    rule("shopify", r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32,}", "shp"),
    rule("digitalocean", r"do[oprt]_v1_[a-f0-9]{40,}", "_v1_"),
    rule("databricks", _EDGE + r"dapi[a-f0-9]{32,}", "dapi"),
    rule("xai", _EDGE + r"xai-[A-Za-z0-9]{40,}", "xai-"),
    rule("perplexity", _EDGE + r"pplx-[A-Za-z0-9]{32,}", "pplx-"),
    rule("replicate", _EDGE + r"r8_[A-Za-z0-9]{30,}", "r8_"),
    rule("notion", _EDGE + r"(?:ntn_|secret_)[A-Za-z0-9]{40,}", "ntn_", "secret_"),
    rule("linear", _EDGE + r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}", "lin_"),
)
