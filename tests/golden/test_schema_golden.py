"""Tables and payloads change only with their version: an old store or segment must never be read wrongly.

`RENEW_GOLDEN=1 pytest tests/golden/test_schema_golden.py` writes what a raised version says, in place of the former.
"""

import json
import os
from pathlib import Path

from slowwave.journal.catalogue import CATALOGUE
from slowwave.schemas.tables import TABLES, frame_schema
from slowwave.store.layout import SCHEMA_VERSION

FOLDER = Path(__file__).parent / "schema"


def shape(schema: object) -> dict[str, str]:
    """Columns with their types, as text."""
    return {name: str(kind) for name, kind in dict(schema).items()}


def recorded(name: str, today: dict[str, object]) -> dict[str, object]:
    """The record of a file; where RENEW_GOLDEN asks for it, with entries for raised versions, without former ones."""
    path = FOLDER / name
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if os.environ.get("RENEW_GOLDEN"):
        known = {version: known.get(version, shapes) for version, shapes in today.items()}
        FOLDER.mkdir(exist_ok=True)
        path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return known


def test_a_changed_table_raises_the_version_of_the_store() -> None:
    today = {str(SCHEMA_VERSION): {table: shape(frame_schema(table)) for table in TABLES}}
    assert recorded("tables.json", today).get(str(SCHEMA_VERSION)) == today[str(SCHEMA_VERSION)], (
        "raise SCHEMA_VERSION in slowwave/store/layout.py unless you did, then renew with RENEW_GOLDEN=1"
    )


def test_a_changed_payload_raises_the_version_of_its_kind() -> None:
    today = {f"{kind} {entry.version}": shape(entry.payload) for kind, entry in CATALOGUE.items()}
    known = recorded("payloads.json", today)
    changed = [name for name, payload in today.items() if known.get(name) != payload]
    assert changed == [], (
        "say in the kind's `added` what older events mean, which raises its version; then renew with RENEW_GOLDEN=1"
    )


def test_a_step_of_a_kind_adds_columns_of_its_payload() -> None:
    added = {(name, kind) for kind, entry in CATALOGUE.items() for step in entry.added for name in step}
    assert {(name, kind) for name, kind in added if name not in CATALOGUE[kind].payload} == set()


def test_the_columns_of_a_table_are_those_that_pandera_checks() -> None:
    for table, model in TABLES.items():
        checked = {name: column.dtype.type for name, column in model.to_schema().columns.items()}
        assert dict(frame_schema(table)) == checked, table
