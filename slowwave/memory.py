"""`Memory`: the Python interface for notebooks, programs and agents (`docs/memory.md` shows every call).

No language model, no Prefect. Reading takes no lock and stays warm from question to question.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from slowwave.edits import overview, quarantine
from slowwave.edits.explain import explain
from slowwave.edits.methods import Edits
from slowwave.errors import TransientError
from slowwave.export.export import export
from slowwave.home.core_file import core_page
from slowwave.home.paths import open_home
from slowwave.home.usage import Citations, Usage, cite
from slowwave.ingest.sources import discover
from slowwave.recall.answers import settle_by_answers
from slowwave.recall.assemble import assemble
from slowwave.recall.entity import describe
from slowwave.recall.lists.cells import archived
from slowwave.recall.lists.methods import Lists
from slowwave.recall.reader import open_reader
from slowwave.recall.search import answer, ask
from slowwave.recall.shown import shown_to
from slowwave.recall.timeline import timeline
from slowwave.recording.folding import Folding
from slowwave.recording.ingest import ingest
from slowwave.recording.record import Recorder
from slowwave.rewrite import erase
from slowwave.schemas.choices import ExportFormat
from slowwave.schemas.context import Activity, Context, ContextRequest
from slowwave.schemas.refusals import clean_text, moment_of, request_of
from slowwave.schemas.report import Exported, StageReport
from slowwave.schemas.requests import (
    ArchivedRequest,
    CiteRequest,
    EraseRequest,
    ExportRequest,
    RecordRequest,
    RecordTurn,
    TimelineRequest,
    WeakRequest,
)
from slowwave.schemas.results import (
    Cell,
    EntityResult,
    Erased,
    FoundSource,
    QuarantinedChunk,
    Recorded,
    SearchResult,
    Stats,
    Status,
    Timeline,
)
from slowwave.schemas.search import DetailLevel, FilterWords, Scope, SearchRequest

Answer = TypeVar("Answer", SearchResult, Context, EntityResult, Timeline)

CLOSE_SECONDS = 20.0
"""Longest time that closing takes; what is not found by then is folded by the next writer."""


class Memory(Lists, Edits):
    """The memory of one home folder, kept warm. Threads may share it; each process opens its own.

    Its owner is the one that the home's settings name (`owner`). Every memory that `search` or `context` returns
    is noted as retrieved, in batches, unless `records_usage` is False. A keyword that is not possible raises an
    `InputError`; `now` is the present moment, in UTC where it has no zone.
    """

    def __init__(self, home: Path | str | None = None, *, records_usage: bool = True) -> None:
        """Open the home at `home`, else at `SLOWWAVE_HOME`, else this user's; a `ConfigError` if it is not usable."""
        self._home = open_home(home)
        self._reader = open_reader(self._home)
        self._usage = Usage(self._home)
        self._records_usage = records_usage
        self._cited = Citations()
        self._recorder = Recorder(self._reader)
        self._folding = Folding(self._reader)
        if self._reader.waiting:
            self._folding.soon()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        detail_level: DetailLevel = "full",
        conversation_id: str = "",
        now: datetime | None = None,
        **words: Unpack[FilterWords],
    ) -> SearchResult:
        """Answer a question (`SearchRequest`) from topic summaries, memories and, at `evidence`, raw turns.

        Filters are keywords: `entity="Mara"`, `after="last_week"`.
        """
        request = request_of(SearchRequest, {**locals(), **words})
        moment = moment_of(now)
        found = answer(self._reader, request, now=moment)
        self._note([cell.cell_id for cell in found.cells], conversation_id, moment)
        return self._told(found, request.project)

    def context(
        self,
        question: str = "",
        *,
        activity: Activity = "general",
        current_file: str | None = None,
        recent_errors: Sequence[str] = (),
        branch: str | None = None,
        budget_tokens: int | None = None,
        conversation_id: str = "",
        small: bool = False,
        opening: bool = False,
        ids: bool = False,
        project: str | None = None,
        now: datetime | None = None,
    ) -> Context:
        """Assemble the memory that an agent should have in its prompt now (`ContextRequest`), as one fenced text.

        What stands at the start of a conversation (`opening`) is not noted as retrieved: nobody asked for it.
        """
        recent_errors = [recent_errors] if isinstance(recent_errors, str) else recent_errors
        request = request_of(ContextRequest, locals())
        moment = moment_of(now)
        found = assemble(self._reader.within(request.project), request, now=moment)
        shown = dict.fromkeys(cell_id for line in found.lines for cell_id in line.cell_ids)
        if not opening:
            self._note(list(shown), conversation_id, moment)
        return self._told(found, request.project)

    def entity(self, name: str, *, project: str | None = None) -> EntityResult:
        """Describe the entities that a name stands for, with their values now and before."""
        return self._told(describe(self._reader.within(project), clean_text(name)), project)

    def timeline(
        self,
        name: str = "",
        *,
        topic: str = "",
        session: str = "",
        limit: int = 100,
        project: str | None = None,
    ) -> Timeline:
        """Dated memories of one name, topic or session, in order (`TimelineRequest`)."""
        request = request_of(TimelineRequest, locals())
        return self._told(timeline(self._reader.within(request.project), request), request.project)

    def project_of(self, folder: str | Path) -> str:
        """The project of a folder: its git repository with all worktrees, else the home's own one."""
        return self._reader.project_of(str(folder))

    def record(
        self,
        turns: Iterable[RecordTurn | Mapping[str, Any]],
        *,
        client: str = "",
        project: str | None = None,
        new_project: bool = False,
        now: datetime | None = None,
    ) -> Recorded:
        """Record messages of conversations (`RecordRequest`) as they are said; they survive a kill once this returns.

        Secrets are redacted, and memory that Slowwave put into a prompt is left out. A message that was recorded
        before adds nothing. It is found with the next question, beside a night too; the next ingest or night cuts it
        into chunks, and the night makes memories of them.

        Raises:
            InputError: a message or keyword is not possible; nothing was recorded.
            NotFoundError: no project is called so; nothing was recorded.
            TransientError: the journal cannot be written; nothing was recorded.
        """
        recorded = self._recorder.record(request_of(RecordRequest, locals()), now=moment_of(now))
        if recorded.new_count:
            self._folding.soon()
        return recorded

    def ingest(
        self,
        sources: Sequence[str | Path],
        *,
        dry_run: bool = False,
        are_found: bool = False,
        now: datetime | None = None,
    ) -> StageReport:
        """Take in transcripts, documents and exports; of files that grew, what is new in them.

        `are_found` says that no person named these files: Slowwave's own exports are then passed by.

        Raises:
            NotFoundError: a named path does not exist.
            BusyError: someone else writes the store for longer than `edits.lock_seconds`; nothing was taken in.
        """
        moment = None if now is None else moment_of(now)
        paths = [str(source) for source in sources]
        clock = partial(moment_of, moment)
        return self._seen(ingest(self._home, paths, dry_run=dry_run, are_found=are_found, clock=clock))

    def discover(self, sources: Sequence[str | Path] | None = None) -> list[FoundSource]:
        """The places of coding agents on this machine that hold something to read, or those named; reads none.

        Raises:
            NotFoundError: a named path does not exist.
        """
        return discover(sources)

    def export(
        self,
        to: Path | str,
        *,
        format: ExportFormat = "jsonl",
        project: str | None = None,
        scopes: Sequence[Scope] = (),
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> Exported:
        """Write everything that you may see into a folder (`ExportRequest`); `ingest` takes its JSONL in again.

        Raises:
            InputError: a keyword is not possible, or the folder holds files that no export wrote.
            NotFoundError: there is no memory yet.
        """
        to = str(to)
        return export(self._reader, request_of(ExportRequest, locals()), now=moment_of(now))

    def erase(
        self,
        cell_id: str | None = None,
        *,
        turn_id: str | None = None,
        session_id: str | None = None,
        text: str | None = None,
        resume: bool = False,
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> Erased:
        """Take what was said out of the home down to the bytes (`EraseRequest`), with all that rests on it.

        `resume` ends an erase that was interrupted, and names nothing. Raises as `correct`.
        """
        return self._seen(erase.erase(self._home, request_of(EraseRequest, locals()), now=moment_of(now)))

    def cite(self, cell_ids: Sequence[str], context: str = "", *, now: datetime | None = None) -> list[str]:
        """Record at once that memories were used (`CiteRequest`); returns their whole ids.

        One that was cited in the same `context` within five minutes is taken for the same use, said again.

        Raises:
            InputError: an id stands for several memories; nothing was recorded.
            NotFoundError: an id is unknown, or there is no store yet.
            TransientError: the journal cannot be written.
        """
        request, at = request_of(CiteRequest, locals()), moment_of(now)
        store, done = self._reader.current(), self._cited.just_now(context, at)
        found = cite(self._home, request.cell_ids, context=context, now=at, store=store, done=done)
        self._cited.add(context, {*found} - done, at)
        return found

    def ignore(self, cell_ids: Sequence[str], context: str = "", *, now: datetime | None = None) -> None:
        """Note that memories were shown and did not help: once a `context`, counted with the next night."""
        self._usage.note(cell_ids, "ignored", context=context, at=moment_of(now))

    def settle(
        self,
        conversation_id: str,
        *,
        cited: Iterable[str] = (),
        reads_answers: bool = False,
        is_over: bool = True,
        now: datetime | None = None,
    ) -> list[str]:
        """End a conversation: note as ignored what `context` showed it and nobody cited; returns the ids.

        `cited` adds ids to those that this `Memory` cited in it. With `reads_answers` the stored answers of the
        conversation are read (`slowwave/recall/answers.py`): what they cite is cited, and what no answer followed is
        not ignored. Before the conversation `is_over` nothing is ignored yet. A second call adds nothing.
        """
        moment, store = moment_of(now), self._reader.current()
        known = {*cited, *self._cited.of(conversation_id)}
        if reads_answers:
            ignored = settle_by_answers(self._reader, conversation_id, now=moment)
            return self._usage.settle(
                conversation_id, shown=ignored if is_over else (), cited=known, at=moment
            )
        kept = shown_to(self._home, conversation_id, now=moment) if store is not None else {}
        shown = store.by_key("cells", kept, ["cell_id"])["cell_id"].to_list() if store is not None else []
        return self._usage.settle(conversation_id, shown=shown, cited=known, at=moment)

    def explain(self, cell_id: str, *, now: datetime | None = None) -> Cell:
        """Tell why a memory is there: its turns, chains, judgements and every event, also once it is deleted.

        Raises:
            InputError: several memories begin with that id.
            NotFoundError: no memory of this owner has that id, there is none yet, or it was erased.
        """
        return explain(self._reader, cell_id, now=moment_of(now))

    def weak(self, days: float | None = None, *, now: datetime | None = None) -> list[Cell]:
        """Memories that the nights of the next days (`WeakRequest`) will archive unless they are used."""
        return overview.weak(self._reader, request_of(WeakRequest, locals()), now=moment_of(now))

    def archived(self, query: str, *, limit: int = 10) -> list[Cell]:
        """Faded memories by their words, best first; a cited one comes back with the next night."""
        return archived(self._reader, request_of(ArchivedRequest, locals()))

    def stats(self, *, now: datetime | None = None) -> Stats:
        """Counts of all memories by type, status, topic, age and origin, and of their use."""
        return overview.stats(self._reader, now=moment_of(now))

    def core(self, *, project: str | None = None) -> str:
        """Core memory as its user may see it: the home's own, and behind it that of a project; "" for none."""
        reader = self._reader.within(project)
        store = reader.current()
        return "" if store is None else core_page(reader.home, store)

    def status(self, *, now: datetime | None = None) -> Status:
        """The state of the home: waiting work, the last night, rows and bytes; a `ConfigError` if it is damaged."""
        return overview.read_status(self._home, now=moment_of(now))

    def quarantine(self) -> list[QuarantinedChunk]:
        """Work for which the model gave no usable answer, with the reason, oldest first."""
        return quarantine.list_chunks(self._home)

    def release(self, ids: Sequence[str] | None = None, *, now: datetime | None = None) -> list[str]:
        """Send work out of quarantine back to the next night, all of it where no ids are given; returns the ids.

        Raises:
            NotFoundError: there is no memory yet, or nothing in quarantine has such an id.
            InputError: an id stands for several.
            BusyError: as `correct`.
        """
        return quarantine.release_chunks(self._home, ids, now=moment_of(now))

    def warm(self, *, is_served: bool = False) -> None:
        """Load tables and embedder for fast first questions; a server reads large tables, too, and not beside these."""
        if self._reader.current() is not None:
            ask(self._reader, "warm")
        if is_served:
            self._reader.read_tables()
            self._folding.has_time = True

    def fold_soon(self) -> None:
        """Make findable what a process that was killed had recorded: now, or where a run writes as soon as it can."""
        if self._home.journal.segment_ids():
            self._folding.now()

    def flush(self) -> None:
        """Write the uses noted so far to the home; a TransientError says that they wait for the next time."""
        self._usage.flush()

    def close(self) -> None:
        """Make findable what was recorded, write the noted uses; what cannot be done now waits, without an error."""
        self._folding.finish(most_seconds=CLOSE_SECONDS)
        with suppress(TransientError):
            self.flush()

    def _told(self, found: Answer, project: str | None) -> Answer:
        """The answer, asked from within a project, with the notes that belong to every answer."""
        return found.model_copy(update={"notes": [*found.notes, *self._reader.notes(project)]})

    def _note(self, cell_ids: Sequence[str], conversation_id: str, at: datetime) -> None:
        if self._records_usage and cell_ids:
            self._usage.note(cell_ids, "retrieved", context=conversation_id, at=at)
