"""The rules in force: those of the table, and what the settings of the home that was opened last add to them."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

from slowwave.redaction.finding import STANDARD, RuleSet
from slowwave.redaction.labelled.labels import Labels
from slowwave.redaction.rules import RULES, own_rule

_in_force: list[RuleSet] = [STANDARD]


def rules_with(rules: Mapping[str, str], labels: Sequence[str], keep: Sequence[str]) -> RuleSet:
    """All rules with own ones (name and pattern), own labels, and patterns of what stays; the settings checked them."""
    return _made(tuple(sorted(rules.items())), tuple(labels), tuple(keep))


@lru_cache(maxsize=8)
def _made(rules: tuple[tuple[str, str], ...], labels: tuple[str, ...], keep: tuple[str, ...]) -> RuleSet:
    if not (rules or labels or keep):
        return STANDARD
    return RuleSet(
        (*(own_rule(name, pattern) for name, pattern in rules), *RULES),
        Labels(labels) if labels else STANDARD.labels,
        tuple(re.compile(pattern) for pattern in keep),
        own=repr((rules, labels, keep)),
    )


def put_in_force(rules: RuleSet) -> None:
    """Redact by these rules from now on, in the whole process."""
    _in_force[0] = rules


def in_force() -> RuleSet:
    """The rules by which `redact` works."""
    return _in_force[0]


def rules_id() -> str:
    """Hash of the files that say what a secret is, and of the rules of one's own that are in force."""
    return hashlib.sha256(_files() + in_force().own.encode()).hexdigest()[:16]


@cache
def _files() -> bytes:
    paths = sorted(Path(__file__).parent.rglob("*.*"))
    return b"\x00".join(path.read_bytes() for path in paths if path.suffix in (".py", ".txt", ".toml"))
