"""`erase`: a text leaves the home, down to the bytes, and a search over all of them proves it.

    plan       what rests on the text: turns, memories, summaries; kept in `erase.json` until the end
    drop       a derivation beside the memory: it was made from what goes
    commit     events that name what went, by ids and hashes alone
    rewrite    each segment of the journal that speaks of it, one after the other, each whole or not at all
    rebuild    a new generation of the store from that journal; every older one goes
    clean      answer cache, spools, core memory, what conversations were shown, Prefect's record of runs
    prove      no byte of the home holds the text

A kill between any two leaves a home that works, and `erase.json`; the next `erase` ends it. Doing a part twice changes
nothing.
"""

import json
from datetime import datetime

import polars as pl

from slowwave.edits.session import edit_session
from slowwave.erase.byte_scan import files_with, rows_with
from slowwave.erase.leftovers import clean, take_spool
from slowwave.erase.new_generation import regenerate
from slowwave.erase.payloads import Erasure, payload_after
from slowwave.erase.plan import ErasurePlan
from slowwave.erase.scope import ErasureScope, erasure_scope
from slowwave.errors import InputError, NotFoundError
from slowwave.home.derivation import drop_derivation
from slowwave.home.hand_edits import ingest_hand_edits
from slowwave.home.paths import Home
from slowwave.home.workspace import Workspace
from slowwave.journal.catalogue import encode_plan
from slowwave.journal.derivations import is_replaced, last_switch
from slowwave.schemas.identity import content_hash
from slowwave.schemas.requests import EraseRequest
from slowwave.schemas.results import Erased
from slowwave.whole_file import remove_drafts, write_whole

SHOWN = 20
SHOWN_CHARACTERS = 120


def erase(home: Home, request: EraseRequest, *, now: datetime) -> Erased:
    """Erase what is named, or end an erase that was cut off, as `Memory.erase` says."""
    path, names = home.erase_path, [request.cell_id, request.turn_id, request.session_id, request.text]
    if request.resume == any(names):
        raise InputError(
            "name what to erase: cell_id, turn_id, session_id or text; or resume alone, to end one that was cut off"
        )
    if home.redact_path.exists():
        raise InputError("a redaction was cut off here: `slowwave run redact` ends it first")
    if path.exists():
        if request.dry_run:
            raise InputError("an erase was cut off here: `slowwave erase --resume` ends it first")
        with edit_session(home, now=now, is_alone=True) as work:
            ended = _carry_out(work, ErasurePlan.model_validate_json(path.read_bytes()))
        if request.resume:
            return ended
    if request.resume:
        raise NotFoundError("no erase was cut off here: there is nothing to end")
    with edit_session(home, now=now, is_alone=True) as work:
        if not request.dry_run:
            ingest_hand_edits(work)  # they may say what goes
        found = erasure_scope(work, request)
        if request.dry_run:
            return _shown(found, work.store.by_key("cells", found.plan.stranded, ["cell_id", "content"]))
        is_dropped = drop_derivation(home)  # first: while a run works on it, nothing is erased
        write_whole(path, found.plan.model_dump_json(), mode=0o600)  # for this user alone
        return _carry_out(work, found.plan, is_dropped=is_dropped)


def _carry_out(work: Workspace, plan: ErasurePlan, *, is_dropped: bool = False) -> Erased:
    """Carry out a plan, from the start or from where a kill left it."""
    home, path = work.home, work.home.erase_path
    erasure = plan.erasure()
    is_dropped |= drop_derivation(home)
    take_spool(work, erasure.cell_ids | erasure.episode_ids)
    _commit(work, plan)
    rewritten = _rewrite(home, erasure)
    topics = regenerate(work, plan)
    shown = sorted({*erasure.cell_ids, *erasure.episode_ids})
    rewritten |= clean(work, shown, plan.texts)
    remove_drafts(path)
    remaining = files_with(home.root, plan.texts, without=[path]) | rows_with(work.store, plan.texts)
    path.unlink(missing_ok=True)
    notes = []
    if is_dropped:
        notes.append(
            "the derivation beside the memory is dropped: `slowwave rederive` makes it again without this"
        )
    if plan.waiting_chunk_ids:
        notes.append(f"{len(plan.waiting_chunk_ids)} parts of conversations go through the extractor again")
    if plan.stranded:
        notes.append(f"what it had taken the place of is believed again: {', '.join(plan.stranded)}")
    if rewritten["answers"]:
        notes.append("the answer cache is empty now: what is asked again costs again")
    if remaining:
        notes.append("the same text occurs elsewhere too: erase it with --text, or look at the places named")
    return Erased(
        turn_ids=sorted(erasure.turn_ids),
        cell_ids=sorted(erasure.cell_ids),
        topic_ids=topics,
        rewritten={name: count for name, count in rewritten.items() if count},
        searched_texts=len(plan.texts),
        short_texts=plan.short_count,
        remaining=remaining,
        notes=notes,
    )


def _commit(work: Workspace, plan: ErasurePlan) -> None:
    """Names what goes: a tombstone for each memory, an erasure for each turn; what is named already is left out."""
    turn_ids, cell_ids = (
        [row[key] for row in rows] for key, rows in (("turn_id", plan.turns), ("cell_id", plan.cells))
    )
    known = {*work.store.by_key("erasures", turn_ids, ["turn_id"])["turn_id"]}
    dead = work.store.by_key("tombstones", cell_ids, ["cell_id", "content", "note"])
    known |= {*dead.filter(pl.col("content").is_null() & pl.col("note").is_null())["cell_id"]}
    named = {
        kind: pl.DataFrame(new)
        for kind, key, rows in (
            ("turn.erased", "turn_id", plan.turns),
            ("cell.erased", "cell_id", plan.cells),
        )
        if (new := [row for row in rows if row[key] not in known])
    }
    if named:
        # not applied here: the new generation of the store takes it in
        work.home.journal.commit(encode_plan(named), now=work.clock())


def _rewrite(home: Home, erasure: Erasure) -> dict[str, int]:
    """Rewrites the segments that speak of what goes, oldest first; torn files that hold a text of it go whole.

    What another derivation took the place of goes whole: nobody can say any more what of it told of the text.
    """
    segments = events = torn = 0
    segment_ids = home.journal.segment_ids()
    switch = last_switch(home.journal, segment_ids)
    for segment_id in segment_ids:
        lines = home.journal.lines(segment_id)
        if lines is None:
            continue
        is_former = segment_id < switch
        after = [None if is_former and is_replaced(line) else _line_after(line, erasure) for line in lines]
        changed = sum(new != old for new, old in zip(after, lines, strict=True))
        if changed:
            home.journal.rewrite(segment_id, [line for line in after if line is not None])
            segments += 1
            events += changed
    for problem in home.journal.scan().problems:
        if problem.path.name in files_with(problem.path.parent, erasure.texts):
            problem.path.unlink(missing_ok=True)
            torn += 1
    return {"journal segments": segments, "journal events": events, "torn files": torn}


def _line_after(line: str, erasure: Erasure) -> str | None:
    """An event's line after the erasure: byte for byte the same where nothing in it changes, None where it goes."""
    event = json.loads(line)
    payload = event["payload"]
    after = payload_after(event["kind"], payload, erasure)
    if after is None or after == payload:
        return None if after is None else line
    if "content_hash" in payload and after.get("content") != payload.get("content"):
        after["content_hash"] = content_hash(str(after["content"]))
    head, _, _ = line.partition('"payload": ')
    return f'{head}"payload": {json.dumps(after, ensure_ascii=False, separators=(",", ":"))}}}'


def _shown(found: ErasureScope, revived: pl.DataFrame) -> Erased:
    """The answer of a dry run: ids, and the beginnings of the first texts; `revived` held before what goes."""
    texts = [
        *(f"turn: {text}" for text in found.turns.sort("event_time", "turn_id")["content"]),
        *(f"memory: {text}" for text in found.cells.sort("event_time", "cell_id")["content"]),
    ]
    notes = [f"{len(texts) - SHOWN} more"] if len(texts) > SHOWN else []
    if not texts:
        notes.append(
            f"no turn and no memory says it, and {found.quoted_count} records quote it: it is masked there"
        )
    return Erased(
        dry_run=True,
        turn_ids=found.turns["turn_id"].sort().to_list(),
        cell_ids=found.cells["cell_id"].sort().to_list(),
        topic_ids=sorted({*found.plan.topic_ids, *found.plan.lone_topic_ids}),
        shown=_firsts(texts),
        revived=_firsts(revived.sort("cell_id")["content"].to_list()),
        notes=notes,
    )


def _firsts(texts: list[str]) -> list[str]:
    """The first words of the first texts."""
    return [" ".join(text.split())[:SHOWN_CHARACTERS] for text in texts[:SHOWN]]
