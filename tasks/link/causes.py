"""Causes: what led to what among single memories, as the model reads a conversation.

A page is one conversation: measured on the sample's night, 41 of 43 causes lie in the conversation of their effect, and
the two others in its topic. So the room that a conversation leaves on its page goes to older memories of the topics of
its effects. A memory is asked about once, and again only if something that happened before it is learned later.
"""

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.journal.catalogue import CATALOGUE
from slowwave.journal.plan import Plan, rejected
from slowwave.models.answers.write import CausesAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Request
from slowwave.models.rows import cell_rows, numbers_of
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.table_parts import Made, Owned, Timestamp, nullable, strings
from slowwave.schemas.tables import OWNER, shaped
from slowwave.store import col, lit
from slowwave.store.chains import EXTRACTED
from tasks.ask import Model
from tasks.frames import Frame
from tasks.step import Readable, step

EFFECTS = ["decision", "fact", "insight", "risk", "task"]
"""Types of memories with a cause worth asking for: 40 of 43 effects when the sample's night asked about all types, and
12 of them facts."""

EDGE = CATALOGUE["edge.drawn"].payload


PAGES_A_NIGHT = 10
"""Conversations asked about causes in one night, newest first; each is a request."""

PAGE_MEMORIES = 26
"""Memories on one page: a longer conversation takes several."""

CONFIDENCE = 0.7
"""Confidence of a causal edge that a model inferred, below any that a person stated."""

IS_LATER = pl.col("page") >= PAGES_A_NIGHT
"""Pages for a later night."""

NO_CAUSE: tuple[str | None, str | None, str | None] = (None, None, None)
"""The row of a page on which the model found no cause."""


class LinkedCells(Frame, Owned):
    """Active memories that a model or a person made; `examined_at` is null until causes were looked for."""

    cell_id: str
    session_id: str
    topic_id: str = nullable()
    cell_type: str
    content: str
    origin: str
    salience: float
    valid_from: Timestamp
    valid_precision: str = nullable()
    event_time: Timestamp
    evidence: pl.List = strings()
    examined_at: Timestamp = nullable()


class CausePages(LinkedCells):
    """Memories by page, oldest first within it: `is_own` of its conversation, `is_effect` those to find a cause for."""

    page: int
    is_own: bool
    is_effect: bool


class Causes(Frame, Made):
    """Pairs that the model named, with how the one led to the other; a page without any has one row, of nulls."""

    page: int
    source_id: str = nullable()
    target_id: str = nullable()
    predicate: str = nullable()


@step
def find_linked_cells(reader: Readable) -> DataFrame[LinkedCells]:
    """Active memories that are linked; none if all were examined already."""
    examined = reader.store.rows("links", ["cell_id", "examined_at"])
    columns = [name for name in LinkedCells.names() if name != "examined_at"]
    where = (col("status") == lit("active")) & EXTRACTED
    cells = reader.store.rows("cells", columns, where).join(examined, on="cell_id", how="inner")
    has_news = cells["examined_at"].is_null().any()
    return LinkedCells.of(cells.sort("cell_id") if has_news else cells.clear())


@step
def choose_cause_pages(cells: DataFrame[LinkedCells], *, size: int = PAGE_MEMORIES) -> DataFrame[CausePages]:
    """Pages with new effects, or with old ones before which something new happened; newest first, from 0."""
    talk = [*OWNER, "session_id"]
    place = pl.struct("valid_from", "event_time", "cell_id").rank("ordinal").over(talk) - 1
    known = cells.with_columns(
        key=pl.concat_str(*talk, (place // size).cast(pl.String), separator=" "),
        day=pl.col("valid_from").dt.date(),
        is_new=pl.col("examined_at").is_null(),
        may_be_effect=pl.col("cell_type").is_in(EFFECTS),
    )
    new = known.filter("is_new")
    own = known.join(new, on="key", how="semi")
    own = own.with_columns(is_effect=pl.col("is_new") & pl.col("may_be_effect"), rank=pl.lit(0))
    shown = pl.concat([own, *_of_topics(known, new)]).unique(
        ["key", "cell_id"], keep="first", maintain_order=True
    )
    best_first = ["key", "rank", "salience", "event_time", "cell_id"]
    pages = (
        shown.sort(best_first, descending=[False, False, True, True, False])
        .filter(pl.int_range(pl.len()).over("key") < size)
        .filter(pl.col("is_effect").any().over("key") & (pl.len().over("key") > 1))
    )
    newest = pl.struct(-pl.col("event_time").dt.timestamp().max().over("key"), "key")
    numbered = pages.with_columns(page=newest.rank("dense").cast(pl.Int64) - 1, is_own=pl.col("rank") == 0)
    return CausePages.of(numbered.sort("page", "valid_from", "event_time", "cell_id"))


@step
def ask_causes(model: Model, pages: DataFrame[CausePages]) -> DataFrame[Causes]:
    """The pairs that the model named on the first pages; a page without a usable answer has no row."""
    shown = pages.filter(~IS_LATER).partition_by("page", maintain_order=True)
    requests = {number: _request(page) for number, page in enumerate(shown)}
    rows = [
        (number, *pair, said.prompt_version, said.model)
        for number, said in model.ask(CausesAnswer, requests, work="causes").items()
        for pair in _pairs(said.answer, shown[number]["cell_id"]) or [NO_CAUSE]
    ]
    names = ["source_id", "target_id", "predicate", "prompt_version", "model"]
    schema = {"page": pl.Int64(), **dict.fromkeys(names, pl.String())}
    return Causes.of(pl.DataFrame(rows, schema=schema, orient="row"))


@step
def plan_causes(
    cells: DataFrame[LinkedCells],
    pages: DataFrame[CausePages],
    causes: DataFrame[Causes],
) -> Plan:
    """The edges that the guard lets pass, and the memories that need not be asked about again.

    Left out is a cause of a later day than its effect, and a pair of which both are of untrusted origin.
    """
    named = causes.drop_nulls("source_id").unique(["source_id", "target_id"], maintain_order=True)
    edges = causal_edges(named, cells)
    left = named.join(edges, on=["source_id", "target_id"], how="anti")
    waiting = pages.join(causes, on="page", how="anti")
    later, failed = waiting.filter(IS_LATER), waiting.filter(~IS_LATER)
    done = cells.filter(pl.col("examined_at").is_null()).join(
        waiting.filter("is_own"), on="cell_id", how="anti"
    )
    return Plan(
        events={"edge.drawn": edges, "cell.examined": done.select("cell_id")},
        rejected={
            **rejected("memory waits to be asked about causes", later.filter("is_effect")["cell_id"]),
            **rejected("page of causes waits for the next run", map(str, failed["page"].unique())),
            **rejected("cause later than its effect, or both untrusted", left["target_id"]),
        },
        examples=edges.select(_line(cells)).to_series().to_list(),
    )


def causal_edges(causes: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Edges (`edge.drawn`) from causes to effects, each pair once; what the guard refuses is left out.

    An edge rests on the turns of both ends, and begins with its effect.
    """
    ends = cells.select(
        "cell_id", *OWNER, "evidence", "origin", "event_time", day=pl.col("valid_from").dt.date()
    )
    rows = (
        causes.join(ends, left_on="target_id", right_on="cell_id", maintain_order="left")
        .join(
            ends,
            left_on=["source_id", *OWNER],
            right_on=["cell_id", *OWNER],
            suffix="_of_cause",
            maintain_order="left",
        )
        .filter(
            pl.col("day_of_cause") <= pl.col("day"),
            (pl.col("origin") != "untrusted") | (pl.col("origin_of_cause") != "untrusted"),
        )
        .with_columns(
            relation=pl.lit("causal"),
            weight=pl.lit(1.0),
            confidence=pl.lit(CONFIDENCE),
            valid_from="event_time",
            evidence=pl.col("evidence_of_cause").list.set_union("evidence").list.sort(),
        )
    )
    edges = rows.with_columns(stable_ids("edge", rows.select("relation", "source_id", "target_id")))
    return shaped(edges, EDGE).unique("edge_id", keep="first", maintain_order=True)


# Inside


def _of_topics(known: pl.DataFrame, new: pl.DataFrame) -> list[pl.DataFrame]:
    """Memories of other conversations for the rest of a page: later effects of its news, then causes of its effects."""
    of_topic = [*OWNER, "topic_id"]
    news = new.group_by(*of_topic, "key").agg(first=pl.col("day").min())
    effects = new.filter("may_be_effect").group_by(*of_topic, "key").agg(last=pl.col("day").max())
    others = known.rename({"key": "home"}).drop_nulls("topic_id")
    later = (
        others.filter("may_be_effect", ~pl.col("is_new"))
        .join(news, on=of_topic)
        .filter(pl.col("day") > pl.col("first"))
    )
    earlier = others.join(effects, on=of_topic).filter(pl.col("day") <= pl.col("last"))
    return [
        part.filter(pl.col("key") != pl.col("home"))
        .with_columns(is_effect=pl.lit(is_effect), rank=pl.lit(rank))
        .select(*known.columns, "is_effect", "rank")
        for part, is_effect, rank in ((later, True, 1), (earlier, False, 2))
    ]


def _request(page: pl.DataFrame) -> Request:
    rows = cell_rows(page)
    effects = [number for number, is_effect in enumerate(page["is_effect"], start=1) if is_effect]
    numbers = {"page_numbers": numbers_of(rows), "effect_numbers": set(effects)}
    return Request(render("infer_cause", cells=rows, effects=effects), CausesAnswer, numbers)


def _pairs(answer: CausesAnswer, ids: pl.Series) -> list[tuple[str | None, str | None, str | None]]:
    """Cause, effect and how the one led to the other."""
    return [(ids[one.cause - 1], ids[one.effect - 1], one.why) for one in answer.causes]


def _line(cells: pl.DataFrame) -> pl.Expr:
    """The contents of cause and effect."""
    contents = dict(cells.select("cell_id", "content").iter_rows())
    return pl.format(
        "{} -> {}", *(pl.col(end).replace_strict(contents) for end in ("source_id", "target_id"))
    )
