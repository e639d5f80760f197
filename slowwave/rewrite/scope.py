"""Scope of an erase: turns that a person names, the memories made from them, and whatever quotes either."""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from slowwave.edits.consequences import contraction
from slowwave.edits.session import refuse_foreign
from slowwave.errors import InputError, NotFoundError
from slowwave.home.ids import whole_ids
from slowwave.home.workspace import Workspace
from slowwave.journal.catalogue import encode_plan
from slowwave.journal.lookup import of_kind
from slowwave.journal.segments import Journal
from slowwave.lifecycle.walker import walk
from slowwave.rewrite.byte_scan import files_with
from slowwave.rewrite.erase_plan import WHY, ErasePlan
from slowwave.rewrite.transform import Payload, own_family, spellings, texts_of
from slowwave.schemas.requests import EraseRequest
from slowwave.schemas.tables import KEYS, OWNER, TABLES, frame_schema
from slowwave.schemas.text_columns import LABELS, ORIGINS, is_reference, text_columns
from slowwave.store import Expr, Store, as_filter, col, lit, owned_by

ERASE_SHORTEST = 4
"""Characters of the shortest text that is erased: a shorter one is in too many words that nobody means."""

PROOF_SHORTEST = 12
"""Characters from which an erased turn or memory is searched for afterwards: short texts occur anywhere."""


SAYING = {"turn.recorded": "turn_id", "cell.extracted": "cell_id"}
"""Kinds of events by which a turn or a memory says a text, with the column of its id."""


@dataclass(frozen=True)
class Quoting:
    """Payloads of events that quote a text, its spellings there, and ids of the turns and memories that say it."""

    payloads: list[Payload]
    spelled: set[str]
    ids: set[str]


@dataclass(frozen=True)
class ErasureScope:
    """Rows of `turns` and `cells` that go, the number of events that quote a named text, and the plan of it all."""

    turns: pl.DataFrame
    cells: pl.DataFrame
    quoted_count: int
    plan: ErasePlan


def erasure_scope(work: Workspace, target: EraseRequest) -> ErasureScope:
    """Everything that rests on what the target names.

    Raises:
        InputError: not exactly one thing is named, the text is too short, or the memory is not this owner's.
        NotFoundError: nothing of this owner is that.
    """
    named = [name for name in ("cell_id", "turn_id", "session_id", "text") if getattr(target, name)]
    if len(named) != 1:
        raise InputError("name one thing to erase: a memory, a turn, a session or a text")
    store, events = work.store, work.home.journal.scan().events
    extracted, written = (_made(work, events, kind) for kind in ("cell.extracted", "episode.written"))
    extracted = extracted.unique("cell_id", keep="last", maintain_order=True)
    quoting = _quoting(events, target.text or "")
    turns, seeds = _named(work, target, extracted, written, quoting)
    if turns.is_empty() and seeds.is_empty() and not _is_mine(work, quoting.payloads, extracted):
        raise NotFoundError(f"nothing of yours is that {named[0].removesuffix('_id')}: nothing was erased")
    derived = _resting_on(extracted, turns["turn_id"])
    cells = pl.concat([seeds, derived]).unique("cell_id", maintain_order=True)
    for going, key in ((turns, "turn_id"), (cells, "cell_id")):
        for row in going.select(*OWNER, cell_id=key).iter_rows(named=True):
            refuse_foreign(work.home, row)
    gone = cells["cell_id"].to_list()
    # an episode also tells of what replaced a memory of its conversation
    replaced = store.having("cells", "superseded_by", gone, ["session_id"])["session_id"]
    sessions = pl.concat([turns["session_id"], cells["session_id"], replaced]).unique()
    episodes = written.filter(pl.col("session_id").is_in(sessions.implode()))
    entity_ids, families, names = _entities(store, events, turns["turn_id"], cells["cell_id"])
    rows = (("turns", turns), ("cells", cells), ("cells", episodes))
    # a label that is also elsewhere proves nothing
    told = quoting.spelled if target.text else _texts(rows, without=ORIGINS | LABELS)
    texts = sorted(names.union(told))
    searched = [text for text in texts if target.text or len(text) >= PROOF_SHORTEST]
    episode_ids = episodes["cell_id"].unique().sort().to_list()
    plan = ErasePlan(
        turns=turns.select("turn_id", "source_id", "content_hash", *OWNER).to_dicts(),
        cells=cells.select("cell_id", "content_hash", *OWNER).to_dicts(),
        texts=searched,
        short_count=len(texts) - len(searched),
        torn=_torn(work.home.journal, searched),
        is_text=target.text is not None,
        episode_ids=episode_ids,
        entity_ids=entity_ids,
        families=families,
        **_touched(store, turns, derived, gone),
    )
    return ErasureScope(turns, cells, len(quoting.payloads), plan)


def _touched(store: Store, turns: pl.DataFrame, derived: pl.DataFrame, gone: list[str]) -> dict[str, Any]:
    """Fields of the plan on what loses a part: chunks, topics and chains of values."""
    chunk_ids, touched_chunks = _chunks(store, turns)
    lone, touched_topics = _topics(store, gone)
    bridges, links = contraction(store, gone, why=WHY)
    del links["pair.judged"]  # the chain is as if what goes had never been said: nobody judged
    has_more = pl.col("evidence").list.set_difference(turns["turn_id"].to_list()).list.len() > 0
    waiting = derived.filter(has_more & pl.col("chunk_id").is_in(touched_chunks))["chunk_id"].unique().sort()
    back = store.by_key("cells", bridges.stranded, ["cell_id", "topic_id"])["topic_id"].drop_nulls()
    return {
        "chunk_ids": chunk_ids,
        "lone_topic_ids": lone,
        "topic_ids": sorted({*touched_topics, *back}),
        "cut_ids": sorted({*bridges.successors, *touched_chunks}),
        "waiting_chunk_ids": waiting.to_list(),
        "stranded": bridges.stranded,
        "links": encode_plan(links).rows(),
    }


def _torn(journal: Journal, texts: Sequence[str]) -> list[str]:
    """Files in the journal that are no whole segments, and hold one of the texts."""
    return [
        str(problem.path)
        for problem in journal.scan().problems
        if problem.path.name in files_with(problem.path.parent, texts)
    ]


def _made(work: Workspace, events: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Rows of `cells` from this owner's events of one kind, oldest first."""
    rows = of_kind(events, kind)
    names = [name for name in frame_schema("cells").names() if name in rows.columns]
    mine = as_filter(owned_by(work.home.settings.owner))
    return rows.filter(mine).select(names)


def _named(
    work: Workspace, target: EraseRequest, extracted: pl.DataFrame, written: pl.DataFrame, quoting: Quoting
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The turns and the memories that the target names itself."""
    store, owner = work.store, work.home.settings.owner
    mine = owned_by(owner)
    if target.cell_id:
        made = pl.concat([extracted["cell_id"], written["cell_id"].unique()])
        (whole,) = whole_ids(
            store,
            [target.cell_id],
            owner=owner,
            tables=(),
            elsewhere=lambda begins: made.filter(made.str.starts_with(begins)),
        )
        if whole in written["cell_id"]:
            raise InputError(
                f"memory {whole} tells a whole conversation: erase what it tells of, or the conversation with "
                f"--session {written.filter(cell_id=whole)['session_id'][-1]}"
            )
        cells = extracted.filter(cell_id=whole)
        known = store.by_key("cells", [whole], ["cell_id", "evidence"])["evidence"]
        evidence = pl.concat([cells["evidence"], known]).explode().drop_nulls().unique()
        return _turns(store, mine & col("turn_id").isin(evidence.to_list())), cells
    if target.turn_id:
        hint = "`slowwave explain ID` shows those of a memory"
        (whole,) = whole_ids(store, [target.turn_id], owner=owner, tables=["turns"], noun="turn", hint=hint)
        return _turns(store, col("turn_id") == lit(whole)), extracted.clear()
    if target.session_id:
        of_session = mine & (col("session_id") == lit(target.session_id))
        return _turns(store, of_session), extracted.filter(session_id=target.session_id)
    text = str(target.text).strip()
    if len(text) < ERASE_SHORTEST:
        raise InputError(
            f"{text!r} is too short to be erased as a text: at least {ERASE_SHORTEST} characters"
        )
    said = list(quoting.ids)
    return _turns(store, mine & col("turn_id").isin(said)), extracted.filter(pl.col("cell_id").is_in(said))


def _quoting(events: pl.DataFrame, text: str) -> Quoting:
    """Find the events of the journal that quote a text, in any case and with any white space.

    Where a turn or memory comes from is not said by it.
    """
    found = Quoting([], {text.strip()}, set())
    pattern = re.compile(_pattern_of(text))
    for kind, raw in events.select("kind", "payload").iter_rows() if text.strip() else ():
        payload = json.loads(raw)
        spelled = {
            name: {match[0] for one in texts for match in pattern.finditer(one)}
            for name, texts in texts_of(kind, payload).items()
        }
        if any(spelled.values()):
            found.payloads.append(payload)
            found.spelled.update(*spelled.values())
        if kind in SAYING and any(spelled[name] for name in spelled.keys() - ORIGINS):
            found.ids.add(payload[SAYING[kind]])
    return found


def _is_mine(work: Workspace, quoting: Sequence[Payload], extracted: pl.DataFrame) -> bool:
    """Return whether one of these payloads is about a row of this owner."""
    ids = {value for payload in quoting for name, value in payload.items() if is_reference(name) and value}
    if not ids:
        return False
    mine = owned_by(work.home.settings.owner)
    owned = [table for table in TABLES if set(OWNER) <= set(frame_schema(table))]
    known = {name for table in owned for name in work.store.rows(table, [KEYS[table]], mine)[KEYS[table]]}
    return not known.union(extracted["cell_id"]).isdisjoint(ids)


def _pattern_of(text: str) -> str:
    """A pattern of a text in any case, with any white space, however its accents are spelled."""
    return "(?i)" + "|".join(
        r"\s+".join(map(re.escape, spelled.split())) for spelled in sorted(spellings(text))
    )


def _turns(store: Store, where: Expr) -> pl.DataFrame:
    return store.rows("turns", where=where).sort("turn_id")


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


def _entities(
    store: Store, events: pl.DataFrame, turn_ids: pl.Series, cell_ids: pl.Series
) -> tuple[list[str], list[str], set[str]]:
    """Entities that what goes names, with those that became one with them; their families; names said nowhere else."""
    named = store.having("mentions", "cell_id", cell_ids, ["entity_id", "family"])
    ids = _with_former(events, set(named["entity_id"]))
    known = store.by_key("entities", ids, ["entity_id", "canonical_name", "aliases"])
    names = {*known["canonical_name"], *known["aliases"].explode().drop_nulls()}
    if names:
        left = {
            table: store.rows(table).filter(~pl.col(KEYS[table]).is_in(gone.implode()))
            for table, gone in (("turns", turn_ids), ("cells", cell_ids))
        }
        said = _texts(left.items())
        names = {name for name in names if not said.str.contains(name, literal=True).any()}
    called = store.having("mentions", "entity_id", sorted(ids), ["name"])["name"].unique()
    return sorted(ids), sorted({*named["family"], *map(own_family, called)}), names


def _with_former(events: pl.DataFrame, ids: set[str]) -> set[str]:
    """These entities and all that were merged into them, whose names stand in the journal still."""
    into = of_kind(events, "entity.merged").select("entity_id", "merged_into")
    former = walk(ids, lambda found: into.filter(pl.col("merged_into").is_in(found))["entity_id"])
    return ids.union(*former)


def _texts(tables: Iterable[tuple[str, pl.DataFrame]], *, without: Collection[str] = ()) -> pl.Series:
    """The texts of rows of tables, but for some columns, each once."""
    columns = [
        (rows[name].explode() if rows.schema[name] == pl.List(pl.String) else rows[name]).alias("text")
        for table, rows in tables
        for name in text_columns(table)
        if name in rows.columns and name not in without
    ]
    texts = pl.concat(columns).drop_nulls().unique()
    return texts.filter(texts.str.strip_chars() != "")
