"""`erase`: what a person names leaves the home, down to the bytes, with everything that rests on it.

`scope.py` finds what that is, `ErasePlan` says how each event changes, and the engine carries it out.
"""

import threading
from datetime import datetime

from slowwave.edits.session import edit_session
from slowwave.errors import InputError, NotFoundError
from slowwave.home.core_memory import ingest_hand_edits
from slowwave.home.kept_out import make_secret
from slowwave.home.paths import Home
from slowwave.home.workspace import Workspace
from slowwave.rewrite.engine import ERASE_CUT_OFF, REDACTION_CUT_OFF, run
from slowwave.rewrite.erase_plan import ErasePlan
from slowwave.rewrite.scope import ErasureScope, erasure_scope
from slowwave.schemas.requests import EraseRequest
from slowwave.schemas.results import Erased

SHOWN = 20
SHOWN_CHARACTERS = 120

_TURN = threading.Lock()
"""Two erasures in one program, such as a server, take turns: the second waits as long as the first one takes."""


def erase(home: Home, request: EraseRequest, *, now: datetime) -> Erased:
    """Erase what is named, or end an erase that was cut off, as `Memory.erase` says."""
    if request.resume == any([request.cell_id, request.turn_id, request.session_id, request.text]):
        raise InputError(
            "name what to erase: cell_id, turn_id, session_id or text; or resume alone, to end one that was cut off"
        )
    with _TURN, edit_session(home, now=now, is_alone=True) as work:
        if home.redact_path.exists():
            raise InputError(REDACTION_CUT_OFF)
        if home.erase_path.exists():
            if request.dry_run:
                raise InputError(ERASE_CUT_OFF)
            ended = _carry_out(work, ErasePlan.model_validate_json(home.erase_path.read_bytes()))
            if request.resume:
                return ended
        elif request.resume:
            raise NotFoundError("no erase was cut off here: there is nothing to end")
        if request.dry_run:
            return _shown(work, erasure_scope(work, request))
        ingest_hand_edits(work)  # they may say what goes
        plan = erasure_scope(work, request).plan
        make_secret(work.home)
        return _carry_out(work, plan.with_names(work.home.root))


def _carry_out(work: Workspace, plan: ErasePlan) -> Erased:
    done = run(work, plan)
    notes = list(done.notes)
    if plan.waiting_chunk_ids:
        notes.append(f"{len(plan.waiting_chunk_ids)} parts of conversations go through the extractor again")
    if plan.stranded:
        notes.append(f"what it had taken the place of is believed again: {', '.join(plan.stranded)}")
    if done.remaining:
        notes.append("the same text occurs elsewhere too: erase it with --text, or look at the places named")
    known = work.store.by_key("topics", plan.topic_ids, ["topic_id"])["topic_id"]
    return Erased(
        turn_ids=plan.turn_ids,
        cell_ids=plan.cell_ids,
        topic_ids=known.sort().to_list(),
        rewritten=done.counts,
        searched_texts=len(plan.texts),
        short_texts=plan.short_count,
        remaining=done.remaining,
        notes=notes,
    )


def _shown(work: Workspace, found: ErasureScope) -> Erased:
    """The answer of a dry run: ids, and the beginnings of the first texts that go, and of those that come back."""
    texts = [
        *(f"turn: {text}" for text in found.turns.sort("event_time", "turn_id")["content"]),
        *(f"memory: {text}" for text in found.cells.sort("event_time", "cell_id")["content"]),
    ]
    notes = [f"{len(texts) - SHOWN} more"] if len(texts) > SHOWN else []
    if not texts:
        notes.append(
            f"no turn and no memory says it, and {found.quoted_count} records quote it: it is masked there"
        )
    revived = work.store.by_key("cells", found.plan.stranded, ["cell_id", "content"]).sort("cell_id")
    return Erased(
        dry_run=True,
        turn_ids=found.plan.turn_ids,
        cell_ids=found.plan.cell_ids,
        topic_ids=sorted({*found.plan.topic_ids, *found.plan.lone_topic_ids}),
        shown=_firsts(texts),
        revived=_firsts(revived["content"].to_list()),
        notes=notes,
    )


def _firsts(texts: list[str]) -> list[str]:
    """The first words of the first texts."""
    return [" ".join(text.split())[:SHOWN_CHARACTERS] for text in texts[:SHOWN]]
