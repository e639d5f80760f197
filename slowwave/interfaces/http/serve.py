"""The process of a server: the home's Unix socket, for `slowwave serve` also a port of the loopback, and the end.

`slowwave serve` runs until Ctrl-C. A server on demand, `python -m slowwave.interfaces.http.serve HOME`, was started by
a client, has the socket alone, and leaves when nobody asked for a while. One server a home: whoever has the lock.
The module reads the settings, and imports the rest once it listens; meanwhile clients wait in the socket's queue.
"""

import asyncio
import logging
import os
import shlex
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import uvicorn
from filelock import FileLock, Timeout

from slowwave.errors import BusyError, ConfigError, TransientError
from slowwave.interfaces import client
from slowwave.interfaces.http.address import SINGLE, own_key, read_address, server_folder, write_address
from slowwave.settings.place import home_folder
from slowwave.settings.tree import Settings, load_settings

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
        ConfigError: a setting or the key is not usable.
        TransientError: no port is free.
    """
    _prepare()
    logged()
    folder = home_folder(home).resolve()
    own_print = client.fingerprint(folder)  # before what it stands for is read: that may change meanwhile
    settings = load_settings(folder)
    lock = _lock(folder)
    if not (_take(lock, 0) or (_leaves(folder) and _take(lock, TAKE_SECONDS))):
        there = read_address(folder)
        where = f" at {there.url} (process {there.pid})" if there else ""
        raise BusyError(f"a server of {folder} runs already{where}")
    with lock, ExitStack() as stack:
        tries = (
            range(port, port + 1) if port else range(settings.server.port, settings.server.port + PORT_TRIES)
        )
        sockets = [stack.enter_context(closing(free_port(tries)))]
        if client.has_sockets():
            sockets.append(stack.enter_context(listening(client.socket_path(folder))))
        key, url = own_key(folder), f"http://{LOOPBACK}:{sockets[0].getsockname()[1]}"
        stack.callback(write_address(folder, url).unlink, missing_ok=True)
        _say(f"Slowwave serves {folder} at {url}\nThe key is in {folder / 'server' / 'key'}")
        _run(settings, sockets, own_print=own_print, key=key, nightly=nightly)


def unit(home: str | None) -> str:
    """A systemd unit that keeps a server of this home running, with this Python."""
    words = [sys.executable, "-m", "slowwave", "serve", "--home", str(home_folder(home).resolve())]
    return UNIT.format(command=shlex.join(words).replace("%", "%%").replace("$", "$$"))


def serve_on_demand(folder: Path) -> None:
    """Answer on the home's socket until nobody asked for a while; returns at once where another server answers.

    Raises:
        ConfigError: a setting is not usable. It never listens then, and its client answers itself and says so.
    """
    _prepare()
    own_print = client.fingerprint(folder)
    settings = load_settings(folder)
    path, lock = client.socket_path(folder), _lock(folder)
    deadline = time.monotonic() + TAKE_SECONDS
    while not _take(lock, client.LOOK_SECONDS):  # also from a server that is just leaving
        if _answers(path) or time.monotonic() > deadline:
            return
    with lock, listening(path) as listener:
        _run(settings, [listener], own_print=own_print)


def _lock(folder: Path) -> FileLock:
    """The lock of the one server that a home has."""
    place = client.socket_path(folder) if client.has_sockets() else server_folder(folder) / "server"
    return FileLock(place.with_suffix(".lock"))


def _take(lock: FileLock, seconds: float) -> bool:
    with suppress(Timeout):
        lock.acquire(timeout=seconds)
    return lock.is_locked


def _answers(path: Path) -> bool:
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(os.fspath(path))
        return True
    return False


def _leaves(folder: Path) -> bool:
    """Ask the server that runs to leave, as a client with other settings would; return whether it does."""
    if not client.has_sockets():
        return False
    headers = {client.PRINT: "a server takes its place"}
    said = client.exchange(client.socket_path(folder), ("GET", "/health/live", None, headers), writes=False)
    return said is None or said.headers.get(client.STALE.lower()) == "leaves"


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


def free_port(ports: range) -> socket.socket:
    """A socket on the first of these ports that is free.

    Raises:
        TransientError: none is.
    """
    for port in ports:
        # with the protocol named asyncio sends at once; else each answer waits 40 ms for the client's system
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError, OverflowError):
            listener.bind((LOOPBACK, port))
            listener.listen(CONNECTIONS)
            return listener
        listener.close()
    raise TransientError(f"no port from {ports[0]} to {ports[-1]} is free: name another with --port")


def _prepare() -> None:
    """Set what holds for the whole process, before anything that reads it is imported."""
    os.umask(0o077)  # what a server writes into the home is for this user alone, whoever made the folder
    for name in SINGLE:
        os.environ.setdefault(name, "1")
    sys.setswitchinterval(SWITCH_SECONDS)
    for ending in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises it again once it has stopped in order
        signal.signal(ending, lambda *_: sys.exit(0))


def _run(
    settings: Settings,
    sockets: list[socket.socket],
    *,
    own_print: str,
    key: str | None = None,
    nightly: bool = False,
) -> None:
    """Answer on these sockets until the end; without a key, one on demand, it leaves when nobody asks."""
    from slowwave.interfaces.http.app import create_app
    from slowwave.memory import Memory

    app = create_app(Memory(settings.home), settings=settings, key=key, nightly=nightly)
    server = Server(configured(app))
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
    """Uvicorn on the socket of a home, which is gone before the last answers are given."""

    def leave(self) -> None:
        """Stop in order."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let new clients start another server, and end the requests at work."""
        for one in sockets or ():
            if one.family != socket.AF_INET:  # the next server waits for the lock
                Path(one.getsockname()).unlink(missing_ok=True)
        await asyncio.sleep(LAST_SECONDS)
        await super().shutdown(sockets)


def _say(lines: str) -> None:
    """Lines on stdout, where somebody reads them: the server goes on where nobody does, as `print` would not."""
    with suppress(OSError):
        os.write(1, f"{lines}\n".encode())


if __name__ == "__main__":
    try:
        serve_on_demand(Path(sys.argv[1]))
    except ConfigError as unusable:
        sys.exit(unusable.exit_code)
