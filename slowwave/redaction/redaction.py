"""Take secrets out of text, before anything is written.

`secret_rules.py` says how secrets look, `secret_values.py` which values are none; here they are replaced by marks.
"""

import re
from collections import Counter

from slowwave.redaction.secret_forms import Rule
from slowwave.redaction.secret_rules import RULES


def redact(text: str) -> tuple[str, dict[str, int]]:
    """Text with each secret as `[redacted:<kind>]`, and how many of each kind were replaced.

    Doing it again changes nothing: the rules are applied until none finds anything, and each time less text
    is left outside the marks.
    """
    found: Counter[str] = Counter()
    while True:
        covered = _cover_private_keys(text, found)
        lowered = covered.lower()
        for rule in RULES:
            if any(hint in lowered for hint in rule.hints):
                covered = _cover(covered, rule, found)
        if covered == text:
            return text, dict(found)
        text = covered


def _cover(text: str, rule: Rule, found: Counter[str]) -> str:
    pieces: list[str] = []
    done = position = 0
    while match := rule.pattern.search(text, position):
        start, end = rule.span(match)
        if rule.accepts is None or rule.accepts(match):
            pieces += [text[done:start], f"[redacted:{rule.kind}]"]
            done = position = end
            found[rule.kind] += 1
        else:
            position = start if start > match.start() else end
    return "".join([*pieces, text[done:]]) if pieces else text


_KEY_BORDER = re.compile(r"-----(?P<side>BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINES = re.compile(
    r"(?:(?:[\s\"'`+,>|*#]|\\+[nrt\"]|\d{1,6}[→:|])*+"
    r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash)\\?: [^\n\\]{0,120}|[A-Za-z0-9+/=]{16,}+))+"
    r"(?:(?:\s|\\+[nrt])[A-Za-z0-9+/=]{1,15}(?=[\s\"'`\\]|\Z))?"
)
_KEY_MAX_LENGTH = 20_000


def _cover_private_keys(text: str, found: Counter[str]) -> str:
    """Text without PEM private keys: whole, cut off before their end, or with line breaks as backslash n."""
    if "PRIVATE KEY" not in text:
        return text
    borders = list(_KEY_BORDER.finditer(text))
    pieces: list[str] = []
    done = 0
    for index, border in enumerate(borders):
        if border["side"] == "END" or border.start() < done:
            continue
        closing = borders[index + 1] if index + 1 < len(borders) else None
        if closing and closing["side"] == "END" and closing.end() - border.start() < _KEY_MAX_LENGTH:
            end = closing.end()
        elif lines := _KEY_LINES.match(text, border.end()):
            end = lines.end()
        else:
            continue
        pieces += [text[done : border.start()], "[redacted:private-key]"]
        done = end
        found["private-key"] += 1
    return "".join([*pieces, text[done:]])
