"""Current values: of several, the latest that may outdate the others, by `valid_from`, then `recorded_at`.

Computed, never asked.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from slowwave.lifecycle.walker import ends
from slowwave.schemas.moments import is_unknown, latest_of
from slowwave.trust.origins import may_outdate

Row = dict[str, Any]

Pair = frozenset[str]
"""The ids of two memories."""


class ComparedValues(NamedTuple):
    """Ids of cells that another one outdates, each with the id of the cell whose value holds, and undecided pairs.

    The later value of an undecided pair may not outdate the other, by whose word it is: both stand like an open
    contradiction, until a night or a person decides.
    """

    outdated: dict[str, str]
    undecided: frozenset[Pair]

    @property
    def doubted(self) -> set[str]:
        """Ids of the memories in undecided pairs."""
        return set().union(*self.undecided)


ATTRIBUTE = ("subject", "attribute")
"""The pair that names a single-valued property."""

VALUE_COLUMNS = (
    "cell_id", *ATTRIBUTE, "value", "status", "event_time", "valid_from", "recorded_at", "origin", "protected",
    "prompt_version",
)  # fmt: skip
"""Columns of `cells` by which values are compared."""


def compared_values(
    cells: Sequence[Row], *, doubted: Collection[str], both_valid: Collection[Pair] = ()
) -> ComparedValues:
    """Compare live cells by their values: which one another outdates, and of which pairs no date decides.

    Cells with the same subject and attribute (case and blanks aside) and different values compete, except those in
    `doubted` (in an open contradiction: no date decides that) and pairs in `both_valid`. The later value holds where it
    may outdate the other (`may_outdate`); where it may not, the other holds if it was said later, else they are
    undecided. A value that was told on an unknown day came before another one only where that one holds from after the
    last day that this can have been.
    """
    spelled = defaultdict[tuple[str, str], list[Row]](list)
    for cell in cells:
        named = (cell["subject"], cell["attribute"])
        if (
            cell["status"] == "active"
            and cell["cell_id"] not in doubted
            and None not in (*named, cell["value"])
        ):
            spelled[named].append(cell)
    claims = defaultdict[tuple[str, str], list[Row]](list)
    for (subject, attribute), found in spelled.items():
        claims[plain_text(subject), plain_text(attribute)] += found
    next_of, undecided = dict[str, str](), set[Pair]()
    for rivals in claims.values():
        if len(rivals) > 1:
            _compare(rivals, both_valid, next_of, undecided)
    return ComparedValues(ends(next_of), frozenset(pair for pair in undecided if not pair & next_of.keys()))


def _compare(
    rivals: list[Row], both_valid: Collection[Pair], next_of: dict[str, str], undecided: set[Pair]
) -> None:
    """Add what outdates what among the values of one property, and the pairs that wait for somebody to decide."""
    standing = list[tuple[str, Row]]()
    for cell in sorted(rivals, key=_holding, reverse=True):
        value = plain_text(cell["value"])
        others = [
            later
            for other, later in standing
            if other != value
            and not (both_valid and frozenset((cell["cell_id"], later["cell_id"])) in both_valid)
        ]
        outdating = next(
            (later for later in others if _came_before(cell, later) and may_outdate(later, cell)), None
        )
        if outdating is not None:
            next_of[cell["cell_id"]] = outdating["cell_id"]
            continue
        for later in others:
            if cell["event_time"] > latest_of(later["event_time"]):
                next_of.setdefault(later["cell_id"], cell["cell_id"])
            else:
                undecided.add(frozenset((cell["cell_id"], later["cell_id"])))
        standing.append((value, cell))


def former_values(
    cells: Sequence[Row], outdated: Mapping[str, str], *, of: Collection[str] | None = None
) -> dict[str, list[Row]]:
    """The former values of each cell, by its id, newest first; where given, of the cells of these ids alone.

    A cell precedes the one at the end of its chain, and the one that outdates it. A repetition that was merged has no
    end of validity and is no former value; a corrected value never held.
    """
    next_of = dict(outdated)
    for cell in cells:
        if cell["status"] == "superseded" and cell["valid_until"] is not None and cell["superseded_by"]:
            next_of[cell["cell_id"]] = cell["superseded_by"]
    last = {key: end for key, end in ends(next_of).items() if of is None or end in of}
    former: dict[str, list[Row]] = {}
    for cell in sorted((cell for cell in cells if cell["cell_id"] in last), key=_holding, reverse=True):
        is_corrected = cell["valid_until"] is not None and cell["valid_until"] <= cell["valid_from"]
        if not is_corrected:
            former.setdefault(last[cell["cell_id"]], []).append(cell)
    return former


def _came_before(cell: Row, other: Row) -> bool:
    """Return whether the first of two values in the order of `_holding` surely held before the other one."""
    since: datetime = cell["valid_from"]
    return not is_unknown(since) or latest_of(since) < other["valid_from"]


def _holding(cell: Row) -> tuple[Any, ...]:
    """The order of values in time; the last one holds."""
    return cell["valid_from"], cell["recorded_at"], cell["cell_id"]


@lru_cache(maxsize=50_000)  # subjects and attributes are few, and asked about again and again
def plain_text(text: str) -> str:
    """A subject, an attribute or a value as it is compared, without case and blanks."""
    return re.sub(r"\s+", " ", text.lower()).strip(" .")
