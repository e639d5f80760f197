"""An open store for reading, kept warm: tables, indices and embedder stay loaded from question to question."""

from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path

from slowwave.errors import InputError, NotFoundError, OutputError, SlowwaveError, TransientError
from slowwave.home.lock import is_written_elsewhere
from slowwave.home.lost_segments import loss_note, lost_segments, waiting_segments
from slowwave.home.paths import Home
from slowwave.home.stored_embedder import embedder_of
from slowwave.ingest.redact.names import safe_id
from slowwave.models.embed.protocol import Embedder
from slowwave.models.embed.relevance import Vectors
from slowwave.schemas.refusals import clean_text
from slowwave.schemas.search import Filters
from slowwave.settings.projects import namesakes, project_named, project_of
from slowwave.settings.tree import Settings
from slowwave.store import OutdatedStoreError, Store, in_any_project, open_store, owned_in, told

ASKED = ("cells", "cell_usage", "topics", "contradictions", "turns", "passages")

NAME_SHOWN = 60
"""Characters of a project's id in a note."""

NO_STORE = "what was recorded is in no store yet: `slowwave run rebuild` makes one of it now, else the next night does"
"""Messages that a tap recorded before the first night, or a store that was lost: the journal tells no difference."""

NO_MEMORY = "there is no memory yet: run `slowwave ingest PATH` and `slowwave run nightly`"
NOTHING = "No memory yet: `slowwave ingest PATH` and `slowwave run nightly` make one"

LAG = "what was recorded last is not in this answer yet: it is added as soon as nothing else writes"


@dataclass
class Reader:
    """A store and the embedder of its vectors, open for searches. Made by `open_reader`."""

    home: Home
    store: Store | None
    embedder: Embedder | None
    note: str
    """Why there is no embedder; "" where there is one."""
    damage: str = ""
    """A note on what is damaged of the store or gone from the journal; an answer stands all the same."""
    waiting: set[str] = field(default_factory=set)
    """Segments that were committed before the store was opened, and that nobody was applying then."""
    _recorded: set[str] = field(default_factory=set, init=False, repr=False)
    """Projects that were found in the store."""
    _stood_in: set[str] = field(default_factory=set, init=False, repr=False)
    """Projects of folders that were asked for, and new ones: they are known though nothing is recorded in them yet."""
    _whole: "Reader | None" = field(default=None, repr=False)
    """The reader that this one is a view of, from within a project."""

    def __post_init__(self) -> None:
        if self.store is not None:
            if found := self.store.visible_damage():
                self.damage = f"the store is damaged: {told(found)}; run `slowwave run rebuild`"
            with suppress(SlowwaveError):  # a broken table is told where it is needed
                self.damage = self.damage or loss_note(len(lost_segments(self.home.journal, self.store)))
                if not is_written_elsewhere(self.home):
                    self.waiting = waiting_segments(self.home.journal, self.store)
            self.store.keep_in_memory(self.home.journal, most_rows=self.settings.search.memory_rows)

    @property
    def settings(self) -> Settings:
        """Settings of the home."""
        return self.home.settings

    def within(self, project: str | None) -> "Reader":
        """The same open store, read from within a project (`slowwave/store/scopes.py`); null for from within none."""
        return self if project is None else self._of(self.home.asking_in(self.named(project)))

    def narrowed(self, filters: Filters) -> tuple["Reader", Filters]:
        """The reader from within the project that filters name, and the filters with its id."""
        if filters.project is None:
            return self, filters
        named = self.named(filters.project)
        return self.within(named), filters.model_copy(update={"project": named})

    def into(self, project: str | None, *, is_new: bool = False) -> "Reader":
        """The same open store, whose new rows are of a project, which may be a new one; null for the home's own.

        Raises:
            InputError: a new one has no name, or none that is possible.
            NotFoundError: no project is called so.
        """
        if project is None:
            if is_new:
                raise InputError("new_project begins a project, and none is named: give its name as project")
            return self
        return self._of(self.home.of_project(self.named(project, is_written=True, may_be_new=is_new)))

    def named(self, project: str, *, is_written: bool = False, may_be_new: bool = False) -> str:
        """The id of the project that a caller names: the one place where every command and request is understood.

        Raises:
            InputError: the folder lies in no repository, or the home keeps to its own project.
            NotFoundError: no project is called so; one that is read may have any name as long as there is no store.
        """
        name = clean_text(project).strip()
        name = name if Path(name).is_absolute() else safe_id(name)
        if name in self._recorded or name in self._stood_in:
            return name
        try:
            found = project_named(self.settings.owner, name, self._known_projects, may_be_new=may_be_new)
        except NotFoundError as error:
            if is_written:
                raise NotFoundError(f"{error}; new_project begins a new one") from error
            if self.current() is not None:
                raise
            return name
        self._stood_in.add(found)
        return found

    def project_of(self, folder: str) -> str:
        """The project of a folder, which may be named from now on."""
        found = project_of(self.settings.owner, folder)
        self._stood_in.add(found)
        return found

    def _known_projects(self) -> set[str]:
        """Projects that the owner may see something of, the home's own one among them."""
        owner, store = self.settings.owner, self.current()
        if store is not None:
            for table in ("turns", "cells"):
                self._recorded |= {*store.rows(table, ["project_id"], in_any_project(owner))["project_id"]}
        return {owner.project_id, *self._recorded}

    def _is_empty(self, project: str) -> bool:
        """Return whether nothing that may be seen is of a project."""
        store = self.current()
        if store is None or project in self._recorded or project == self.settings.owner.project_id:
            return False
        where = owned_in(self.settings.owner, project)
        if any(store.count(table, where) for table in ("turns", "cells")):
            self._recorded.add(project)
            return False
        return True

    def _of(self, home: Home) -> "Reader":
        view = copy(self)
        view.home, view._whole = home, self._whole or self
        return view

    def current(self) -> Store | None:
        """The store as it is now: writes of other processes are seen, and so is a rebuilt or a first store."""
        if self._whole is not None:
            self.store = self._whole.current()
            self.embedder, self.note, self.damage = self._whole.embedder, self._whole.note, self._whole.damage
            return self.store
        if self.store is None or not self.store.is_current() or self.store.was_replaced():
            fresh = open_reader(self.home)
            self.store, self.embedder, self.note = fresh.store, fresh.embedder, fresh.note
            self.damage, self.waiting = fresh.damage, fresh.waiting
        if self.store is not None:
            self.store.begin_question()
        return self.store

    def require_store(self, nothing: str = NOTHING) -> Store:
        """The store as it is now.

        Raises:
            NotFoundError: there is none; `nothing` says so, unless one of an older version waits to be rebuilt.
        """
        store = self.current()
        if store is None:
            raise NotFoundError(self.note or nothing)
        return store

    def wait_for(self, segment_id: str) -> None:
        """Say that a segment was committed that nobody could apply yet."""
        (self._whole or self).waiting.add(segment_id)

    def notes(self, project: str | None = None) -> list[str]:
        """Notes that belong to every answer, asked from within a project: on it where it is empty, and on the store."""
        empty = ""
        if project is not None and self._is_empty(named := self.named(project)):
            empty = f"nothing is recorded in the project {named[:NAME_SHOWN]} yet: this is what every project knows"
            if others := namesakes(named, self._known_projects()):
                empty += (
                    f"; {others[0][:NAME_SHOWN]} has the same name: was it moved? Run `slowwave doctor` there"
                )
        return [note for note in (empty, self.damage, self.lag()) if note]

    def lag(self) -> str:
        """A note where the store lacks what was recorded; "" where it has everything that this reader knows of."""
        waiting = self._whole.waiting if self._whole is not None else self.waiting
        if waiting and self.store is not None:
            waiting -= self.store.applied_segments()
        is_found = self.store is not None and self.store.shows("cells") and self.store.shows("turns")
        return LAG if waiting and not is_found else ""

    def catch_up(self) -> None:
        """Take over what this process just wrote, and let go of what it took away; nothing without a store."""
        if self.store is not None:
            self.current()

    def read_tables(self) -> None:
        """Read the tables that questions ask into memory, where they are not too large for it."""
        if self.store is not None:
            self.store.read_into_memory(ASKED)

    def why_nothing(self) -> str:
        """The note for a missing or empty store."""
        if self.store is None and self.home.journal.segment_ids():
            return self.note or NO_STORE
        return "No memory yet"

    def vector_of(self, text: str) -> tuple[Vectors | None, str]:
        """The vector of a question, or None with the reason why this search is by words alone."""
        if self.embedder is None:
            return None, self.note
        try:
            return self.embedder.embed_query(text), ""
        except TransientError as error:
            return None, f"full text only: {error}"
        except (InputError, OutputError):
            return None, "full text only: the embedder makes nothing of this question"


def open_reader(home: Home) -> Reader:
    """A reader of a home; where there is no store yet it finds nothing, and looks again with each question.

    Raises:
        ConfigError: the store cannot be read as it is.
    """
    try:
        store = open_store(home.store_root)
    except NotFoundError:
        return Reader(home, None, None, "")
    except OutdatedStoreError as outdated:
        return Reader(home, None, None, str(outdated))
    embedder, note = embedder_of(home, store)
    return Reader(home, store, embedder, "" if embedder is not None else note)
