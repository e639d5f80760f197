"""Prepare every test: a clean environment, a Prefect folder, Hypothesis profiles, shared data, marks kept honest.

The environment is set while this file is imported, before any test module can import Slowwave or Prefect.
"""

import atexit
import gc
import multiprocessing.process
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

MEMORY_DISK, ROOM = Path("/dev/shm"), 4 * 2**30
"""Where Linux has it, homes of the tests lie in memory: making and removing small files there takes a third of the
time, and nothing waits for the disk. A container's own is too small, or runs no programs."""


def _has_room() -> bool:
    if "TMPDIR" in os.environ or not os.access(MEMORY_DISK, os.W_OK):
        return False
    disk = os.statvfs(MEMORY_DISK)
    return disk.f_bavail * disk.f_frsize >= ROOM and not disk.f_flag & os.ST_NOEXEC


if "PYTEST_XDIST_WORKER" not in os.environ:  # one folder for a run and its workers, which goes with it
    _of_run = tempfile.mkdtemp(prefix="sw-", dir=MEMORY_DISK if _has_room() else None)
    atexit.register(shutil.rmtree, _of_run, ignore_errors=True)
    os.environ["TMPDIR"] = tempfile.tempdir = _of_run

FOREIGN = ("SLOWWAVE_", "PREFECT_", "OPENAI_", "OLLAMA_")
"""Settings of whoever runs the tests must not reach them, or a test could talk to a real server."""

PREFECT_FOLDER = Path(tempfile.mkdtemp(prefix="slowwave-prefect-"))
DATA_FOLDER = Path(tempfile.mkdtemp(prefix="slowwave-data-"))
for folder in (PREFECT_FOLDER, DATA_FOLDER):
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
TEST_ENVIRONMENT = {
    "PREFECT_HOME": str(PREFECT_FOLDER),
    "XDG_DATA_HOME": str(DATA_FOLDER),  # the user's own home is no place for tests
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "DO_NOT_TRACK": "1",
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
    "OPENBLAS_NUM_THREADS": "1",  # each worker has one core, and threads that wait for each other cost a fifth of it
    "POLARS_MAX_THREADS": "1",
    "LANCE_CPU_THREADS": "1",
    "TOKIO_WORKER_THREADS": "1",
    "NO_COLOR": "1",
    "COLUMNS": "120",
    "TZ": "UTC",
    "SLOWWAVE_SEARCH__RESIDENT_MINUTES": "0",  # no test leaves a process behind
}

for name in [name for name in os.environ if name.startswith(FOREIGN) or name in ("FORCE_COLOR", "PY_COLORS")]:
    del os.environ[name]
os.environ.update(TEST_ENVIRONMENT)
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

settings.register_profile("quick", deadline=None, max_examples=10)  # `make test` asks for it
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, max_examples=30)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_collection_finish() -> None:
    """Take what the imports left out of every later garbage collection; they are a fifth of the time otherwise."""
    gc.collect()
    gc.freeze()


MAY_START_PROCESSES = {"prefect", "processes", "benchmark"}
"""A test with one of these marks may start a Python process; `make test` leaves it to `make test-all`."""

_unmarked: list[str] = []
"""The test that runs now, if it may start no process."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note whether the test, with all its fixtures, may start processes."""
    marks = {mark.name for mark in item.iter_markers()}
    _unmarked[:] = [] if marks & MAY_START_PROCESSES else [item.name]
    try:
        return (yield)
    finally:
        _unmarked.clear()


def _refuse_process() -> None:
    if _unmarked:
        marks = " or ".join(sorted(MAY_START_PROCESSES))
        pytest.fail(f"{_unmarked[0]} starts a Python process without a mark that says so: {marks}")


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event == "subprocess.Popen" and arguments[0] == sys.executable:
        _refuse_process()


def _start_marked(process: multiprocessing.process.BaseProcess) -> None:
    _refuse_process()
    _start_process(process)


_start_process = multiprocessing.process.BaseProcess.start
multiprocessing.process.BaseProcess.start = _start_marked  # it raises no audit event
sys.addaudithook(_audit)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of measuring data beside the checkout; a test that needs it is skipped without it."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the folder shared/data does not stand beside this checkout")
    return folder
