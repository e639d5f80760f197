"""The story of a night, read from the segments that it wrote."""

import polars as pl

from slowwave.home.workspace import Workspace
from slowwave.journal.lookup import of_kind
from slowwave.schemas.report import StoryPart
from slowwave.stages.night.sentences import KINDS, fading_part, night_story, told_cells
from slowwave.store import Expr, Store, col, lit, owned_by
from slowwave.store.forgetting import fading_of

IDS_A_READ = 2_000

COLUMNS = [
    *("cell_id", "content", "cell_type", "subject", "attribute", "value"),
    *("status", "salience", "valid_from", "event_time"),
]


def tell_story(workspace: Workspace, *, since: str) -> list[StoryPart]:
    """The parts of a night's story, from the segments after `since`; empty when nothing happened.

    The work is proportional to what the night did. Only memories that the owner of the settings may see are named.
    """
    journal, store, owner = workspace.home.journal, workspace.store, workspace.settings.owner
    segments = journal.segment_ids_after(since) if since else journal.segment_ids()
    scanned = journal.read(segments).events
    events = {kind: of_kind(scanned, kind) for kind in KINDS}
    mine = owned_by(owner)
    cells = _read(store, told_cells(events), mine)
    open_count = store.count("contradictions", mine & (col("status") == lit("open")))
    parts = night_story(events, cells, open_count=open_count, core_count=store.count("core", mine))
    settings = workspace.settings
    fading = fading_of(store, now=workspace.clock(), forget=settings.forget, decay=settings.decay)
    if fading.height:
        soon = fading.join(_read(store, fading["cell_id"].to_list(), mine), on="cell_id", how="inner")
        parts.append(fading_part(soon, days=settings.forget.preview_days, now=workspace.clock()))
    return [part for part in parts if part.count]


def _read(store: Store, cell_ids: list[str], mine: Expr) -> pl.DataFrame:
    """The cells of these ids that the owner may see."""
    parts = [
        store.rows("cells", COLUMNS, mine & col("cell_id").isin(cell_ids[start : start + IDS_A_READ]))
        for start in range(0, len(cell_ids), IDS_A_READ)
    ]
    return pl.concat(parts) if parts else store.by_key("cells", [], COLUMNS)
