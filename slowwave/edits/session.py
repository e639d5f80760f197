"""An edit's workspace: under the writer lock, with everything committed applied, as one segment.

An edit changes what it looked at, so nobody else may write between the look and the commit. While another process
writes, it waits for `edits.lock_seconds` and then says who is at work.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime

from slowwave.errors import InputError, NotFoundError
from slowwave.home.core_memory import write_core
from slowwave.home.ids import whole_ids
from slowwave.home.lock import leasing, writing
from slowwave.home.paths import Home
from slowwave.home.stated_values import retire_at_once
from slowwave.home.workspace import Workspace, workspace_of
from slowwave.journal.catalogue import EventRows
from slowwave.recall.reader import NO_MEMORY, Reader
from slowwave.recording.folding import embed
from slowwave.schemas.results import Done
from slowwave.store import Row


@contextmanager
def edit_session(
    home: Home, *, now: datetime, reader: Reader | None = None, is_alone: bool = False
) -> Iterator[Workspace]:
    """The workspace of one edit, whose clock stands at `now`; with the open store of a reader, which then has the edit.

    Raises:
        NotFoundError: there is no memory yet.
        BusyError: someone else writes the store, for longer than `edits.lock_seconds`.
    """
    if not home.store_root.is_dir() and not home.journal.segment_ids():
        raise NotFoundError(NO_MEMORY)
    patience = home.settings.edits.lock_seconds
    with ExitStack() as held:
        if is_alone:
            held.enter_context(leasing(home, patience_seconds=patience))
        held.enter_context(writing(home, patience_seconds=patience))
        store = reader.current() if reader is not None else None
        if reader is None or store is None:
            yield workspace_of(home, clock=lambda: now)
            return
        store.require_tables()
        work = Workspace(home, store, reader.embedder, clock=lambda: now, is_short=True)
        work.apply_all()
        yield work


def cell_of(work: Workspace, cell_id: str) -> Row:
    """The memory that an id stands for, cut or whole, as a row of `cells`.

    Raises:
        NotFoundError: there is no such memory.
        InputError: several begin so, or it is one that this owner may read and not change.
    """
    (found,) = whole_ids(work.store, [cell_id], owner=work.settings.owner)
    row = work.store.by_key("cells", [found]).row(0, named=True)
    refuse_foreign(work.home, row)
    return row


def refuse_retired(row: Mapping[str, object]) -> None:
    """Refuse to edit a memory that another one replaced.

    Raises:
        InputError: the memory is superseded.
    """
    if row["status"] == "superseded":
        if row["superseded_by"] is None:
            raise InputError(
                f"memory {row['cell_id']} made way, and nothing took its place: say what holds anew"
            )
        raise InputError(
            f"memory {row['cell_id']} was superseded by {row['superseded_by']} already: speak of that one"
        )


def commit_edit(work: Workspace, plan: EventRows, done: Done) -> Done:
    """Commit and apply a plan, with core memory and vectors; returns the answer with counts by kind, and notes.

    A value that was stated in it retires those that it outdates.
    """
    changed = work.commit_plan(plan)
    if not changed:
        return done
    retire_at_once(work)
    write_core(work)
    waits = embed(work)
    return done.model_copy(
        update={"changed": changed, "notes": [*done.notes, waits] if waits else done.notes}
    )


def refuse_foreign(home: Home, row: Mapping[str, object]) -> None:
    """Refuse to change a memory of scope `system` from a home of another scope.

    Raises:
        InputError: the row is of scope `system`, and the home's settings are not.
    """
    if row["scope"] == "system" and home.settings.owner.scope != "system":
        raise InputError(
            f"memory {row['cell_id']} belongs to the system: change it from a home with owner.scope system"
        )
