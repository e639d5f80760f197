"""How fast a night is and what it asks of a language model: `python benchmarks/night.py [--json] [--quick]`.

On invented, seeded, dated conversations it measures three things, each in a process of its own:

- `whole`: turns a second through a whole first night without a language model, and the peak memory.
- `model`: calls and tokens by prompt, for a night with a scripted model over real HTTP.
- `growth`: the time of a night that adds the same turns to stores of growing size, by stage. The stores are
  made from journal events, the way many nights would have left them, and copied for every run. `cold` is the
  first night of a process with the store's files out of the page cache; `warm` is the best of the others.

Flows run in plain mode: Prefect is imported, its server is not started. `benchmarks/README.md` says more.
"""

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

SEED = 20_261_120
SIZES, TURNS, ADDED, REPEATS = (1_000, 10_000, 100_000), 3_000, 500, 3
QUICK_SIZES, QUICK_TURNS, QUICK_ADDED, QUICK_REPEATS = (200, 2_000), 300, 60, 1
SESSION_TURNS, CHUNK_TURNS, CHUNK_CELLS, TOPIC_CELLS, NIGHT_CELLS = 60, 6, 4, 20, 500
DAYS = 80
"""Days that a grown store spans: under `forget.unused_days`, so that no memory fades and every scan is full."""

AREAS = [
    "invoice ledger payment refund currency receipt tax audit customer balance statement bank transfer fee discount",
    "deploy cluster container image rollout pipeline staging release canary rollback node registry secret ingress quota",
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
ATTRIBUTES = ["timeout", "budget", "batch size", "owner count", "retry limit", "target", "interval", "capacity"]
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


def topic(number: int) -> tuple[str, list[str]]:
    """An invented theme: its name and the words it uses. The same number is always the same theme."""
    chance = random.Random(f"{SEED}-topic-{number}")  # noqa: S311 - seeded on purpose
    name = "".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(4)).title()
    return name, chance.sample(AREAS[number % len(AREAS)].split(), 8) + chance.sample(AREAS[number * 7 % 11].split(), 2)


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
    chance = random.Random(f"{SEED}-{label}")  # noqa: S311
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


# -- a store as many nights would have left it


def grow_store(home: Path, *, cells: int) -> dict[str, Any]:
    """Makes a home of `cells` memories from journal events, with vectors and indices, and lets one night settle it."""
    from slowwave.home import open_workspace
    from slowwave.schemas.tables import VECTOR_TEXT

    started = time.monotonic()
    use_home(home)
    nights = max(cells // NIGHT_CELLS, 1)
    first = datetime.now(UTC) - timedelta(days=DAYS)
    from slowwave.home import open_home

    journal = open_home(home).journal
    for night in range(nights):
        now = first + timedelta(days=DAYS * (night + 0.5) / nights)
        rows = range(night * cells // nights, (night + 1) * cells // nights)
        for plan in night_of_events(rows, cells // TOPIC_CELLS, now):
            journal.commit(plan, now=now)
    with open_workspace(home) as workspace:
        store, embedder = workspace.store, workspace.embedder
        assert embedder is not None
        for table in VECTOR_TEXT:  # in larger portions than a night takes, which writes the same rows
            missing = store.without_vector(table)
            for part in missing.iter_slices(20_000):
                vectors = embedder.embed_documents(part["text"].to_list()).vectors
                store.put_vectors(table, part.select(part.columns[0], vector=pl.Series(vectors)))
        workspace.refresh_vectors()
        store.optimize(
            vector_index_rows=workspace.settings.store.vector_index_rows, keep_versions=timedelta(hours=24)
        )
    write_sessions(home / "settling", turns=40, topics=cells // TOPIC_CELLS, label="settling")
    run_night(home, home / "settling")
    tables = ("turns", "chunks", "cells", "topics", "usage", "judgements")
    with open_workspace(home) as workspace:
        rows_of = {table: workspace.store.count(table) for table in tables}
        return {"rows": rows_of, "segments": len(journal.segment_ids()), "build_seconds": time.monotonic() - started}


def night_of_events(numbers: range, topics: int, now: datetime) -> Iterator[pl.DataFrame]:
    """The segments of one night that made the memories with these numbers: a segment a session, then the stages'."""
    from slowwave.schemas.events import encode
    from slowwave.schemas.identity import stable_id

    chance = random.Random(f"{SEED}-night-{numbers.start}")  # noqa: S311
    cells, opened = [], {}
    for start in range(numbers.start, numbers.stop, SESSION_TURNS // CHUNK_TURNS * CHUNK_CELLS):
        session = range(start, min(start + SESSION_TURNS // CHUNK_TURNS * CHUNK_CELLS, numbers.stop))
        pair = (session.start // 40 * 2 % topics, (session.start // 40 * 2 + 1) % topics)
        turns, chunks = session_rows(chance, session, pair, now)
        yield plan_of({"turn.recorded": turns, "chunk.cut": chunks, "source.recorded": [source_row(session, now)]})
        for position, number in enumerate(session):
            chunk = chunks[position // CHUNK_CELLS]
            theme = pair[2 * position // max(len(session), 1)]
            opened[theme] = stable_id("topic", str(theme))
            cells.append(cell_row(chance, number, theme, chunk))
    ids = [cell["cell_id"] for cell in cells]
    done = [{"chunk_id": chunk, "cell_count": 4, "rejected_count": 0, **PROVENANCE} for chunk in dict.fromkeys(cell["chunk_id"] for cell in cells)]
    yield plan_of({"cell.extracted": [{**cell, "topic_id": None} for cell in cells], "chunk.extracted": done})
    names = [{"topic_id": key, "name": f"{topic(theme)[0]} {topic(theme)[1][0]}", **OWNER} for theme, key in opened.items()]
    yield plan_of({"topic.opened": names, "cell.assigned": [{"cell_id": cell["cell_id"], "topic_id": cell["topic_id"], "similarity": 0.6} for cell in cells]})
    pairs = [
        {"judgement_id": stable_id("judgement", new, old), "cell_id": new, "target_id": old, "verdict": "keep", "effect": "none", "reason": "different things", **OWNER, **PROVENANCE}
        for new, old in zip(ids[1::4], ids[::4], strict=False)
    ]
    yield plan_of({"pair.judged": pairs, "cell.judged": [{"cell_id": cell} for cell in ids]})
    texts = [
        {"topic_id": key, "summary": " ".join(sentence(chance, topic(theme), is_fact=True) for _ in range(6)), "compressed": f"about {topic(theme)[0]}", "cell_ids": [cell["cell_id"] for cell in cells if cell["topic_id"] == key], **PROVENANCE}
        for theme, key in opened.items()
    ]
    counts = [{"topic_id": text["topic_id"], "cell_count": TOPIC_CELLS, "unsummarized_count": 0} for text in texts]
    yield plan_of({"topic.summarized": texts, "topic.counted": counts})
    uses = [{"usage_id": stable_id("usage", cell), "cell_id": cell, "usage_type": "retrieved", "used_at": now, "context": None} for cell in ids[::2]]
    yield plan_of({"usage.recorded": uses, "usage.folded": [{"usage_id": use["usage_id"]} for use in uses]})
    ended = {"night_id": stable_id("night", str(numbers.start)), "started_at": now, "finished_at": now, "outcome": "completed", "has_llm": True, "call_count": 9, "token_count": 9_000, "cost": None, "note": ""}
    yield encode("night.completed", pl.DataFrame([ended]))


OWNER = {"user_id": "local", "project_id": "default", "scope": "user-private"}
PROVENANCE = {"prompt_version": "extract_cells.v1", "model": "invented"}


def plan_of(plan: dict[str, list[dict[str, Any]]]) -> pl.DataFrame:
    """The events of a plan, as a stage commits them; columns that a row does not name are null."""
    from slowwave.schemas.events import CATALOGUE, encode

    parts = []
    for kind, rows in plan.items():
        if rows:
            payload = CATALOGUE[kind].payload
            whole = [{name: row.get(name) for name in payload} for row in rows]
            parts.append(encode(kind, pl.DataFrame(whole, schema=payload)))
    return pl.concat(parts)


def source_row(session: range, now: datetime) -> dict[str, Any]:
    """The file that a session came from."""
    name = f"grown-{session.start:07d}"
    return {"source_id": f"/grown/{name}.jsonl", "source_type": "conversation", "source_name": name, "hash": name, "turn_count": SESSION_TURNS, "indexed_at": now, **OWNER}


def session_rows(
    chance: random.Random, session: range, pair: tuple[int, int], now: datetime
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Turns and chunks of one session that gave the memories with these numbers."""
    from slowwave.schemas.identity import content_hash, stable_id

    source = source_row(session, now)
    shared = {**OWNER, **{name: source[name] for name in ("source_id", "source_type", "source_name")}, "session_id": source["source_name"]}
    turns: list[dict[str, Any]] = []
    chunks = []
    count = -(-len(session) // CHUNK_CELLS)
    for chunk in range(count):
        part = []
        for index in range(chunk * CHUNK_TURNS, (chunk + 1) * CHUNK_TURNS):
            text = message(chance, topic(pair[2 * chunk // count]))
            is_agent = bool(index % 2)
            part.append({
                **shared, "turn_id": stable_id("turn", source["source_name"], str(index)), "turn_index": index,
                "role": "assistant" if is_agent else "user", "speaker": None if is_agent else "Mara",
                "origin": "agent" if is_agent else "user", "content": text, "content_hash": content_hash(text),
                "event_time": now - timedelta(hours=6) + timedelta(seconds=60 * index),
            })  # fmt: skip
        ids = [turn["turn_id"] for turn in part]
        chunks.append({
            **shared, "chunk_id": stable_id("chunk", *ids), "first_turn_index": part[0]["turn_index"],
            "last_turn_index": part[-1]["turn_index"], "first_char": 0, "last_char": len(part[-1]["content"]),
            "turn_ids": ids, "content_hash": stable_id(*ids), "token_count": 400, "event_time": part[-1]["event_time"],
            "status": "pending", "attempts": 0,
        })  # fmt: skip
        turns += part
    return turns, chunks


def cell_row(chance: random.Random, number: int, theme: int, chunk: dict[str, Any]) -> dict[str, Any]:
    """An extracted memory of two sentences, with everything that a model's answer would have given it."""
    from slowwave.schemas.identity import content_hash, stable_id

    text = sentence(chance, topic(theme), is_fact=True) + " " + sentence(chance, topic(theme), is_fact=False)
    named = topic(theme)[0]
    return {
        **{name: chunk[name] for name in ("source_id", "source_type", "source_name", "session_id", "chunk_id", "event_time")},
        **OWNER, **PROVENANCE, "cell_id": stable_id("cell", str(number)), "topic_id": stable_id("topic", str(theme)),
        "topic_hint": named, "cell_type": "fact", "subject": named, "attribute": "value", "value": text.split()[-1],
        "content": text, "compressed": text[:60], "index_label": "value", "salience": round(chance.uniform(0.3, 0.9), 2),
        "confidence": 0.9, "status": "active", "needs_review": False, "is_judged": False, "is_summarized": False,
        "origin": "user", "valid_from": chunk["event_time"], "decay_rate": 0.1, "protected": False,
        "evidence": chunk["turn_ids"][:2], "content_hash": content_hash(text),
        "entities": [f"{named} (project)"], "artifacts": [],
    }  # fmt: skip


# -- measuring; each of these runs in a process of its own


def use_home(home: Path, **environment: str) -> None:
    """A home on the embedded embedder, whatever servers the machine has."""
    home.mkdir(parents=True, exist_ok=True)
    for name in [name for name in os.environ if name.startswith("SLOWWAVE_")]:
        del os.environ[name]
    os.environ.update({"SLOWWAVE_EMBEDDING__PROVIDER": "wordllama", "PREFECT_HOME": str(home.parent / "prefect"), **environment})


@contextmanager
def clocked(times: dict[str, float], owner: object, name: str, label: str) -> Iterator[None]:
    """Adds the time of a function that no stage's report covers to `times`."""
    original: Callable[..., object] = getattr(owner, name)

    def measured(*args: object, **kwargs: object) -> object:
        started = time.monotonic()
        try:
            return original(*args, **kwargs)
        finally:
            times[label] = times.get(label, 0.0) + time.monotonic() - started

    setattr(owner, name, measured)
    try:
        yield
    finally:
        setattr(owner, name, original)


def run_night(home: Path, sources: Path) -> dict[str, Any]:
    """One forced night in plain mode: its time, and the time by stage, with what lies outside of the stages."""
    import slowwave.home
    from flows.nightly import nightly
    from slowwave.store import Store

    stages: dict[str, float] = {}
    started = time.monotonic()
    with clocked(stages, slowwave.home, "apply_pending", "open: journal"), clocked(stages, Store, "optimize", "upkeep"):
        report = nightly.fn(home=str(home), sources=[str(sources)], force=True)
    seconds = time.monotonic() - started
    stages |= {stage.stage: stage.seconds for stage in report.stages}
    stages["rest"] = max(seconds - sum(stages.values()), 0.0)
    counts = {stage.stage: stage.counts for stage in report.stages}
    return {"seconds": seconds, "stages": stages, "counts": counts}


def measure_whole(options: argparse.Namespace) -> dict[str, Any]:
    """A first night without a model: turns a second, time by stage, peak memory."""
    started = time.monotonic()
    import flows.nightly  # noqa: F401 - its import is a number of its own

    imported = time.monotonic() - started
    home = options.folder / "home"
    use_home(home)
    write_sessions(options.folder / "sessions", turns=options.turns, topics=40, label="whole")
    night = run_night(home, options.folder / "sessions")
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    made = night["counts"]["extract"].get("cell.extracted", 0)
    return {**night, "turns": options.turns, "cells": made, "turns_a_second": options.turns / night["seconds"],
            "import_seconds": imported, "peak_rss_gib": peak / 2**20}  # fmt: skip


def measure_model(options: argparse.Namespace) -> dict[str, Any]:
    """A first night with the scripted model: calls and tokens by prompt for 1,000 turns."""
    sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]
    from scripted_answers import ScriptedAnswers
    from tests.servers import OpenAIServer

    said = ScriptedAnswers()
    write_sessions(options.folder / "sessions", turns=options.turns, topics=40, label="model")
    with OpenAIServer(said) as server:
        llm = {"PROVIDER": "openai", "BASE_URL": server.url, "API_KEY": "none", "MODEL": "m"}
        use_home(options.folder / "home", **{f"SLOWWAVE_LLM__{name}": value for name, value in llm.items()})
        night = run_night(options.folder / "home", options.folder / "sessions")
    scale = 1_000 / options.turns
    prompts = {
        name: {"calls": said.calls[name] * scale, "tokens_in": said.tokens_in[name] * scale, "tokens_out": said.tokens_out[name] * scale}
        for name in sorted(said.calls)
    }
    return {**night, "turns": options.turns, "per_1000_turns": prompts}


def measure_growth(options: argparse.Namespace) -> dict[str, Any]:
    """Nights that add the same turns to copies of one grown store: a cold one, then warm ones."""
    grown = options.folder / f"grown-{options.cells}"
    about = options.folder / f"grown-{options.cells}.json"
    if not about.is_file():
        about.write_text(json.dumps(grow_store(grown, cells=options.cells)), encoding="utf-8")
    sessions = options.folder / f"added-{options.turns}"
    write_sessions(sessions, turns=options.turns, topics=20, label="added")
    use_home(grown)
    import flows.nightly  # noqa: F401 - not part of a night

    nights = []
    for run in range(1 + options.repeats):
        copy = options.folder / f"copy-{options.cells}-{os.getpid()}"
        subprocess.run(["cp", "-r", str(grown), str(copy)], check=True)
        for path in copy.rglob("*") if run == 0 else ():
            forget_pages(path)
        nights.append(run_night(copy, sessions))
        shutil.rmtree(copy)
    cold, warm = nights[0], min(nights[1:], key=lambda night: night["seconds"])
    return {"cells": options.cells, "turns": options.turns, **json.loads(about.read_text(encoding="utf-8")),
            "cold": cold, "warm": warm, "warm_seconds": [night["seconds"] for night in nights[1:]]}  # fmt: skip


def forget_pages(path: Path) -> None:
    """Takes a file out of the page cache, where the system can."""
    if path.is_file() and hasattr(os, "posix_fadvise"):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


MEASURES = {"whole": measure_whole, "model": measure_model, "growth": measure_growth}


def in_own_process(measure: str, folder: Path, **arguments: int) -> dict[str, Any]:
    """What a measure says when a fresh interpreter runs it, so that memory and warmth are its own."""
    command = [sys.executable, __file__, "--measure", measure, "--folder", str(folder)]
    command += [text for name, value in arguments.items() for text in (f"--{name}", str(value))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def table(result: dict[str, Any]) -> str:
    """The measurements as text."""
    whole, model, growth = result["whole"], result["model"], result["growth"]
    lines = [f"whole night without a model: {whole['turns']} turns in {whole['seconds']:.1f} s, {whole['turns_a_second']:.0f} turns/s, "
             f"peak {whole['peak_rss_gib']:.2f} GiB, import {whole['import_seconds']:.1f} s",
             "  " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in whole["stages"].items()),
             f"for 1,000 turns with a model ({model['turns']} measured):"]  # fmt: skip
    lines += [f"  {name:<18}{part['calls']:8.1f} calls {part['tokens_in']:10.0f} tokens in {part['tokens_out']:8.0f} out"
              for name, part in model["per_1000_turns"].items()]  # fmt: skip
    lines.append(f"a night of {growth[0]['turns']} turns, seconds by cells in the store (warm, best; cold):")
    lines.append(f"  {'':<14}" + "".join(f"{part['cells']:>16,}" for part in growth))
    for stage in ("all", *growth[0]["warm"]["stages"]):
        pairs = [[part[state]["seconds"] if stage == "all" else part[state]["stages"].get(stage, 0.0) for state in ("warm", "cold")] for part in growth]
        lines.append(f"  {stage:<14}" + "".join(f"{f'{warm:.2f} ({cold:.2f})':>16}" for warm, cold in pairs))
    lines.append(f"growth, largest over smallest store: {result['growth_ratio']:.2f}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it works, measures little")
    parser.add_argument("--folder", type=Path, help="keep grown stores here for the next run; else a temporary folder")
    parser.add_argument("--sizes", type=lambda text: tuple(int(size) for size in text.split(",")), help="cells of the grown stores")
    parser.add_argument("--turns", type=int, help="turns of the whole night")
    parser.add_argument("--added", type=int, help="turns that a night adds to a grown store")
    parser.add_argument("--repeats", type=int, help="warm nights for each grown store")
    parser.add_argument("--measure", choices=MEASURES, help=argparse.SUPPRESS)
    parser.add_argument("--cells", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(MEASURES[options.measure](options)))
        return 0
    sizes = options.sizes or (QUICK_SIZES if options.quick else SIZES)
    turns = options.turns or (QUICK_TURNS if options.quick else TURNS)
    added = options.added or (QUICK_ADDED if options.quick else ADDED)
    repeats = options.repeats or (QUICK_REPEATS if options.quick else REPEATS)
    with tempfile.TemporaryDirectory(prefix="bench_night_") as temporary:
        scratch, kept = Path(temporary), options.folder or Path(temporary)
        kept.mkdir(parents=True, exist_ok=True)
        result: dict[str, Any] = {"cpus": os.cpu_count(), "python": sys.version.split()[0]}
        result["whole"] = in_own_process("whole", scratch / "whole", turns=turns)
        result["model"] = in_own_process("model", scratch / "model", turns=turns)
        result["growth"] = [in_own_process("growth", kept, cells=size, turns=added, repeats=repeats) for size in sizes]
    growth = result["growth"]
    result["growth_ratio"] = growth[-1]["warm"]["seconds"] / growth[0]["warm"]["seconds"]
    print(json.dumps(result) if options.json else table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
