"""What forget and erase leave behind: chains that hold together, and nothing written from what went."""

import threading
import unicodedata
from pathlib import Path

import polars as pl
import pytest

from flows.nightly import nightly
from slowwave import Memory
from slowwave.errors import BusyError, InputError
from slowwave.home.lock import writing
from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.journal.catalogue import CATALOGUE
from slowwave.rewrite.byte_scan import files_with
from tests.integration.test_edits import DAY, OWNER, assert_rebuilds, found, known, two_ports
from tests.integration.test_locks import another_writer
from tests.made_once import fill
from tests.rows import NOW, events, row
from tests.scripted_model import store_of, write_chat, write_settings

ABOUT = {"subject": "staging", "attribute": "port"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    small = {"window_tokens": 50, "overlap_tokens": 0}
    write_settings(home, embedding={"provider": "none"}, owner=OWNER, edits={"lock_seconds": 2}, chunks=small)
    return home


@pytest.fixture
def memory(folder: Path) -> Memory:
    return Memory(folder)


def value(key: str, port: int, day: int, **given: object) -> dict[str, object]:
    content = f"Staging listens on {port}."
    told = {"content": content, "value": str(port), "content_hash": f"hash-{key}", "session_id": f"s-{key}"}
    moment = NOW + day * DAY
    return row("cells", key, **ABOUT, **told, valid_from=moment, event_time=moment, **given)


def commit(folder: Path, *parts: pl.DataFrame) -> None:
    with open_workspace(folder) as workspace:
        workspace.commit(pl.concat(parts), now=NOW)


def superseded(cell_id: str, by: str, day: int) -> pl.DataFrame:
    moment = {"superseded_at": NOW + day * DAY, "valid_until": NOW + day * DAY}
    return events(
        "cell.superseded", {"cell_id": cell_id, "superseded_by": by, "verdict": "updates", **moment}
    )


def three_ports(folder: Path) -> None:
    """5432 from day 0, then 6432, then 7432, as nights would have settled it."""
    fill(folder, settle_three_ports)


def settle_three_ports(folder: Path) -> None:
    known(folder, value("aaaaaa1", 5432, 0), value("bbbbbb1", 6432, 1), value("cccccc1", 7432, 2))
    commit(
        folder,
        superseded("aaaaaa1", "bbbbbb1", 1),
        superseded("bbbbbb1", "cccccc1", 2),
        events("cell.succeeded", {"cell_id": "cccccc1", "supersedes": "bbbbbb1"}),
    )


def standing(folder: Path) -> dict[str, tuple[object, ...]]:
    cells = store_of(folder).rows("cells", ["cell_id", "status", "superseded_by", "supersedes"])
    return {one[0]: one[1:] for one in cells.sort("cell_id").iter_rows()}


@pytest.mark.parametrize("word", ["forget", "erase"])
def test_a_chain_holds_together_without_a_value_in_its_middle(memory, folder, word):
    three_ports(folder)
    getattr(memory, word)("bbbbbb1")
    assert standing(folder) == {
        "aaaaaa1": ("superseded", "cccccc1", None),
        "cccccc1": ("active", None, "aaaaaa1"),
    }
    assert memory.explain("cccccc1").summary == "now 7432; previously 5432 (until 2026-09-18)"
    assert [link.cell_id for link in memory.explain("cccccc1").life.before] == ["aaaaaa1"]
    assert [link.cell_id for link in memory.explain("aaaaaa1").life.after] == ["cccccc1"]
    (cell,) = memory.search("staging port", now=NOW + 3 * DAY).cells
    assert [past.value for past in cell.history] == ["5432"]


def test_what_a_forgotten_value_replaced_stays_retired_until_a_person_says_otherwise(memory, folder):
    three_ports(folder)
    done = memory.forget("cccccc1")
    assert "taken the place of bbbbbb1" in done.notes[0]
    assert not found(memory, "staging port"), "nobody said that the older value holds again"
    back = memory.confirm("bbbbbb1")
    assert "believed again" in back.notes[0]
    assert found(memory, "staging port") == ["Staging listens on 6432."]
    with pytest.raises(InputError, match="superseded by bbbbbb1 already"):
        memory.confirm("aaaaaa1")


def test_what_an_erased_value_replaced_is_believed_as_if_it_had_never_been_said(memory, folder):
    three_ports(folder)
    done = memory.erase("cccccc1")
    assert done.remaining == {}
    assert any("believed again: bbbbbb1" in note for note in done.notes)
    assert standing(folder)["bbbbbb1"][:2] == ("active", None)
    assert standing(folder)["aaaaaa1"][:2] == ("superseded", "bbbbbb1")


def test_what_had_lived_on_in_an_erased_memory_stands_by_itself(memory, folder):
    known(
        folder,
        value("aaaaaa1", 5432, 0),
        value("bbbbbb1", 6432, 1),
        value("bbbbbb2", 6432, 2),
        value("bbbbbb3", 6432, 3),
        value("cccccc1", 7432, 4),
    )
    merged = {"superseded_by": "bbbbbb1", "superseded_at": NOW}
    commit(
        folder,
        superseded("aaaaaa1", "bbbbbb1", 1),
        events("cell.merged", {"cell_id": "bbbbbb2", **merged}, {"cell_id": "bbbbbb3", **merged}),
    )
    memory.erase("bbbbbb1")
    stands = {key: one[:2] for key, one in standing(folder).items()}
    assert stands == {
        "aaaaaa1": ("superseded", "bbbbbb2"),
        "bbbbbb2": ("active", None),
        "bbbbbb3": ("superseded", "bbbbbb2"),
        "cccccc1": ("active", None),
    }
    assert_rebuilds(folder)


# what was written from it


def talk(tmp_path: Path) -> list[str]:
    said = [
        "Veronika's surgery is on the ninth of March, the summer course at the wheels goes on without her.",
        "The glaze kiln of the studio runs at 1040 degrees since May.",
        "Invoices to the pottery supplier are due every second Friday.",
        "The glaze recipe of the studio wants less cobalt, Mara tried it twice.",
        "The wheel in the back room of the studio needs a new belt before the summer course begins.",
        "A new belt for the wheel costs forty euros at the supplier, the summer course can pay it.",
        "The summer course begins on the first of July, with eight people at the wheels of the studio.",
        "Eight people need eight aprons, and the studio has six of them.",
    ]
    turns = [(f"2026-06-02T09:{minute:02d}:00Z", "Mara", text) for minute, text in enumerate(said)]
    write_chat(tmp_path / "chats", "s1", turns)
    return [str(tmp_path / "chats")]


def telling(folder: Path) -> str:
    episodes = store_of(folder).rows("cells", ["cell_type", "content"]).filter(cell_type="episode")
    return "\n".join(episodes["content"])


@pytest.mark.nights
@pytest.mark.parametrize("word", ["forget", "erase"])
def test_the_telling_of_a_conversation_goes_and_is_told_anew_without_it(memory, folder, tmp_path, word):
    nightly.fn(home=str(folder), sources=talk(tmp_path))
    assert "surgery" in telling(folder)
    cells = store_of(folder).rows("cells", ["cell_id", "cell_type", "content"])
    (cell_id,) = cells.filter(pl.col("content").str.contains("surgery"), pl.col("cell_type") != "episode")[
        "cell_id"
    ]
    getattr(memory, word)(cell_id)
    assert telling(folder) == ""
    if word == "erase":
        assert not files_with(folder, ["Veronika's surgery"])
    nightly.fn(home=str(folder), sources=talk(tmp_path))
    assert "studio" in telling(folder)
    assert "surgery" not in telling(folder)


def test_a_text_is_erased_however_its_accents_are_spelled(memory, folder):
    said = unicodedata.normalize("NFD", "Zoë lives at the café in Århus.")
    memory.remember(said, now=NOW)
    done = memory.erase(text=unicodedata.normalize("NFC", "café in Århus"))
    assert (len(done.cell_ids), done.remaining) == (1, {})
    assert not files_with(folder, [said, unicodedata.normalize("NFC", said)])
    other = memory.remember("The café opens at nine.", now=NOW)
    memory.forget(other.cell_id)
    with pytest.raises(InputError, match="deleted"):
        memory.remember(origin="agent", text=unicodedata.normalize("NFD", "The café opens at nine."), now=NOW)


def test_what_a_person_remembers_as_an_episode_stays_when_another_memory_of_the_day_goes(memory, folder):
    walk = memory.remember("We walked over the ridge and Mara lost her hat.", cell_type="episode", now=NOW)
    memory.confirm(walk.cell_id)
    milk = memory.remember("Mara likes oat milk.", now=NOW)
    memory.forget(milk.cell_id)
    assert found(memory, "ridge hat") == ["We walked over the ridge and Mara lost her hat."]


@pytest.mark.parametrize("word", ["forget", "erase"])
def test_the_telling_of_the_conversation_before_goes_with_what_replaced_a_memory_of_it(memory, folder, word):
    three_ports(folder)
    told = row("cells", "eeeeee1", content="The port, 6432 since.", session_id="s-aaaaaa1")
    commit(
        folder,
        events(
            "episode.written",
            {name: told.get(name) for name in CATALOGUE["episode.written"].payload}
            | {"turn_count": 4, "cell_ids": ["aaaaaa1"]},
        ),
    )
    assert telling(folder)
    getattr(memory, word)("bbbbbb1")
    assert telling(folder) == ""


def test_a_merged_text_that_was_taken_back_has_no_place_any_more(memory, folder):
    two_ports(folder)
    merged = memory.resolve("d11111", "merged", text="Staging listens on two ports.").cell_id
    memory.unresolve("d11111")
    assert standing(folder)[str(merged)] == ("superseded", None, None)
    with pytest.raises(InputError, match="nothing took its place"):
        memory.confirm(merged)


@pytest.mark.nights
def test_an_episode_is_erased_by_its_conversation_and_the_refusal_names_it(memory, folder, tmp_path):
    nightly.fn(home=str(folder), sources=talk(tmp_path))
    (episode,) = (
        store_of(folder).rows("cells", ["cell_id", "cell_type"]).filter(cell_type="episode")["cell_id"]
    )
    with pytest.raises(InputError, match=r"tells a whole conversation: .* --session"):
        memory.erase(episode)
    session = store_of(folder).rows("turns", ["session_id"])["session_id"][0]
    assert memory.erase(session_id=session).is_proven
    assert telling(folder) == ""


def named_people(folder: Path) -> None:
    """Tobias Berg in two memories, once by his nickname, with a summary that knows both."""
    fill(folder, name_people)


def name_people(folder: Path) -> None:
    cells = [
        row("cells", "aaaaaa1", content="Tobias Berg sails on Sundays.", entities=["Tobias Berg (person)"]),
        row("cells", "bbbbbb1", content="Tobias is called Skipper.", entities=["Tobias (person)"]),
    ]
    known(folder, *({**one, "content_hash": str(one["cell_id"])} for one in cells))
    nightly.fn(home=str(folder))
    (entity,) = store_of(folder).rows("entities", ["entity_id"])["entity_id"]
    told = {"entity_id": entity, "summary": "Tobias Berg, called Skipper, sails.", "enriched_count": 2}
    commit(folder, events("entity.enriched", told))


@pytest.mark.nights
@pytest.mark.parametrize("word", ["forget", "erase"])
def test_who_somebody_is_is_not_told_from_what_went(memory, folder, word):
    named_people(folder)
    (before,) = memory.entity("Tobias Berg").entities
    assert "Skipper" in str(before.summary)
    getattr(memory, word)("bbbbbb1")
    (after,) = memory.entity("Tobias Berg").entities
    assert after.summary is None
    if word == "erase":
        assert (after.mention_count, after.aliases) == (1, [])
        assert not files_with(folder, ["called Skipper"])
    assert_rebuilds(folder)


@pytest.mark.nights
def test_an_erased_full_name_leaves_the_first_name_as_it_is_said(memory, folder):
    named_people(folder)
    memory.erase("aaaaaa1")
    (after,) = memory.entity("Tobias").entities
    assert (after.name, after.aliases, after.mention_count) == ("Tobias", [], 1)
    assert not files_with(folder, ["Tobias Berg"])


# notes, confirmed values, resolutions


def test_a_secret_in_a_note_is_never_stored(memory, folder):
    key = "AKIAIOSFODNN7EXAMPLE"
    note = f"see {key}"
    two_ports(folder)
    memory.resolve("d11111", "both_valid", note=note)
    one = memory.remember("The kiln runs at 1040 degrees.", now=NOW)
    memory.confirm(one.cell_id, note=note)
    two = memory.correct(one.cell_id, "The kiln runs at 1060 degrees.", note=note)
    memory.forget(two.cell_id, note=note)
    assert not files_with(folder, [key])
    assert "[redacted:" in str(memory.explain(two.cell_id).life.events[-1].told)
    with pytest.raises(InputError, match="note is not possible: give at most 4000 characters"):
        memory.confirm("aaaaaa1", note="x" * 5000)


def test_a_later_value_stands_beside_a_confirmed_one_until_the_night_settles_it(memory, folder):
    known(folder, value("aaaaaa1", 5432, 0))
    memory.confirm("aaaaaa1", now=NOW)
    known(folder, value("bbbbbb1", 6432, 1))
    assert {*found(memory, "staging port")} == {"Staging listens on 5432.", "Staging listens on 6432."}
    memory.confirm("bbbbbb1", now=NOW + DAY)
    assert found(memory, "staging port") == ["Staging listens on 6432."]


def test_a_holder_has_its_own_confirmations_and_not_those_of_what_it_replaced(memory, folder):
    known(folder, value("aaaaaa1", 5432, 0), value("bbbbbb1", 6432, 1))
    told = {"confirmed_by": "x", "confirmations": 7, "evidence": ["turn-1"], "last_accessed": NOW}
    commit(folder, events("cell.confirmed", {"cell_id": "aaaaaa1", **told}))
    (cell,) = memory.search("staging 5432", now=NOW + 3 * DAY).cells
    assert (cell.value, cell.use.confirmations) == ("6432", 0)


def test_a_resolution_of_which_a_side_is_gone_is_not_taken_back(memory, folder):
    two_ports(folder)
    memory.resolve("d11111", "both_valid")
    memory.forget("aaaaaa1")
    with pytest.raises(InputError, match="gone or superseded"):
        memory.unresolve("d11111")


@pytest.mark.parametrize("year", [1, 1969, 2200, 9999])
def test_a_moment_that_no_journal_holds_is_refused(memory, folder, year):
    with pytest.raises(InputError, match="choose 1970 to 2199"):
        memory.remember("The kiln runs at 1040 degrees.", now=NOW.replace(year=year))
    assert not (folder / "journal").exists()


@pytest.mark.processes
def test_a_run_waits_for_an_edit_and_not_for_another_run(tmp_path):
    folder = Path(
        write_settings(tmp_path / "home", embedding={"provider": "none"}, edits={"lock_seconds": 60})
    )

    def run() -> None:
        with open_workspace(folder):
            pass

    waiting = threading.Thread(target=run)
    with writing(open_home(folder), work="edit"):
        waiting.start()
        waiting.join(timeout=0.5)
        assert waiting.is_alive()
    waiting.join()
    with another_writer(folder), pytest.raises(BusyError, match="another run is writing"):
        run()
