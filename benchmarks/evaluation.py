"""Public question sets: each conversation in a home of its own, and recall over all of them added up."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import cast

import polars as pl
from pydantic import Field

from benchmarks.question_sets import Conversation
from benchmarks.ways import RANK_CONSTANT, by_shares, compared, find, list_names
from slowwave.home.stage import Stage
from slowwave.home.vector_space import compute_vectors
from slowwave.home.workspace import Workspace, open_workspace
from slowwave.journal.new_cells import new_cells
from slowwave.language.query_words import QUERY_WORDS
from slowwave.language.tokens import count_tokens
from slowwave.measure import EVERY, recall_by_category, wanted_turns
from slowwave.recall.reader import Reader
from slowwave.recall.turns import LIST_ROWS
from slowwave.recording.ingest import ingest_sources
from slowwave.schemas.identity import content_hashes, stable_id, stable_ids
from slowwave.schemas.questions import Evaluation, Figures
from slowwave.schemas.refusals import Frozen
from slowwave.schemas.tables import OWNER
from slowwave.store.passages import NEAR_STRIDE, NEAR_TURNS

AFTER_THE_LAST = timedelta(days=2)
"""From a set's last turn to its questions."""

TURNS_RETURNED = 10
"""Turns whose tokens are counted: what a question costs the reader."""

TOKENIZER = "Llama 2 (slowwave/language/tokens.py)"


class Parameter(Frozen):
    """A number that the figures depend on, and what it is."""

    value: float | str
    meaning: str


class SetEvaluation(Evaluation):
    """Recall on a question set, next to other ways to find the same turns."""

    sessions: Figures = Field(
        description="The same of whole sessions, each at its best turn: `recall@10` is among ten sessions."
    )
    baselines: dict[str, Figures] = Field(
        description="The same questions by full text, by vectors, by both fused."
    )
    granularities: dict[str, dict[str, Figures]] = Field(
        description="`alone`: each list; `without`: the whole but that list."
    )
    tokens_returned: float = Field(ge=0, description="Mean tokens of the first 10 turns.")
    tokenizer: str
    parameters: dict[str, Parameter]
    seconds: float = Field(ge=0)


_FUSION = "min-max scores added, every list with weight 1"
_MEANINGS: tuple[tuple[str, float | str, str], ...] = (
    ("LIST_ROWS", LIST_ROWS, "rows that each list brings before they are fused"),
    ("NEAR_TURNS", NEAR_TURNS, "messages of a near passage"),
    ("NEAR_STRIDE", NEAR_STRIDE, "messages from one near passage to the next"),
    ("fusion", _FUSION, "how the lists become one; a passage or memory gives its score to each of its turns"),
    ("RANK_CONSTANT", RANK_CONSTANT, "k of the baseline `plain hybrid` alone"),
    ("QUERY_WORDS", QUERY_WORDS, "most words of a question that full text looks for"),
)
PARAMETERS = {name: Parameter(value=value, meaning=meaning) for name, value, meaning in _MEANINGS}
"""The parameters that the figures depend on."""


@dataclass(frozen=True)
class Asked:
    """A conversation's `found` (`benchmarks/ways.py`), `wanted` (`slowwave/measure.py`) and tokens of each answer."""

    found: pl.DataFrame
    wanted: pl.DataFrame
    sessions: pl.DataFrame
    tokens: pl.Series
    left_out: dict[str, int]
    embedder: str


def ask(workspace: Workspace, conversation: Conversation) -> Asked:
    """Ask one conversation's questions of the home that holds it."""
    known = said_turns(conversation)
    there = workspace.store.by_key("turns", known["turn_id"], ["turn_id"])
    known = known.join(there, on="turn_id", how="semi", maintain_order="left")
    wanted, left_out = wanted_turns(conversation.questions, known)
    found = find(reader_of(workspace), conversation.questions)
    first = by_shares(found, list_names(found)).filter(pl.col("rank") <= TURNS_RETURNED)
    texts = workspace.store.by_key("turns", first["turn_id"], ["turn_id", "content"])
    counted = texts.with_columns(tokens=pl.Series(count_tokens(texts["content"].to_list()), dtype=pl.Int64))
    tokens = first.join(counted, on="turn_id").group_by("question_index").agg(pl.col("tokens").sum())
    embedder = workspace.embedder.embedder_id if workspace.embedder else ""
    shown = pl.concat([found["turn_id"], wanted["turn_id"]]).unique()
    sessions = workspace.store.by_key("turns", shown, ["turn_id", "session_id"])
    return Asked(found, wanted, sessions, tokens["tokens"], left_out, embedder)


def reader_of(workspace: Workspace) -> Reader:
    """A reader of the store that a workspace holds."""
    return Reader(workspace.home, workspace.store, workspace.embedder, "no embedder: full text only")


@contextmanager
def conversation_home(folder: Path, conversation: Conversation, *, has_memories: bool) -> Iterator[Workspace]:
    """A home in `folder` that holds a conversation: taken in as a file, embedded and indexed.

    What is there already is kept, so that a folder may be used again. With `has_memories` the set's own memories
    are committed as cells.
    """
    sources = folder / "sources"
    write_sessions(sources, conversation)
    with open_workspace(folder) as workspace:
        run = Stage("ingest", workspace, dry_run=False)
        ingest_sources(run, [str(sources)])
        if has_memories and workspace.store.count("cells") == 0:
            ids = said_turns(conversation)
            stored = workspace.store.by_key("turns", ids["turn_id"]).join(ids, on="turn_id", how="inner")
            run.commit({"cell.extracted": given_cells(conversation, stored)})
        compute_vectors(run)
        for table in ("turns", "passages", "cells"):
            workspace.store.index_new_rows(table)
        yield workspace


def write_sessions(folder: Path, conversation: Conversation) -> None:
    """Each session as a JSONL file in the plain chat form (`slowwave/ingest/formats/chat.py`)."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, session in enumerate(conversation.sessions):
        lines = [
            json.dumps({"session_id": session.session_id, **turn.model_dump(mode="json", exclude_none=True)})
            for turn in session.turns
        ]
        (folder / f"{place:04d}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def add_up(parts: Sequence[Asked], *, seconds: float) -> SetEvaluation:
    """The figures of all conversations together; every question counts the same."""
    found = pl.concat([_apart(part.found, place) for place, part in enumerate(parts)], how="diagonal")
    wanted = pl.concat([_apart(part.wanted, place) for place, part in enumerate(parts)])
    tokens = pl.concat([part.tokens for part in parts]).mean()
    left_out = sum((Counter(part.left_out) for part in parts), Counter())
    placed = by_shares(found, list_names(found))
    sessions = pl.concat([part.sessions for part in parts])
    other, by_category = compared(found, wanted), recall_by_category(placed, wanted)
    return SetEvaluation(
        recall=by_category.pop(EVERY),
        sessions=session_recall(placed, wanted, sessions),
        by_category=by_category,
        baselines=other.pop("baseline"),
        granularities=other,
        tokens_returned=round(float(cast("float | None", tokens) or 0.0), 1),
        tokenizer=TOKENIZER,
        questions=wanted["question_index"].n_unique(),
        left_out=dict(sorted(left_out.items())),
        embedder=", ".join(sorted({part.embedder for part in parts})),
        parameters=PARAMETERS,
        seconds=round(seconds, 1),
    )


def _apart(frame: pl.DataFrame, place: int) -> pl.DataFrame:
    """Questions of one conversation under numbers that no other conversation has."""
    return frame.with_columns(pl.col("question_index") + place * 1_000_000_000)


def session_recall(placed: pl.DataFrame, wanted: pl.DataFrame, sessions: pl.DataFrame) -> Figures:
    """Recall of whole sessions, each where its best turn is; evidence are the sessions of the turns.

    `sessions` has `turn_id` and `session_id`, of every turn of `placed` and `wanted`.
    """
    of_turn = sessions.select("turn_id", "session_id").unique("turn_id")
    best = (
        placed.join(of_turn, on="turn_id", how="inner")
        .group_by("question_index", "session_id")
        .agg(pl.col("rank").min())
        .with_columns(rank=pl.col("rank").rank("ordinal").over("question_index").cast(pl.Int64))
    )
    asked = wanted.join(of_turn, on="turn_id", how="inner").drop("turn_id").unique(maintain_order=True)
    return recall_by_category(*(rows.rename({"session_id": "turn_id"}) for rows in (best, asked)))[EVERY]


def said_turns(conversation: Conversation) -> pl.DataFrame:
    """`id` and `turn_id` of a conversation's messages, as its file in the plain chat form is taken in."""
    pairs = [
        (turn.id, stable_id("turn", session.session_id, turn.id))
        for session in conversation.sessions
        for turn in session.turns
    ]
    return pl.DataFrame(pairs, schema={"id": pl.String, "turn_id": pl.String}, orient="row")


def given_cells(conversation: Conversation, turns: pl.DataFrame) -> pl.DataFrame:
    """Memories of a question set as new cells (`cells` without `recorded_at`), dated by their latest evidence.

    `turns` are the stored turns with `id`. A memory without evidence that is there is left out: it leads nowhere.
    """
    memories = pl.DataFrame(
        [(memory.content, list(memory.evidence)) for memory in conversation.memories],
        schema={"content": pl.String, "id": pl.List(pl.String)},
        orient="row",
    ).with_row_index("place")
    inherited = ["session_id", "source_type", "source_id", "source_name", *OWNER]
    cells = (
        memories.explode("id")
        .join(turns, on="id", how="inner", suffix="_of_turn")
        .sort("place", "event_time", "turn_id")
        .group_by("place", maintain_order=True)
        .agg(
            pl.col("content", *inherited).last(),
            pl.col("event_time").max(),
            evidence=pl.col("turn_id").unique(maintain_order=True),
        )
    )
    given = {"cell_type": "fact", "origin": "agent", "prompt_version": "given"}
    numbers = {"salience": 0.5, "confidence": 0.9, "decay_rate": 0.0}
    named = cells.with_columns(
        content_hashes(cells["content"]),
        stable_ids("cell", cells.select("place", "content", "session_id")),
        valid_from=pl.col("event_time"),
        **dict.fromkeys(["entities", "artifacts", "steps"], pl.lit([], dtype=pl.List(pl.String))),
        **{name: pl.lit(value) for name, value in (given | numbers).items()},
    )
    return new_cells(named).drop("recorded_at")
