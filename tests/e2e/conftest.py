"""One real Prefect for all end-to-end tests: server, deployments and runner, as `slowwave ui` starts them.

It starts when the first test asks for it, in 15 to 45 seconds, and ends with the session.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

PLANTED_KEY = "planted-key-4d1f0c77"
"""Stands where a person's key of a model server stands; it must not be found in anything that Prefect keeps."""
BUSY_ATTEMPTS = 7
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


class PrefectServer:
    """`slowwave ui` on a home of its own; `home` is a folder, `api_url` what PREFECT_API_URL wants."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.log = folder / "ui.txt"
        with socket.socket() as trial:
            trial.bind(("127.0.0.1", 0))
            self.port: int = trial.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.api_url = f"{self.address}/api"
        self.client = httpx.Client(base_url=self.api_url, trust_env=False, timeout=60)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it and waits until it says that everything is up."""
        code = "import sys; from flows.serve import serve_ui; serve_ui(sys.argv[1], say=print, port=int(sys.argv[2]))"
        keys = {"OPENAI_API_KEY": PLANTED_KEY, "SLOWWAVE_LLM__API_KEY": PLANTED_KEY}
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code, str(self.home), str(self.port)],
                env=dict(os.environ) | keys | {"PYTHONUNBUFFERED": "1"},
                cwd=self.log.parent,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + 240
        while "Ctrl-C stops it" not in self.said():
            assert self.process.poll() is None, (
                f"slowwave ui ended: {self.said()}{self.kept('server', 'runner')}"
            )
            assert time.monotonic() < deadline, f"slowwave ui did not come up: {self.said()}"
            time.sleep(0.2)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stops it as `kill` does; the exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(90)

    def said(self) -> str:
        """What it printed."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def kept(self, *names: str) -> str:
        """The ends of its log files."""
        paths = [self.home / "prefect" / f"{name}.log" for name in names]
        return "".join(f"\n== {path.name}\n{path.read_text()[-2000:]}" for path in paths if path.exists())

    def processes(self) -> list[int]:
        """All processes below it."""
        assert self.process is not None
        shown = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
        pairs = [tuple(map(int, line.split())) for line in shown.splitlines()]
        found = [self.process.pid]
        for parent in found:
            found += [child for child, its_parent in pairs if its_parent == parent]
        return found[1:]

    def get(self, path: str) -> Any:
        """The answer of the API."""
        return self._ask("GET", path)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The answer of the API."""
        return self._ask("POST", path, json=body)

    def _ask(self, method: str, path: str, **content: Any) -> Any:
        """A server whose database is busy answers 503 and means later, as Prefect's own client takes it."""
        for attempt in range(BUSY_ATTEMPTS):
            answer = self.client.request(method, path, **content)
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            time.sleep(0.2 * 2**attempt)
        return answer.raise_for_status().json()

    def run(self, name: str, **parameters: Any) -> str:
        """Starts a deployment as the page's Run button does; the id of the run."""
        deployment = self.get(f"/deployments/name/{name}/{name}")
        body = {
            "parameters": parameters,
            "state": {"type": "SCHEDULED"},
            "idempotency_key": str(uuid.uuid4()),
        }
        run_id: str = self.post(f"/deployments/{deployment['id']}/create_flow_run", body)["id"]
        return run_id

    def wait(self, run_id: str, *states: str, seconds: float = 400) -> dict[str, Any]:
        """The run once it is in one of these states, else once it has ended."""
        deadline = time.monotonic() + seconds
        while True:
            run: dict[str, Any] = self.get(f"/flow_runs/{run_id}")
            if run["state"]["type"] in (states or ENDED):
                return run
            assert time.monotonic() < deadline, f"{run['name']} is {run['state']}; {self.kept('runner')}"
            time.sleep(0.3)

    def report(self, run_id: str, key: str) -> str:
        """The artifact that a run, or a stage within it, left under a key."""
        inside = self.post("/flow_runs/filter", {"flow_runs": {"parent_flow_run_id": {"any_": [run_id]}}})
        runs = [run_id, *(run["id"] for run in inside)]
        wanted = {"artifacts": {"key": {"any_": [key]}, "flow_run_id": {"any_": runs}}}
        found = self.post("/artifacts/filter", wanted)
        assert [artifact["type"] for artifact in found] == ["markdown"], key
        text: str = found[0]["data"]
        return text


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    """Server, deployments and runner; `prefect_server.api_url` is for PREFECT_API_URL."""
    server = PrefectServer(tmp_path_factory.mktemp("prefect"))
    try:
        server.start()
        yield server
    finally:
        if server.process is not None and server.process.poll() is None:
            below = server.processes()
            assert server.stop() == 0, server.said()
            assert_gone(below)
        server.client.close()


def assert_gone(processes: list[int]) -> None:
    """These processes end within a minute."""
    deadline = time.monotonic() + 60
    while left := [pid for pid in processes if _is_alive(pid)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.2)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
