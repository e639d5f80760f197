"""Evaluate: question sets are asked of a home, and what was found is added up."""

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import polars as pl

from slowwave.errors import NotFoundError
from slowwave.evaluation.coverage import COVERED, cover, coverage_lines, wanted_by_question
from slowwave.evaluation.pages import memory_pages
from slowwave.evaluation.retrieval import (
    CUTS,
    EVERY,
    RANK_CONSTANT,
    by_shares,
    compared,
    given_cells,
    list_names,
    recall_table,
    said_turns,
    session_recall,
    wanted_turns,
)
from slowwave.home.paths import Home, open_home
from slowwave.home.stage import Stage
from slowwave.home.vector_space import compute_vectors
from slowwave.home.workspace import Workspace, open_workspace
from slowwave.language.query_words import QUERY_WORDS, telling_words
from slowwave.language.tokens import count_tokens
from slowwave.recall.reader import Reader, open_reader
from slowwave.recall.turns import LIST_ROWS, FoundTurns, TurnQuestion, find_turns
from slowwave.recording.ingest import ingest_sources
from slowwave.schemas.questions import Conversation, Evaluation, Figures, Parameter, Question, QuestionSet
from slowwave.schemas.report import plain
from slowwave.schemas.search import Filters
from slowwave.store.passages import NEAR_STRIDE, NEAR_TURNS

NO_FOUND = {"turn_id": pl.String, "fused_score": pl.Float64}
NO_TURNS = {"question_index": pl.Int64, **NO_FOUND}

AFTER_THE_LAST = timedelta(days=2)
"""From a set's last turn to its questions."""

TURNS_RETURNED = 10
"""Turns whose tokens are counted: what a question costs the reader."""

TOKENIZER = "Llama 2 (slowwave/language/tokens.py)"

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
    """A conversation's `found` and `wanted` (`retrieval.py`), `covered` (`coverage.py`), and tokens of each answer."""

    found: pl.DataFrame
    wanted: pl.DataFrame
    covered: pl.DataFrame
    sessions: pl.DataFrame
    tokens: pl.Series
    left_out: dict[str, int]
    embedder: str


@contextmanager
def measured_home(asked: QuestionSet, home: str) -> Iterator[str]:
    """The home itself, or for a set that brings its sessions an empty temporary one with the same settings."""
    if not asked.brings_sessions:
        if not open_home(home or None).journal.segment_ids():
            raise NotFoundError(
                "there is no memory here to ask: `slowwave ingest PATH` makes one, or --home names one"
            )
        yield home
        return
    with tempfile.TemporaryDirectory(prefix="slowwave-evaluate-") as folder:
        _copy_settings(open_home(home or None).root, folder)
        yield folder


def _copy_settings(root: Path, folder: Path | str) -> None:
    """Gives another home the settings of the one at `root`, where it has any."""
    settings = root / "slowwave.toml"
    if settings.is_file():
        shutil.copy(settings, folder)


def ask(workspace: Workspace, conversation: Conversation, *, has_coverage: bool = False) -> Asked:
    """Asks one conversation's questions of a home; without sessions of its own, evidence are that home's turn ids.

    `has_coverage` asks each question for context and a search too, which takes many times longer.
    """
    known = said_turns(conversation)
    if not conversation.sessions:
        named = {name for question in conversation.questions for name in question.evidence}
        known = pl.DataFrame({"id": sorted(named)}, schema={"id": pl.String}).with_columns(turn_id="id")
    there = workspace.store.by_key("turns", known["turn_id"], ["turn_id"])
    known = known.join(there, on="turn_id", how="semi", maintain_order="left")
    wanted, left_out = wanted_turns(conversation.questions, known)
    found = ask_questions(workspace, conversation.questions)
    first = by_shares(found, list_names(found)).filter(pl.col("rank") <= TURNS_RETURNED)
    texts = workspace.store.by_key("turns", first["turn_id"], ["turn_id", "content"])
    counted = texts.with_columns(tokens=pl.Series(count_tokens(texts["content"].to_list()), dtype=pl.Int64))
    tokens = first.join(counted, on="turn_id").group_by("question_index").agg(pl.col("tokens").sum())
    embedder = workspace.embedder.embedder_id if workspace.embedder else ""
    covered = pl.DataFrame(schema=COVERED)
    if has_coverage:
        pages, evidence = memory_pages(reader_of(workspace), workspace.store), wanted_by_question(wanted)
        covered = cover(pages, conversation.questions, evidence, now=_asked_at(conversation, workspace))
    shown = pl.concat([found["turn_id"], wanted["turn_id"]]).unique()
    sessions = workspace.store.by_key("turns", shown, ["turn_id", "session_id"])
    return Asked(found, wanted, covered, sessions, tokens["tokens"], left_out, embedder)


def reader_of(workspace: Workspace) -> Reader:
    """A reader of the store that a workspace holds."""
    return Reader(workspace.home, workspace.store, workspace.embedder, "no embedder: full text only")


def _asked_at(conversation: Conversation, workspace: Workspace) -> datetime:
    """The moment of questions that name none: a few days after the set's own last turn, else now."""
    times = [turn.timestamp for session in conversation.sessions for turn in session.turns]
    return max(times) + AFTER_THE_LAST if times else workspace.clock()


def ask_conversation(workspace: Workspace, conversation: Conversation) -> Asked:
    """Asks one conversation's questions: of its own sessions in a home of their own, else of this one."""
    if not conversation.sessions:
        return ask(workspace, conversation, has_coverage=True)
    folder = Path(tempfile.mkdtemp(dir=workspace.home.root))
    _copy_settings(workspace.home.root, folder)
    with conversation_home(folder, conversation, has_memories=True) as own_home:
        return ask(own_home, conversation, has_coverage=True)


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
    """Each session as a JSONL file in the plain chat form (`slowwave/readers/chat.py`)."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, session in enumerate(conversation.sessions):
        lines = [
            json.dumps({"session_id": session.session_id, **turn.model_dump(mode="json", exclude_none=True)})
            for turn in session.turns
        ]
        (folder / f"{place:04d}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def ask_home(home: Home, questions: Sequence[Question]) -> pl.DataFrame:
    """As `ask_questions`, of a home that is only read; nothing is found where there is no store yet."""
    return _found_turns(open_reader(home), questions)


def ask_questions(workspace: Workspace, questions: Sequence[Question]) -> pl.DataFrame:
    """The turns that every list of the fusion finds for each question: `found` of `retrieval.py`."""
    return _found_turns(reader_of(workspace), questions)


def _found_turns(reader: Reader, questions: Sequence[Question]) -> pl.DataFrame:
    parts = [pl.DataFrame(schema=NO_TURNS)]
    if reader.store is None:
        return parts[0]
    for place, question in enumerate(questions):
        vector, _ = reader.vector_of(question.question)
        words = telling_words(question.question, most=QUERY_WORDS)
        asked = TurnQuestion(words, vector, Filters(as_of=question.asked_at))
        found = as_frame(find_turns(reader.store, asked, reader.settings))
        parts.append(found.with_columns(question_index=pl.lit(place, dtype=pl.Int64)))
    return pl.concat(parts, how="diagonal")


def as_frame(found: FoundTurns) -> pl.DataFrame:
    """`turn_id`, `fused_score` and for each list `<name>_rank`, `<name>_value` and `<name>_share`; null without."""
    frame = pl.DataFrame(
        {"turn_id": list(found.scores), "fused_score": list(found.scores.values())}, NO_FOUND
    )
    for name, shares in found.shares.items():
        values = found.values.get(name, shares)
        part = pl.DataFrame(
            {
                "turn_id": list(shares),
                f"{name}_value": [values[key] for key in shares],
                f"{name}_share": list(shares.values()),
            },
            schema={"turn_id": pl.String, f"{name}_value": pl.Float64, f"{name}_share": pl.Float64},
        ).filter(pl.col(f"{name}_share") != 0.0 if name not in found.values else pl.lit(value=True))
        ranked = part.sort(f"{name}_value", "turn_id", descending=[True, False])
        ranked = ranked.with_columns(pl.int_range(1, pl.len() + 1).cast(pl.Int64).alias(f"{name}_rank"))
        frame = frame.join(ranked, on="turn_id", how="left", maintain_order="left")
    return frame


def add_up(parts: Sequence[Asked], *, seconds: float) -> Evaluation:
    """The figures of all conversations together; every question counts the same."""
    found = pl.concat([_apart(part.found, place) for place, part in enumerate(parts)], how="diagonal")
    wanted = pl.concat([_apart(part.wanted, place) for place, part in enumerate(parts)])
    tokens = pl.concat([part.tokens for part in parts]).mean()
    left_out = sum((Counter(part.left_out) for part in parts), Counter())
    placed = by_shares(found, list_names(found))
    recall, by_session = recall_table(placed, wanted), session_recall(placed, wanted, _sessions(parts))
    other = compared(found, wanted)
    names = ("baseline", "alone", "without")
    baselines, alone, without = (_by_name(other.filter(pl.col("group") == name), "way") for name in names)
    by_category = _by_name(recall, "category")
    return Evaluation(
        recall=by_category.pop(EVERY),
        sessions=_by_name(by_session.head(1), "category")[EVERY],
        by_category=by_category,
        baselines=baselines,
        granularities={"alone": alone, "without": without},
        coverage=coverage_lines(pl.concat([part.covered for part in parts])),
        tokens_returned=round(float(cast("float | None", tokens) or 0.0), 1),
        tokenizer=TOKENIZER,
        questions=wanted["question_index"].n_unique(),
        left_out=dict(sorted(left_out.items())),
        embedder=", ".join(sorted({part.embedder for part in parts})),
        parameters=PARAMETERS,
        seconds=round(seconds, 1),
    )


def _sessions(parts: Sequence[Asked]) -> pl.DataFrame:
    """`turn_id` and `session_id` of all parts: a turn's id is made of its session's."""
    return pl.concat([part.sessions for part in parts])


def _apart(frame: pl.DataFrame, place: int) -> pl.DataFrame:
    """Questions of one conversation under numbers that no other conversation has."""
    return frame.with_columns(pl.col("question_index") + place * 1_000_000_000)


def _by_name(table: pl.DataFrame, name: str) -> dict[str, Figures]:
    return {
        row[name]: {
            **{f"recall@{cut}": round(row[f"recall_at_{cut}"], 4) for cut in CUTS},
            "questions": row["question_count"],
        }
        for row in table.iter_rows(named=True)
    }


def report_figures(run: Stage, found: Evaluation) -> None:
    """Enters the figures in the stage's report."""
    run.report.rejected.update(found.left_out)
    run.report.rows_in = found.questions
    run.note(headline(found))


def headline(found: Evaluation) -> str:
    """The figures that matter most, in a sentence."""
    told = [f"{share} at {cut}" for share, cut in zip(_shares(found.recall), CUTS, strict=True)]
    return f"recall over {found.questions} questions: {', '.join(told)}"


def markdown(found: Evaluation) -> str:
    """The figures as tables: by category, beside the baselines, and what each list adds."""
    whole = {"all questions": found.recall}
    lists = {f"{name} alone": figures for name, figures in found.granularities["alone"].items()}
    lists |= {f"all but {name}": figures for name, figures in found.granularities["without"].items()}
    lines = [
        f"# {headline(found)}",
        "",
        "Recall at k: the share of the turns that answer a question among the first k found.",
        *_lines("by category", {**whole, **found.by_category}),
        *_lines("beside other ways", {**whole, "whole sessions": found.sessions, **found.baselines}),
        *_lines("what each list adds", {**whole, **lists}),
        *_coverage(found),
        "",
        f"The first {TURNS_RETURNED} turns are {found.tokens_returned:.0f} tokens on average ({found.tokenizer}). "
        f"Embedder: {plain(found.embedder) or 'none'}.",
        "",
        *(f"- {name} = {part.value}: {part.meaning}" for name, part in found.parameters.items()),
    ]
    return "\n".join(lines) + "\n"


def _lines(title: str, rows: dict[str, Figures]) -> list[str]:
    cells = [[title, *(f"at {cut}" for cut in CUTS), "questions"]]
    cells += [[plain(name), *_shares(row), f"{row['questions']:.0f}"] for name, row in rows.items()]
    head, *body = (f"| {' | '.join(row)} |" for row in cells)
    return ["", head, "|---|" + "---:|" * (len(CUTS) + 1), *body]


def _coverage(found: Evaluation) -> list[str]:
    """Coverage as a table: a row for each way to show memory, a column for each budget."""
    if not found.coverage:
        return []
    budgets = sorted({line.budget_tokens for line in found.coverage if line.budget_tokens is not None})
    shares = {(line.way, line.budget_tokens): f"{line.coverage:.1%}" for line in found.coverage}
    ways = list(dict.fromkeys(line.way for line in found.coverage))
    rows = [[way, *(shares.get((way, budget), "") for budget in [*budgets, None])] for way in ways]
    cells = [["evidence that is shown", *(f"{budget:,} tokens" for budget in budgets), "everything"], *rows]
    head, *body = (f"| {' | '.join(row)} |" for row in cells)
    told = "Evidence that is shown: the share of those turns that a page of so many tokens rests on."
    return ["", told, "", head, "|---|" + "---:|" * (len(budgets) + 1), *body]


def _shares(figures: Figures) -> list[str]:
    return [f"{figures[f'recall@{cut}']:.1%}" for cut in CUTS]
