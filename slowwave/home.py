"""One home folder: where everything lies, and who may write.

    home/
    |-- slowwave.toml        settings (optional)
    |-- journal/             the truth
    |-- store/               derived tables
    |-- cache/answers.sqlite answers of the language model
    |-- calibration.json     thresholds measured on this store
    |-- MEMORY.md            core memory, written by `promote`
    |-- spool/usage.jsonl    what was retrieved, until the night takes it into the journal
    |-- erase.json           an erase that was cut off, until the next one ends it
    |-- cache/shown/         what each conversation was shown, so that it is not told twice
    |-- writer.lock          held by the one process that writes the store
    `-- writer.json          which process that is, while it writes

Any process may commit to the journal. Only the holder of the writer lock changes the store
(`slowwave/workspace.py`). Reading needs nothing more than this file, so it imports no language model.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from slowwave.embeddings import Embedder, open_embedder
from slowwave.errors import BusyError, ConfigError, TransientError
from slowwave.journal import Journal
from slowwave.settings import Settings, load_settings
from slowwave.store import Store

Work = Literal["run", "word"]
"""What a writer does: a run takes minutes, a person's word a moment."""

POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Home:
    """The paths below one home folder, and its settings."""

    settings: Settings

    @property
    def root(self) -> Path:
        """The home folder."""
        return self.settings.home

    @property
    def journal(self) -> Journal:
        """The journal."""
        return Journal(self.root / "journal")

    @property
    def store_root(self) -> Path:
        """The folder of the store's generations."""
        return self.root / "store"

    @property
    def cache_path(self) -> Path:
        """The answer cache."""
        return self.root / "cache" / "answers.sqlite"

    @property
    def calibration_path(self) -> Path:
        """Thresholds measured by `slowwave calibrate`."""
        return self.root / "calibration.json"

    @property
    def core_path(self) -> Path:
        """Core memory as a file."""
        return self.root / "MEMORY.md"

    @property
    def erase_path(self) -> Path:
        """The plan of an erase that is under way, or was cut off."""
        return self.root / "erase.json"

    @property
    def writer_path(self) -> Path:
        """Who writes the store at the moment. One that is killed leaves it behind, and the next one replaces it."""
        return self.root / "writer.json"

    def is_written_elsewhere(self) -> bool:
        """Whether another process writes the store; also for a while after one was killed."""
        return _holder_of(self.writer_path).get("pid", os.getpid()) != os.getpid()

    def write_core(self, text: str) -> None:
        """Replaces `MEMORY.md` whole."""
        draft = self.core_path.with_suffix(".md.draft")
        draft.write_text(text, encoding="utf-8")
        draft.replace(self.core_path)


def open_home(path: Path | str | None = None) -> Home:
    """The home at `path`, else at `SLOWWAVE_HOME`, else `data/home`; it need not exist yet.

    Raises:
        ConfigError: its settings are not usable.
    """
    return Home(load_settings(path))


@contextmanager
def writing(home: Home, *, work: Work = "run", patience_seconds: float = 0.0) -> Iterator[None]:
    """Holds the writer lock; within one process it may be taken again. A killed holder lets go at once.

    Waits up to `patience_seconds` for a person's word to be written, and never for a run.

    Raises:
        BusyError: another process holds it.
        ConfigError: the folder cannot be written.
    """
    path, holder = home.root / "writer.lock", home.writer_path
    deadline = time.monotonic() + patience_seconds
    try:
        home.root.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=0, is_singleton=True, thread_local=False)
        while True:
            try:
                lock.acquire()
                break
            except Timeout as error:
                held = _holder_of(holder)
                if held.get("work", "word") != "word" or time.monotonic() >= deadline:
                    raise _busy(home, held) from error
                time.sleep(POLL_SECONDS)
    except OSError as error:
        raise ConfigError(f"the home folder {home.root} cannot be written: {error.strerror}") from error
    try:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        holder.write_text(json.dumps({"pid": os.getpid(), "since": since, "work": work}), encoding="utf-8")
        yield
    finally:
        if lock.lock_counter == 1:
            holder.unlink(missing_ok=True)
        lock.release()


def _holder_of(path: Path) -> dict[str, object]:
    """What the holder of the writer lock says of itself; empty where nobody does."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def _busy(home: Home, held: Mapping[str, object]) -> BusyError:
    who = f"process {held['pid']} since {held['since']}" if {"pid", "since"} <= held.keys() else "unknown"
    what = "a person's word is being written" if held.get("work") == "word" else "another run is writing"
    return BusyError(f"{what} to {home.root} ({who}); this one left everything as it was")


def embedder_of(home: Home, store: Store) -> tuple[Embedder | None, str]:
    """The embedder that the store's vectors were made with, or None with the reason.

    Another embedder that is configured or found never writes into this store: `reembed` switches.
    """
    configured = home.settings.embedding
    try:
        embedder, note = open_embedder(configured, home.calibration_path)
    except TransientError as error:
        embedder, note = None, f"the embedder does not answer ({error})"
    found = embedder.embedder_id if embedder else ""
    if found == store.meta.embedder_id:
        return embedder, note
    if not store.meta.embedder_id:
        return None, f"the store holds no vectors; {found} is there: `slowwave run reembed` would use it"
    provider, *model, _, _ = store.meta.embedder_id.split("/")
    own = configured.model_copy(update={"provider": provider, "model": "/".join(model)})
    if provider != configured.provider:  # address and key belong to the provider that is configured
        own = own.model_copy(update={"base_url": None, "api_key": None})
    try:
        embedder, _ = open_embedder(own, home.calibration_path)
    except (TransientError, ConfigError) as error:
        return None, f"the store's embedder {store.meta.embedder_id} does not serve ({error}); full text only"
    if embedder is None or embedder.embedder_id != store.meta.embedder_id:
        return (
            None,
            f"the store's embedder {store.meta.embedder_id} cannot be opened again; full text only: "
            "`slowwave run reembed` mends it",
        )
    return embedder, (
        f"embedder {embedder.embedder_id}, as the store's vectors; "
        f"{found or note} is configured or found: `slowwave run reembed` switches"
    )
