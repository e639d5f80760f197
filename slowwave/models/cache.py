"""Answers of the language model by the hash of their full input, so that a repeated run costs nothing twice.

One SQLite file of JSON text: no pickles, so reading it can run no code. It holds text that was derived from stored
text, so `erase` deletes the file. A reader of a hit validates it again; nothing here knows answers' schemas.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slowwave.errors import ConfigError, TransientError

_SCHEMA = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID"
_PRAGMAS = ("journal_mode = WAL", "synchronous = NORMAL", "secure_delete = ON")
_WAIT_SECONDS = 30.0


class AnswerCache:
    """Key to JSON text in one file; safe to share between threads, and the file between processes.

    Raises:
        ConfigError: from every method, when the file is no database or cannot be opened.
        TransientError: from every method, when another process holds the file, or the disk is full.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        with self._mapped():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(
                path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                for pragma in _PRAGMAS:
                    self._database.execute(f"PRAGMA {pragma}")
                self._database.execute(_SCHEMA)
            except sqlite3.Error:
                self._database.close()
                raise

    def get(self, key: str) -> str | None:
        """The JSON text under `key`, or null."""
        with self._lock, self._mapped():
            row = self._database.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set(self, key: str, text: str) -> None:
        """Keeps the JSON text of an answer; the newest wins."""
        with self._lock, self._mapped():
            self._database.execute("INSERT OR REPLACE INTO answers (key, answer) VALUES (?, ?)", (key, text))

    def close(self) -> None:
        """Closes the file; the cache cannot be used afterwards."""
        with self._lock:
            self._database.close()

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        """Turns SQLite's errors into ours."""
        busy = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL)
        what = f"the answer cache {self.path}"
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except (sqlite3.DatabaseError, OSError) as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            why = getattr(error, "sqlite_errorname", None) or type(error).__name__
            if code in busy:
                told = f"{what} is locked or its disk is full ({why}). Free it and try again."
                raise TransientError(told) from error
            raise ConfigError(
                f"{what} is damaged or no cache, or its folder cannot be used ({why}). Check the folder's rights. "
                "The file can be deleted: only repeated calls would be paid for again."
            ) from error
