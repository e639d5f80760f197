"""What a world's lists, made by hand, say of a memory: errors, files, core memory, whose word, and what is not known.

Each function gives the figures of one list; those of an empty list are empty.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.holds_judge import holds
from benchmarks.holds_memory import Asked, terms
from slowwave.schemas.results import Cell

FIRST_LINES = 3
"""Lines of a page among which the fix of an error must be."""
SIGNALS = {"file": "current_file", "branch": "branch", "error": "recent_errors"}
"""What a context is asked with, by the kind of an entry in `files.json`."""
SAID = 0.5
"""Share of a statement's weight in words that a memory must have to say it."""
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
ORIGINS = {
    "user": ("user",),
    "agent": ("agent",),
    "reported": ("reported",),
    "quoted": ("untrusted", "quoted"),
}
"""Origins of memories, by the labels of `whose.json`."""


def nothing_known(asked: Asked) -> dict[str, float]:
    """Shares of the unanswerable questions to which search finds nothing, the small form says nothing, and both."""
    questions = [entry["question"] for entry in asked.world.unanswerable]
    searches = [is_empty(asked, question) for question in questions]
    smalls = [not asked.context(question, small=True).text for question in questions]
    both = [one and other for one, other in zip(searches, smalls, strict=True)]
    return shares({"search": searches, "small": smalls, "both": both})


def is_empty(asked: Asked, question: str) -> bool:
    """Return whether search finds no summary, memory or turn."""
    return not asked.lines_found(asked.search(question))


def fixes(asked: Asked) -> dict[str, float]:
    """Share of the errors whose fix is among the first lines of the page, and anywhere on it."""
    pages = [
        (entry, asked.page(asked.context(recent_errors=[entry["error"]], activity="debugging")))
        for entry in asked.world.errors
    ]
    said = [[holds(line.text, entry["fix_forms"]) for line in lines] for entry, lines in pages]
    return shares(
        {"first_3": [any(one[:FIRST_LINES]) for one in said], "anywhere": [any(one) for one in said]}
    )


def decisions(asked: Asked) -> dict[str, float]:
    """Share of the decisions, risks and fixes about a file, error or branch that tier 1 names; by kind."""
    named: dict[str, list[bool]] = {kind: [] for kind in SIGNALS}
    for entry in asked.world.files:
        kind = entry.get("kind", "file")
        signal: dict[str, Any] = {SIGNALS[kind]: [entry["file"]] if kind == "error" else entry["file"]}
        tiers = asked.context(**signal).tiers
        text = "\n".join(line.text for tier in tiers[:1] for line in tier.lines)
        named[kind] += [holds(text, decision["forms"]) for decision in entry["decisions"]]
    return shares({**named, "all": [one for kind in named.values() for one in kind]})


def core(asked: Asked) -> dict[str, float]:
    """Precision, recall and F1 of the lines of core memory against the list, by forms."""
    lines = [line for line in asked.memory.core().splitlines() if line.startswith("- ")]
    wanted = asked.world.core
    if not wanted:
        return {}
    fitting = [any(holds(line, entry["forms"]) for entry in wanted) for line in lines]
    named = [any(holds(line, entry["forms"]) for line in lines) for entry in wanted]
    precision, recall = sum(fitting) / max(len(lines), 1), sum(named) / len(wanted)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"lines": len(lines), **_rounded({"precision": precision, "recall": recall, "f1": f1})}


def whose_word(asked: Asked) -> dict[str, Any]:
    """Share of the labelled statements whose memory has the label's origin, and each wrong origin with its count.

    The memory of a statement is the one that says most of it among those that rest on its evidence. A statement that
    no memory says is left out of the share and counted as `missing`.
    """
    rarity = _rarity([_said(cell) for cell in asked.cells])
    pairs = [(entry["whose"], _origin(asked, entry, rarity)) for entry in asked.world.whose]
    judged = [(label, origin) for label, origin in pairs if origin]
    if not pairs:
        return {}
    right = [origin in ORIGINS[label] for label, origin in judged]
    wrong = Counter(f"{label} as {origin}" for label, origin in judged if origin not in ORIGINS[label])
    missing = len(pairs) - len(judged)
    return {
        **shares({"right": right}),
        "judged": len(judged),
        "missing": missing,
        "wrong": dict(wrong.most_common()),
    }


def _origin(asked: Asked, entry: dict[str, Any], rarity: Mapping[str, float]) -> str:
    """The origin of the memory that says a labelled statement, "" where none does.

    Words weigh by their rarity: the common ones are in every sentence. A memory that lacks half of the statement says
    something else, and so does one whose value is another number: a memory has one origin, that of the value which it
    states, and not that of what it gives as a reason.
    """
    wanted, evidence = set(terms(entry["statement"])), set(entry["evidence"])
    numbers = set(NUMBER.findall(entry["statement"]))
    found = []
    for cell in asked.cells:
        if cell.cell_type == "episode" or not asked.messages_of[cell.cell_id] & evidence:
            continue
        told, stated = set(terms(_said(cell))), set(NUMBER.findall(cell.value or ""))
        covered, alike = (
            _weight(wanted & told, rarity) / _weight(wanted, rarity),
            _alike(wanted, told, rarity),
        )
        if covered >= SAID and (not stated or stated & numbers):
            found.append((round(covered, 6), alike, cell.origin))
    return max(found)[2] if found else ""


def _said(cell: Cell) -> str:
    """All that a memory says, its fields too."""
    return " ".join(filter(None, (cell.content, cell.subject, cell.attribute, cell.value)))


def _alike(one: set[str], other: set[str], rarity: Mapping[str, float]) -> float:
    return _weight(one & other, rarity) / _weight(one | other, rarity)


def _weight(words: Iterable[str], rarity: Mapping[str, float]) -> float:
    return sum(rarity.get(word, rarity[""]) for word in words)


def _rarity(texts: Sequence[str]) -> dict[str, float]:
    """The weight of each word by the texts that have it, as BM25 has it; under "" that of a word that none has."""
    held = Counter(word for text in texts for word in set(terms(text)))
    return {word: math.log1p((len(texts) - held[word] + 0.5) / (held[word] + 0.5)) for word in (*held, "")}


def shares(answers: Mapping[str, Sequence[bool]]) -> dict[str, float]:
    """The share of each list of answers that is true, where there are any."""
    return _rounded({name: sum(given) / len(given) for name, given in answers.items() if given})


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in figures.items()}
