"""The one look-up of an id that a person may have cut short."""

import re
from collections.abc import Callable, Iterable, Sequence

from slowwave.errors import InputError, NotFoundError
from slowwave.schemas.identity import ID_LENGTH
from slowwave.schemas.tables import KEYS
from slowwave.settings.groups import ScopeSettings
from slowwave.store import Store, col, lit, owned_by

SHORTEST_PREFIX = 6
"""Characters of an id that may stand for all of it."""

SHOWN_IDS = 3

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
) -> list[str]:
    """The whole ids, each once, in the order given, among the rows of these tables that the owner may see.

    `elsewhere` returns ids outside the tables that begin with a text; it is asked only where the tables know none.

    Raises:
        InputError: a text is no id, or stands for several.
        NotFoundError: none begins so, or the text is too short for that.
    """
    names = list(dict.fromkeys(name.strip() for name in wanted))
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
        whole.append(_only(name, sorted(near), noun=noun, hint=hint))
    return list(dict.fromkeys(whole))


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
