"""The home's socket in the hands of its server: the command line's calls are answered there, reads and writes."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from slowwave.entrypoints.resident import client, waiting, wire
from slowwave.entrypoints.resident.client import ask_server, call, read
from slowwave.entrypoints.resident.listening import listening
from slowwave.entrypoints.resident.wire import HEARD, MOST_ASKED, exchange, receive, socket_path
from slowwave.errors import InputError, TransientError
from slowwave.memory import Memory
from slowwave.schemas.results import Remembered
from slowwave.schemas.search import SearchResult

STORED = "The kiln is blue."


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "home"


@pytest.fixture
def served(home: Path) -> Iterator[str]:
    memory = Memory(home)
    with listening(home.resolve(), memory, threads=2):
        yield str(home)
    memory.close()


def _leave(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    connection.sendall(HEARD)
    receive(connection)
    connection.close()


def until_logged(caplog: pytest.LogCaptureFixture, told: str) -> None:
    deadline = time.monotonic() + 30
    while told not in caplog.text:
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def refuse_alone(*given: object) -> None:
    raise AssertionError("the server was to answer")


def test_a_line_that_is_too_long_is_refused_with_its_bound(served: str):
    request = {"ask": "search", "arguments": {"query": "x" * MOST_ASKED}}
    told = exchange(socket_path(Path(served).resolve()), request, 30)
    assert told is not None
    assert (told["error"], "4,000,000 bytes" in told["message"]) == ("InputError", True)


def test_reads_and_writes_go_to_the_server(served: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client, "_alone", refuse_alone)
    said = call(served, "remember", {"text": STORED}, Remembered)
    assert said.is_searchable
    found = read(served, "search", {"query": "kiln"}, SearchResult)
    assert [cell.cell_id for cell in found.cells] == [said.cell_id]
    assert call(served, "cite", {"cell_ids": [said.cell_id]}, list[str]) == [said.cell_id]
    with pytest.raises(InputError, match="limit 99"):
        read(served, "search", {"query": "kiln", "limit": 99}, SearchResult)
    with pytest.raises(InputError, match="no such operation"):
        call(served, "close", {}, Remembered)  # type: ignore[arg-type]


def test_whoever_has_other_settings_is_not_answered_and_the_server_stays(
    served: str, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as other:
        other.setenv("SLOWWAVE_SEARCH__LIMIT", "4")
        assert ask_server(served, "stats", {}) is None
        assert read(served, "search", {"query": "kiln"}, SearchResult).notes == ["No memory yet"]  # alone
    assert ask_server(served, "stats", {}) is not None


def test_without_a_server_what_writes_is_done_here(home: Path):
    assert call(str(home), "remember", {"text": STORED}, Remembered).is_searchable


def test_a_write_without_an_answer_is_not_done_twice(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client, "_alone", refuse_alone)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(socket_path(home.resolve())))
        listener.listen()
        threading.Thread(target=_leave, args=(listener,), daemon=True).start()
        with pytest.raises(TransientError, match="left without an answer"):
            call(str(home), "remember", {"text": STORED}, Remembered)


def test_a_write_is_waited_for_while_the_server_says_that_it_works(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    beat, beats, has_beaten = waiting.Waiting.beat, list[int](), threading.Event()

    def counted(those: waiting.Waiting) -> None:
        beat(those)
        beats.append(1)
        if len(beats) == 3:
            has_beaten.set()

    monkeypatch.setattr(waiting, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr(waiting.Waiting, "beat", counted)
    monkeypatch.setattr(Memory, "release", lambda *_: ["x"] * (20_000 * has_beaten.wait(30)))
    monkeypatch.setattr(client, "_alone", refuse_alone)
    with Memory(home) as memory, listening(home.resolve(), memory, threads=1):
        assert ask_server(str(home), "release", {}) == (["x"] * 20_000,)


def test_a_server_that_is_stopped_amid_a_write_is_not_waited_for(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(wire, "QUIET_SECONDS", 0.1)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(socket_path(home.resolve())))
        listener.listen()
        held = list[socket.socket]()

        def take() -> None:
            held.append(listener.accept()[0])
            held[0].sendall(HEARD * 2)
            receive(held[0])

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        with pytest.raises(TransientError, match="does not answer; the server may do it all the same"):
            call(str(home), "remember", {"text": STORED}, Remembered)
        thread.join()
        held[0].close()


def test_nonsense_does_not_end_it(served: str, home: Path):
    for line in (b"\n", b"[1]\n", b"not json\n", json.dumps({"ask": "stats"}).encode() + b"\n"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(str(socket_path(home.resolve())))
            connection.sendall(line)
    assert ask_server(served, "stats", {}) is not None


def test_an_error_that_nobody_foresaw_is_in_the_log_without_its_text(
    served: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def broken(memory: Memory) -> None:
        raise ZeroDivisionError(STORED)

    with monkeypatch.context() as other:
        other.setattr(Memory, "stats", broken)
        assert ask_server(served, "stats", {}) is None
    until_logged(caplog, "ZeroDivisionError")
    assert STORED not in caplog.text
    assert ask_server(served, "stats", {}) is not None


def test_too_many_open_files_do_not_end_it(home: Path, monkeypatch: pytest.MonkeyPatch, caplog):
    accept, refused = socket.socket.accept, list[int]()

    def full(listener: socket.socket):
        if not refused:
            refused.append(1)
            raise OSError(24, "Too many open files")
        return accept(listener)

    monkeypatch.setattr(socket.socket, "accept", full)
    with Memory(home) as memory, listening(home.resolve(), memory, threads=1):
        assert ask_server(str(home), "stats", {}) is not None
    assert refused
    assert "Too many open files" in caplog.text


def test_it_lets_go_of_the_socket_at_its_end(home: Path):
    path = socket_path(home.resolve())
    with Memory(home) as memory, listening(home.resolve(), memory, threads=1):
        assert path.exists()
    assert not path.exists()
    with FileLock(path.with_suffix(".lock"), timeout=0):
        pass


@pytest.mark.parametrize("name", ["missing", "long" * 30])
def test_a_runtime_folder_that_is_gone_or_has_a_long_path_gives_way(name, tmp_path, monkeypatch):
    if name != "missing":
        (tmp_path / name).mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / name))
    found = socket_path(tmp_path / "home")
    assert tmp_path not in found.parents
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(found))
    found.unlink()
