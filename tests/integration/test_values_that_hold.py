"""One value of a property holds, the same to every reader, whatever persons and assistants said of it."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

from flows.promote import promote
from flows.rebuild import rebuild
from flows.reconcile import reconcile
from slowwave import Memory
from slowwave.schemas.results import Cell, Dispute
from tests.rows import NOW
from tests.scripted_model import tables, write_settings

ROOMS = ("cellar", "attic", "pantry")
EDITS = 7


@dataclass
class Room:
    """A property of one thing: what is done to it by chance, and the value that holds by what a person expects."""

    memory: Memory
    name: str
    chance: random.Random
    clock: Iterator[datetime]
    numbers: Iterator[int]
    said: list[str] = field(default_factory=list)
    holds: str = ""
    is_persons: bool = False

    def text(self, value: str) -> str:
        return f"The {self.name} has {value} degrees."

    def told(self, value: str) -> dict[str, str]:
        self.said.append(value)
        return {"text": self.text(value), "subject": self.name, "attribute": "temperature", "value": value}

    def living(self) -> list[Cell]:
        return [cell for cell in self.memory.cells(status="active").entries if cell.subject == self.name]

    def waiting(self) -> list[Dispute]:
        return [one for one in self.memory.contradictions() if one.subject == self.name]

    def takes(self, value: str, *, by_person: bool) -> None:
        if by_person or not self.is_persons:
            self.holds, self.is_persons = value, by_person

    def edit(self) -> str:
        """Do one thing by chance; return its name."""
        kinds = ["tell", "tell", "correct", "correct", "confirm", *["resolve"] * 4 * bool(self.waiting())]
        kind = self.chance.choice(kinds if self.holds else ["tell"])
        getattr(self, kind)(next(self.clock))
        return kind

    def tell(self, now: datetime) -> None:
        value, origin = str(next(self.numbers)), self.chance.choice(["user", "agent"])
        self.memory.remember(**self.told(value), origin=origin, now=now)
        self.takes(value, by_person=origin == "user")

    def correct(self, now: datetime) -> None:
        value, origin = str(next(self.numbers)), self.chance.choice(["user", "agent"])
        (cell,) = [cell for cell in self.living() if cell.value == self.holds]
        self.memory.correct(cell.cell_id, **self.told(value), origin=origin, now=now)
        self.takes(value, by_person=origin == "user")

    def confirm(self, now: datetime) -> None:
        cell = self.chance.choice(self.living())
        self.memory.confirm(cell.cell_id, now=now)
        self.takes(cell.value, by_person=True)

    def resolve(self, now: datetime) -> None:
        waits = self.chance.choice(self.waiting())
        resolution, winner = self.chance.choice([("a_wins", waits.a), ("b_wins", waits.b)])
        self.memory.resolve(waits.contradiction_id, resolution, now=now)
        (cell,) = [cell for cell in self.living() if cell.cell_id == winner.cell_id]
        self.holds, self.is_persons = cell.value, cell.origin == "user" or cell.protected

    def check(self) -> None:
        """What a person said and does not hold is gone, and what an assistant said stands beside it, marked."""
        living = self.living()
        answerable = [c.value for c in living if not self.is_persons or c.origin == "user" or c.protected]
        assert answerable == [self.holds]
        found = [
            hit for hit in self.memory.search(f"{self.name} temperature").cells if hit.subject == self.name
        ]
        shown = [side.value for hit in found for side in (hit, hit.rival) if side is not None]
        assert self.holds in shown
        assert {*shown} <= {cell.value for cell in living}
        assert all(hit.rival is not None for hit in found if hit.value != self.holds)


def test_after_any_words_and_decisions_one_value_holds_and_every_reader_tells_it(tmp_path: Path):
    home = tmp_path / "home"
    write_settings(home)
    memory = Memory(home)
    clock = (NOW + timedelta(hours=hour) for hour in count())
    numbers = count(101)
    rooms = [Room(memory, name, random.Random(place), clock, numbers) for place, name in enumerate(ROOMS)]
    done = set[str]()
    for _ in range(EDITS):
        for room in rooms:
            done.add(room.edit())
            room.check()
    assert done == {"tell", "correct", "confirm", "resolve"}  # else the chances above try too little
    reconcile.fn(home=str(home))
    promote.fn(home=str(home))
    core = memory.core()
    for room in rooms:
        room.check()
        in_core = [value for value in room.said if f"{value} degrees" in core or f"now {value}" in core]
        assert in_core == ([room.holds] if room.is_persons else [])
    before = tables(home)
    rebuild.fn(home=str(home))
    assert all(frame.equals(before[table]) for table, frame in tables(home).items())
