"""Choose which of several memories is current: units of an answer, each with its history, its rivals and its echoes.

Outdated memories never answer by themselves. Their match counts for what took their place, and they are its history.
Pairs of which nobody decided which is current are one unit with both sides. Pure: everything was read before.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from slowwave.language.lexicon import CLOSED_STATES
from slowwave.language.terms import text_terms
from slowwave.lifecycle.values import Pair, compared_values, former_values
from slowwave.lifecycle.walker import ends
from slowwave.recall.conditions import as_they_stood, held
from slowwave.recall.gather import Gathered
from slowwave.recall.question import Question
from slowwave.schemas.moments import latest_of
from slowwave.store import Row
from slowwave.store.chains import doubted_and_both_valid

STATE_WORDS = text_terms(" ".join(("open doing blocked waiting planned true false yes no", *CLOSED_STATES)))
"""Terms of values that say how far something is: they occur everywhere, so that no text is an echo for having one."""


@dataclass
class Unit:
    """One thing that an answer may say: the current memory, and everything that belongs to it.

    `members` are the found rows that speak for it: itself, what it outdates, repetitions. `rival` is the other side
    where nobody decided which is current; `echo_of` says whose former value this one mentions.
    """

    row: Row
    members: list[Row] = field(default_factory=list)
    history: list[Row] = field(default_factory=list)
    rival: Row | None = None
    note: str | None = None
    echo_of: "Echo | None" = None
    score: float = 0.0
    columns: dict[str, float] = field(default_factory=dict)

    @property
    def sides(self) -> list[Row]:
        """The current memory, or both sides where nobody decided, the older one first."""
        sides = [self.row] if self.rival is None else [self.row, self.rival]
        return sorted(sides, key=lambda row: (row["event_time"], row["cell_id"]))

    @property
    def newest(self) -> Row:
        """The current memory, or the later side where nobody decided."""
        return self.sides[-1]

    @property
    def cell_id(self) -> str:
        """The id of the current memory."""
        return str(self.row["cell_id"])


class Echo(NamedTuple):
    """A former value that a memory mentions, and the unit that has the current one."""

    of: Unit
    was: str


def resolve(question: Question, gathered: Gathered) -> list[Unit]:
    """Units of the found memories, in no order; every memory belongs to one at most."""
    rows = _as_of(question, gathered.cells)
    doubted, both_valid = doubted_and_both_valid(
        pair for pair in gathered.disputes if {pair["cell_a"], pair["cell_b"]} <= rows.keys()
    )
    values = compared_values(list(rows.values()), doubted=doubted, both_valid=both_valid)
    current = _current_of(rows, values.outdated)
    units: dict[str, Unit] = {}
    for key, row in gathered.found.items():
        head = current.get(key)
        if head is None or not _may_answer(question, gathered, rows[head]):
            continue
        units.setdefault(head, Unit(rows[head])).members.append(row)
    former = former_values(list(rows.values()), values.outdated, of=units.keys())
    for key, unit in units.items():
        unit.history = former.get(key, [])
    pairs = _open_pairs(gathered.disputes, rows, current, values.undecided)
    return _with_rivals(units, rows, pairs)


def _as_of(question: Question, cells: Mapping[str, Row]) -> dict[str, Row]:
    """The rows as they were at the moment that is asked for; what was said or learned later is left out."""
    filters = question.filters
    if not filters.is_historical:
        return dict(cells)
    known = {
        key: row
        for key, row in cells.items()
        if (
            filters.as_of is None
            or max(map(latest_of, (row["event_time"], row["valid_from"]))) <= filters.as_of
        )
        and (filters.known_at is None or row["recorded_at"] <= filters.known_at)
    }
    said = {key: latest_of(row["event_time"]) for key, row in cells.items()}
    stood = {key: as_they_stood(row, said, filters) for key, row in known.items()}
    return {
        key: row for key, row in stood.items() if row["status"] != "active" or held(known[key], said, filters)
    }


def _current_of(rows: Mapping[str, Row], outdated: Mapping[str, str]) -> dict[str, str]:
    """The id of the current memory of each: the end of its chain, or what outdates that; none for what only ended."""
    next_of = dict(outdated)
    for key, row in rows.items():
        if row["status"] == "superseded" and row["superseded_by"] in rows:
            next_of[key] = row["superseded_by"]
    last = ends(next_of)
    named = {key: last.get(key, key) for key in rows}
    return {key: head for key, head in named.items() if rows[head]["status"] != "superseded"}


def _may_answer(question: Question, gathered: Gathered, row: Row) -> bool:
    """Return whether a current memory passes the filters, under which an outdated one may have been found."""
    if question.filters.is_narrow and row["cell_id"] not in gathered.passing:
        return False
    return bool(question.filters.is_historical or row["status"] == "active")


def _open_pairs(
    disputes: Iterable[Row],
    rows: Mapping[str, Row],
    current: Mapping[str, str],
    undecided: Iterable[Pair],
) -> list[tuple[str, str, str | None]]:
    """Pairs of which nobody decided which side is current, newest first, with their notes; then unnoted ones."""
    ordered = sorted(disputes, key=lambda pair: pair["detected_at"], reverse=True)
    noted = [(row["cell_a"], row["cell_b"], row["note"]) for row in ordered if row["status"] == "open"]
    pairs = [*noted, *((*sorted(pair), None) for pair in sorted(undecided, key=sorted))]
    found = [
        (current.get(one, ""), current.get(other, ""), note)
        for one, other, note in pairs
        if one in rows and other in rows
    ]
    return [(one, other, note) for one, other, note in found if one and other and one != other]


def _with_rivals(
    units: dict[str, Unit], rows: Mapping[str, Row], pairs: Iterable[tuple[str, str, str | None]]
) -> list[Unit]:
    """The units, of each open pair one with both sides: a side that was not found joins the one that was.

    Of a row of open pairs (68 or 74, 74 or 81) the latest two are the sides, and what is older is their history.
    """

    def latest(pair: tuple[str, str, str | None]) -> tuple[datetime, ...]:
        return tuple(sorted((rows[pair[0]]["event_time"], rows[pair[1]]["event_time"]), reverse=True))

    for one, other, note in sorted(pairs, key=latest, reverse=True):
        held_by = {id(unit): unit for unit in (units.get(one), units.get(other)) if unit is not None}
        if not held_by:
            continue
        kept, *joining = sorted(held_by.values(), key=lambda unit: unit.rival is None)
        if kept.rival is None:
            kept.rival, kept.note = rows[other if kept.cell_id == one else one], note
        elif not joining or joining[0].rival or joining[0].row["event_time"] > kept.sides[0]["event_time"]:
            continue
        else:
            kept.history += [joining[0].row, *joining[0].history]
        for unit in joining:
            kept.members += unit.members
        units[one] = units[other] = kept
    return list({id(unit): unit for unit in units.values()}.values())


class _Former(NamedTuple):
    """A former value of a unit: the terms that only it has, those of them that name it, and what it is a value of."""

    echo: Echo
    gone: frozenset[str]
    new: frozenset[str]
    named: frozenset[str]
    about: frozenset[str]


def mark_echoes(units: Iterable[Unit], among: Iterable[Unit]) -> None:
    """Mark the units that mention a former value of another one, and not its current value."""
    by_term: dict[str, list[_Former]] = {}
    for of in among:
        if of.row["value"] is not None and of.rival is None:
            for past in of.history:
                if (former := _former(of, past["value"] or "")) is not None:
                    by_term.setdefault(min(former.named), []).append(former)
    for unit in units if by_term else ():
        if unit.rival is None:
            said = text_terms(unit.row["content"])
            named = (one for term in sorted(said & by_term.keys()) for one in by_term[term])
            unit.echo_of = next((one.echo for one in named if _is_echo(unit, said, one)), None)


def _former(of: Unit, value: str) -> _Former | None:
    """A former value as it is looked for: of one with numbers these count, else all its words."""
    was, now = text_terms(value), text_terms(of.row["value"])
    gone, new = was - now, now - was
    if not gone or (was | now) <= STATE_WORDS:
        return None
    named = frozenset(term for term in gone if any(map(str.isdigit, term))) or gone
    about = text_terms(f"{of.row['subject'] or ''} {of.row['attribute'] or ''}")
    return _Former(Echo(of, value), gone, new, named, about)


def _is_echo(unit: Unit, said: frozenset[str], former: _Former) -> bool:
    """Return whether a unit mentions a former value: in its topic, or with a word of its subject or attribute.

    One of the same value may have it by another property.
    """
    of = former.echo.of
    if of is unit or not former.named <= said or not former.new.isdisjoint(said):
        return False
    is_near = unit.row["topic_id"] == of.row["topic_id"] or not former.about.isdisjoint(said)
    return is_near and former.gone.isdisjoint(text_terms(unit.row["value"] or ""))
