"""Answers of the language model by the hash of their full input, so that a repeated run costs nothing twice.

One SQLite file of JSON text behind Instructor's cache interface: no pickles, so reading it can run no code.
It holds text that was derived from stored text: `purge` is how `erase` gets it out, down to the bytes.
A reader of a hit validates it again; this file knows nothing of answers' schemas.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel

from slowwave.errors import ConfigError, ContractError, TransientError

_SCHEMA = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID"
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
                self._database.execute("PRAGMA journal_mode = WAL")
                self._database.execute("PRAGMA synchronous = NORMAL")
                self._database.execute("PRAGMA secure_delete = ON")
                self._database.execute(_SCHEMA)
            except sqlite3.Error:
                self._database.close()
                raise

    def get(self, key: str) -> str | None:
        """The JSON text under `key`, or null."""
        with self._lock, self._mapped():
            row = self._database.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set(self, key: str, value: object, ttl: int | None = None) -> None:
        """Keeps a model as its JSON, or text that is JSON; the newest wins. `ttl` is ignored.

        Raises:
            ContractError: the value is neither.
        """
        text = _json_text(value)
        with self._lock, self._mapped():
            self._database.execute("INSERT OR REPLACE INTO answers (key, answer) VALUES (?, ?)", (key, text))

    def purge(self, text_contains: str) -> int:
        """Removes every answer in which some string contains the text, upper or lower case; returns how many.

        Any white space counts as one blank, and an empty text removes all. The bytes go too: freed pages are
        overwritten, the write-ahead log is emptied, the file is rewritten. Paraphrases cannot be found this
        way; to be sure, empty the cache.
        """
        wanted = _flat(text_contains)
        with self._lock, self._mapped():
            rows = self._database.execute("SELECT key, answer FROM answers").fetchall()
            keys = [(key,) for key, answer in rows if not wanted or _contains(answer, wanted)]
            if keys:
                with self._database:  # commits, or takes all back
                    self._database.execute("BEGIN IMMEDIATE")
                    self._database.executemany("DELETE FROM answers WHERE key = ?", keys)
            self._database.execute("VACUUM")
            busy, _, _ = self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise TransientError(
                f"{self.path} is read by another process, so removed answers are still in its log. "
                "Stop the other process and repeat."
            )
        return len(keys)

    def close(self) -> None:
        """Closes the file; the cache cannot be used afterwards."""
        with self._lock:
            self._database.close()

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        """Turns SQLite's errors into ours."""
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in (
                sqlite3.SQLITE_BUSY,
                sqlite3.SQLITE_LOCKED,
                sqlite3.SQLITE_FULL,
            ):
                raise TransientError(
                    f"the answer cache {self.path} is locked or its disk is full ({error.sqlite_errorname}). "
                    "Free it and try again."
                ) from error
            raise ConfigError(
                f"the answer cache {self.path} cannot be used ({error.sqlite_errorname}). "
                "Check the folder's rights."
            ) from error
        except sqlite3.DatabaseError as error:
            raise ConfigError(
                f"the answer cache {self.path} is damaged or no cache ({type(error).__name__}). "
                "It can be deleted: only repeated calls would be paid for again."
            ) from error
        except OSError as error:
            raise ConfigError(
                f"the answer cache {self.path} cannot be made ({error.strerror}). Check the folder's rights."
            ) from error


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()


def _json_text(value: object) -> str:
    """The JSON text of a model, or the text itself once it proved to be JSON."""
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    if isinstance(value, str):
        try:
            json.loads(value)
        except ValueError:
            raise ContractError("the answer cache was given text that is not JSON") from None
        return value
    raise ContractError(f"the answer cache keeps models and JSON text, not {type(value).__name__}")


def _contains(text: str, wanted: str) -> bool:
    """Return whether some string in the JSON text contains the flattened text, however deep or often encoded."""
    left: list[object] = [text]
    while left:
        value = left.pop()
        if isinstance(value, str):
            if wanted in _flat(value):
                return True
            if value[:1] in ("{", "[", '"'):
                try:
                    left.append(json.loads(value))
                except ValueError:
                    continue
        elif isinstance(value, dict):
            left.extend(value.keys())
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)
    return False
