"""The memory as a folder of Markdown for Obsidian and other editors: a topic a file, a page a person or thing."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Final, cast

import polars as pl

from slowwave.export.markdown import file_names, plain
from slowwave.export.rows import Rows
from slowwave.schemas.choices import WHOSE, Origin
from slowwave.schemas.moments import day_of

START: Final = "Memories"
NO_TOPIC: Final = "Without a topic"
DISPUTES: Final = "Contradictions"

Row = Mapping[str, object]


def vault_files(rows: Rows) -> dict[str, list[str]]:
    """The pieces of each file, by its name: a start page, topics, names, and the open contradictions."""
    cells = rows["memory"].sort("event_time", "cell_id", descending=[True, False])
    topics = rows["topic"].filter(pl.col("merged_into").is_null())
    is_known = pl.col("topic_id").is_in(topics["topic_id"].implode())
    cells = cells.with_columns(topic_id=pl.when(is_known).then("topic_id").otherwise(pl.lit("")))
    titles = file_names({**dict(topics.select("topic_id", "name").iter_rows()), "": NO_TOPIC})
    pages = file_names(dict(rows["entity"].select("entity_id", "canonical_name").iter_rows()))
    named = (
        rows["mention"]
        .select("cell_id", "entity_id")
        .unique()
        .with_columns(page=pl.col("entity_id").replace_strict(pages, default=None, return_dtype=pl.String))
        .drop_nulls("page")
        .sort("page")
    )
    with_names = cells.join(
        named.group_by("cell_id").agg(pages=pl.col("page")), on="cell_id", how="left", maintain_order="left"
    ).with_columns(
        pl.col("pages").fill_null([]), title=pl.col("topic_id").replace_strict(titles, return_dtype=pl.String)
    )
    found = _topic_pages(with_names, topics) | _name_pages(with_names, rows["entity"], named, pages)
    if disputes := _disputes(rows["contradiction"], with_names):
        found[f"{DISPUTES}.md"] = disputes
    found[f"{START}.md"] = _start(with_names, pages, has_disputes=bool(disputes))
    return found


def _topic_pages(cells: pl.DataFrame, topics: pl.DataFrame) -> dict[str, list[str]]:
    told = {row["topic_id"]: row for row in topics.iter_rows(named=True)}
    found: dict[str, list[str]] = {}
    for part in cells.partition_by("topic_id", maintain_order=True):
        topic = told.get(part["topic_id"][0], {})
        lines = _head(
            topic.get("name") or NO_TOPIC, topic_id=topic.get("topic_id"), updated=topic.get("updated_at")
        )
        if topic.get("summary"):
            lines.append(f"{plain(str(topic['summary']))}\n\n")
        found[f"topics/{part['title'][0]}.md"] = lines + _sections(part, has_topic=False)
    return found


def _name_pages(
    cells: pl.DataFrame, entities: pl.DataFrame, named: pl.DataFrame, pages: Mapping[str, str]
) -> dict[str, list[str]]:
    of_name = dict(named.group_by("entity_id").agg("cell_id").iter_rows())
    place = {cell_id: number for number, cell_id in enumerate(cells["cell_id"])}
    found: dict[str, list[str]] = {}
    for row in entities.iter_rows(named=True):
        lines = _head(row["canonical_name"], kind=row["entity_type"], aliases=row["aliases"])
        if row["summary"]:
            lines.append(f"{plain(row['summary'])}\n\n")
        numbers = sorted(place[cell_id] for cell_id in of_name.get(row["entity_id"], []))
        found[f"names/{pages[row['entity_id']]}.md"] = lines + _sections(
            cells[numbers], page=pages[row["entity_id"]]
        )
    return found


def _sections(cells: pl.DataFrame, *, has_topic: bool = True, page: str = "") -> list[str]:
    """Sections of what is remembered now, of what held before and of what faded, newest first."""
    lines: list[str] = []
    for status, title in (("active", "Now"), ("superseded", "Before"), ("archived", "Faded")):
        part = cells.filter(pl.col("status") == status)
        if part.height:
            items = [_item(row, has_topic=has_topic, page=page) for row in part.iter_rows(named=True)]
            lines += [f"## {title}\n\n", *items, "\n"]
    return lines


def _item(row: Row, *, has_topic: bool = True, page: str = "") -> str:
    """A memory as one entry of a list: its text, its kind, day, whose word it is, and links but to this page itself."""
    whose = "confirmed by you" if row["protected"] else WHOSE[cast("Origin", row["origin"])]
    day = day_of(cast("datetime", row["event_time"]))
    details = [str(row["cell_type"]), day, whose, plain(str(row["source_name"]))]
    links = [_link(f"topics/{row['title']}", str(row["title"]))] if has_topic else []
    links += [_link(f"names/{name}", name) for name in cast("list[str]", row["pages"]) if name != page]
    told = ", ".join(one for one in details if one)
    return " ".join([f"- {plain(str(row['content']))} ({told})", *links]) + "\n"


def _disputes(contradictions: pl.DataFrame, cells: pl.DataFrame) -> list[str]:
    waiting = contradictions.filter(pl.col("status") == "open").sort("detected_at", "contradiction_id")
    if waiting.is_empty():
        return []
    items = {row["cell_id"]: _item(row) for row in cells.iter_rows(named=True)}
    lines = _head(DISPUTES)
    for row in waiting.iter_rows(named=True):
        lines.append(f"## {row['detected_at']:%Y-%m-%d}\n\n")
        lines += [items.get(row[side], "") for side in ("cell_a", "cell_b")]
        lines.append("\n")
    return lines


def _start(cells: pl.DataFrame, pages: Mapping[str, str], *, has_disputes: bool) -> list[str]:
    lines = _head(START)
    if has_disputes:
        lines.append(f"{_link(DISPUTES, DISPUTES)}\n\n")
    live = (pl.col("status") == "active").sum()
    counts = cells.group_by("title").agg(live=live).sort("title")
    if counts.height:
        lines.append("## Topics\n\n")
    lines += [f"- {_link(f'topics/{title}', title)}: {number}\n" for title, number in counts.iter_rows()]
    if pages:
        lines.append("\n## Names\n\n")
    lines += [f"- {_link(f'names/{page}', page)}\n" for page in sorted(pages.values())]
    return lines


def _head(title: str, **fields: object) -> list[str]:
    """The front matter and the heading. Values of fields are JSON, which is YAML that says only what it says."""
    told = {name: _field(value) for name, value in fields.items() if value not in (None, [])}
    lines = [f"{name}: {json.dumps(value, ensure_ascii=True)}\n" for name, value in told.items()]
    front = ["---\n", *lines, "---\n\n"] if lines else []
    return [*front, f"# {plain(title)}\n\n"]


def _field(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


def _link(path: str, shown: str) -> str:
    """A link within the folder; the names of files have no character that could end it."""
    return f"[[{path}|{shown}]]"
