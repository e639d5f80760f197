"""`Memory`: the memory as a notebook, a program or an agent uses it (`docs/memory.md` shows every call).

No language model, no Prefect. Reading takes no lock and stays warm from question to question.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack, cast, get_args

import polars as pl
from filelock import FileLock
from pydantic import ValidationError

from slowwave.context import assemble
from slowwave.context.shown import shown_to
from slowwave.embeddings import Embedder, open_embedder
from slowwave.errors import BusyError, ConfigError, InputError, OutputError, TransientError
from slowwave.home import Home, open_home, writing
from slowwave.query import ask, open_reader
from slowwave.query.entity import describe
from slowwave.query.timeline import timeline
from slowwave.readers.files import clean_text
from slowwave.readers.remembered import REMEMBERED, cell_id_of, read_statement, said_rows
from slowwave.schemas.choices import CellType, SourceType
from slowwave.schemas.context import Activity, Context, ContextRequest
from slowwave.schemas.events import encode
from slowwave.schemas.graph import EntityResult, Timeline
from slowwave.schemas.identity import content_hash
from slowwave.schemas.search import DetailLevel, Filters, Scope, SearchResult
from slowwave.schemas.tables import OWN
from slowwave.store import Store, col, create_store, lit, owned_by
from slowwave.transforms.times import Use, time_of_filter
from slowwave.usage import Usage, cite

When = datetime | str
"""A moment, or the words for one ("2026-05-01", "last_week"); without a zone it is UTC."""

MOST_CONVERSATIONS = 1_000
"""Conversations whose citations are kept for `Memory.settle`; of more, the oldest go."""

_APPLYING = threading.Lock()
"""Held by the thread that writes the store: the writer lock keeps other processes out, and threads of this one not."""


class FilterWords(TypedDict, total=False):
    """The fields of `Filters` as keywords of `Memory.search`."""

    cell_types: Sequence[CellType]
    source_type: SourceType | None
    entity: str | None
    after: When | None
    before: When | None
    scope: Scope | None
    as_of: When | None
    known_at: When | None


@dataclass(frozen=True)
class Remembered:
    """What became of a `remember`; not searchable while someone else writes the store, who takes it in (`notes`)."""

    cell_id: str
    is_searchable: bool
    notes: tuple[str, ...] = ()


class Memory:
    """The memory of one home folder, kept warm. Threads may share it; each process opens its own.

    Whose memory is read and written is what the home's settings say (`own.user_id`, `own.project_id`,
    `own.scope`). Every memory that `search` or `context` returns is noted as retrieved, in batches, unless
    `records_usage` is False.
    """

    def __init__(self, home: Path | str | None = None, *, records_usage: bool = True) -> None:
        """Opens the home at `home`, else at `SLOWWAVE_HOME`, else `data/home`; it need not exist yet.

        Raises:
            ConfigError: its settings or its store are not usable.
        """
        self._home = open_home(home)
        self._reader = open_reader(self._home)
        self._usage = Usage(self._home)
        self._records_usage = records_usage
        self._cited: dict[str, set[str]] = {}

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
        filters: Filters | None = None,
        conversation_id: str = "",
        now: datetime | None = None,
        **words: Unpack[FilterWords],
    ) -> SearchResult:
        """Answers a question from topic summaries, memories and, at `evidence`, raw turns, best first.

        Args:
            query: A question, or words.
            limit: Summaries and memories together, 1..25; none means the setting `search.limit`.
            detail_level: `summary` (topics alone), `full`, or `evidence` (with the raw turns).
            filters: What a memory must be to be found; or its fields as keywords, such as `entity="Mara"`.
            conversation_id: Where the answer is used; noted with the use.
            now: The present moment, for ages and for words such as "last week"; without a zone it is UTC.
            **words: The fields of `Filters`; a time may be words, such as `after="last_week"`.

        Raises:
            InputError: the question is empty or too long, the limit is out of range, or a filter is not possible.
        """
        moment = _moment(now)
        chosen = _filters(filters, words, now=moment)
        found = ask(
            self._reader,
            clean_text(query),
            limit=limit,
            detail_level=detail_level,
            filters=chosen,
            now=moment,
        )
        self._note([cell.cell_id for cell in found.cells], conversation_id, moment)
        return found

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
        now: datetime | None = None,
    ) -> Context:
        """What an agent should have in mind now, as one fenced text within a hard bound of tokens.

        Args:
            question: What the user asks, or the task at hand; empty where there is none.
            activity: What is being done; it decides the tiers' shares.
            current_file: Path of the file being worked in.
            recent_errors: Texts of recent errors, oldest first.
            branch: Branch of version control.
            budget_tokens: Tokens that the text may have; none means the setting.
            conversation_id: Where it is read.
            small: The short form for every message: what is relevant and was not shown to this conversation.
            now: The present moment; without a zone it is UTC.

        Raises:
            InputError: a signal is not possible.
        """
        moment = _moment(now)
        try:
            request = ContextRequest(
                question=clean_text(question),
                activity=activity,
                current_file=current_file,
                recent_errors=tuple(recent_errors),
                branch=branch,
                budget_tokens=budget_tokens,
                conversation_id=conversation_id or None,
                small=small,
            )
        except ValidationError as error:
            raise InputError(_told(error)) from error
        found = assemble(self._reader, request, now=moment)
        shown = dict.fromkeys(cell_id for line in found.lines for cell_id in line.cell_ids)
        self._note(list(shown), conversation_id, moment)
        return found

    def entity(self, name: str) -> EntityResult:
        """Who or what a name stands for, with its values now and before; see `slowwave.query.entity.describe`."""
        return describe(self._reader, clean_text(name))

    def timeline(self, name: str = "", *, topic: str = "", session: str = "", limit: int = 100) -> Timeline:
        """Dated memories in order of one name, topic or session; see `slowwave.query.timeline.timeline`."""
        return timeline(self._reader, clean_text(name), topic=topic, session=session, limit=limit)

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
        now: datetime | None = None,
    ) -> Remembered:
        """Records the word of a person: a turn and a memory that rests on it, in one segment of the journal.

        It can be searched at once, unless someone else writes the store (`Remembered.is_searchable`). The same text
        on the same day is the same memory; on another day it becomes a confirmation. Secrets are redacted.

        Args:
            text: One or two sentences that can be understood alone, at most 4,000 characters.
            cell_type: What kind of memory it is.
            subject: The thing it is about; with `attribute` it lets a later memory retire this one.
            attribute: Its one property with a single value at a time.
            value: The value of that property.
            entities: People, projects, places and things that it names.
            salience: How much it matters, 0..1.
            now: When it was said; without a zone it is UTC.

        Raises:
            InputError: the text is empty or too long, a name is, or this memory was deleted before.
            TransientError: the journal cannot be written; nothing was recorded.
        """
        if cell_type not in get_args(CellType):
            known = ", ".join(get_args(CellType))
            raise InputError(f"there is no cell type {cell_type[:40]!r}: choose one of {known}")
        if not 0 <= salience <= 1:
            raise InputError(f"salience {salience} is not possible: choose 0 to 1")
        said = read_statement(text, subject=subject, attribute=attribute, value=value, entities=entities)
        moment, digest, store = _moment(now), content_hash(said.content), self._reader.current()
        if store is not None:
            _refuse_deleted(self._home, store, digest)
        session_id, is_known = _session(self._home, store, digest, moment)
        own = _own(self._home)
        cell_id = cell_id_of(own, session_id, digest)
        if is_known:
            return Remembered(cell_id, True, ("this was remembered today already; nothing was added",))
        decay = self._home.settings.decay
        plan = said_rows(
            said,
            own=own,
            session_id=session_id,
            moment=moment,
            cell_type=cell_type,
            salience=float(salience),
            decay_rate=decay.rates.get(cell_type, decay.default_rate),
        )
        events = pl.concat([encode(kind, rows) for kind, rows in plan.items()])
        self._home.journal.commit(events, now=moment)
        notes = [f"{count} {kind} redacted" for kind, count in sorted(said.redacted.items())]
        is_searchable, waits = self._apply()
        return Remembered(cell_id, is_searchable, (*notes, *([waits] if waits else [])))

    def cite(self, cell_ids: Sequence[str], context: str = "", *, now: datetime | None = None) -> list[str]:
        """Records at once that memories were used; returns their whole ids.

        `cell_ids` may be cut to six characters or more. `context` says where, such as the conversation's id.

        Raises:
            InputError: an id is unknown or stands for several memories; nothing was recorded.
            NotFoundError: there is no store yet.
            TransientError: the journal cannot be written.
        """
        store = self._reader.current()
        found = cite(self._home, cell_ids, context=context, now=_moment(now), store=store)
        self._cited.setdefault(context, set()).update(found)
        if len(self._cited) > MOST_CONVERSATIONS:
            self._cited.pop(next(iter(self._cited)))
        return found

    def ignore(self, cell_ids: Sequence[str], context: str = "", *, now: datetime | None = None) -> None:
        """Notes that memories were shown and did not help: once a `context`, counted with the next night."""
        self._usage.note(cell_ids, "ignored", context=context, at=_moment(now))

    def settle(
        self, conversation_id: str, *, cited: Iterable[str] = (), now: datetime | None = None
    ) -> list[str]:
        """At the end of a conversation: what `context` showed it and nobody cited is noted as ignored.

        What this `Memory` cited in it is known; `cited` adds what others did. Returns the ids; again, it adds nothing.
        """
        moment, store = _moment(now), self._reader.current()
        kept = shown_to(self._home, conversation_id, now=moment) if store is not None else {}
        shown = store.by_key("cells", kept, ["cell_id"])["cell_id"].to_list() if store is not None else []
        known = {*cited, *self._cited.get(conversation_id, ())}
        return self._usage.settle(conversation_id, shown=shown, cited=known, at=moment)

    def flush(self) -> None:
        """Writes the uses noted so far to the home; a TransientError says that they wait for the next time."""
        self._usage.flush()

    def close(self) -> None:
        """Writes what is noted, as `flush`; a closed memory may be used again."""
        self.flush()

    def _note(self, cell_ids: Sequence[str], conversation_id: str, at: datetime) -> None:
        if self._records_usage and cell_ids:
            self._usage.note(cell_ids, "retrieved", context=conversation_id, at=at)

    def _apply(self) -> tuple[bool, str]:
        """Takes what is committed into the store, with vectors; returns whether it is there, else what to say."""
        from slowwave.workspace import apply_pending, store_identity  # noqa: PLC0415 - imports the model's client

        try:
            with _APPLYING:
                if _is_held_here(self._home):
                    return False, _WAITS.format("a run in this program")
                with writing(self._home):
                    if self._reader.current() is None:
                        embedder, _ = open_embedder(
                            self._home.settings.embedding, self._home.calibration_path
                        )
                        create_store(self._home.store_root, **store_identity(embedder))
                    store = self._reader.current()
                    assert store is not None  # made above, under the lock
                    apply_pending(self._home.journal, store)
                    return True, _embed(store, self._reader.embedder)
        except BusyError:
            return False, _WAITS.format("another process")
        except (TransientError, ConfigError) as error:
            return False, f"recorded; the next writer makes it searchable: {error}"


_WAITS = "recorded; {} writes the store just now, and the next writer takes this memory in"


def _embed(store: Store, embedder: Embedder | None) -> str:
    """Computes missing vectors; a sentence where they have to wait."""
    from slowwave.workspace import refresh_vectors  # noqa: PLC0415 - as above

    try:
        refresh_vectors(store, embedder)
    except (TransientError, OutputError) as error:
        return f"found by its words alone until a vector is there: {error}"
    return ""


def _is_held_here(home: Home) -> bool:
    """Whether this process holds the writer lock: then another thread of it, or the caller, is at work."""
    lock = FileLock(home.root / "writer.lock", timeout=0, is_singleton=True, thread_local=False)
    return bool(lock.is_locked)


def _moment(now: datetime | None) -> datetime:
    if now is None:
        return datetime.now(UTC)
    return now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)


def _filters(filters: Filters | None, words: FilterWords, *, now: datetime) -> Filters:
    """The filters given, whole or by keywords; times without a zone are UTC.

    Raises:
        InputError: both were given, or a keyword or its value is not possible.
    """
    if filters is not None and words:
        raise InputError(f"give filters or the keywords {', '.join(sorted(words))}, not both")
    given: dict[str, Any] = dict(words) if filters is None else dict(filters)
    for name in ("after", "before", "as_of", "known_at"):
        if isinstance(given.get(name), str):
            use = cast("Use", "as_of" if name == "known_at" else name)
            given[name] = time_of_filter(given[name], use=use, now=now)
        elif isinstance(given.get(name), datetime):
            given[name] = _moment(given[name])
    try:
        return Filters.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise InputError(f"filter: {_told(error)}") from error


def _told(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False)[0]
    return f"{first['loc'][0]} is not possible: {first['msg']}"


def _refuse_deleted(home: Home, store: Store, digest: str) -> None:
    own = home.settings.own
    mine = owned_by(own.user_id, own.project_id) & (col("scope") == lit(own.scope))
    if store.rows("tombstones", ["cell_id"], mine & (col("content_hash") == lit(digest))).height:
        raise InputError("this memory was deleted, and what is deleted stays so: say it in other words")


def _session(home: Home, store: Store | None, digest: str, moment: datetime) -> tuple[str, bool]:
    """The session of a text said now, and whether it is remembered there already.

    What is said on one day is one session; what is said again after it was retired that day has its own.
    """
    day = f"{REMEMBERED}-{moment:%Y-%m-%d}"
    if store is None:
        return day, False
    known = store.by_key("cells", [cell_id_of(_own(home), day, digest)], ["cell_id", "status"])
    if known.is_empty():
        return day, False
    if known["status"][0] == "active":
        return day, True
    return f"{REMEMBERED}-{moment:%Y-%m-%dT%H:%M:%S.%f}", False


def _own(home: Home) -> dict[str, str]:
    return {name: str(getattr(home.settings.own, name)) for name in OWN}
