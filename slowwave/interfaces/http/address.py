"""The address of the server and its key, as clients find them in the home.

home/server/address.json    url, pid, started_at, version; gone after a graceful stop
home/server/key             the bearer key, for this user alone (0600), made on the first start
"""

import json
import os
import secrets
import stat
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from slowwave.errors import ConfigError
from slowwave.whole_file import PRIVATE, write_whole

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


def write_address(home: Path, url: str) -> Path:
    """Tell clients where the server of this process is: the file is there whole or not at all."""
    path = server_folder(home) / "address.json"
    now = datetime.now(UTC).isoformat(timespec="seconds")
    address = Address(url, os.getpid(), now, metadata.version("slowwave"))
    write_whole(path, json.dumps(asdict(address)), is_durable=False)
    return path


def own_key(home: Path) -> str:
    """The key of the home's server, made on first use.

    Raises:
        ConfigError: others can read it, or it cannot be read or written.
    """
    path = server_folder(home) / "key"
    mend = "remove it, and the next start makes another"
    try:
        if not path.exists():
            write_whole(path, f"{secrets.token_urlsafe(KEY_BYTES)}\n", mode=PRIVATE)
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise ConfigError(f"others can read the key {path}: {mend}")
        key = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the key {path} cannot be read or written ({error}): {mend}") from error
    if not key:
        raise ConfigError(f"the key {path} is empty: {mend}")
    return key
