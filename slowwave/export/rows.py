"""The rows that an export holds: what the asker may see, without the words of what a person deleted."""

from collections import Counter
from collections.abc import Sequence

import polars as pl

from slowwave.ingest.formats.own import CELL_IDS, TABLE_OF, TURN_COUNT, schema_of, texts_of
from slowwave.ingest.redact import redact
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.settings.groups import ScopeSettings
from slowwave.store import Store, col, owned_by, owned_in

Rows = dict[str, pl.DataFrame]
"""Rows by type of line, in the columns of that type, in the order of their keys."""


def rows_of_export(
    store: Store, owner: ScopeSettings, *, project: str | None = None, scopes: Sequence[str] = ()
) -> Rows:
    """All that the owner may see: memories with their use, and what they rest on or belong to.

    `project` and `scopes` narrow it; null and none mean all. Judgements, contradictions, mentions and edges come along
    where both of their ends are: what was judged of a deleted memory tells its words.
    """
    mine = owned_by(owner) if project is None else owned_in(owner, project)
    if scopes:
        mine = mine & col("scope").isin(scopes)
    seen = {table: store.rows(table, where=mine) for table in TABLE_OF.values() if table != "links"}
    cells = seen["cells"]
    ids = cells["cell_id"]
    turns = _of(seen["turns"], cells["evidence"].explode().drop_nulls(), "turn_id")
    ends = pl.concat([ids, turns["turn_id"], cells["session_id"], turns["session_id"]])
    mentions = _of(seen["mentions"], ids, "cell_id")
    raw = cells.filter(prompt_version=RAW_PROMPT)["chunk_id"].drop_nulls()
    found = {
        "memory": _with_use(store, cells),
        "turn": turns,
        # the windows of raw talk, which a language model may read later
        "chunk": _of(seen["chunks"], raw, "chunk_id").filter(_are_all_in("turn_ids", turns["turn_id"])),
        "topic": _with_cells(seen["topics"], cells),
        "contradiction": _of(seen["contradictions"], ids, "cell_a", "cell_b"),
        "judgement": _of(seen["judgements"], ids, "cell_id", "target_id"),
        "entity": _of(seen["entities"], mentions["entity_id"], "entity_id"),
        "identity": seen["identities"].filter(_are_all_in("evidence", ids)),
        "mention": mentions,
        "artifact": _of(seen["artifacts"], ids, "cell_id"),
        "edge": _of(seen["edges"], ends, "source_id", "target_id"),
        "link": store.by_key("links", ids),
        "core_line": _of(seen["core"], ids, "cell_id"),
        "deleted": seen["tombstones"],
    }
    return {kind: _shaped(kind, found[kind], owner.project_id) for kind in TABLE_OF}


def _of(rows: pl.DataFrame, keys: pl.Series, *columns: str) -> pl.DataFrame:
    """The rows of which each of these columns is among the keys."""
    return rows.filter(pl.all_horizontal(pl.col(columns).is_in(keys.unique().implode())))


def _are_all_in(column: str, keys: pl.Series) -> pl.Expr:
    return pl.col(column).list.set_difference(keys.to_list()).list.len() == 0


def _with_use(store: Store, cells: pl.DataFrame) -> pl.DataFrame:
    """Memories with their counts of use; an episode with the number of turns that it tells of.

    Where telling it failed since, that is 0, so that it is told again.
    """
    use = store.by_key("cell_usage", cells["cell_id"])
    told = store.by_key("episodes", cells.filter(cell_type=EPISODE)["cell_id"])
    turn_count = pl.when(pl.col("status") == "written").then(TURN_COUNT).otherwise(0)
    counts = told.select("cell_id", turn_count.alias(TURN_COUNT))
    return cells.join(use, on="cell_id", how="inner").join(counts, on="cell_id", how="left")


def _with_cells(topics: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Topics with the memories that their summary was written from."""
    told = cells.filter(pl.col("is_summarized") & pl.col("topic_id").is_not_null())
    by_topic = told.sort("cell_id").group_by("topic_id").agg(pl.col("cell_id").alias(CELL_IDS))
    return topics.join(by_topic, on="topic_id", how="left").with_columns(pl.col(CELL_IDS).fill_null([]))


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
