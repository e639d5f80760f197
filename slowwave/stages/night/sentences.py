"""A night as a colleague would tell it: in plain sentences, from its events alone, without a language model.

Stored text stands in the sentences as it is, in one line, and a long one ends after a whole sentence; the faces that
show them escape it.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import polars as pl

from slowwave.language.text import normalized
from slowwave.schemas.moments import days_of
from slowwave.schemas.report import StoryPart, several, several_memories
from slowwave.schemas.tables import RAW_PROMPT

TOLD, TOLD_AGAIN = 6, 3
"""Most lines of one part, and of the part on repetitions; the rest is a number."""

TEXT_CHARACTERS = 320
"""Characters of a text: 99 of 100 memories of a night with a model have fewer."""

KINDS = (
    "turn.recorded", "cell.extracted", "cell.confirmed", "cell.superseded", "cell.merged", "cell.retired",
    "contradiction.opened", "contradiction.closed", "cell.archived", "cell.revived", "cell.pruned", "cell.deleted",
    "core.promoted", "core.demoted",
)  # fmt: skip
"""The kinds of event that the sentences are made from."""

Events = Mapping[str, pl.DataFrame]
"""Decoded payloads of a night's events, by kind; every one of `KINDS` is there, empty where nothing happened."""


def told_cells(events: Events) -> list[str]:
    """Ids of the cells whose text the story needs."""
    columns = [
        *(events[kind]["cell_id"] for kind in KINDS if "cell_id" in events[kind].columns),
        events["cell.superseded"]["superseded_by"],
        events["contradiction.opened"]["cell_a"],
        events["contradiction.opened"]["cell_b"],
    ]
    return pl.concat(columns).drop_nulls().unique().sort().to_list()


def night_story(events: Events, cells: pl.DataFrame, *, open_count: int, core_count: int) -> list[StoryPart]:
    """The parts of a night's story; parts in which nothing happened are left out.

    `cells` has the cells that the events name as they are now: `cell_id`, `content`, `cell_type`, `subject`,
    `attribute`, `value`, `status`, `salience`, `valid_from`, `event_time`. `open_count` contradictions are open after
    the night; core memory has `core_count` lines.
    """
    texts = cells.with_columns(content=_short("content"))
    parts = [
        _learned(events, texts),
        _heard_again(events, texts),
        _changed(events, texts),
        _doubted(events, texts, open_count=open_count),
        _let_go(events, texts),
        _came_back(events, texts),
        _core_gained(events, core_count=core_count),
        _core_lost(events, texts),
    ]
    return [part for part in parts if part.count]


def fading_part(found: pl.DataFrame, *, days: float, now: datetime) -> StoryPart:
    """The memories that will fade soon, the most salient first: `found` has `content`, `salience` and `fades_at`."""
    lines = found.sort("salience", "fades_at", descending=[True, False]).select(
        line=pl.format(
            "{} ({})", _short("content"), pl.max_horizontal("fades_at", pl.lit(now)).dt.strftime("%Y-%m-%d")
        )
    )
    said = f"{several_memories(found.height)} will fade within {days:g} days if nobody uses them"
    return _part("fading", f"{said}. The most important:", lines)


def _learned(events: Events, texts: pl.DataFrame) -> StoryPart:
    gone = pl.concat([events["cell.merged"]["cell_id"], events["cell.retired"]["cell_id"]])
    made = events["cell.extracted"].filter(~pl.col("cell_id").is_in(gone.implode())).unique("cell_id")
    made = made.join(texts, on="cell_id", how="semi")
    raw = made.filter(pl.col("prompt_version") == RAW_PROMPT)
    read = made.filter(pl.col("prompt_version") != RAW_PROMPT)
    known = (read if read.height else raw).select("cell_id").join(texts, on="cell_id", how="inner")
    about = pl.concat_str("subject", "attribute", separator="\n")
    lines = (
        known.filter(pl.col("status") == "active")
        .sort("salience", "event_time", "cell_id", descending=[True, True, False])
        .with_columns(about=pl.coalesce(about, "cell_id"))
        .unique("about", keep="first", maintain_order=True)
    ).select(line=pl.format("{} ({}, {})", "content", "cell_type", days_of(pl.col("valid_from"))))
    sessions = made["session_id"].n_unique()
    kinds = known.group_by("cell_type").len().sort("len", "cell_type", descending=[True, False])
    by_kind = ", ".join(
        several(number, kind.replace("code_ref", "code reference"))
        for kind, number in zip(kinds["cell_type"], kinds["len"], strict=True)
    )
    where = f"from {several(sessions, 'conversation or file', 'conversations and files')}"
    if read.height:
        said = f"Learned {several(read.height, 'thing')} {where}: {by_kind}."
    else:
        said = (
            f"Kept {several(raw.height, 'passage')} {where} as they were said; a language model will read them "
            "once there is one."
        )
    return _part("learned", said, lines, count=made.height)


def _heard_again(events: Events, texts: pl.DataFrame) -> StoryPart:
    times = pl.format("{} times more", "confirmations")
    often = pl.when(pl.col("confirmations") == 1).then(pl.lit("once more")).otherwise(times)
    lines = (
        _told(events["cell.confirmed"], texts)
        .filter(pl.col("confirmations") > 0)  # what only gained evidence was said by no further person
        .sort("confirmations", "cell_id", descending=[True, False])
        .select(line=pl.format("{} ({})", "content", often))
    )
    return _part(
        "heard_again", f"Heard {several(lines.height, 'known thing')} again.", lines, most=TOLD_AGAIN
    )


def _changed(events: Events, texts: pl.DataFrame) -> StoryPart:
    named = pl.format("{}, {}", "subject", "attribute")
    new = texts.select("attribute", superseded_by="cell_id", now="content", now_value="value", about=named)
    old = texts.select("cell_id", before="content", old_value="value", old_attribute="attribute")
    both = _told(events["cell.superseded"], old).join(
        new, on="superseded_by", how="inner", maintain_order="left"
    )
    both = both.filter(
        ~_is_same(pl.col("now"), pl.col("before")) & ~_is_same(pl.col("now_value"), pl.col("old_value"))
    )
    until = days_of(pl.col("valid_until")).fill_null("then")
    is_correction = pl.col("verdict") == "corrects"
    by_value = (
        pl.when(is_correction)
        .then(pl.format("{}: {}; {} was wrong", "about", "now_value", "old_value"))
        .otherwise(pl.format("{}: {}; until {} it was {}", "about", "now_value", until, "old_value"))
    )
    by_text = (
        pl.when(is_correction)
        .then(pl.format("{} What was wrong: {}", "now", "before"))
        .otherwise(pl.format("{} Until {}: {}", "now", until, "before"))
    )
    # values of two properties, or one value twice, are no change, and where a value is missing its sentence is, too
    is_one = (pl.col("attribute").str.to_lowercase() == pl.col("old_attribute").str.to_lowercase()) & (
        pl.col("now_value") != pl.col("old_value")
    )
    lines = both.select(line=pl.coalesce(pl.when(is_one).then(by_value), by_text))
    return _part("changed", f"Changed its mind about {several(both.height, 'thing')}.", lines)


def _is_same(one: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Return whether two texts say the same in the same words: that is known news said again, and no change."""
    return (normalized(one) == normalized(other)).fill_null(value=False)


def _doubted(events: Events, texts: pl.DataFrame, *, open_count: int) -> StoryPart:
    date = days_of(pl.col("event_time"))
    opened = (
        events["contradiction.opened"]
        .unique("contradiction_id", maintain_order=True)
        .join(events["contradiction.closed"], on="contradiction_id", how="anti", maintain_order="left")
    )
    for side in ("a", "b"):
        told = texts.select(
            pl.col("cell_id").alias(f"cell_{side}"),
            pl.format("{} ({})", "content", date).alias(f"said_{side}"),
        )
        opened = opened.join(told, on=f"cell_{side}", how="inner", maintain_order="left")
    lines = opened.select(line=pl.format("{} or: {}", "said_a", "said_b"))
    said = (
        f"Found {several(opened.height, 'new contradiction')}, {open_count} open in all: both sides stay until "
        "somebody resolves it."
    )
    return _part("doubted", said, lines)


def _let_go(events: Events, texts: pl.DataFrame) -> StoryPart:
    archived = _told(events["cell.archived"], texts)
    pruned, deleted = events["cell.pruned"].height, events["cell.deleted"].height
    lines = archived.sort("salience", "cell_id", descending=[True, False]).select(
        line=pl.format("{} ({})", "content", "reason")
    )
    sentences = []
    if archived.height:
        sentences.append(
            f"Let go of {several_memories(archived.height)} that nobody used. They are archived, and "
            "come back when they are asked for or said again."
        )
    if pruned:
        sentences.append(
            f"Took {several(pruned, 'long superseded memory', 'long superseded memories')} out of the store."
        )
    if deleted:
        sentences.append(f"Kept {several(deleted, 'deleted memory', 'deleted memories')} out.")
    return _part("let_go", " ".join(sentences), lines, count=archived.height + pruned + deleted)


def _came_back(events: Events, texts: pl.DataFrame) -> StoryPart:
    lines = _told(events["cell.revived"], texts).select(
        line=pl.format("{} ({})", "content", pl.col("reason").fill_null("used"))
    )
    return _part(
        "came_back", f"Brought {several(lines.height, 'archived memory', 'archived memories')} back.", lines
    )


def _core_gained(events: Events, *, core_count: int) -> StoryPart:
    promoted = _latest(events["core.promoted"])
    left = set(events["core.demoted"]["cell_id"])
    entered = promoted.filter((pl.col("reason") != "reworded") & ~pl.col("cell_id").is_in(list(left)))
    reworded = promoted.filter(pl.col("reason") == "reworded")
    lines = pl.concat([entered, reworded]).select(
        line=pl.format(
            "{} Reason: {}.", _short("line"), _short("reason").str.replace("^salience ", "importance ")
        )
    )
    sentences = [f"Core memory gained {several(entered.height, 'line')}"]
    if reworded.height:
        sentences.append(f"{several(reworded.height, 'line was', 'lines were')} reworded")
    said = f"{' and '.join(sentences)}; it has {several(core_count, 'line')} now."
    return _part("core_gained", said, lines, count=entered.height + reworded.height)


def _core_lost(events: Events, texts: pl.DataFrame) -> StoryPart:
    left = _told(events["core.demoted"], texts, how="left")
    lines = left.select(
        line=pl.format(
            "{} Reason: {}.",
            pl.col("content").fill_null("A deleted memory."),
            pl.col("reason").fill_null("none given"),
        )
    )
    said = f"Core memory lost {several(left.height, 'line')}; what left can still be found."
    return _part("core_lost", said, lines)


def _told(
    rows: pl.DataFrame, texts: pl.DataFrame, *, how: Literal["inner", "left"] = "inner"
) -> pl.DataFrame:
    """The last event of each memory, with the memory's text."""
    return _latest(rows).join(texts, on="cell_id", how=how, maintain_order="left")


def _latest(rows: pl.DataFrame) -> pl.DataFrame:
    """The last event of each memory."""
    return rows.unique("cell_id", keep="last", maintain_order=True)


def _part(
    name: str, said: str, lines: pl.DataFrame, *, count: int | None = None, most: int = TOLD
) -> StoryPart:
    told = lines["line"].drop_nulls().head(most).to_list()
    number = lines.height if count is None else count
    return StoryPart(
        name=name, said=said, lines=told, count=number, more_count=max(lines.height - len(told), 0)
    )


def _short(column: str) -> pl.Expr:
    """A text in one line; of a long one whole sentences, or whole words where the first sentence is too long."""
    flat = pl.col(column).str.replace_all(r"\s+", " ").str.strip_chars()
    start = flat.str.slice(0, TEXT_CHARACTERS)
    cut = pl.coalesce(start.str.extract(r"^(.*[.!?])\s"), start.str.extract(r"^(.*)\s"), start) + " ..."
    return pl.when(flat.str.len_chars() > TEXT_CHARACTERS).then(cut).otherwise(flat)
