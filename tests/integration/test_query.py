"""Questions to a store that was made from events: tiers, filters, the past, and why something was found."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from slowwave.errors import InputError
from slowwave.home.paths import Home, open_home
from slowwave.home.workspace import open_workspace
from slowwave.journal.catalogue import encode
from slowwave.recall.reader import Reader, open_reader
from slowwave.recall.search import NOTHING_ELSE, NOTHING_KNOWN, ask
from slowwave.recall.search import answer as answer_request
from slowwave.schemas.results import Cell, SearchResult
from slowwave.schemas.search import Filters, SearchRequest
from tests.rows import row, rows

JUNE, JULY, AUGUST, NIGHT = (datetime(2026, month, 10, tzinfo=UTC) for month in (6, 7, 8, 9))
OWNER = {"user_id": "local", "project_id": "default", "scope": "user-private"}


def cell(key: str, content: str, at: datetime, **given: object) -> dict[str, object]:
    plain = {
        "content_hash": key,
        "event_time": at,
        "valid_from": at,
        "recorded_at": NIGHT,
        "evidence": [],
        **OWNER,
    }
    return row("cells", key, content=content, **{**plain, "entities": [], "artifacts": [], **given})


def rate(key: str, value: str, at: datetime, **given: object) -> dict[str, object]:
    named = {"subject": "departures endpoint", "attribute": "rate limit", "value": value}
    return cell(
        key, f"The rate limit of the departures endpoint is {value} requests.", at, **{**named, **given}
    )


CELLS = [
    rate("r1", "100", JUNE),
    rate("r2", "250", JULY, entities=["Skerry Travel (organization)"]),
    rate("r3", "180", AUGUST, cell_type="decision"),
    cell("red", "Server-side sessions live in Redis with the cookie kw_sid.", JUNE),
    cell("jwt", "The login signs tokens with Ed25519.", JULY, cell_type="decision", evidence=["t0", "t1"]),
    cell("p1", "The staging port is 5433.", JUNE),
    cell("p2", "The staging port is 6432.", JULY, event_time=JULY + timedelta(hours=8)),
    cell("tue", "The settlement job runs on Tuesdays.", JUNE),
    cell("thu", "The settlement job runs on Thursdays.", JULY),
    cell(
        "mara", "She wants short commit messages.", JULY, cell_type="preference", entities=["Mara (person)"]
    ),
    cell("red crane", "The crane at the quay was painted red.", JUNE),
    cell("blue crane", "The crane at the quay was painted blue.", JULY),
    cell("ben", "The rate limit of a stranger is 7.", JULY, user_id="ben"),
    cell("open", "The rate limit of the shared gateway is 900.", JULY, user_id="ben", scope="project-shared"),
]
RETIRED = [("r1", "r2", JULY), ("r2", "r3", AUGUST), ("red", "jwt", JULY), ("p1", "p2", JULY)]
TURNS = rows(
    "turns",
    *(
        row("turns", f"t{i}", session_id="s", turn_index=i, content=text, event_time=JULY, **OWNER)
        for i, text in enumerate(
            ["Shall we sign the tokens?", "Yes, with the curve.", "Then the ferry sails."]
        )
    ),
)


def events() -> Iterator[pl.DataFrame]:
    yield encode("turn.recorded", TURNS)
    yield encode("cell.extracted", rows("cells", *CELLS))
    yield encode(
        "cell.superseded",
        pl.DataFrame(
            [
                {
                    "cell_id": old,
                    "superseded_by": new,
                    "superseded_at": NIGHT + timedelta(days=1),
                    "valid_until": until,
                    "verdict": "updates",
                    "prompt_version": "p",
                    "model": "m",
                }
                for old, new, until in RETIRED
            ]
        ),
    )
    doubt = row("contradictions", "d", cell_a="tue", cell_b="thu", status="open", **OWNER)
    yield encode(
        "contradiction.opened",
        rows("contradictions", doubt).with_columns(prompt_version=pl.lit("p"), model=pl.lit("m")),
    )


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    home = tmp_path_factory.mktemp("query")
    (home / "slowwave.toml").write_text('[embedding]\nprovider = "wordllama"\n', encoding="utf-8")
    with open_workspace(home) as workspace:
        for part in events():
            workspace.commit(part, now=NIGHT)
        workspace.refresh_vectors()
    return open_reader(open_home(home))


def found(reader: Reader, question: str, **filters: object) -> list[str]:
    return [hit.cell_id for hit in answer(reader, question, **filters).cells]


def answer(reader: Reader, question: str, **filters: object) -> SearchResult:
    return ask(reader, question, limit=25, filters=Filters.model_validate(filters), now=NIGHT)


def hit_of(result: SearchResult, cell_id: str) -> Cell:
    return next(hit for hit in result.cells if hit.cell_id == cell_id)


def test_the_current_value_is_shown_with_its_history_and_former_ones_do_not_answer(reader: Reader):
    result = answer(reader, "What is the rate limit of the departures endpoint?")
    assert {"r1", "r2"}.isdisjoint(hit.cell_id for hit in result.cells)
    history = hit_of(result, "r3").history
    assert [(value.value, value.valid_from, value.valid_until) for value in history] == [
        ("250", JULY, AUGUST),
        ("100", JUNE, JULY),
    ]


def test_a_store_whose_tables_a_run_held_answers_questions(tmp_path: Path):
    with open_workspace(tmp_path / "held") as workspace:
        one = rows("cells", cell("ferry", "The ferry sails at dawn.", JUNE))
        workspace.commit(encode("cell.extracted", one), now=JUNE)
        assert workspace.store.rows("cells", ["cell_id"]).height == 1
        assert found(Reader(workspace.home, workspace.store, None, ""), "ferry") == ["ferry"]


def test_a_search_is_one_question_to_the_tables_in_memory(reader: Reader, monkeypatch: pytest.MonkeyPatch):
    begun = []
    monkeypatch.setattr(reader.store, "begin_question", lambda: begun.append("question"))
    found = answer_request(reader, SearchRequest(query="rate limit of the departures endpoint"), now=NIGHT)
    assert all(hit.rank.excerpt for hit in found.cells)
    assert begun == ["question"]


def test_a_memory_that_is_shown_fades_in_search_as_it_does_at_night(tmp_path: Path):
    shown = {"retrieval_count": 4, "retrieved_at": NIGHT, "citation_count": 0, "ignore_count": 0}
    with open_workspace(tmp_path / "shown") as workspace:
        two = [
            cell(key, f"The ferry {key} sails at dawn.", JUNE, recorded_at=JUNE) for key in ("anna", "berta")
        ]
        workspace.commit(encode("cell.extracted", rows("cells", *two)), now=JUNE)
        usage = rows("cell_usage", row("cell_usage", "berta", **shown, last_accessed=JUNE))
        workspace.commit(encode("cell_usage.folded", usage), now=NIGHT)
    hits = answer(open_reader(open_home(tmp_path / "shown")), "Which ferry sails at dawn?").cells
    assert [hit.cell_id for hit in hits] == ["berta", "anna"]
    assert hits[0].rank.why["prior"] > hits[1].rank.why["prior"]


def test_a_question_in_the_words_of_a_former_value_finds_what_took_its_place(reader: Reader):
    result = answer(reader, "server-side sessions in Redis, cookie kw_sid")
    assert "red" not in [hit.cell_id for hit in result.cells]
    assert result.cells[0].cell_id == "jwt"


@pytest.mark.parametrize(
    ("moment", "value"),
    [(JUNE, "r1"), (JULY - timedelta(days=1), "r1"), (JULY, "r2"), (AUGUST, "r3"), (NIGHT, "r3")],
)
def test_the_past_is_answered_with_what_held_then(reader: Reader, moment: datetime, value: str):
    hits = [
        key for key in found(reader, "rate limit of the departures endpoint", as_of=moment) if key[0] == "r"
    ]
    assert hits[:1] == [value]
    assert {"r1", "r2", "r3"} & set(hits) == {value}


@pytest.mark.parametrize(("hours", "port"), [(-1, "p1"), (0, "p1"), (7, "p1"), (8, "p2"), (30, "p2")])
def test_one_value_holds_at_every_moment_of_the_day_on_which_it_changed(
    reader: Reader, hours: int, port: str
):
    moment = JULY + timedelta(hours=hours)
    hits = [hit for hit in answer(reader, "staging port", as_of=moment).cells if hit.cell_id in ("p1", "p2")]
    assert [(hit.cell_id, hit.status, hit.valid_until) for hit in hits] == [(port, "active", None)]


def test_the_past_shows_only_the_history_that_there_was(reader: Reader):
    result = answer(reader, "rate limit of the departures endpoint", as_of=JULY)
    hit = hit_of(result, "r2")
    assert (hit.status, hit.valid_until, [value.value for value in hit.history]) == ("active", None, ["100"])


def test_before_anything_was_said_nothing_is_known(reader: Reader):
    assert found(reader, "rate limit", as_of=JUNE - timedelta(days=1)) == []


def test_the_second_clock_tells_what_had_been_learned(reader: Reader):
    assert found(reader, "rate limit of the departures endpoint", known_at=NIGHT - timedelta(hours=1)) == []
    before_the_judgement = found(reader, "rate limit of the departures endpoint", known_at=NIGHT)
    assert (
        "r3" in before_the_judgement
    )  # three live values then: the latest stands, the others are its history
    both = answer(reader, "rate limit of the departures endpoint", known_at=NIGHT)
    assert {value.cell_id for value in hit_of(both, "r3").history} == {"r1", "r2"}


def test_filters_narrow_and_never_widen(reader: Reader):
    everything = set(found(reader, "rate limit settlement job login commit messages"))
    assert "ben" not in everything
    assert set(found(reader, "rate limit", scope="project-shared")) == {"open"}
    assert found(reader, "rate limit", scope="system") == []
    assert set(found(reader, "rate limit login", cell_types=["decision"])) <= {"r3", "jwt"}
    assert set(found(reader, "rate limit settlement", after=AUGUST)) == {"r3"}
    assert "r3" not in found(reader, "rate limit settlement", before=AUGUST)
    assert found(reader, "rate limit", source_type="file") == []


def test_an_entity_is_found_by_its_name_in_any_case(reader: Reader):
    assert found(reader, "what does anyone want", entity="mara") == ["mara"]
    assert found(reader, "what does anyone want", entity="Mar") == []


def test_a_person_named_in_the_question_reaches_memories_that_do_not_say_the_name(reader: Reader):
    (hit,) = answer(reader, "What commit messages does Mara want?").cells
    assert (hit.cell_id, "Mara" in hit.content, hit.rank.why["coverage"]) == ("mara", False, 1)


def test_an_open_contradiction_is_one_result_that_leads_with_both_sides(reader: Reader):
    result = answer(reader, "which weekday does the settlement job run")
    (hit,) = [hit for hit in result.cells if hit.cell_id in ("tue", "thu")]
    assert hit.has_open_contradiction
    assert hit.rival is not None
    assert {hit.cell_id, hit.rival.cell_id} == set(result.lead_ids) == {"tue", "thu"}
    assert result.lead == (
        "Undecided: The settlement job runs on Tuesdays [2026-06-10] or "
        "The settlement job runs on Thursdays [2026-07-10]"
    )


@pytest.mark.parametrize(("month", "first"), [("June", "red crane"), ("July", "blue crane")])
def test_a_time_in_the_question_draws_what_happened_then_and_excludes_nothing(
    reader: Reader, month: str, first: str
):
    result = answer(reader, f"how was the crane at the quay painted in {month}?")
    assert result.after is not None
    assert (result.after.day, f"{result.after:%B}") == (1, month)
    assert result.cells[0].cell_id == first
    assert {"red crane", "blue crane"} <= {hit.cell_id for hit in result.cells}


@pytest.mark.parametrize("provider", ["wordllama", "none"])
def test_a_question_about_nothing_but_a_time_is_answered_with_what_was_said_then(
    reader: Reader, provider: str
):
    reader = reader if provider == "wordllama" else replace(reader, embedder=None)
    result = answer(reader, "what happened in July?")
    assert result.topics == []
    assert {"blue crane", "jwt", "p2", "mara"} <= {hit.cell_id for hit in result.cells}
    assert all(result.after <= hit.event_time < result.before for hit in result.cells)
    assert (
        "no memory that may be found is of that time (in March)"
        in answer(reader, "what happened in March?").notes
    )


def test_places_that_no_summary_takes_go_to_memories(reader: Reader):
    past = ask(
        reader, "staging settlement login rate limit", limit=5, filters=Filters(as_of=NIGHT), now=NIGHT
    )
    assert (len(past.topics), len(past.cells)) == (0, 5)


def test_the_past_knows_no_contradiction_of_which_one_side_was_not_said_yet(reader: Reader):
    before = ask(reader, "settlement job", filters=Filters(as_of=JULY - timedelta(days=1)), now=NIGHT)
    assert {hit.cell_id for hit in before.cells if hit.cell_id in ("tue", "thu")} == {"tue"}
    assert not any(hit.has_open_contradiction for hit in before.cells)
    after = ask(reader, "settlement job", filters=Filters(as_of=AUGUST), now=NIGHT)
    (hit,) = [hit for hit in after.cells if hit.rival is not None]
    assert {hit.cell_id, hit.rival.cell_id} == {"tue", "thu"}


def test_an_answer_with_episodes_of_the_past_says_that_they_may_hold_what_came_later(reader: Reader):
    asked = Filters(cell_types=("episode",), as_of=JULY)
    notes = ask(reader, "rate limit", filters=asked, now=NIGHT).notes
    assert "episodes are written anew as memory changes: they may hold what came later" in notes
    assert "no memory that may be found passes the filters: type" in notes


def test_from_within_a_project_that_nothing_is_of_the_homes_own_memories_are_found(reader: Reader):
    wanted = [cell.cell_id for cell in answer(reader, "rate limit").cells]
    reader.named("another", may_be_new=True)
    for project in (reader.settings.owner.project_id, "another"):
        found = ask(reader, "rate limit", filters=Filters(project=project), now=NIGHT)
        assert [cell.cell_id for cell in found.cells] == wanted


def test_a_home_that_keeps_to_its_project_finds_nothing_of_another(reader: Reader):
    owner = reader.settings.owner.model_copy(update={"project_from": "setting"})
    kept = replace(reader, home=Home(reader.settings.model_copy(update={"owner": owner})))
    with pytest.raises(InputError, match="keeps to the project"):
        ask(kept, "rate limit", filters=Filters(project="another"), now=NIGHT)


@pytest.mark.parametrize("question", ["current rate limit", "What is the rate limit currently?"])
def test_who_asks_for_the_current_value_asks_for_the_value(reader: Reader, question: str):
    assert answer(reader, question).cells[0].cell_id == "r3"


def test_the_property_that_a_question_names_and_nothing_else_comes_first(reader: Reader):
    first = answer(reader, "rate limit").cells[0]
    assert (first.cell_id, first.attribute, len(first.history)) == ("r3", "rate limit", 2)


def test_evidence_is_the_turns_in_their_order_and_the_turns_that_answer_themselves(reader: Reader):
    result = ask(reader, "sign tokens with the curve", detail_level="evidence", now=NIGHT)
    assert [turn.turn_id for turn in hit_of(result, "jwt").evidence] == ["t0", "t1"]
    assert {turn.turn_id for turn in result.turns[:2]} == {"t0", "t1"}
    assert all("coverage" in turn.rank.why for turn in result.turns)


def test_what_is_not_about_the_question_is_no_answer_and_the_answer_says_so(reader: Reader):
    unknown = answer(reader, "quantum chromodynamics lattice")
    assert (unknown.lead, unknown.cells, unknown.notes) == ("", [], [NOTHING_KNOWN])
    assert found(reader, "quantum chromodynamics lattice", cell_types=("decision",)), (
        "a filter asks for what there is"
    )


def test_what_matches_less_than_half_as_well_as_the_best_is_left_out_and_the_answer_says_so(reader: Reader):
    result = answer(reader, "which curve signs the tokens of the login")
    assert result.cells[0].cell_id == "jwt"
    matched = [hit.rank.why["fused"] * hit.rank.why["match"] for hit in result.cells]
    assert min(matched) >= max(matched) / 2
    assert NOTHING_ELSE in result.notes
    assert NOTHING_ELSE not in answer(reader, "login", cell_types=("decision",)).notes


def test_a_message_that_no_night_has_read_answers_beside_memories_and_leads_where_it_is_best(reader: Reader):
    result = answer(reader, "when does the ferry sail")
    assert [(turn.turn_id, turn.is_unread) for turn in result.turns] == [("t2", True)]
    assert (result.lead_ids, "Then the ferry sails." in result.lead) == (["t2"], True)
    assert answer(reader, "when does the ferry sail", cell_types=("decision",)).turns == []
    assert answer(reader, "rate limit of the departures endpoint").turns == []


def test_the_columns_of_a_hit_explain_its_score(reader: Reader):
    result = ask(reader, "rate limit in July, and who signs the tokens", limit=25, now=NIGHT)
    assert len(result.cells) > 3
    for hit in result.cells:
        why = hit.rank.why
        assert all(0 <= why[name] <= 1 for name in ("fused", "match", "prior", "coverage", "strength", "key"))
        whole = why["fused"] * why["match"] * why["prior"] * why["kind"] * (3 if why["in_period"] else 1)
        # state, shape and property change the whole by so much at most
        assert 0.25 * whole - 1e-9 <= hit.rank.score <= 2.5 * whole + 1e-9
    assert any(hit.rank.why["in_period"] for hit in result.cells)
    assert [hit.rank.score for hit in result.cells] == sorted(
        (hit.rank.score for hit in result.cells), reverse=True
    )


def test_a_smaller_limit_shows_the_first_of_the_same_answers(reader: Reader):
    question = "staging port, settlement job, rate limit, login tokens, crane"
    ten = ask(reader, question, limit=10, now=NIGHT)
    five = ask(reader, question, limit=5, now=NIGHT)
    assert [hit.cell_id for hit in five.cells] == [hit.cell_id for hit in ten.cells][:5]
    assert five.lead == ten.lead


def test_without_an_embedder_words_alone_answer_and_the_answer_says_so(tmp_path: Path):
    (tmp_path / "slowwave.toml").write_text('[embedding]\nprovider = "none"\n', encoding="utf-8")
    with open_workspace(tmp_path) as workspace:
        for part in events():
            workspace.commit(part, now=NIGHT)
    result = ask(open_reader(open_home(tmp_path)), "rate limit", now=NIGHT)
    assert result.cells
    assert all(hit.rank.why["vector_rank"] == hit.rank.why["similarity"] == 0 for hit in result.cells)
    assert result.notes


def test_a_reader_sees_the_first_store_and_later_writes(tmp_path: Path):
    (tmp_path / "slowwave.toml").write_text('[embedding]\nprovider = "wordllama"\n', encoding="utf-8")
    reader = open_reader(open_home(tmp_path))
    assert ask(reader, "kiln").notes == ["No memory yet"]
    with open_workspace(tmp_path) as workspace:
        workspace.commit(
            encode("cell.extracted", rows("cells", cell("a", "The kiln is hot.", JUNE))), now=NIGHT
        )
        assert found(reader, "kiln") == ["a"]
        workspace.commit(
            encode("cell.extracted", rows("cells", cell("b", "The kiln is cold.", JUNE))), now=NIGHT
        )
        assert set(found(reader, "kiln")) == {"a", "b"}


@pytest.mark.parametrize(
    ("question", "limit"), [(" ", 5), ("\x00", 5), ("x" * 100_001, 5), ("kiln", 0), ("kiln", 26)]
)
def test_what_cannot_be_asked_is_refused_in_one_line(reader: Reader, question: str, limit: int):
    with pytest.raises(InputError) as refused:
        ask(reader, question, limit=limit)
    assert len(str(refused.value)) < 200
