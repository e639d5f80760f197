"""An export as one page of Markdown: topics with what is remembered of each. Stored text stays text."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import cast

import polars as pl

from slowwave.export.rows import Rows
from slowwave.schemas.choices import WHOSE, Origin
from slowwave.schemas.moments import day_of

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
