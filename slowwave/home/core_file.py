"""`MEMORY.md`: core memory as a file that a person may edit, and core memory as one who asks may see it.

The file holds what every user of the home may see, and the private lines of its owner where nobody else has memories in
it. `core.json` beside it has the hash of each line that the file is known to hold, and the memory of that line: what
differs was written by a person, and is never overwritten: `slowwave/home/core_memory.py` takes it in first.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from slowwave.home.paths import Home
from slowwave.language.text import sentences
from slowwave.models.page_lines import page_line
from slowwave.schemas.choices import TRUST
from slowwave.schemas.identity import content_hash
from slowwave.schemas.moments import days_of
from slowwave.schemas.tables import OWNER, REMEMBERED
from slowwave.store import Expr, StoreReader, of_other_users, open_to_all, owned_in, standing_for
from slowwave.trust.origins import PERSON, is_persons_word, pieces_of
from slowwave.trust.stated import traced_origins
from slowwave.whole_file import read_plain, write_whole

LINE_CHARACTERS: Final = 200
"""Characters of a memory's text in a line, unless its first sentence is longer."""

READ: Final = ["cell_id", "content", "value", "steps", "origin", "protected", "prompt_version", "evidence"]
"""Columns of a memory by which it is decided whose word it is."""

LINES: Final = ["cell_id", *OWNER, "line_rank", "line"]
TITLE: Final = "# Core memory"
KNOWN_FILE: Final = "core.json"

_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f]")
_MARKER = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")

Known = Mapping[str, str | None]
"""Lines by their hash, each with its memory; null where its absence says nothing."""


@dataclass(frozen=True)
class HandEdits:
    """Changes by hand in `MEMORY.md`: new lines as they stand there, and the memories of lines that are gone."""

    added: tuple[str, ...] = ()
    struck: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.struck)


def hand_edits(home: Home, store: StoreReader) -> HandEdits:
    """The changes by hand since the file was written.

    Nothing where the file is gone, empty or no text: that may be an accident, and asks for nothing.
    """
    try:
        text = _read(home)
    except OSError:
        return HandEdits()
    if not text.strip() or _NO_TEXT.search(text):
        return HandEdits()
    there, known = lines_of(text), _known(home, store)
    struck = [cell_id for line, cell_id in known.items() if cell_id is not None and line not in there]
    return HandEdits(tuple(line for key, line in there.items() if key not in known), tuple(struck))


def settle(home: Home, store: StoreReader, taken: HandEdits) -> None:
    """Notes that these edits are taken in, so that the file may be written again; what came since is not among them."""
    known, added = _known(home, store), {content_hash(line): None for line in taken.added}
    _note(home, {line: cell_id for line, cell_id in known.items() if cell_id not in taken.struck} | added)


def write_core_file(home: Home, store: StoreReader) -> bool:
    """Writes `MEMORY.md` anew where it is not what the store holds. Returns whether it did.

    A line that rests on no person's word is not written, whoever chose it: it stands in every prompt. A home that
    never had core memory gets no file, and one with edits of a person that nobody took in yet keeps it as it is.
    """
    lines, before = _lines(store, _in_file(home, store)), _read(home)
    text, wanted = _page(TITLE, lines["line"]), _by_hash(lines)
    if not (before or lines.height) or hand_edits(home, store):
        return False
    known = _known(home, store)
    if text != before:
        # cut off between here and the end, neither the old lines nor the new ones are taken for a person's
        both = {line: cell_id for line, cell_id in wanted.items() if line in known}
        _note(home, {**dict.fromkeys([*known, *wanted]), **both})
        write_whole(home.core_path, text)
    if known != wanted or text != before:
        _note(home, wanted)
    return text != before


def has_other_users(home: Home, store: StoreReader) -> bool:
    """Return whether others than the owner in the settings have memories of their own in the home."""
    return store.count("cells", of_other_users(home.settings.owner)) > 0


def core_page(home: Home, store: StoreReader) -> str:
    """Core memory as the owner's user may see it: the home's own, then that of the project asked from; "" for none."""
    owner = home.settings.owner
    lines = _lines(store, standing_for(owner))
    is_own = (pl.col("project_id") == owner.project_id) | (pl.col("scope") == "system")
    own, others = lines.filter(is_own)["line"], lines.filter(~is_own)
    pages = [_page(TITLE, own)] if len(own) else []
    pages += [
        _page(f"## Project {page_line(str(project))}", part["line"])
        for (project,), part in others.group_by("project_id", maintain_order=True)
    ]
    return "\n".join(pages)


def lines_of(text: str) -> dict[str, str]:
    """The lines of a page by their hash, without headings, marks of a list and empty ones.

    A line that goes on with the one before it, being indented and no point of the list, is part of that one.
    """
    found = list[str]()
    for line in text.splitlines():
        is_point = _MARKER.match(line) is not None
        if found and found[-1] and line[:1].isspace() and line.strip() and not is_point:
            found[-1] += f" {line.strip()}"
        else:
            found.append("" if line.startswith("#") else _MARKER.sub("", line).strip())
    return {content_hash(line): line for line in found if line}


def core_lines(chosen: pl.DataFrame) -> pl.DataFrame:
    """Lines of core memory from the chosen cells (best first, `line_rank` null for newcomers).

    A line that stays keeps its place among those that stay. A newcomer stands behind the line that comes before it
    in the choice, or at the top. `chosen` has `protected` and `source_id`, by which a line says whose word it is.
    Returns the owner, `cell_id`, `line_rank` (1-based), `line`.
    """
    date = days_of(pl.col("valid_from"))
    return (
        chosen.with_row_index("choice")
        .with_columns(place=pl.col("line_rank").forward_fill().fill_null(0))
        .sort("place", pl.col("line_rank").is_null(), "choice")
        .with_columns(
            line=pl.format("[{}] {} ({}, {})", "cell_type", _whole_sentences(), _whose(), date),
            line_rank=pl.int_range(1, pl.len() + 1),
        )
        .select(LINES)
    )


def persons_words(store: StoreReader, cell_ids: Iterable[str]) -> pl.DataFrame:
    """The memories among these that a person said or confirmed: `cell_id`. The one rule of core memory.

    What a person said must also stand in that person's own words: a memory of which the words stand only in what the
    turn quotes is none, whatever was written down as its origin. Who chooses lines asks here, and who writes the file
    asks again.
    """
    cells = store.by_key("cells", cell_ids, READ).filter(is_persons_word())
    said = cells.filter(~pl.col("protected")).with_row_index("page").cast({"page": pl.Int64})
    named = said.select("page", turn_id="evidence").explode("turn_id").drop_nulls()
    turns = store.by_key("turns", named["turn_id"], ["turn_id", "role", "speaker", "content", "origin"])
    parts = [pl.col("content"), pl.col("value"), pl.col("steps").list.join(" ")]
    text = pl.concat_str(parts, separator="\n", ignore_nulls=True)
    # a person's statement may be an assistant's proposal that the person agreed to: quotes alone count against it
    rank = pl.when(pl.col("rank") == TRUST.index("agent")).then(TRUST.index(PERSON)).otherwise("rank")
    pieces = pieces_of(named.join(turns, on="turn_id", how="inner")).with_columns(rank=rank)
    traced = traced_origins(said.select("page", "origin", key="cell_id", text=text), pieces)
    own = traced.filter(pl.col("origin") == PERSON)["key"].implode()
    return cells.filter(pl.col("protected") | pl.col("cell_id").is_in(own)).select("cell_id").sort("cell_id")


# Inside


def _in_file(home: Home, store: StoreReader) -> Expr:
    """Rows that the file may hold: everybody who can open the home can read it."""
    owner = home.settings.owner
    return open_to_all(owner) if has_other_users(home, store) else owned_in(owner, owner.project_id)


def _lines(store: StoreReader, where: Expr) -> pl.DataFrame:
    """Rows of core memory as a page has them, in their order: those alone that a person's word stands behind."""
    core = store.rows("core", LINES, where)
    lines = core.join(persons_words(store, core["cell_id"]), on="cell_id", how="semi")
    told = pl.Series("line", [page_line(line) for line in lines["line"]], dtype=pl.String)
    return lines.with_columns(told).sort("line_rank", "cell_id")


def _page(heading: str, lines: pl.Series) -> str:
    return "\n".join([heading, "", *(f"- {line}" for line in lines), ""])


def _read(home: Home) -> str:
    """The file's text; a person's editor may have left anything there."""
    data = read_plain(home.core_path) if home.core_path.exists() else b""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _known(home: Home, store: StoreReader) -> dict[str, str | None]:
    """The lines that the file is known to hold; where that is lost, those that it should hold, which none need be."""
    try:
        return dict(json.loads((home.root / KNOWN_FILE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return dict.fromkeys(_by_hash(_lines(store, _in_file(home, store))))


def _by_hash(lines: pl.DataFrame) -> dict[str, str | None]:
    return {content_hash(line): cell_id for cell_id, line in lines.select("cell_id", "line").iter_rows()}


def _note(home: Home, known: Known) -> None:
    write_whole(home.root / KNOWN_FILE, json.dumps(known))


def _whole_sentences() -> pl.Expr:
    """The first sentences of a memory that have room in a line, and at least one: never a part of one."""
    every = sentences(pl.col("content"))
    has_room = (pl.element().str.len_chars() + 1).cum_sum() <= LINE_CHARACTERS + 1
    first = every.list.eval(pl.element().filter(has_room))
    return pl.when(first.list.len() > 0).then(first.list.join(" ")).otherwise(every.list.first())


def _whose() -> pl.Expr:
    """The person whose word a line is. Names of speakers are no part of it: they are text of a transcript too."""
    return (
        pl.when("protected")
        .then(pl.lit("confirmed by you"))
        .when(pl.col("source_id") == REMEMBERED)
        .then(pl.lit("said by you"))
        .otherwise(pl.lit("said by a person"))
    )
