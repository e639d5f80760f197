"""The record of use: batches that become segments, and nothing that counts twice."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from slowwave.errors import TransientError
from slowwave.home.paths import Home, open_home
from slowwave.home.usage import BATCH, Usage
from tests.rows import NOW, uses


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return open_home(tmp_path / "home")


def used(home: Home) -> list[tuple[str, str, str | None]]:
    return sorted(uses(home).select("cell_id", "usage_type", "context").rows())


def test_noting_a_use_writes_nothing_until_it_is_flushed(home):
    usage = Usage(home)
    usage.flush()
    usage.note(["a", "b"], "retrieved", context="c1", at=NOW)
    assert not home.root.exists()
    usage.flush()
    assert used(home) == [("a", "retrieved", "c1"), ("b", "retrieved", "c1")]


def test_a_full_batch_becomes_one_segment(home):
    usage = Usage(home)
    usage.note([f"c{number}" for number in range(BATCH - 1)], "retrieved", at=NOW)
    assert home.journal.segment_ids() == []
    usage.note(["last"], "retrieved", at=NOW)
    assert len(home.journal.segment_ids()) == 1
    assert uses(home).height == BATCH


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
    assert used(home) == [("a", "retrieved", "c1"), ("b", "retrieved", "c1")]


def test_a_journal_that_cannot_be_written_fails_a_flush_and_no_note_and_loses_nothing(home):
    home.root.mkdir()
    (home.root / "journal").write_text("in the way")
    usage = Usage(home)
    usage.note([f"c{number}" for number in range(BATCH)], "retrieved", at=NOW)
    with pytest.raises(TransientError, match="journal"):
        usage.flush()
    (home.root / "journal").unlink()
    usage.flush()
    assert uses(home).height == BATCH


def test_a_use_counts_once_however_often_it_is_noted(home):
    usage = Usage(home)
    for _ in range(2):
        usage.note(["a"], "retrieved", context="c1", at=NOW)
    usage.note(["a"], "retrieved", context="c2", at=NOW)
    usage.note(["a"], "retrieved", context="c1", at=NOW + timedelta(microseconds=1))
    usage.flush()
    assert uses(home).height == 3


def test_what_was_shown_and_not_cited_is_ignored_once_a_conversation(home):
    usage = Usage(home)
    assert usage.settle("c1", shown=["a", "b", "c", "a"], cited={"b"}, at=NOW) == ["a", "c"]
    usage.settle("c1", shown=["a", "c"], cited=set(), at=NOW + timedelta(hours=1))
    usage.settle("c2", shown=["a"], cited=[], at=NOW)
    usage.flush()
    assert used(home) == [("a", "ignored", "c1"), ("a", "ignored", "c2"), ("c", "ignored", "c1")]


def test_a_context_is_a_short_label(home):
    usage = Usage(home)
    usage.note(["a"], "retrieved", context="line\none\x00 " + "x" * 1000, at=NOW)
    usage.flush()
    (context,) = uses(home)["context"]
    assert context.startswith("line one xxx")
    assert len(context) == 200
