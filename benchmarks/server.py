"""How the one server bears its clients: `python benchmarks/server.py [--cells N] [--clients N] [--seconds N] [--json]`.

A home of N invented memories is served by `slowwave serve` in a process of its own. Told are:

- `small`: the small form of context over HTTP, one question after the other;
- `load`: many clients at once while a night runs, each asking every `--think` seconds: searches, small contexts and
  lists, and one request in ten a write (a tap of two turns, or a statement);
- `kill`: the server is killed with SIGKILL amid the writes, and started again: is each acknowledged write there?

`benchmarks/README.md` says what the figures mean.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.invented import message, seeded, topic, write_sessions  # noqa: E402
from benchmarks.night import grow_store, use_home  # noqa: E402

START_SECONDS = 120.0
WARM_UP = 20
WRITE_SHARE = 0.1


@dataclass
class Told:
    """Milliseconds by kind of request, errors, and the writes that were acknowledged."""

    took: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    turn_ids: list[str] = field(default_factory=list)
    cell_ids: list[str] = field(default_factory=list)

    def note(self, kind: str, started: float, status: int) -> bool:
        """Count an answer; return whether it is a good one."""
        self.took.setdefault(kind, []).append((time.perf_counter() - started) * 1_000)
        if status >= 300:
            name = f"{kind} {status}"
            self.errors[name] = self.errors.get(name, 0) + 1
        return status < 300


@contextmanager
def server(home: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A server of a home, ready and warm; stopped at the end where it still runs."""
    words = [sys.executable, "-m", "slowwave", "serve", "--home", str(home)]
    (home / "server" / "address.json").unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        deadline = time.monotonic() + START_SECONDS
        while not is_ready(home):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("the server did not start")
            time.sleep(0.1)
        try:
            yield process
        finally:
            process.terminate()


def client_of(home: Path) -> dict[str, Any]:
    """The address and key of a home's server, as a client takes them."""
    url = json.loads((home / "server" / "address.json").read_text())["url"]
    key = (home / "server" / "key").read_text().strip()
    return {"base_url": url, "headers": {"Authorization": f"Bearer {key}"}, "timeout": 60}


def is_ready(home: Path) -> bool:
    """Return whether the server answers and is warm."""
    with suppress(OSError, ValueError, httpx.HTTPError):
        return httpx.get(f"{client_of(home)['base_url']}/health/ready").status_code == 200
    return False


def questions(count: int) -> list[str]:
    """Questions about the invented themes."""
    chance = seeded("server questions")
    return [" ".join(message(chance, topic(chance.randrange(20))).split()[:8]) for _ in range(count)]


def measure_small(home: Path, asked: Sequence[str]) -> dict[str, float]:
    """Milliseconds of the small form of context over HTTP; each question is asked in a conversation of its own."""
    took, spent = [], cpu_seconds(home)
    with httpx.Client(**client_of(home)) as client:
        for place, question in enumerate([*asked[:WARM_UP], *asked]):
            body = {"question": question, "small": True, "conversation_id": f"small {place}"}
            started = time.perf_counter()
            client.post("/v1/context/assemble", json=body).raise_for_status()
            if place >= min(WARM_UP, len(asked)):
                took.append((time.perf_counter() - started) * 1_000)
    cpu = (cpu_seconds(home) - spent) * 1_000 / (len(asked) + WARM_UP)
    return {**spread_of(took), "cpu_ms": round(cpu, 2)}


def cpu_seconds(home: Path) -> float:
    """Seconds of CPU that the server has used so far: a busy machine changes them little; 0 where none are told."""
    pid = json.loads((home / "server" / "address.json").read_text())["pid"]
    with suppress(OSError):
        parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


async def load(home: Path, told: Told, *, clients: int, seconds: float, think: float, writes: float) -> None:
    """Ask from many clients at once; when the server goes away they stop."""
    asked = questions(200)
    until = time.monotonic() + seconds

    async def one(number: int) -> None:
        chance = seeded(f"client {number}")
        async with httpx.AsyncClient(**client_of(home)) as client:
            await asyncio.sleep(chance.random() * think)
            with suppress(httpx.TransportError):
                while time.monotonic() < until:
                    if chance.random() < writes:
                        await write(client, told, chance)
                    else:
                        await read(client, told, chance.choice(asked), number, chance)
                    await asyncio.sleep(chance.uniform(0.5, 1.5) * think)

    await asyncio.gather(*(one(number) for number in range(clients)))


async def read(
    client: httpx.AsyncClient, told: Told, question: str, number: int, chance: random.Random
) -> None:
    """Ask one question."""
    kind = chance.choice(["search", "search", "context", "cells"])
    started = time.perf_counter()
    if kind == "cells":
        answer = await client.get("/v1/cells", params={"limit": 20})
    elif kind == "search":
        answer = await client.post("/v1/search", json={"query": question})
    else:
        body = {"question": question, "small": True, "conversation_id": f"client {number}"}
        answer = await client.post("/v1/context/assemble", json=body)
    told.note(kind, started, answer.status_code)


async def write(client: httpx.AsyncClient, told: Told, chance: random.Random) -> None:
    """Write two turns, or a statement, and keep what was acknowledged."""
    label = " ".join(chance.choice(string.ascii_lowercase) * 3 for _ in range(8))
    started = time.perf_counter()
    if chance.random() < 0.7:
        turns = [
            {
                "session_id": f"talk {label}",
                "role": role,
                "text": f"Number {label} of {role} is ready.",
                "id": role,
            }
            for role in ("user", "assistant")
        ]
        answer = await client.post("/v1/turns", json={"turns": turns, "client": "bench"})
        if told.note("turns", started, answer.status_code):
            told.turn_ids += answer.json()["turn_ids"]
    else:
        answer = await client.post("/v1/remember", json={"text": f"Shed {label} is painted green."})
        if told.note("remember", started, answer.status_code):
            told.cell_ids.append(answer.json()["cell_id"])


def measure_load(home: Path, options: argparse.Namespace) -> tuple[Told, str]:
    """Many clients while a night runs; the state of the night at the end, too."""
    told = Told()
    with httpx.Client(**client_of(home)) as client:
        body = {"sources": [str(home.parent / "tonight")], "force": True}
        client.post("/v1/flows/nightly/runs", json=body).raise_for_status()
        asyncio.run(
            load(
                home,
                told,
                clients=options.clients,
                seconds=options.seconds,
                think=options.think,
                writes=WRITE_SHARE,
            )
        )
        night = client.get("/v1/runs").json()["entries"][0]
    return told, str(night["state"])


def measure_kill(home: Path, options: argparse.Namespace) -> dict[str, int]:
    """Kill the server amid writes; count what was acknowledged, and what of it the next server does not have."""
    from slowwave.home.workspace import open_workspace

    told = Told()
    with server(home) as process:

        async def kill() -> None:
            asking = asyncio.create_task(
                load(
                    home,
                    told,
                    clients=options.clients,
                    seconds=START_SECONDS * 2,
                    think=0.05,
                    writes=1.0,
                )
            )
            deadline = time.monotonic() + START_SECONDS
            while (
                not told.turn_ids and time.monotonic() < deadline
            ):  # the first write loads more than the others
                await asyncio.sleep(0.1)
            await asyncio.sleep(options.kill_seconds)
            process.send_signal(signal.SIGKILL)
            await asking

        asyncio.run(kill())
    with server(home), httpx.Client(**client_of(home)) as client:
        lost = sum(client.get(f"/v1/cells/{cell_id}").status_code != 200 for cell_id in told.cell_ids)
    with open_workspace(home) as workspace:  # takes in what the journal has
        there = workspace.store.by_key("turns", told.turn_ids, ["turn_id"])
    return {
        "acknowledged_turns": len(told.turn_ids),
        "lost_turns": len({*told.turn_ids} - {*there["turn_id"]}),
        "acknowledged_statements": len(told.cell_ids),
        "lost_statements": lost,
    }


def spread_of(took: Sequence[float]) -> dict[str, float]:
    """Count, median and 95th percentile of milliseconds."""
    parts = {f"p{part}_ms": round(float(np.percentile(took, part)), 2) for part in (50, 95)} if took else {}
    return {"count": len(took), **parts}


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of one size."""
    home = folder / "home"
    use_home(home)
    if not (home / "store" / "CURRENT").is_file():
        grow_store(home, cells=options.cells)
    write_sessions(folder / "tonight", turns=options.night_turns, topics=20, label="tonight")
    with server(home):
        small = measure_small(home, questions(options.questions))
        told, night = measure_load(home, options)
    reads = [one for kind in ("search", "context", "cells") for one in told.took.get(kind, [])]
    return {
        "cells": options.cells,
        "cores": os.cpu_count(),
        "small": small,
        "load": {
            "clients": options.clients,
            "seconds": options.seconds,
            "reads": spread_of(reads),
            **{kind: spread_of(took) for kind, took in sorted(told.took.items())},
            "errors": told.errors,
            "night": night,
        },
        "kill": measure_kill(home, options),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve, ask, kill, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cells", type=int, default=10_000, help="memories in the home")
    parser.add_argument("--clients", type=int, default=50, help="clients at once")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the load")
    parser.add_argument("--think", type=float, default=2.0, help="seconds between two requests of a client")
    parser.add_argument("--questions", type=int, default=200, help="small contexts, one after the other")
    parser.add_argument("--night-turns", type=int, default=400, help="turns that the night takes in")
    parser.add_argument("--kill-seconds", type=float, default=5.0, help="seconds of writes before the kill")
    parser.add_argument("--folder", type=Path, help="keep the home here for the next run")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="slowwave-server-") as temporary:
        found = measure(options.folder or Path(temporary), options)
    print(json.dumps(found) if options.json else text_of(found))
    return 0


def text_of(found: dict[str, Any]) -> str:
    """The figures as text."""
    load_, kill = found["load"], found["kill"]
    lines = [
        f"{found['cells']:,} memories, {found['cores']} cores",
        f"small context, one client   {_line(found['small'])}, {found['small']['cpu_ms']} ms of CPU each",
        f"{load_['clients']} clients for {load_['seconds']:g} s, night {load_['night']}, "
        f"errors: {load_['errors'] or 'none'}",
    ]
    for kind in ("reads", "search", "context", "cells", "turns", "remember"):
        if kind in load_:
            lines.append(f"  {kind:25} {_line(load_[kind])}")
    lines.append(
        f"after SIGKILL {kill['lost_turns']} of {kill['acknowledged_turns']} turns and {kill['lost_statements']} of "
        f"{kill['acknowledged_statements']} statements are missing"
    )
    return "\n".join(lines)


def _line(spread: dict[str, float]) -> str:
    return f"{spread['count']:5} asked, p50 {spread.get('p50_ms', 0):7.1f} ms, p95 {spread.get('p95_ms', 0):7.1f} ms"


if __name__ == "__main__":
    sys.exit(main())
