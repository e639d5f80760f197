"""What `erase` looks through and what it leaves alone, over every table and every kind of event."""

import pytest

from slowwave.journal.catalogue import CATALOGUE
from slowwave.rewrite.erase_plan import ERASED, ErasePlan
from slowwave.rewrite.transform import Event, texts_of
from slowwave.schemas.tables import TABLES, TIMESTAMP, frame_schema
from slowwave.schemas.text_columns import is_reference, is_text, text_columns

WORD = "2026"
OWNED = {"user_id": "ana", "project_id": "kiln", "scope": "user-private", "content_hash": "h"}


def test_a_column_of_text_that_nobody_thought_of_is_looked_through():
    names = {"content", "steps", "template", "summary", "entities", "source_name", "value"}
    assert names <= set(text_columns("cells"))
    assert is_text("a_new_one", frame_schema("cells")["content"])
    assert is_text("new_ones", frame_schema("cells")["steps"])


def test_ids_owners_choices_and_times_are_no_text():
    names = {
        "cell_id",
        "user_id",
        "scope",
        "status",
        "cell_type",
        "evidence",
        "supersedes",
        "valid_from",
        "model",
    }
    assert names.isdisjoint(text_columns("cells"))
    assert {"relation", "source_id", "target_id"}.isdisjoint(text_columns("edges"))
    assert {"entity_type", "artifact_type", "effect"}.isdisjoint(
        name for table in TABLES for name in text_columns(table)
    )


@pytest.mark.parametrize("kind", CATALOGUE)
def test_of_every_event_the_texts_are_masked_and_nothing_else(kind: str):
    payload = {
        name: [WORD, "other"] if "List" in str(dtype) else f"{WORD}-05-01" if dtype == TIMESTAMP else WORD
        for name, dtype in CATALOGUE[kind].payload.items()
    }
    (after,) = ErasePlan(texts=[WORD], is_text=True).after([Event("e", kind, payload)])
    assert after is not None
    if kind in ("cell.erased", "turn.erased"):
        assert after == payload
        return
    for name, dtype in CATALOGUE[kind].payload.items():
        if is_text(name, dtype):
            assert after[name] in (ERASED, [ERASED, "other"]), name
        else:
            assert after[name] == payload[name], name
    assert texts_of(kind, payload).keys() == {
        name for name, dtype in CATALOGUE[kind].payload.items() if is_text(name, dtype)
    }


@pytest.mark.parametrize("kind", CATALOGUE)
def test_no_event_names_a_memory_that_goes(kind: str):
    plan = ErasePlan(cells=[{"cell_id": "gone", **OWNED}])
    for name, dtype in CATALOGUE[kind].payload.items():
        if not is_reference(name) or kind in ("cell.erased", "turn.erased"):
            continue
        is_list = "List" in str(dtype)
        payload = {name: ["gone", "left"] if is_list else "gone"}
        (after,) = plan.after([Event("e", kind, payload)])
        assert after is None or after[name] in (None, ["left"]), name
