"""The process of a server: the home's Unix socket, for `slowwave serve` also a port of the loopback, and the end.

`slowwave serve` runs until Ctrl-C. A server on demand, `python -m slowwave.interfaces.http.serve HOME`, was started by
a client, has the socket alone, and leaves when nobody asked for a while. One server a home: whoever has the lock.
The module imports little until it listens; meanwhile clients wait in the socket's queue.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import uvicorn
from filelock import FileLock, Timeout

from slowwave.errors import BusyError, TransientError
from slowwave.interfaces import client
from slowwave.interfaces.http.address import (
    SINGLE,
    Address,
    own_key,
    read_address,
    remove_address,
    server_folder,
    write_address,
)
from slowwave.settings.place import home_folder

LOOPBACK = "127.0.0.1"
PORT_TRIES = 20
"""Ports that are tried, from the setting on: a machine has few servers."""

CONNECTIONS = 512
"""Connections at once: beyond them uvicorn answers 503."""

KEEP_ALIVE_SECONDS = 5
STOP_SECONDS = 20
"""Seconds that requests at work may take to end when the server stops."""

SWITCH_SECONDS = 0.001
"""How long a thread computes while others wait: a short request waits less behind a long one."""

UNIT = """\
[Unit]
Description=Slowwave

[Service]
ExecStart={command}
Restart=on-failure
RestartSec=5
TimeoutStopSec=60
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""

LAST_SECONDS = 0.05
"""Seconds for the requests of clients that connected before the socket was gone: a write is never left unread."""

TAKE_SECONDS = 30.0
"""Seconds that a server which was asked to leave may take: its requests end, and what it was told becomes findable."""


def serve(home: str | None, *, port: int | None = None, nightly: bool = False) -> None:
    """Serve a home's memory until SIGTERM or Ctrl-C, on its socket and on a port; a server on demand makes way.

    Raises:
        BusyError: somebody keeps a server of this home running already.
        TransientError: no port is free.
    """
    folder = home_folder(home).resolve()
    _prepare()
    logged()
    with ExitStack() as stack:
        stack.enter_context(_only_server(folder))
        sockets = [stack.enter_context(closing(free_port(folder, port)))]
        if client.has_sockets():
            sockets.append(stack.enter_context(listening(client.socket_path(folder))))
        _run(folder, sockets, key=own_key(folder), nightly=nightly)


def unit(home: str | None) -> str:
    """A systemd unit that keeps a server of this home running, with this Python."""
    words = [sys.executable, "-m", "slowwave", "serve", "--home", str(home_folder(home).resolve())]
    return UNIT.format(command=" ".join(map(_quoted, words)))


def _quoted(word: str) -> str:
    """A word as systemd reads it back, with its own signs spelled out."""
    spelled = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{spelled}"' if any(sign in word for sign in " \t'\"\\;") else spelled


def serve_on_demand(folder: Path) -> None:
    """Answer on the home's socket until nobody asked for a while; returns at once where another server answers."""
    _prepare()
    path = client.socket_path(folder)
    lock = FileLock(path.with_suffix(".lock"))
    if not _is_taken(lock, path):
        return
    with lock, listening(path) as listener:
        _run(folder, [listener], key=None)


@contextmanager
def _only_server(folder: Path) -> Iterator[None]:
    """A block in which no other server of this home starts.

    Raises:
        BusyError: one runs that somebody keeps running, or that does not leave.
    """
    if not client.has_sockets():
        path = server_folder(folder) / "server.lock"
    else:
        path = client.socket_path(folder).with_suffix(".lock")
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        try:
            lock.acquire(timeout=TAKE_SECONDS if _leaves(folder) else 0)
        except Timeout as error:
            there = read_address(folder)
            where = f" at {there.url} (process {there.pid})" if there else ""
            raise BusyError(f"a server of {folder} runs already{where}") from error
    with lock:
        yield


def _leaves(folder: Path) -> bool:
    """Ask the server that runs to leave, as a client with other settings would; return whether it does."""
    if not client.has_sockets():
        return False
    headers = {client.PRINT: "a server takes its place"}
    said = client.exchange(client.socket_path(folder), ("GET", "/health/live", None, headers), writes=False)
    return said is None or said.headers.get(client.STALE.lower()) == "leaves"


def _is_taken(lock: FileLock, path: Path) -> bool:
    """Take the lock, also from a server that is just leaving; return False where another one answers."""
    deadline = time.monotonic() + TAKE_SECONDS
    while time.monotonic() < deadline:
        with suppress(Timeout):
            lock.acquire(timeout=client.LOOK_SECONDS)
            return True
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(os.fspath(path))
            return False
    return False


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """The socket of a home, for this user alone; the file that a killed server left is replaced. Needs the lock."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            listener.bind(os.fspath(path))
        finally:
            os.umask(before)
        listener.listen(CONNECTIONS)
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)


def free_port(folder: Path, port: int | None = None) -> socket.socket:
    """A socket on this port, or on the first free one from the setting on.

    Raises:
        TransientError: none is free.
    """
    from slowwave.settings.tree import load_settings

    first = port or load_settings(folder).server.port
    last = first if port else min(first + PORT_TRIES - 1, 65_535)
    for one in range(first, last + 1):
        # with the protocol named asyncio sends at once; else each answer waits 40 ms for the client's system
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, one))
            listener.listen(CONNECTIONS)
        except OSError:
            listener.close()
            continue
        return listener
    raise TransientError(f"no port from {first} to {last} is free: name another with --port")


def _prepare() -> None:
    """Set what holds for the whole process, before anything that reads it is imported."""
    os.umask(0o077)  # what a server writes into the home is for this user alone, whoever made the folder
    for name in SINGLE:
        os.environ.setdefault(name, "1")
    sys.setswitchinterval(SWITCH_SECONDS)
    for ending in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises it again once it has stopped in order
        signal.signal(ending, lambda *_: sys.exit(0))


def _run(folder: Path, sockets: list[socket.socket], *, key: str | None, nightly: bool = False) -> None:
    own_print = client.fingerprint(folder)  # before the program's files are read: they may change meanwhile
    from slowwave.interfaces.http.app import create_app
    from slowwave.memory import Memory
    from slowwave.settings.tree import load_settings

    app = create_app(Memory(folder), settings=load_settings(folder), key=key, nightly=nightly)
    server = Server(configured(app), folder=folder)
    app.state.print = own_print
    app.state.leave = None if key else server.leave
    server.run(sockets=sockets)


def logged() -> None:
    """Log to stderr: the server's own lines and the access log; uvicorn's warnings and worse."""
    form = "%(asctime)s %(levelname)s %(name)s %(message)s"
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format=form)
    for name in ("slowwave.access", "slowwave.server"):
        logging.getLogger(name).setLevel(logging.INFO)


def configured(app: object) -> uvicorn.Config:
    """The configuration of uvicorn: bounded, and silent but for warnings."""
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # no proxy is in front of a loopback
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        limit_concurrency=CONNECTIONS,
    )


class Server(uvicorn.Server):
    """Uvicorn, which writes its address into the home for as long as it answers on a port."""

    def __init__(self, config: uvicorn.Config, *, folder: Path) -> None:
        super().__init__(config)
        self._folder = folder

    def leave(self) -> None:
        """Stop in order."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and tell clients of a port where."""
        await super().startup(sockets)
        ports = [one.getsockname()[1] for one in sockets or () if one.family == socket.AF_INET]
        if self.started and ports:
            address = Address(
                url=f"http://{LOOPBACK}:{ports[0]}",
                pid=os.getpid(),
                started_at=datetime.now(UTC).isoformat(timespec="seconds"),
                version=metadata.version("slowwave"),
            )
            write_address(self._folder, address)
            _say(f"Slowwave serves {self._folder} at {address.url}")
            _say(f"The key is in {self._folder / 'server' / 'key'}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let new clients start another server, and end the requests at work."""
        remove_address(self._folder)
        for one in sockets or ():
            if one.family != socket.AF_INET:  # the next server waits for the lock
                Path(one.getsockname()).unlink(missing_ok=True)
        await asyncio.sleep(LAST_SECONDS)
        await super().shutdown(sockets)


def _say(line: str) -> None:
    """A line on stdout, where somebody reads it: the server goes on where nobody does, as `print` would not."""
    with suppress(OSError):
        os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    serve_on_demand(Path(sys.argv[1]))
