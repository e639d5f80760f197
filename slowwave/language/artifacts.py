"""References to commits, pull requests, decision records and files: `commit:ab12cd3`, `pr:12`, `adr:7`, `file:a.py`.

The one grammar of them: for what a model answers, for what memories name, and for what plain text says.
"""

from typing import Final, get_args

import polars as pl

from slowwave.schemas.choices import ArtifactType

_KIND: Final = "|".join(get_args(ArtifactType))
_FORM: Final = rf"(?i)^\s*({_KIND})s?\s*[:#]\s*#?\s*(.*\S)\s*$"
_HASH: Final = "[0-9a-f]{7,40}"
_ADDRESS: Final = r"(?i)\b[a-z][a-z0-9+.-]*://\S+|\b[\w.-]+@[\w.-]+:\S+"
_COMMIT: Final = rf"(?i)\bcommit(?:ted|s)?(?:\s+(?:as|in|is|at|id|hash|sha))?:?\s+`?({_HASH})\b"
_PULL_REQUEST: Final = r"(?i)(?:\b(?:PR|pull request|merge request)\s*#?\s*|/(?:pull|merge_requests)/)(\d+)\b"
_DECISION: Final = r"(?i)\bADR[-_ #]*(\d+)\b"
_FILE: Final = (
    r"(?:[\w.-]+/)+[\w-][\w.-]*\.[A-Za-z]\w{0,5}\b"
    r"|[\w.-]*\w\.(?:py|pyi|ipynb|js|jsx|ts|tsx|mjs|go|rs|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|sh|sql|"
    r"html|css|scss|md|rst|txt|toml|yaml|yml|json|jsonl|xml|csv|ini|cfg|conf|env|lock|proto|tf)\b"
)


def artifact_kind(artifact: pl.Expr) -> pl.Expr:
    """`commit`, `pr`, `adr` or `file`; null for a text that has no such form."""
    return artifact.str.extract(_FORM, 1).str.to_lowercase()


def artifact_reference(artifact: pl.Expr) -> pl.Expr:
    """The part after the kind: a hash, a number, a path; null for a text that has no such form."""
    return artifact.str.extract(_FORM, 2)


def artifacts_in(text: pl.Expr) -> pl.Expr:
    """The artifacts that a text names, as a sorted list without repetition; an empty list for none.

    A hash counts after the word commit only, a number after PR, pull request or ADR; a file needs a folder and an
    ending, or a common ending. Addresses of pages and repositories are no files.
    """
    plain = text.str.replace_all(_ADDRESS, " ")
    none = pl.lit([], dtype=pl.List(pl.String))
    found = [
        _named("commit", plain, _COMMIT),
        _named("pr", text, _PULL_REQUEST),
        _named("adr", plain, _DECISION),
        plain.str.extract_all(_FILE).list.eval("file:" + pl.element().str.strip_prefix("./")),
    ]
    return pl.concat_list(pl.coalesce(part, none) for part in found).list.unique().list.sort()


def _named(kind: str, text: pl.Expr, pattern: str) -> pl.Expr:
    """`kind:reference` for each place where the pattern matches; the reference is its first group."""
    reference = pl.element().str.extract(pattern, 1).str.to_lowercase()
    return text.str.extract_all(pattern).list.eval(kind + ":" + reference)
