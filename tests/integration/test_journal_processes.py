"""The journal among processes: many that write at once, one that is killed, one that has no room."""

import multiprocessing
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from slowwave.journal.segments import Journal
from tests.rows import NOW
from tests.unit.test_journal import committed, files, flagged, said

pytestmark = pytest.mark.processes


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


KILLED = """
import os, signal, sys
from pathlib import Path
from slowwave.journal.segments import Journal
from tests.rows import NOW
from tests.unit.test_journal import flagged
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
Journal(Path(sys.argv[1])).commit(flagged("never acknowledged"), now=NOW)
"""


def test_a_kill_in_the_middle_of_a_commit_leaves_a_draft_and_no_segment(journal: Journal) -> None:
    committed(journal, "a")
    done = subprocess.run([sys.executable, "-c", KILLED, str(journal.root)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    scan = journal.scan()
    assert said(scan.events) == ["a"]
    assert [problem.reason for problem in scan.problems] == ["left by a write that did not finish"]


FULL = """
import resource, signal, sys
from pathlib import Path
from slowwave.errors import TransientError
from slowwave.journal.segments import Journal
from tests.rows import NOW
from tests.unit.test_journal import flagged
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    Journal(Path(sys.argv[1])).commit(flagged("x" * 1_000_000), now=NOW)
except TransientError as error:
    print(error)
"""


def test_a_disk_without_room_is_an_error_that_can_pass_and_leaves_no_half_file(journal: Journal) -> None:
    path = committed(journal, "a")
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(journal.root)],
        check=True,
        timeout=60,
        capture_output=True,
        text=True,
    )
    assert "nothing was recorded" in done.stdout
    assert "xxx" not in done.stdout
    assert files(journal.root) == [path]


def commit_many(root: Path, name: str, number: int) -> None:
    for count in range(number):
        Journal(root).commit(flagged(f"{name}-{count}", f"{name}-{count}-more"), now=NOW)


def test_many_processes_commit_at_once_and_nothing_is_lost(journal: Journal) -> None:
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=commit_many, args=(journal.root, name, 20)) for name in "abcd"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0] * 4
    scan = journal.scan()
    assert scan.problems == ()
    assert len(journal.segment_ids()) == 80
    wanted = [f"{name}-{count}{end}" for name in "abcd" for count in range(20) for end in ("", "-more")]
    assert sorted(said(scan.events)) == sorted(wanted)
    owner = [cell for cell in said(scan.events) if cell.startswith("a-") and not cell.endswith("more")]
    assert owner == [f"a-{count}" for count in range(20)]
