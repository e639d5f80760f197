"""A stand-in for the language model: reads the prompt pages and answers them by plain rules.

It knows the sentences that `benchmarks/night.py` invents ("The <attribute> of <subject> is now <value>.") and
answers every prompt in the form that its answer model wants, so that a night makes the calls that it would
make with a real model. What it says is no measure of quality. It counts calls and tokens by prompt.
"""

import json
import re
import threading
from collections import Counter
from typing import Any

from slowwave.models.answers.extract import MAX_CELLS
from slowwave.models.answers.write import MAX_GROUPS

CHARACTERS_A_TOKEN = 4.0
FACT = re.compile(r"The (?P<attribute>[a-z ]+) of (?P<subject>[A-Z]\w+ [a-z]+) is now (?P<value>\d+ \w+)\.")
_ITEM = re.compile(r"^\[(\d+)\] ?(.*)$", re.MULTILINE)
_SUBJECT = re.compile(r" of ([A-Z]\w+ [a-z]+) is ")
_FIELD = re.compile(r"^(subject|attribute|value): (.*)$", re.MULTILINE)

Item = dict[str, str]


class ScriptedAnswers:
    """An answer function for a scripted server, and what it was asked: `calls`, `tokens_in`, `tokens_out`."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.tokens_in: Counter[str] = Counter()
        self.tokens_out: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, body: dict[str, Any]) -> str:
        """The answer's JSON text; tokens are estimated from the characters of the whole request and the answer."""
        name = str(body["tools"][0]["function"]["name"])
        page = next(str(message["content"]) for message in body["messages"] if message["role"] == "user")
        answer = json.dumps(ANSWERS[name](page))
        asked = json.dumps([body["messages"], body["tools"]], ensure_ascii=False)
        with self._lock:
            self.calls[name] += 1
            self.tokens_in[name] += round(len(asked) / CHARACTERS_A_TOKEN)
            self.tokens_out[name] += round(len(answer) / CHARACTERS_A_TOKEN)
        return answer


def items_of(text: str) -> list[Item]:
    """The numbered items of a page: number, head, quoted text, and the fields that the item names."""
    parts = _ITEM.split(text)
    return [
        {
            "number": number,
            "head": head,
            "text": " ".join(line[2:] for line in rest.splitlines() if line.startswith("> ")),
            **dict(_FIELD.findall(rest)),
        }
        for number, head, rest in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    ]


def _gate(page: str) -> dict[str, Any]:
    is_worth = FACT.search(page) is not None
    return {"reason": "A value is set." if is_worth else "Only talk.", "is_worth_remembering": is_worth}


def _extract(page: str) -> dict[str, Any]:
    before, _, turns = page.partition("## Turns")
    known = {(item.get("subject"), item.get("attribute")): item for item in items_of(before)}
    said = {}  # of a value that changes on the page, the last one
    for turn in items_of(turns):
        for fact in FACT.finditer(turn["text"]):
            said[fact["subject"], fact["attribute"]] = (int(turn["number"]), fact["value"])
    cells = []
    for (subject, attribute), (turn_number, value) in said.items():
        match = known.get((subject, attribute))
        relation = "new" if match is None else "confirmed" if match.get("value") == value else "changed"
        cells.append(
            {
                "cell_type": "fact",
                "content": f"The {attribute} of {subject} is {value}.",
                "subject": subject,
                "attribute": attribute,
                "value": value,
                "topic": subject,
                "salience": 0.6,
                "confidence": 0.9,
                "valid_from": "",
                "valid_until": "",
                "evidence": [turn_number],
                "relation": relation,
                "known": int(match["number"]) if match else 0,
                "entities": [f"{subject.split()[0]} (project)"],
                "steps": [],
            }
        )
    return {"cells": cells[:MAX_CELLS]}


def _reconcile(page: str) -> dict[str, Any]:
    items = items_of(page)
    judgements = []
    for new in (item for item in items if item["head"].startswith("NEW")):
        target = next((item for item in items if item is not new and _is_about_same(item, new)), None)
        verdict = "keep"
        if target is not None:
            verdict = "confirms" if target.get("value") == new.get("value") else "updates"
        if (
            target is not None
            and target["head"].startswith("NEW")
            and int(target["number"]) > int(new["number"])
        ):
            verdict, target = "keep", None  # of two new ones the higher number is judged
        judgements.append(
            {
                "new": int(new["number"]),
                "reason": "Compared subject, attribute and value.",
                "verdict": verdict,
                "target": int(target["number"]) if target else 0,
                "subject": target.get("subject", "") if target else "",
                "attribute": target.get("attribute", "") if target else "",
                "target_value": target.get("value", "") if target else "",
                "new_value": new.get("value", "") if target else "",
            }
        )
    return {"judgements": judgements}


def _is_about_same(one: Item, other: Item) -> bool:
    return bool(one.get("attribute")) and all(
        one.get(name) == other.get(name) for name in ("subject", "attribute")
    )


def group(page: str) -> dict[str, Any]:
    """A topic for each subject, as far as an answer may have so many, and one for everything else."""
    before, _, memories = page.partition("## New memories")
    known = {item["head"].rpartition(" (")[0]: int(item["number"]) for item in items_of(before)}
    groups: dict[str, list[int]] = {}
    for item in items_of(memories):
        found = _SUBJECT.search(item["text"])
        name = found[1] if found and (found[1] in groups or len(groups) < MAX_GROUPS - 1) else "other things"
        groups.setdefault(name, []).append(int(item["number"]))
    return {
        "groups": [
            {"topic": known.get(name, 0), "name": "" if name in known else name, "memories": numbers}
            for name, numbers in groups.items()
        ]
    }


def summarize(page: str) -> dict[str, Any]:
    """The first words of the page's memories, under the topic's own name."""
    words = " ".join(item["text"] for item in items_of(page)).split()
    name = re.search(r"^name: (.*)$", page, re.MULTILINE)
    label = " ".join(name[1].split()[:4]) if name else "topic"
    return {"name": label, "summary": " ".join(words[:100]), "compressed": " ".join(words[:12])}


def tell(page: str) -> dict[str, Any]:
    """An episode in the first words of its page."""
    words = " ".join(item["text"] for item in items_of(page)).split()
    return {
        "title": " ".join(words[:6]),
        "narrative": " ".join(words[:100]),
        "summary": " ".join(words[:40]),
        "compressed": " ".join(words[:12]),
        "index_label": "_".join(words[:2]).lower(),
    }


def _promote(page: str) -> dict[str, Any]:
    return {"chosen": [int(item["number"]) for item in items_of(page)][:40]}


def enrich(page: str) -> dict[str, Any]:
    """An entity in the first words of its page."""
    words = " ".join(item["text"] for item in items_of(page)).split()
    return {"summary": " ".join(words[:40])}


def infer(_: str) -> dict[str, Any]:
    """Nothing led to anything."""
    return {"causes": []}


def match(_: str) -> dict[str, Any]:
    """Nobody is somebody else."""
    return {"same": []}


ANSWERS = {
    "GateAnswer": _gate,
    "ExtractAnswer": _extract,
    "ReconcileAnswer": _reconcile,
    "GroupsAnswer": group,
    "SummaryAnswer": summarize,
    "EpisodeAnswer": tell,
    "PromoteAnswer": _promote,
    "EntityAnswer": enrich,
    "CausesAnswer": infer,
    "PeopleAnswer": match,
}
"""By answer model: nights of the benchmarks review and delete nothing."""
