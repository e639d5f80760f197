"""What is believed does not depend on the order in which it was learned, and chains of values never go in a circle."""

from datetime import UTC, datetime, timedelta

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.lifecycle.order import supersessions
from slowwave.lifecycle.repetitions import between_elements, stand_ins
from tests.examples import at_most
from tests.rows import row, rows

START = datetime(2026, 6, 1, 9, tzinfo=UTC)
PAIRS = {"cell_id": pl.String, "target_id": pl.String, "verdict": pl.String}


class Memory:
    """Memories of one subject and attribute as the store would keep them, judged by an oracle.

    The oracle sees the new memory and the live one: the same value confirms, another updates.
    """

    def __init__(self) -> None:
        self.cells: dict[str, dict[str, object]] = {}

    def frame(self) -> pl.DataFrame:
        return rows("cells", *self.cells.values())

    def live(self) -> str:
        (only,) = [key for key, cell in self.cells.items() if cell["status"] == "active"]
        return only

    def learn(self, key: str, value: str, day: int) -> None:
        at = START + timedelta(days=day)
        other = self.live() if self.cells else None
        self.cells[key] = row("cells", key, value=value, valid_from=at, event_time=at, recorded_at=START)
        if other is None:
            return
        is_same = self.cells[other]["value"] == value
        links = [] if is_same else [(key, other, "updates")]
        repeats = [(key, other)] if is_same else []
        for cell, stored in self.cells.items():
            if stored["superseded_by"] and stored["valid_until"]:
                links.append((stored["superseded_by"], cell, "updates"))
            elif stored["superseded_by"]:
                repeats.append((cell, stored["superseded_by"]))
        self.place(
            pl.DataFrame(links, schema=PAIRS, orient="row"),
            pl.DataFrame(repeats, schema=dict(list(PAIRS.items())[:2]), orient="row"),
        )

    def place(self, links: pl.DataFrame, repeats: pl.DataFrame) -> None:
        known = self.frame()
        elements = stand_ins(links, repeats, known)
        follows = supersessions(between_elements(links, repeats, elements), known)
        after = {cell: (by, until) for cell, by, until, _ in follows.iter_rows()}
        for cell, element in elements.iter_rows():
            by, until = after.get(cell, (None, None)) if cell == element else (element, None)
            status = "superseded" if by else "active"
            self.cells[cell] |= {"status": status, "superseded_by": by, "valid_until": until}


VALUES = st.lists(st.sampled_from(["100", "250", "180"]), min_size=1, max_size=5)


@settings(max_examples=at_most(60))
@given(VALUES, st.randoms())
def test_whatever_order_values_are_learned_in_the_same_one_holds(values, random):
    story = [(f"c{day}", value, day) for day, value in enumerate(values)]
    believed = []
    for order in (story, random.sample(story, len(story))):
        memory = Memory()
        for said in order:
            memory.learn(*said)
        live = memory.cells[memory.live()]
        believed.append((live["value"], live["valid_from"]))
    assert believed[0] == believed[1]
    assert believed[0][0] == values[-1], "the value that was said last holds"


@settings(max_examples=at_most(60))
@given(VALUES, st.randoms())
def test_statuses_and_links_agree_and_every_chain_ends_in_the_one_live_memory(values, random):
    story = [(f"c{day}", value, day) for day, value in enumerate(values)]
    memory = Memory()
    for said in random.sample(story, len(story)):
        memory.learn(*said)
        live = memory.live()
        for key, cell in memory.cells.items():
            assert (cell["superseded_by"] is None) == (key == live) == (cell["status"] == "active")
            seen = [key]
            while memory.cells[seen[-1]]["superseded_by"]:
                seen.append(memory.cells[seen[-1]]["superseded_by"])
                assert len(seen) <= len(memory.cells), "a circle"
            assert seen[-1] == live
