"""Repair of the chains of values that a memory leaves by a person's edit: the rest of each chain holds together."""

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from slowwave.edits.consequences import judged
from slowwave.journal.catalogue import CATALOGUE, EventRows, rows_of
from slowwave.lifecycle.succession import Bridges, bridges, moved, succeeded
from slowwave.store import Store
from slowwave.store.chains import links_of, read_chains


@dataclass(frozen=True)
class Chains:
    """Whole chains of memories (rows of `cells`), and the verdict that retired each superseded one, by its id."""

    cells: pl.DataFrame
    verdicts: dict[str, str]

    def without(self, gone: Collection[str]) -> Bridges:
        """The links that the others need when these leave."""
        return bridges(self.cells, gone, self.verdicts)


def chains_of(store: Store, cell_ids: Collection[str]) -> Chains:
    """The chains that memories belong to, from the first value to the one that holds now."""
    cells = read_chains(store, cell_ids).sort("cell_id")
    links = links_of(store, cells)
    return Chains(cells, dict(links.select("target_id", "verdict").iter_rows()))


def bridging(chains: Chains, found: Bridges, gone: Collection[str], *, why: str) -> EventRows:
    """Events for the new links, and for the timelines of what comes after, without the memories that leave."""
    left = chains.cells.filter(~pl.col("cell_id").is_in(sorted(gone)))
    after = moved(left, [*found.superseded, *found.merged])
    named = {"prompt_version": None, "model": None}
    return {
        "pair.judged": _judged(after, found, why=why),
        "cell.superseded": rows_of("cell.superseded", [{**row, **named} for row in found.superseded]),
        "cell.merged": rows_of("cell.merged", found.merged),
        "cell.succeeded": succeeded(after, found.successors, chains.verdicts),
    }


def told_anew(store: Store, successors: Collection[str]) -> pl.DataFrame:
    """Rows of `cell.succeeded`: what these memories replaced, and their timelines, as the store has both now."""
    known = store.by_key("cells", successors, ["cell_id"])["cell_id"].to_list()
    chains = chains_of(store, known)
    return succeeded(chains.cells, known, chains.verdicts)


def _judged(cells: pl.DataFrame, found: Bridges, *, why: str) -> pl.DataFrame:
    """Judgements by which a person's edit put one memory behind another; the verdict that retired it stays."""
    rows = [
        judged(
            link["superseded_by"], cells.filter(cell_id=link["cell_id"]), effect="superseded", why=why
        ).with_columns(verdict=pl.lit(link["verdict"]))
        for link in found.superseded
    ]
    return pl.concat([pl.DataFrame(schema=CATALOGUE["pair.judged"].payload), *rows])
