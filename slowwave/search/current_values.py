"""Current values: of several, the one with the latest `valid_from`, then `recorded_at`. Computed, never asked."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from slowwave.chains.walker import ends
from slowwave.language.lexicon import PRESENT_WORDS
from slowwave.language.query_words import plain_words
from slowwave.schemas.search import CellHit
from slowwave.store import Row, RowsQuery, col, lit

ATTRIBUTE = ("subject", "attribute")
"""The pair that names a single-valued property."""


def side_by_side(cell_ids: list[str]) -> RowsQuery:
    """Contradictions of which both sides stand: open ones, and those that a person resolved as both valid."""
    stands = (col("status") == lit("open")) | (col("resolution") == lit("both_valid"))
    touches = col("cell_a").isin(cell_ids) | col("cell_b").isin(cell_ids)
    return RowsQuery("contradictions", ("cell_a", "cell_b", "status"), touches & stands)


def doubted_and_both_valid(rows: Iterable[Row]) -> tuple[set[str], set[frozenset[str]]]:
    """Memories in an open contradiction, and pairs of which both hold, from rows of `side_by_side`."""
    doubted, both_valid = set[str](), set[frozenset[str]]()
    for row in rows:
        pair = frozenset((row["cell_a"], row["cell_b"]))
        if row["status"] == "open":
            doubted |= pair
        else:
            both_valid.add(pair)
    return doubted, both_valid


def outdated_values(
    cells: Sequence[Row], *, doubted: Collection[str], both_valid: Collection[frozenset[str]] = ()
) -> dict[str, str]:
    """Ids of live cells that another live cell outdates, each with the id of the cell whose value holds.

    Cells with the same subject and attribute (case and blanks aside) and different values compete, except those in
    `doubted` (in an open contradiction: no date decides that) and pairs in `both_valid`. Only a value that a person
    confirmed later outdates one that a person confirmed; until the night, a later value stands beside it.
    """
    claims: dict[tuple[str, str], list[Row]] = {}
    for cell in cells:
        is_live = cell["status"] == "active" and cell["cell_id"] not in doubted
        if is_live and None not in (cell["subject"], cell["attribute"], cell["value"]):
            claims.setdefault((_plain(cell["subject"]), _plain(cell["attribute"])), []).append(cell)
    outdated = {}
    for rivals in claims.values():
        last = max(rivals, key=_holding)
        held = _plain(last["value"])
        outdated.update(
            {
                rival["cell_id"]: last["cell_id"]
                for rival in rivals
                if _plain(rival["value"]) != held
                and (last["protected"] or not rival["protected"])
                and not (both_valid and frozenset((rival["cell_id"], last["cell_id"])) in both_valid)
            }
        )
    return outdated


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


def asked_first(hits: Sequence[CellHit], words: Collection[str]) -> list[CellHit]:
    """The hits in their order, but first those whose property is all that a question names.

    A question for the "staging port" wants its value before anything else that was said of it.
    """
    asked = set(words) - PRESENT_WORDS

    def is_asked(hit: CellHit) -> bool:
        if hit.subject is None or hit.attribute is None or hit.value is None:
            return False
        attribute = plain_words(hit.attribute)
        return attribute <= asked <= attribute | plain_words(hit.subject)

    return sorted(hits, key=lambda hit: not is_asked(hit))


def _holding(cell: Row) -> tuple[Any, ...]:
    """The order of values in time; the last one holds."""
    return cell["valid_from"], cell["recorded_at"], cell["cell_id"]


@lru_cache(maxsize=50_000)  # subjects and attributes are few, and asked about again and again
def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.lower()).strip(" .")
