"""A model that answers every prompt by simple rules from the request alone, and the homes that it serves.

It stands behind `tests.servers`, as `OpenAIServer(ScriptedModel())` or `OllamaServer(ScriptedModel())`. What it
says depends on the page and on nothing else: neither on the order of the calls nor, unless told otherwise, on
the known memories that the extractor is shown. So a night that was killed and started again hears the same.
The tests' conversations are written in its language:

    The <attribute> of <subject> is [now] <value>.         a fact with one value; another value updates it
    Correction: the <attribute> of <subject> is <value>.   the value before was wrong
    According to <name> the <attribute> of ...             another voice: another value contradicts
    <Name> prefers <what>.                                 a preference
    any other sentence with a number in it                 a plain fact
"""

import json
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from slowwave.home.paths import open_home
from slowwave.journal.segments import Journal
from slowwave.schemas.tables import KEYS, TABLES
from slowwave.store import Store, open_store
from tests.servers import REFUSAL, SERVER_ERROR, Body, Fault, answer_name, rate_limited, silence, user_text

MOST_PLAIN_FACTS = 6
"""Plain facts that the model takes from one page; statements in its language are all taken."""

SHORT_WORDS = 6
"""A page whose turns are all shorter than this is chatter."""

CORE_LINES = 8

_ITEM = re.compile(r"^\[(?P<number>\d+)\](?: (?P<head>.*))?$")
_STATEMENT = re.compile(
    r"(?:(?P<correction>Correction: )|According to (?P<voice>\w+) |.*?[:,] )?the (?P<attribute>[\w ]+?) of "
    r"(?P<subject>.+?) is (?:now )?(?P<value>.+)",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(r"(?P<subject>[A-Z]\w+) prefers .+")


@dataclass(frozen=True)
class Item:
    """A numbered item of a page: what stands behind its number, its named fields, its quoted text."""

    number: int
    head: str
    fields: dict[str, str]
    text: str

    @property
    def key(self) -> tuple[str, str]:
        """Subject and attribute, as they are compared."""
        return self.fields.get("subject", "").lower(), self.fields.get("attribute", "").lower()

    @property
    def date(self) -> str:
        """The item's date; empty where its day is unknown."""
        return next(iter(re.findall(r"\d{4}-\d{2}-\d{2}", self.head)), "")


def items(page: str, heading: str) -> list[Item]:
    """The numbered items under one heading of a page."""
    part = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    found: list[Item] = []
    for line in part[1].splitlines() if part else []:
        item, name = _ITEM.match(line), re.match(r"^(subject|attribute|value): (.*)$", line)
        if item:
            found.append(Item(int(item["number"]), item["head"] or "", {}, ""))
        elif name and found:
            found[-1].fields[name[1]] = name[2]
        elif line.startswith(">") and found:
            last = found[-1]
            found[-1] = Item(last.number, last.head, last.fields, f"{last.text} {line[1:].strip()}".strip())
    return found


@dataclass
class ScriptedModel:
    """Answers by answer model. `said` counts the answers given, by answer model."""

    uses_known: bool = False
    said: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __call__(self, body: Body) -> str | Fault:
        return json.dumps(self.answer(body))

    def answer(self, body: Body) -> dict[str, Any]:
        name, page = answer_name(body), user_text(body)
        with self._lock:
            self.said[name] = self.said.get(name, 0) + 1
        return {
            "GateAnswer": self.gate,
            "ExtractAnswer": self.extract,
            "ReconcileAnswer": self.reconcile,
            "SummaryAnswer": self.summarize,
            "EpisodeAnswer": self.tell,
            "PromoteAnswer": self.promote,
            "EntityAnswer": self.enrich,
            "CausesAnswer": self.infer,
            "PeopleAnswer": self.match,
            "GroupsAnswer": self.file,
            "TombstoneAnswer": self.judge_tombstone,
        }[name](page)

    def gate(self, page: str) -> dict[str, Any]:
        worth = any(len(turn.text.split()) >= SHORT_WORDS for turn in items(page, "Turns"))
        return {
            "reason": "Somebody says something." if worth else "Only chatter.",
            "is_worth_remembering": worth,
        }

    def extract(self, page: str) -> dict[str, Any]:
        known = {item.key: item for item in items(page, "Known memories")} if self.uses_known else {}
        cells: dict[str, dict[str, Any]] = {}
        plain_count = 0
        for turn in items(page, "Turns"):
            for sentence in _sentences(turn.text) if not turn.head.endswith(", read before") else ():
                cell = _cell(sentence)
                if cell["subject"] == "":
                    plain_count += 1
                    if plain_count > MOST_PLAIN_FACTS:
                        continue
                cell = cells.setdefault(sentence.lower(), cell)
                cell["evidence"] = [*cell["evidence"], turn.number]
                _relate(cell, known)
        return {"cells": list(cells.values())[:40]}

    def reconcile(self, page: str) -> dict[str, Any]:
        shown = items(page, "Memories")
        return {"judgements": [_judgement(item, shown) for item in shown if item.head.startswith("NEW ")]}

    def judge_tombstone(self, page: str) -> dict[str, Any]:
        """The same where the words are, apart from little ones."""
        little = frozenset(["the", "of", "is", "now", "a", "to", "has", "at", "so", "well"])
        new = re.search(r"^## New memory$(.*?)^## ", page, re.MULTILINE | re.DOTALL)[1]
        said = frozenset(re.findall(r"\w+", new.lower())) - little
        for item in items(page, "Deleted memories"):
            if said == frozenset(re.findall(r"\w+", item.text.lower())) - little:
                return {"reason": "The same words that count.", "same_as": item.number}
        return {"reason": "Another statement.", "same_as": 0}

    def summarize(self, page: str) -> dict[str, Any]:
        name = re.search(r"^name: (.*)$", page, re.MULTILINE)[1]
        most = int(re.search(r"^At most (\d+) words\.$", page, re.MULTILINE)[1])
        words = " ".join(item.text for item in reversed(items(page, "Memories"))).split()
        return {
            "name": " ".join(name.split()[:4]),
            "summary": " ".join(words[:most]),
            "compressed": " ".join(words[:12]),
        }

    def tell(self, page: str) -> dict[str, Any]:
        """The turns of the page one after the other, and what replaced a memory."""
        turns = items(page, r"Turns: \d+ of \d+")
        most, short = map(int, re.search(r"^At most (\d+) words, summary at most (\d+)", page, re.M).groups())
        replaced = re.findall(r"^since replaced by .*\n> (.*)$", page, re.MULTILINE)
        words = " ".join([*replaced, *(turn.text for turn in turns)]).split()
        return {
            "title": " ".join(turns[0].text.split()[:6]),
            "narrative": " ".join(words[:most]),
            "summary": " ".join(words[:short]),
            "compressed": " ".join(words[:12]),
            "index_label": "_".join(re.findall(r"[a-z]+", turns[0].text.lower())[:3]),
        }

    def promote(self, page: str) -> dict[str, Any]:
        most = int(re.search(r"^Choose at most (\d+)\.$", page, re.MULTILINE)[1])
        return {"chosen": [item.number for item in items(page, "Candidates")][: min(most, CORE_LINES)]}

    def enrich(self, page: str) -> dict[str, Any]:
        name = re.search(r"^name: (.*)$", page, re.MULTILINE)[1]
        return {"summary": f"{name} stands in {len(items(page, 'Memories'))} memories."}

    def match(self, page: str) -> dict[str, Any]:
        """Whoever is asked about is the first other person with the same last word in a memory."""
        people = {item.number: item.text.split()[-1] for item in items(page, "People")}
        asked = map(int, re.search(r"^## Who is: (.*)$", page, re.MULTILINE)[1].split(", "))
        pairs = [
            (one, next((n for n, word in people.items() if n != one and word == people[one]), 0))
            for one in asked
        ]
        return {"same": [{"described": one, "person": other} for one, other in pairs if other]}

    def file(self, page: str) -> dict[str, Any]:
        """By the subject, as the extractor names topics."""
        known = {item.head.rpartition(" (")[0]: item.number for item in items(page, "Topics")}
        groups: dict[str, list[int]] = {}
        for item in items(page, "New memories"):
            groups.setdefault(_cell(item.text.rstrip("."))["topic"], []).append(item.number)
        return {
            "groups": [
                {"topic": known.get(name, 0), "name": "" if name in known else name, "memories": numbers}
                for name, numbers in groups.items()
            ]
        }

    def infer(self, page: str) -> dict[str, Any]:
        """To a memory that says because, the one before it on the page led."""
        asked = map(int, re.search(r"^## Look for what led to: (.*)$", page, re.MULTILINE)[1].split(", "))
        said = {item.number: item.text for item in items(page, "Memories, oldest first")}
        effects = [number for number in asked if "because" in said[number] and number > 1]
        return {"causes": [{"cause": number - 1, "effect": number, "why": "led to it"} for number in effects]}


def _sentences(text: str) -> list[str]:
    """Sentences that the model remembers, without the dot at the end."""
    whole = [part.strip().rstrip(".!") for part in re.split(r"(?<=[.!?])\s+", text)]
    return [
        part
        for part in whole
        if not part.endswith("?")
        and len(part.split()) >= 4
        and (_STATEMENT.fullmatch(part) or _PREFERENCE.fullmatch(part) or re.search(r"\d", part))
    ]


def _cell(sentence: str) -> dict[str, Any]:
    statement, preference = _STATEMENT.fullmatch(sentence), _PREFERENCE.fullmatch(sentence)
    subject = attribute = value = ""
    if statement:
        subject, attribute, value = (statement[name].strip() for name in ("subject", "attribute", "value"))
    elif preference:
        subject = preference["subject"]
    return {
        "cell_type": "preference" if preference and not statement else "fact",
        "content": f"{sentence[:1100]}.",
        "subject": subject,
        "attribute": attribute,
        "value": value,
        "topic": " ".join(subject.split()[:4]) or "plain facts",
        "salience": 0.7 if subject else 0.5,
        "confidence": 0.9,
        "valid_from": "",
        "valid_until": "",
        "evidence": [],
        "relation": "new",
        "known": 0,
        "entities": [],
        "steps": [],
    }


def _relate(cell: dict[str, Any], known: Mapping[tuple[str, str], Item]) -> None:
    before = known.get((cell["subject"].lower(), cell["attribute"].lower()))
    if before is not None and cell["attribute"]:
        same = before.fields.get("value", "").lower() == cell["value"].lower()
        cell["relation"], cell["known"] = "confirmed" if same else "changed", before.number


def _judgement(item: Item, shown: Sequence[Item]) -> dict[str, Any]:
    """Against the latest other memory of the same subject and attribute; of two new ones the later is judged."""
    others = [
        other
        for other in shown
        if other.number != item.number
        and other.key == item.key
        and all(item.key)
        and not (other.head.startswith("NEW ") and other.number > item.number)
    ]
    if not others:
        nothing = dict.fromkeys(("subject", "attribute", "target_value", "new_value"), "")
        kept = {"verdict": "keep", "target": 0, **nothing}
        return {"new": item.number, "reason": "Nothing else speaks of this.", **kept}
    target = max(others, key=lambda other: (other.date, other.number))
    subject, attribute = target.fields["subject"], target.fields["attribute"]
    same = target.fields.get("value", "").lower() == item.fields.get("value", "").lower()
    if same:
        verdict = "confirms"
    elif "According to " in f"{item.text} {target.text}":
        verdict = "contradicts"
    else:
        verdict = "corrects" if item.text.startswith("Correction: ") else "updates"
    reason = f"{attribute} of {subject}: {target.fields.get('value')} and {item.fields.get('value')}."
    return {
        "new": item.number,
        "reason": reason,
        "verdict": verdict,
        "target": target.number,
        "subject": subject,
        "attribute": attribute,
        "target_value": target.fields.get("value", ""),
        "new_value": item.fields.get("value", ""),
    }


# What goes wrong


def wrong_enum(said: dict[str, Any]) -> dict[str, Any]:
    """The answer with a word that no list has; one without such a field gets a field that nobody asked for."""
    spoiled = json.loads(json.dumps(said))
    for row in [*spoiled.get("cells", []), *spoiled.get("judgements", [])][:1]:
        row["cell_type" if "cell_type" in row else "verdict"] = "rumour"
        return spoiled
    return {**spoiled, "mood": "sunny"}


def invented_ids(said: dict[str, Any]) -> dict[str, Any]:
    """The answer with numbers that the page does not show; one without numbers loses its fields."""
    spoiled = json.loads(json.dumps(said))
    if "chosen" in spoiled:
        return {"chosen": [*spoiled["chosen"], 990]}
    for row in spoiled.get("cells", [])[:1]:
        row["evidence"] = [991]
        return spoiled
    for row in spoiled.get("judgements", [])[:1]:
        row.update(verdict="updates", target=992, subject="nobody", attribute="nothing")
        return spoiled
    return {}


@dataclass
class Failing:
    """A model of whose calls every `every`-th goes wrong, in turn in each of the ways that a model can.

    It falls silent for longer than any client of a test waits, so that a client may be patient enough for a
    machine under load; and only `silence_count` times, since each silence costs the test the client's patience.
    """

    model: ScriptedModel
    every: int = 5
    silent_seconds: float = 120.0
    silence_count: int = 1
    spoilt: list[str] = field(default_factory=list)
    spoilt_of: dict[str, int] = field(default_factory=dict)
    """Calls that went wrong, by answer model."""
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    WAYS = ("429", "500", "time-out", "cut", "wrong enum", "invented ids", "refusal")

    def __call__(self, body: Body) -> str | Fault:
        with self._lock:
            self._count += 1
            way = None
            if self._count % self.every == 0:
                is_spent = self.spoilt.count("time-out") >= self.silence_count
                ways = [way for way in self.WAYS if not (is_spent and way == "time-out")]
                way = min(ways, key=self.spoilt.count)  # the first of those that came least often
                self.spoilt.append(way)
                name = answer_name(body)
                self.spoilt_of[name] = self.spoilt_of.get(name, 0) + 1
        said = self.model.answer(body)
        return {
            None: json.dumps(said),
            "429": rate_limited(),
            "500": SERVER_ERROR,
            "time-out": silence(self.silent_seconds, json.dumps(said)),
            "cut": Fault("cut", json.dumps(said)),
            "wrong enum": json.dumps(wrong_enum(said)),
            "invented ids": json.dumps(invented_ids(said)),
            "refusal": REFUSAL,
        }[way]


# Homes and conversations


def write_settings(home: Path, **groups: Mapping[str, object]) -> str:
    """A home with a `slowwave.toml`; `llm={"provider": ...}` becomes the table `[llm]`. Returns the home's path."""
    home.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    for name, group in groups.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in group.items()), ""]
    (home / "slowwave.toml").write_text("\n".join(lines), encoding="utf-8")
    return str(home)


def write_chat(folder: Path, session: str, turns: Iterable[tuple[str, str, str]]) -> Path:
    """A chat file of turns (timestamp, speaker, text); the speaker `assistant` is the assistant."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session}.jsonl"
    records = [
        {
            "session_id": session,
            "id": f"{session}-{number}",
            "timestamp": time,
            "role": "assistant" if speaker == "assistant" else "user",
            "speaker": speaker,
            "content": text,
        }
        for number, (time, speaker, text) in enumerate(turns)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def store_of(home: Path | str) -> Store:
    """The living store of a home."""
    return open_store(open_home(home).store_root)


def tables(home: Path | str) -> dict[str, pl.DataFrame]:
    """Every table without its vectors, sorted by its key, lists as text."""
    store = store_of(home)
    return {table: flat(store.rows(table)).sort(KEYS[table]) for table in TABLES}


def flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Lists as text, so that frames can be compared and joined."""
    return frame.with_columns(pl.col(pl.List(pl.String)).list.join("|"))


MEMORY: dict[str, list[str]] = {
    "turns": ["turn_id", "session_id", "content", "content_hash"],
    "sources": ["source_id", "hash", "turn_count"],
    "chunks": ["chunk_id", "status", "attempts", "error"],
    "cells": [
        "cell_id", "status", "content", "subject", "attribute", "value", "topic_id", "superseded_by", "supersedes",
        "summary", "valid_from", "valid_until", "is_judged", "is_summarized", "evidence", "chunk_id",
    ],
    "cell_usage": ["cell_id", "confirmations", "retrieval_count", "revived_count"],
    "topics": ["topic_id", "name", "summary", "cell_count", "unsummarized_count", "needs_review", "merged_into"],
    "contradictions": ["contradiction_id", "cell_a", "cell_b", "status"],
    "core": ["cell_id", "line_rank", "line"],
}  # fmt: skip
"""What a memory is, apart from when it was learned and what it cost."""


def memory(home: Path | str) -> dict[str, pl.DataFrame]:
    """What the home remembers: the columns of `MEMORY`, sorted."""
    return {table: rows.select(MEMORY[table]) for table, rows in tables(home).items() if table in MEMORY}


def assert_same_memory(found: Mapping[str, pl.DataFrame], wanted: Mapping[str, pl.DataFrame]) -> None:
    """Says which rows of which table differ."""
    for table, rows in wanted.items():
        extra = found[table].join(rows, on=rows.columns, how="anti", nulls_equal=True)
        missing = rows.join(found[table], on=rows.columns, how="anti", nulls_equal=True)
        told = f"{table}: only here {extra.to_dicts()[:3]}, only there {missing.to_dicts()[:3]}"
        assert not extra.height + missing.height, told
        assert found[table].height == rows.height, f"{table}: {found[table].height} rows, not {rows.height}"


def assert_no_row_twice(home: Path | str) -> None:
    """Every key stands once in its table."""
    store = store_of(home)
    for table, key in KEYS.items():
        keys = store.rows(table, [key])[key]
        assert keys.n_unique() == len(keys), f"{table} holds a key twice"


def segments(home: Path | str) -> dict[str, str]:
    """The journal's segments with the hash of their bytes."""
    journal = Journal(Path(home) / "journal")
    found = {}
    for segment in journal.segment_ids():
        with suppress(FileNotFoundError):
            found[segment] = sha256(journal.path_of(segment).read_bytes()).hexdigest()
    return found
