"""The question whether a turn may be quoted as what holds, asked in one place: what became of the memories of it?

The record keeps what was said, also where a person deleted or corrected the memory of it. A search for evidence shows
such turns; no context quotes them, since an agent would read them as the user's standing word. Of a message that only
raw passages tell, what living ones hold of it stands: an edit of one point takes no other along
(`slowwave/edits/passages.py`).
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from slowwave.language.units import units_within
from slowwave.recall.conditions import scope_condition
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import RAW_PROMPT, STATED
from slowwave.settings.groups import ScopeSettings
from slowwave.store import Row, RowsQuery, StoreReader, col, lit

_STATE = (
    "content",
    "cell_id",
    "status",
    "superseded_by",
    "valid_until",
    "cell_type",
    "prompt_version",
    "evidence",
)


def standing_turns(store: StoreReader, owner: ScopeSettings, turns: Sequence[Row]) -> list[Row]:
    """The turns (rows of `turns`) that may be quoted as what holds, in their order.

    Left out are those of which a memory was deleted, or ended because another took its place, and on which no other
    memory rests that holds. A turn that no memory rests on stays, and so does one whose memory faded. Where the
    memories that hold are raw passages, a turn has what they hold of it.
    """
    asked = {turn["turn_id"] for turn in turns}
    if not asked:
        return []
    scope = scope_condition(owner)
    dead, retired = store.find(
        [
            RowsQuery("tombstones", ("evidence",), scope),
            RowsQuery("cells", ("cell_id", "evidence"), scope & (col("status") == lit("superseded"))),
        ]
    )
    touching = [row for row in retired if not asked.isdisjoint(row["evidence"] or ())]
    doubted = asked & _evidence(dead) | asked & _evidence(touching)
    if not doubted:
        return list(turns)
    sessions = sorted({turn["session_id"] for turn in turns if turn["turn_id"] in doubted})
    beside = scope & col("session_id").isin(sessions) & col("status").isin(["active", "archived"])
    named = col("cell_id").isin([row["cell_id"] for row in touching])
    living, ended = store.find([RowsQuery("cells", _STATE, beside), RowsQuery("cells", _STATE, named)])
    living = [row for row in living if not _is_told_as_episode(row)]
    passages = [row for row in living if row["prompt_version"] == RAW_PROMPT]
    lasting = [row for row in living if row["prompt_version"] != RAW_PROMPT]
    lasting += [row for row in ended if _lives_on(store, row)]
    whole, in_part = _evidence(lasting), _evidence(passages)
    return [
        turn if turn["turn_id"] not in doubted or turn["turn_id"] in whole else _told_by(passages, turn)
        for turn in turns
        if turn["turn_id"] not in doubted - whole - in_part
    ]


# Inside


def _evidence(rows: Iterable[Row]) -> set[str]:
    return set(chain.from_iterable(row["evidence"] or () for row in rows))


def _told_by(passages: Sequence[Row], turn: Row) -> Row:
    """A turn with what living passages hold of it."""
    told = units_within(
        [row["content"] for row in passages if turn["turn_id"] in row["evidence"]], turn["content"]
    )
    return turn if not told or told == turn["content"].strip() else {**turn, "content": told}


def _lives_on(store: StoreReader, row: Row) -> bool:
    """Return whether a superseded memory is said by another one that holds, or made way for what a model read there."""
    passed = set[str]()
    while row["status"] == "superseded":
        passed.add(row["cell_id"])
        after = row["superseded_by"]
        if after is None:
            return bool(row["prompt_version"] == RAW_PROMPT)
        if row["valid_until"] is not None or after in passed:
            return False
        found = store.by_key("cells", [after], _STATE)
        if found.is_empty():
            return False
        row = found.row(0, named=True)
    return True


def _is_told_as_episode(row: Row) -> bool:
    """Return whether a memory tells of a whole conversation: it rests on each of its turns."""
    return row["cell_type"] == EPISODE and row["prompt_version"] not in STATED
