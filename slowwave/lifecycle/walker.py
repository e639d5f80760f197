"""The one walker of chains: who superseded whom, or lives on in whom, step by step.

A walk reads its links as it goes (`walk`) or has them all (`ends`, `following`, `connected`). A damaged chain may be
a circle: every walk ends there. Chains have a few links, so links are a mapping of ids, which a question of a few
milliseconds can afford.
"""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import polars as pl
import scipy


def walk(
    starts: Iterable[str], reach: Callable[[list[str]], Iterable[str]], *, most: int | None = None
) -> list[list[str]]:
    """The ids of each step away from `starts`, breadth first: every id once, by the shortest way, sorted in a step.

    `reach` returns what is one step away from ids; `most` bounds the number of steps.
    """
    newest = sorted(set(starts))
    seen = set(newest)
    found: list[list[str]] = []
    while newest and (most is None or len(found) < most):
        newest = sorted(set(reach(newest)) - seen)
        seen.update(newest)
        found.append(newest)
    return [step for step in found if step]


def following(next_of: Mapping[str, str], start: str) -> list[str]:
    """The ids that come after one, in order, itself not among them."""
    after = walk([start], lambda ids: [next_of[name] for name in ids if name in next_of])
    return [name for step in after for name in step]


def ends(next_of: Mapping[str, str]) -> dict[str, str]:
    """For every id that another comes after, the last one of its chain; the smallest id is the end of a circle."""
    found: dict[str, str] = {}
    for start, after in next_of.items():
        if after not in next_of:  # nearly all chains are one step long
            found[start] = after
            continue
        passed: dict[str, int] = {}
        here = start
        while here in next_of and here not in found and here not in passed:
            passed[here] = len(passed)
            here = next_of[here]
        end = min(list(passed)[passed[here] :]) if here in passed else found.get(here, here)
        found.update(dict.fromkeys(passed, end))
    return {name: end for name, end in found.items() if name != end}


def connected(pairs: pl.DataFrame) -> pl.DataFrame:
    """`cell_id`, `group` of the cells in `pairs` (`cell_id`, `target_id`): pairs join the cells of a group."""
    cells = pl.concat([pairs["cell_id"], pairs["target_id"]]).unique().sort()
    if cells.is_empty():
        return pl.DataFrame(schema={"cell_id": pl.String, "group": pl.Int64})
    index = {cell: position for position, cell in enumerate(cells)}
    rows = np.array([index[cell] for cell in pairs["cell_id"]])
    columns = np.array([index[cell] for cell in pairs["target_id"]])
    graph = scipy.sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(cells), len(cells)))
    _, labels = scipy.sparse.csgraph.connected_components(graph, directed=False)
    return pl.DataFrame({"cell_id": cells, "group": labels.astype(np.int64)})
