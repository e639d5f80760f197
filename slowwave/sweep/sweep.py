"""`run redact`: finds the secrets that older rules let in, and takes them out of the home, as `erase` takes out a text.

    find       what the rules of today find in the journal, the answer cache and the logs
    plan       which events lose what, and which ids were made from it; kept in `redact.json` until the end
    commit     an event for each that changes; then every segment of the journal, each whole or not at all
    renew      a new generation of the store from that journal, with new vectors for new texts; older ones go
    clean      answer cache, notes of what was shown, core memory, logs, Prefect's record of runs
    prove      no byte of the home holds one of the secrets; what holds one still is named

A kill between any two leaves a home that works, and `redact.json`; the next `run redact` ends it.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ulid import ULID

from slowwave.erase.byte_scan import files_with, rows_with
from slowwave.erase.leftovers import clean, take_spool
from slowwave.erase.new_generation import new_generation
from slowwave.errors import InputError, TransientError
from slowwave.home.derivation import drop_derivation
from slowwave.home.stage import Stage
from slowwave.home.swept import keep_swept
from slowwave.home.workspace import open_workspace
from slowwave.ingest.redact.table import rules_id
from slowwave.journal.catalogue import encode, rows_of
from slowwave.journal.lookup import journaled
from slowwave.schemas.moments import DAY_UNKNOWN, UNKNOWN
from slowwave.schemas.report import several
from slowwave.sweep.look import CACHE, DERIVATION, JOURNAL, LOGS, TORN, Evidence, logs_of, look_through
from slowwave.sweep.masking import Masker, cleaned, tells_itself
from slowwave.sweep.plan import Found, SweepPlan, Taken
from slowwave.sweep.rewriting import REDACTED, Payload, Rewriting, read_line, with_payload
from slowwave.whole_file import remove_drafts, write_whole

STORE, BESIDE = "store", "other files"

UNITS = {
    JOURNAL: "event", STORE: "row", CACHE: "text", LOGS: "text", DERIVATION: "text", TORN: "text", BESIDE: "file",
}  # fmt: skip
"""Places of the home, with what is counted there."""

DAYS_SHOWN = 8


@contextmanager
def open_sweep(home: str, *, dry_run: bool) -> Iterator[Stage]:
    """The home under the writer lock, with everything applied, as a stage that asks no model.

    Raises:
        InputError: an erase was cut off; or a sweep was, and this is a dry run.
    """
    started = time.monotonic()
    with open_workspace(home, is_alone=True) as work:
        if work.home.erase_path.exists():
            raise InputError("an erase was cut off here: `slowwave erase --resume` ends it first")
        if dry_run and work.home.redact_path.exists():
            raise InputError("a redaction was cut off here: `slowwave run redact` ends it first")
        run = Stage("redact", work, dry_run=dry_run)
        yield run
        run.report.seconds = round(time.monotonic() - started, 3)


def end_cut_off(run: Stage) -> None:
    """Ends a sweep that was cut off, from its own plan."""
    path = run.workspace.home.redact_path
    if path.exists():
        run.note("a redaction was cut off here; it is ended now")
        carry_out(run, SweepPlan.model_validate_json(path.read_bytes()))


def find_secrets(run: Stage) -> Evidence:
    """Everything that the rules find in the home."""
    evidence = look_through(run.workspace.home)
    run.report.rows_in = evidence.event_count
    return evidence


def plan_sweep(run: Stage, evidence: Evidence) -> SweepPlan:
    """Works out what changes in the journal and what is searched for afterwards; nothing is written."""
    work, edits = run.workspace, run.settings.edits
    known = {
        secret: kind
        for secret, kind in evidence.secrets.items()
        if tells_itself(secret, shortest=edits.secret_shortest, proof_shortest=edits.proof_shortest)
    }
    weak = {
        secret: kind
        for secret, kind in evidence.secrets.items()
        if secret not in known and len(secret) >= edits.erase_shortest
    }
    outside = dict(evidence.renamed)
    rewriting = Rewriting(
        Masker(known),
        Masker(weak, is_whole=True),
        outside=frozenset(outside),
        renamed=outside,
        known_ids=evidence.ids,
    )
    journal = _Journal(run, evidence, rewriting)
    segment_ids = work.home.journal.segment_ids() if evidence.secrets else []
    for segment_id in segment_ids:
        journal.look(segment_id)
    places = Counter(evidence.places)
    if journal.events:
        places[JOURNAL] = journal.events
    if known:
        places += _elsewhere(run, known)
    return SweepPlan(
        redaction_id=str(ULID()),
        rules_id=rules_id(),
        secrets=known,
        weak=weak,
        touched=sorted(rewriting.touched),
        segments=journal.segments,
        last_segment=segment_ids[-1] if segment_ids else "",
        renamed=rewriting.renamed,
        hashes=rewriting.hashes,
        cuts=rewriting.cuts,
        taken=journal.taken,
        torn=[str(path) for path in evidence.torn],
        found=Found(kinds=dict(journal.kinds), places=dict(places), days=dict(journal.days)),
    )


class _Journal:
    """The journal's events, looked at in their order: which change, and what they lose."""

    def __init__(self, run: Stage, evidence: Evidence, rewriting: Rewriting) -> None:
        self._journal = run.workspace.home.journal
        self._evidence, self._rewriting = evidence, rewriting
        self.segments: list[str] = []
        self.taken: list[Taken] = []
        self.kinds: Counter[str] = Counter()
        self.days: Counter[str] = Counter()
        self.events = 0

    def look(self, segment_id: str) -> None:
        """Learns what changes in one segment."""
        is_changed = False
        events = [read_line(line) for line in self._journal.lines(segment_id) or ()]
        self._rewriting.begin_segment()
        hits = self._rewriting.covers(events) | self._evidence.lines.get(segment_id, set())
        for place, (event_id, kind, payload) in enumerate(events):
            safe, found = self._rewriting.learn(kind, payload, is_clean=place not in hits)
            is_changed |= safe != payload
            if found:
                self.events += 1
                self._note(event_id, safe, found)
        if is_changed:
            self.segments.append(segment_id)

    def _note(self, event_id: str, payload: Payload, found: Counter[str]) -> None:
        self.kinds.update(found)
        day = str(payload.get("event_time") or ULID.from_str(event_id.partition(".")[0]).datetime)[:10]
        day = DAY_UNKNOWN if day == str(UNKNOWN.date()) else day
        self.days[f"{payload.get('source_name') or 'derived texts'}, {day}"] += sum(found.values())
        self.taken += [
            Taken(event_id=event_id, secret_kind=kind, secret_count=count)
            for kind, count in sorted(found.items())
        ]


def _elsewhere(run: Stage, secrets: dict[str, str]) -> Counter[str]:
    """Rows of the store, and files beside journal, store and logs, in which a known secret stands."""
    home = run.workspace.home
    looked_at = [home.journal.root, home.store_root, *logs_of(home)]
    rows = sum(rows_with(run.store, list(secrets)).values())
    return +Counter({STORE: rows, BESIDE: len(files_with(home.root, list(secrets), without=looked_at))})


def carry_out(run: Stage, plan: SweepPlan) -> None:
    """Says what was found, and carries the plan out, from the start or from where a kill left it; not in a dry run."""
    home = run.workspace.home
    _tell(run, plan)
    if run.report.dry_run:
        return
    if not plan.is_empty:
        if drop_derivation(home):
            run.note("the derivation beside the memory is dropped: `slowwave rederive` makes it again")
        write_whole(home.redact_path, plan.model_dump_json(), mode=0o600)  # for this user alone
        take_spool(run.workspace, ())
        _commit(run, plan)
        if _rewrite(run, plan):
            with new_generation(run.workspace):
                pass  # the journal says everything
            run.store = run.workspace.store
        is_whole = _clean(run, plan)
        remove_drafts(home.redact_path)
        _prove(run, plan)
        if not is_whole:
            return  # the plan stays: without it nobody knows what to look for
        home.redact_path.unlink(missing_ok=True)
    keep_swept(home, plan.rules_id, now=run.now)


def _commit(run: Stage, plan: SweepPlan) -> None:
    """Names the events that change; once, however often the sweep is cut off."""
    journal = run.workspace.home.journal
    shared = {"redaction_id": plan.redaction_id, "rules_id": plan.rules_id}
    rows = [{**row.model_dump(), **shared} for row in plan.taken]
    if rows and journaled(journal, [plan.redaction_id], REDACTED).is_empty():
        journal.commit(encode(REDACTED, rows_of(REDACTED, rows)), now=run.now)


def _rewrite(run: Stage, plan: SweepPlan) -> bool:
    """Rewrites the segments that change, oldest first, and removes torn files; returns whether the store follows."""
    journal = run.workspace.home.journal
    maskers = Masker(plan.secrets), Masker(plan.weak, is_whole=True)
    rewriting = Rewriting(
        *maskers, touched=set(plan.touched), renamed=plan.renamed, hashes=plan.hashes, cuts=plan.cuts
    )
    planned, losing = set(plan.segments), {row.event_id for row in plan.taken}
    for segment_id in journal.segment_ids():
        if segment_id not in planned and segment_id <= plan.last_segment:
            continue
        lines = journal.lines(segment_id) or []
        events = [read_line(line) for line in lines]
        rewriting.begin_segment()
        hits = rewriting.covers(events)
        after = []
        for place, (line, (event_id, kind, payload)) in enumerate(zip(lines, events, strict=True)):
            is_clean = segment_id in planned and event_id not in losing and place not in hits
            safe, _ = rewriting.after(kind, payload, is_clean=is_clean)
            after.append(line if safe == payload else with_payload(line, safe))
        if after != lines:
            journal.rewrite(segment_id, after)
    for name in plan.torn:
        Path(name).unlink(missing_ok=True)
    return bool(plan.segments) or STORE in plan.found.places


def _clean(run: Stage, plan: SweepPlan) -> bool:
    """Takes the secrets out of all that lies beside journal and store; False where something is left for later."""
    home, secrets = run.workspace.home, list(plan.secrets)
    masker = Masker(plan.secrets)
    for path in logs_of(home):
        _clean_log(path, masker)
    if home.cache_path.exists():
        run.note("the answer cache is empty now: what is asked again costs again")
    try:
        clean(run.workspace, [*plan.renamed], secrets)
    except TransientError as error:
        run.note(f"left: {error}; the next `slowwave run redact` ends this one")
        return False
    return True


def _clean_log(path: Path, masker: Masker) -> None:
    """Takes secrets out of a log, in place: the server that writes it holds the file open."""
    with path.open("r+b") as file:
        lines = file.read().decode("utf-8", "surrogateescape").split("\n")
        safe = [cleaned(line, masker)[0] for line in lines]
        if safe != lines:
            file.seek(0)
            file.write("\n".join(safe).encode("utf-8", "surrogateescape"))
            file.truncate()


def _prove(run: Stage, plan: SweepPlan) -> None:
    """Searches every byte of the home and every row of the store for the secrets, and names what holds one."""
    home, secrets = run.workspace.home, list(plan.secrets)
    left = files_with(home.root, secrets, without=[home.redact_path]) | rows_with(run.store, secrets)
    run.reject("place that still holds a secret", len(left))
    for place in left:
        run.note(f"left, to be mended by hand: {place if place.startswith('table ') else home.root / place}")
    searched = f"{several(len(secrets), 'secret')} searched for in every byte of the home"
    run.note(searched if left else f"{searched}: none is left")
    run.note("the files that were taken in still hold their secrets, and so may backups: change what leaked")


def _tell(run: Stage, plan: SweepPlan) -> None:
    """Says what was found: by kind, by place, by source and day; never a secret."""
    if plan.is_empty:
        if not run.report.counts:
            run.skip("the rules of today find no secret in this home")
        return
    for kind, count in sorted(plan.found.kinds.items()):
        run.report.counts[f"secrets of kind {kind}"] = count
    places = (
        f"{place}: {several(plan.found.places[place], UNITS[place])}"
        for place in UNITS
        if place in plan.found.places
    )
    run.note(f"found in {'; '.join(places)}")
    if plan.weak:
        run.note(
            f"{several(len(plan.weak), 'plain or short word')} among them: taken out where the surroundings show it "
            "and of what was made from there, and not searched for elsewhere"
        )
    days = sorted(plan.found.days.items())
    run.report.examples += [f"{place}: {count}" for place, count in days[:DAYS_SHOWN]]
    if len(days) > DAYS_SHOWN:
        run.note(f"{len(days) - DAYS_SHOWN} more sources and days")
