"""Recall of a home: the share of the turns that answer its own questions among the first results.

A question set names turn ids of that home (`slowwave/schemas/questions.py`). Everything is computed from one frame,
`found`: `question_index`, `turn_id` and for each list of the fusion `<name>_rank`, `<name>_value` and `<name>_share`
(`slowwave/recall/turns.py`). A list's share does not depend on the other lists, so the answer without a list is the
same frame without its share. Public question sets, which bring their sessions, are measured by
`benchmarks/retrieval_quality.py`. Nothing here writes.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl
from pydantic import ValidationError

from slowwave.errors import InputError, NotFoundError
from slowwave.home.paths import Home
from slowwave.language.query_words import QUERY_WORDS, telling_words
from slowwave.recall.reader import Reader, open_reader
from slowwave.recall.turns import FoundTurns, TurnQuestion, find_turns
from slowwave.schemas.questions import Evaluation, Figures, Question, QuestionFile
from slowwave.schemas.search import Filters

CUTS: Final = (5, 10, 25, 50)
"""Numbers of turns after which recall is measured."""

RANK_CONSTANT: Final = 60
"""k of the plain hybrid baseline: Cormack, Clarke and Buettcher, 2009."""

OF_DIALOGUE: Final = ("answer", "asking", "speaker")
"""Parts of a score that reorder what the lists found, and find nothing themselves."""

BASELINES: Final = {"turn": "full text only", "vector": "vectors only"}
"""The lists of plain hybrid search, and what each is alone."""

EVERY: Final = "all"
"""The category of all questions together."""

WANTED: Final = pl.Schema({"question_index": pl.Int64, "category": pl.String, "turn_id": pl.String})
"""One row a question and turn of its evidence."""

_SCORED: Final = {"turn_id": pl.String, "fused_score": pl.Float64}


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
    if reader.store is None:
        raise NotFoundError(
            "there is no memory here to ask: `slowwave ingest PATH` makes one, or --home names one"
        )
    named = pl.Series(sorted({name for question in questions for name in question.evidence}), dtype=pl.String)
    known = reader.store.by_key("turns", named, ["turn_id"])
    wanted, left_out = wanted_turns(questions, known.with_columns(id="turn_id"))
    if wanted.is_empty():
        why = ", ".join(f"{count} x {reason}" for reason, count in left_out.items())
        raise InputError(f"no question can be measured: {why or 'there is none'}")
    found = find(reader, questions)
    by_category = figures_by(recall_table(by_shares(found, list_names(found)), wanted), "category")
    return Evaluation(
        recall=by_category.pop(EVERY),
        by_category=by_category,
        questions=wanted["question_index"].n_unique(),
        left_out=left_out,
        embedder=reader.embedder.embedder_id if reader.embedder else "",
    )


def wanted_turns(questions: Sequence[Question], known: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """Evidence that is there (`WANTED`), and counts of what is not.

    `known` has `id`, as evidence names a turn, and `turn_id`. Questions without any evidence left have no row.
    """
    asked = pl.DataFrame(
        [(place, question.category, list(question.evidence)) for place, question in enumerate(questions)],
        schema={"question_index": pl.Int64, "category": pl.String, "id": pl.List(pl.String)},
        orient="row",
    )
    named = asked.explode("id").drop_nulls("id")
    wanted = named.join(known, on="id", how="inner", maintain_order="left").select(WANTED.names()).unique()
    lost = {
        "evidence that is not there": named.join(known, on="id", how="anti").height,
        "question without evidence": asked.height - wanted["question_index"].n_unique(),
    }
    left_out = {reason: count for reason, count in lost.items() if count}
    return wanted.sort("question_index", "turn_id"), left_out


def find(reader: Reader, questions: Sequence[Question]) -> pl.DataFrame:
    """The turns that every list of the fusion finds for each question: `found`; none where there is no store yet."""
    parts = [pl.DataFrame(schema={"question_index": pl.Int64, **_SCORED})]
    if reader.store is None:
        return parts[0]
    for place, question in enumerate(questions):
        vector, _ = reader.vector_of(question.question)
        words = telling_words(question.question, most=QUERY_WORDS)
        asked = TurnQuestion(words, vector, Filters(as_of=question.asked_at))
        turns = as_frame(find_turns(reader.store, asked, reader.settings))
        parts.append(turns.with_columns(question_index=pl.lit(place, dtype=pl.Int64)))
    return pl.concat(parts, how="diagonal")


def as_frame(found: FoundTurns) -> pl.DataFrame:
    """`turn_id`, `fused_score` and for each list `<name>_rank`, `<name>_value` and `<name>_share`; null without."""
    frame = pl.DataFrame({"turn_id": list(found.scores), "fused_score": list(found.scores.values())}, _SCORED)
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


def list_names(found: pl.DataFrame) -> list[str]:
    """The lists that found anything."""
    return [name.removesuffix("_share") for name in found.columns if name.endswith("_share")]


def by_shares(found: pl.DataFrame, lists: Sequence[str]) -> pl.DataFrame:
    """`question_index`, `turn_id` and `rank` (1 is the best, ties by turn id) of the sum of these lists' shares."""
    return ranked_by(found, lists, [pl.col(f"{name}_share") for name in lists])


def ranked_by(found: pl.DataFrame, lists: Sequence[str], shares: list[pl.Expr]) -> pl.DataFrame:
    """`question_index`, `turn_id` and `rank` of what these lists found, by the sum of `shares`."""
    if not lists:
        return pl.DataFrame(schema={"question_index": pl.Int64, "turn_id": pl.String, "rank": pl.Int64})
    score = pl.sum_horizontal(share.fill_null(0.0) for share in shares)
    return (
        found.filter(pl.any_horizontal(pl.col(f"{name}_rank").is_not_null() for name in lists))
        .select("question_index", "turn_id", score=score)
        .sort("question_index", "score", "turn_id", descending=[False, True, False])
        .with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("question_index"))
        .drop("score")
    )


def by_ranks(found: pl.DataFrame, lists: Sequence[str]) -> pl.DataFrame:
    """As `by_shares`, of the sum of 1 / (`RANK_CONSTANT` + rank): plain hybrid search."""
    return ranked_by(found, lists, [1.0 / (RANK_CONSTANT + pl.col(f"{name}_rank")) for name in lists])


def recall_table(placed: pl.DataFrame, wanted: pl.DataFrame) -> pl.DataFrame:
    """Recall by category, and of all together in the first row.

    `category`, `question_count` and for each of `CUTS` `recall_at_<k>`: the mean over the questions of the share of
    a question's evidence turns among its first k, 0..1. Every question of `wanted` counts, found or not.
    """
    ranked = wanted.join(placed, on=["question_index", "turn_id"], how="left")
    shares = ranked.group_by("question_index", "category").agg(
        (pl.col("rank") <= cut).fill_null(value=False).mean().alias(f"recall_at_{cut}") for cut in CUTS
    )
    means = [pl.col(f"recall_at_{cut}").mean().fill_null(0.0) for cut in CUTS]
    columns = [pl.len().cast(pl.Int64).alias("question_count"), *means]
    whole = shares.select(pl.lit(EVERY).alias("category"), *columns)
    return pl.concat([whole, shares.group_by("category").agg(columns).sort("category")])


def compared(found: pl.DataFrame, wanted: pl.DataFrame) -> pl.DataFrame:
    """Recall of all questions by other ways: `group`, `way`, `question_count` and `recall_at_<k>`.

    Groups are `baseline` (one scale of full text, vectors, both fused by rank), `alone` (each list) and `without` (the
    whole but that list). A way whose list is not there is left out.
    """
    there = list_names(found)
    plain = [name for name in BASELINES if name in there]
    ways = {("baseline", BASELINES[name]): by_shares(found, [name]) for name in plain}
    if len(plain) == len(BASELINES):
        ways["baseline", "plain hybrid"] = by_ranks(found, plain)
    ways |= {("alone", name): by_shares(found, [name]) for name in there if name not in OF_DIALOGUE}
    ways |= {("without", name): by_shares(found, [one for one in there if one != name]) for name in there}
    parts = [
        recall_table(placed, wanted)
        .head(1)
        .select(pl.lit(group).alias("group"), pl.lit(way).alias("way"), pl.exclude("category"))
        for (group, way), placed in ways.items()
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema={"group": pl.String, "way": pl.String})


def figures_by(table: pl.DataFrame, name: str) -> dict[str, Figures]:
    """The rows of a table of recall by their `name`."""
    return {
        row[name]: {
            **{f"recall@{cut}": round(row[f"recall_at_{cut}"], 4) for cut in CUTS},
            "questions": row["question_count"],
        }
        for row in table.iter_rows(named=True)
    }


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
