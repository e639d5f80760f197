"""A segment of version 1 with one event of every kind: it stays readable and folds to the same tables for ever.

`tests/golden/journal` holds the segment as it was first written and the tables that it folds to. The segment is
written once and never again: an event that changes shape gets a next version and an upcast. New kinds come into a
further segment beside it. Only the tables are written anew, after reading what changed, with

    RENEW_GOLDEN=1 pytest tests/golden/test_journal_golden.py
"""

import json
import os
import shutil
from pathlib import Path

import polars as pl
import pytest

from slowwave.journal.catalogue import CATALOGUE
from slowwave.journal.changes import collapse, overlay
from slowwave.journal.fold import fold
from slowwave.journal.segments import Journal
from slowwave.schemas.tables import KEYS, TABLES, empty
from tests.rows import NOW, one_of_every_kind

FOLDER = Path(__file__).parent / "journal"
TABLE_FILE = FOLDER / "tables.json"


def segments() -> list[Path]:
    return sorted(FOLDER.glob("*.jsonl"))


def renew() -> None:
    """Writes the tables anew, and the first segment where there is none yet."""
    if not segments():
        segment = Journal(FOLDER / "new").commit(one_of_every_kind(), now=NOW)
        assert segment is not None
        Journal(FOLDER / "new").path_of(segment).rename(FOLDER / f"{segment}.jsonl")
        shutil.rmtree(FOLDER / "new")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    if os.environ.get("RENEW_GOLDEN"):
        renew()
    journal = Journal(tmp_path / "journal")
    for path in segments():
        place = journal.path_of(path.stem)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    return journal


def tables_of(journal: Journal) -> dict[str, pl.DataFrame]:
    changes = collapse(fold(journal.scan().events))
    return {
        table: overlay(changes[table], empty(table)).sort(KEYS[table]) for table in TABLES if table in changes
    }


def as_text(tables: dict[str, pl.DataFrame]) -> str:
    plain = {table: json.loads(frame.write_json()) for table, frame in tables.items()}
    return json.dumps(plain, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def test_the_segments_of_version_1_stay_whole_and_hold_every_kind(journal: Journal) -> None:
    scan = journal.scan()
    assert len(journal.segment_ids()) >= 1
    assert scan.problems == ()
    assert set(scan.events["kind"]) == set(CATALOGUE), "a new kind comes into a further golden segment"
    assert scan.events["version"].min() == 1


def test_the_segments_of_version_1_fold_to_the_same_tables_for_ever(journal: Journal) -> None:
    tables = tables_of(journal)
    text = as_text(tables)
    if os.environ.get("RENEW_GOLDEN"):
        TABLE_FILE.write_text(text, encoding="utf-8")
    assert TABLE_FILE.read_text(encoding="utf-8") == text, "read the change, then renew with RENEW_GOLDEN=1"


def test_the_tables_of_the_segments_are_valid_rows(journal: Journal) -> None:
    tables = tables_of(journal)
    assert set(tables) == set(TABLES) - {"passages"}  # derived from turns and chunks by the store
    for table, frame in tables.items():
        TABLES[table].validate(frame, lazy=True)
        assert frame.height > 0, table
