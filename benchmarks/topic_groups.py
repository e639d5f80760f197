"""Topics held against groups that a careful reader made.

    python benchmarks/topics.py --groups FILE (--home HOME | --hints FILE)

`--groups` is a CSV file with `group` and either `cell_id` or `text`: the theme of each memory as a reader sees it, by
its id or its text. With `--home` the topics of that home's live memories are measured. With `--hints` a home is made of
the texts of another CSV file (`text`, `hint`: the name that an extractor gave; if there are such columns, `subject`,
`entities` as `Name (type); Name (type)`, `session`, and `night`, a number) and the cluster flow runs over it, a night
after the other.
Memories that the groups do not name are left out.
"""

import os
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from benchmarks.invented import OWNER, PROVENANCE, plan_of
from slowwave.schemas.identity import content_hash, stable_id

START = datetime(2026, 1, 1, 3, tzinfo=UTC)


@dataclass(frozen=True)
class Grouping:
    """Topics beside a reader's groups; B-cubed figures and the share of the largest topic are 0..1."""

    memories: int
    topics: int
    groups: int
    precision: float
    recall: float
    f1: float
    nmi: float
    hints_f1: float | None
    largest_share: float


def filed_cells(home: Path) -> pl.DataFrame:
    """The live memories of a home that have a topic: cell_id, text, hint, topic_id, topic (its name)."""
    from slowwave.store import col, lit, open_store

    store = open_store(home / "store")
    living = (col("status") == lit("active")) & col("topic_id").is_not_null()
    cells = store.rows("cells", ["cell_id", "content", "topic_hint", "topic_id"], living)
    names = store.rows("topics", ["topic_id", "name"]).rename({"name": "topic"})
    return cells.rename({"content": "text", "topic_hint": "hint"}).join(names, on="topic_id").sort("cell_id")


def measure_groups(filed: pl.DataFrame, groups: pl.DataFrame) -> Grouping:
    """Measure `filed_cells` against `groups` (group, and cell_id or text)."""
    from benchmarks.topics import coded, quality

    key = "cell_id" if "cell_id" in groups.columns else "text"
    both = filed.join(groups.select(key, "group").unique(key), on=key, how="inner")
    found = quality(coded(both["topic_id"]), coded(both["group"]))
    hinted = both.filter(pl.col("hint").is_not_null())
    hints = quality(coded(hinted["hint"]), coded(hinted["group"])).f1 if hinted.height else None
    return Grouping(
        memories=both.height,
        topics=both["topic_id"].n_unique(),
        groups=both["group"].n_unique(),
        precision=found.precision,
        recall=found.recall,
        f1=found.f1,
        nmi=found.nmi,
        hints_f1=hints,
        largest_share=int(filed["topic_id"].value_counts()["count"].to_numpy().max()) / filed.height,
    )


def cluster_hints(hints: pl.DataFrame, home: Path) -> None:
    """Make a home of these memories (text, hint, ...) and cluster them, a night after the other."""
    from flows.cluster import cluster
    from slowwave.home.stage import Stage
    from slowwave.home.vector_space import compute_vectors
    from slowwave.home.workspace import open_workspace

    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "ERROR")
    home.mkdir(parents=True, exist_ok=True)
    (home / "slowwave.toml").write_text('[embedding]\nprovider = "wordllama"\n', encoding="utf-8")
    rows = hints.with_row_index("row").with_columns(
        night=pl.col("night") if "night" in hints.columns else pl.lit(0),
        session=pl.col("session") if "session" in hints.columns else pl.lit("s"),
        subject=pl.col("subject") if "subject" in hints.columns else pl.lit(None, dtype=pl.String),
        entities=pl.col("entities").fill_null("") if "entities" in hints.columns else pl.lit(""),
    )
    for night in rows["night"].unique().sort():
        now = START + timedelta(days=int(night))
        made = [_cell(row, now) for row in rows.filter(pl.col("night") == night).iter_rows(named=True)]
        with open_workspace(home, clock=lambda now=now: now) as workspace:  # type: ignore[misc]
            workspace.commit(plan_of({"cell.extracted": made}), now)
            run = Stage("ingest", workspace, dry_run=False)
            compute_vectors(run)
            cluster.fn(home=str(home))


def _cell(row: dict[str, str], now: datetime) -> dict[str, object]:
    """The payload of an extracted memory."""
    fixed = {
        "cell_type": "fact", "salience": 0.5, "confidence": 0.9, "status": "active", "origin": "user",
        "source_type": "conversation", "source_id": "s", "source_name": "s", "index_label": "x",
        "needs_review": False, "is_judged": True, "is_summarized": False, "is_wish": False, "protected": False,
        "decay_rate": 0.1, "evidence": [], "artifacts": [], "steps": [],
    }  # fmt: skip
    named = [name.strip() for name in row["entities"].split(";") if name.strip()]
    return {
        **OWNER,
        **PROVENANCE,
        **fixed,
        "cell_id": stable_id("cell", str(row["row"]), row["text"]),
        "topic_hint": row["hint"],
        "session_id": row["session"],
        "subject": row["subject"],
        "entities": named,
        "content": row["text"],
        "compressed": row["text"],
        "content_hash": content_hash(row["text"]),
        "event_time": now,
        "valid_from": now,
    }


def filed_hints(hints: pl.DataFrame) -> pl.DataFrame:
    """`filed_cells` of a home that is made of these memories and gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        cluster_hints(hints, Path(folder) / "home")
        return filed_cells(Path(folder) / "home")


def topics_told(filed: pl.DataFrame) -> str:
    """The topics as lines: size, name, and the extractor's names in it."""
    told = (
        filed.group_by("topic_id", "topic")
        .agg(count=pl.len(), hints=pl.col("hint").drop_nulls().unique().sort().str.join(", "))
        .sort("count", "topic", descending=[True, False])
    )
    return "\n".join(f"{count:>5}  {name}  ({hints})" for _, name, count, hints in told.iter_rows())
