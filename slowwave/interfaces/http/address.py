"""The address of the server and its key, as clients find them in the home. The standard library alone.

home/server/address.json    url, pid, started_at, version; gone after a graceful stop
home/server/key             the bearer key, for this user alone (0600), made on the first start
"""

import json
import os
import secrets
import stat
from dataclasses import asdict, dataclass
from pathlib import Path

from slowwave.errors import ConfigError
from slowwave.whole_file import write_whole

SINGLE = ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
"""Pools of threads below one question, in a server of one thread each: with many clients that halves the CPU time of a
question. A flow has the machine for itself and takes all of them."""

KEY_BYTES = 32
LONGEST_FILE = 10_000


@dataclass(frozen=True)
class Address:
    """The address of a server that runs, or was killed; `started_at` is ISO 8601 in UTC."""

    url: str
    pid: int
    started_at: str
    version: str


def server_folder(home: Path) -> Path:
    """The folder of the server's files, for this user alone; made where it is missing.

    Raises:
        ConfigError: it cannot be made.
    """
    folder = home / "server"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"the folder {folder} cannot be made: {error.strerror}") from error
    return folder


def read_address(home: Path) -> Address | None:
    """The address in the home; None where no server was started, it stopped, or the file is no address."""
    try:
        found = json.loads((home / "server" / "address.json").read_bytes()[:LONGEST_FILE])
        return Address(str(found["url"]), int(found["pid"]), str(found["started_at"]), str(found["version"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_address(home: Path, address: Address) -> None:
    """Tell clients where the server is: the file is there whole or not at all."""
    path = server_folder(home) / "address.json"
    write_whole(path, json.dumps(asdict(address)), is_durable=False)


def remove_address(home: Path) -> None:
    """Take the address away, if it is that of this process."""
    found = read_address(home)
    if found is not None and found.pid == os.getpid():
        (home / "server" / "address.json").unlink(missing_ok=True)


def read_key(home: Path) -> str | None:
    """The key in the home; None where there is none."""
    try:
        return (home / "server" / "key").read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def own_key(home: Path) -> str:
    """The key of the home's server, made on first use.

    Raises:
        ConfigError: others can read it, or it cannot be read or written.
    """
    path = server_folder(home) / "key"
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(KEY_BYTES) + "\n")
    except FileExistsError:
        pass
    except OSError as error:
        raise ConfigError(f"the key {path} cannot be written: {error.strerror}") from error
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise ConfigError(f"others can read the key {path}: remove it, and the next start makes another")
    key = read_key(home)
    if key is None:
        raise ConfigError(
            f"the key {path} is empty or cannot be read: remove it, and the next start makes another"
        )
    return key
