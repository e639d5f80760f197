"""`slowwave serve` as a process: found through the home, stopped in order; a kill loses nothing that it said."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from slowwave.entrypoints.resident.wire import socket_path
from slowwave.entrypoints.server.address import read_address, read_key
from slowwave.memory import Memory

pytestmark = pytest.mark.processes

CLI = [sys.executable, "-m", "slowwave.entrypoints.cli"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "home"


def readable_by_others(home: Path) -> list[str]:
    """What lies in a home and has a right for anybody else than this user."""
    return [str(path) for path in home.rglob("*") if path.lstat().st_mode & 0o077]


@contextmanager
def serve(home: Path) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [*CLI, "serve", "--home", str(home)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        assert "serves" in process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def client(home: Path) -> httpx.Client:
    address, key = read_address(home), read_key(home)
    assert address is not None
    return httpx.Client(base_url=address.url, headers={"Authorization": f"Bearer {key}"}, timeout=60)


def command(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*CLI, *words, "--home", str(home)], capture_output=True, text=True, check=False)


def test_a_server_is_used_by_the_command_line_and_stops_in_order(home: Path, tmp_path: Path):
    home.mkdir(mode=0o755)  # made by others, who can look into it
    with serve(home) as process:
        said = command(home, "remember", "The kiln is blue.", "--json")
        cell_id = json.loads(said.stdout)["cell_id"]
        (tmp_path / "notes.md").write_text("# Boats\n\nThe mast is made of ash.\n", encoding="utf-8")
        assert command(home, "ingest", str(tmp_path / "notes.md")).returncode == 0
        assert "The kiln is blue." in command(home, "search", "kiln").stdout
        assert readable_by_others(home) == []
        with client(home) as http:
            assert http.get("/v1/stats").json()["turns"] == 2
            assert http.get("/metrics").status_code == 200
        second = command(home, "serve")
        assert second.returncode == 75
        assert f"process {process.pid}" in second.stderr
        assert "Traceback" not in second.stderr
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert read_address(home) is None
    assert not socket_path(home.resolve()).exists()
    uses = (
        home / "spool" / "usage.jsonl"
    ).read_text()  # the search of the command line was noted by the server
    assert cell_id in uses


def test_a_kill_loses_nothing_that_was_acknowledged_and_the_next_start_takes_over(home: Path):
    with serve(home) as process:
        with client(home) as http:
            turns = [
                {"session_id": "s1", "role": "user", "text": f"Shed {n} is green.", "id": f"{n}"}
                for n in range(5)
            ]
            known = http.post("/v1/turns", json={"turns": turns}).json()["turn_ids"]
            cell_id = http.post("/v1/remember", json={"text": "The kiln is blue."}).json()["cell_id"]
        os.kill(process.pid, signal.SIGKILL)
        process.wait(60)
    assert read_address(home) is not None
    assert "The kiln is blue." in command(home, "search", "kiln").stdout  # answered alone
    with serve(home), client(home) as http:
        assert http.get(f"/v1/cells/{cell_id}").status_code == 200
        deadline, said = time.monotonic() + 60, set[str]()
        while (
            "Shed 3 is green." not in said and time.monotonic() < deadline
        ):  # by itself, with no other write
            asked = {"query": "Shed 3 is green", "detail_level": "evidence"}
            said = {turn["content"] for turn in http.post("/v1/search", json=asked).json()["turns"]}
            time.sleep(0.2)
    assert "Shed 3 is green." in said
    with Memory(home) as memory:
        assert memory.stats().turns == len(known) + 1
