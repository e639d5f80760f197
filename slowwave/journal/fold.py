"""The changes of tables that each kind of event asks for.

The store applies collapsed changes (`slowwave/journal/changes.py`) and `rebuild` is the same fold over the whole
journal, so that both reach the same tables. Payloads carry absolute values, never increments: folding twice is
folding once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from slowwave.errors import ContractError
from slowwave.journal.catalogue import CATALOGUE, decode
from slowwave.journal.changes import Change, Mode
from slowwave.schemas.tables import KEYS, frame_schema

Value = str | bool | int | pl.Expr | None

RECORDED = pl.col("event_recorded_at")
"""The time of the event, as the value of a column."""


@dataclass(frozen=True)
class Write:
    """The change of one table by a kind of event.

    A row takes the payload's columns that the table has (or of these only the named `columns`), and `values` in place
    of them or beside them. A row that is complete (a birth, or a whole one) is null elsewhere, and empty in lists.
    """

    table: str
    mode: Mode
    values: Mapping[str, Value]
    columns: tuple[str, ...] | None = None
    rows: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    """The rows that are written, from the payloads; null for all of them as they are."""

    def taking(self, *columns: str) -> "Write":
        """The same, with these columns of the payload alone."""
        return replace(self, columns=columns)

    def of(self, rows: Callable[[pl.DataFrame], pl.DataFrame]) -> "Write":
        """The same, of these rows."""
        return replace(self, rows=rows)


def _write(mode: Mode, table: str, **values: Value) -> Write:
    return Write(table, mode, values)


_birth, _whole, _patch = (partial(_write, mode) for mode in ("birth", "whole", "patch"))


def _removals(*tables: str) -> list[Write]:
    return [Write(table, "removal", {}) for table in tables]


def _causes(rows: pl.DataFrame) -> pl.DataFrame:
    """Edges from causes to effects; older versions also drew what other tables say."""
    return rows.filter(pl.col("relation") == "causal")


def _named_cells(rows: pl.DataFrame) -> pl.DataFrame:
    """One row for each cell that a topic's summary names."""
    return rows.select("order", cell_id="cell_ids").explode("cell_id").drop_nulls()


TRIES_OVER: dict[str, Value] = {"attempts": 0, "error": None, "retry_at": None}
NO_SUMMARY: dict[str, Value] = {"summary": None, "prompt_version": None, "model": None}
USAGE_AT_BIRTH = _birth(
    "cell_usage",
    last_accessed=RECORDED,  # what was learned today was not yet there to be used
    retrieval_count=0,
    citation_count=0,
    ignore_count=0,
    confirmations=0,
    archived_count=0,
    revived_count=0,
)
EPISODE_AT_BIRTH = _birth(
    "cells",
    cell_type="episode",
    status="active",
    is_judged=True,  # an episode is neither judged against other memories
    is_summarized=True,  # nor part of a topic
    needs_review=False,
    protected=False,
    is_wish=False,
    recorded_at=RECORDED,
)
PUT_BACK = _patch("cell_usage", demoted_at=None).taking()
TO_TOMBSTONE = [
    _whole("tombstones", deleted_at=RECORDED),
    *_removals("cells", "cell_usage", "judging", "core"),
]


def _judging(*columns: str, **values: Value) -> list[Write]:
    """Changes of the judging state, for a memory that has none yet as well."""
    return [
        _birth("judging", status="settled", **TRIES_OVER),
        _patch("judging", **values).taking(*columns),
    ]


FOLDS: dict[str, list[Write]] = {
    "turn.recorded": [_whole("turns", recorded_at=RECORDED)],
    "turn.erased": [_whole("erasures", erased_at=RECORDED), *_removals("turns")],
    "source.recorded": [_whole("sources")],
    "usage.recorded": [_birth("usage")],
    "usage.folded": [_patch("usage", folded_at=RECORDED)],
    "chunk.cut": [_birth("chunks", recorded_at=RECORDED)],
    "chunk.gated": [_patch("chunks", status="gated_out").of(lambda rows: rows.filter(~pl.col("is_worth")))],
    "chunk.extracted": [_patch("chunks", status="extracted", error=None, retry_at=None)],
    "chunk.failed": [_patch("chunks")],
    "chunk.released": [_patch("chunks", status="pending", **TRIES_OVER)],
    "cell.extracted": [_birth("cells", recorded_at=RECORDED), USAGE_AT_BIRTH],
    "cell.imported": [_patch("cell_usage"), _patch("cells")],
    "cell.confirmed": [_patch("cell_usage"), _patch("cells").taking("evidence")],
    "cell.merged": [_patch("cells")],
    "cell.retired": [_patch("cells")],
    # the prompt and the model behind a judgement are not those behind the memory
    "cell.superseded": [_patch("cells").taking("superseded_by", "superseded_at", "valid_until")],
    "cell.succeeded": [_patch("cells").taking("supersedes", "summary")],
    "cell.reinstated": [_patch("cells", superseded_by=None, superseded_at=None, valid_until=None)],
    "cell.restored": [_patch("cells")],
    "cell.dated": [_patch("cells")],
    "cell.protected": [_patch("cells", protected=True), PUT_BACK],
    "cell.labelled": [_patch("cells")],
    "cell.assigned": [_patch("cells")],
    "cell.flagged": [_patch("cells", needs_review=True)],
    "cell.judged": [
        _patch("cells", is_judged=True),
        # a judged memory's neighbours were looked at as well
        *_judging(status="settled", **TRIES_OVER, scanned_at=RECORDED),
    ],
    "cell.reviewed": [
        _patch("cells", needs_review=False).taking(),
        *_judging(status="settled", **TRIES_OVER),
    ],
    "cell.scanned": _judging(scanned_at=RECORDED),
    "cell.archived": [_patch("cell_usage", archived_at=RECORDED), _patch("cells")],
    "cell.revived": [_patch("cell_usage", revived_at=RECORDED), _patch("cells")],
    "cell.pruned": _removals("cells", "cell_usage", "judging"),
    "cell.deleted": TO_TOMBSTONE,
    "cell.erased": TO_TOMBSTONE,
    "cell.readmitted": _removals("tombstones"),
    "cell.linked": [_birth("links", linked_at=RECORDED), _patch("links", linked_at=RECORDED)],
    "cell.examined": [_patch("links", examined_at=RECORDED)],
    "cell.unlinked": _removals("links"),
    "cell_usage.folded": [_patch("cell_usage")],
    "judging.failed": _judging("status", "attempts", "error", "retry_at"),
    "judging.released": _judging(status="settled", **TRIES_OVER),
    # told anew, the text of an episode changes, and what happened to the memory stays
    "episode.written": [
        EPISODE_AT_BIRTH,
        _patch("cells", recorded_at=RECORDED, needs_review=False),
        USAGE_AT_BIRTH,
        _whole("episodes", status="written", attempts=0, written_at=RECORDED),
    ],
    "episode.failed": [
        _birth("episodes"),
        _patch("episodes").taking("status", "turn_count", "attempts", "error", "retry_at"),
    ],
    "episode.released": [_patch("episodes", status="failed", **TRIES_OVER)],
    "episode.dropped": _removals("cells", "cell_usage", "episodes", "core"),
    "topic.opened": [
        _birth("topics", cell_count=0, unsummarized_count=0, needs_review=False, updated_at=RECORDED)
    ],
    "topic.counted": [_patch("topics")],  # a count says nothing new about the topic
    "topic.merged": [_patch("topics")],
    "topic.renamed": [_patch("topics")],
    "topic.summarized": [
        _patch(
            "topics", summarized_at=RECORDED, updated_at=RECORDED, unsummarized_count=0, needs_review=False
        ),
        _patch("cells", is_summarized=True).of(_named_cells),
    ],
    "topic.unsummarized": [
        _patch("topics", **NO_SUMMARY, compressed=None, summarized_at=None, needs_review=True),
        _patch("cells", is_summarized=False).of(_named_cells),
    ],
    "topic.flagged": [_patch("topics", needs_review=True)],
    "pair.judged": [_whole("judgements", judged_at=RECORDED)],
    "contradiction.opened": [_birth("contradictions", status="open", detected_at=RECORDED)],
    "contradiction.imported": [_birth("contradictions")],
    "contradiction.closed": [_patch("contradictions", status="resolved", resolved_at=RECORDED)],
    "contradiction.resolved": [_patch("contradictions", status="resolved", resolved_at=RECORDED)],
    "contradiction.reopened": [
        _patch("contradictions", status="open", resolution=None, resolution_note=None, resolved_at=None)
    ],
    "core.promoted": [_whole("core", promoted_at=RECORDED), PUT_BACK],
    "core.moved": [_patch("core")],
    "core.demoted": _removals("core"),
    "core.struck": [*_removals("core"), _patch("cell_usage", demoted_at=RECORDED)],
    # a new entity is born without a summary; a known one keeps the one that it has
    "entity.resolved": [
        _birth("entities", needs_review=False, updated_at=RECORDED),
        _patch("entities", updated_at=RECORDED),
    ],
    "entity.merged": _removals("entities"),
    "entity.dropped": _removals("entities"),
    "entity.enriched": [_patch("entities", needs_review=False, updated_at=RECORDED)],
    "entity.unsummarized": [_patch("entities", **NO_SUMMARY, enriched_count=None, needs_review=False)],
    "entity.flagged": [_patch("entities", needs_review=True)],
    "identity.recorded": [_whole("identities", recorded_at=RECORDED)],
    "identity.dropped": _removals("identities"),
    "mention.recorded": [_whole("mentions")],
    "mention.dropped": _removals("mentions"),
    "artifact.recorded": [_whole("artifacts")],
    "artifact.dropped": _removals("artifacts"),
    "edge.drawn": [_whole("edges", recorded_at=RECORDED).of(_causes)],
    "edge.ended": [_patch("edges")],
    "edge.dropped": _removals("edges"),
    "edge.examined": [_patch("edges")],
    "space.fitted": [_whole("spaces", fitted_at=RECORDED)],
    "night.completed": [_whole("nights")],
    "text.redacted": [],  # a trace for a reader of the journal: the events that it names are rewritten already
    "derivation.switched": [],  # says which events are folded at all (`slowwave/journal/derivations.py`)
}
"""The changes of each kind. A patch of `cells` also sets the status that the catalogue says."""

if set(FOLDS) != set(CATALOGUE):
    raise ContractError(f"event kinds without a fold: {sorted(set(CATALOGUE) ^ set(FOLDS))}")


def fold(events: pl.DataFrame) -> list[Change]:
    """Changes that scanned events (`SCAN_SCHEMA`) ask for, in no particular order; `order` tells which is later."""
    ordered = events.with_row_index("order").with_columns(pl.col("order").cast(pl.Int64))
    changes: list[Change] = []
    for part in ordered.partition_by("kind", maintain_order=True):
        kind = part["kind"][0]
        payloads = decode(kind, part)
        changes.extend(_change(write, payloads, CATALOGUE[kind].status) for write in FOLDS[kind])
    return changes


def _change(write: Write, payloads: pl.DataFrame, status: str | None) -> Change:
    rows = write.rows(payloads) if write.rows is not None else payloads
    key, types = KEYS[write.table], frame_schema(write.table)
    if write.mode == "removal":
        return Change(write.table, rows.select(key, "order"), "removal")
    values = dict(write.values)
    if write.table == "cells" and write.mode == "patch" and status is not None:
        values["status"] = status
    if write.mode in ("birth", "whole"):
        nothing = {
            name: pl.lit([] if isinstance(dtype, pl.List) else None, dtype=dtype)
            for name, dtype in types.items()
            if name not in rows.columns
        }
        values = {**nothing, **values}
    taken = types.names() if write.columns is None else (key, *write.columns)
    return Change(
        write.table,
        rows.select(
            "order",
            *(name for name in taken if name in rows.columns and name not in values),
            *(
                (value if isinstance(value, pl.Expr) else pl.lit(value, dtype=types[name])).alias(name)
                for name, value in values.items()
            ),
        ),
        write.mode,
    )
