"""What an erase takes: from what a person names to the turns, the memories made from them, and what speaks of these."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from slowwave.errors import InputError, NotFoundError
from slowwave.schemas.events import decode
from slowwave.schemas.tables import OWN, frame_schema
from slowwave.store import Expr, Store, col, lit, owned_by
from slowwave.transforms.erasing import pattern_of
from slowwave.usage import SHORTEST_PREFIX
from slowwave.words.desk import Desk, refuse_foreign

CELL_TEXTS = (
    "content",
    "summary",
    "compressed",
    "index_label",
    "subject",
    "attribute",
    "value",
    "topic_hint",
)


@dataclass(frozen=True)
class Target:
    """What a person names: exactly one of these."""

    cell_id: str | None = None
    turn_id: str | None = None
    session_id: str | None = None
    text: str | None = None


@dataclass(frozen=True)
class WhatGoes:
    """Rows of `turns` and `cells` that go, and the ids of what is touched by it.

    `cells` may hold memories that left the store: they stand in the journal. `lone_topic_ids` held nothing else, and
    `lone_entity_ids` are named by nothing else.
    `waiting_chunk_ids` gave memories that rest on more than what goes: they go through the extractor again.
    """

    turns: pl.DataFrame
    cells: pl.DataFrame
    chunk_ids: list[str]
    lone_topic_ids: list[str]
    topic_ids: list[str]
    cut_ids: list[str]
    waiting_chunk_ids: list[str]
    lone_entity_ids: list[str]
    texts: list[str]


def what_goes(work: Desk, target: Target) -> WhatGoes:
    """Everything that rests on what the target names.

    Raises:
        InputError: not exactly one thing is named, the text is too short, or the memory is not this owner's.
        NotFoundError: nothing of this owner is that.
    """
    named = [name for name in ("cell_id", "turn_id", "session_id", "text") if getattr(target, name)]
    if len(named) != 1:
        raise InputError("name one thing to erase: a memory, a turn, a session or a text")
    extracted = _extracted(work)
    turns, seeds = _named(work, target, extracted)
    if turns.is_empty() and seeds.is_empty():
        raise NotFoundError(f"nothing of yours is that {named[0].removesuffix('_id')}: nothing was erased")
    derived = _resting_on(extracted, turns["turn_id"])
    cells = pl.concat([seeds, derived]).unique("cell_id", maintain_order=True)
    for row in [*turns.select(*OWN, cell_id="turn_id").to_dicts(), *cells.select(*OWN, "cell_id").to_dicts()]:
        refuse_foreign(work.home, row)
    chunk_ids, touched_chunks = _chunks(work.store, turns)
    lone, touched_topics = _topics(work.store, cells["cell_id"].to_list())
    entity_ids, names = _entities(work.store, turns["turn_id"], cells["cell_id"])
    texts = sorted({*_texts(work, target, turns, cells), *names})
    cut = [*_heirs(work.store, cells["cell_id"].to_list()), *touched_chunks]
    left = pl.col("evidence").list.set_difference(turns["turn_id"].to_list()).list.len() > 0
    waiting = derived.filter(left & pl.col("chunk_id").is_in(touched_chunks))["chunk_id"].unique().sort()
    return WhatGoes(
        turns, cells, chunk_ids, lone, touched_topics, sorted(cut), waiting.to_list(), entity_ids, texts
    )


def _extracted(work: Desk) -> pl.DataFrame:
    """Every memory that was ever made, of this owner: as it was extracted, the rows of the store before it."""
    scan = work.home.journal.scan().events.filter(pl.col("kind") == "cell.extracted").with_row_index("order")
    rows = decode("cell.extracted", scan.cast({"order": pl.Int64}))
    names = [name for name in frame_schema("cells").names() if name != "recorded_at"]
    own = work.home.settings.own
    mine = (pl.col("scope") == "system") | (
        (pl.col("project_id") == own.project_id)
        & ((pl.col("scope") == "project-shared") | (pl.col("user_id") == own.user_id))
    )
    return rows.filter(mine).select(names).unique("cell_id", keep="last", maintain_order=True)


def _named(work: Desk, target: Target, extracted: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The turns and the memories that the target names itself."""
    own, store = work.home.settings.own, work.store
    mine = owned_by(own.user_id, own.project_id)
    if target.cell_id:
        cells = extracted.filter(pl.col("cell_id") == _whole(target.cell_id, extracted["cell_id"]))
        known = store.by_key("cells", cells["cell_id"], ["cell_id", "evidence"])["evidence"]
        evidence = pl.concat([cells["evidence"], known]).explode().drop_nulls().unique()
        return _turns(store, mine & col("turn_id").isin(evidence.to_list())), cells
    if target.turn_id:
        ids = store.rows("turns", ["turn_id"], mine)["turn_id"]
        return _turns(store, mine & (col("turn_id") == lit(_whole(target.turn_id, ids)))), extracted.clear()
    if target.session_id:
        wanted = pl.col("session_id") == target.session_id
        return _turns(store, mine & (col("session_id") == lit(target.session_id))), extracted.filter(wanted)
    text = str(target.text).strip()
    least = work.home.settings.words.erase_shortest
    if len(text) < least:
        raise InputError(f"{text!r} is too short to be erased by its words: at least {least} characters")
    said = pl.col("content")
    turns = _turns(store, mine).filter(_holds(said, text))
    columns = [_holds(pl.col(name), text) for name in CELL_TEXTS]
    listed = [_holds(pl.col(name).list.join("\n"), text) for name in ("entities", "artifacts")]
    return turns, extracted.filter(pl.any_horizontal(*columns, *listed))


def _holds(column: pl.Expr, text: str) -> pl.Expr:
    """Whether a column says a text, in any case and with any white space."""
    flat = column.str.replace_all(r"\s+", " ")
    wanted = " ".join(text.split())
    return (
        flat.str.contains(wanted, literal=True)
        | flat.str.to_lowercase().str.contains(wanted.lower(), literal=True)
    ).fill_null(value=False)


def _turns(store: Store, where: Expr) -> pl.DataFrame:
    return store.rows("turns", where=where).sort("turn_id")


def _whole(name: str, ids: pl.Series) -> str:
    """The id that a cut one stands for."""
    wanted = name.strip()
    found = ids.filter(ids == wanted).unique()
    if found.is_empty() and len(wanted) >= SHORTEST_PREFIX:
        found = ids.filter(ids.str.starts_with(wanted)).unique()
    if len(found) > 1:
        raise InputError(f"{wanted} stands for {len(found)} ids: write more of it; nothing was erased")
    if found.is_empty():
        raise NotFoundError(f"there is nothing with the id {wanted[:60]}; nothing was erased")
    return str(found[0])


def _resting_on(extracted: pl.DataFrame, turn_ids: pl.Series) -> pl.DataFrame:
    """Memories that were made from one of these turns."""
    ids = extracted.select("cell_id", turn_id="evidence").explode("turn_id")
    hit = ids.filter(pl.col("turn_id").is_in(turn_ids.implode()))["cell_id"]
    return extracted.filter(pl.col("cell_id").is_in(hit.implode()))


def _chunks(store: Store, turns: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Chunks of which nothing is left, and those that held more."""
    chunks = store.having("chunks", "session_id", turns["session_id"], ["chunk_id", "turn_ids"])
    left = pl.col("turn_ids").list.set_difference(turns["turn_id"].to_list()).list.len()
    counted = chunks.with_columns(left=left, before=pl.col("turn_ids").list.unique().list.len())
    empty = counted.filter(pl.col("left") == 0)["chunk_id"]
    touched = counted.filter((pl.col("left") > 0) & (pl.col("left") < pl.col("before")))["chunk_id"]
    return empty.sort().to_list(), touched.sort().to_list()


def _topics(store: Store, cell_ids: Sequence[str]) -> tuple[list[str], list[str]]:
    """Topics of nothing else than what goes, and topics that hold more."""
    mine = store.by_key("cells", cell_ids, ["cell_id", "topic_id"])["topic_id"].drop_nulls().unique()
    members = store.having("cells", "topic_id", mine, ["cell_id", "topic_id"])
    others = members.filter(~pl.col("cell_id").is_in(list(cell_ids)))["topic_id"].unique()
    lone = mine.filter(~mine.is_in(others.implode()))
    joined = store.having("topics", "merged_into", lone, ["topic_id"])["topic_id"]
    return sorted({*lone, *joined}), others.sort().to_list()


def _entities(store: Store, turn_ids: pl.Series, cell_ids: pl.Series) -> tuple[list[str], list[str]]:
    """People and things that only what goes names, and those of their names that nothing else says."""
    named = store.having("mentions", "cell_id", cell_ids, ["entity_id"])["entity_id"].unique()
    everywhere = store.having("mentions", "entity_id", named, ["entity_id", "cell_id"])
    others = everywhere.filter(~pl.col("cell_id").is_in(cell_ids.implode()))["entity_id"]
    lone = named.filter(~named.is_in(others.implode()))
    known = store.by_key("entities", lone, ["entity_id", "canonical_name", "aliases"])
    names = {*known["canonical_name"], *known["aliases"].explode().drop_nulls()}
    if names:
        stays = [
            *store.rows("turns", ["turn_id", "content"]).filter(~pl.col("turn_id").is_in(turn_ids.implode()))[
                "content"
            ],
            *store.rows("cells", ["cell_id", "content"]).filter(~pl.col("cell_id").is_in(cell_ids.implode()))[
                "content"
            ],
        ]
        names = {name for name in names if not any(name in text for text in stays)}
    return sorted(lone), sorted(names)


def _heirs(store: Store, cell_ids: Sequence[str]) -> list[str]:
    """Memories that took the place of these, through the whole chain: their timelines may tell of them."""
    found: set[str] = set()
    frontier = set(cell_ids)
    while frontier:
        rows = store.by_key("cells", frontier, ["cell_id", "superseded_by"])
        frontier = set(rows["superseded_by"].drop_nulls()) - found
        found |= frontier
    return sorted(found)


def _texts(work: Desk, target: Target, turns: pl.DataFrame, cells: pl.DataFrame) -> list[str]:
    """What is looked for afterwards: the named text as it stands in what goes, or the texts of all that goes."""
    contents = [*turns["content"], *cells["content"]]
    if target.text is None:
        return sorted({text for text in [*contents, *cells["compressed"].drop_nulls()] if text.strip()})
    pattern = pattern_of([target.text], is_exact=False)
    told = contents + [text for name in CELL_TEXTS[1:] for text in cells[name].drop_nulls()]
    spelled = {match[0] for text in told for match in (pattern.finditer(text) if pattern else ())}
    return sorted({target.text.strip(), *spelled})
