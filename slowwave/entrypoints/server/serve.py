"""The process of the server: a free port on the loopback, the key, the address, and a graceful end."""

import logging
import os
import signal
import socket
import sys
from contextlib import closing, suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import uvicorn
from filelock import FileLock, Timeout

from slowwave.entrypoints.output import LostOutputError
from slowwave.entrypoints.resident.commands import Program
from slowwave.entrypoints.resident.listening import listening
from slowwave.entrypoints.server.address import (
    Address,
    own_key,
    read_address,
    remove_address,
    server_folder,
    write_address,
)
from slowwave.entrypoints.server.app import create_app
from slowwave.entrypoints.server.guard import FailedError
from slowwave.entrypoints.server.http import protocol_with
from slowwave.entrypoints.server.limits import LIMITS, Limits
from slowwave.errors import BusyError, TransientError
from slowwave.memory import Memory
from slowwave.settings.tree import load_settings

LOOPBACK = "127.0.0.1"
KEEP_ALIVE_SECONDS = 5

SWITCH_SECONDS = 0.001
"""So long a thread computes while others wait: a short request waits less behind a long one."""


def serve(home: str | None, *, port: int | None = None, program: Program | None = None) -> None:
    """Serve a home's memory until SIGTERM or Ctrl-C; with the command line (`program`) also what is typed elsewhere.

    Raises:
        BusyError: a server of this home runs already.
        TransientError: no port is free.
    """
    settings = load_settings(home)
    folder = settings.home.resolve()
    lock = FileLock(server_folder(folder) / "server.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        there = read_address(folder)
        where = f" at {there.url} (process {there.pid})" if there else ""
        raise BusyError(f"a server of {folder} runs already{where}") from error
    for ending in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises it again once it has stopped in order
        signal.signal(ending, lambda *_: sys.exit(0))
    sys.setswitchinterval(SWITCH_SECONDS)
    with (
        lock,
        closing(free_port(settings.server.port) if port is None else free_port(port, tries=1)) as listener,
    ):
        key = own_key(folder)
        logged()
        memory = Memory(folder)
        app = create_app(memory, key=key, settings=settings)
        try:
            with listening(folder, memory, threads=LIMITS.reads + LIMITS.writes, program=program):
                _Server(configured(app), folder=folder).run(sockets=[listener])
        finally:  # a run that came over the socket has ended by now, and what was remembered beside it waits
            if not app.state.place.is_gone():
                memory.close()


PORT_TRIES = 20
"""Ports that are tried, one after the other, until one is free."""


def free_port(first: int, *, tries: int = PORT_TRIES) -> socket.socket:
    """A socket on the first free port from `first` on.

    Raises:
        TransientError: none of them is free.
    """
    last = min(first + tries - 1, 65_535)
    for port in range(first, last + 1):
        listener = socket.socket(
            socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP
        )  # asyncio sends at once then
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
            listener.listen(LIMITS.connections)
        except OSError:
            listener.close()
            continue
        return listener
    raise TransientError(f"no port from {first} to {last} is free: name another with --port")


def logged() -> None:
    """Log to stderr: the server's own lines and the access log; uvicorn's warnings and worse."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    logging.getLogger("slowwave.access").setLevel(logging.INFO)
    logging.getLogger("slowwave.server").setLevel(logging.INFO)
    logging.getLogger("uvicorn.error").addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a line of uvicorn's says what the guard has not said: it does so without stored text."""
    return not (isinstance(record.exc_info, tuple) and isinstance(record.exc_info[1], FailedError))


def configured(app: "object", limits: Limits = LIMITS) -> uvicorn.Config:
    """The configuration of uvicorn: bounded, and silent but for warnings."""
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=protocol_with(limits.head_seconds),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(int(limits.stop_seconds), 1),
        limit_concurrency=limits.connections,
    )


class _Server(uvicorn.Server):
    """Uvicorn, which tells the home where it is for as long as it answers."""

    def __init__(self, config: uvicorn.Config, *, folder: Path) -> None:
        super().__init__(config)
        self._folder = folder

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            address = Address(
                url=f"http://{LOOPBACK}:{sockets[0].getsockname()[1]}",
                pid=os.getpid(),
                started_at=datetime.now(UTC).isoformat(timespec="seconds"),
                version=metadata.version("slowwave"),
            )
            write_address(self._folder, address)
            with suppress(
                LostOutputError
            ):  # clients find the address in the home: it serves, and ends by the rule
                print(f"Slowwave serves {self._folder} at {address.url}", flush=True)
                print(f"The key is in {self._folder / 'server' / 'key'}", flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        remove_address(self._folder)
        await super().shutdown(sockets)
