"""Raw passages: where there is no model, a memory is the talk of several minutes. An edit of one point leaves the rest.

The statements that an edit means go with the passage; what else was said there becomes a raw memory of its own, by an
event like any other. What stands of a message is what living passages hold of it
(`slowwave/recall/standing_turns.py`).
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

import polars as pl

from slowwave.edits.consequences import protection
from slowwave.home.workspace import Workspace
from slowwave.journal.catalogue import EventRows
from slowwave.journal.new_cells import cells_of
from slowwave.language.units import Spoken, Unit, joined_units, says_something, statements_on, units_of
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.results import Done
from slowwave.schemas.tables import OWNER, RAW_PROMPT
from slowwave.store import Row, Store, col, lit, same_owner
from slowwave.trust.origins import as_told, is_passage, least_trusted

KEPT = [
    *("session_id", *OWNER, "source_type", "source_id", "source_name", "chunk_id", "cell_type", "salience"),
    *("confidence", "valid_from", "event_time", "prompt_version", "model", "decay_rate"),
]
"""Columns that what is left of a passage has from it."""


UNCHANGED = "nothing was changed: this only looks"


@dataclass(frozen=True)
class Statement:
    """A sentence or line of a passage, and the turn that says it."""

    turn: Row
    unit: Unit

    @property
    def text(self) -> str:
        """The words."""
        return self.unit.of(str(self.turn["content"]))


@dataclass(frozen=True)
class Parted:
    """Memories that an edit means, what of them goes, and what is left (all rows of `cells`).

    `gone` has the text and the turns of what goes alone. `left_out` are further statements of a passage that go with
    it, where no word told which was meant.
    """

    passages: pl.DataFrame
    gone: pl.DataFrame
    rest: pl.DataFrame
    left_out: list[str]

    def preview(self, content: str) -> Done:
        """The result of the edit with this text, had it been made."""
        ids = self.passages["cell_id"].to_list()
        left = {"left_out": self.left_out, "notes": [UNCHANGED]}
        return Done(cell_id=ids[0], content=content, replaced=ids[1:], **left)

    def notes(self) -> list[str]:
        """A sentence on what became of all else that was said there."""
        if self.rest.height:
            return [f"what else was said there stays: memory {', '.join(self.rest['cell_id'])}"]
        if self.left_out:
            told = f"it was {len(self.left_out)} statements of one conversation, which are no longer told"
            return [f"{told}: `slowwave remember TEXT` keeps what should stay"]
        return []


def statements_of(store: Store, row: Row) -> list[Statement]:
    """The statements of a passage in their order."""
    turns = store.by_key("turns", row["evidence"] or []).sort("session_id", "turn_index", "event_time")
    return [
        statement
        for turn in turns.iter_rows(named=True)
        for unit in units_of(turn["content"])
        if (statement := Statement(turn, unit)).text in row["content"]
    ]


def meant_by(store: Store, row: Row, text: str) -> set[str]:
    """The statements of raw talk (a row of `cells`) that tell what a text is about; none where no word says which.

    None either of a memory that is no raw talk: it is one statement.
    """
    if not is_passage(row):
        return set()
    told = statements_of(store, row)
    begins = [place == 0 or told[place - 1].turn is not one.turn for place, one in enumerate(told)]
    said = [
        Spoken(one.text, is_apart=is_first and one.turn["role"] != "assistant")
        for one, is_first in zip(told, begins, strict=True)
    ]
    places = statements_on(said, text, partial(store.rarities, "passages"))
    return {told[place].text for place in places}


def part(work: Workspace, cells: pl.DataFrame, meant: Collection[str]) -> Parted:
    """Part memories (rows of `cells`) by the statements of raw talk that are meant; without any they go whole.

    Other passages of their conversations that hold one of the statements are parted with them.
    """
    first = cells.row(0, named=True)
    if not meant:
        every = [one.text for one in statements_of(work.store, first)] if is_passage(first) else []
        telling = [text for text in every if says_something(text)]
        return Parted(cells, cells, cells.clear(), telling if len(telling) > 1 else [])
    passages = pl.concat([cells, _beside(work.store, cells, meant)])
    gone, rest = list[dict[str, object]](), [cells.clear()]
    for row in passages.iter_rows(named=True):
        told = statements_of(work.store, row)
        going = [one for one in told if one.text in meant]
        staying = [one for one in told if one.text not in meant]
        gone.append({**row, "content": _told(going), "evidence": _turn_ids(going)})
        if any(says_something(one.text) for one in staying):
            rest.append(_rest(work, row, staying))
    left = pl.concat(rest).unique("cell_id", keep="first", maintain_order=True)
    return Parted(passages, pl.DataFrame(gone, schema=passages.schema), left, [])


def stays(parted: Parted, *, note: str) -> EventRows:
    """Events by which what is left of passages is a memory, protected like the passage that a person confirmed."""
    is_sure = parted.passages["protected"].any() and parted.rest.height > 0
    sure = protection(parted.rest["cell_id"] if is_sure else [], note)
    return {"cell.extracted": parted.rest, "cell.protected": sure}


# Inside


def _beside(store: Store, cells: pl.DataFrame, meant: Collection[str]) -> pl.DataFrame:
    """Other living passages of the same conversations that hold one of the statements: windows overlap."""
    of_sessions = col("session_id").isin(cells["session_id"].unique().to_list())
    is_raw = col("prompt_version") == lit(RAW_PROMPT)
    lives = col("status").isin(["active", "archived"])
    found = store.rows("cells", where=same_owner(cells.head(1)) & of_sessions & is_raw & lives)
    others = found.filter(
        (pl.col("cell_type") != EPISODE) & ~pl.col("cell_id").is_in(cells["cell_id"].implode())
    )
    holds = [
        any(one.text in meant for one in statements_of(store, row)) for row in others.iter_rows(named=True)
    ]
    return others.filter(pl.Series(holds, dtype=pl.Boolean)).select(cells.columns).sort("cell_id")


def _rest(work: Workspace, row: Row, staying: list[Statement]) -> pl.DataFrame:
    """The row of `cells` for what stays of a passage: said then, and made without a model like the passage."""
    turns = pl.DataFrame([one.turn for one in staying]).unique("turn_id", maintain_order=True)
    made = pl.DataFrame([row], infer_schema_length=None).select(KEPT)
    origin = as_told(turns).select(least_trusted(pl.col("origin"))).item()
    nothing = dict.fromkeys(["entities", "artifacts", "steps"], pl.lit([], dtype=pl.List(pl.String)))
    told = made.with_columns(
        content=pl.lit(_told(staying)),
        evidence=pl.lit(_turn_ids(staying), dtype=pl.List(pl.String)),
        origin=pl.lit(origin),
        **nothing,
    )
    return cells_of(told, now=work.clock())


def _told(statements: list[Statement]) -> str:
    """Statements as a passage has them: a line a turn, under the name of who speaks."""
    lines = list[str]()
    for turn_id in _turn_ids(statements):
        mine = [one for one in statements if one.turn["turn_id"] == turn_id]
        turn, text = mine[0].turn, joined_units(str(mine[0].turn["content"]), [one.unit for one in mine])
        lines.append(text if turn["role"] == "document" else f"{turn['speaker'] or turn['role']}: {text}")
    return "\n".join(lines)


def _turn_ids(statements: list[Statement]) -> list[str]:
    return list(dict.fromkeys(str(one.turn["turn_id"]) for one in statements))
