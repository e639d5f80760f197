"""The words of a person over a real home: each holds at once, survives a rebuild, and no judge undoes it."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

from flows.forget import forget as forget_stage
from flows.nightly import nightly
from flows.rebuild import rebuild
from slowwave import Memory
from slowwave.errors import BusyError, InputError, NotFoundError
from slowwave.home.lock import rewriting
from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.interfaces.cli import edits
from slowwave.interfaces.cli.program import program
from slowwave.journal.catalogue import encode
from tests.integration.test_locks import another_writer
from tests.made_once import fill
from tests.rows import NOW, events, row, rows
from tests.scripted_model import ScriptedModel, store_of, tables, write_chat, write_settings
from tests.servers import OpenAIServer

DAY = timedelta(days=1)
OWNER = {"user_id": "ana", "project_id": "kiln"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    write_settings(home, embedding={"provider": "none"}, owner=OWNER, edits={"lock_seconds": 2})
    return home


@pytest.fixture
def memory(folder: Path) -> Memory:
    return Memory(folder)


def known(folder: Path, *whole: dict[str, object], contradictions: str = "") -> None:
    """Commits cells that are spelled out, and contradictions such as "d1:a-b d2:c-d"."""
    frame = rows("cells", *({"entities": [], "artifacts": [], "evidence": [], **one} for one in whole))
    parts = [encode("cell.extracted", frame)]
    for pair in contradictions.split():
        name, sides = pair.split(":")
        one, other = sides.split("-")
        told = {"contradiction_id": name, "cell_a": one, "cell_b": other, "note": "cannot both hold"}
        parts.append(events("contradiction.opened", {**told, "scope": "user-private", **OWNER}))
    with open_workspace(folder) as workspace:
        workspace.commit(pl.concat(parts), now=NOW)


def two_ports(folder: Path) -> None:
    fill(folder, say_two_ports)


def say_two_ports(folder: Path) -> None:
    shared = {"subject": "staging", "attribute": "port", "content_hash": ""}
    one = row("cells", "aaaaaa1", content="Staging listens on 5432.", value="5432", **shared)
    other = row("cells", "bbbbbb1", content="Staging listens on 6432.", value="6432", **shared)
    known(
        folder,
        {**one, "content_hash": "a"},
        {**other, "content_hash": "b"},
        contradictions="d11111:aaaaaa1-bbbbbb1",
    )


def found(memory: Memory, query: str) -> list[str]:
    """The texts of what is found, of an open contradiction both sides."""
    cells = memory.search(query, now=NOW + 3 * DAY).cells
    return [side.content for cell in cells for side in (cell, cell.rival) if side is not None]


def assert_rebuilds(folder: Path) -> None:
    wanted = tables(folder)
    rebuild.fn(home=str(folder))
    for table, frame in tables(folder).items():
        assert_frame_equal(frame, wanted[table])


# correct and confirm


def test_a_correction_takes_the_place_of_a_memory_and_is_protected(memory, folder):
    said = memory.remember(
        "Staging listens on port 5432.", subject="staging", attribute="port", value="5432", now=NOW
    )
    done = memory.correct(said.cell_id[:6], "Staging listens on port 6432.", value="6432", now=NOW + DAY)
    (cell,) = memory.search("staging port", now=NOW + 2 * DAY).cells
    assert (cell.cell_id, cell.value, cell.subject, cell.attribute) == (
        done.cell_id,
        "6432",
        "staging",
        "port",
    )
    old, new = store_of(folder).by_key("cells", [said.cell_id, done.cell_id]).sort("status").to_dicts()[::-1]
    assert (old["status"], old["superseded_by"], new["supersedes"]) == (
        "superseded",
        done.cell_id,
        said.cell_id,
    )
    assert (new["protected"], new["confidence"], new["origin"]) == (True, 1.0, "user")
    assert new["valid_from"] == old["valid_from"] == old["valid_until"], "what was wrong never held"
    assert not cell.history
    assert [event.content for event in memory.timeline("staging").events] == [done.content]


def test_an_old_value_is_carried_over_only_where_the_new_text_says_it(memory, folder):
    about = {"subject": "staging", "attribute": "port"}
    one = memory.remember("Staging listens on port 5432.", value="5432", **about, now=NOW)
    two = memory.correct(one.cell_id, "Staging listens on port 5432 behind the proxy.", now=NOW + DAY)
    three = memory.correct(two.cell_id, "Staging listens on port 6432.", now=NOW + 2 * DAY)
    values = store_of(folder).by_key("cells", [two.cell_id, three.cell_id], ["cell_id", "value"])
    assert dict(values.iter_rows()) == {two.cell_id: "5432", three.cell_id: None}


def test_a_value_with_a_number_that_the_text_does_not_say_is_refused(memory, folder):
    said = memory.remember("Staging listens on port 5432.", subject="staging", attribute="port", value="5432")
    with pytest.raises(InputError, match="does not say 6433 of the value '6433'"):
        memory.correct(said.cell_id, "Staging listens on port 6432.", value="6433")
    with pytest.raises(InputError, match="does not say 8"):
        memory.remember("Seven replicas run.", subject="staging", attribute="replicas", value="8")
    memory.remember("Seven replicas run.", subject="staging", attribute="replicas", value="7")
    assert store_of(folder).count("cells") == 2


def test_a_contradiction_ends_where_one_side_is_corrected(memory, folder):
    two_ports(folder)
    done = memory.correct("aaaaaa1", "Staging listens on 7432.", now=NOW + DAY)
    assert done.changed["contradiction.resolved"] == 1, "the other side is alone now"
    assert memory.contradictions() == []


def test_a_confirmed_memory_never_fades_and_comes_back_from_the_archive(memory, folder):
    old = NOW - 2_000 * DAY
    known(folder, row("cells", "aaaaaa1", content="The kiln is blue.", event_time=old, confidence=0.1))
    with open_workspace(folder) as workspace:
        gone = {"cell_id": "aaaaaa1", "effective_confidence": 0.01, "reason": "faded", "archived_count": 1}
        workspace.commit(events("cell.archived", gone), now=NOW)
        faded = {"cell_id": "aaaaaa1", "last_accessed": old, "retrieval_count": 0, "citation_count": 0}
        counts = {"ignore_count": 0, "confirmations": 0, "revived_count": 0}
        workspace.commit(events("cell_usage.folded", {**faded, **counts}), now=NOW)
    memory.confirm("aaaaaa1", note="seen", now=NOW)
    assert found(memory, "kiln") == ["The kiln is blue."]
    with open_workspace(folder) as workspace:
        workspace.commit(events("cell_usage.folded", {**faded, **counts}), now=NOW)
    forget_stage.fn(home=str(folder))
    assert store_of(folder).by_key("cells", ["aaaaaa1"])["status"].to_list() == ["active"]
    assert memory.stats(now=NOW).forgetting.recent_rate == 1.0
    assert_rebuilds(folder)


def test_an_assistants_later_value_is_undecided_beside_a_persons_until_a_person_confirms_one(memory, folder):
    named = {"subject": "Anna", "attribute": "editor"}
    own = memory.remember("Anna's editor is Helix.", **named, value="Helix", now=NOW)
    said = memory.remember("Anna's editor is Zed.", **named, value="Zed", origin="agent", now=NOW + DAY)
    for how in ({}, {"small": True}, {"activity": "feature"}):
        page = memory.context("which editor does Anna use?", now=NOW + 2 * DAY, **how).text
        (line,) = [line for line in page.splitlines() if line.startswith("- ")]
        assert line.startswith("- Undecided: Anna")
        assert "Helix [2026-09-17] or " in line
        assert "Zed [2026-09-18, an assistant said]" in line
        assert "before" not in line
    (hit,) = memory.search("which editor does Anna use?").cells
    assert hit.rival is not None
    assert ({hit.value, hit.rival.value}, hit.history) == ({"Helix", "Zed"}, [])
    done = memory.confirm(own.cell_id, now=NOW + 3 * DAY)
    assert done.replaced == [said.cell_id]
    assert found(memory, "editor") == ["Anna's editor is Helix."]


@pytest.mark.nights
def test_a_judge_never_retires_what_a_person_confirmed_but_opens_a_contradiction(tmp_path):
    with OpenAIServer(ScriptedModel()) as server:
        llm = {"provider": "openai", "base_url": server.url, "api_key": "k", "model": "m"}
        home = Path(write_settings(tmp_path / "h", llm=llm, embedding={"provider": "none"}, owner=OWNER))
        chats = tmp_path / "chats"
        write_chat(
            chats, "s1", [("2026-06-01T09:00:00Z", "Mara", "The port of staging is 5432 for all of us.")]
        )
        nightly.fn(home=str(home), sources=[str(chats)], force=True)
        memory = Memory(home)
        (cell,) = memory.search("port of staging").cells
        memory.confirm(cell.cell_id)
        write_chat(
            chats, "s2", [("2026-07-01T09:00:00Z", "Ben", "The port of staging is now 6432 for all of us.")]
        )
        nightly.fn(home=str(home), sources=[str(chats)], force=True)
        status = store_of(home).by_key("cells", [cell.cell_id])["status"].to_list()
        (dispute,) = memory.contradictions()
        assert status == ["active"]
        assert {dispute.a.value, dispute.b.value} == {"5432 for all of us", "6432 for all of us"}
        memory.resolve(dispute.contradiction_id, "both_valid", note="two stagings")
        assert memory.contradictions() == []
        with open_workspace(home) as workspace:  # judged again, as after a new neighbour
            store = workspace.store
            pairs = store.rows("judgements").with_columns(verdict=pl.lit("unjudged"), effect=pl.lit("none"))
            workspace.commit(encode("pair.judged", pairs), now=NOW)
        nightly.fn(home=str(home), force=True)
        assert memory.contradictions() == []
        assert set(store_of(home).rows("cells", ["status"])["status"]) == {"active"}
        ports = {hit.value for hit in memory.search("port of staging").cells}
        assert ports == {"5432 for all of us", "6432 for all of us"}, "both are told, neither as history"


# forget


@pytest.mark.nights
def test_what_was_forgotten_is_not_found_and_does_not_come_back_from_its_source(memory, folder, tmp_path):
    chats = tmp_path / "chats"
    turns = [("2026-06-01T09:00:00Z", "Mara", "My old phone ends with 4711 and nobody may know it.")]
    write_chat(chats, "s1", turns)
    nightly.fn(home=str(folder), sources=[str(chats)])
    (cell,) = memory.search("phone", detail_level="evidence").cells
    memory.forget(cell.cell_id, note="private")
    turns.append(("2026-06-01T09:05:00Z", "Mara", "The kiln runs at 1040 degrees from now on."))
    write_chat(chats, "s1", turns)
    report = nightly.fn(home=str(folder), sources=[str(chats)])
    assert found(memory, "phone 4711") == []
    assert found(memory, "kiln") == ["Mara: The kiln runs at 1040 degrees from now on."]
    extract = next(stage for stage in report.stages if stage.stage == "extract")
    assert extract.rejected["deleted by a person"] == 1
    turns_told = memory.search("phone 4711", detail_level="evidence").turns
    assert [turn.content for turn in turns_told][:1] == [
        "My old phone ends with 4711 and nobody may know it."
    ]
    assert_rebuilds(folder)


@pytest.mark.nights
@pytest.mark.parametrize("has_model", [True, False])
def test_a_paraphrase_of_what_was_forgotten_is_kept_out_and_a_new_value_is_not(tmp_path, has_model):
    with OpenAIServer(ScriptedModel()) as server:
        llm = {"provider": "openai", "base_url": server.url, "api_key": "k", "model": "m"}
        home = Path(write_settings(tmp_path / "h", llm=llm, embedding={"provider": "wordllama"}, owner=OWNER))
        chats = tmp_path / "chats"
        write_chat(
            chats, "s1", [("2026-06-01T09:00:00Z", "Mara", "The price of the garden gate is 4711 euros.")]
        )
        nightly.fn(home=str(home), sources=[str(chats)], force=True)
        memory = Memory(home)
        (cell,) = memory.search("garden gate").cells
        memory.forget(cell.cell_id)
        again = "So, the price of the garden gate is now 4711 euros."
        other = "Well, the price of the garden gate is 4712 euros."
        write_chat(chats, "s2", [("2026-06-02T09:00:00Z", "Mara", again)])
        write_chat(chats, "s3", [("2026-06-03T09:00:00Z", "Mara", other)])
        if not has_model:
            write_settings(home, embedding={"provider": "wordllama"}, owner=OWNER)
        report = nightly.fn(home=str(home), sources=[str(chats)], force=True)
        contents = store_of(home).rows("cells", ["content"])["content"].to_list()
        assert not [text for text in contents if "4711" in text]
        assert [text for text in contents if "4712" in text]
        extract = next(stage for stage in report.stages if stage.stage == "extract")
        assert extract.rejected["deleted by a person"] == 1


# the queue


def test_contradictions_show_both_sides_and_a_resolution_supersedes_the_loser(memory, folder):
    two_ports(folder)
    (dispute,) = memory.contradictions()
    assert (dispute.a.content, dispute.b.content) == ("Staging listens on 5432.", "Staging listens on 6432.")
    before = tables(folder)
    done = memory.resolve("d11111", "a_wins", note="I looked", now=NOW + DAY)
    assert (done.cell_id, done.replaced) == ("aaaaaa1", ["bbbbbb1"])
    assert found(memory, "staging") == ["Staging listens on 5432."]
    (settled,) = memory.contradictions(has_resolved=True)
    assert (settled.resolution, settled.resolution_note, settled.note) == (
        "a_wins",
        "I looked",
        "cannot both hold",
    )
    undone = memory.unresolve("d11111", now=NOW + 2 * DAY)
    assert undone.restored == ["bbbbbb1"]
    for table in ("cells", "contradictions", "topics"):
        assert_frame_equal(tables(folder)[table], before[table])
    assert len(memory.contradictions()) == 1


def test_merged_writes_what_holds_of_both_and_undo_brings_both_back(memory, folder):
    two_ports(folder)
    done = memory.resolve("d11111", "merged", text="Staging listens on 5432 and 6432.", now=NOW + DAY)
    assert found(memory, "staging") == ["Staging listens on 5432 and 6432."]
    assert sorted(done.replaced) == ["aaaaaa1", "bbbbbb1"]
    memory.unresolve("d11111", now=NOW + 2 * DAY)
    assert sorted(found(memory, "staging")) == ["Staging listens on 5432.", "Staging listens on 6432."]


def test_an_undo_that_another_word_overtook_is_refused(memory, folder):
    two_ports(folder)
    memory.resolve("d11111", "a_wins", now=NOW + DAY)
    memory.correct("aaaaaa1", "Staging listens on 7432.", now=NOW + 2 * DAY)
    with pytest.raises(InputError, match="replaced since"):
        memory.unresolve("d11111", now=NOW + 3 * DAY)


# what is refused


@pytest.mark.parametrize("word", ["correct", "confirm", "forget", "erase", "explain", "resolve"])
def test_a_wrong_id_and_an_empty_home_end_in_one_line(memory, folder, word):
    arguments = {"correct": ["aaaaaa1", "text"], "resolve": ["aaaaaa1", "a_wins"]}.get(word, ["aaaaaa1"])
    with pytest.raises(NotFoundError, match="no memory yet"):
        getattr(memory, word)(*arguments)
    assert not (folder / "store").exists()
    memory.remember("The kiln is blue.", now=NOW)
    before = len(open_home(folder).journal.segment_ids())
    with pytest.raises((InputError, NotFoundError), match="there is no"):
        getattr(memory, word)(*arguments) if word != "erase" else memory.erase("there is no 1")
    assert len(open_home(folder).journal.segment_ids()) == before


@pytest.mark.processes
def test_edits_wait_for_another_writer_and_then_say_who_it_is(memory, folder):
    said = memory.remember("The kiln is blue.", now=NOW)
    with another_writer(folder), pytest.raises(BusyError, match="another run is writing"):
        memory.confirm(said.cell_id)
    with rewriting(open_home(folder)), pytest.raises(BusyError, match="another run is writing"):
        memory.forget(said.cell_id)
    assert memory.confirm(said.cell_id).cell_id == said.cell_id


def test_words_said_at_once_leave_one_line_of_succession(folder):
    write_settings(folder, embedding={"provider": "none"}, owner=OWNER, edits={"lock_seconds": 60})
    memory = Memory(folder)
    said = memory.remember("The kiln is blue.", now=NOW)
    refused = list[str]()

    def correct(color: str) -> None:
        try:
            memory.correct(said.cell_id, f"The kiln is {color}.")
        except InputError as error:
            refused.append(str(error))

    with ThreadPoolExecutor() as pool:
        list(pool.map(correct, ["red", "green", "grey"]))
    assert [("superseded by" in text) for text in refused] == [True, True], (
        "told that it was corrected already"
    )
    assert store_of(folder).rows("cells", ["status"])["status"].to_list().count("active") == 1


def test_a_memory_of_the_system_is_not_changed_from_a_private_home(memory, folder):
    known(folder, row("cells", "aaaaaa1", content="The kiln is blue.", scope="system"))
    with pytest.raises(InputError, match="belongs to the system"):
        memory.forget("aaaaaa1")


def test_words_of_another_owner_reach_nothing(memory, folder):
    known(folder, row("cells", "aaaaaa1", content="The kiln is blue.", user_id="ben"))
    for word in (memory.confirm, memory.forget, memory.explain):
        with pytest.raises(NotFoundError, match="there is no memory"):
            word("aaaaaa1")
    with pytest.raises(NotFoundError):
        memory.erase("aaaaaa1")
    assert memory.stats(now=NOW).cells == 0
    assert memory.weak(36_500, now=NOW) == []


# looking into it


def test_explain_tells_a_memory_s_whole_life_also_after_it_was_forgotten(memory):
    one = memory.remember("Staging listens on port 5432.", subject="staging", attribute="port", now=NOW)
    two = memory.correct(one.cell_id, "Staging listens on port 6432.", note="typo", now=NOW + DAY)
    told = memory.explain(two.cell_id[:8], now=NOW + DAY)
    assert [quote.content for quote in told.evidence] == ["Staging listens on port 6432."]
    assert [link.cell_id for link in told.life.before] == [one.cell_id]
    assert [link.cell_id for link in memory.explain(one.cell_id).life.after] == [two.cell_id]
    assert [(one.verdict, one.prompt_version, one.reason) for one in told.life.judgements] == [
        ("corrects", "person", "typo")
    ]
    memory.forget(two.cell_id, note="too private", now=NOW + 2 * DAY)
    gone = memory.explain(two.cell_id[:8])
    assert (gone.life.state, gone.content) == ("deleted", "Staging listens on port 6432.")
    assert [step.kind for step in gone.life.events] == [
        "cell.extracted", "cell.succeeded", "cell.protected", "cell.deleted",
    ] or {step.kind for step in gone.life.events} >= {"cell.extracted", "cell.protected", "cell.deleted"}  # fmt: skip
    memory.erase(two.cell_id)
    with pytest.raises(NotFoundError, match="there is no memory"):
        memory.explain(two.cell_id)


def test_every_word_is_a_command_with_a_document_for_programs(folder):
    def run(*words: str) -> object:
        done = CliRunner().invoke(program, [*words, "--home", str(folder), "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    said = run("remember", "Staging listens on port 5432.", "--subject", "staging", "--attribute", "port")
    done = run("correct", said["cell_id"][:8], "Staging listens on port 6432.", "--value", "6432")
    run("confirm", done["cell_id"][:8])
    assert run("explain", done["cell_id"][:8])["protected"] is True
    assert run("contradictions")["entries"] == []
    assert run("list", "--fading", "1")["entries"] == []
    assert run("search", "--status", "archived", "port of staging") == []
    assert run("status", "--counts")["protected"] == 1
    run("forget", done["cell_id"][:8], "--note", "private")
    assert run("erase", "--text", "5432", "--dry-run")["cell_ids"] == [said["cell_id"]]
    assert run("erase", said["cell_id"][:8], "--yes")["remaining"] == {}
    shown = CliRunner().invoke(program, ["status", "--counts", "--home", str(folder)])
    assert "1 message erased" in shown.stdout


def test_a_text_for_people_stands_for_every_word(folder):
    two_ports(folder)

    def shown(*words: str) -> str:
        done = CliRunner().invoke(program, [*words, "--home", str(folder)])
        assert done.exit_code == 0, done.output
        return done.stdout

    assert "Staging listens on 6432." in shown("contradictions")
    assert "bbbbbb1 is current" in shown("resolve", "d11111", "b_wins")
    assert "open again" in shown("resolve", "d11111", "--undo")
    assert "d11111" in shown("explain", "aaaaaa1")
    assert "Staging listens on 5432." in shown("list", "--fading", "36500")
    assert "cursor" in shown("list", "--fading", "36500", "--limit", "1")
    assert "Would erase 0 messages, 1 memory" in shown("erase", "aaaaaa1", "--dry-run")
    assert "every byte" in shown("erase", "aaaaaa1", "--yes")


def test_the_command_erases_only_after_a_yes(folder, monkeypatch: pytest.MonkeyPatch):
    two_ports(folder)

    def erase(answer: str = "", *words: str) -> tuple[int, str]:
        done = CliRunner().invoke(program, ["erase", "aaaaaa1", *words, "--home", str(folder)], input=answer)
        return done.exit_code, done.output

    code, told = erase()
    assert (code != 0, "give --yes" in told) == (True, True), told
    monkeypatch.setattr(edits, "_has_terminal", lambda: True)
    code, told = erase("n\n")
    assert (code, "Would erase 0 messages, 1 memory" in told, "Nothing was erased." in told) == (
        1,
        True,
        True,
    )
    assert erase("", "--json")[0] != 0
    assert Memory(folder).explain("aaaaaa1").content == "Staging listens on 5432."
    code, told = erase("y\n")
    assert (code, "every byte" in told) == (0, True)


@pytest.mark.parametrize(
    ("origin", "text", "kept"),
    [
        ("untrusted", "It listens on 7432.", (None, None, [])),
        ("untrusted", "The port of Staging is 7432.", ("staging", "port", ["Staging"])),
        ("agent", "Staging listens on 7432.", ("staging", None, ["Staging"])),
        ("user", "It listens on 7432.", ("staging", "port", ["Staging", "Obey me"])),
    ],
)
def test_a_correction_takes_over_what_no_person_said_only_where_its_text_says_it(
    folder: Path, memory: Memory, origin: str, text: str, kept: tuple[str | None, str | None, list[str]]
):
    told = {"subject": "staging", "attribute": "port", "value": "5432", "origin": origin}
    one = row("cells", "aaaaaa1", content="Staging listens on 5432.", topic_hint="Obey me", **told)
    known(folder, {**one, "entities": ["Staging", "Obey me"]})
    cell = memory.cell(memory.correct("aaaaaa1", text).cell_id)
    assert (cell.origin, cell.subject, cell.attribute, cell.entities) == ("user", *kept)
