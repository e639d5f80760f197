"""`export`: everything that the asker may see, into one file of a folder. Nothing of the home changes."""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import cast

import polars as pl

from slowwave.errors import InputError, NotFoundError
from slowwave.export.rows import Rows, rows_of_export, without_secrets
from slowwave.home.swept import needs_sweep
from slowwave.ingest.formats.own import HEADER, VERSION
from slowwave.journal.catalogue import ISO
from slowwave.progress import progress
from slowwave.recall.reader import NO_MEMORY, NO_STORE, Reader
from slowwave.schemas.choices import WHOSE, Origin
from slowwave.schemas.moments import day_of
from slowwave.schemas.report import Exported
from slowwave.schemas.requests import ExportRequest
from slowwave.schemas.tables import TIMESTAMP
from slowwave.whole_file import PRIVATE, write_whole

SECRETS = "secrets were taken out of it: `slowwave run redact` takes them out of the home as well"

FILES = {"jsonl": "memories.jsonl", "markdown": "memories.md"}


def export(reader: Reader, request: ExportRequest, *, now: datetime) -> Exported:
    """Write an export, as `Memory.export` says."""
    home, store = reader.home, reader.current()
    folder = Path(request.to).expanduser()
    path = folder / FILES[request.format]
    _refuse_foreign(path, home.root)
    if store is None:
        raise NotFoundError(NO_STORE if home.journal.segment_ids() else NO_MEMORY)
    project = None if request.project is None else reader.named(request.project)
    rows = rows_of_export(store, home.settings.owner, project=project, scopes=request.scopes)
    if project is not None and all(frame.is_empty() for frame in rows.values()):
        raise NotFoundError(
            f"nothing that you may see is of the project {project!r}: export all projects, or another"
        )
    notes: list[str] = []
    if needs_sweep(home):
        rows, secret_count = without_secrets(rows)
        notes += [f"{secret_count} {SECRETS}"] if secret_count else []
    if not request.dry_run:
        is_page = request.format == "markdown"
        lines = markdown_lines(rows) if is_page else jsonl_lines(rows, version=version("slowwave"), now=now)
        _write(path, lines)
    return Exported(
        format=request.format,
        folder=str(folder),
        dry_run=request.dry_run,
        files=[path.name],
        counts={kind: frame.height for kind, frame in rows.items() if frame.height},
        notes=notes,
    )


def _refuse_foreign(path: Path, home: Path) -> None:
    """Refuse a place within the home, and a file of this name that no export wrote.

    Raises:
        InputError: it is such a place, or cannot be read.
    """
    own = home.resolve()
    if own in path.resolve().parents:
        raise InputError(f"{path.parent} is within the home: name a folder outside it")
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            begin = file.readline()
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unwritable(path.parent, error) from error
    if not begin.startswith((JSONL_HEAD, PAGE_HEAD)):
        raise InputError(f"{path} is no export: name another folder")


def _write(path: Path, lines: Iterable[str]) -> None:
    """Write a file for this user alone, whole or not at all, and never all of it in memory.

    Raises:
        InputError: the folder cannot be written; what was there stays.
    """
    try:
        write_whole(path, lines, mode=PRIVATE, is_durable=False)
    except OSError as error:
        raise _unwritable(path.parent, error) from error


def _unwritable(folder: Path, error: OSError) -> InputError:
    return InputError(
        f"{folder} cannot be written ({error.strerror or type(error).__name__}): mend its permissions or its disk, "
        "or name another folder"
    )


JSONL_HEAD = f'{{"type": "{HEADER}"'


def jsonl_lines(rows: Rows, *, version: str, now: datetime) -> Iterator[str]:
    """The lines of an export, each with its end: the header, then each row, without the columns that have no value."""
    header = {
        "type": HEADER,
        "format": VERSION,
        "slowwave": version,
        "exported_at": now.isoformat(),
        "counts": {kind: frame.height for kind, frame in rows.items() if frame.height},
    }
    yield _line(header)
    done, total = 0, sum(frame.height for frame in rows.values())
    for kind, frame in rows.items():
        times = [name for name, dtype in frame.schema.items() if dtype == TIMESTAMP]
        for part in frame.iter_slices(10_000):
            told = part.with_columns(pl.col(times).dt.strftime(ISO))
            for row in told.iter_rows(named=True):
                yield _line(
                    {"type": kind, **{name: value for name, value in row.items() if value not in (None, [])}}
                )
            done += part.height
            progress("export", done, total)


def _line(fields: dict[str, object]) -> str:
    return json.dumps(fields, ensure_ascii=False, allow_nan=False) + "\n"


PAGE_HEAD = "# Memories"

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|~!$=%^&]")
_LINE_START = re.compile(r"^(?:[-+]|\d{1,9}[.)])(?=\s|$)")
_FIELD = re.compile(r"::")
_LINK = re.compile(r"(?i)\b(https?|ftp|file|obsidian|mailto|javascript|data):")


def markdown_lines(rows: Rows) -> Iterator[str]:
    """The pieces of the page: each topic with its summary, newest memory first; then the open contradictions."""
    yield f"{PAGE_HEAD}\n"
    cells = rows["memory"].sort("event_time", "cell_id", descending=[True, False])
    topics = rows["topic"].filter(pl.col("merged_into").is_null()).sort("name", "topic_id")
    for topic in topics.iter_rows(named=True):
        yield from _section(topic["name"], topic["summary"], cells.filter(topic_id=topic["topic_id"]))
    is_lone = pl.col("topic_id").is_in(topics["topic_id"].implode()).fill_null(value=False).not_()
    yield from _section("Without a topic", None, cells.filter(is_lone))
    waiting = rows["contradiction"].filter(status="open").sort("detected_at", "contradiction_id")
    if waiting.height:
        yield "\n## Contradictions\n\n"
    for pair in waiting.select("cell_a", "cell_b").iter_rows():
        sides = [_entry(row) for row in cells.filter(pl.col("cell_id").is_in(pair)).iter_rows(named=True)]
        yield "- These cannot both hold:\n" + "".join(f"  {side}" for side in sides)


def _section(title: str, summary: str | None, cells: pl.DataFrame) -> Iterator[str]:
    """A topic: what is remembered now, what held before, and what faded."""
    if cells.is_empty():
        return
    yield f"\n## {plain(title)}\n\n"
    if summary:
        yield f"{plain(summary)}\n\n"
    for status, heading in (
        ("active", ""),
        ("superseded", "\n### Before\n\n"),
        ("archived", "\n### Faded\n\n"),
    ):
        part = cells.filter(status=status)
        yield heading if part.height else ""
        yield from (_entry(row) for row in part.iter_rows(named=True))


def _entry(row: Mapping[str, object]) -> str:
    """A memory as one entry of a list: its text, its kind, day, whose word it is, and where it comes from."""
    whose = "confirmed by you" if row["protected"] else WHOSE[cast("Origin", row["origin"])]
    day = day_of(cast("datetime", row["event_time"]))
    details = [str(row["cell_type"]), day, whose, plain(str(row["source_name"]))]
    return f"- {plain(str(row['content']))} ({', '.join(one for one in details if one)})\n"


def plain(text: str) -> str:
    """Text as one line of Markdown that shows it as it is: no markup, tag, link, embed, comment, field or query in it.

    Addresses stay readable and are no links.
    """
    composed = unicodedata.normalize("NFC", text)
    # what is not seen turns the direction of writing, or hides text
    seen = (" " if unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp") else one for one in composed)
    safe = _SPECIAL.sub(r"\\\g<0>", " ".join("".join(seen).split()))
    safe = _LINK.sub(r"\1\\:", _FIELD.sub(r":\\:", safe))
    return _LINE_START.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", safe)
