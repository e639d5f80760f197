"""Made secrets taken in as a home takes anything in, and what of each case is kept; and what a night writes."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from benchmarks.made_secrets.filling import Case

_SPOKEN = re.compile(r"(?:\[[^\]]+\] )?(?P<speaker>[A-Z]\w+) ?: (?P<said>.+)")
LONG = 12
"""A secret of at least so many characters is looked for in every byte of the home: shorter ones come by chance."""


def write_sources(folder: Path, made: Sequence[Case], form: str) -> list[str]:
    """The cases as files to take in.

    `chat`: each a message in a session of its own; `dialogue`: each a session with a message a line, so that a question
    and the secret that answers it are two messages; `markdown`: each a document.
    """
    folder.mkdir(parents=True)
    if form == "markdown":
        for number, case in enumerate(made):
            text = f"# A page of {label(number)}\n\n{case.text}"
            (folder / f"{label(number)}.md").write_text(text, encoding="utf-8")
        return [str(folder)]
    records = [
        {
            "session_id": label(number),
            "id": f"{label(number)}-{place}",
            "timestamp": "2026-06-02T09:00:00Z",
            "role": "user",
            "speaker": speaker,
            "content": text,
        }
        for number, case in enumerate(made)
        for place, (speaker, text) in enumerate(spoken(case) if form == "dialogue" else [("Mara", case.text)])
    ]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "all.jsonl").write_text(lines, encoding="utf-8")
    return [str(folder)]


def spoken(case: Case) -> list[tuple[str, str]]:
    """Speakers and what they say in a case of a chat, a line each; empty where not every line has a speaker."""
    lines = [_SPOKEN.fullmatch(line) for line in case.text.splitlines()]
    if not case.kind.startswith("chat/") or not all(lines):
        return []
    return [(line["speaker"], line["said"]) for line in lines if line]


def kept_of(home: Path, sources: list[str], made: Sequence[Case]) -> list[str]:
    """Take sources into a new home and give what is kept of each case: turn, events, and what any file holds."""
    from flows.ingest import ingest
    from slowwave.home.paths import open_home
    from slowwave.store import open_store

    plain_home(home)
    ingest.fn(home=str(home), sources=sources)
    opened = open_home(home)
    turns = open_store(opened.store_root).rows("turns")
    lines = [*_texts(turns), *_texts(opened.journal.scan().events)]
    files = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    kept = []
    for number, case in enumerate(made):
        own = [line for line in lines if label(number) in line]
        if not own:
            raise RuntimeError(f"nothing was taken in of {case.kind}: its turn is missing in the journal")
        long = [secret for secret in case.secrets if len(secret) >= LONG]
        held = [secret for secret in long if any(secret.encode() in content for content in files)]
        kept.append("\n".join((*own, *held)))
    return kept


def night_texts(home: Path, samples: Path) -> str:
    """The text that a night over the samples leaves: its report, its events and its files that are text."""
    from flows.nightly import nightly
    from slowwave.home.paths import open_home

    plain_home(home)
    report = nightly.fn(home=str(home), sources=[str(samples)], force=True)
    events = open_home(home).journal.scan().events
    files = [
        path for path in sorted(home.rglob("*")) if path.suffix in {".json", ".jsonl", ".md", ".toml", ".log"}
    ]
    parts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    return "\n".join(
        (report.model_dump_json(indent=1), *parts, *_texts(events.drop("payload", strict=False)))
    )


def plain_home(home: Path) -> None:
    """A new home without a language model, and without an embedder."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "slowwave.toml").write_text('[embedding]\nprovider = "none"\n', encoding="utf-8")


def label(number: int) -> str:
    """The name by which a case is known on its way."""
    return f"case-{number:05}x"


def _texts(frame: pl.DataFrame) -> list[str]:
    return [json.dumps(row, ensure_ascii=False, default=str) for row in frame.iter_rows(named=True)]
