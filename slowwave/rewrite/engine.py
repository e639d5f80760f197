"""Rewrite a home by a plan, whose file lies in it until the scan at the end is done.

    commit     events that name what changes, by digests, ids and counts alone
    rewrite    each segment of the journal, one after the other, each whole or not at all
    renew      a new generation of the store from that journal; every older one goes
    clean      answer cache, core memory, what conversations were shown, logs, drafts
    prove      search every byte of the home and every row of the store

A derivation beside the memory is dropped first: it was made from what changes. A kill between any two leaves a home
that works, and the plan's file; running the plan again ends it. Doing a part twice changes nothing. What a planner
decides is in `erase.py` and `redact.py`; nothing here knows why an event changes.
"""

import shutil
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from slowwave.home.derivation import drop_derivation
from slowwave.home.paths import Home
from slowwave.home.vectors import take_over_vectors
from slowwave.home.workspace import Workspace
from slowwave.journal.catalogue import encode_plan, rows_of
from slowwave.journal.derivations import is_replaced, last_switch
from slowwave.journal.lookup import mentioning
from slowwave.journal.segments import Journal
from slowwave.progress import progress
from slowwave.recording.folding import embed
from slowwave.rewrite.byte_scan import files_with, rows_with
from slowwave.rewrite.leftovers import clean
from slowwave.rewrite.transform import Event, Payload, line_after, read_line
from slowwave.store import create_beside, filling, remove_damaged
from slowwave.whole_file import remove_drafts, write_whole

DATABASE = "prefect/prefect.db"

ERASE_CUT_OFF = "an erase was cut off here: `slowwave erase --resume` ends it first"
REDACTION_CUT_OFF = "a redaction was cut off here: `slowwave run redact` ends it first"


class Plan(BaseModel):
    """The changes of a rewrite: the base of every planner's plan.

    `names` are the payloads by which the journal says what changes, by kind; `mark` is a text that one of them holds.
    `texts` are searched for afterwards. `torn` are files in the journal that are no segments and hold a text: they are
    removed.
    """

    mark: str = ""
    names: Mapping[str, Sequence[dict[str, Any]]] = Field(default_factory=dict)
    texts: Sequence[str] = ()
    torn: Sequence[str] = ()

    @staticmethod
    @abstractmethod
    def path_in(home: Home) -> Path:
        """The file that holds the plan while it is carried out."""

    @abstractmethod
    def masked(self, line: str) -> str:
        """A line of a log without what goes."""

    @abstractmethod
    def after(self, events: Sequence[Event]) -> Sequence[Payload | None]:
        """The payloads of the events of one segment afterwards, in their order; null where an event goes."""

    def repair(self, work: Workspace) -> None:
        """Set right in the new generation what the rewritten events leave behind."""


@dataclass(frozen=True)
class Rewritten:
    """Counts of a rewrite by place, and the places that still hold a text, with how many texts."""

    counts: dict[str, int]
    remaining: dict[str, int]
    dropped_derivation: bool

    @property
    def notes(self) -> list[str]:
        """Sentences on what it took along, and what is left to do."""
        notes = []
        if self.dropped_derivation:
            notes.append(
                "the derivation beside the memory is dropped: `slowwave run rederive` makes it again without this"
            )
        if self.counts.get("answers"):
            notes.append("the answer cache is empty now: what is asked again costs again")
        if any(place.startswith(DATABASE) for place in self.remaining):
            notes.append(f"{DATABASE} is Prefect's own record of runs: stop `slowwave ui` and remove it")
        return notes


def run(work: Workspace, plan: Plan) -> Rewritten:
    """Carry out a plan, from the start or from where a kill left it; `work.store` is a new generation afterwards.

    Raises:
        BusyError: a run works on the derivation beside the memory; nothing was changed.
    """
    home, path = work.home, plan.path_in(work.home)
    is_dropped = drop_derivation(home)
    write_whole(path, plan.model_dump_json(), mode=0o600)  # it holds the texts: for this user alone
    commit_names(work, plan)
    counts = rewrite_journal(home.journal, plan)
    renew(work, plan)
    counts |= clean(work, plan.texts, plan.masked)
    remove_drafts(path)
    remaining = prove(work, plan)
    path.unlink(missing_ok=True)
    return Rewritten({place: count for place, count in counts.items() if count}, remaining, is_dropped)


def commit_names(work: Workspace, plan: Plan) -> None:
    """Commit the events that name what changes, once, however often the rewrite is cut off."""
    named = {kind: rows_of(kind, rows) for kind, rows in plan.names.items() if rows}
    if named and not mentioning(work.home.journal, [plan.mark])["kind"].is_in(list(named)).any():
        # not applied here: the new generation of the store takes it in
        work.home.journal.commit(encode_plan(named), now=work.clock())


def rewrite_journal(journal: Journal, plan: Plan) -> dict[str, int]:
    """Rewrite the segments that change, oldest first, and remove the torn files; returns how many of each.

    What another derivation took the place of goes whole: nobody can say any more what of it told of the text.
    """
    counts = Counter[str]()
    segment_ids = journal.segment_ids()
    switch = last_switch(journal, segment_ids)
    for number, segment_id in enumerate(segment_ids, start=1):
        lines = journal.lines(segment_id) or []
        after = [
            None if segment_id < switch and is_replaced(line) else changed
            for line, changed in zip(lines, lines_after(lines, plan), strict=True)
        ]
        if changed_count := sum(new != old for new, old in zip(after, lines, strict=True)):
            journal.rewrite(segment_id, [line for line in after if line is not None])
            counts += {"journal segments": 1, "journal events": changed_count}
        progress("rewrite the journal", number, len(segment_ids))
    for name in plan.torn:
        Path(name).unlink(missing_ok=True)
    return {**counts, "torn files": len(plan.torn)}


def lines_after(lines: Sequence[str], plan: Plan) -> list[str | None]:
    """The event lines of a segment after the rewrite; None where an event goes."""
    events = [read_line(line) for line in lines]
    return [
        line_after(line, event.payload, payload)
        for line, event, payload in zip(lines, events, plan.after(events), strict=True)
    ]


def renew(work: Workspace, plan: Plan) -> None:
    """Make the store anew from the journal, with the plan's repairs and the vectors of texts that stayed.

    Readers are switched to it at the end, and every other generation goes. Cut off, the living generation stays.
    """
    living = work.store
    with filling(create_beside(living)) as fresh:
        renewed = replace(work, store=fresh)
        renewed.apply_all()
        take_over_vectors(living, fresh)
        plan.repair(renewed)
        embed(renewed)
        fresh.make_current()
    for folder in fresh.root.glob("g-*"):
        if folder.name != fresh.name:
            shutil.rmtree(folder, ignore_errors=True)
    remove_damaged(fresh.root)
    work.store, work.last_segment = fresh, renewed.last_segment


def prove(work: Workspace, plan: Plan) -> dict[str, int]:
    """Search the whole home for the texts; returns the places that hold one, with how many texts or rows."""
    home = work.home
    return files_with(home.root, plan.texts, without=[plan.path_in(home)]) | rows_with(work.store, plan.texts)
