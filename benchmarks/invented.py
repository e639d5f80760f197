"""Invented conversations, and the journal of a store that many nights would have left, for `benchmarks/night.py`.

Everything is drawn from one seed: the same numbers give the same texts and the same ids on every machine.
"""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from slowwave.journal.catalogue import CATALOGUE, encode
from slowwave.schemas.identity import content_hash, stable_id

SEED = 20_261_120
SESSION_TURNS, CHUNK_TURNS, CHUNK_CELLS, TOPIC_CELLS = 60, 6, 4, 20

Row = dict[str, Any]

OWNER = {"user_id": "local", "project_id": "default", "scope": "user-private"}
PROVENANCE = {"prompt_version": "extract_cells.v1", "model": "invented"}


AREAS = [
    "invoice ledger payment refund currency receipt tax audit customer balance statement bank transfer fee discount",
    "deploy cluster container image rollout pipeline staging release canary rollback node registry secret quota",
    "garden tomato compost seed greenhouse watering soil bed harvest frost pepper fence mulch trowel slug",
    "login token session password cookie browser redirect scope expiry header user role permission device consent",
    "flight hotel passport train museum luggage ticket island ferry itinerary harbour beach visa border guide",
    "model training dataset label accuracy epoch gradient batch sample feature metric baseline vector embedding score",
    "recipe flour butter oven dough cinnamon salad onion garlic pan dinner lemon rice soup simmer",
    "schema migration index query table column replica backup partition trigger cursor lock vacuum shard join",
    "running knee stretch marathon pace shoes coach heart interval recovery sleep breathing hill gym warmup",
    "contract lawyer tenant lease clause notice deposit landlord repair signature insurance claim deadline term damage",
    "guitar chord melody rehearsal drummer stage lyrics tempo studio microphone concert song band bass amplifier",
    "sensor firmware battery antenna solder voltage board enclosure radio relay motor cable probe thermostat gauge",
]
ATTRIBUTES = [
    "timeout",
    "budget",
    "batch size",
    "owner count",
    "retry limit",
    "target",
    "interval",
    "capacity",
]
UNITS = ["seconds", "euros", "rows", "people", "times", "percent", "minutes", "pieces"]
SPEAKERS = ["Mara", "Ilya", "Noor", "Teo"]
TALK = [
    "Could you look at the {a} of {name} again, the {b} looks wrong since the {c} changed.",
    "I think the {a} and the {b} belong together, because every {c} of {name} needs both.",
    "We talked about the {b} yesterday and nobody knew why the {a} was there in the first place.",
    "The {a} works, but the {b} of {name} is still slow when the {c} grows.",
    "Let us keep the {c} as it is and move the {a} behind the {b}.",
    "My worry is that the {b} breaks as soon as {name} gets a second {a}.",
    "Thanks, that is what I meant about the {c}.",
    "I checked the {a} twice, then compared it with the {b}, and only the {c} differs.",
]


def seeded(label: str) -> random.Random:
    """Chance that is the same on every run."""
    return random.Random(f"{SEED}-{label}")  # noqa: S311 - a benchmark's dice


def topic(number: int) -> tuple[str, list[str]]:
    """An invented theme: its name and the words it uses. The same number is always the same theme."""
    chance = seeded(f"topic-{number}")
    name = "".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(4)).title()
    return name, chance.sample(AREAS[number % len(AREAS)].split(), 8) + chance.sample(
        AREAS[number * 7 % 11].split(), 2
    )


def sentence(chance: random.Random, theme: tuple[str, list[str]], *, is_fact: bool) -> str:
    """One sentence about a theme; a fact fixes a value in the form that `scripted_answers.FACT` reads."""
    name, words = theme
    if is_fact:
        kind = chance.randrange(len(ATTRIBUTES))
        value = f"{5 * chance.randint(1, 40)} {UNITS[kind]}"
        return f"The {ATTRIBUTES[kind]} of {name} {chance.choice(words)} is now {value}."
    a, b, c = chance.sample(words, 3)
    return chance.choice(TALK).format(a=a, b=b, c=c, name=name)


def message(chance: random.Random, theme: tuple[str, list[str]]) -> str:
    """A message of 5 to 150 words, most of them short."""
    wanted, text = min(5 + int(chance.expovariate(1 / 40)), 150), ""
    while text.count(" ") + 1 < wanted:
        text += " " * bool(text) + sentence(chance, theme, is_fact=chance.random() < 0.12)
    return " ".join(text.split()[:150])


def write_sessions(folder: Path, *, turns: int, topics: int, label: str) -> None:
    """Conversations as JSONL files in the plain chat form, 20 to 100 turns each, two themes a session."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = seeded(f"{label}")
    left, number = turns, 0
    while left > 0:
        themes = [topic(chance.randrange(topics)) for _ in range(2)]
        at = datetime(2026, 11, 1, 8, tzinfo=UTC) + timedelta(hours=5 * number)
        count, lines = min(left, chance.randint(20, 100)), []
        for index in range(count):
            at += timedelta(seconds=chance.randint(15, 240))
            said = {
                "role": "assistant" if index % 2 else "user",
                "speaker": None if index % 2 else SPEAKERS[number % len(SPEAKERS)],
                "content": message(chance, themes[2 * index // count]),
                "timestamp": at.isoformat(),
            }
            lines.append(json.dumps({name: value for name, value in said.items() if value}))
        (folder / f"{label}-{number:04d}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        left, number = left - count, number + 1


# -- the journal of a grown store


def night_of_events(numbers: range, topics: int, now: datetime) -> Iterator[pl.DataFrame]:
    """The segments of one night that made the memories with these numbers: a segment a session, then the stages'."""
    chance = seeded(f"night-{numbers.start}")
    cells: list[Row] = []
    opened: dict[int, str] = {}
    for start in range(numbers.start, numbers.stop, SESSION_TURNS // CHUNK_TURNS * CHUNK_CELLS):
        session = range(start, min(start + SESSION_TURNS // CHUNK_TURNS * CHUNK_CELLS, numbers.stop))
        pair = (session.start // 40 * 2 % topics, (session.start // 40 * 2 + 1) % topics)
        turns, chunks = session_rows(chance, session, pair, now)
        yield plan_of(
            {"turn.recorded": turns, "chunk.cut": chunks, "source.recorded": [source_row(session, now)]}
        )
        for position, number in enumerate(session):
            chunk = chunks[position // CHUNK_CELLS]
            theme = pair[2 * position // max(len(session), 1)]
            opened[theme] = stable_id("topic", str(theme))
            cells.append(cell_row(chance, number, theme, chunk))
    yield from made_and_filed(cells, opened)
    yield from judged_and_used(chance, cells, opened, now)
    ended = {
        "night_id": stable_id("night", str(numbers.start)),
        "started_at": now,
        "finished_at": now,
        "outcome": "completed",
        "has_llm": True,
        "call_count": 9,
        "token_count": 9_000,
        "cost": None,
        "note": "",
    }
    yield encode("night.completed", pl.DataFrame([ended]))


def made_and_filed(cells: list[Row], opened: dict[int, str]) -> Iterator[pl.DataFrame]:
    """What extraction and clustering commit."""
    done = [
        {"chunk_id": chunk, "cell_count": 4, "rejected_count": 0, **PROVENANCE}
        for chunk in dict.fromkeys(cell["chunk_id"] for cell in cells)
    ]
    yield plan_of({"cell.extracted": [{**cell, "topic_id": None} for cell in cells], "chunk.extracted": done})
    names = [
        {"topic_id": key, "name": f"{topic(theme)[0]} {topic(theme)[1][0]}", **OWNER}
        for theme, key in opened.items()
    ]
    yield plan_of(
        {
            "topic.opened": names,
            "cell.assigned": [
                {"cell_id": cell["cell_id"], "topic_id": cell["topic_id"], "similarity": 0.6}
                for cell in cells
            ],
        }
    )


def judged_and_used(
    chance: random.Random, cells: list[Row], opened: dict[int, str], now: datetime
) -> Iterator[pl.DataFrame]:
    """What reconciliation, summaries and the counting of usage commit."""
    ids = [cell["cell_id"] for cell in cells]
    pairs = [
        {
            "judgement_id": stable_id("judgement", new, old),
            "cell_id": new,
            "target_id": old,
            "verdict": "keep",
            "effect": "none",
            "reason": "different things",
            **OWNER,
            **PROVENANCE,
        }
        for new, old in zip(ids[1::4], ids[::4], strict=False)
    ]
    yield plan_of({"pair.judged": pairs, "cell.judged": [{"cell_id": cell} for cell in ids]})
    texts = [
        {
            "topic_id": key,
            "summary": " ".join(sentence(chance, topic(theme), is_fact=True) for _ in range(6)),
            "compressed": f"about {topic(theme)[0]}",
            "cell_ids": [cell["cell_id"] for cell in cells if cell["topic_id"] == key],
            **PROVENANCE,
        }
        for theme, key in opened.items()
    ]
    counts = [
        {"topic_id": text["topic_id"], "cell_count": TOPIC_CELLS, "unsummarized_count": 0} for text in texts
    ]
    yield plan_of({"topic.summarized": texts, "topic.counted": counts})
    uses = [
        {
            "usage_id": stable_id("usage", cell),
            "cell_id": cell,
            "usage_type": "retrieved",
            "used_at": now,
            "context": None,
        }
        for cell in ids[::2]
    ]
    yield plan_of({"usage.recorded": uses, "usage.folded": [{"usage_id": use["usage_id"]} for use in uses]})


def plan_of(plan: dict[str, list[Row]]) -> pl.DataFrame:
    """The events of a plan, as a stage commits them; columns that a row does not name are null."""
    parts = []
    for kind, rows in plan.items():
        if rows:
            payload = CATALOGUE[kind].payload
            whole = [{name: row.get(name) for name in payload} for row in rows]
            parts.append(encode(kind, pl.DataFrame(whole, schema=payload)))
    return pl.concat(parts)


def source_row(session: range, now: datetime) -> Row:
    """The file that a session came from."""
    name = f"grown-{session.start:07d}"
    return {
        "source_id": f"/grown/{name}.jsonl",
        "source_type": "conversation",
        "source_name": name,
        "hash": name,
        "turn_count": SESSION_TURNS,
        "indexed_at": now,
        **OWNER,
    }


def session_rows(
    chance: random.Random, session: range, pair: tuple[int, int], now: datetime
) -> tuple[list[Row], list[Row]]:
    """Turns and chunks of one session that gave the memories with these numbers."""
    source = source_row(session, now)
    shared = {
        **OWNER,
        **{name: source[name] for name in ("source_id", "source_type", "source_name")},
        "session_id": source["source_name"],
    }
    turns: list[Row] = []
    chunks = []
    count = -(-len(session) // CHUNK_CELLS)
    for chunk in range(count):
        part = []
        for index in range(chunk * CHUNK_TURNS, (chunk + 1) * CHUNK_TURNS):
            text = message(chance, topic(pair[2 * chunk // count]))
            is_agent = bool(index % 2)
            part.append(
                {
                    **shared,
                    "turn_id": stable_id("turn", source["source_name"], str(index)),
                    "turn_index": index,
                    "role": "assistant" if is_agent else "user",
                    "speaker": None if is_agent else "Mara",
                    "origin": "agent" if is_agent else "user",
                    "content": text,
                    "content_hash": content_hash(text),
                    "event_time": now - timedelta(hours=6) + timedelta(seconds=60 * index),
                }
            )
        ids = [turn["turn_id"] for turn in part]
        chunks.append(
            {
                **shared,
                "chunk_id": stable_id("chunk", *ids),
                "first_turn_index": part[0]["turn_index"],
                "last_turn_index": part[-1]["turn_index"],
                "first_char": 0,
                "last_char": len(part[-1]["content"]),
                "turn_ids": ids,
                "content_hash": stable_id(*ids),
                "token_count": 400,
                "event_time": part[-1]["event_time"],
                "status": "pending",
                "attempts": 0,
            }
        )
        turns += part
    return turns, chunks


def cell_row(chance: random.Random, number: int, theme: int, chunk: Row) -> Row:
    """An extracted memory of two sentences, with everything that a model's answer would have given it."""
    text = sentence(chance, topic(theme), is_fact=True) + " " + sentence(chance, topic(theme), is_fact=False)
    named = topic(theme)[0]
    return {
        **{
            name: chunk[name]
            for name in ("source_id", "source_type", "source_name", "session_id", "chunk_id", "event_time")
        },
        **OWNER,
        **PROVENANCE,
        "cell_id": stable_id("cell", str(number)),
        "topic_id": stable_id("topic", str(theme)),
        "topic_hint": named,
        "cell_type": "fact",
        "subject": named,
        "attribute": "value",
        "value": text.split()[-1],
        "content": text,
        "compressed": text[:60],
        "index_label": "value",
        "salience": round(chance.uniform(0.3, 0.9), 2),
        "confidence": 0.9,
        "status": "active",
        "needs_review": False,
        "is_judged": False,
        "is_summarized": False,
        "is_wish": False,
        "origin": "user",
        "valid_from": chunk["event_time"],
        "decay_rate": 0.1,
        "protected": False,
        "evidence": chunk["turn_ids"][:2],
        "content_hash": content_hash(text),
        "entities": [f"{named} (project)"],
        "artifacts": [],
        "steps": [],
    }
