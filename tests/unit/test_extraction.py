"""From chunks and answers to cells."""

from datetime import UTC, datetime

import polars as pl
import pytest

from slowwave.ingest.chunk import chunk_turns
from slowwave.schemas.identity import content_hash
from slowwave.schemas.tables import TABLES, frame_schema
from slowwave.trust.origins import pieces_of
from tasks.extract.cells import ANSWER_SCHEMA, extracted_cells, raw_cells, split_confirmed
from tasks.extract.grounding import grounded
from tasks.extract.pages import page_lines
from tests.rows import DAY, NOW, row, rows

LATER = datetime(2026, 9, 2, 8, tzinfo=UTC)
TURNS = rows(
    "turns",
    row("turns", "t1", content="Kiln 2 runs at 1040.", speaker="Ana", event_time=DAY),
    row("turns", "t2", content="Noted.", role="assistant", origin="agent", turn_index=1, event_time=LATER),
    row("turns", "t3", content="# Kilns", role="document", origin="untrusted", turn_index=2, event_time=DAY),
)
CHUNKS = rows(
    "chunks",
    row(
        "chunks",
        "k1",
        turn_ids=["t1", "t2"],
        last_char=6,
        event_time=LATER,
        model="failed-on-it",
        error="no JSON",
    ),
    row("chunks", "k2", turn_ids=["t3"], last_char=7, session_id="other"),
)
SHOWN = chunk_turns(CHUNKS, TURNS)
PAGES = CHUNKS.with_columns(page=pl.Series([1, 2], dtype=pl.Int64))
LINES = page_lines(PAGES, TURNS, CHUNKS.clear())
PIECES = pieces_of(LINES.select("page", "turn_id").join(TURNS, on="turn_id"))


def test_without_a_model_a_chunk_becomes_one_cell_of_what_was_said():
    cells = raw_cells(CHUNKS, SHOWN, decay_rate=0.1, now=NOW)
    TABLES["cells"].validate(cells, lazy=True)
    assert cells["content"].to_list() == ["Ana: Kiln 2 runs at 1040.\nassistant: Noted.", "# Kilns"]
    assert cells["origin"].to_list() == ["agent", "untrusted"]
    assert cells["evidence"].to_list() == [["t1", "t2"], ["t3"]]
    first = cells.row(0, named=True)
    wanted = {"cell_type": "fact", "salience": 0.5, "confidence": 1.0, "prompt_version": "raw", "model": None,
              "status": "active", "is_judged": False, "recorded_at": NOW, "event_time": LATER, "valid_from": LATER,
              "chunk_id": "k1", "topic_id": None, "entities": [], "artifacts": []}  # fmt: skip
    assert {name: first[name] for name in wanted} == wanted


def answers(*given: dict[str, object]) -> pl.DataFrame:
    plain: dict[str, object] = {
        name: "" if kind == pl.String() else [] if isinstance(kind, pl.List) else 0
        for name, kind in ANSWER_SCHEMA.items()
    }
    whole = [
        {**plain, "page": 1, "cell_type": "fact", "content": "Kiln 2 runs at 1040.", "salience": 0.7,
         "confidence": 0.9, "evidence": [1], "relation": "new", **one} for one in given
    ]  # fmt: skip
    return pl.DataFrame(whole, schema=ANSWER_SCHEMA, orient="row").with_columns(
        prompt_version=pl.lit("extract_cells.v1"), model=pl.lit("m")
    )


def extracted(*given: dict[str, object]) -> pl.DataFrame:
    return extracted_cells(
        answers(*given),
        CHUNKS,
        LINES,
        PIECES,
        decay_rates={"decision": 0.05},
        default_decay_rate=0.1,
        now=NOW,
    )


def test_a_memory_keeps_the_question_that_it_answers_where_the_model_wrote_one():
    cells = extracted({"question": "How hot is the oven?"}, {"content": "Kiln 3 is new.", "question": ""})
    assert dict(cells.select("content", "question").iter_rows()) == {
        "Kiln 2 runs at 1040.": "How hot is the oven?",
        "Kiln 3 is new.": None,
    }


def test_a_memory_has_the_turns_and_the_time_of_its_evidence_and_the_origin_of_who_states_it():
    cells = extracted(
        {"evidence": [2, 1]},
        {"content": "The kiln runs hot.", "evidence": [1]},
        {"content": "Kilns stand there.", "page": 2},
    )
    TABLES["cells"].validate(cells.select(frame_schema("cells").names()), lazy=True)
    assert cells["evidence"].to_list() == [["t1", "t2"], ["t1"], ["t3"]]
    assert cells["event_time"].to_list() == [LATER, DAY, DAY]
    assert cells["origin"].to_list() == ["user", "user", "untrusted"]
    assert cells["session_id"].to_list() == ["text", "text", "other"]


def test_a_memory_is_the_word_of_the_person_who_states_it_and_not_of_who_answers():
    said = {"evidence": [1, 2], "subject": "Kiln 2", "attribute": "temperature", "value": "1040"}
    cells = extracted(
        {**said, "stated_by": 1},
        {**said, "content": "Kiln 2 is at 1040.", "stated_by": 2},
        {**said, "content": "Kiln 2 is at 900.", "value": "900", "stated_by": 1},
    )
    assert cells["origin"].to_list() == ["user", "user", "agent"]


@pytest.mark.parametrize("date", ["", "soon", "2026-13-01", "2026-02-30"])
def test_a_memory_holds_from_the_date_given_else_from_when_it_was_said(date: str):
    given = extracted({"valid_from": "2026-05-04", "valid_until": "2027-01-01"}).row(0, named=True)
    assert (given["valid_from"], given["valid_until"]) == (
        datetime(2026, 5, 4, tzinfo=UTC),
        datetime(2027, 1, 1, tzinfo=UTC),
    )
    said = extracted({"valid_from": date, "valid_until": date, "evidence": [1]}).row(0, named=True)
    assert (said["valid_from"], said["valid_until"]) == (DAY, None)


def test_only_what_the_extractor_calls_a_wish_is_one():
    cells = extracted({"content": "Ana wants the kiln hot.", "is_wish": True}, {"content": "Kiln 2 is hot."})
    assert cells["is_wish"].to_list() == [True, False]
    assert raw_cells(CHUNKS, SHOWN, decay_rate=0.1, now=NOW)["is_wish"].to_list() == [False, False]


def test_blank_fields_are_null_and_the_type_decides_how_fast_it_fades():
    cells = extracted({"cell_type": "decision", "topic": "kiln"}, {"content": "b", "subject": "kiln"})
    assert cells["decay_rate"].to_list() == [0.05, 0.1]
    assert cells["topic_hint"].to_list() == ["kiln", None]
    assert cells["subject"].to_list() == [None, "kiln"]
    assert cells["value"].to_list() == [None, None]


def test_one_session_says_one_thing_once_and_another_session_says_it_too():
    again = extracted({}, {"content": "  kiln 2 RUNS at\n1040."}, {"page": 2})
    assert again.height == 2
    assert again["cell_id"].n_unique() == 2
    assert again["content_hash"].to_list() == [content_hash("Kiln 2 runs at 1040.")] * 2
    assert again["cell_id"].to_list() == extracted({}, {"page": 2})["cell_id"].to_list()


KNOWN = pl.DataFrame(
    {"page": [1], "known": [1], "target_id": ["old"], "content": ["The kiln 2 runs at 1040."]}
)


@pytest.mark.parametrize(
    ("given", "confirmed"),
    [
        ({"relation": "confirmed", "known": 1}, True),
        ({"relation": "confirmed", "known": 1, "content": "Kiln 2 runs at 1060."}, False),
        ({"relation": "confirmed", "known": 1, "content": "Kiln 2 no longer runs at 1040."}, False),
        ({"relation": "confirmed", "known": 7}, False),
        ({"relation": "confirmed", "known": 1, "page": 2}, False),
        ({"relation": "changed", "known": 1}, False),
        ({"relation": "new", "known": 0}, False),
    ],
)
def test_a_known_memory_counts_as_confirmed_only_with_the_same_numbers_and_negations(given, confirmed):
    made = extracted(given)
    cells, said, tied = split_confirmed(made, KNOWN)
    is_told = given["relation"] != "new" and given["known"] == 1 and given.get("page") != 2
    noted = [(*cells["cell_id"], "old")] if is_told and not confirmed else []
    assert tied.select("cell_id", "target_id").rows() == noted
    assert cells.height + said.height == made.height == 1
    assert said.select("cell_id", "confirmed_by", "evidence").rows() == (
        [("old", "k1", ["t1"])] if confirmed else []
    )
    assert cells.columns == frame_schema("cells").names()


def test_a_document_that_says_a_memory_again_is_no_evidence_of_it():
    made = extracted({"relation": "confirmed", "known": 1}).with_columns(origin=pl.lit("untrusted"))
    assert split_confirmed(made, KNOWN)[1].select("cell_id", "evidence").rows() == [("old", [])]


@pytest.mark.parametrize(
    ("content", "is_kept"),
    [
        ("The glaze was changed in 2025.", True),  # "last year", said in 2026
        ("The glaze was changed in 1998.", False),
        ("The kiln holds 12 bowls.", True),  # "twelve"
        ("The kiln holds 30 bowls.", False),  # of 1030 °C
        ("They say that Momo likes Rex.", False),
    ],
)
def test_a_memory_needs_names_and_numbers_of_its_page_but_a_year_that_follows_from_it(content, is_kept):
    made = pl.DataFrame(
        {
            "cell_id": ["c"],
            "page": [0],
            "content": [content],
            "event_time": [datetime(2026, 5, 1, tzinfo=UTC)],
        }
    )
    pieces = pl.DataFrame({"page": [0], "text": ["Since last year the kiln takes twelve bowls at 1030 °C."]})
    assert grounded(made, pieces).height == int(is_kept)
