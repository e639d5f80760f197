"""The one look-up of an id that a person may have cut short."""

import re
from collections.abc import Callable, Iterable, Sequence

import polars as pl

from slowwave.errors import InputError, NotFoundError
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.identity import ID_LENGTH
from slowwave.schemas.tables import KEYS
from slowwave.settings.groups import ScopeSettings
from slowwave.store import Expr, Store, col, lit, owned_by

SHORTEST_PREFIX = 6
"""Characters of an id that may stand for all of it."""

SHOWN_IDS = 3

ID_MARK, TURN_MARK = "mem:", "msg:"
"""What stands before the id of a memory, and of a message (a turn), in text for agents, who may give it with the id."""

_ID = re.compile(r"[0-9A-Za-z_-]+")
_ABOVE_ALL = "\U0010ffff"
"""A character that sorts behind every other."""


def whole_ids(
    store: Store,
    wanted: Iterable[str],
    *,
    owner: ScopeSettings,
    tables: Sequence[str] = ("cells",),
    noun: str = "memory",
    hint: str = "`slowwave search` shows the ids",
    elsewhere: Callable[[str], Iterable[str]] = lambda _: (),
    has_turns: bool = False,
) -> list[str]:
    """The whole ids, each once, in the order given, among the rows of these tables that the owner may see.

    `elsewhere` returns ids outside the tables that begin with a text; it is asked only where the tables know none. With
    `has_turns` the id of a turn stands for the memories that rest on it.

    Raises:
        InputError: a text is no id, stands for several, or is a turn's that stands for no memory here.
        NotFoundError: none begins so, or the text is too short for that.
    """
    names = list(dict.fromkeys(_unmarked(name.strip()) for name in wanted))
    for name in names:
        if not _ID.fullmatch(name) or len(name) > 2 * ID_LENGTH:
            raise InputError(f"{name[:60]!r} is no {noun}'s id: {hint}")
    mine = owned_by(owner)
    keys = [(table, KEYS[table]) for table in tables]
    exact = {
        found for table, key in keys for found in store.rows(table, [key], mine & col(key).isin(names))[key]
    }
    whole: list[str] = []
    for name in names:
        near: set[str] = {name} & exact
        if not near and len(name) >= SHORTEST_PREFIX:
            for table, key in keys:
                begins = (col(key) >= lit(name)) & (col(key) < lit(name + _ABOVE_ALL))
                near |= {*store.rows(table, [key], mine & begins)[key]}
        if not near:
            others = {*elsewhere(name)}
            near = {name} & others or {other for other in others if len(name) >= SHORTEST_PREFIX}
        if not near and "cells" in tables and len(name) >= SHORTEST_PREFIX:
            made = _made_from(store, mine, name)
            if made is not None:
                if not (has_turns and made):
                    raise InputError(_of_turn(name, made))
                whole += made
                continue
        whole.append(_only(name, sorted(near), noun=noun, hint=hint))
    return list(dict.fromkeys(whole))


def _unmarked(name: str) -> str:
    return name.removeprefix(ID_MARK).removeprefix(TURN_MARK)


def _made_from(store: Store, mine: Expr, name: str) -> list[str] | None:
    """The memories, but episodes, that rest on the one turn whose id begins so; None where there is no such turn."""
    begins = (col("turn_id") >= lit(name)) & (col("turn_id") < lit(name + _ABOVE_ALL))
    turns = store.rows("turns", ["turn_id"], mine & begins)["turn_id"]
    if len(turns) != 1:
        return None
    cells = store.rows("cells", ["cell_id", "evidence"], mine & (col("cell_type") != lit(EPISODE)))
    return cells.filter(pl.col("evidence").list.contains(turns[0]))["cell_id"].sort().to_list()


def _of_turn(name: str, made: Sequence[str]) -> str:
    shown = ", ".join(made[:SHOWN_IDS]) + (", ..." if len(made) > SHOWN_IDS else "")
    told = f"name the memory that rests on it ({shown})" if made else "no memory rests on it yet"
    return f"{name} is a message and no memory: {told}, or remember what is right"


def _only(name: str, found: Sequence[str], *, noun: str, hint: str) -> str:
    if len(found) > 1:
        shown = ", ".join(found[:SHOWN_IDS]) + (", ..." if len(found) > SHOWN_IDS else "")
        plural = "memories" if noun == "memory" else f"{noun}s"
        raise InputError(f"{name} stands for {len(found)} {plural} ({shown}): write more of the id")
    if not found:
        short = (
            f"; an id is cut to {SHORTEST_PREFIX} characters at least" if len(name) < SHORTEST_PREFIX else ""
        )
        raise NotFoundError(f"there is no {noun} {name[:60]}{short}: {hint}")
    return found[0]
