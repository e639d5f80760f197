"""Memories that are new, said again, superseded or gone: their names, artifacts and edges.

Ids and counts alone say which those are; of the rest only the families of their names are read.
"""

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.home.entities import mentions_of, resolved_names
from slowwave.journal.catalogue import EventRows
from slowwave.journal.plan import Plan
from slowwave.language.artifacts import artifact_kind, artifact_reference, artifacts_in
from slowwave.language.names import as_called, same_names
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.table_parts import Owned, Timestamp, nullable, strings
from slowwave.schemas.tables import OWNER, RAW_PROMPT, frame_schema
from tasks.frames import Frame
from tasks.step import Readable, step


class ChangedCells(Frame, Owned):
    """Memories that are not linked as they are now; `was_superseded` since they were linked last."""

    cell_id: str
    prompt_version: str = nullable()
    content: str
    evidence: pl.List = strings()
    entities: pl.List = strings()
    artifacts: pl.List = strings()
    event_time: Timestamp
    confirmations: int
    was_superseded: bool


class GoneCells(Frame):
    """Memories that were linked and are no longer there."""

    cell_id: str


CELL = ["cell_id", *OWNER, "prompt_version", "content", "evidence", "entities", "artifacts", "event_time"]
STATE = ["cell_id", "status", "superseded_by", "superseded_at"]


@step
def find_changed_cells(reader: Readable) -> DataFrame[ChangedCells]:
    """Memories that are new, or were said again or superseded since they were linked, by id."""
    uses = reader.store.rows("cell_usage", ["cell_id", "confirmations"])
    known = reader.store.rows("links", ["cell_id", "linked_at", "confirmations"]).rename(
        {"confirmations": "before"}
    )
    present = (
        _present(reader)
        .join(uses, on="cell_id", how="left")
        .join(known, on="cell_id", how="left")
        .with_columns(pl.col("confirmations").fill_null(0))
        .with_columns(was_superseded=(pl.col("superseded_at") > pl.col("linked_at")).fill_null(value=False))
    )
    due = present.filter(pl.col("before").ne_missing(pl.col("confirmations")) | pl.col("was_superseded"))
    cells = reader.store.by_key("cells", due["cell_id"], CELL)
    return ChangedCells.of(cells.join(due, on="cell_id", how="inner", maintain_order="left"))


@step
def find_gone_cells(reader: Readable) -> DataFrame[GoneCells]:
    """Memories that left since they were linked, by id."""
    known = reader.store.rows("links", ["cell_id"])
    return GoneCells.of(known.join(_present(reader), on="cell_id", how="anti").sort("cell_id"))


@step
def plan_identities(reader: Readable) -> Plan:
    """Takes back the identities that rest on a memory that is gone."""
    known = reader.store.rows("identities", ["identity_id", "evidence"]).explode("evidence")
    gone = known.join(_present(reader), left_on="evidence", right_on="cell_id", how="anti")
    return Plan(events={"identity.dropped": gone.select("identity_id").unique().sort("identity_id")})


@step
def plan_links(reader: Readable, changed: DataFrame[ChangedCells], gone: DataFrame[GoneCells]) -> Plan:
    """The entities, mentions and artifacts of changed memories; those of gone ones leave, with their edges."""
    store = reader.store
    lost = store.having("artifacts", "cell_id", gone["cell_id"], ["artifact_id"])
    ends = [store.having("edges", end, gone["cell_id"], ["edge_id"]) for end in ("source_id", "target_id")]
    artifacts = artifacts_of(changed)
    known = store.by_key("artifacts", artifacts["artifact_id"], ["artifact_id"])
    names = _names(reader, changed, gone)
    return Plan(
        events={
            **names,
            "entity.flagged": _doubtful_entities(reader, changed),
            "artifact.recorded": artifacts.join(known, on="artifact_id", how="anti", maintain_order="left"),
            "artifact.dropped": lost.sort("artifact_id"),
            "edge.dropped": pl.concat(ends).unique().sort("edge_id"),
            "cell.linked": changed.select("cell_id", "confirmations"),
            "cell.unlinked": gone,
        },
        rows_in=changed.height + gone.height,
        examples=_shown(names["entity.resolved"]),
    )


@step
def plan_renamed(reader: Readable) -> Plan:
    """The entities of names that became another one's since they were resolved."""
    names = _names(reader, ChangedCells.empty(), GoneCells.empty())
    return Plan(events=names, examples=_shown(names["entity.resolved"]))


# Inside


def _present(reader: Readable) -> pl.DataFrame:
    """Memories in the store (`STATE`), without raw ones that extracted ones replaced."""
    every = reader.store.rows("cells", STATE)
    return every.filter((pl.col("status") != "superseded") | pl.col("superseded_by").is_not_null())


def _names(reader: Readable, changed: DataFrame[ChangedCells], gone: DataFrame[GoneCells]) -> EventRows:
    """Events for the families of new names, of names of gone memories, and of names that are another one's now."""
    store = reader.store
    same = same_names(store.rows("identities"))
    known = store.rows("mentions", [*OWNER, "name", "family"]).unique()
    now = as_called(known.select(*OWNER, "name", before="family"), same)
    moved = now.filter(pl.col("family") != pl.col("before"))
    lost = store.having("mentions", "cell_id", gone["cell_id"])
    named = mentions_of(_with_speakers(reader, changed), same)
    families = {*moved["family"], *moved["before"], *lost["family"], *named["family"]}
    return resolved_names(store, families, named=named, gone=lost)


def _with_speakers(reader: Readable, cells: pl.DataFrame) -> pl.DataFrame:
    """Raw memories name the people who speak in them; nothing else in plain text is surely a name."""
    raw = cells.filter(pl.col("prompt_version") == RAW_PROMPT)
    evidence = raw.select("cell_id", turn_id="evidence").explode("turn_id").drop_nulls()
    turns = reader.store.by_key("turns", evidence["turn_id"], ["turn_id", "role", "speaker"])
    people = turns.filter((pl.col("role") == "user") & pl.col("speaker").is_not_null())
    speakers = (
        evidence.join(people, on="turn_id", how="inner")
        .group_by("cell_id")
        .agg(speakers=pl.format("{} (person)", "speaker").unique().sort())
    )
    return cells.join(speakers, on="cell_id", how="left", maintain_order="left").with_columns(
        entities=pl.col("entities").list.concat(pl.col("speakers").fill_null([]))
    )


def _doubtful_entities(reader: Readable, changed: DataFrame[ChangedCells]) -> pl.DataFrame:
    """Entities whose profile may rest on a memory that was superseded since."""
    cells = changed.filter("was_superseded")["cell_id"]
    named = reader.store.having("mentions", "cell_id", cells, ["entity_id"])["entity_id"].unique()
    entities = reader.store.by_key("entities", named, ["entity_id", "enriched_count", "needs_review"])
    described = entities.filter(pl.col("enriched_count").is_not_null() & ~pl.col("needs_review"))
    return described.select("entity_id", reason=pl.lit("a memory that names it was superseded"))


def _shown(entities: pl.DataFrame) -> list[str]:
    others = pl.col("aliases").list.join(", ")
    kind = pl.col("entity_type").fill_null("?")
    line = pl.format("{} ({}): {} mentions", "canonical_name", kind, "mention_count")
    line = line + pl.when(others != "").then(pl.format("; also {}", others)).otherwise(pl.lit(""))
    return (
        entities.sort("mention_count", "entity_id", descending=[True, False])
        .select(line)
        .to_series()
        .to_list()
    )


def artifacts_of(cells: pl.DataFrame) -> pl.DataFrame:
    """Rows of `artifacts`, sorted by key: those that the extractor named (`kind:reference`), and those in raw text.

    `cells` has `cell_id`, the owner, `event_time`, `prompt_version`, `content` and `artifacts`.
    """
    is_raw = pl.col("prompt_version") == RAW_PROMPT
    said = pl.col("artifacts").list.concat(pl.when(is_raw).then(artifacts_in(pl.col("content"))))
    rows = (
        cells.select("cell_id", *OWNER, "event_time", said=pl.coalesce(said, "artifacts"))
        .explode("said")
        .with_columns(
            artifact_type=artifact_kind(pl.col("said")), reference=artifact_reference(pl.col("said"))
        )
        .drop_nulls("reference")
    )
    return (
        rows.with_columns(stable_ids("artifact", rows.select("cell_id", "artifact_type", "reference")))
        .select(frame_schema("artifacts").names())
        .unique("artifact_id", keep="first", maintain_order=True)
        .sort("artifact_id")
    )
