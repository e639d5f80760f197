"""The table of forms: each row a template that is hint, pattern and example in one (`table.txt` explains the signs).

Each pattern is bounded, or ends with what repeats, so that its time grows with the text alone.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from slowwave.ingest.redact import looks

ALPHABETS: Final = {
    "b62": "A-Za-z0-9", "b64": "A-Za-z0-9+/=", "b64u": "A-Za-z0-9_-", "b36": "a-z0-9", "B36": "A-Z0-9", "b32": "A-Z2-7",
    "b58": "1-9A-HJ-NP-Za-km-z", "hex": "a-fA-F0-9", "d": "0-9", "w": r"\w", "low": "a-z", "path": r"\w@/+-", "slack": r"\w.-",
    "hash": r"\w./$=,+:-", "lines": r"0-9a-f\s", "url": r"\w%+/=.~-", "header": r"^\s\"'`,;\\<>", "cookie": r"^\s\"'`;\\<>",
    "wifi": r"^;\\\s\"",
}  # fmt: skip
PARTS: Final = {
    "..": r"[^\n]{0,120}?",
    "s": r"\s{0,8}",
    "q": r"\\?[\"'`]?",
    "user": r"[\w.@+\\-]{1,64}",
    "userless": r"[^\s:/?#@\"'<>`]{0,128}",
    "host": r"[\w.-]{1,80}",
    "name": r"[\w*-]{1,60}",
    "uuid": r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "urlword": r"[^\s/\"'<>`?]{1,256}",
    "urlword/": r"[^\s\"'<>`?]{1,256}",
    "word": r"[^\s\"'`<>|]{3,256}",
    "value": r"(?:\"(?P<double>[^\"\n]{3,200})\"|'(?P<single>[^'\n]{3,200})'|(?P<bare>[^\s\"'`|;]{3,256}))",
}
EDGE: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))"
"""Where a form may begin: not inside a word, but after an escaped line break or a %-escape."""
GROUPS: Final = ("secret", "double", "single", "bare")
_LONGEST: Final = 400
_SHORTEST_HINT: Final = {False: 3, True: 2}
"""By whether it is the row of a place: the signs of an option are two."""
_DRAW = re.compile(
    r"\{(?P<part>\.\.|[a-z]+/?)\}|\{(?P<set>[A-Za-z]+\d{0,2}u?)(?P<more>[^:{}A-Za-z0-9]*):(?P<least>\d+)(?P<most>\+|-\d+)?\}"
)
_TOKEN = re.compile(
    rf"(?P<draw>{_DRAW.pattern})|<(?P<either>[^<>\n]*)>|(?P<mark>[«»])|(?P<blank> +)|(?P<text>.)"
)


@dataclass(frozen=True)
class Row:
    """One form of a secret: `kind` names its mark, `hints` are lower-case texts of which each match has one."""

    kind: str
    template: str
    check: str = ""
    is_place: bool = False
    own: str = ""
    """The pattern of a row of the settings, which is tried on every text."""

    @cached_property
    def hints(self) -> tuple[str, ...]:
        """The best hints; none where no fixed text of the row is long enough."""
        if self.own:
            return ()
        best = max(_fixed(self.template), key=lambda texts: min(map(len, texts)), default=())
        is_enough = bool(best) and min(map(len, best)) >= _SHORTEST_HINT[self.is_place]
        return tuple(text.lower() for text in best) if is_enough else ()

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The template as a pattern, compiled once a text has one of its hints."""
        return re.compile(self.own or _expression(self.template, is_place=self.is_place))

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Places of secrets in a text."""
        for match in self.pattern.finditer(text):
            names = (name for name in GROUPS if name in self.pattern.groupindex and match.start(name) >= 0)
            found = match.span(next(names, 0))
            value = text[found[0] : found[1]]
            is_accepted = not self.check or getattr(looks, self.check)(value)
            if value and not looks.is_masked(value) and is_accepted:
                yield found


def _expression(template: str, *, is_place: bool) -> str:
    written = "(?i)" if is_place else ""
    if re.match(r"<?\w|\{(?!\.)", template):
        written += EDGE
    for token in _TOKEN.finditer(template):
        if token["draw"]:
            written += _drawn(token, is_last=token.end() >= len(template.rstrip("»")))
        elif token["either"] is not None:
            written += f"(?:{'|'.join(_literal(text) for text in token['either'].split('|'))})"
        else:
            written += {"«": "(?P<secret>", "»": ")"}.get(token[0]) or _literal(token[0])
    return written


def _drawn(token: re.Match[str], *, is_last: bool) -> str:
    if token["part"]:
        return PARTS[token["part"]]
    characters = f"[{re.escape(token['more'])}{ALPHABETS[token['set']]}]"
    least, most = token["least"], token["most"]
    if most == "+":
        return f"{characters}{{{least},}}+" if is_last else f"{characters}{{{least},{_LONGEST}}}"
    if most:
        return f"{characters}{{{least},{most[1:]}}}" + ("(?![A-Za-z0-9])" if is_last else "")
    return f"{characters}{{{least}}}" + ("(?![A-Za-z0-9])" if is_last else "")


def _literal(text: str) -> str:
    return re.sub(r"(?:\\ )+", r"[ \\t]{1,8}", re.escape(text))


def _fixed(template: str) -> Iterator[tuple[str, ...]]:
    """Texts of a template of which each match has one: a run of plain signs, or the texts of a choice."""
    plain = ""
    for token in _TOKEN.finditer(f"{template} "):
        if token["text"]:
            plain += token["text"]
        elif not token["mark"]:
            yield from [(plain,)] if plain else []
            yield from [tuple(token["either"].split("|"))] if token["either"] is not None else []
            plain = ""


def _read() -> Iterator[Row]:
    section = ""
    for line in (files(__package__) / "table.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line
        elif line and not line.startswith("#"):
            kind, template, *check = line.split(" | ")
            yield Row(kind, template, check[0] if check else "", is_place=section == "[place]")


ROWS: Final = tuple(_read())
"""The rows in the order of the table."""


@dataclass(frozen=True)
class Rules:
    """Everything by which secrets are found: the table, and what the settings of a home add."""

    rows: tuple[Row, ...] = ROWS
    labels: tuple[str, ...] = ()
    keep: tuple[re.Pattern[str], ...] = ()
    own: str = ""


STANDARD: Final = Rules()
_in_force: list[Rules] = [STANDARD]


def rules_with(rules: Mapping[str, str], labels: Sequence[str], keep: Sequence[str]) -> Rules:
    """The table with rows (name and pattern), labels and exceptions of one's own; the settings checked them."""
    return _made(tuple(sorted(rules.items())), tuple(labels), tuple(keep))


@lru_cache(maxsize=8)
def _made(rules: tuple[tuple[str, str], ...], labels: tuple[str, ...], keep: tuple[str, ...]) -> Rules:
    if not (rules or labels or keep):
        return STANDARD
    rows = tuple(Row(name, "", own=pattern) for name, pattern in rules)
    return Rules((*rows, *ROWS), labels, tuple(map(re.compile, keep)), own=repr((rules, labels, keep)))


def put_in_force(rules: Rules) -> None:
    """Redact by these rules from now on, in the whole process."""
    _in_force[0] = rules


def in_force() -> Rules:
    """The rules by which `redact` works."""
    return _in_force[0]


def rules_id() -> str:
    """Hash of the files that say what a secret is, and of the rules of one's own that are in force."""
    return hashlib.sha256(_files() + in_force().own.encode()).hexdigest()[:16]


@cache
def _files() -> bytes:
    paths = sorted(Path(__file__).parent.glob("*.*"))
    return b"\x00".join(path.read_bytes() for path in paths if path.suffix in (".py", ".txt"))
