"""Status of a home: what is pending, the last night, sizes."""

from datetime import datetime
from functools import reduce
from operator import or_
from pathlib import Path

from slowwave.errors import NotFoundError
from slowwave.home.paths import Home
from slowwave.journal.segments import Journal
from slowwave.schemas.results import Night, Pending, Status
from slowwave.schemas.tables import TABLES, VECTOR_TEXT
from slowwave.store import EMBEDDER_OF, Expr, Store, col, lit, open_store
from slowwave.store.forgetting import forgetting_of


def read_status(home: Home, *, now: datetime) -> Status:
    """The state of a home, read without a lock.

    Raises:
        ConfigError: the store is damaged or of another version.
    """
    journal = home.journal
    sizes = {
        "journal_bytes": size_of(journal.root),
        "store_bytes": size_of(home.store_root),
        "cache_bytes": size_of(home.cache_path.parent),
    }
    segments = set(journal.segment_ids())
    try:
        store = open_store(home.store_root)
    except NotFoundError:
        return Status(home=home.root, has_memory=False, pending=Pending(segments=len(segments)), **sizes)
    applied = store.applied_segments()
    unreadable = _unreadable(journal, segments - applied)
    return Status(
        home=home.root,
        has_memory=True,
        embedder_id=store.meta.embedder_id,
        pending=_pending(store, segments - applied - unreadable),
        lost_segments=len(unreadable | (applied - segments)),
        last_night=_last_night(store),
        forgetting=forgetting_of(store, now=now),
        rows={name: store.count(name) for name in TABLES},
        **sizes,
    )


def size_of(path: Path) -> int:
    """Bytes of a file or of everything in a folder; 0 where there is nothing."""
    files = [path] if path.is_file() else path.rglob("*")
    total = 0
    for file in files:
        try:
            total += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:  # a running night tidied it away
            continue
    return total


def _unreadable(journal: Journal, segment_ids: set[str]) -> set[str]:
    """Segments that are torn: no run will ever apply them, `doctor` names them."""
    return {problem.path.stem for problem in journal.read(sorted(segment_ids)).problems}


def _pending(store: Store, segments: set[str]) -> Pending:
    chunks = store.rows("chunks", ["status"]).group_by("status").len().sort("status")
    active = col("status") == lit("active")
    unembedded = col(EMBEDDER_OF["vector"]) == lit("")
    has_embedder = bool(store.meta.embedder_id)
    return Pending(
        chunks=dict(zip(chunks["status"], chunks["len"], strict=True)),
        segments=len(segments),
        unjudged_cells=store.count("cells", active & (col("is_judged") == lit(False))),
        unjudged_pairs=store.count("judgements", col("verdict") == lit("unjudged")),
        cells_to_review=store.count("cells", active & (col("needs_review") == lit(value=True))),
        judgements_in_quarantine=store.count("judging", col("status") == lit("quarantined")),
        cells_without_topic=store.count("cells", active & col("topic_id").is_null()),
        # what was deleted in another home came without its text: there is nothing to embed
        texts_without_vector=sum(store.count(name, unembedded & _has_text(name)) for name in VECTOR_TEXT)
        if has_embedder
        else 0,
        open_contradictions=store.count("contradictions", col("status") == lit("open")),
        usage_not_folded=store.count("usage", col("folded_at").is_null()),
    )


def _has_text(table: str) -> Expr:
    return reduce(or_, (col(name).is_not_null() for name in VECTOR_TEXT[table]))


def _last_night(store: Store) -> Night | None:
    last = store.rows("nights", where=col("outcome") != lit("learned")).sort("finished_at").tail(1)
    return Night(**last.select(*Night.model_fields).row(0, named=True)) if last.height else None
