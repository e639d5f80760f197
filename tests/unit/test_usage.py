"""The record of use: batches, a spool that many processes share, and nothing that counts twice."""

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from slowwave.errors import TransientError
from slowwave.home.paths import Home, open_home
from slowwave.home.usage import BATCH, MOST_FILES, Usage, Use, collect_spools
from slowwave.journal.catalogue import decode
from tests.rows import NOW


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return open_home(tmp_path / "home")


def lines(home: Home) -> list[str]:
    return [line for path in home.root.glob("spool/*") for line in path.read_text().splitlines()]


def journaled(home: Home) -> pl.DataFrame:
    return decode("usage.recorded", home.journal.scan().events.with_row_index("order"))


def used(frame: pl.DataFrame) -> list[tuple[str, str, str | None]]:
    return sorted(frame.select("cell_id", "usage_type", "context").rows())


# the hot path


def test_noting_a_use_writes_nothing(home):
    usage = Usage(home)
    usage.note(["a", "b"], "retrieved", context="c1", at=NOW)
    assert not home.root.exists()
    usage.flush()
    assert len(lines(home)) == 2
    assert home.journal.segment_ids() == []


def test_a_full_batch_goes_to_the_spool(home):
    usage = Usage(home)
    usage.note([f"c{number}" for number in range(BATCH - 1)], "retrieved", at=NOW)
    assert lines(home) == []
    usage.note(["last"], "retrieved", at=NOW)
    assert len(lines(home)) == BATCH


def test_flushing_nothing_makes_no_folder(home):
    Usage(home).flush()
    assert not home.root.exists()
    assert collect_spools(home).usage.is_empty()
    assert not home.root.exists()


def test_a_record_that_is_no_longer_used_is_written(home):
    usage = Usage(home)
    usage.note(["a"], "retrieved", at=NOW)
    del usage
    assert used(collect_spools(home).usage) == [("a", "retrieved", None)]


AT_END = """
import sys
from slowwave.home.paths import open_home
from slowwave.home.usage import Usage
from tests.rows import NOW
usage = Usage(open_home(sys.argv[1]))
usage.note(sys.argv[2:], "retrieved", context="c1", at=NOW)
"""


@pytest.mark.processes
def test_what_waits_is_written_when_the_program_ends(home):
    subprocess.run([sys.executable, "-c", AT_END, str(home.root), "a", "b"], check=True, timeout=120)
    assert used(collect_spools(home).usage) == [("a", "retrieved", "c1"), ("b", "retrieved", "c1")]


def test_a_spool_that_cannot_be_written_fails_a_flush_and_no_note(home):
    home.root.mkdir()
    (home.root / "spool").write_text("in the way")
    usage = Usage(home)
    usage.note([f"c{number}" for number in range(BATCH)], "retrieved", at=NOW)
    with pytest.raises(TransientError, match="spool"):
        usage.flush()
    (home.root / "spool").unlink()
    usage.flush()
    assert collect_spools(home).usage.height == BATCH, "what waited is not lost"


# the spool


@pytest.mark.parametrize(
    "line",
    [
        "nonsense", "null", "{}", "[" * 100_000, "\udcff",
        json.dumps({"cell_id": "a", "usage_type": "loved", "used_at": NOW.isoformat(), "context": ""}),
        json.dumps({"cell_id": 7, "usage_type": "cited", "used_at": NOW.isoformat(), "context": ""}),
        json.dumps({"cell_id": "a", "usage_type": "cited", "used_at": "soon", "context": ""}),
        json.dumps({"cell_id": "a", "usage_type": "cited", "used_at": "0001-01-01T00:00:00+09:00", "context": ""}),
    ],
)  # fmt: skip
def test_a_foreign_line_is_counted_and_passed_over(home, line):
    usage = Usage(home)
    usage.note(["a"], "retrieved", at=NOW)
    usage.flush()
    (home.root / "spool" / "usage.jsonl").write_text(f"{line}\n", encoding="utf-8", errors="surrogateescape")
    taken = collect_spools(home)
    assert (used(taken.usage), taken.unreadable_count) == ([("a", "retrieved", None)], 1)


def test_a_spool_is_kept_until_its_rows_are_committed(home):
    usage = Usage(home)
    usage.note(["a"], "retrieved", at=NOW)
    usage.flush()
    killed = collect_spools(home)
    usage.note(["b"], "retrieved", at=NOW)
    usage.flush()
    again = collect_spools(home)
    assert killed.usage["usage_id"].is_in(again.usage["usage_id"].implode()).all()
    assert used(again.usage) == [("a", "retrieved", None), ("b", "retrieved", None)]
    again.discard()
    again.discard()
    assert collect_spools(home).usage.is_empty()


def test_many_files_of_the_spool_become_one_segment(home):
    usage = Usage(home)
    for number in range(MOST_FILES + 1):
        usage.note([f"c{number}"], "retrieved", at=NOW)
        usage.flush()
    assert len(home.journal.segment_ids()) == 1
    assert (journaled(home).height, collect_spools(home).usage.height) == (MOST_FILES, 1)


AGAIN = """
for number in range(100):
    usage.note([f"{sys.argv[2]}{number}"], "retrieved", at=NOW)
    usage.flush()
"""


@pytest.mark.processes
def test_two_processes_note_at_once_while_a_third_takes_and_nothing_is_lost(home):
    code = AT_END + AGAIN
    both = [subprocess.Popen([sys.executable, "-c", code, str(home.root), name]) for name in ("a", "b")]
    taken: list[pl.DataFrame] = []
    while any(process.poll() is None for process in both):
        spooled = collect_spools(home)
        taken.append(spooled.usage)
        assert spooled.unreadable_count == 0
        spooled.discard()
    assert [process.wait(60) for process in both] == [0, 0]
    found = pl.concat([*taken, collect_spools(home).usage, journaled(home).select(taken[0].columns)])
    wanted = {f"{name}{number}" for name in "ab" for number in range(100)} | {"a", "b"}
    assert set(found["cell_id"]) == wanted
    assert found["usage_id"].n_unique() == len(wanted), "what two take counts once"


# ids and conversations


def test_a_use_has_one_id_whenever_it_is_read(home):
    usage = Usage(home)
    for _ in range(2):
        usage.note(["a"], "retrieved", context="c1", at=NOW)
    usage.note(["a"], "retrieved", context="c2", at=NOW)
    usage.note(["a"], "retrieved", context="c1", at=NOW + timedelta(microseconds=1))
    usage.flush()
    rows = collect_spools(home).usage
    assert rows.height == 3
    assert Use("a", "retrieved", NOW, "c1").usage_id in set(rows["usage_id"])


def test_what_was_shown_and_not_cited_is_ignored_once_a_conversation(home):
    usage = Usage(home)
    assert usage.settle("c1", shown=["a", "b", "c", "a"], cited={"b"}, at=NOW) == ["a", "c"]
    usage.settle("c1", shown=["a", "c"], cited=set(), at=NOW + timedelta(hours=1))
    usage.settle("c2", shown=["a"], cited=[], at=NOW)
    usage.flush()
    rows = collect_spools(home).usage
    assert used(rows) == [("a", "ignored", "c1"), ("a", "ignored", "c2"), ("c", "ignored", "c1")]


def test_a_context_is_a_short_label(home):
    usage = Usage(home)
    usage.note(["a"], "retrieved", context="line\none\x00 " + "x" * 1000, at=NOW)
    usage.flush()
    (context,) = collect_spools(home).usage["context"]
    assert context.startswith("line one xxx")
    assert len(context) == 200
