"""What each kind of event does to the tables."""

from datetime import timedelta

import polars as pl
import pytest

from slowwave.journal.catalogue import CATALOGUE, SCAN_SCHEMA, title_of
from slowwave.journal.changes import collapse, overlay
from slowwave.journal.fold import fold
from slowwave.schemas.tables import KEYS, TABLES, empty, frame_schema
from tests.rows import NOW, OWNER, events, of_row, one_of_every_kind

Tables = dict[str, pl.DataFrame]


def scanned(*parts: pl.DataFrame) -> pl.DataFrame:
    """Events as a scan returns them, one second apart."""
    number = pl.int_range(pl.len())
    return (
        pl.concat(parts)
        .with_columns(
            segment_id=pl.lit("s"),
            event_id=number.cast(pl.String),
            version=pl.lit(1, dtype=pl.Int64),
            recorded_at=pl.lit(NOW).cast(pl.Datetime("us", "UTC")) + pl.duration(seconds=number),
        )
        .select(SCAN_SCHEMA.names())
    )


def laid_over(tables: Tables, read: pl.DataFrame) -> Tables:
    """Tables after events, as the store does it: removals first, then rows over what is there."""
    after = dict(tables)
    for table, change in collapse(fold(read)).items():
        key = KEYS[table]
        kept = after.get(table, empty(table)).filter(~pl.col(key).is_in(change.removed.implode()))
        known = kept.filter(pl.col(key).is_in(change.rows[key].implode()))
        fresh = overlay(change, known)
        after[table] = pl.concat([kept.join(fresh, on=key, how="anti"), fresh]).sort(key)
    return {table: rows for table, rows in after.items() if rows.height}


def after(*parts: pl.DataFrame) -> Tables:
    return laid_over({}, scanned(*parts))


def cell(key: str, **given: object) -> pl.DataFrame:
    return of_row("cell.extracted", "cells", key, entities=[], artifacts=[], **given)


def of_cell(kind: str) -> pl.DataFrame:
    """An event of a kind that speaks of memory `c` and says no more than it must."""
    given = {
        "content_hash": "h",
        "evidence": [],
        **OWNER,
        "archived_count": 1,
        "revived_count": 1,
        "last_accessed": NOW,
    }
    return events(
        kind, {"cell_id": "c", **{name: v for name, v in given.items() if name in CATALOGUE[kind].payload}}
    )


def value(tables: Tables, table: str, key: str, column: str) -> object:
    found = tables[table].filter(pl.col(KEYS[table]) == key)
    assert found.height == 1
    return found[column].item()


def same(one: Tables, other: Tables) -> bool:
    return one.keys() == other.keys() and all(one[table].equals(other[table]) for table in one)


ALL = one_of_every_kind()


def test_a_fold_names_columns_of_its_table_alone() -> None:
    for kind, entry in CATALOGUE.items():
        for write in entry.writes:
            columns = set(frame_schema(write.table))
            assert set(write.values) | set(write.columns or ()) <= columns, (kind, write.table)


def test_a_kind_leaves_its_memory_in_the_status_that_the_catalogue_says_and_tells_so() -> None:
    with_status = {kind: entry for kind, entry in CATALOGUE.items() if entry.status is not None}
    assert set(with_status) == {
        *("cell.merged", "cell.retired", "cell.superseded", "cell.reinstated"),
        *("cell.archived", "cell.revived", "cell.deleted"),
    }
    for kind, entry in with_status.items():
        assert entry.sentence is not None
        tables = after(cell("c", status="active" if entry.status != "active" else "archived"), of_cell(kind))
        found = tables.get("cells", empty("cells"))["status"].to_list()
        assert found == ([] if entry.status == "deleted" else [entry.status])


def test_titles_tell_the_kinds_apart() -> None:
    assert len({title_of(kind) for kind in CATALOGUE}) == len(CATALOGUE)


@pytest.mark.parametrize(
    "kind", sorted(set(CATALOGUE) - {"derivation.switched", "text.redacted"})
)  # one says what is folded at all, the other is a trace
def test_every_kind_changes_some_table_and_leaves_rows_that_validate(kind: str) -> None:
    """The history up to and with the last event of the kind differs from the one without its events.

    Each table is folded by itself: only what writes to the tables of the kind is told.
    """
    last = ALL.with_row_index().filter(pl.col("kind") == kind)["index"].max()
    assert isinstance(last, int)
    written = {write.table for write in CATALOGUE[kind].writes}
    beside = [name for name, entry in CATALOGUE.items() if written & {write.table for write in entry.writes}]
    story = scanned(ALL.head(last + 1)).filter(pl.col("kind").is_in(beside))
    tables = laid_over({}, story)
    for table, rows in tables.items():
        TABLES[table].validate(rows, lazy=True)
    assert not same(tables, laid_over({}, story.filter(pl.col("kind") != kind)))


def test_what_is_said_again_does_not_reset_what_happened_since() -> None:
    tables = after(
        cell("c", content="first"),
        events("cell.superseded", {"cell_id": "c", "superseded_by": "d", "superseded_at": NOW}),
        events(
            "cell.confirmed",
            {"cell_id": "c", "confirmations": 3, "evidence": ["t1", "t2"], "last_accessed": NOW},
        ),
        cell("c", content="second"),
    )
    assert value(tables, "cells", "c", "status") == "superseded"
    assert value(tables, "cells", "c", "content") == "first"
    assert value(tables, "cell_usage", "c", "confirmations") == 3


def test_a_turn_that_grew_and_a_source_taken_in_again_replace_the_row() -> None:
    tables = after(
        of_row("turn.recorded", "turns", "t", content="half a"),
        of_row("turn.recorded", "turns", "t", content="half a line"),
        of_row("source.recorded", "sources", "s", hash="1"),
        of_row("source.recorded", "sources", "s", hash="2"),
    )
    assert value(tables, "turns", "t", "content") == "half a line"
    assert value(tables, "sources", "s", "hash") == "2"


def test_a_patch_changes_the_columns_that_it_names_and_no_other() -> None:
    before = after(cell("c"))
    tables = laid_over(before, scanned(events("cell.assigned", {"cell_id": "c", "topic_id": "T"})))
    assert value(tables, "cells", "c", "topic_id") == "T"
    assert tables["cells"].drop("topic_id").equals(before["cells"].drop("topic_id"))


def test_a_later_patch_wins_and_null_is_a_value() -> None:
    failed = {"chunk_id": "k", "attempts": 1, "status": "failed", "error": "no JSON", "retry_at": NOW}
    tables = after(
        of_row("chunk.cut", "chunks", "k"),
        events("chunk.failed", failed),
        events("chunk.failed", {**failed, "attempts": 2}),
        events("chunk.extracted", {"chunk_id": "k", "cell_count": 1, "prompt_version": "p"}),
    )
    row = tables["chunks"].row(0, named=True)
    assert (row["status"], row["attempts"], row["error"], row["retry_at"]) == ("extracted", 2, None, None)
    assert (row["prompt_version"], row["model"]) == ("p", None)


def test_a_patch_of_an_unknown_row_is_ignored() -> None:
    patch = events("cell.archived", {"cell_id": "nobody", "effective_confidence": 0.0, "reason": "r"})
    assert after(patch) == {}
    assert set(after(patch, cell("c"))["cells"]["cell_id"]) == {"c"}


def test_a_patch_said_before_the_birth_does_not_touch_a_new_row_but_a_known_one() -> None:
    patch = events("cell.archived", {"cell_id": "c", "effective_confidence": 0.0, "reason": "r"})
    assert value(after(patch, cell("c")), "cells", "c", "status") == "active"
    known = after(cell("c", content="known"))
    tables = laid_over(known, scanned(patch, cell("c", content="again")))
    assert value(tables, "cells", "c", "status") == "archived"
    assert value(tables, "cells", "c", "content") == "known"


DELETED = events("cell.deleted", {"cell_id": "c", "content_hash": "h", "evidence": [], **OWNER})
PROMOTED = of_row("core.promoted", "core", "c", reason="chosen")


def test_deleting_takes_the_cell_its_usage_and_its_line_and_leaves_a_tombstone() -> None:
    tables = after(cell("c"), cell("d"), PROMOTED, DELETED)
    assert tables["cells"]["cell_id"].to_list() == ["d"]
    assert tables["cell_usage"]["cell_id"].to_list() == ["d"]
    assert "core" not in tables
    assert value(tables, "tombstones", "c", "content_hash") == "h"


def test_a_removal_wins_over_what_came_before_and_a_patch_after_it_is_ignored() -> None:
    patch = events("cell.flagged", {"cell_id": "c", "reason": "r"})
    assert "cells" not in after(cell("c"), patch, DELETED, patch)


def test_a_birth_after_a_removal_is_a_new_row() -> None:
    pruned = events("cell.pruned", {"cell_id": "c", "reason": "r"})
    patch = events("cell.flagged", {"cell_id": "c", "reason": "r"})
    tables = after(cell("c", content="old"), patch, pruned, patch, cell("c", content="new"))
    assert value(tables, "cells", "c", "content") == "new"
    assert value(tables, "cells", "c", "needs_review") is False


def test_a_line_that_left_core_memory_can_come_back() -> None:
    tables = after(cell("c"), PROMOTED, events("core.demoted", {"cell_id": "c", "reason": "r"}), PROMOTED)
    assert value(tables, "core", "c", "promoted_at") == NOW + timedelta(seconds=3)


def test_a_line_that_a_person_took_out_says_so_until_it_is_put_back_or_confirmed() -> None:
    struck = events("core.struck", {"cell_id": "c"})
    tables = after(cell("c"), PROMOTED, struck)
    assert "core" not in tables
    assert value(tables, "cell_usage", "c", "demoted_at") == NOW + timedelta(seconds=2)
    protected = events("cell.protected", {"cell_id": "c", "confidence": 1.0, "note": None})
    for back in (PROMOTED, protected):
        assert value(after(cell("c"), PROMOTED, struck, back), "cell_usage", "c", "demoted_at") is None


def test_the_gate_closes_the_chunks_that_it_refuses_and_no_other() -> None:
    tables = after(
        of_row("chunk.cut", "chunks", "good"),
        of_row("chunk.cut", "chunks", "idle"),
        events(
            "chunk.gated", {"chunk_id": "good", "is_worth": True}, {"chunk_id": "idle", "is_worth": False}
        ),
    )
    assert dict(tables["chunks"].select("chunk_id", "status").rows()) == {
        "good": "pending",
        "idle": "gated_out",
    }


def test_a_summary_marks_the_cells_that_it_was_written_from() -> None:
    opened = events("topic.opened", {"topic_id": "T", "name": "n", **OWNER})
    counted = events("topic.counted", {"topic_id": "T", "cell_count": 2, "unsummarized_count": 2})
    written = {"topic_id": "T", "summary": "s", "compressed": "c"}
    tables = after(
        cell("c"), cell("d"), opened, counted, events("topic.summarized", {**written, "cell_ids": ["c"]})
    )
    assert dict(tables["cells"].select("cell_id", "is_summarized").rows()) == {"c": True, "d": False}
    assert value(tables, "topics", "T", "unsummarized_count") == 0
    none = after(cell("c"), opened, events("topic.summarized", {**written, "cell_ids": []}))
    assert value(none, "cells", "c", "is_summarized") is False
