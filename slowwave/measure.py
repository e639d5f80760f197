"""Recall of a home: the share of the turns that answer its own questions among the first results.

A question set names turn ids of that home (`slowwave/schemas/questions.py`). Public question sets, which bring their
sessions, are measured by `benchmarks/retrieval_quality.py`, next to other ways to search. Nothing here writes.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl
from pydantic import ValidationError

from slowwave.errors import InputError, NotFoundError
from slowwave.home.paths import Home
from slowwave.recall.gather import Gathered, gather
from slowwave.recall.question import understand
from slowwave.recall.reader import Reader, open_reader
from slowwave.schemas.questions import Evaluation, Figures, Question, QuestionFile
from slowwave.schemas.search import Filters
from slowwave.store import Store

CUTS: Final = (5, 10, 25, 50)
"""Numbers of turns after which recall is measured."""

EVERY: Final = "all"
"""The category of all questions together."""

PLACED: Final = pl.Schema({"question_index": pl.Int64, "turn_id": pl.String, "rank": pl.Int64})
"""One row a question and turn that was found for it; the best has rank 1."""

NOTHING: Final = "there is no memory here to ask: `slowwave ingest PATH` makes one, or --home names one"


def read_questions(path: Path) -> tuple[Question, ...]:
    """The questions of a file in the form of `slowwave/schemas/questions.py`.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or is no question set of a home.
    """
    try:
        return QuestionFile.model_validate_json(path.read_bytes()).questions
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no file {str(path)!r}: check the path.") from error
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read ({error.strerror}): check the path.") from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part)[:60] for part in first["loc"]) or "the whole"
        raise InputError(
            f"{str(path)!r} is no question set of a home: {' '.join(place.split())}: {first['msg']}. A set that "
            "brings its sessions is measured by benchmarks/retrieval_quality.py."
        ) from error


def measure(home: Home, questions: Sequence[Question]) -> Evaluation:
    """Recall of a home's questions, by category.

    Raises:
        NotFoundError: There is no memory yet.
        InputError: No question has evidence in this home.
    """
    reader = open_reader(home)
    store = reader.require_store(NOTHING)
    named = pl.Series(sorted({name for question in questions for name in question.evidence}), dtype=pl.String)
    known = store.by_key("turns", named, ["turn_id"])
    wanted, left_out = wanted_turns(questions, known.with_columns(id="turn_id"))
    if wanted.is_empty():
        why = ", ".join(f"{count} x {reason}" for reason, count in left_out.items())
        raise InputError(f"no question can be measured: {why or 'there is none'}")
    places = [
        (place, turn_id, rank)
        for place, question in enumerate(questions)
        for rank, turn_id in enumerate(gathered_for(reader, store, question).turns, start=1)
    ]
    placed = pl.DataFrame(places, PLACED, orient="row")
    by_category = recall_by_category(placed, wanted)
    return Evaluation(
        recall=by_category.pop(EVERY),
        by_category=by_category,
        questions=wanted["question_index"].n_unique(),
        left_out=left_out,
        embedder=reader.embedder.embedder_id if reader.embedder else "",
    )


def wanted_turns(questions: Sequence[Question], known: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """Evidence that is there (`question_index`, `category`, `turn_id`), and counts of what is not.

    `known` has `id`, as evidence names a turn, and `turn_id`. Questions without any evidence left have no row.
    """
    asked = pl.DataFrame(
        [(place, question.category, list(question.evidence)) for place, question in enumerate(questions)],
        schema={"question_index": pl.Int64, "category": pl.String, "id": pl.List(pl.String)},
        orient="row",
    )
    named = asked.explode("id").drop_nulls("id")
    wanted = (
        named.join(known, on="id", how="inner", maintain_order="left")
        .select("question_index", "category", "turn_id")
        .unique()
    )
    lost = {
        "evidence that is not there": named.join(known, on="id", how="anti").height,
        "question without evidence": asked.height - wanted["question_index"].n_unique(),
    }
    left_out = {reason: count for reason, count in lost.items() if count}
    return wanted.sort("question_index", "turn_id"), left_out


def gathered_for(reader: Reader, store: Store, question: Question) -> Gathered:
    """Everything that a search reads for a question, of what was said by the time that it is asked at."""
    vector, _ = reader.vector_of(question.question)
    filters, now = Filters(as_of=question.asked_at), datetime.now(UTC)
    return gather(understand(reader, store, question.question, vector, filters, now=now))


def recall_by_category(placed: pl.DataFrame, wanted: pl.DataFrame) -> dict[str, Figures]:
    """Recall of all questions together (`EVERY`, first), then by category.

    Recall at k is the mean over the questions of the share of a question's evidence turns among its first k, by the
    ranks of `placed` (`PLACED`). Every question of `wanted` counts, found or not.
    """
    ranked = wanted.join(placed, on=["question_index", "turn_id"], how="left")
    shares = ranked.group_by("question_index", "category").agg(
        (pl.col("rank") <= cut).fill_null(value=False).mean().alias(f"recall@{cut}") for cut in CUTS
    )
    means = [pl.col(f"recall@{cut}").mean().fill_null(0.0).round(4) for cut in CUTS]
    by_category = shares.group_by("category").agg(*means, questions=pl.len()).sort("category")
    every = shares.select(*means, questions=pl.len()).row(0, named=True)
    return {EVERY: every} | {row.pop("category"): row for row in by_category.iter_rows(named=True)}


def headline(found: Evaluation) -> str:
    """The recall of all questions, in a sentence."""
    shares = [f"{found.recall[f'recall@{cut}']:.1%} at {cut}" for cut in CUTS]
    return f"recall over {found.questions} questions: {', '.join(shares)}"


def markdown(found: Evaluation) -> str:
    """The figures as a table by category."""
    rows = {"all questions": found.recall, **found.by_category}
    cells = [["by category", *(f"at {cut}" for cut in CUTS), "questions"]]
    for name, figures in rows.items():
        shares = [f"{figures[f'recall@{cut}']:.1%}" for cut in CUTS]
        cells.append([" ".join(name.replace("|", "/").split()), *shares, f"{figures['questions']:.0f}"])
    head, *body = (f"| {' | '.join(row)} |" for row in cells)
    lines = [
        f"# {headline(found)}",
        "",
        "Recall at k: the share of the turns that answer a question among the first k found.",
        "",
        head,
        "|---|" + "---:|" * (len(CUTS) + 1),
        *body,
        "",
        f"Embedder: {found.embedder or 'none'}.",
    ]
    return "\n".join(lines) + "\n"
