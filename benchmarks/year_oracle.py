"""A stand-in for the language model that knows the truth of an invented year (`benchmarks/year_world.py`).

It reads the prompt pages like a model and answers over HTTP in the form that each answer model wants. It lets noise
through, as models do, with little salience; it never mistakes what it is asked.
"""

import json
import re
from typing import Any

from benchmarks.scripted_answers import Item, enrich, group, infer, items_of, match, summarize, tell
from benchmarks.year_world import World
from slowwave.models.answers.extract import MAX_CELLS

FACT = re.compile(r"[Tt]he (?P<attribute>[a-z ]+?) of (?P<subject>[A-Z]\w+ [a-z]+) is (?P<value>\d+ \w+)\.")
NOISE = re.compile(r"[A-Z]\w+ counted \d+ \w+ at the \w+ on day \d+\.")
CORE_AIM = re.compile(r"^Choose at most (\d+)\.", re.MULTILINE)


class Oracle:
    """An answer function for a scripted server; `calls` counts its answers by answer model."""

    def __init__(self, world: World) -> None:
        self.calls: dict[str, int] = {}
        self._world = world
        self.answers = {
            "GateAnswer": self._gate,
            "ExtractAnswer": self._extract,
            "ReconcileAnswer": self._reconcile,
            "TombstoneAnswer": self._compare_with_deleted,
            "GroupsAnswer": group,
            "SummaryAnswer": summarize,
            "EpisodeAnswer": tell,
            "EntityAnswer": enrich,
            "CausesAnswer": infer,
            "PeopleAnswer": match,
            "PromoteAnswer": self._promote,
        }

    def __call__(self, body: dict[str, Any]) -> str:
        """The answer's JSON text."""
        name = str(body["tools"][0]["function"]["name"])
        page = next(str(message["content"]) for message in body["messages"] if message["role"] == "user")
        self.calls[name] = self.calls.get(name, 0) + 1
        return json.dumps(self.answers[name](page))

    def _gate(self, _: str) -> dict[str, Any]:
        return {"reason": "Somebody says something.", "is_worth_remembering": True}

    def _extract(self, page: str) -> dict[str, Any]:
        before, _, turns = page.partition("## Turns")
        known = {(item.get("subject"), item.get("attribute")): item for item in items_of(before)}
        facts, noise = [], []
        for turn in items_of(turns):
            for found in FACT.finditer(turn["text"]):
                subject, attribute, value = found["subject"], found["attribute"], found["value"]
                match = known.get((subject, attribute))
                is_same = match is not None and match.get("value") == value
                relation = "new" if match is None else "confirmed" if is_same else "changed"
                cell = {
                    "cell_type": self._world.types.get((subject, attribute), "fact"),
                    "content": f"The {attribute} of {subject} is {value}.",
                    **{"subject": subject, "attribute": attribute, "value": value, "topic": subject},
                    **{"salience": 0.7, "relation": relation, "known": int(match["number"]) if match else 0},
                }
                facts.append(self._cell(turn, cell))
            for text in NOISE.findall(turn["text"]):
                cell = {"cell_type": "fact", "content": text, "topic": "things seen", "salience": 0.3}
                nothing = {"subject": "", "attribute": "", "value": "", "relation": "new", "known": 0}
                noise.append(self._cell(turn, {**cell, **nothing}))
        return {"cells": [*facts, *noise][:MAX_CELLS]}

    @staticmethod
    def _cell(turn: Item, given: dict[str, Any]) -> dict[str, Any]:
        nothing = {"valid_from": "", "valid_until": "", "entities": [], "steps": []}
        return {**given, **nothing, "confidence": 0.9, "evidence": [int(turn["number"])]}

    def _reconcile(self, page: str) -> dict[str, Any]:
        items = items_of(page)
        return {"judgements": [self._judged(item, items) for item in items if item["head"].startswith("NEW")]}

    def _judged(self, new: Item, items: list[Item]) -> dict[str, Any]:
        """Against the latest other memory of the same subject and attribute; of two new ones the later is judged."""
        number = int(new["number"])
        others = [
            item
            for item in items
            if item is not new
            and new.get("attribute")
            and (item.get("subject"), item.get("attribute")) == (new["subject"], new["attribute"])
            and not (item["head"].startswith("NEW") and int(item["number"]) > number)
        ]
        judgement = {"new": number, "reason": "Compared subject, attribute and value."}
        if not others:
            nothing = dict.fromkeys(("subject", "attribute", "target_value", "new_value"), "")
            return {**judgement, "verdict": "keep", "target": 0, **nothing}
        target = max(
            others, key=lambda item: (*re.findall(r"\d{4}-\d\d-\d\d", item["head"])[:1], int(item["number"]))
        )
        key = (new["subject"], new["attribute"], new["value"])
        verdict = "corrects" if key in self._world.corrected else "updates"
        if target.get("value") == new["value"]:
            verdict = "confirms"
        named = {"target": int(target["number"]), "subject": key[0], "attribute": key[1]}
        values = {"target_value": target.get("value", ""), "new_value": key[2]}
        return {**judgement, "verdict": verdict, **named, **values}

    @staticmethod
    def _compare_with_deleted(_: str) -> dict[str, Any]:
        """Nobody deletes anything in this world."""
        return {"reason": "It is about something else.", "same_as": 0}

    @staticmethod
    def _promote(page: str) -> dict[str, Any]:
        """What an answer leaned on or people said again, in the page's order, as far as the page allows."""
        found = CORE_AIM.search(page)
        most = int(found[1]) if found else 40
        used = [item for item in items_of(page) if not re.search(r"cited 0,.*confirmed 0", item["head"])]
        return {"chosen": [int(item["number"]) for item in used][: min(most, 40)]}
