"""The rows that an export holds: what the asker may see, without the words of what a person deleted."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from slowwave.ingest.formats.own import CELL_IDS, TABLE_OF, TURN_COUNT, schema_of, texts_of
from slowwave.ingest.redact import redact
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.settings.groups import ScopeSettings
from slowwave.store import Expr, Store, col, owned_by, owned_in

Rows = dict[str, pl.DataFrame]
"""Rows by type of line, in the columns of that type, in the order of their keys."""


@dataclass(frozen=True)
class _Seen:
    """A store, and the condition on the rows that the asker may see and asked for."""

    store: Store
    mine: Expr

    def rows(self, table: str) -> pl.DataFrame:
        return self.store.rows(table, where=self.mine)

    def by_key(self, table: str, keys: pl.Series) -> pl.DataFrame:
        """Rows of these keys that are seen."""
        known = self.store.rows(table, where=self.mine)
        return known.filter(pl.col(known.columns[0]).is_in(keys.implode()))


def rows_of_export(
    store: Store, owner: ScopeSettings, *, project: str | None = None, scopes: Sequence[str] = ()
) -> Rows:
    """All that the owner may see: memories with their use, and what they rest on or belong to.

    `project` and `scopes` narrow it; null and none mean all. Of judgements, contradictions, mentions and edges those
    alone stand here whose ends do: what was judged of a deleted memory tells its words.
    """
    mine = owned_by(owner) if project is None else owned_in(owner, project)
    seen = _Seen(store, mine & col("scope").isin(scopes) if scopes else mine)
    cells = seen.rows("cells")
    ids = cells["cell_id"]
    turns = seen.by_key("turns", cells["evidence"].explode().drop_nulls().unique())
    mentions = _of(seen.rows("mentions"), "cell_id", ids)
    ends = pl.concat([ids, turns["turn_id"], cells["session_id"], turns["session_id"]]).unique()
    found = {
        "memory": _with_use(store, cells),
        "turn": turns,
        "chunk": _chunks(seen, cells, turns["turn_id"]),
        "topic": _with_cells(seen.rows("topics"), cells),
        "contradiction": _of(_of(seen.rows("contradictions"), "cell_a", ids), "cell_b", ids),
        "judgement": _of(_of(seen.rows("judgements"), "cell_id", ids), "target_id", ids),
        "entity": _of(seen.rows("entities"), "entity_id", mentions["entity_id"]),
        "identity": seen.rows("identities").filter(_stands_on(ids)),
        "mention": mentions,
        "artifact": _of(seen.rows("artifacts"), "cell_id", ids),
        "edge": _of(_of(seen.rows("edges"), "source_id", ends), "target_id", ends),
        "link": store.by_key("links", ids),
        "core_line": _of(seen.rows("core"), "cell_id", ids),
        "deleted": seen.rows("tombstones"),
    }
    return {kind: _shaped(kind, found[kind], owner.project_id) for kind in TABLE_OF}


def _of(rows: pl.DataFrame, column: str, keys: pl.Series) -> pl.DataFrame:
    return rows.filter(pl.col(column).is_in(keys.implode()))


def _stands_on(cell_ids: pl.Series) -> pl.Expr:
    return pl.col("evidence").list.set_difference(cell_ids.to_list()).list.len() == 0


def _with_use(store: Store, cells: pl.DataFrame) -> pl.DataFrame:
    """Memories with their counts of use; an episode with the number of turns that it tells of.

    Where telling it failed since, that is 0, so that it is told again.
    """
    use = store.by_key("cell_usage", cells["cell_id"])
    told = store.by_key("episodes", cells.filter(pl.col("cell_type") == EPISODE)["cell_id"])
    counts = told.select(
        "cell_id", pl.when(pl.col("status") == "written").then(TURN_COUNT).otherwise(0).alias(TURN_COUNT)
    )
    return cells.join(use, on="cell_id", how="inner").join(counts, on="cell_id", how="left")


def _with_cells(topics: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Topics with the memories that their summary was written from."""
    told = cells.filter(pl.col("is_summarized") & pl.col("topic_id").is_not_null())
    by_topic = told.sort("cell_id").group_by("topic_id").agg(pl.col("cell_id").alias(CELL_IDS))
    return topics.join(by_topic, on="topic_id", how="left").with_columns(pl.col(CELL_IDS).fill_null([]))


def _chunks(seen: _Seen, cells: pl.DataFrame, turn_ids: pl.Series) -> pl.DataFrame:
    """The windows of raw talk, which a language model may read later, as far as all their turns are here."""
    raw = cells.filter(pl.col("prompt_version") == RAW_PROMPT)["chunk_id"].drop_nulls().unique()
    is_whole = pl.col("turn_ids").list.set_difference(turn_ids.to_list()).list.len() == 0
    return seen.by_key("chunks", raw).filter(is_whole)


def _shaped(kind: str, rows: pl.DataFrame, home_project: str) -> pl.DataFrame:
    """Rows in the columns of their type, by their keys; the home's own project is no name of a project."""
    schema = schema_of(kind)
    if "project_id" in schema:
        is_other = pl.col("project_id") != home_project
        rows = rows.with_columns(project_id=pl.when(is_other).then("project_id"))
    return rows.select(pl.col(name).cast(dtype) for name, dtype in schema.items()).sort(next(iter(schema)))


def without_secrets(rows: Rows) -> tuple[Rows, int]:
    """The same rows with each secret that older rules let in as a mark, and how many secrets there were."""
    found: Counter[str] = Counter()

    def safe(text: str) -> str:
        clean, counts = redact(text)
        found.update(counts)
        return clean

    def safe_all(texts: pl.Series) -> list[str]:
        return [safe(text) for text in texts]

    clean: Rows = {}
    for kind, frame in rows.items():
        texts = {name: dtype for name, dtype in schema_of(kind).items() if name in texts_of(kind)}
        clean[kind] = frame.with_columns(
            pl.col(name).map_elements(safe_all if dtype == pl.List(pl.String) else safe, return_dtype=dtype)
            for name, dtype in texts.items()
        )
    return clean, found.total()
