"""The processes of a server: `slowwave serve`, and one on demand that a client starts and that leaves by itself."""

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from slowwave.home.paths import open_home
from slowwave.interfaces import client
from slowwave.interfaces.http.address import own_key, read_address
from slowwave.memory import Memory
from tests.rows import uses
from tests.scripted_model import write_settings

pytestmark = pytest.mark.processes

SERVE = [
    sys.executable,
    "-c",
    "import sys; from slowwave.interfaces.http.serve import serve; serve(sys.argv[1])",
]
ON_DEMAND = [sys.executable, "-m", client.SERVER]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))  # for sockets of these tests alone
    monkeypatch.setenv("SLOWWAVE_SEARCH__RESIDENT_MINUTES", "1")
    yield tmp_path / "home"
    with suppress(OSError):
        os.kill(listener_of(tmp_path / "home"), signal.SIGKILL)


def listener_of(home: Path) -> int:
    """The process that answers on the socket of a home."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(client.socket_path(home)))
        return int(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])


def readable_by_others(home: Path) -> list[str]:
    """What lies in a home and has a right for anybody else than this user."""
    return [str(path) for path in home.rglob("*") if path.lstat().st_mode & 0o077]


@contextmanager
def serve(home: Path) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen([*SERVE, str(home)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert "serves" in process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def over_tcp(home: Path) -> httpx.Client:
    address, key = read_address(home), own_key(home)
    assert address is not None
    return httpx.Client(base_url=address.url, headers={"Authorization": f"Bearer {key}"}, timeout=60)


def remember(home: Path, text: str, *, may_start: bool = True) -> client.Reply | None:
    return client.ask(home, "POST", "/v1/remember", body={"text": text}, writes=True, may_start=may_start)


def search(home: Path, query: str = "kiln", *, may_start: bool = True) -> bytes:
    found = client.ask(home, "POST", "/v1/search", body={"query": query}, may_start=may_start)
    return found.body if found else b""


def until(is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_done():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.1)


def test_a_server_answers_on_both_ways_and_stops_in_order(home: Path):
    home.mkdir(mode=0o755)  # made by others, who can look into it
    with serve(home) as process:
        assert remember(home, "The kiln is blue.") is not None
        assert b"The kiln is blue." in search(home)
        with over_tcp(home) as http:
            assert http.get("/v1/stats").json()["turns"] == 1
            assert httpx.get(f"{http.base_url}/v1/stats").status_code == 401
        assert readable_by_others(home) == []
        second = subprocess.run([*SERVE, str(home)], capture_output=True, text=True, check=False)
        assert f"process {process.pid}" in second.stderr
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert read_address(home) is None
    assert not client.socket_path(home).exists()
    assert "retrieved" in set(uses(open_home(home))["usage_type"])


def test_a_server_that_somebody_keeps_stays_when_a_client_has_other_settings(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    with serve(home) as process:
        monkeypatch.setenv("SLOWWAVE_SEARCH__LIMIT", "3")
        assert remember(home, "The kiln is blue.") is None
        assert listener_of(home) == process.pid
    with Memory(home) as memory:
        assert memory.stats().turns == 0


def test_a_kill_loses_nothing_that_was_acknowledged_and_the_next_start_takes_over(home: Path):
    with serve(home) as process:
        with over_tcp(home) as http:
            turns = [
                {"session_id": "s1", "role": "user", "text": f"Shed {n} is green.", "id": f"{n}"}
                for n in range(5)
            ]
            known = http.post("/v1/turns", json={"turns": turns}).json()["turn_ids"]
            cell_id = http.post("/v1/remember", json={"text": "The kiln is blue."}).json()["cell_id"]
        os.kill(process.pid, signal.SIGKILL)
        process.wait(60)
    assert client.socket_path(home).exists()  # of a dead server: the next one replaces it
    assert search(home, may_start=False) == b""
    with serve(home), over_tcp(home) as http:
        assert http.get(f"/v1/cells/{cell_id}").status_code == 200
        evidence = {"query": "Shed 3 is green", "detail_level": "evidence"}
        until(lambda: "Shed 3 is green." in http.post("/v1/search", json=evidence).text)
    with Memory(home) as memory:
        assert memory.stats().turns == len(known) + 1


def test_the_first_question_starts_a_server_and_the_next_ones_ask_it(home: Path):
    with Memory(home) as memory:
        memory.remember("The kiln is blue.")
    both = [threading.Thread(target=search, args=(home,)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join(60)
    first = listener_of(home)
    assert b"The kiln is blue." in search(home, may_start=False)
    again = subprocess.run([*ON_DEMAND, str(home)], timeout=60, check=False)  # one a home: it ends by itself
    assert (again.returncode, listener_of(home)) == (0, first)
    assert not (home / "server").exists(), "it has neither key nor address: nobody else may ask"


def test_a_question_makes_no_home(home: Path):
    assert b"No memory yet" in search(home)
    assert not home.exists()


def test_a_server_with_unusable_settings_never_listens_so_that_its_client_can_say_why(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("SLOWWAVE_SEARCH__RESIDENT_MINUTES")
    home.mkdir()
    (home / "slowwave.toml").write_text("seek.limit = 4")
    assert remember(home, "The kiln is blue.") is None
    assert search(home, may_start=False) == b""


def test_a_server_on_demand_leaves_for_a_client_with_other_settings(home: Path):
    write_settings(home, embedding={"provider": "none"})
    assert remember(home, "The kiln is blue.") is not None
    first = listener_of(home)
    write_settings(home, embedding={"provider": "none"}, search={"limit": 4})
    assert b"The kiln is blue." in search(home)
    assert listener_of(home) != first


def test_a_server_on_demand_makes_way_for_one_that_somebody_keeps(home: Path):
    assert remember(home, "The kiln is blue.") is not None
    with serve(home) as process:
        assert listener_of(home) == process.pid
        assert b"The kiln is blue." in search(home, may_start=False)


def test_a_server_on_demand_leaves_when_nobody_asks(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SLOWWAVE_SEARCH__RESIDENT_MINUTES", "0.01")
    left = subprocess.run([*ON_DEMAND, str(home)], timeout=60, check=False)
    assert left.returncode == 0
    assert not client.socket_path(home).exists()


def test_a_server_on_demand_leaves_a_home_that_was_taken_away(home: Path):
    assert remember(home, "The kiln is blue.") is not None
    home.rename(home.with_name("away"))
    assert b"No memory yet" in search(home)
    until(lambda: not home.exists())
