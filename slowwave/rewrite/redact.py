"""`run redact`: finds the secrets that older rules let in, and plans how they leave the home; the engine does it.

What the rules find by its surroundings is also masked where a derived text quotes it without them. A secret that is a
plain word or very short is masked in what was made from its own text alone: masked everywhere, it would take innocent
text. The home is read a segment and a line at a time, so that memory is bounded by the longest of them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ulid import ULID

from slowwave.errors import InputError
from slowwave.home.paths import Home
from slowwave.home.swept import keep_swept
from slowwave.home.workspace import Workspace, open_workspace
from slowwave.ingest.redact import redact
from slowwave.ingest.redact.marks import secrets_in, taken
from slowwave.ingest.redact.table import rules_id
from slowwave.journal.segments import Journal
from slowwave.progress import progress
from slowwave.rewrite.engine import ERASE_CUT_OFF, REDACTION_CUT_OFF, run
from slowwave.rewrite.leftovers import logs_of
from slowwave.rewrite.redact_plan import REDACTED, RedactPlan, as_reply, named_value, outside_ids
from slowwave.rewrite.scope import PROOF_SHORTEST
from slowwave.rewrite.transform import Event, read_line, texts_of
from slowwave.schemas.report import StageReport, several

UNITS = {"journal": "event", "logs": "text", "torn files": "text"}
"""Places of the home, with what is counted there."""

SOURCES_SHOWN = 8

_NO_TEXT = re.compile(r'"\w+_(?:id|ids|hash|at|time|from|until)"\s*:\s*(?:"[^"]*"|\[[^\]]*\])')
"""An id, a hash or a time in a torn file, which is looked at as plain text: an id may look like a secret there."""

SECRET_SHORTEST = 7
"""Characters from which a secret of letters and digits is masked wherever it is, and not only beside its label."""


@dataclass
class Evidence:
    """Secrets with their kinds, ids from outside that hold one (and what they become), and where secrets are."""

    secrets: dict[str, str] = field(default_factory=dict)
    outside: dict[str, str] = field(default_factory=dict)
    places: Counter[str] = field(default_factory=Counter)
    torn: list[str] = field(default_factory=list)
    event_count: int = 0

    def note(self, texts: Iterable[str], place: str) -> bool:
        """Add the secrets of texts outside of whole segments; returns whether there are any."""
        found = {secret: kind for text in texts for secret, kind in secrets_in(text).items()}
        self.secrets |= found
        self.places[place] += len(found)
        return bool(found)


@contextmanager
def open_redaction(home: str, *, dry_run: bool) -> Iterator[Workspace]:
    """The home with everything applied, alone, and after the end of a redaction that was cut off.

    Raises:
        InputError: an erase was cut off; or a redaction was, and this is a dry run.
    """
    with open_workspace(home, flow="redact", is_alone=True) as work:
        path = work.home.redact_path
        if work.home.erase_path.exists():
            raise InputError(ERASE_CUT_OFF)
        if path.exists():
            if dry_run:
                raise InputError(REDACTION_CUT_OFF)
            run(work, RedactPlan.model_validate_json(path.read_bytes()))
        yield work


def find_secrets(home: Home) -> Evidence:
    """Everything that the rules find in the journal, beside its segments, and in the logs."""
    evidence = Evidence()
    segment_ids, foreign = home.journal.listing()
    torn = [problem.path for problem in foreign]
    for number, segment_id in enumerate(segment_ids, start=1):
        lines = home.journal.lines(segment_id)
        if lines is None:
            torn.append(home.journal.path_of(segment_id))
        else:
            _look_at([read_line(line) for line in lines], evidence)
        progress("look for secrets", number, len(segment_ids))
    evidence.torn = [
        str(path)
        for path in torn
        if evidence.note((_NO_TEXT.sub("", line) for line in _lines_of(path)), "torn files")
    ]
    for path in logs_of(home):
        evidence.note(_lines_of(path), "logs")
    return evidence


def _look_at(events: list[Event], evidence: Evidence) -> None:
    """Note the secrets of a segment's events."""
    evidence.event_count += len(events)
    said = ("", "")
    for _, kind, payload in events:
        for text in (text for texts in texts_of(kind, payload).values() for text in texts):
            evidence.secrets |= secrets_in(text)
        if fact := named_value(payload):
            evidence.secrets |= taken(str(payload["value"]), fact[0])
        if kind == "turn.recorded":
            safe = {**payload, "content": redact(str(payload["content"]))[0]}
            reply, _ = as_reply(safe, said)
            evidence.secrets |= taken(str(safe["content"]), reply)
            said = (str(payload["session_id"]), reply)
        for text in (outside := outside_ids(payload)):
            evidence.secrets |= secrets_in(text)
        evidence.outside |= outside


def plan_redaction(work: Workspace, evidence: Evidence) -> RedactPlan:
    """Work out what changes in the journal and what is searched for afterwards; nothing is written."""
    known = {secret: kind for secret, kind in evidence.secrets.items() if is_known_anywhere(secret)}
    plan = RedactPlan(
        mark=str(ULID()),
        rules_id=rules_id(),
        texts=list(known),
        outside=set(evidence.outside),
        torn=evidence.torn,
        secrets=known,
        weak={secret: kind for secret, kind in evidence.secrets.items() if secret not in known},
        renamed=dict(evidence.outside),
        places=+evidence.places,
    )
    if evidence.secrets:
        plan.names = {REDACTED: _traced(work.home.journal, plan)}
    return plan


def _traced(journal: Journal, plan: RedactPlan) -> list[dict[str, object]]:
    """Rows of `text.redacted` for what each event of the journal loses, which the plan learns on the way."""
    rows, changed_count, sources = list[dict[str, object]](), 0, Counter[str]()
    for segment_id in journal.segment_ids():
        for event, safe, found in plan.learned([read_line(line) for line in journal.lines(segment_id) or ()]):
            changed_count += bool(found)
            sources[str(safe.get("source_name") or "derived texts")] += found.total()
            traced = {"event_id": event.event_id, "redaction_id": plan.mark, "rules_id": plan.rules_id}
            rows += [
                {**traced, "secret_kind": kind, "secret_count": count}
                for kind, count in sorted(found.items())
            ]
    plan.sources = dict(+sources)
    plan.places |= {"journal": changed_count} if changed_count else {}
    return rows


def redact_home(work: Workspace, plan: RedactPlan, *, dry_run: bool) -> StageReport:
    """Carry the plan out, unless this is a dry run or nothing was found, and say what was found; never a secret."""
    report = StageReport(stage="redact", dry_run=dry_run, is_skipped=not plan.places)
    if plan.places:
        report.counts = _kinds(plan)
        report.examples = [f"{name}: {count}" for name, count in sorted(plan.sources.items())][:SOURCES_SHOWN]
        found = (f"{place}: {several(plan.places[place], UNITS[place])}" for place in sorted(plan.places))
        report.notes.append(f"found in {'; '.join(found)}")
    else:
        report.notes.append("the rules of today find no secret in this home")
    if plan.weak:
        report.notes.append(
            f"{several(len(plan.weak), 'plain or short word')} among them: taken out where the surroundings show it "
            "and of what was made from there, and not searched for elsewhere"
        )
    if dry_run:
        return report
    if plan.places:
        done = run(work, plan)
        left = [work.home.root / place if "table " not in place else place for place in done.remaining]
        searched = f"{several(len(plan.texts), 'secret')} searched for in every byte of the home"
        report.notes += [
            *done.notes,
            *(f"left, to be mended by hand: {place}" for place in left),
            searched if left else f"{searched}: none is left",
            "the files that were taken in still hold their secrets, and so may backups: change what leaked",
        ]
        report.rejected = {"place that still holds a secret": len(left)} if left else {}
    keep_swept(work.home, plan.rules_id, now=work.clock())
    return report


def _kinds(plan: RedactPlan) -> dict[str, int]:
    counts = Counter[str]()
    for row in plan.names.get(REDACTED, ()):
        counts[f"secrets of kind {row['secret_kind']}"] += row["secret_count"]
    return dict(sorted(counts.items()))


def is_known_anywhere(secret: str) -> bool:
    """Return whether a secret is known wherever it stands: letters with digits, or long and more than a word."""
    has_letter = any(character.isalpha() for character in secret)
    has_digit = any(character.isdigit() for character in secret)
    if len(secret) >= SECRET_SHORTEST and has_letter and has_digit:
        return True
    return len(secret) >= PROOF_SHORTEST and not secret.isalpha()


def _lines_of(path: Path) -> Iterator[str]:
    """The lines of a file as text; a file that went away has none."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from file
    except FileNotFoundError:
        return
