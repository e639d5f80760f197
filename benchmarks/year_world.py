"""An invented year for `benchmarks/year.py`: what is true on each day, what people say, and what is needed.

Everything is drawn from one seed. A fact gives one attribute of one subject a value. Its kind says what becomes of it:

| kind | how many | what is said | needed every |
|---|---|---|---|
| `stable` | 90 in the first month, then one every 4 days | once | 7, 30 or 90 days (4 : 4 : 1), or never (1 of 10) |
| `changing` | 40 in the first month | each new value, about every 40 days; one in five is a correction | 7 or 30 days |
| `repeated` | 30 in the first month | about every 14 days, half of the time in other words | 30 or 90 days |
| `passing` | one every 4 days | once | 5 days, for 40 days, then never again |
| `noise` | 15 on each day of talk | once | never |

People talk on two days of the week; what happens on another day is said on the next day of talk.
Needs, changes and repetitions come at random moments at these mean distances (exponential). Someone who needs a
fact asks for it; whoever finds the value uses it in an answer and says so 7 times in 10. In 7 of 10 conversations the
other memories that were shown are noted as ignored. Twice a day somebody asks for something that nobody needs.
"""

import random
from collections import defaultdict
from dataclasses import dataclass, field

ATTRIBUTES = (
    "timeout",
    "budget",
    "batch size",
    "head count",
    "retry limit",
    "target",
    "interval",
    "capacity",
)
UNITS = ("seconds", "euros", "rows", "people", "times", "percent", "minutes", "pieces")
NAMES = (
    "Falcon",
    "Amber",
    "Copper",
    "Willow",
    "Granite",
    "Saturn",
    "Meadow",
    "Velvet",
    "Cobalt",
    "Harvest",
    "Lantern",
    "Otter",
    "Pepper",
    "Raven",
    "Silver",
    "Thistle",
    "Umbra",
    "Violet",
    "Walnut",
    "Zephyr",
    "Basil",
    "Cedar",
    "Delta",
    "Ember",
    "Garnet",
    "Hazel",
    "Indigo",
    "Juniper",
    "Kestrel",
    "Lotus",
    "Marble",
    "Nimbus",
    "Opal",
    "Pine",
    "Quartz",
    "Rust",
)
THINGS = (
    "ledger",
    "greenhouse",
    "pipeline",
    "archive",
    "ferry",
    "kiln",
    "catalogue",
    "workshop",
    "library",
    "sensor",
    "bakery",
    "warehouse",
    "newsletter",
    "observatory",
    "printer",
    "festival",
    "clinic",
    "orchestra",
    "vineyard",
    "payroll",
)
PEOPLE = ("Mara", "Ilya", "Noor", "Teo", "Priya")
SEEN = ("geese", "bicycles", "umbrellas", "lorries", "kites", "lanterns", "barrels", "posters")
PLACES = ("harbour", "market", "station", "bridge", "orchard", "mill", "quarry", "tower")
AROUND = (
    "I say it before we close this point, so that nobody has to ask around for it again next month.",
    "I went through my notes from the call this morning and looked it up; please keep it in mind.",
    "Somebody wanted to know at lunch, I looked it up for them and here is what I told them.",
    "We talked about it for quite a while yesterday, and here is where we stand after all of that.",
)
"""Talk around what is said, as it is in life: a page of turns holds a dozen facts then, and not three dozen. None of it
ends in a colon: what somebody hands on from elsewhere is not taken for their own word."""
TYPES = ("fact", "fact", "fact", "decision", "preference", "insight")

CITED_SHARE = 0.7
SETTLED_SHARE = 0.7
IDLE_QUESTIONS = 2
NOISE_A_DAY = 15
TALK_DAYS = (0, 3)
"""Days of the week on which people talk."""


@dataclass
class Fact:
    """One attribute of one subject, with its values by the day on which each was said."""

    kind: str
    subject: str
    attribute: str
    unit: str
    cell_type: str
    values: list[tuple[int, str]] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str]:
        """What the fact is about."""
        return self.subject, self.attribute

    @property
    def question(self) -> str:
        """How somebody asks for it."""
        return f"What is the {self.attribute} of {self.subject}?"

    def value_on(self, day: int) -> str | None:
        """The value that was last said before this day's morning; null before the first."""
        said = [value for at, value in self.values if at < day]
        return said[-1] if said else None

    def sentence(self, value: str, form: str = "The") -> str:
        """How somebody says it."""
        return f"{form} {self.attribute} of {self.subject} is {value}."


class World:
    """The year: `facts`, and by day what is said (`said`) and needed (`needed`)."""

    def __init__(self, *, days: int, seed: int) -> None:
        self._chance = random.Random(f"year-{seed}")  # noqa: S311 - a benchmark's dice
        self._names: set[str] = set()
        self.days = days
        self.facts: list[Fact] = []
        self.said: dict[int, list[str]] = defaultdict(list)
        self.needed: dict[int, list[Fact]] = defaultdict(list)
        self.corrected: set[tuple[str, str, str]] = set()
        self.types: dict[tuple[str, str], str] = {}
        month = min(30, days)
        for _ in range(90):
            self._stable(self._chance.randrange(month))
        for day in range(month, days, 4):
            self._stable(day)
        for _ in range(40):
            self._changing(self._chance.randrange(month))
        for _ in range(30):
            self._repeated(self._chance.randrange(month))
        for day in range(0, days, 4):
            self._passing(day)
        for day in range(days):
            if day == self._said_on(day):
                self.said[day] += [self._noise(day) for _ in range(NOISE_A_DAY)]
                self._chance.shuffle(self.said[day])
                self.said[day] = [f"{self._chance.choice(AROUND)} {text}" for text in self.said[day]]

    def told_before(self, day: int) -> list[Fact]:
        """Facts that were said before this day's morning."""
        return [fact for fact in self.facts if fact.value_on(day) is not None]

    # -- kinds

    def _stable(self, born: int) -> None:
        fact = self._new("stable", born)
        gap = self._chance.choices((7, 30, 90, None), weights=(4, 4, 1, 1))[0]
        self._need(fact, born, gap)

    def _changing(self, born: int) -> None:
        fact = self._new("changing", born)
        for moment in self._moments(born, 40, self.days):
            day = self._said_on(moment)
            value = self._value(fact)
            if value == fact.values[-1][1] or day == fact.values[-1][0]:
                continue
            is_correction = self._chance.random() < 0.2
            if is_correction:
                self.corrected.add((*fact.key, value))
            fact.values.append((day, value))
            self.said[day].append(
                fact.sentence(value, "Correction: the" if is_correction else "From today the")
            )
        self._need(fact, born, self._chance.choice((7, 30)))

    def _repeated(self, born: int) -> None:
        fact = self._new("repeated", born)
        for day in self._moments(born, 14, self.days):
            form = self._chance.choice(("The", "As agreed, the"))
            self.said[self._said_on(day)].append(fact.sentence(fact.values[-1][1], form))
        self._need(fact, born, self._chance.choice((30, 90)))

    def _passing(self, born: int) -> None:
        self._need(self._new("passing", born), born, 5, until=born + 40)

    def _noise(self, day: int) -> str:
        person, seen, place = (self._chance.choice(words) for words in (PEOPLE, SEEN, PLACES))
        return f"{person} counted {self._chance.randint(2, 99)} {seen} at the {place} on day {day + 1}."

    # -- what they are made of

    @staticmethod
    def _said_on(day: int) -> int:
        """The next day of talk, this one included."""
        return next(later for later in range(day, day + 7) if later % 7 in TALK_DAYS)

    def _new(self, kind: str, day: int) -> Fact:
        born = self._said_on(day)
        chance, place = self._chance, self._chance.randrange(len(ATTRIBUTES))
        name = ""
        while not name or name in self._names:
            name = f"{chance.choice(NAMES)} {chance.choice(THINGS)}"
        self._names.add(name)
        fact = Fact(kind, name, ATTRIBUTES[place], UNITS[place], chance.choice(TYPES))
        fact.values.append((born, self._value(fact)))
        self.types[fact.key] = fact.cell_type
        self.facts.append(fact)
        self.said[born].append(fact.sentence(fact.values[0][1]))
        return fact

    def _value(self, fact: Fact) -> str:
        return f"{5 * self._chance.randint(1, 40)} {fact.unit}"

    def _need(self, fact: Fact, born: int, gap: float | None, *, until: int | None = None) -> None:
        if gap is not None:
            for day in self._moments(self._said_on(born) + 1, gap, min(until or self.days, self.days)):
                self.needed[day].append(fact)

    def _moments(self, start: int, gap: float, end: int) -> list[int]:
        at, days = float(start), []
        while (at := at + max(1.0, self._chance.expovariate(1 / gap))) < end:
            days.append(int(at))
        return days
