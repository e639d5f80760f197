"""Looking for texts in every byte of a home: plain, as JSON writes them, and as UTF-16; and in decoded table rows."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from slowwave.progress import progress
from slowwave.rewrite.transform import spellings, written_forms
from slowwave.schemas.tables import TABLES
from slowwave.store import Store

BLOCK = 8 * 1024 * 1024


def forms_of(text: str) -> set[bytes]:
    """The bytes that a text can have in a file of ours or of a library, however its accents are spelled."""
    plain = {form.encode("utf-8", "surrogatepass") for form in written_forms(text)}
    wide = ("utf-16-le", "utf-16-be")
    return plain | {form.encode(name, "surrogatepass") for form in spellings(text) for name in wide}


def files_with(
    root: Path, texts: Sequence[str], *, without: Sequence[Path] = (), named: str = "*"
) -> dict[str, int]:
    """Files below a folder that hold one of the texts, with how many of the texts, by path from the folder.

    `without` are files and folders that are not looked at; `named` is the pattern of the names of those that are.
    """
    forms = [forms_of(text) for text in texts]
    longest = max((len(form) for group in forms for form in group), default=0)
    every = sorted({form.decode("latin-1") for group in forms for form in group})
    paths = [
        path
        for path in sorted(root.rglob(named))
        if texts and path.is_file() and not any(path.is_relative_to(place) for place in without)
    ]
    found: dict[str, int] = {}
    for number, path in enumerate(paths, start=1):
        held: set[int] = set()
        for block in _blocks(path, overlap=longest):
            # one pass for all forms: most blocks hold none, and there may be thousands
            if pl.Series([block.decode("latin-1")]).str.contains_any(every).item():
                held |= {place for place, group in enumerate(forms) if any(form in block for form in group)}
        if held:
            found[path.relative_to(root).as_posix()] = len(held)
        progress("search every file", number, len(paths))
    return found


def rows_with(store: Store, texts: Sequence[str]) -> dict[str, int]:
    """Tables of a store with rows that hold one of the texts, with how many rows: files may be compressed."""
    found: dict[str, int] = {}
    spelled = sorted({form for text in texts for form in spellings(text)})
    for table in TABLES:
        rows = store.rows(table)
        columns = [
            pl.col(name) if kind == pl.String else pl.col(name).list.join("\x1f")
            for name, kind in rows.schema.items()
            if kind in (pl.String, pl.List(pl.String))
        ]
        whole = rows.select(whole=pl.concat_str(columns, separator="\x1f", ignore_nulls=True))
        count = whole.filter(pl.col("whole").str.contains_any(spelled)).height if texts else 0
        if count:
            found[f"table {table}"] = count
    return found


def _blocks(path: Path, *, overlap: int) -> Iterator[bytes]:
    """A file's bytes in blocks that share `overlap` bytes with the one before; a file that went away has none."""
    try:
        with path.open("rb") as file:
            tail = b""
            while block := file.read(BLOCK):
                yield tail + block
                tail = (tail + block)[-overlap:] if overlap else b""
    except FileNotFoundError:
        return
