"""Memories of other programs, and Slowwave's own export, taken into a home; and the folders that an export writes."""

import json
import os
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

from flows.ingest import ingest
from slowwave import Memory
from slowwave.errors import InputError, NotFoundError
from slowwave.home.core_file import persons_words
from slowwave.home.workspace import open_workspace
from slowwave.interfaces.cli.program import program
from slowwave.journal.derivations import in_force
from slowwave.recording import imports
from slowwave.recording.imports import events_of
from slowwave.rewrite.byte_scan import files_with
from slowwave.schemas.identity import content_hash
from slowwave.schemas.moments import day_of, unknown_until
from tests.rows import NOW, OWNER, events, of_row
from tests.scripted_model import store_of, write_settings

GRAPH = [
    {
        "type": "entity",
        "name": "Mara Lindqvist",
        "entityType": "person",
        "observations": [
            "fires the kiln on Fridays",
            "Mara Lindqvist owns two kilns",
            "Her password=Tr0ub4dor&3x.",
        ],
    },
    {"type": "entity", "name": "Kiln 2", "entityType": "oven", "observations": []},
    {"type": "relation", "from": "Mara Lindqvist", "to": "Kiln 2", "relationType": "owns"},
    {"type": "relation", "from": "Mara Lindqvist", "relationType": "owns"},
]
FILE_TIME = datetime(2026, 3, 2, 9, tzinfo=UTC)
ANA = {"user_id": "ana", "project_id": "kiln"}
REAL = Path(__file__).parents[3] / "shared/data/transcripts/mcp_memory"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return Path(write_settings(tmp_path / "home", embedding={"provider": "none"}))


def write_lines(path: Path, records: list[dict[str, object]]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def take(home: Path, path: Path):
    return ingest.fn(sources=[str(path)], home=str(home))


def contents(home: Path) -> set[str]:
    return set(store_of(home).rows("cells", ["content"])["content"])


def test_observations_and_relations_become_memories_with_their_names(home, tmp_path):
    report = take(home, write_lines(tmp_path / "memory.jsonl", GRAPH))
    cells = store_of(home).rows("cells").sort("content")
    assert cells.select("content", "entities").rows() == [
        ("Mara Lindqvist owns Kiln 2", ["Mara Lindqvist (person)", "Kiln 2"]),
        ("Mara Lindqvist owns two kilns", ["Mara Lindqvist (person)"]),
        ("Mara Lindqvist: Her password=[redacted:password]", ["Mara Lindqvist (person)"]),
        ("Mara Lindqvist: fires the kiln on Fridays", ["Mara Lindqvist (person)"]),
    ]
    entities = store_of(home).rows("entities", ["canonical_name", "entity_type", "mention_count"])
    assert sorted(entities.rows()) == [("Kiln 2", None, 1), ("Mara Lindqvist", "person", 4)], (
        "before any night"
    )
    with Memory(home) as memory:
        assert memory.entity("Mara").entities[0].mention_count == 4
    assert report.rejected["not a memory: entity without observations"] == 1
    assert report.rejected["not a memory: relation without its ends"] == 1
    assert "Tr0ub4dor" not in " ".join(report.examples + report.notes)
    assert files_with(home, ["Tr0ub4dor&3x"]) == {}


def test_memories_without_a_date_belong_to_no_day_and_go_out_and_in_as_they_are(home, tmp_path):
    path = write_lines(tmp_path / "memory.jsonl", GRAPH)
    os.utime(path, (FILE_TIME.timestamp(),) * 2)
    take(home, path)
    cells = store_of(home).rows("cells")
    assert {*cells["event_time"], *cells["valid_from"], *store_of(home).rows("turns")["event_time"]} == {
        unknown_until(FILE_TIME)
    }
    assert cells.join(store_of(home).rows("cell_usage"), on="cell_id")["last_accessed"].min() > FILE_TIME
    with Memory(home) as memory:
        listed = memory.cells(limit=1).entries
        assert json.loads(listed[0].model_dump_json())["event_time"] is None
        assert "day unknown, memory:" in memory.context("when does Mara Lindqvist fire the kiln").text
        for day, count in (("2026-03-01", 0), ("2026-03-03", 4)):
            assert len(memory.search("kiln fires owns password", as_of=day).cells) == count
        assert not memory.search("kiln fires owns password", before="2026-05-01").cells
        memory.export(tmp_path / "out", format="jsonl")
        memory.export(tmp_path / "out", format="markdown")
    assert "day unknown" in (tmp_path / "out/memories.md").read_text()
    take(tmp_path / "other", tmp_path / "out/memories.jsonl")
    assert_frame_equal(store_of(tmp_path / "other").rows("cells").sort("cell_id"), cells.sort("cell_id"))


def test_what_an_agent_wrote_down_is_its_word_until_a_person_confirms_it(home, tmp_path):
    path = write_lines(tmp_path / "memory.jsonl", GRAPH)
    take(home, path)
    store = store_of(home)
    ids = store.rows("cells", ["cell_id", "origin"])
    assert set(ids["origin"]) == {"agent"}
    assert persons_words(store, ids["cell_id"]).is_empty()
    with Memory(home) as memory:
        told = memory.explain(ids["cell_id"][0])
        assert [step.told for step in told.life.events] == [
            "written down by another program",
            f"imported from {path}",
        ]
        assert told.evidence[0].whose == "an assistant said it"
        assert "an assistant said" in told.life.core_reason
        memory.confirm(ids["cell_id"][0])
    assert persons_words(store_of(home), ids["cell_id"])["cell_id"].to_list() == [ids["cell_id"][0]]


def test_a_graph_that_grows_adds_what_is_new_and_what_was_deleted_stays_out(home, tmp_path):
    path = write_lines(tmp_path / "memory.jsonl", GRAPH)
    take(home, path)
    first = store_of(home).rows("cells").sort("cell_id")
    gone = first.filter(pl.col("content").str.contains("two kilns"))["cell_id"][0]
    with Memory(home) as memory:
        memory.forget(gone)
    grown = [
        *GRAPH,
        {"type": "entity", "name": "Kiln 2", "entityType": "oven", "observations": ["It is blue."]},
    ]
    report = take(home, write_lines(tmp_path / "elsewhere" / "memory.json", grown))
    assert report.counts["cell.extracted"] == 1
    assert report.rejected["deleted by a person"] == 1
    after = store_of(home).rows("cells").sort("cell_id")
    assert after.join(first, on="cell_id", how="anti")["content"].to_list() == ["Kiln 2: It is blue."]
    assert gone not in after["cell_id"].to_list()
    assert take(home, tmp_path / "elsewhere").rejected == {"unchanged file": 1}


def test_an_imported_memory_is_erased_to_the_bytes_and_stays_out(home, tmp_path):
    path = write_lines(tmp_path / "memory.jsonl", GRAPH)
    take(home, path)
    cells = store_of(home).rows("cells", ["cell_id", "content"])
    cell_id, text = cells.filter(pl.col("content").str.contains("Fridays")).row(0)
    with Memory(home) as memory:
        assert memory.erase(cell_id).is_proven
    assert files_with(home, [text]) == {}
    take(
        home,
        write_lines(path, [*GRAPH, {"type": "relation", "from": "a", "to": "b", "relationType": "near"}]),
    )
    assert text not in contents(home)
    assert "a near b" in contents(home)


@pytest.mark.parametrize("is_bare", [False, True])
def test_memories_of_mem0_keep_their_day(home, tmp_path, is_bare):
    results = [
        {"id": "1", "memory": "Likes blue glazes", "created_at": "2026-03-01T10:00:00Z", "user_id": "ana"},
        {"id": "2", "memory": "  ", "created_at": "2026-03-01T10:00:00Z"},
        {
            "id": "3",
            "memory": "Fires on Fridays",
            "created_at": "2026-03-01T10:00:00Z",
            "updated_at": "2026-04-01",
        },
    ]
    relations = [{"source": "ana", "relationship": "likes", "target": "glazes"}]
    whole = {"count": 3, "results": results, "relations": relations}
    (tmp_path / "mem0.json").write_text(json.dumps(results if is_bare else whole))
    report = take(home, tmp_path / "mem0.json")
    cells = store_of(home).rows("cells").sort("event_time", descending=True)
    days = [day_of(moment) for moment in cells["event_time"]]
    assert days == ["2026-04-01", "2026-03-01"] + ["day unknown"] * (not is_bare)
    assert ("ana likes glazes" in set(cells["content"])) is not is_bare
    assert report.rejected["not a memory: memory without text"] == 1


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two memories, of which one is confirmed, and its export beside it."""
    folder = tmp_path_factory.mktemp("told")
    write_settings(folder / "home", embedding={"provider": "none"})
    with Memory(folder / "home") as memory:
        said = memory.remember("Mara fires the kiln on Fridays.", now=NOW)
        memory.remember("The glaze of line 2 is blue.", now=NOW)
        memory.confirm(said.cell_id, now=NOW)
        memory.export(folder / "out", now=NOW)
    return folder


@pytest.fixture
def exported(told, home, tmp_path) -> Path:
    """The export of that home, of which `home` is a copy then."""
    shutil.copytree(told / "home", home, dirs_exist_ok=True)
    return shutil.copytree(told / "out", tmp_path / "out") / "memories.jsonl"


@pytest.fixture
def other(tmp_path) -> Path:
    return Path(write_settings(tmp_path / "other", embedding={"provider": "none"}))


def test_an_export_in_a_folder_is_passed_by_since_it_says_whose_word_a_memory_is(exported, other):
    report = take(other, exported.parent)
    assert report.rejected == {"export of Slowwave that nobody named": 1}
    assert any("name the file itself" in note for note in report.notes)
    assert store_of(other).count("cells") == 0
    with Memory(other) as memory:
        assert memory.ingest([exported], are_found=True).rejected == {
            "export of Slowwave that nobody named": 1
        }
    believed = "memories.jsonl is believed: 2 memories as a person's word, 1 as confirmed. "
    with Memory(other) as memory:
        dry = memory.ingest([exported], dry_run=True)
    assert any(note.startswith(believed) for note in dry.notes)
    assert store_of(other).count("cells") == 0
    assert any(note.startswith(believed) for note in take(other, exported).notes)
    assert store_of(other).count("cells") == 2


def test_lines_that_nobody_could_have_exported_are_left_out_and_named(exported, other):
    header, *lines = [json.loads(line) for line in exported.read_text().splitlines()]
    first = next(line for line in lines if line["type"] == "memory")
    bad = [
        {**first, "cell_id": "../../etc/passwd"},
        {**first, "cell_id": "x1", "origin": "god"},
        {**first, "cell_id": "x2", "salience": 7},
        {**first, "cell_id": "x3", "event_time": "tomorrow"},
        {**first, "cell_id": "x4", "content": None},
        {**first, "cell_id": "x5", "evidence": "t1"},
        {**first, "cell_id": "x6", "retrieval_count": 0.5},
        {"type": "sorcery"},
        {**first, "cell_id": "x7", "content": "The api key is sk-proj-abcdefghij1234567890ABCDEFGHIJ."},
    ]
    write_lines(exported, [header, *lines, *bad])
    report = take(other, exported)
    assert report.rejected["not a memory: line that cannot be used"] == 7
    assert report.rejected["not a memory: line of an unknown type"] == 1
    assert store_of(other).count("cells") == 3
    assert files_with(other, ["sk-proj-abcdefghij1234567890ABCDEFGHIJ"]) == {}
    assert "etc/passwd" not in " ".join(report.notes)


@pytest.mark.parametrize("lost", [1, 40])
def test_an_export_that_was_cut_off_is_refused_before_anything_of_it_is_here(exported, other, lost):
    whole = exported.read_bytes()
    exported.write_bytes(whole.rstrip()[:-lost])
    report = take(other, exported)
    assert any("is not whole" in note for note in report.notes)
    assert store_of(other).count("cells") == 0
    exported.write_bytes(whole.rstrip())
    take(other, exported)
    assert store_of(other).count("cells") == 2


def test_an_export_of_a_later_form_is_refused(exported, other):
    header, *lines = [json.loads(line) for line in exported.read_text().splitlines()]
    write_lines(exported, [{**header, "format": 2}, *lines])
    report = take(other, exported)
    assert any("upgrade Slowwave" in note for note in report.notes)
    assert store_of(other).count("cells") == 0


def test_what_is_in_a_home_already_is_not_touched_by_an_export(exported, home):
    before = store_of(home).rows("cells").sort("cell_id")
    with Memory(home) as memory:
        memory.forget(before["cell_id"][0])
    report = take(home, exported)
    assert report.rejected["deleted by a person"] == 1
    assert store_of(home).rows("cells").equals(before.tail(1))


def test_a_file_of_somebody_else_is_refused_and_an_earlier_export_is_replaced(home, tmp_path, exported):
    (tmp_path / "notes").mkdir()
    mine = tmp_path / "notes" / "memories.md"
    mine.write_text("mine")
    with Memory(home) as memory:
        for folder in (tmp_path / "notes", home, home / "inside", mine):
            with pytest.raises(InputError):
                memory.export(folder, format="markdown")
        before = exported.read_bytes()
        for form in ("markdown", "jsonl", "markdown"):
            memory.export(exported.parent, format=form, now=NOW)
        done = memory.export(tmp_path / "dry", dry_run=True)
    assert {path.name for path in exported.parent.iterdir()} == {"memories.md", "memories.jsonl"}
    assert exported.read_bytes() == before
    assert exported.stat().st_mode & 0o077 == 0
    assert done.counts["memory"] == 2
    assert not (tmp_path / "dry").exists()
    assert mine.read_text() == "mine"


def test_an_export_holds_only_what_the_asker_may_see(home, tmp_path):
    cells = [
        ("a" * 7, "ana", "kiln", "user-private"),
        ("b" * 7, "bo", "kiln", "user-private"),
        ("c" * 7, "bo", "kiln", "project-shared"),
        ("d" * 7, "ana", "oven", "user-private"),
    ]
    write_settings(home, embedding={"provider": "none"}, owner={"user_id": "ana", "project_id": "kiln"})
    with open_workspace(home) as workspace:
        for cell_id, user, project, scope in cells:
            owner = {**OWNER, "user_id": user, "project_id": project, "scope": scope}
            workspace.commit(of_row("cell.extracted", "cells", cell_id, **owner), now=NOW)

    def seen(**asked: object) -> set[str]:
        with Memory(home) as memory:
            memory.export(tmp_path / "out", **asked)
        lines = [json.loads(line) for line in (tmp_path / "out/memories.jsonl").read_text().splitlines()]
        return {line["cell_id"][0] for line in lines if line["type"] == "memory"}

    assert seen() == {"a", "c", "d"}
    assert seen(scopes=["project-shared"]) == {"c"}
    assert seen(project="oven") == {"d"}
    other = Path(
        write_settings(tmp_path / "other", embedding={"provider": "none"}, owner={"project_id": "mine"})
    )
    seen()
    take(other, tmp_path / "out/memories.jsonl")
    assert set(store_of(other).rows("cells", ["project_id"])["project_id"]) == {"mine", "oven"}


def test_the_words_of_a_deleted_memory_are_in_no_export(home, tmp_path):
    write_settings(home, embedding={"provider": "none"}, owner={"user_id": "ana", "project_id": "kiln"})
    with open_workspace(home) as workspace:
        made = of_row(
            "cell.extracted",
            "cells",
            "c" * 7,
            content="Ana keeps a secret oven.",
            content_hash="c",
            evidence=[],
        )
        workspace.commit(made, now=NOW)
        judged = of_row("pair.judged", "judgements", "j" * 7, cell_id="d" * 7, target_id="c" * 7)
        workspace.commit(
            pl.concat([of_row("cell.extracted", "cells", "d" * 7, evidence=[]), judged]), now=NOW
        )
    with Memory(home) as memory:
        memory.forget("c" * 7, note="the secret oven", now=NOW)
        for form in ("jsonl", "markdown"):
            memory.export(tmp_path / form, format=form, now=NOW)
    told = "".join(
        path.read_text() for form in ("jsonl", "markdown") for path in (tmp_path / form).rglob("*.*")
    )
    assert "secret oven" not in told
    assert "Memories" in told
    lines = [json.loads(line) for line in (tmp_path / "jsonl/memories.jsonl").read_text().splitlines()]
    assert [line["type"] for line in lines] == ["slowwave_export", "memory", "deleted"]


def test_an_import_that_was_cut_off_is_completed_by_the_next(home, exported, other, tmp_path, monkeypatch):
    whole = Path(write_settings(tmp_path / "whole", embedding={"provider": "none"}))
    take(whole, exported)
    batches = []

    def cut_off(kind, rows, **asked):
        batches.append(kind)
        if len(batches) == 2:
            raise KeyboardInterrupt
        return events_of(kind, rows, **asked)

    monkeypatch.setattr(imports, "events_of", cut_off)
    with pytest.raises(KeyboardInterrupt):
        take(other, exported)
    monkeypatch.undo()
    take(other, exported)
    assert store_of(other).rows("cells").equals(store_of(whole).rows("cells"))
    assert store_of(other).rows("turns").sort("turn_id").equals(store_of(whole).rows("turns").sort("turn_id"))


def test_an_imported_memory_leaves_with_all_that_was_told_of_it(tmp_path):
    home = Path(write_settings(tmp_path / "home", embedding={"provider": "none"}, owner=ANA))
    old, new = "a" * 7, "b" * 7
    story = [
        _made(old, "The zebra kiln runs at 1040 degrees."),
        _made(new, "The zebra kiln runs at 1090 degrees."),
        events("topic.opened", {"topic_id": "t" * 7, "name": "zebra kiln", **OWNER}),
        events("cell.assigned", *({"cell_id": one, "topic_id": "t" * 7} for one in (old, new))),
        events(
            "cell.superseded",
            {
                "cell_id": old,
                "superseded_by": new,
                "superseded_at": NOW,
                "valid_until": NOW,
                "verdict": "updates",
            },
        ),
        events("cell.succeeded", {"cell_id": new, "supersedes": old, "summary": "now 1090 degrees"}),
        events(
            "topic.summarized",
            {
                "topic_id": "t" * 7,
                "summary": "It runs at 1090 degrees.",
                "compressed": "1090",
                "cell_ids": [new],
            },
        ),
    ]
    with open_workspace(home) as workspace:
        workspace.commit(pl.concat(story, rechunk=True), now=NOW)
    with Memory(home) as memory:
        memory.export(tmp_path / "out")
    other = Path(write_settings(tmp_path / "other", embedding={"provider": "none"}, owner=ANA))
    take(other, tmp_path / "out/memories.jsonl")
    with Memory(other) as memory:
        assert memory.erase(new).is_proven
    assert files_with(other, ["1090 degrees"]) == {}
    assert store_of(other).rows("cells", ["cell_id", "status", "superseded_by"]).rows() == [
        (old, "active", None)
    ]


def _made(key: str, content: str) -> pl.DataFrame:
    return of_row(
        "cell.extracted", "cells", key, content=content, content_hash=content_hash(content), evidence=[]
    )


def test_the_command_says_what_it_wrote_and_how_to_take_it_in(home, tmp_path):
    with Memory(home) as memory:
        memory.remember("Mara fires the kiln on Fridays.", now=NOW)
    run = CliRunner().invoke(program, ["export", "--to", str(tmp_path / "out"), "--home", str(home)])
    assert run.exit_code == 0
    assert "Wrote 1 memory" in run.stdout
    assert "slowwave ingest" in run.stdout
    done = CliRunner().invoke(
        program,
        [
            "export",
            "--to",
            str(tmp_path / "dry"),
            "--format",
            "markdown",
            "--dry-run",
            "--json",
            "--home",
            str(home),
        ],
    )
    assert json.loads(done.stdout)["files"] == ["memories.md"]
    assert not (tmp_path / "dry").exists()


def test_secrets_that_older_rules_let_in_are_in_no_export(tmp_path):
    home = Path(write_settings(tmp_path / "home", embedding={"provider": "none"}, owner=ANA))
    with open_workspace(home) as workspace:
        workspace.commit(_made("a" * 7, "The wiki has password=Tr0ub4dor&3x."), now=NOW)
    (home / "redacted.json").unlink()
    with Memory(home) as memory:
        for form in ("jsonl", "markdown"):
            done = memory.export(tmp_path / form, format=form)
            assert any("run redact" in note for note in done.notes)
    assert files_with(home, ["Tr0ub4dor&3x"])
    assert not any(files_with(tmp_path / form, ["Tr0ub4dor&3x"]) for form in ("jsonl", "markdown"))


def test_a_page_has_a_section_a_topic_with_what_holds_first_and_stored_text_stays_text(tmp_path):
    home = Path(write_settings(tmp_path / "home", embedding={"provider": "none"}, owner=ANA))
    now, before, other = "a" * 7, "b" * 7, "c" * 7
    story = [
        _made(now, "# The kiln runs at <b>1090</b> [[degrees]]\n- [ ] now"),
        _made(before, "The kiln runs at 1040 degrees."),
        _made(other, "The kiln runs at 900 degrees."),
        events("topic.opened", {"topic_id": "t" * 7, "name": "x]] [[Oven|y", **OWNER}),
        events("cell.assigned", *({"cell_id": one, "topic_id": "t" * 7} for one in (now, before))),
        events(
            "cell.superseded",
            {
                "cell_id": before,
                "superseded_by": now,
                "superseded_at": NOW,
                "valid_until": NOW,
                "verdict": "updates",
            },
        ),
        events(
            "contradiction.opened", {"contradiction_id": "d" * 7, "cell_a": now, "cell_b": other, **OWNER}
        ),
    ]
    with open_workspace(home) as workspace:
        workspace.commit(pl.concat(story, rechunk=True), now=NOW)
    with Memory(home) as memory:
        memory.export(tmp_path / "page", format="markdown", now=NOW)
    page = (tmp_path / "page/memories.md").read_text()
    parts = [
        "# Memories", "## x\\]\\] \\[\\[Oven\\|y", "1090", "### Before", "1040", "## Without a topic", "900",
        "## Contradictions", "1090", "900",
    ]  # fmt: skip
    assert re.search(".*".join(map(re.escape, parts)), page, re.DOTALL), page
    assert "\\# The kiln runs at \\<b\\>1090\\</b\\> \\[\\[degrees\\]\\] - \\[ \\] now" in page


def test_what_is_kept_word_by_word_outlives_another_derivation():
    made = [
        of_row("cell.extracted", "cells", key, prompt_version=key) for key in ("imported", "remembered", "v1")
    ]
    scanned = pl.concat(made, rechunk=True).with_columns(segment_id=pl.lit("1"))
    assert in_force(scanned, "2")["payload"].str.json_path_match("$.cell_id").to_list() == [
        "imported",
        "remembered",
    ]


def test_a_project_that_nobody_knows_has_no_export_and_an_earlier_one_stays(home, exported):
    before = exported.read_bytes()
    with Memory(home) as memory, pytest.raises(NotFoundError, match="no project is called 'nosuch'"):
        memory.export(exported.parent, project="nosuch", now=NOW)
    assert exported.read_bytes() == before


def test_a_home_without_memory_has_no_export(home, tmp_path):
    with Memory(home) as memory, pytest.raises(NotFoundError):
        memory.export(tmp_path / "out")


def test_what_came_deleted_is_no_text_that_waits_for_a_vector(tmp_path: Path):
    with Memory(tmp_path / "old", records_usage=False) as memory:
        memory.forget(memory.remember("The kiln is old.").cell_id)
        memory.remember("Mara likes tea.")
        memory.export(tmp_path / "out")
    with Memory(tmp_path / "new", records_usage=False) as memory:
        memory.ingest([tmp_path / "out" / "memories.jsonl"])
        assert memory.status().pending["texts_without_vector"] == 0
