"""Questions that share no content word with the memory that answers them, in homes of 50 and of 500 memories.

The memories are taken in word by word, as another program's export, and one night without a model follows.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.holds_judge import Line
from benchmarks.holds_lists import nothing_known, shares
from benchmarks.holds_memory import Asked, make_home
from benchmarks.holds_world import AFTER_THE_LAST, World
from slowwave.memory import Memory

FIRST_RESULTS = 5


def measure_paraphrases(source: Path, folder: Path) -> list[dict[str, Any]]:
    """The figures of the small and of the whole set, each in a home of its own below `folder`."""
    memories = _listed(source / "memories.jsonl")
    small = set(json.loads((source / "small.json").read_text(encoding="utf-8")))
    parts = [[entry for entry in memories if entry["id"] in small], memories]
    return [_measure(source, part, folder / str(len(part))) for part in parts]


def _measure(source: Path, memories: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    pairs = json.loads((source / "pairs.json").read_text(encoding="utf-8"))
    texts = {entry["id"]: entry["text"] for entry in memories}
    world = _world(source, memories, folder)
    home = make_home(world, folder)
    with Memory(home, records_usage=False) as memory:
        asked = Asked(home, memory, world)
        answerable = [(pair["question"], texts[pair["memory"]]) for pair in pairs if pair["memory"] in texts]
        ways = {name: asked.ways[name] for name in ("small", "vectors")}
        ways["search"] = lambda question: results(asked, question)
        found = {
            name: [
                any(text in line.text for line in way(question)[:FIRST_RESULTS])
                for question, text in answerable
            ]
            for name, way in ways.items()
        }
        return {
            "memories": len(asked.cells),
            "pairs": len(answerable),
            "found_in_5": shares(found),
            "nothing_known": nothing_known(asked),
        }


def results(asked: Asked, question: str) -> list[Line]:
    """The results of search as lines, without the lead: it says once more what one of them does."""
    found = asked.search(question)
    return asked.lines_found(found.model_copy(update={"lead": "", "lead_ids": []}))


def _world(source: Path, memories: list[dict[str, Any]], folder: Path) -> World:
    """The memories as an export of mem0, and what nothing answers."""
    folder.mkdir(parents=True)
    export = folder / "memories.json"
    entries = [
        {"id": entry["id"], "memory": entry["text"], "created_at": f"{entry['day']}T12:00:00Z"}
        for entry in memories
    ]
    export.write_text(json.dumps(entries), encoding="utf-8")
    last = max(datetime.fromisoformat(entry["day"]).replace(tzinfo=UTC) for entry in memories)
    unanswerable = json.loads((source / "unanswerable.json").read_text(encoding="utf-8"))
    return World(name=source.name, sources=(export,), now=last + AFTER_THE_LAST, unanswerable=unanswerable)


def _listed(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
