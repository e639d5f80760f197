"""The link stage over real homes: entities, causes and what the graph answers, with and without a model."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from flows.link import link
from flows.rebuild import rebuild
from slowwave import Memory
from slowwave.errors import InputError, NotFoundError
from slowwave.home.workspace import open_workspace
from slowwave.interfaces.cli.program import program
from slowwave.recall.graph import cells_naming, chain, entities_named, reasons
from slowwave.schemas.report import StageReport
from slowwave.schemas.search import Direction
from slowwave.settings.groups import ScopeSettings
from tests.rows import DAY, NOW, events, of_row
from tests.scripted_model import ScriptedModel, store_of, tables, write_settings
from tests.servers import OpenAIServer

OWNER = {"user_id": "local", "project_id": "default", "scope": "user-private"}
MINE = ScopeSettings()
GRAPH = ["entities", "mentions", "edges", "artifacts", "links"]


def cell(key: str, content: str, *entities: str, day: int = 1, **given: object) -> pl.DataFrame:
    """A memory that names some people and things, said on a day."""
    when = DAY + timedelta(days=day)
    plain = {"content": content, "entities": [*entities], "artifacts": [], "evidence": [f"turn-of-{key}"]}
    times = {"event_time": when, "valid_from": when, "session_id": f"s{day}"}
    return of_row("cell.extracted", "cells", key, **{**OWNER, **plain, **times, "origin": "user", **given})


def superseded(old: str, new: str, *, at: datetime = NOW) -> pl.DataFrame:
    dates = {"superseded_at": at, "valid_until": at}
    by = {"superseded_by": new, "verdict": "updates", "prompt_version": "reconcile_cells.v1", "model": "m"}
    return events("cell.superseded", {"cell_id": old, **dates, **by})


def record(home: str, *parts: pl.DataFrame) -> None:
    with open_workspace(home) as workspace:
        workspace.commit(pl.concat(parts), now=NOW)


def graph(home: str) -> dict[str, pl.DataFrame]:
    found = tables(home)
    return {name: found[name].drop("updated_at", "recorded_at", "linked_at", strict=False) for name in GRAPH}


def causes(home: str) -> list[tuple[str, str]]:
    """Ends of the edges."""
    return sorted(store_of(home).rows("edges").select("source_id", "target_id").rows())


@pytest.fixture
def home(tmp_path: Path) -> str:
    return write_settings(tmp_path / "home", embedding={"provider": "none"})


@pytest.fixture
def spoken(home: str) -> str:
    """A home with a small story, linked."""
    record(
        home,
        cell("port1", "The port of staging is 5432.", "Postgres 16 (tool)", "Mara (person)", subject="staging database",
             attribute="port", value="5432", artifacts=["file:config/db.toml"]),
        cell("port2", "The port of staging is 6432.", "PostgreSQL (tool)", day=2, subject="staging database",
             attribute="port", value="6432"),
        cell("mara", "Mara Lindqvist wants short answers.", "Mara Lindqvist (person)", day=3, cell_type="preference",
             subject="Mara Lindqvist", attribute="answers", value="short"),
        superseded("port1", "port2"),
    )  # fmt: skip
    link.fn(home=home)
    return home


def test_names_become_entities_with_aliases_and_counts_and_artifacts_are_listed(spoken: str) -> None:
    entities = store_of(spoken).rows("entities").sort("canonical_name")
    assert entities.select("canonical_name", "entity_type", "aliases", "mention_count").rows() == [
        ("Mara Lindqvist", "person", ["Mara"], 2),
        ("PostgreSQL", "tool", ["Postgres 16"], 2),
    ]
    assert store_of(spoken).count("edges") == 0, "what other tables say is drawn nowhere"
    artifacts = store_of(spoken).rows("artifacts")
    assert artifacts.select("cell_id", "artifact_type", "reference").rows() == [
        ("port1", "file", "config/db.toml")
    ]


def test_a_second_run_changes_nothing_and_a_rebuild_gives_the_same_graph(spoken: str) -> None:
    before = graph(spoken)
    assert link.fn(home=spoken).is_skipped
    rebuild.fn(home=spoken)
    for name, rows in graph(spoken).items():
        assert rows.equals(before[name]), name


def test_a_dry_run_tells_and_writes_nothing(home: str) -> None:
    record(home, cell("a", "Mara is here.", "Mara (person)"))
    assert link.fn(home=home, dry_run=True).counts["entity.resolved"] == 1
    assert store_of(home).count("entities") == 0


def test_owners_never_share_an_entity_and_see_no_other_ones(home: str) -> None:
    record(
        home,
        cell("mine", "Mara came.", "Mara (person)"),
        cell("theirs", "Mara left.", "Mara (person)", user_id="ben"),
    )
    link.fn(home=home)
    store = store_of(home)
    assert store.rows("entities")["mention_count"].to_list() == [1, 1]
    assert cells_naming(store, MINE, "mara") == ["mine"]
    assert cells_naming(store, ScopeSettings(user_id="ben"), "mara") == ["theirs"]


def test_what_is_deleted_leaves_the_graph_and_its_name_with_it(spoken: str) -> None:
    gone = [{"cell_id": key, "content_hash": "h", "evidence": [], **OWNER} for key in ("mara", "port1")]
    record(spoken, events("cell.deleted", *gone))
    link.fn(home=spoken)
    assert store_of(spoken).rows("entities").select("canonical_name", "mention_count").rows() == [
        ("PostgreSQL", 1)
    ]
    assert store_of(spoken).count("artifacts") == 0
    assert store_of(spoken).rows("links")["cell_id"].to_list() == ["port2"]
    assert link.fn(home=spoken).is_skipped


def test_a_chain_follows_what_cells_and_judgements_say_now(home: str) -> None:
    pair = {"cell_id": "more", "target_id": "v1", "effect": "elaborated", "verdict": "completes"}
    record(
        home,
        *(cell(key, f"The value is {key}.", day=n) for n, key in enumerate(["v0", "v1", "v2", "more"])),
        superseded("v0", "v1"),
        of_row("pair.judged", "judgements", "j", **pair, **OWNER),
    )

    def reached(key: str, direction: Direction) -> list[tuple[str, str]]:
        steps = chain(store_of(home), MINE, [key], direction=direction, depth=2)
        return [(row["cell_id"], row["relation"]) for row in steps]

    assert reached("more", "back") == [("v1", "elaborates"), ("v0", "supersedes")]
    assert reached("v0", "forward") == [("v1", "supersedes"), ("more", "elaborates")]
    record(home, superseded("v0", "v2"))
    assert reached("v0", "forward") == [("v2", "supersedes")]
    record(home, events("cell.revived", {"cell_id": "v0", "revived_count": 1, "last_accessed": NOW}))
    assert reached("v0", "forward") == []


def test_a_raw_memory_names_who_speaks_and_leaves_when_it_is_retired(home: str) -> None:
    said = of_row("turn.recorded", "turns", "t1", **OWNER, speaker="Priya", content="See docs/deploy.md.")
    raw = cell("raw", "Priya: See docs/deploy.md.", prompt_version="raw", evidence=["t1"])
    record(home, said, raw)
    report = link.fn(home=home)
    assert any("without a language model" in note for note in report.notes)
    assert store_of(home).rows("entities")["canonical_name"].to_list() == ["Priya"]
    assert store_of(home).rows("artifacts")["reference"].to_list() == ["docs/deploy.md"]
    record(home, events("cell.retired", {"cell_id": "raw", "superseded_at": NOW}))
    link.fn(home=home)
    assert {table: store_of(home).count(table) for table in GRAPH} == dict.fromkeys(GRAPH, 0)


# Questions


def test_people_and_things_are_found_by_any_of_their_names(spoken: str) -> None:
    store = store_of(spoken)

    def named(name: str) -> list[str]:
        return entities_named(store, MINE, name)["canonical_name"].to_list()

    assert (named("Mara"), named("Postgres 17"), named("mysql")) == (["Mara Lindqvist"], ["PostgreSQL"], [])
    assert cells_naming(store, MINE, "postgresql") == ["port1", "port2"]
    assert cells_naming(store, MINE, "mara lindqvist's") == ["mara", "port1"]
    assert cells_naming(store, MINE, "'; DROP TABLE") == []


def test_a_person_shows_values_history_and_who_stands_beside(spoken: str) -> None:
    memory = Memory(spoken)
    [page] = memory.entity("mara").entities
    assert (page.name, page.aliases, page.mention_count) == ("Mara Lindqvist", ["Mara"], 2)
    assert [(fact.attribute, fact.value) for fact in page.facts] == [("answers", "short")]
    assert [(one.name, one.shared_count) for one in page.neighbours] == [("PostgreSQL", 1)]
    with pytest.raises(NotFoundError, match="'nobody'"):
        memory.entity("nobody")
    with pytest.raises(InputError):
        memory.entity(" ")


def test_a_timeline_is_in_order_and_marks_what_was_superseded(spoken: str) -> None:
    memory = Memory(spoken)
    by_subject = memory.timeline("staging database")
    assert [(event.cell_id, event.status) for event in by_subject.events] == [
        ("port1", "superseded"),
        ("port2", "active"),
    ]
    assert by_subject.events[0].superseded_by == "port2"
    assert [event.cell_id for event in memory.timeline("Mara").events] == ["port1", "mara"]
    assert [event.cell_id for event in memory.timeline(session="s3").events] == ["mara"]
    assert memory.timeline("Mara", limit=1).notes == ["the newest 1 of 2"]
    with pytest.raises(InputError):
        memory.timeline("Mara", topic="staging")
    with pytest.raises(NotFoundError):
        memory.timeline(topic="no such topic")


def test_the_commands_show_the_same_as_json_and_as_text(spoken: str) -> None:
    def call(*words: str) -> str:
        done = CliRunner().invoke(program, [*words, "--home", spoken])
        assert done.exit_code == 0, done.output
        return done.stdout

    assert json.loads(call("entity", "Mara", "--json"))["entities"][0]["name"] == "Mara Lindqvist"
    assert "wants short answers" in call("entity", "mara", "lindqvist")
    assert "superseded by port2 until 2026-09-17" in call("timeline", "PostgreSQL")
    assert [event["cell_id"] for event in json.loads(call("timeline", "staging", "--json"))["events"]] == [
        "port1",
        "port2",
    ]
    assert CliRunner().invoke(program, ["entity", "nobody", "--home", spoken]).exit_code == 66


# With a model


@pytest.fixture
def model() -> Iterator[tuple[OpenAIServer, ScriptedModel]]:
    scripted = ScriptedModel()
    with OpenAIServer(scripted) as server:
        yield server, scripted


def with_model(folder: Path, server: OpenAIServer, **graph: object) -> str:
    llm = {"provider": "openai", "base_url": server.url, "api_key": "k", "model": "m"}
    return write_settings(folder / "home", llm=llm, embedding={"provider": "none"}, graph=graph)


def run(home: str) -> StageReport:
    return link.fn(home=home)


@pytest.mark.nights
def test_a_model_writes_who_an_entity_is_at_three_mentions_and_again_when_they_doubled(tmp_path, model):
    server, scripted = model
    home = with_model(tmp_path, server)
    counts = []
    for night, cells in enumerate((2, 1, 2, 1)):
        record(
            home,
            *(
                cell(f"c{night}{n}", f"Mara said {night}{n}.", "Mara (person)", day=night)
                for n in range(cells)
            ),
        )
        run(home)
        counts.append(store_of(home).rows("entities").select("mention_count", "enriched_count").row(0))
    assert counts == [(2, None), (3, 3), (5, 3), (6, 6)]
    assert scripted.said["EntityAnswer"] == 2
    entity = store_of(home).rows("entities").row(0, named=True)
    assert entity["summary"] == "Mara stands in 6 memories."
    assert entity["prompt_version"] == "enrich_entity.v2"
    record(home, superseded("c00", "c30", at=datetime.now(UTC)))
    flagged = run(home)
    assert flagged.counts["entity.flagged"] == flagged.counts["entity.enriched"] == 1
    assert store_of(home).rows("entities")["summary"][0] == "Mara stands in 5 memories."
    assert not run(home).counts


def test_a_model_is_asked_once_what_led_to_a_memory_and_why_questions_show_it(tmp_path, model):
    server, scripted = model
    home = with_model(tmp_path, server)
    told = [
        ("Sessions were lost on the old server.", "risk"),
        ("Tokens are JWT because sessions were lost.", "decision"),
        ("Keys rotate weekly because of JWT tokens.", "decision"),
    ]
    for number, (content, kind) in enumerate(told):
        at = NOW - timedelta(hours=9 - number)
        record(
            home, cell(f"c{number}", content, cell_type=kind, session_id="s", event_time=at, valid_from=at)
        )
    run(home)
    assert causes(home) == [("c0", "c1"), ("c1", "c2")]
    [cause, _] = store_of(home).rows("edges").sort("valid_from").to_dicts()
    assert (cause["confidence"], cause["predicate"], cause["model"]) == (0.7, "led to it", "m")
    assert scripted.said == {"CausesAnswer": 1}
    assert not run(home).counts, "what was looked at is not looked at again"
    store = store_of(home)
    back = chain(store, MINE, ["c2"], direction="back", depth=2)
    assert [(row["depth"], row["cell_id"], row["relation"]) for row in back] == [
        (1, "c1", "causal"), (2, "c0", "causal"),
    ]  # fmt: skip
    forward = reasons(store, MINE, ["c0"], direction="forward", depth=4)
    assert [step.cell_id for step in forward] == ["c1", "c2"]
    assert forward[0].content == "Tokens are JWT because sessions were lost."
    assert reasons(store, ScopeSettings(user_id="ben"), ["c0"], direction="forward") == []
    answer = Memory(home).search("Why do the keys rotate weekly?", limit=1)
    assert [step.cell_id for step in answer.reasons] == ["c1", "c0"]
    before = graph(home)
    rebuild.fn(home=home)
    assert graph(home)["edges"].equals(before["edges"])
    assert graph(home)["links"].equals(before["links"])


def test_a_cause_that_is_told_late_is_asked_about_and_old_pairs_are_not(tmp_path, model):
    server, scripted = model
    home = with_model(tmp_path, server)
    of_topic = {"topic_id": "T"}
    record(home, cell("c3", "Keys rotate because of theft.", day=3, cell_type="decision", **of_topic))
    run(home)
    assert scripted.said == {}, "nothing could have led to it"
    record(home, cell("c2", "A JWT was stolen.", day=2, **of_topic))
    run(home)
    assert (causes(home), scripted.said) == ([("c2", "c3")], {"CausesAnswer": 1})
    record(home, cell("c4", "Mara likes a JWT short.", day=4, cell_type="preference", **of_topic))
    assert run(home).counts.get("cell.examined") == 1
    assert scripted.said == {"CausesAnswer": 1}, "it came later and is no effect"


@pytest.mark.nights
def test_pages_of_causes_are_bounded_a_night_and_the_rest_waits(tmp_path, model, monkeypatch):
    server, scripted = model
    monkeypatch.setattr("tasks.link.causes.IS_LATER", pl.col("page") >= 1)
    home = with_model(tmp_path, server)
    for day in (1, 2, 3):
        record(home, cell(f"a{day}", "It broke down.", day=day, cell_type="pattern"))
        record(home, cell(f"b{day}", "It was sold because of it.", day=day, cell_type="decision"))
    waiting = [run(home).rejected.get("memory waits to be asked about causes", 0) for _ in range(4)]
    assert waiting == [2, 1, 0, 0]
    assert scripted.said["CausesAnswer"] == 3
    assert causes(home) == [("a1", "b1"), ("a2", "b2"), ("a3", "b3")]


# One person under several descriptions


def same_person(name: str, same_as: str, *evidence: str) -> pl.DataFrame:
    """An identity as the extractor reads it off a page."""
    said = {"name": name, "same_as": same_as, "mention_count": 1, "evidence": [*evidence]}
    return of_row("identity.recorded", "identities", f"i-{name}", **OWNER, **said)


def test_an_identity_joins_two_entities_until_the_memory_that_says_so_is_gone(home: str) -> None:
    record(home, cell("a", "Ines's wife flew to Oslo.", "Ines's wife (person)", "Oslo (place)"))
    link.fn(home=home)
    said = cell("b", "Ines's wife is Mara.", "Ines's wife (person)", "Ines (person)", "Mara (person)", day=2)
    record(home, said, same_person("iness wife", "mara", "b"))
    link.fn(home=home)
    people = store_of(home).rows("entities").filter(pl.col("entity_type") == "person").sort("canonical_name")
    assert people.select("canonical_name", "aliases", "mention_count").rows() == [
        ("Ines", [], 1),
        ("Mara", ["Ines's wife"], 2),
    ]
    assert (
        cells_naming(store_of(home), MINE, "Ines's wife")
        == cells_naming(store_of(home), MINE, "Mara")
        == ["a", "b"]
    )
    assert link.fn(home=home).is_skipped
    record(home, events("cell.deleted", {"cell_id": "b", "content_hash": "h", "evidence": [], **OWNER}))
    link.fn(home=home)
    people = store_of(home).rows("entities").filter(pl.col("entity_type") == "person")
    assert people.select("canonical_name", "mention_count").rows() == [("Ines's wife", 1)]


def test_an_erased_memory_takes_its_join_along_and_leaves_no_trace_of_the_name(home: str) -> None:
    said = of_row("turn.recorded", "turns", "t9", **OWNER, session_id="s2", content="Ines's wife is Marabel.")
    names = ["Ines's wife (person)", "Ines (person)", "Marabel (person)"]
    record(
        home,
        said,
        cell("a", "Ines's wife flew to Oslo.", "Ines's wife (person)"),
        cell("b", "Ines's wife is Marabel.", *names, day=2, evidence=["t9"]),
        same_person("iness wife", "marabel", "b"),
    )
    link.fn(home=home)
    assert store_of(home).count("identities") == 1
    with Memory(home) as memory:
        memory.erase(cell_id="b")
    assert store_of(home).count("identities") == 0
    people = store_of(home).rows("entities")["canonical_name"].to_list()
    assert "Ines's wife" in people
    assert not any(b"marabel" in path.read_bytes().lower() for path in Path(home).glob("journal/**/*.jsonl"))


def test_a_model_is_asked_once_who_is_described_and_its_answer_holds_for_later_memories(tmp_path, model):
    server, scripted = model
    home = with_model(tmp_path, server)
    record(
        home,
        cell("a", "Ines's wife sings alto in the choir.", "Ines's wife (person)"),
        cell("b", "Mara leads the choir.", "Mara (person)", day=2),
        cell("c", "Tom met Ines's wife at the choir.", "Tom (person)", "Ines's wife (person)", day=3),
    )
    assert run(home).counts["identity.recorded"] == 1
    named = store_of(home).rows("entities").select("canonical_name", "aliases").sort("canonical_name").rows()
    assert named == [("Mara", ["Ines's wife"]), ("Tom", [])]
    record(home, cell("d", "Ines's wife moved to Bergen.", "Ines's wife (person)", day=4))
    run(home)
    assert scripted.said["PeopleAnswer"] == 1
    mara = store_of(home).rows("entities").filter(pl.col("canonical_name") == "Mara")
    assert mara["mention_count"].to_list() == [4]
    before = graph(home)
    rebuild.fn(home=home)
    assert graph(home)["entities"].equals(before["entities"])
