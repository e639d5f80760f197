"""Look-alikes from real files, found at run time: lines that hold a hash, an id or a label, and no credential.

An excerpt is a line with its neighbours, as a message would quote it. `holds_credential` says which are left out; it
knows nothing of the redactor.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
TRANSCRIPTS = ROOT.parent / "shared" / "data" / "transcripts"
PACKAGES = Path(sys.prefix) / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"

LONGEST_LINE = 400
LARGEST_FILE = 400_000
FROM_A_FILE = 3
"""Excerpts from one file, so that no file tells too much."""
SUFFIXES = {
    ".py",
    ".pyi",
    ".md",
    ".rst",
    ".txt",
    ".toml",
    ".cfg",
    ".ini",
    ".yaml",
    ".yml",
    ".json",
    ".js",
    ".ts",
    ".css",
    ".html",
}
NOT_OURS = (
    "test_redaction",
    "made_secrets",
    "slowwave/redaction",
    "test_redact",
    "test_sweep",
    "benchmarks/redaction",
)
"""The redactor's rules and tests, and this generator: they hold what looks like secrets on purpose."""

INTERESTING = re.compile(
    r"(?i)passw|passphrase|passcode|token|secret|\bkeys?\b|_key|credential|\bpin\b|\bpwd\b|auth|login|cookie|session"
    r"|sha\d|digest|uuid|[0-9a-f]{16,}|[A-Za-z0-9+/_-]{32,}"
)
"""A line worth trying: a label, or something that looks drawn."""

NAMED = re.compile(
    r"(?i)(?:passw|passphrase|secret|token|credential|api_?-?key|private_?key|\bpwd\b|\bpin\b)\w*\W+\w"
)
LABELS_FIRST = 0.5
"""Share of the files in which lines that name a credential come first."""

_LABEL = (
    r"[\w.\-\[\]\"']*(?:passw(?:or)?d|passwd|passphrase|passcode|pwd|\bpass|secret|token|api_?-?key"
    r"|private_?key|access_?key|credentials?|\bpin|auth|key)[\w.\-\]\"']*"
)
_LITERAL = r"[rbfu]{0,2}(?P<quote>[\"'`])(?P<value>[^\"'`\s]{3,})(?P=quote)"
_ASSIGNED = re.compile(rf"(?i){_LABEL}\s*(?::\s*[\w.\[\] |]+?\s*=|[:=(,]|=>|is|to|==)\s*\(?{_LITERAL}")
_BARE = re.compile(
    r"(?i)(?:^|[\s\"'#?&])[\w-]*(?:passw(?:or)?d|secret|token|passphrase|api_?key)[\w-]*\s?[=:]\s?"
    r"(?P<value>[^\s\"'`,;(){}<>\[\]$%|*]{6,})(?![\w.(\[])"
)
_NAMED_VALUE = re.compile(
    r"(?i)(?:user(?:name)?|login|auth|account|credential)\W{1,4}(?:[\w.@-]+\W{1,6})?"
    + _LITERAL
    + r"\s*[,:/]\s*[\"'`][^\"'`\s]{3,}[\"'`]"
)
_FORMS = re.compile(
    r"://(?:[^\s/:@\"']*:[^\s/@\"']+|[^\s/:@\"']{12,})@"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|[\"'](?:gh[pousr]_|github_|sk-|AKIA|xox[abp]-|glpat-|hf_)[\w-]*[\"']\s*\+"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}"
    r"|\b(?:sk|pk|rk)[-_][\w-]{12,}|\bgh[pousr]_\w{12,}|\bAKIA[A-Z0-9]{12,}|\bxox[abp]-\w{8,}|\bAIza[\w-]{20,}|\bhf_\w{12,}"
    r"|\$(?:1|2[aby]|5|6|apr1|argon2\w*)\$"
    r"|(?i:\b(?:basic|bearer|token)\s+[\w+/=.-]{6,}\d)"
    r"|(?i:\b(?:basic|bearer)\s+[A-Za-z0-9+/=._-]{8,})"
    r"|(?i:(?:set-)?cookie[\"']?[:,=]\s*[\"']?\w+=[\w-]{6,})"
)
_PROSE = re.compile(
    r"(?i)(?:password|passphrase|secret|token|pin|code)\b[^.\n]{0,30}?\s(?:is|=|was|of)\s+[\"'`“‘«][^\"'`\n]{3,}[\"'`”’»]"
)
_SHELL = re.compile(
    r"(?i)(?:--?(?:password|passwd|pass|token|secret|api-key)[= ]|\s-p\s?|\s-u\s\S+:)"
    r"[\"']?(?P<value>[^\s\"'<>{}$\[\]]{4,})"
)
_NAME = re.compile(r"[A-Za-z][a-z]*(?:[_.\- ]?[A-Za-z][a-z]*)*_?")


@dataclass(frozen=True)
class Excerpt:
    """Lines that look like a secret and are none: their source and their text."""

    source: str
    text: str


def holds_credential(text: str) -> bool:
    """Whether a careful person would call something in a text a credential, though it be one of a test.

    That is: a quoted or bare value that a label of a credential is given (an assignment, an argument, "is"), a user
    name with a quoted value behind it, an address with a password, a key or a token in a vendor's form, a private key,
    a password hash, an Authorization header or a cookie with a value, a value behind an option for passwords. The label
    `key` and `auth` alone, given a name of letters (`key="created_at"`), are none; nor is any label given its own word
    among others (`SECRET_KEY = "secret_key"`).
    """
    if _FORMS.search(text) or _PROSE.search(text) or _NAMED_VALUE.search(text):
        return True
    given = [*_ASSIGNED.finditer(text), *_BARE.finditer(text), *_SHELL.finditer(text)]
    return any(not is_name(match["value"], match[0]) for match in given)


def is_name(value: str, whole: str) -> bool:
    """Whether the value of a label is the name of something: letters and lines between them, of two words or more.

    A single word is a name only where the label is as general as `key` or `auth`: `key="created"`.
    """
    if any(sign in value for sign in "<>{}$%*()[]") or value.strip(".") == "":
        return True
    if not _NAME.fullmatch(value):
        return False
    is_general = not re.search(
        r"(?i)passw|passphrase|passcode|pwd|pass\b|secret|api_?-?key|private|credential|\bpin",
        whole.split(value, maxsplit=1)[0],
    )
    return is_general or bool(re.search(r"[_.\-]|[a-z][A-Z]", value))


def excerpts(text: str, source: str, dice: Random, most: int = FROM_A_FILE) -> list[Excerpt]:
    """Some interesting lines of a text with their neighbours, in the order of the text; no credentials."""
    lines = text.splitlines()
    places = [
        place for place, line in enumerate(lines) if INTERESTING.search(line) and len(line) <= LONGEST_LINE
    ]
    dice.shuffle(places)
    if dice.random() < LABELS_FIRST:
        places.sort(key=lambda place: not NAMED.search(lines[place]))
    found: list[tuple[int, str]] = []
    for place in places[: 4 * most]:
        part = [line for line in lines[max(0, place - 1) : place + 2] if len(line) <= LONGEST_LINE]
        if not holds_credential("\n".join(part)) and len(found) < most:
            found.append((place, "\n".join(part)))
    return [Excerpt(source, part) for _, part in sorted(found)]


def read(path: Path) -> str:
    """The text of a file; empty if it is too large or no UTF-8."""
    if path.stat().st_size > LARGEST_FILE:
        return ""
    return path.read_bytes().decode("utf-8", errors="replace").replace("\ufffd", "")


def lock_file(dice: Random, count: int) -> list[Excerpt]:
    """Packages of the lock file with some of their hashes."""
    parts = re.split(r"\n(?=\S)", read(ROOT / "requirements.lock"))
    drawn = dice.sample(parts, min(count, len(parts)))
    return [Excerpt("requirements.lock", "\n".join(part.splitlines()[:4])) for part in drawn]


def git_objects(dice: Random, count: int) -> list[Excerpt]:
    """Commits, trees, raw differences and the names of objects of this repository; none where it is no checkout."""
    commands = (
        "log --format=fuller -150",
        "rev-list --objects --max-count=60 HEAD",
        "log --oneline -100",
        "ls-tree -r HEAD",
        "log --raw --abbrev=40 -40",
    )
    found: list[Excerpt] = []
    for command in commands:
        run = subprocess.run(
            ["git", "-C", str(ROOT), *command.split()], capture_output=True, check=False, timeout=60
        )
        lines = [
            line
            for line in run.stdout.decode("utf-8", errors="replace").splitlines()
            if not any(name in line for name in NOT_OURS)
        ]
        starts = range(0, max(0, len(lines) - 3))
        drawn = dice.sample(starts, min(count // len(commands), len(starts)))
        found += [Excerpt(f"git {command.split()[0]}", "\n".join(lines[at : at + 3])) for at in drawn]
    return [one for one in found if not holds_credential(one.text)]


def own_files(dice: Random, count: int) -> list[Excerpt]:
    """Sources, tests, prompts and pages of this repository."""
    folders = ("slowwave", "tests", "flows", "tasks", "docs", "prompts", "benchmarks", "data/samples")
    paths = [
        path for folder in folders for path in sorted((ROOT / folder).rglob("*")) if path.suffix in SUFFIXES
    ]
    paths += [*sorted(ROOT.glob("*.md")), ROOT / "pyproject.toml"]
    return drawn_from(paths, dice, count, lambda path: f"repository {path.relative_to(ROOT)}")


def package_files(dice: Random, count: int) -> list[Excerpt]:
    """Sources and documents of the packages in the environment."""
    folders = sorted(
        path for path in PACKAGES.iterdir() if path.is_dir() and not path.name.startswith(("_", "."))
    )
    paths = [
        path
        for folder in dice.sample(folders, min(60, len(folders)))
        for path in _files(folder)
        if path.suffix in SUFFIXES
    ]
    return drawn_from(paths, dice, count, lambda path: f"package {path.relative_to(PACKAGES)}")


def record_files(dice: Random, count: int) -> list[Excerpt]:
    """Lines of the packages' RECORD files: paths, digests and sizes."""
    paths = sorted(PACKAGES.glob("*.dist-info/RECORD"))
    return drawn_from(paths, dice, count, lambda path: f"package {path.relative_to(PACKAGES)}")


def transcripts(dice: Random, count: int) -> list[Excerpt]:
    """Lines of real coding sessions, where this machine has them."""
    paths = sorted(TRANSCRIPTS.rglob("*.jsonl")) if TRANSCRIPTS.is_dir() else []
    found = []
    for path in paths:
        texts = (
            path.read_text(encoding="utf-8", errors="replace")
            .replace("\\\\", "\\")
            .replace('\\"', '"')
            .split("\\n")
        )
        found += excerpts("\n".join(texts), f"transcript {path.name}", dice, most=max(10, count // 2))
    return dice.sample(found, min(count, len(found)))


def drawn_from(
    paths: Iterable[Path], dice: Random, count: int, named: Callable[[Path], str]
) -> list[Excerpt]:
    """Excerpts from files in a drawn order, until there are enough."""
    order = [path for path in paths if not any(name in path.as_posix() for name in NOT_OURS)]
    dice.shuffle(order)
    found: list[Excerpt] = []
    for path in order:
        if len(found) >= count:
            break
        found += excerpts(read(path), named(path), dice)
    return found[:count]


def _files(folder: Path) -> Iterator[Path]:
    for name, below, files in os.walk(folder):
        below.sort()
        yield from (Path(name) / file for file in sorted(files))
