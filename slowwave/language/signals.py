"""Words of files, branches and errors, by which memories about them are found. Pure functions over text."""

import re
from collections.abc import Collection
from pathlib import PurePosixPath

from slowwave.language.lexicon import STOP_WORDS, word_set
from slowwave.language.query_words import plain_words
from slowwave.language.terms import terms_of_words, word_terms

ERROR_CHARACTERS = 1_500
"""Most characters of an error that are compared, from its two ends: tracebacks name the error first or last."""

PATH_LENGTH = 300
"""Characters before a file's name that may be its folders."""

SAME_ERROR = 0.5
"""From this sameness on, a text speaks of the same error."""

_EVERYDAY_ERRORS = word_set("everyday_errors")
_GENERAL_FOLDERS, _TRUNK_BRANCHES = word_set("general_folders"), word_set("trunk_branches")
_PATH_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789_./\\@~-"
FEW_WORDS = 2

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BRANCH_PREFIX = re.compile(
    r"^(?:feat|feature|fix|bugfix|hotfix|chore|refactor|docs|test|tests|release|user|users|wip)[/_-]",
    re.IGNORECASE,
)
_CLASS = re.compile(r"\b[A-Za-z_]\w*(?:Error|Exception|Warning|Failure|Fault|Timeout|Violation|Refused)\b")
_CODE = re.compile(r"\b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{4,12}\b|\b[A-Z]{2,}-\d{2,}\b|\bE[A-Z]{4,}\b")
_PASSING = re.compile(
    r"0x[0-9a-f]+|[0-9a-f]{8}-[0-9a-f-]{27}|(?:[\w.~-]*/)+[\w.-]+|[\"'`][^\"'`]{1,80}[\"'`]|\b\d+(?:[.,:]\d+)*\b",
    re.IGNORECASE,
)
_TRACE_LINE = re.compile(
    r"^\s+(?:File \"|at |\^|\|)|^Traceback |^During handling|^The above exception", re.MULTILINE
)
_FIXED = re.compile(
    r"\b(?:fix(?:ed|es)?|solved|solution|resolved|workaround|root cause|the cause|cause[sd]? (?:was|is|of|by)|cause:|"
    r"turned out|moved|must be|has to be|have to be)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|found it|now (?:works|green|passes)|green|instead|so that|inside)\b", re.IGNORECASE
)


def file_words(path: str) -> str:
    """Words of a file's name and its folder: `src/jobs/manifest_export.py` gives `jobs manifest export`."""
    parts = _parts(path)
    named = [*parts[-2:-1], PurePosixPath(parts[-1]).stem] if parts else []
    words = [word.lower() for part in named for word in _WORD.findall(_HUMP.sub(" ", part))]
    return " ".join(
        dict.fromkeys(word for word in words if word not in _GENERAL_FOLDERS and not word.isdigit())
    )


def branch_words(branch: str) -> str:
    """Words of a branch without its kind: `feat/departure-index` gives `departure index`; a trunk gives ""."""
    if branch.lower() in _TRUNK_BRANCHES:
        return ""
    plain = _HUMP.sub(" ", _BRANCH_PREFIX.sub("", branch.strip()))
    return " ".join(dict.fromkeys(word.lower() for word in _WORD.findall(plain)))


def names_file(text: str, path: str) -> bool:
    """Return whether a text names the file: its name, with as many folders before it as the text gives, and no others.

    A bare name counts only in a text that never gives that name a folder.
    """
    wanted = [part.lower() for part in _parts(path)]
    if not wanted:
        return False
    said, name = text.lower(), wanted[-1]
    mentions, place = list[list[str]](), said.find(name)
    while place >= 0:
        end = place + len(name)
        first = max(0, place - PATH_LENGTH)
        begin = first + len(said[first:place].rstrip(_PATH_CHARACTERS))
        follows = said[end : end + 1]
        mention = _parts(said[begin:end])
        if not follows.isalnum() and follows not in ("_", "-") and mention[-1:] == [name]:
            mentions.append(mention)
        place = said.find(name, end)
    placed = [mention for mention in mentions if len(mention) > 1] or mentions
    return any(wanted[-len(mention) :] == mention[-len(wanted) :] for mention in placed)


def error_message(error: str) -> str:
    """The telling part of an error: without the frames of a traceback, `ERROR_CHARACTERS` at most."""
    lines = [line.strip() for line in error.splitlines() if line.strip() and not _TRACE_LINE.match(line)]
    text = "\n".join(lines) or error.strip()
    half = ERROR_CHARACTERS // 2
    return text if len(text) <= ERROR_CHARACTERS else f"{text[:half]}\n{text[-half:]}"


def error_signature(error: str) -> frozenset[str]:
    """Names that hardly another error has, in lower case: classes beyond the everyday ones, and codes."""
    message = error_message(error)
    found = {match.lower() for match in [*_CLASS.findall(message), *_CODE.findall(message)]}
    return frozenset(found - _EVERYDAY_ERRORS)


def error_words(error: str) -> frozenset[str]:
    """Words of an error's message without what changes each time: numbers, addresses, paths, quoted values."""
    plain = _PASSING.sub(" ", error_message(error).lower())
    return frozenset(word for word in re.findall(r"[^\W\d]\w+", plain) if word not in STOP_WORDS)


def error_sameness(text: str, *, signature: Collection[str], words: Collection[str]) -> float:
    """The sureness, 0..1, that a text speaks of the error with this signature and these words.

    A name of the signature counts 0.6 and the share of the words that the text holds up to 0.4. An error without
    a signature is told by its words alone, three at least.
    """
    said = plain_words(text)
    share = len(said & set(words)) / len(words) if words else 0.0
    if not signature:
        return share if len(words) > FEW_WORDS else 0.0
    return 0.6 * bool(said & set(signature)) + 0.4 * share


def fix_cue(text: str) -> float:
    """The degree, 0..1, to which a text sounds like a cause or a fix: by words such as "fix" or "because"."""
    strong = len({match.lower() for match in _FIXED.findall(text)})
    weak = len({match.lower() for match in _REASON.findall(text)})
    return min(0.35 * strong + 0.15 * weak, 1.0)


def holds_words(text: str, words: Collection[str]) -> float:
    """Share of the words that a text holds, 0..1; words of one stem are one word."""
    if not words:
        return 0.0
    said = terms_of_words(plain_words(text))
    return sum(said.issuperset(word_terms(word)) for word in words) / len(words)


def _parts(path: str) -> list[str]:
    return [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..", "~")]
