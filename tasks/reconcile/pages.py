"""Pages for the judge: which memories are shown together, and how their answers become pairs again."""

from collections.abc import Collection
from typing import cast

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.lifecycle.order import AGE_ORDER, PAIR, held_from
from slowwave.models.answers.judge import ReconcileAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Outcome, Request
from slowwave.models.rows import page_rows, told_date
from slowwave.schemas.table_parts import nullable
from tasks.ask import author_columns
from tasks.frames import Frame

PAGE_CELLS = 40
"""Memories on one page: its instructions are paid once."""

GROUP_CELLS = 6
"""Memories that a page shows together; a judge compares those of one group."""


class Page(Frame):
    """Memories of a round of questions. Each is in one group, so no answer of the round changes what another saw."""

    page: int
    group: int
    cell_id: str
    is_new: bool


class Said(Frame):
    """Judgements as they were answered; what is kept has no row."""

    cell_id: str
    target_id: str
    verdict: str
    subject: str
    attribute: str
    target_value: str
    new_value: str
    reason: str
    prompt_version: str = nullable()
    model: str = nullable()


def disjoint_pages(queue: pl.DataFrame, *, alone: Collection[str] = ()) -> DataFrame[Page]:
    """Groups of pairs from the front of the queue, no memory in two of them, on pages filled with whole groups.

    A pair (`cell_id` is asked about) that fits into no group waits for the next round. The memories in `alone` failed
    before: each has a page of its own, so that one which no answer can judge keeps no other waiting.
    """
    group_of: dict[str, int] = {}
    groups: list[set[str]] = []
    new: list[set[str]] = []
    for cell, target in queue.select(PAIR).iter_rows():
        known = sorted({group_of[name] for name in (cell, target) if name in group_of})
        members = {cell, target}.union(*(groups[number] for number in known))
        asked = {cell}.union(*(new[number] for number in known))
        if len(members) > GROUP_CELLS or (len(asked) > 1 and not asked.isdisjoint(alone)):
            continue
        for number in known:
            groups[number], new[number] = set(), set()
        group_of.update(dict.fromkeys(members, len(groups)))
        groups.append(members)
        new.append(asked)
    sizes = {number: len(members) for number, members in enumerate(groups) if members}
    own = {number for number in sizes if not new[number].isdisjoint(alone)}
    rows = [
        (page, number, cell, cell in new[number])
        for page, numbers in enumerate(_filled(sizes, own))
        for number in numbers
        for cell in groups[number]
    ]
    names = {"page": pl.Int64, "group": pl.Int64, "cell_id": pl.String, "is_new": pl.Boolean}
    return Page.of(pl.DataFrame(rows, schema=names, orient="row").sort("page", "group", "cell_id"))


def _filled(sizes: dict[int, int], own: Collection[int]) -> list[list[int]]:
    """Groups on pages, the largest first, each on the first page that has room; those of `own` by themselves."""
    pages: list[list[int]] = []
    room: list[int] = []
    for number in sorted(sizes, key=lambda number: (-sizes[number], number)):
        fits = (place for place, left in enumerate(room) if left >= sizes[number] and number not in own)
        place = next(fits, len(pages))
        if place == len(pages):
            pages.append([])
            room.append(0 if number in own else PAGE_CELLS)
        pages[place].append(number)
        room[place] -= sizes[number]
    return pages


def shown_pairs(queue: pl.DataFrame, pages: DataFrame[Page]) -> pl.DataFrame:
    """The pairs of the queue of which both memories are shown in one group, with its `page`."""
    placed = pages.select("cell_id", "page", "group")
    targets = placed.select("group", target_id="cell_id")
    return queue.join(placed, on="cell_id", maintain_order="left").join(
        targets, on=["target_id", "group"], how="semi"
    )


def on_page(page: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """The memories of one page in the order of their numbers: group by group, oldest first."""
    return page.join(cells, on="cell_id").sort("group", held_from(), *AGE_ORDER)


def request_of(page: pl.DataFrame) -> Request:
    """The question about one page (`on_page`, with `said_by`)."""
    cells = page.with_row_index("number", offset=1).select(
        *("group", "number", "is_new", "cell_type", "said_by", "content"),
        pl.col("subject", "attribute", "value").fill_null(""),
        date=told_date(),
    )
    groups = cells.partition_by("group", include_key=False, maintain_order=True)
    prompt = render("reconcile_cells", groups=[page_rows(group) for group in groups])
    context = {
        "page_numbers": set(cells["number"]),
        "new_numbers": set(cells.filter("is_new")["number"]),
    }
    return Request(prompt, ReconcileAnswer, context)


def said_on(page: pl.DataFrame, outcome: Outcome) -> DataFrame[Said]:
    """The rows of one answer, with ids instead of the numbers on the page (`on_page`)."""
    ids = dict(enumerate(page["cell_id"], start=1))
    rows = [
        {**item.model_dump(), "cell_id": ids[item.new], "target_id": ids[item.target]}
        for item in cast("ReconcileAnswer", outcome.answer).judgements
    ]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(Said.names()[:-2], pl.String))
    return Said.of(frame.with_columns(author_columns(outcome.prompt_version, outcome.model)))


def with_speakers(cells: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """Memories with `said_by`: the one person whose words each rests on, else its origin.

    `turns` has `turn_id` and `speaker` of the messages that they rest on.
    """
    evidence = cells.select("cell_id", turn_id="evidence").explode("turn_id")
    speakers = (
        evidence.join(turns, on="turn_id")
        .group_by("cell_id")
        .agg(speaker=pl.col("speaker").first(), speaker_count=pl.col("speaker").n_unique())
    )
    is_one = (pl.col("origin") == "user") & (pl.col("speaker_count") == 1)
    said_by = pl.when(is_one).then(pl.coalesce("speaker", "origin")).otherwise("origin")
    joined = cells.join(speakers, on="cell_id", how="left", maintain_order="left")
    return joined.with_columns(said_by=said_by).drop("speaker", "speaker_count")
