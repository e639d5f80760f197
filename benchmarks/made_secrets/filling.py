r"""Surroundings filled with secrets: sections of text files, in which a mark names the value that comes there.

A section of `surroundings/*.txt` begins with `=== NAME` and is the text of one kind. In it stand

- `⟦maker⟧`: a secret of `MAKERS`; `⟦maker#a⟧`: the same value wherever the letter returns
- `⟦maker/step⟧`: the secret written another way, as `STEPS` names them: in base64, percent-encoded, cut into lines
- `‖` between the columns of a table that is padded to their widths
- `⟨name⟩`: something from the surroundings; `⟨name#a⟩`: the same each time; `⟨this|that|⟩`: one of several
"""

import base64
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from urllib.parse import quote

from benchmarks.made_secrets.drawing import BASE64, DIGITS, HEX, URLSAFE, Maker, drawn, encoded, uuid
from benchmarks.made_secrets.passwords import PASSWORDS
from benchmarks.made_secrets.vendors import VENDORS
from benchmarks.made_secrets.words import FILLERS

MAKERS: dict[str, Maker] = PASSWORDS | VENDORS
"""A maker takes the generator and gives a value's text; one of several lines is a secret of several pieces."""
FOLDER = Path(__file__).parent / "surroundings"
_SECRET = re.compile(r"⟦(?P<maker>\w+)(?:/(?P<step>[\w\\+]+))?(?:#(?P<same>\w))?⟧")
_DRAWN = re.compile(r"(hex|b64_|b64url_)(\d+)")
_FILLER = re.compile(r"⟨([^⟨⟩]*)⟩")
_COLUMN = "‖"
_SECTION = re.compile(r"^=== (.+)\n", re.MULTILINE)
_SHORTEST_PIECE = 4
"""Shorter lines of a split value say too little to count."""


@dataclass(frozen=True)
class Case:
    """A credential in one surrounding: its kind, the whole text, and the pieces of it that are secret."""

    kind: str
    text: str
    secrets: tuple[str, ...]


def surroundings() -> dict[str, str]:
    """The text of each kind of secret by its name `file/section`."""
    return sections(FOLDER)


@cache
def sections(folder: Path) -> dict[str, str]:
    """The sections of a folder's text files by their names `file/section`, in the order of the files."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.txt")):
        parts = _SECTION.split(path.read_text(encoding="utf-8"))[1:]
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            kind = f"{path.stem}/{name}"
            if kind in found:
                raise ValueError(f"{kind} stands twice: give one of them another name")
            found[kind] = text.strip("\n") + "\n"
    return found


def cases(dice: Random, rounds: int = 1) -> Iterator[Case]:
    """A case of each kind, as often as there are rounds."""
    for _ in range(rounds):
        for kind, text in surroundings().items():
            yield fill(kind, text, dice)


def fill(kind: str, surrounding: str, dice: Random) -> Case:
    """A surrounding with values drawn for its marks."""
    known: dict[str, str] = {}
    while _FILLER.search(surrounding):
        surrounding = _FILLER.sub(lambda mark: filler(mark[1], known, dice), surrounding)
    pieces: list[str] = []
    secrets: list[str] = []
    done = 0
    for mark in _SECRET.finditer(surrounding):
        pieces.append(surrounding[done : mark.start()])
        done = mark.end()
        value = known.get(f"secret {mark['same']}") if mark["same"] else None
        value = value or MAKERS[mark["maker"]](dice)
        known[f"secret {mark['same']}"] = value
        line = "".join(pieces).rsplit("\n", 1)[-1]
        written = STEPS[mark["step"] or ""](value, line[: len(line) - len(line.lstrip(" \t>+|"))], dice)
        secrets += [value] if mark["step"] == "numbered" else parts_of(written)
        pieces.append(written)
    return Case(kind, align("".join((*pieces, surrounding[done:]))), tuple(dict.fromkeys(secrets)))


def parts_of(value: str) -> list[str]:
    """The lines of a value that are secret by themselves; a key's borders are not."""
    lines = [line for line in re.split(r"\n|\\n", value) if "-----" not in line]
    parts = [line.strip(" \t>+|\\\"'") for line in lines] if len(lines) > 1 else lines
    return [part for part in parts if len(part) >= _SHORTEST_PIECE]


def align(text: str) -> str:
    """Text with its columns padded: cells between `‖`, in rows that follow each other, get the width of the widest.

    A cell of one sign, of which a border is drawn, is repeated.
    """
    lines = text.split("\n")
    done: list[str] = []
    while lines:
        rows: list[list[str]] = []
        while lines and _COLUMN in lines[0]:
            rows.append(lines.pop(0).split(_COLUMN))
        count = max((len(row) for row in rows), default=0)
        widths = [max(len(row[place]) for row in rows if place < len(row)) for place in range(count)]
        done += ["".join(map(_padded, row, widths)).rstrip() for row in rows]
        done += [lines.pop(0)] if lines else []
    return "\n".join(done)


def _padded(cell: str, width: int) -> str:
    return cell * width if cell in {"-", "=", "─"} else cell.ljust(width)


def filler(name: str, known: dict[str, str], dice: Random) -> str:
    """One of several texts, or a named thing; with `#` the one that was drawn before."""
    if "|" in name:
        return dice.choice(name.split("|"))
    if name not in known or "#" not in name:
        known[name] = thing(name.split("#", maxsplit=1)[0], dice)
    return known[name]


def thing(name: str, dice: Random) -> str:
    """A named thing of `THINGS`, or drawn signs: `hex40`, `b64_43`, `b64url_43`."""
    if signs := _DRAWN.fullmatch(name):
        alphabet = {"hex": HEX, "b64_": BASE64, "b64url_": URLSAFE}[signs[1]]
        return drawn(dice, alphabet, int(signs[2]))
    return THINGS[name](dice)


def _host(dice: Random) -> str:
    return f"{dice.choice(FILLERS['machine'])}.{dice.choice(FILLERS['tld'])}"


def _clock(dice: Random) -> str:
    return f"{dice.randint(0, 23):02d}:{dice.randint(0, 59):02d}:{dice.randint(0, 59):02d}"


def _date(dice: Random) -> str:
    return f"2026-{dice.randint(1, 12):02d}-{dice.randint(1, 28):02d}"


def _named(name: str) -> Callable[[Random], str]:
    return lambda dice: dice.choice(FILLERS[name])


THINGS: dict[str, Callable[[Random], str]] = {name: _named(name) for name in FILLERS} | {
    "host": _host,
    "clock": _clock,
    "date": _date,
    "email": lambda dice: f"{dice.choice(FILLERS['first']).lower()}@{dice.choice(FILLERS['tld'])}",
    "ip": lambda dice: f"10.{dice.randint(0, 99)}.{dice.randint(0, 255)}.{dice.randint(1, 254)}",
    "port": lambda dice: str(dice.randint(1024, 9999)),
    "n": lambda dice: str(dice.randint(2, 9)),
    "number": lambda dice: str(dice.randint(10, 999)),
    "id": lambda dice: drawn(dice, "123456789", 8),
    "commit": lambda dice: drawn(dice, HEX, 7),
    "uuid": uuid,
    "mac": lambda dice: ":".join(drawn(dice, HEX, 2) for _ in range(6)),
    "iban": lambda dice: (
        f"DE{drawn(dice, DIGITS, 2)} " + " ".join(drawn(dice, DIGITS, 4) for _ in range(4)) + " 00"
    ),
    "isbn": lambda dice: f"978-3-{drawn(dice, DIGITS, 5)}-{drawn(dice, DIGITS, 3)}-{drawn(dice, DIGITS, 1)}",
    "latitude": lambda dice: f"{dice.uniform(-89, 89):.6f}",
    "longitude": lambda dice: f"{dice.uniform(-179, 179):.6f}",
    "ulid": lambda dice: drawn(dice, DIGITS + "ABCDEFGHJKMNPQRSTVWXYZ", 24),
    "nix52": lambda dice: drawn(dice, DIGITS + "abcdfghijklmnpqrsvwxyz", 52),
    "hex16_upper": lambda dice: drawn(dice, HEX, 16).upper(),
    "version": lambda dice: f"{dice.randint(0, 9)}.{dice.randint(0, 30)}.{dice.randint(0, 12)}",
    "public": lambda dice: encoded(dice, 32),
    "phone": lambda dice: f"+49 30 {drawn(dice, DIGITS, 7)}",
}
"""Things of the surroundings by their names."""


def _cut(value: str, count: int, before: str, after: str) -> str:
    size = -(-len(value) // count)
    return f"{after}\n{before}".join(value[at : at + size] for at in range(0, len(value), size))


Step = Callable[[str, str, Random], str]
STEPS: dict[str, Step] = {
    "": lambda value, indent, _: value.replace("\n", f"\n{indent}"),
    "b64": lambda value, *_: base64.b64encode(value.encode()).decode(),
    "b64n": lambda value, *_: base64.b64encode(f"{value}\n".encode()).decode(),
    "user": lambda value, _, dice: base64.b64encode(
        f"{dice.choice(FILLERS['user'])}:{value}".encode()
    ).decode(),
    "quoted": lambda value, *_: quote(value, safe=""),
    "cut": lambda value, indent, _: _cut(value, 2, indent, ""),
    "cut3": lambda value, indent, _: _cut(value, 3, indent, ""),
    "cut\\": lambda value, indent, _: _cut(value, 2, indent, "\\"),
    "cut+": lambda value, indent, _: _cut(value, 2, f'{indent}    "', '" +'),
    "cutpy": lambda value, indent, _: _cut(value, 2, f'{indent}"', '"'),
    "numbered": lambda value, indent, _: f"\n{indent}".join(
        f"{place}. {word}" for place, word in enumerate(value.split(), start=1)
    ),
    "spelled": lambda value, *_: " ".join(value),
}
"""Other ways to write a value, given the indentation of its line."""
