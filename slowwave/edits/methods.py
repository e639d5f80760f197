"""The edits of `Memory`: what a person says of single memories."""

from collections.abc import Iterable
from datetime import datetime
from typing import TypeVar

from slowwave.edits import confirm, correct, forget, remember, resolve
from slowwave.home.paths import Home
from slowwave.recall.reader import Reader
from slowwave.recording.folding import Folding
from slowwave.schemas.choices import CellType, CorrectionReason, Resolution, SaidBy
from slowwave.schemas.refusals import moment_of, request_of
from slowwave.schemas.report import StageReport
from slowwave.schemas.requests import (
    ConfirmRequest,
    CorrectRequest,
    ForgetRequest,
    RememberRequest,
    ResolveRequest,
)
from slowwave.schemas.results import Dispute, Done, Erased
from slowwave.schemas.search import When

Answer = TypeVar("Answer", Done, Erased, StageReport)


class Edits:
    """The methods of `Memory` by which a person changes memories; each is a person's word and wins over every judge."""

    _home: Home
    _reader: Reader
    _folding: Folding

    def remember(
        self,
        text: str,
        *,
        cell_type: CellType = "fact",
        subject: str | None = None,
        attribute: str | None = None,
        value: str | None = None,
        entities: Iterable[str] = (),
        salience: float = 0.8,
        origin: SaidBy = "user",
        project: str | None = None,
        new_project: bool = False,
        now: datetime | None = None,
    ) -> Done:
        """Record a statement (`RememberRequest`) of the moment `now`, and redact secrets in it.

        It is a person's word unless `origin` says otherwise; what a person had deleted is remembered again. The same
        text on the same day is the same memory; on another day it becomes a confirmation.

        Raises:
            InputError: a keyword is not possible, an assistant says what was deleted, or the home keeps to one project.
            NotFoundError: no project is called so, and it is not to be a new one.
            TransientError: the journal cannot be written; nothing was recorded.
        """
        request = request_of(RememberRequest, locals())
        into = self._reader.into(request.project, is_new=request.new_project)
        return remember.remember(into, request, self._folding, now=moment_of(now))

    def correct(
        self,
        cell_id: str,
        text: str,
        *,
        subject: str | None = None,
        attribute: str | None = None,
        value: str | None = None,
        entities: Iterable[str] | None = None,
        reason: CorrectionReason | None = None,
        since: When | None = None,
        note: str = "",
        origin: SaidBy = "user",
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> Done:
        """Put what is right in a memory's place (`CorrectRequest`); the new memory is protected, the old one kept.

        With the reason `changed` the old one was true until the day `since`, with `wrong` never; where neither is
        given, the words decide, and the notes say so. Of raw talk only what is about the text makes way. An assistant's
        word (`origin`) is not protected, and is a contradiction of what a person said.

        Raises:
            InputError: a keyword is not possible, or the memory was superseded already.
            NotFoundError: there is no such memory, or none yet.
            BusyError: someone else writes the store for longer than `edits.lock_seconds`; nothing was recorded.
        """
        return self._seen(
            correct.correct(self._reader, request_of(CorrectRequest, locals()), now=moment_of(now))
        )

    def confirm(
        self, cell_id: str, *, note: str = "", origin: SaidBy = "user", now: datetime | None = None
    ) -> Done:
        """Protect a memory that a person says holds: it never fades. Raises as `correct`.

        That an assistant says so (`origin`) is noted, and protects nothing.
        """
        return self._seen(
            confirm.confirm(self._reader, request_of(ConfirmRequest, locals()), now=moment_of(now))
        )

    def forget(
        self,
        cell_id: str,
        *,
        only: str = "",
        note: str = "",
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> Done:
        """Delete a memory, also as said in other words; of raw talk `only` what is about these words.

        `erase` takes its turns too. Raises as `correct`.
        """
        return self._seen(
            forget.forget(self._reader, request_of(ForgetRequest, locals()), now=moment_of(now))
        )

    def contradictions(self, *, has_resolved: bool = False) -> list[Dispute]:
        """Open contradictions with both memories, newest first; resolved ones after them where asked for."""
        return resolve.disputes(self._reader, has_resolved=has_resolved)

    def resolve(
        self,
        contradiction_id: str,
        resolution: Resolution,
        *,
        text: str = "",
        note: str = "",
        now: datetime | None = None,
    ) -> Done:
        """End a contradiction for good, as a person decides (`ResolveRequest`). Raises as `correct`."""
        return self._seen(
            resolve.resolve(self._reader, request_of(ResolveRequest, locals()), now=moment_of(now))
        )

    def unresolve(self, contradiction_id: str, *, now: datetime | None = None) -> Done:
        """Take a resolution back: both memories stand as before, open again. Raises as `correct`."""
        return self._seen(resolve.undo(self._reader, contradiction_id, now=moment_of(now)))

    def _seen(self, done: Answer) -> Answer:
        """The answer of what wrote, once the next question sees what it changed."""
        self._reader.catch_up()
        return done
