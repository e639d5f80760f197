"""Laws of a person's words: erased texts leave no byte, chains have no circle, and a rebuild tells the same memory."""

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

from flows.rebuild import rebuild
from slowwave import Memory
from slowwave.errors import InputError, NotFoundError
from slowwave.home.workspace import open_workspace
from slowwave.rewrite.byte_scan import files_with, forms_of
from slowwave.rewrite.erase_plan import ErasePlan
from slowwave.rewrite.transform import Event
from slowwave.schemas.tables import TABLES
from tasks.extract.deleted import said_again, without_deleted
from tests import made_once
from tests.examples import of_homes
from tests.made_once import fill
from tests.rows import NOW, events, one_of_every_kind, row
from tests.scripted_model import store_of, tables, write_settings

OWNER = {"user_id": "ana", "project_id": "kiln"}
SLOW = of_homes(3)
WORD = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\"\\\n\t'{}"), min_size=1)
TEXT = st.lists(WORD, min_size=3, max_size=8).map(" ".join).filter(lambda text: len(text.strip()) > 14)


def home() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="slowwave-words-", dir=made_once.folder()))
    write_settings(folder, embedding={"provider": "none"}, owner=OWNER)
    return folder


@SLOW
@given(TEXT)
@example('He said: "C:\\new\\table"\nand \U0001f600 left,\u2028then Zoë\tcame \\" back.')
def test_an_erased_text_leaves_no_byte_and_the_rest_stays(text):
    folder = home()
    memory = Memory(folder)
    kept = memory.remember("The other memory of this home stays as it is.", now=NOW)
    try:
        said = memory.remember(text, now=NOW)
    except InputError:
        return  # nothing in it can be remembered
    content = memory.explain(said.cell_id).content
    assert files_with(folder, [content])
    done = memory.erase(said.cell_id, now=NOW)
    assert done.is_proven or len(content) < 12
    assert files_with(folder, [content]) == {} or len(content) < 12
    assert store_of(folder).rows("cells", ["cell_id"])["cell_id"].to_list() == [kept.cell_id]
    shutil.rmtree(folder)


STEP = st.tuples(
    st.sampled_from(
        [
            *("correct", "change", "remember", "confirm", "forget", "erase"),
            *("a_wins", "b_wins", "both_valid", "merged", "undo"),
        ]
    ),
    st.integers(0, 3),
)


def beginning(folder: Path) -> None:
    """Four memories, of which each contradicts the next."""
    fill(folder, say_four)


def say_four(folder: Path) -> None:
    ids = [f"{name * 6}1" for name in "abcd"]
    whole = [
        row(
            "cells",
            name,
            content=f"Kiln {name} is hot.",
            content_hash=name,
            entities=[],
            artifacts=[],
            evidence=[],
        )
        for name in ids
    ]
    pairs = [
        {"contradiction_id": f"{number}" * 7, "cell_a": ids[number], "cell_b": ids[number + 1], **OWNER}
        for number in range(3)
    ]
    with open_workspace(folder) as workspace:
        opened = events("contradiction.opened", *({**pair, "scope": "user-private"} for pair in pairs))
        workspace.commit(pl.concat([events("cell.extracted", *_payloads(whole)), opened]), now=NOW)


def _payloads(whole: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{name: value for name, value in one.items() if name != "recorded_at"} for one in whole]


def say(memory: Memory, folder: Path, word: str, number: int, step: int) -> None:
    """One word about the memory or the contradiction of that number, where it is possible."""
    now = NOW + timedelta(minutes=step)
    cells = store_of(folder).rows("cells", ["cell_id"])["cell_id"].sort()
    if word in ("correct", "change", "confirm", "forget", "erase") and cells.is_empty():
        return
    cell_id, pair = cells[number % len(cells)] if len(cells) else "", f"{number % 3}" * 7
    try:
        if word == "correct":
            memory.correct(cell_id, f"Kiln number {step % 4} is cold.", now=now)
        elif word == "change":
            memory.correct(cell_id, f"Kiln number {step % 4} is cold.", reason="changed", now=now)
        elif word == "remember":
            memory.remember(f"Kiln number {number % 4} is cold.", now=now)
        elif word == "undo":
            memory.unresolve(pair, now=now)
        elif word in ("confirm", "forget", "erase"):
            getattr(memory, word)(cell_id, now=now)
        else:
            memory.resolve(pair, word, text=f"Kilns {step} are warm." if word == "merged" else "", now=now)
    except (InputError, NotFoundError):
        return


def assert_chains_end_somewhere(folder: Path) -> None:
    """What a memory replaced is there, and what follows it is there, or was forgotten and replaced by nobody."""
    store = store_of(folder)
    cells = store.rows("cells", ["cell_id", "superseded_by", "supersedes"])
    there = set(cells["cell_id"])
    forgotten = set(store.rows("tombstones", ["cell_id", "content"]).drop_nulls("content")["cell_id"])
    assert set(cells["supersedes"].drop_nulls()) <= there
    assert set(cells["superseded_by"].drop_nulls()) <= there | forgotten


@SLOW
@given(st.lists(STEP, min_size=1, max_size=6))
@example([("a_wins", 0), ("b_wins", 1), ("erase", 1)])
@example([("a_wins", 0), ("undo", 0), ("b_wins", 0), ("correct", 1), ("undo", 0)])
@example([("change", 0), ("forget", 4), ("remember", 0), ("change", 1), ("forget", 4), ("erase", 0)])
@example([("correct", 0), ("correct", 1), ("correct", 2), ("merged", 2), ("undo", 2), ("forget", 0)])
def test_after_any_words_chains_have_no_circle_and_a_rebuild_tells_the_same(story):
    folder = home()
    beginning(folder)
    memory = Memory(folder)
    for step, (word, number) in enumerate(story):
        say(memory, folder, word, number, step)
    cells = store_of(folder).rows("cells", ["cell_id", "superseded_by", "status"])
    follows = dict(cells.drop_nulls().select("cell_id", "superseded_by").iter_rows())
    for start in follows:
        seen = [start]
        while seen[-1] in follows:
            seen.append(follows[seen[-1]])
            assert len(seen) == len(set(seen)), f"a circle: {seen}"
    assert cells.filter((pl.col("status") != "superseded") & pl.col("superseded_by").is_not_null()).is_empty()
    assert_chains_end_somewhere(folder)
    before = tables(folder)
    rebuild.fn(home=str(folder))
    after = tables(folder)
    assert [name for name in TABLES if not before[name].equals(after[name])] == []
    shutil.rmtree(folder)


@SLOW
@given(st.sampled_from(["a_wins", "b_wins", "both_valid", "merged"]), st.lists(STEP, max_size=2))
@example("a_wins", [("b_wins", 0), ("forget", 2)])
def test_taking_a_resolution_back_restores_what_was_believed(resolution, story):
    folder = home()
    beginning(folder)
    memory = Memory(folder)
    for step, (word, number) in enumerate(story):
        say(memory, folder, word, number, step)
    before = tables(folder)
    disputes = before["contradictions"].filter(pl.col("contradiction_id") == "1" * 7)
    if disputes["status"].to_list() != ["open"]:  # an edit has ended it: there is nothing to settle
        return
    text = "Kilns are warm at most." if resolution == "merged" else ""
    try:
        memory.resolve("1" * 7, resolution, text=text, now=NOW + timedelta(hours=1))
    except (InputError, NotFoundError):
        return
    memory.unresolve("1" * 7, now=NOW + timedelta(hours=2))
    after = tables(folder)
    believed = [
        "cell_id",
        "status",
        "superseded_by",
        "supersedes",
        "summary",
        "valid_until",
        "prompt_version",
    ]
    old = before["cells"].select(believed)
    assert after["cells"].select(believed).join(old, on="cell_id", how="semi").equals(old)
    others = after["cells"].join(before["cells"], on="cell_id", how="anti")
    assert set(others["status"]) <= {"superseded"}
    assert after["contradictions"].filter(pl.col("contradiction_id") == "1" * 7)["status"].item() == "open"
    shutil.rmtree(folder)


@given(TEXT)
def test_every_form_of_a_text_is_looked_for(text):
    import json

    forms = forms_of(text)
    line = json.dumps({"payload": json.dumps({"content": text})}, ensure_ascii=False).encode()
    assert any(form in line for form in forms)
    assert any(form in json.dumps([text]).encode() for form in forms)
    assert text.encode("utf-16-le") in forms


def test_an_erasure_of_nothing_changes_no_event_and_twice_is_once():
    import json

    owned = {"user_id": "ana", "project_id": "kiln", "scope": "user-private", "content_hash": "h"}
    nothing, some = (
        ErasePlan(),
        ErasePlan(
            turns=[{"turn_id": "t1", "source_id": "s1", **owned}],
            cells=[{"cell_id": "c2", **owned}],
            chunk_ids=["k1"],
            lone_topic_ids=["T2"],
            cut_ids=["c4"],
            texts=["Kiln 2 runs at 1040"],
            is_text=True,
        ),
    )
    for kind, text in one_of_every_kind().iter_rows():
        payload = json.loads(text)
        assert nothing.after([Event("e", kind, payload)]) == [payload]
        (once,) = some.after([Event("e", kind, payload)])
        if once is not None:
            assert some.after([Event("e", kind, once)]) == [once]


SENTENCE = st.lists(
    st.sampled_from(
        [
            "kiln",
            "glaze",
            "oven",
            "blue",
            "number",
            "gate",
            "garden",
            "Mara",
            "Ruth",
            "4711",
            "1040",
            "not",
            "Graz",
        ]
    ),
    min_size=3,
    max_size=8,
    unique=True,
).map(" ".join)


def same(new: str, deleted: str) -> bool:
    frame = pl.DataFrame({"new": [new], "deleted": [deleted]})
    return bool(frame.select(said_again("new", "deleted", same_words=0.6)).item())


@given(SENTENCE, st.integers(10_000, 99_999))
def test_the_rule_knows_a_text_again_in_another_order_and_never_with_another_number(text, number):
    assert same(text, text)
    assert same(text.upper(), text)
    assert not same(f"{text} {number}", text)
    assert not same(f"{text} {number}", f"{text} {number + 1}")


@given(st.lists(SENTENCE, min_size=1, max_size=4, unique=True), st.sets(st.integers(0, 3)))
@example(["Graz kiln glaze", "Mara Graz kiln glaze"], {0})
def test_turns_that_were_deleted_go_and_no_other(texts, gone):
    turns = pl.DataFrame(
        {"chunk_id": "k", "turn_number": list(range(len(texts))), "text": texts, "user_id": "ana"}
    )
    dead = [f"Mara: {texts[number]}" for number in gone if number < len(texts)]
    deleted = pl.DataFrame(
        {"content": dead, "user_id": ["ana"] * len(dead)},
        schema_overrides={"content": pl.String, "user_id": pl.String},
    )
    kept = without_deleted(turns, deleted, owner=["user_id"])["turn_number"].to_list()
    assert kept == [number for number in range(len(texts)) if number not in gone]
