"""Nothing that comes in is too much: bounds hold, memory stays, the rest is taken in, and each excess is named."""

import json
import os
import resource
import socket
from multiprocessing.connection import Connection
from pathlib import Path

import polars as pl
import pytest

from flows.ingest import ingest
from slowwave.errors import ConfigError, InputError
from slowwave.home.paths import open_home
from slowwave.home.stage import Stage
from slowwave.home.workspace import open_workspace, text_batches
from slowwave.ingest.bounds import Bounds
from slowwave.journal.catalogue import EventRows
from slowwave.memory import Memory
from slowwave.recording import ingest as stage
from slowwave.schemas.report import UNREADABLE, StageReport
from slowwave.settings.tree import load_settings
from slowwave.store import open_store
from tests import forked

MEMORY = 1_500_000_000
SAID = "We take Postgres for the ledger."


def chat(path: Path, *texts: str) -> Path:
    """A chat with these messages, one a line."""
    records = ({"role": "user", "content": text, "timestamp": "2026-06-05T09:12:22Z"} for text in texts)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def run(home: Path, *sources: Path) -> StageReport:
    return ingest.fn(sources=[str(source) for source in sources], home=str(home))


def turns_of(home: Path) -> pl.DataFrame:
    return open_store(open_home(home).store_root).rows("turns").sort("session_id", "turn_index")


@pytest.fixture(autouse=True)
def without_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_EMBEDDING__PROVIDER", "none")


@pytest.fixture
def incoming(tmp_path: Path) -> Path:
    folder = tmp_path / "incoming"
    folder.mkdir()
    return folder


# what does not fit


def test_a_long_message_keeps_its_begin_and_its_end_and_the_report_names_the_place(
    tmp_path: Path, incoming: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SLOWWAVE_READERS__MESSAGE_CHARACTERS", "2000")
    key = "AKIA" + "Q3ZT5WXYB7NMK2LP"
    body = "The log says this. " * 5_000
    chat(incoming / "a.jsonl", "Short.", f"Look at this: {body}{key} {body} What does it mean?")
    report = run(tmp_path / "home", incoming)
    content = turns_of(tmp_path / "home")["content"][1]
    assert content.startswith("Look at this: The log says this.")
    assert content.endswith("What does it mean?")
    assert "characters left out]" in content
    assert len(content) <= 2_100
    assert report.rejected == {"not a turn: message cut at its bound": 1}
    (told,) = [note for note in report.notes if "left out" in note]
    assert "a.jsonl: line 2:" in told
    assert "readers.message_characters allows 2,000" in told
    assert not [path for path in (tmp_path / "home/journal").rglob("*.jsonl") if key in path.read_text()]


def test_a_secret_at_the_cut_is_seen_whole(tmp_path: Path, incoming: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SLOWWAVE_READERS__MESSAGE_CHARACTERS", "2000")
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEAfakefakefakefake0123\n" * 60
    chat(incoming / "a.jsonl", "x " * 600 + key + "-----END RSA PRIVATE KEY-----\n" + "y " * 40_000)
    run(tmp_path / "home", incoming)
    assert "MIIEpAIB" not in turns_of(tmp_path / "home")["content"][0]


def test_a_line_over_its_bound_is_left_out_and_read_once_the_bound_allows_it(
    tmp_path: Path, incoming: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SLOWWAVE_READERS__LINE_BYTES", "10000")
    chat(incoming / "a.jsonl", SAID, "word " * 4_000, "And then?")
    home = tmp_path / "home"
    report = run(home, incoming)
    assert turns_of(home)["content"].to_list() == [SAID, "And then?"]
    assert report.rejected == {"not a turn: line over its bound": 1}
    assert [
        note for note in report.notes if "a.jsonl: line 2 has 20," in note and "readers.line_bytes" in note
    ]
    assert run(home, incoming).rejected == {"unchanged file": 1}
    monkeypatch.setenv("SLOWWAVE_READERS__LINE_BYTES", "100000")
    run(home, incoming)
    assert turns_of(home).height == 3


def test_a_document_and_a_file_have_bounds(tmp_path: Path, incoming: Path, monkeypatch: pytest.MonkeyPatch):
    small = Bounds(document_bytes=100_000, file_bytes=300_000)
    monkeypatch.setattr(Bounds, "of", lambda _: small)
    (incoming / "a.md").write_text("x" * 200_000)
    (incoming / "b.jsonl").write_text("x" * 400_000)
    chat(incoming / "c.jsonl", SAID)
    report = run(tmp_path / "home", incoming)
    notes = "\n".join(report.notes)
    assert "a.md' has 200,000 bytes and is not read: a document may have 100,000" in notes
    assert "b.jsonl' has 400,000 bytes and is not read: a file may have 300,000" in notes
    assert report.rejected == {UNREADABLE: 2}
    assert turns_of(tmp_path / "home")["content"].to_list() == [SAID]


def test_a_report_names_some_places_of_each_reason_and_counts_the_others(
    tmp_path: Path, incoming: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("slowwave.recording.places.SHOWN_PLACES", 2)
    for number in range(5):
        (incoming / f"{number}.jsonl").write_bytes(b"\x00\x01binary\xff" * 50)
    report = run(tmp_path / "home", incoming)
    assert report.rejected == {UNREADABLE: 5}
    assert len([note for note in report.notes if "none is JSON" in note]) == 2
    assert f"3 more: {UNREADABLE}" in report.notes


def test_what_is_no_plain_file_gets_one_clear_line_and_stops_nothing(
    tmp_path: Path, incoming: Path, monkeypatch: pytest.MonkeyPatch
):
    chat(incoming / "good.jsonl", SAID)
    os.mkfifo(incoming / "pipe.jsonl")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(incoming)
        listener.bind("sock.jsonl")
    (incoming / "loop.md").symlink_to(incoming / "loop.md")
    (incoming / "self").symlink_to(incoming)
    Path(os.fsdecode(os.fsencode(incoming) + b"/odd\xff\xfe.md")).write_text("An odd name.")
    with (incoming / "sparse.jsonl").open("wb") as file:
        file.truncate(1 << 42)
    (incoming / "wide.jsonl").write_text(json.dumps({"role": "user", "content": "x"}), encoding="utf-16")
    home = tmp_path / "home"
    report = run(home, incoming)
    assert sorted(turns_of(home)["content"]) == ["An odd name.", SAID]
    assert report.rejected == {"pipe, socket or device": 2, "symbolic link in a folder": 2, UNREADABLE: 2}
    for told in (
        "pipe.jsonl' is a pipe, socket",
        "sock.jsonl' is a pipe, socket",
        "4,398,046,511,104 bytes",
        "UTF-16",
    ):
        assert len([note for note in report.notes if told in note]) == 1
    assert run(home, incoming).rejected["unchanged file"] == 2
    for path in (Path("/dev/zero"), incoming / "pipe.jsonl"):
        assert [note for note in run(home, path).notes if "is not a regular file" in note]


def test_a_folder_that_cannot_be_listed_is_named_and_the_others_are_read(
    tmp_path: Path, incoming: Path, monkeypatch: pytest.MonkeyPatch
):
    chat(incoming / "good.jsonl", SAID)
    (incoming / "shut").mkdir()
    listed = os.scandir

    def scandir(path: str | Path) -> object:
        if Path(path).name == "shut":
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", scandir)
        report = run(tmp_path / "home", incoming)
    assert turns_of(tmp_path / "home").height == 1
    assert report.rejected == {UNREADABLE: 1}
    assert [note for note in report.notes if "shut' cannot be listed (Permission denied)" in note]


def test_a_file_that_changes_while_it_is_read_is_read_again(
    tmp_path: Path, incoming: Path, monkeypatch: pytest.MonkeyPatch
):
    path = chat(incoming / "a.jsonl", SAID)
    read = stage.read_parts

    def read_and_write(*given: object, **asked: object) -> object:
        yield from read(*given, **asked)  # type: ignore[arg-type]
        with path.open("a") as file:
            file.write(json.dumps({"role": "user", "content": "One more."}) + "\n")

    monkeypatch.setattr(stage, "read_parts", read_and_write)
    run(tmp_path / "home", incoming)
    monkeypatch.setattr(stage, "read_parts", read)
    run(tmp_path / "home", incoming)
    assert turns_of(tmp_path / "home")["content"].to_list() == [SAID, "One more."]


# parts


def test_a_session_in_parts_that_was_cut_off_is_the_same_as_one_that_was_not(
    tmp_path: Path, incoming: Path, monkeypatch: pytest.MonkeyPatch
):
    chat(incoming / "long.jsonl", *(f"Message number {number} of the session." for number in range(95)))
    for number in range(7):
        chat(incoming / f"small{number}.jsonl", f"Small talk {number}.")
    monkeypatch.setattr(Bounds, "of", lambda _: Bounds(part_turns=10))
    monkeypatch.setattr("slowwave.recording.parts.PART_FILES", 3)
    run(tmp_path / "whole", incoming)
    assert (
        len(open_home(tmp_path / "whole").journal.segment_ids()) == 12
    )  # nine parts, 5 and 3 small, 2 small
    home, commit = tmp_path / "cut", Stage.commit
    for cut_at in (3, 1, 5):
        left = [None] * cut_at

        def commit_some(stage: Stage, plan: EventRows, left: list[None] = left) -> None:
            if not left:
                raise InputError("cut off here")
            left.pop()
            commit(stage, plan)

        monkeypatch.setattr(Stage, "commit", commit_some)
        with pytest.raises(InputError, match="cut off here"):
            run(home, incoming)
    monkeypatch.setattr(Stage, "commit", commit)
    run(home, incoming)
    names = ["turn_id", "session_id", "turn_index", "content"]
    assert turns_of(home).select(names).equals(turns_of(tmp_path / "whole").select(names))
    stores = [open_store(open_home(root).store_root) for root in (home, tmp_path / "whole")]
    for table, key in (("chunks", "chunk_id"), ("sources", "source_id"), ("passages", "passage_id")):
        found = [
            store.rows(table).sort(key).select(pl.exclude("recorded_at", "indexed_at")) for store in stores
        ]
        assert found[0].equals(found[1])


# memory, in a process of its own


def ingest_alone(told: Connection, home: str, folder: str) -> None:
    """Takes a folder in, in a forked process; sends the report and the peak of its memory in bytes."""
    report = ingest.fn(sources=[folder], home=home)
    told.send((report.model_dump(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))


def in_child(home: Path, folder: Path) -> tuple[StageReport, int]:
    process, told = forked.start(ingest_alone, str(home), str(folder))
    report, peak = told.recv()
    process.join(60)
    return StageReport(**report), peak


def assert_only_the_long_line_is_left_out(home: Path, folder: Path) -> None:
    report, peak = in_child(home, folder)
    assert turns_of(home)["content"].to_list() == [SAID]
    assert report.rejected == {"not a turn: line over its bound": 1}
    assert peak < MEMORY


@pytest.mark.processes
def test_a_line_of_two_hundred_megabytes_is_never_held(tmp_path: Path, incoming: Path):
    with (incoming / "sparse.jsonl").open("wb") as file:
        file.truncate(200_000_000)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + json.dumps({"role": "user", "content": SAID}).encode())
    assert_only_the_long_line_is_left_out(tmp_path / "home", incoming)


@pytest.mark.processes
def test_lines_and_messages_just_under_their_bounds_fit_into_memory(tmp_path: Path, incoming: Path):
    chat(incoming / "a.jsonl", *["word " * 3_000_000] * 3)
    blocks = [{"type": "text", "text": "a"}] * 400_000
    (incoming / "b.jsonl").write_text(json.dumps({"role": "user", "content": blocks}))
    (incoming / "c.jsonl").write_text('{"role": "user", "content": [' + "{}," * 5_000_000 + '"end"]}')
    (incoming / "d.md").write_text("- kiln\n" * 100_000)
    report, peak = in_child(tmp_path / "home", incoming)
    assert turns_of(tmp_path / "home")["source_name"].unique().len() == 4
    assert report.rejected["not a turn: message cut at its bound"] == 4
    assert peak < MEMORY


# texts of a caller


def test_a_text_of_absurd_length_is_refused_in_one_line_wherever_it_is_given(tmp_path: Path):
    long = "word " * 2_000_000
    with Memory(tmp_path / "home", records_usage=False) as memory:
        calls = (
            lambda: memory.search(long),
            lambda: memory.search("kiln", entity=long),
            lambda: memory.context(long),
            lambda: memory.context("kiln", recent_errors=[long]),
            lambda: memory.remember(long),
            lambda: memory.remember("Kiln 2 is hot.", subject=long),
            lambda: memory.timeline(long),
            lambda: memory.erase(text=long),
            lambda: memory.confirm(long),
        )
        for call in calls:
            with pytest.raises(InputError, match=r"give at most \d+ characters") as caught:
                call()
            assert len(str(caught.value)) < 200


def test_texts_are_embedded_in_batches_of_bounded_size(
    tmp_path: Path, incoming: Path, monkeypatch: pytest.MonkeyPatch
):
    chat(incoming / "a.jsonl", *(f"Kiln {number} is {'hot ' * (number * 9)}" for number in range(40)))
    run(tmp_path / "home", incoming)
    monkeypatch.setattr("slowwave.home.workspace.READ_ROWS", 4)
    monkeypatch.setattr("slowwave.home.workspace.EMBED_ROWS", 12)
    monkeypatch.setattr("slowwave.home.workspace.EMBED_BYTES", 4_000)
    with open_workspace(tmp_path / "home") as workspace:
        keys = workspace.store.without_vector("turns")
        batches = list(text_batches(workspace.store, "turns", keys))
    assert [key for _, batch in batches for key in batch["turn_id"]] == keys.to_list()
    sizes = [(batch.height, int(batch["text"].str.len_bytes().sum())) for _, batch in batches]
    assert all(height <= 12 and size < 4_000 + 4 * 1_500 for height, size in sizes)
    assert all(height == 12 or size >= 4_000 for height, size in sizes[:-1])
    assert len(sizes) > 4, "rows alone would make four"
    assert batches[-1][0] == 40


def test_a_settings_file_of_absurd_length_is_refused_in_one_line(tmp_path: Path):
    with (tmp_path / "slowwave.toml").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ConfigError, match="has 1,099,511,627,776 bytes, and settings have"):
        load_settings(tmp_path)
