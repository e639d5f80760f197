"""The journal: what is committed comes back as it was, what is broken is named and passed by."""

import hashlib
import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from ulid import ULID

from slowwave.errors import ConfigError, ContractError, NotFoundError, TransientError
from slowwave.journal.catalogue import CATALOGUE, SCAN_SCHEMA, decode
from slowwave.journal.segments import Journal
from tests.rows import NOW, events

HOSTILE = [
    "plain",
    "",
    "quotes \" ' ` and \\ and \\n",
    "NUL \x00 and \x01 \x1f \x7f",
    "lines \n \r\n \x85 \u2028 \u2029 end",
    "Größe 1040 °C, 日本語, 👩‍🔥, \u202eevil",
    '"}, "payload": {"cell_id": "forged"}}',
    '{"segment": "slowwave", "format": 1}',
    "long " + "x" * 1_000_000,
]


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


def flagged(*cell_ids: str) -> pl.DataFrame:
    return events("cell.flagged", *({"cell_id": cell_id, "reason": "r"} for cell_id in cell_ids))


def said(events_read: pl.DataFrame) -> list[str]:
    return decode("cell.flagged", events_read.with_row_index("order"))["cell_id"].to_list()


def committed(journal: Journal, *cell_ids: str, now: datetime = NOW) -> Path:
    segment = journal.commit(flagged(*cell_ids), now=now)
    assert segment is not None
    return journal.path_of(segment)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_every_text_comes_back_as_it_was(journal: Journal) -> None:
    committed(journal, *HOSTILE)
    scan = journal.scan()
    assert scan.problems == ()
    assert said(scan.events) == HOSTILE


def test_every_number_and_time_comes_back_to_the_last_bit(journal: Journal) -> None:
    numbers = [number / 997 for number in range(997)] + [5e-324, 1e308, 0.1 + 0.2]
    journal.commit(
        events("cell.archived", *({"cell_id": "c", "effective_confidence": n} for n in numbers)), now=NOW
    )
    read = journal.scan().events.with_row_index("order")
    assert decode("cell.archived", read)["effective_confidence"].to_list() == numbers
    times = [
        datetime(1, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
        NOW,
        datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    ]
    segment = journal.commit(
        events("cell.retired", *({"cell_id": "c", "superseded_at": time} for time in times)), now=NOW
    )
    assert segment is not None
    read = journal.read([segment]).events.with_row_index("order")
    assert decode("cell.retired", read)["superseded_at"].to_list() == times


def test_events_carry_their_place_their_version_and_the_time_of_the_commit(journal: Journal) -> None:
    segment = journal.commit(pl.concat([flagged("a"), events("cell.judged", {"cell_id": "b"})]), now=NOW)
    assert segment is not None
    read = journal.scan().events
    assert read.schema == SCAN_SCHEMA
    assert read["event_id"].to_list() == [f"{segment}.0", f"{segment}.1"]
    assert read["kind"].to_list() == ["cell.flagged", "cell.judged"]
    assert read["version"].to_list() == [1, 1]
    assert read["recorded_at"].to_list() == [NOW, NOW]


def test_a_segment_lies_in_the_folder_of_its_day_and_says_how_much_it_holds(journal: Journal) -> None:
    path = committed(journal, "a", "b", "c")
    assert path.parent == journal.root / "2026" / "09" / "17"
    head, _, body = path.read_bytes().partition(b"\n")
    assert json.loads(head) == {
        "segment": "slowwave",
        "format": 1,
        "event_count": 3,
        "sha256": hashlib.sha256(body).hexdigest(),
        "after": "",
    }
    assert [json.loads(line)["payload"]["cell_id"] for line in body.decode().splitlines()] == ["a", "b", "c"]


def test_a_kind_outside_the_catalogue_is_refused_before_anything_is_written(journal: Journal) -> None:
    with pytest.raises(ContractError, match="cell\\.dreamt"):
        journal.commit(flagged("a").with_columns(kind=pl.lit("cell.dreamt")), now=NOW)
    assert not journal.root.exists()


def test_ids_increase_within_a_moment_and_also_when_the_clock_goes_back(journal: Journal) -> None:
    times = [NOW, NOW, NOW, NOW - timedelta(days=400), NOW + timedelta(days=40), NOW]
    for number, time in enumerate(times):
        committed(journal, str(number), now=time)
    assert said(journal.scan().events) == [str(number) for number in range(len(times))]


@pytest.mark.parametrize("hiding", ["2027/01/02", "lost+found", "zz/01/01", "2026/11"])
def test_ids_increase_beside_folders_that_hold_no_segment(journal: Journal, hiding: str) -> None:
    committed(journal, "first")
    (journal.root / hiding).mkdir(parents=True)
    committed(journal, "second", now=NOW - timedelta(days=3))
    assert said(journal.scan().events) == ["first", "second"]


def test_a_segment_that_is_not_there_is_not_found(journal: Journal) -> None:
    with pytest.raises(NotFoundError, match="is not in the journal"):
        journal.read([str(ULID.from_datetime(NOW))])


def _torn(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _header_alone(data: bytes) -> bytes:
    return data[: data.index(b"\n") + 1]


def _without_last_byte(data: bytes) -> bytes:
    return data[:-1]


def _changed(data: bytes) -> bytes:
    return data.replace(b'"bad"', b'"BAD"')


def _longer(data: bytes) -> bytes:
    return data + b"{}\n"


def _wrong_count(data: bytes) -> bytes:
    return data.replace(b'"event_count": 1', b'"event_count": 2')


def _newer_format(data: bytes) -> bytes:
    return data.replace(b'"format": 1', b'"format": 2')


def _without_header(data: bytes) -> bytes:
    return data[data.index(b"\n") + 1 :]


def _zeros(data: bytes) -> bytes:
    return bytes(len(data))


BROKEN = {
    _torn: "torn or changed",
    _header_alone: "torn or changed",
    _without_last_byte: "torn or changed",
    _changed: "torn or changed",
    _longer: "torn or changed",
    _wrong_count: "torn or changed",
    _newer_format: "its format is 2",
    _without_header: "not a segment header",
    _zeros: "not a segment header",
    lambda _: b"": "not a segment header",
    lambda _: b"\xff\xfe\x00nonsense": "not a segment header",
    lambda _: b"[" * 200_000: "not a segment header",
    lambda _: b'["segment"]\n': "not a segment header",
    lambda _: b'{"segment": "other"}\n': "not a segment header",
}


@pytest.mark.parametrize(("broken", "reason"), BROKEN.items())
def test_what_is_not_whole_is_named_and_passed_by(journal: Journal, broken, reason: str) -> None:
    committed(journal, "before")
    path = committed(journal, "bad")
    whole = path.read_bytes()
    path.write_bytes(broken(whole))
    committed(journal, "after")
    assert path.read_bytes() != whole
    scan = journal.scan()
    assert said(scan.events) == ["before", "after"]
    assert [problem.path for problem in scan.problems] == [path]
    assert reason in scan.problems[0].reason


def test_every_cut_of_a_segment_is_noticed(journal: Journal) -> None:
    path = committed(journal, "bad")
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert len(journal.scan().problems) == 1, length


def test_foreign_files_and_drafts_left_by_a_kill_are_named_and_passed_by(journal: Journal) -> None:
    path = committed(journal, "a")
    foreign = {
        path.with_name(f".{path.name}.draft"): "left by a write that did not finish",
        path.with_name("notes.txt"): "not a segment in the folder of its day",
        journal.root / "README": "not a segment in the folder of its day",
        journal.root / "copy" / path.name: "not a segment in the folder of its day",
        path.with_name(f"7{'Z' * 25}.jsonl"): "not a segment in the folder of its day",
        path.with_name(f"8{'Z' * 25}.jsonl"): "not a segment in the folder of its day",
        path.with_name(path.name.lower()): "not a segment in the folder of its day",
    }
    for file in foreign:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(path.read_bytes())
    scan = journal.scan()
    assert said(scan.events) == ["a"]
    assert {problem.path: problem.reason for problem in scan.problems} == foreign
    committed(journal, "b", now=NOW - timedelta(days=1))
    assert said(journal.scan().events) == ["a", "b"]


def test_a_folder_that_cannot_be_written_is_an_error_that_can_pass(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("a file stands where the journal should be")
    with pytest.raises(TransientError, match="nothing was recorded"):
        Journal(tmp_path / "journal").commit(flagged("a"), now=NOW)
    assert files(tmp_path) == [tmp_path / "journal"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_an_error_that_can_pass(journal: Journal) -> None:
    path = committed(journal, "a")
    path.parent.chmod(0o500)
    with pytest.raises(TransientError, match="nothing was recorded"):
        committed(journal, "b")
    path.parent.chmod(0o700)
    assert files(journal.root) == [path]


# versions


def one_version_on(
    monkeypatch: pytest.MonkeyPatch, kind: str, added: dict[str, object], **more: pl.DataType
) -> None:
    entry = CATALOGUE[kind]
    newer = replace(entry, added=(*entry.added, added), payload=pl.Schema({**entry.payload, **more}))
    monkeypatch.setitem(CATALOGUE, kind, newer)


def test_an_event_of_an_unknown_kind_asks_for_a_newer_slowwave(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        newer.setitem(CATALOGUE, "cell.dreamt", CATALOGUE["cell.flagged"])
        journal.commit(flagged("a").with_columns(kind=pl.lit("cell.dreamt")), now=NOW)
    with pytest.raises(ConfigError, match="'cell\\.dreamt' of version 1.*Upgrade Slowwave"):
        journal.scan()


def test_an_event_of_a_newer_version_asks_for_a_newer_slowwave(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        one_version_on(newer, "cell.flagged", {})
        committed(journal, "a")
    with pytest.raises(ConfigError, match="'cell\\.flagged' of version 2"):
        journal.scan()


def test_an_older_event_gets_the_defaults_of_every_step_since(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed(journal, "first")
    one_version_on(monkeypatch, "cell.flagged", {"urgency": "low"}, urgency=pl.String())
    journal.commit(events("cell.flagged", {"cell_id": "second", "urgency": "high"}), now=NOW)
    one_version_on(monkeypatch, "cell.flagged", {"since_at": NOW}, since_at=pl.Datetime("us", "UTC"))
    later = NOW + timedelta(days=1)
    journal.commit(
        events("cell.flagged", {"cell_id": "third", "urgency": "none", "since_at": later}), now=NOW
    )
    read = decode("cell.flagged", journal.scan().events.with_row_index("order"))
    assert read.select("cell_id", "urgency", "since_at").rows() == [
        ("first", "low", NOW),
        ("second", "high", NOW),
        ("third", "none", later),
    ]


def test_a_segment_that_is_gone_is_missed_by_the_one_after_it(journal: Journal) -> None:
    paths = [committed(journal, name, now=NOW + timedelta(days=day)) for day, name in enumerate("abcd")]
    assert journal.missing() == []
    paths[1].unlink()
    assert journal.missing() == [paths[1].stem]
    paths[2].unlink()
    assert journal.missing() == [paths[2].stem], "of several in a row the last one is named"


def test_a_segment_that_was_emptied_is_neither_missing_nor_broken(journal: Journal) -> None:
    first, second, third = (committed(journal, name) for name in "abc")
    journal.rewrite(second.stem, [])
    assert journal.lines(second.stem) == []
    scan = journal.scan()
    assert scan.problems == ()
    assert said(scan.events) == ["a", "c"]
    assert journal.missing() == []
    journal.rewrite(third.stem, journal.lines(third.stem) or [])
    first.unlink()
    assert journal.missing() == [first.stem], "a segment that was rewritten still names the one before it"


@pytest.mark.parametrize("last", [0, 1, 5])
def test_a_copy_of_a_segment_under_another_name_is_not_read_again(journal: Journal, last: int) -> None:
    for name in "abcdef"[: last + 1]:
        path = committed(journal, name)
    time_of, other = path.stem[:10], "Y" if path.stem[10] == "Z" else "Z"  # the last letter counts up
    copy = path.with_name(f"{time_of}{other}{path.stem[11:]}.jsonl")
    copy.write_bytes(path.read_bytes())
    scan = journal.scan()
    (problem,) = scan.problems
    assert problem.path == copy
    assert path.stem in problem.reason
    assert not problem.is_loss
    assert said(scan.events) == list("abcdef"[: last + 1])


def test_a_link_to_nowhere_and_a_folder_in_a_segments_place_are_named(journal: Journal) -> None:
    first, second, _ = (committed(journal, name) for name in "abc")
    first.unlink()
    first.symlink_to(journal.root / "nowhere")
    second.unlink()
    second.mkdir()
    scan = journal.scan()
    assert {problem.path for problem in scan.problems} == {first, second}
    assert said(scan.events) == ["c"]


def test_a_journal_that_cannot_be_listed_is_not_an_empty_one(journal: Journal) -> None:
    journal.root.write_text("a file in the folder's place")
    (problem,) = journal.scan().problems
    assert problem.path == journal.root
    assert problem.is_loss
