"""The locks of a home: one run at a time, one change of the store at a time, and an edit beside a run."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from slowwave.errors import BusyError, ConfigError
from slowwave.home.lock import leasing, rewriting, writing
from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.journal.catalogue import rows_of
from slowwave.memory import Memory
from tests.scripted_model import store_of, write_settings

T = TypeVar("T")

HOLDER = """
import sys, time
from slowwave.home.lock import rewriting
from slowwave.home.paths import open_home
with rewriting(open_home(sys.argv[1])):
    print("held", flush=True)
    time.sleep(120)
"""


@contextmanager
def another_writer(home: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the home for itself."""
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(home)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder
    finally:
        holder.kill()
        holder.wait(30)
        if holder.stdout is not None:
            holder.stdout.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    write_settings(home, embedding={"provider": "none"})
    return home


def in_another_thread(work: Callable[[], T]) -> T:
    """What a call returns or raises in a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(60)


def taking(lock: AbstractContextManager[None]) -> str:
    """What became of taking a lock in another thread: "wrote", or why not."""

    def take() -> str:
        with lock:
            return "wrote"

    try:
        return in_another_thread(take)
    except BusyError as error:
        return str(error)


@pytest.mark.processes
def test_while_one_process_rewrites_the_home_the_others_hear_which_one_does(folder: Path):
    with another_writer(folder) as holder:
        for taken in (leasing, writing, rewriting):
            with pytest.raises(BusyError, match=f"process {holder.pid} since"), taken(open_home(folder)):
                pass
        with pytest.raises(BusyError), open_workspace(folder):
            pass
        assert not (folder / "store").exists()


@pytest.mark.processes
def test_a_holder_that_is_killed_lets_go_at_once(folder: Path):
    with another_writer(folder) as holder:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait(30)
        with rewriting(open_home(folder)):
            assert f'"pid": {os.getpid()}' in (folder / "writer.json").read_text()
        assert not (folder / "writer.json").exists()
        assert not (folder / "run.json").exists()


@pytest.mark.processes
def test_a_process_may_take_its_own_lock_again_and_holds_it_until_the_last_one_ends(folder: Path):
    home = open_home(folder)
    probe = [sys.executable, "-c", HOLDER.replace("time.sleep(120)", ""), str(folder)]
    with rewriting(home):
        with rewriting(home):
            pass
        held = subprocess.run(probe, capture_output=True, text=True, check=False, timeout=60)
        assert "BusyError" in held.stderr
    assert subprocess.run(probe, capture_output=True, text=True, check=False, timeout=60).stdout == "held\n"


def test_two_threads_of_a_process_never_write_at_once(folder: Path):
    home = open_home(folder)
    with writing(home, work="run"):
        assert "another run is writing" in (told := taking(writing(home)))
        assert "in this program" in told
    with writing(home), leasing(home):
        assert "an edit is being written" in taking(writing(home, work="run"))
        assert "another run is writing" in taking(leasing(home))
    assert taking(rewriting(home)) == "wrote"


def test_a_lock_is_let_go_when_the_work_fails(folder: Path):
    with pytest.raises(RuntimeError), rewriting(open_home(folder)):
        raise RuntimeError
    with rewriting(open_home(folder)):
        pass


def test_a_home_that_cannot_be_a_folder_asks_for_another_configuration(tmp_path: Path):
    (tmp_path / "home").write_text("a file")
    with pytest.raises(ConfigError, match="is not a folder"), writing(open_home(tmp_path / "home")):
        pass


def test_an_edit_beside_a_run_is_done_at_once_and_the_run_changes_nothing_that_it_changed(folder: Path):
    with Memory(folder) as memory:
        port = memory.remember("The port is 8080.", subject="api", attribute="port", value="8080").cell_id
        kiln = memory.remember("The kiln is hot.").cell_id
    with open_workspace(folder, flow="extract") as run, Memory(folder) as memory:
        assert run.store.count("cells") == 2  # read, before somebody edits
        assert f"another run is writing to {folder} (extract, in" in taking(leasing(open_home(folder)))
        fixed = in_another_thread(lambda: memory.correct(port, "The port is 9090.", value="9090"))
        leaving = [{"cell_id": key, "effective_confidence": 0.1, "reason": "faded", "archived_count": 1}
                   for key in (port, kiln)]  # fmt: skip
        counts = run.commit_plan({"cell.archived": rows_of("cell.archived", leaving)})
        assert (counts["cell.archived"], run.changed_meanwhile) == (1, 1)
    status = dict(store_of(str(folder)).rows("cells", ["cell_id", "status"]).iter_rows())
    assert status == {port: "superseded", kiln: "archived", fixed.cell_id: "active"}
