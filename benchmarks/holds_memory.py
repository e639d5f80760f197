"""A home that holds a world, and what each way of asking shows as lines: through `Memory` alone."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import Stemmer
from numpy.typing import NDArray

from benchmarks.environment import hide_settings
from benchmarks.holds_judge import WORD, Line
from benchmarks.holds_world import World, unpack_journal
from slowwave.home.paths import Home, open_home
from slowwave.memory import Memory
from slowwave.models.embed.choice import open_embedder
from slowwave.models.embed.protocol import Embedder
from slowwave.schemas.context import Context, ContextLine
from slowwave.schemas.results import Cell, Rank, SearchResult
from slowwave.store import open_store

BASELINE_ROWS = 5
"""Lines of a baseline."""
K1, B = 1.2, 0.75
"""Of BM25 (Robertson and Zaragoza, 2009)."""
PAGE = 200
COMPARED = 20
"""Characters by which a message is found in a turn; later ones may be redacted."""
NO_MEMORY = re.compile(
    r"</?slowwave-memory>|#|\d{4}-\d\d-\d\d.*:$|.*quoted data, no instructions", re.IGNORECASE
)
"""Lines of a page that are a fence, a heading or its introduction."""


def use_settings(folder: Path, /, **embedding: str) -> None:
    """The same settings whatever the machine has: no language model, and this embedder."""
    hide_settings()
    own = {f"SLOWWAVE_EMBEDDING__{name.upper()}": value for name, value in embedding.items()}
    os.environ.update({"SLOWWAVE_LLM__PROVIDER": "none", "PREFECT_HOME": str(folder / "prefect"), **own})


def make_home(world: World, folder: Path, *, journal: Path | None = None) -> Path:
    """A home with the world in it: one night without a model, or the fold of a journal that was kept."""
    home = folder / "home"
    home.mkdir(parents=True)
    if journal is not None:
        from flows.running import run_plain

        unpack_journal(journal, home / "journal")
        run_plain("rebuild", str(home))
        return home
    from flows.nightly import nightly
    from slowwave.home.workspace import open_workspace

    with open_workspace(home, clock=lambda: world.now):
        nightly.fn(home=str(home), sources=[str(source) for source in world.sources], force=True)
    return home


class Asked:
    """A memory that is asked about a world, read only; every way gives lines, best first."""

    def __init__(self, home: Path, memory: Memory, world: World) -> None:
        self.home, self.memory, self.world = open_home(home), memory, world
        self.cells = list(all_cells(memory))
        self.messages_of_turn = messages_by_turn(self.home, world)
        self.messages_of = {cell.cell_id: self._messages(cell.turn_ids) for cell in self.cells}
        self.day_of = {cell.cell_id: cell.event_time.date() for cell in self.cells}

    @property
    def ways(self) -> Mapping[str, Callable[[str], list[Line]]]:
        """Ways to answer a question, by name."""
        return {
            "search": lambda question: self.lines_found(self.search(question)),
            "page 300": lambda question: self.page(self.context(question, budget_tokens=300)),
            "page 150": lambda question: self.page(self.context(question, budget_tokens=150)),
            "small": lambda question: self.page(self.context(question, small=True)),
            "raw turns": self.turns_by_text,
            "vectors": self.cells_by_vector,
        }

    def search(self, question: str, limit: int = 10) -> SearchResult:
        """The answer of search."""
        return self.memory.search(question, limit=limit, now=self.world.now)

    def context(self, question: str = "", **signals: Any) -> Context:
        """The page or the small form."""
        return self.memory.context(question, now=self.world.now, **signals)

    def lines_found(self, found: SearchResult) -> list[Line]:
        """Results of search as they are shown: the lead, summaries, memories, messages; of a long text its excerpt.

        The note on a former value that a memory mentions belongs to it.
        """
        cells = [
            Line(
                _shown(cell.rank) + (f" ({cell.echo})" if cell.echo else ""),
                cell.event_time.date(),
                self.messages_of[cell.cell_id],
            )
            for cell in found.cells
        ]
        topics = [Line(topic.summary or "", topic.updated_at.date()) for topic in found.topics]
        turns = [
            Line(
                _shown(turn.rank),
                turn.event_time.date(),
                self._messages([turn.turn_id]),
            )
            for turn in found.turns
        ]
        day = max((self.day_of[name] for name in found.lead_ids if name in self.day_of), default=None)
        told = (self.messages_of.get(name) or self._messages([name]) for name in found.lead_ids)
        lead = [Line(found.lead, day, frozenset().union(*told))] if found.lead else []
        return lead + topics + cells + turns

    def page(self, shown: Context) -> list[Line]:
        """Lines of a page's text without fences and headings, each with what the page says it rests on."""
        known = {plain(line.text): line for line in shown.lines}
        texts = [
            text for text in map(str.strip, shown.text.splitlines()) if text and not NO_MEMORY.match(text)
        ]
        return [self._page_line(text, known.get(plain(text))) for text in texts]

    def _page_line(self, text: str, line: ContextLine | None) -> Line:
        if line is None:
            return Line(text, None)
        cells = frozenset(chain.from_iterable(self.messages_of.get(name, ()) for name in line.cell_ids))
        return Line(text, line.event_time.date(), cells | self._messages(line.turn_ids))

    def _messages(self, turn_ids: Sequence[str]) -> frozenset[str]:
        return frozenset().union(*(self.messages_of_turn.get(name, ()) for name in turn_ids))

    # -- baselines, which share nothing with the memory

    def turns_by_text(self, question: str) -> list[Line]:
        """Raw turns by plain full text."""
        scores = self._index.scores(question)
        return best(self._said, scores)

    def cells_by_vector(self, question: str) -> list[Line]:
        """All memories by the cosine of plain vectors."""
        return best(self._known, self._vectors @ self._embedder.embed_query(question))

    @cached_property
    def _said(self) -> list[Line]:
        messages = self.world.messages.values()
        return [Line(one.text, one.at.date(), frozenset({one.message_id})) for one in messages]

    @cached_property
    def _known(self) -> list[Line]:
        return [
            Line(cell.content, cell.event_time.date(), self.messages_of[cell.cell_id]) for cell in self.cells
        ]

    @cached_property
    def _index(self) -> "FullText":
        return FullText([line.text for line in self._said])

    @cached_property
    def _embedder(self) -> Embedder:
        embedder, note = open_embedder(self.home.settings.embedding)
        if embedder is None:
            raise SystemExit(note)
        return embedder

    @cached_property
    def _vectors(self) -> NDArray[np.float32]:
        return np.nan_to_num(self._embedder.embed_documents([line.text for line in self._known]).vectors)


def messages_by_turn(home: Home, world: World) -> dict[str, set[str]]:
    """The world's messages that each stored turn holds: it begins no later than they do, and has their words."""
    rows = open_store(home.store_root).rows(
        "turns", ["turn_id", "session_id", "role", "event_time", "content"]
    )
    turns = defaultdict[tuple[str, str], list[tuple[datetime, str, str]]](list)
    for turn_id, session_id, role, at, content in rows.sort("event_time").iter_rows():
        turns[session_id, role].append((at, turn_id, content))
    found = defaultdict[str, set[str]](set)
    for message in world.messages.values():
        before = [turn for turn in turns[message.session_id, message.role] if turn[0] <= message.at]
        if message.text.strip() and before and message.text.strip()[:COMPARED] in before[-1][2]:
            found[before[-1][1]].add(message.message_id)
    return found


def _shown(rank: Rank | None) -> str:
    """What an answer shows of a text."""
    if rank is None:
        return ""
    return rank.excerpt.text if rank.excerpt else rank.text


def all_cells(memory: Memory) -> Iterator[Cell]:
    """Every memory, whatever its state."""
    cursor = ""
    while True:
        page = memory.cells(limit=PAGE, cursor=cursor)
        yield from page.entries
        if not (cursor := page.next_cursor):
            return


def plain(text: str) -> str:
    """A line without its bullet and its marks at the end."""
    return text.removeprefix("- ").strip()


def best(lines: list[Line], scores: NDArray[Any]) -> list[Line]:
    """The best lines by their scores, without those that score nothing."""
    order = np.argsort(-scores, kind="stable")[:BASELINE_ROWS]
    return [lines[place] for place in order if scores[place] > 0]


class FullText:
    """BM25 over a few hundred texts, by English stems."""

    def __init__(self, texts: list[str]) -> None:
        self.counts = [Counter(terms(text)) for text in texts]
        lengths = np.array([count.total() for count in self.counts])
        self.resistance = K1 * (1 - B + B * lengths / max(lengths.mean(), 1))
        self.documents = Counter(term for count in self.counts for term in count)

    def scores(self, question: str) -> NDArray[np.float64]:
        """The score of each text."""
        total = np.zeros(len(self.counts))
        for term in terms(question):
            held = np.array([count[term] for count in self.counts])
            rarity = np.log1p((len(held) - self.documents[term] + 0.5) / (self.documents[term] + 0.5))
            total += rarity * held * (K1 + 1) / (held + self.resistance)
        return total


def terms(text: str) -> list[str]:
    """English stems of the words of a text."""
    stems: list[str] = Stemmer.Stemmer("english").stemWords(WORD.findall(text.casefold()))
    return stems
