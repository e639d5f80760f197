"""Other ways to find the turns that answer a question: each list of the fusion alone, all but one, plain hybrid search.

Everything is computed from one frame, `found`: `question_index`, `turn_id` and for each list of the fusion
`<name>_rank`, `<name>_value` and `<name>_share` (`slowwave/recall/turns.py`). A list's share does not depend on the
other lists, so the answer without a list is the same frame without its share.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from slowwave.language.query_words import QUERY_WORDS, telling_words
from slowwave.measure import EVERY, gathered_for, recall_by_category
from slowwave.recall.gather import Gathered
from slowwave.recall.reader import Reader
from slowwave.recall.turns import dialogue_shares, stretched, summed
from slowwave.schemas.questions import Figures, Question

RANK_CONSTANT: Final = 60
"""k of the plain hybrid baseline: Cormack, Clarke and Buettcher, 2009."""

OF_DIALOGUE: Final = ("answer", "asking", "speaker")
"""Parts of a score that reorder what the lists found, and find nothing themselves."""

BASELINES: Final = {"turn": "full text only", "vector": "vectors only"}
"""The lists of plain hybrid search, and what each is alone."""

Values = Mapping[str, Mapping[str, float]]
"""A value of each message, by list."""

_SCORED: Final = {"turn_id": pl.String, "fused_score": pl.Float64}


def find(reader: Reader, questions: Sequence[Question]) -> pl.DataFrame:
    """The turns that every list of the fusion finds for each question: `found`; none where there is no store yet."""
    parts = [pl.DataFrame(schema={"question_index": pl.Int64, **_SCORED})]
    if reader.store is None:
        return parts[0]
    for place, question in enumerate(questions):
        turns = as_frame(*lists_of(gathered_for(reader, reader.store, question), question.question))
        parts.append(turns.with_columns(question_index=pl.lit(place, dtype=pl.Int64)))
    return pl.concat(parts, how="diagonal")


def lists_of(gathered: Gathered, asked: str) -> tuple[Values, Values]:
    """The values of the messages by list, and what each list and the talk around a message add to its score."""
    values = gathered.lists.values()
    shares = {name: stretched(given) for name, given in values.items()}
    scores = summed(shares.values())
    said = {key: row for key, row in gathered.turn_rows.items() if key in scores}
    words = telling_words(asked, most=QUERY_WORDS).split()
    return values, shares | dialogue_shares(scores, said, words)


def as_frame(values: Values, shares: Values) -> pl.DataFrame:
    """`turn_id`, `fused_score` and for each list `<name>_rank`, `<name>_value` and `<name>_share`; null without."""
    scores = dict(sorted(summed(shares.values()).items(), key=lambda entry: (-entry[1], entry[0])))
    frame = pl.DataFrame({"turn_id": list(scores), "fused_score": list(scores.values())}, _SCORED)
    for name, of_list in shares.items():
        given = values.get(name, of_list)
        part = pl.DataFrame(
            {
                "turn_id": list(of_list),
                f"{name}_value": [given[key] for key in of_list],
                f"{name}_share": list(of_list.values()),
            },
            schema={"turn_id": pl.String, f"{name}_value": pl.Float64, f"{name}_share": pl.Float64},
        ).filter(pl.col(f"{name}_share") != 0.0 if name not in values else pl.lit(value=True))
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


def compared(found: pl.DataFrame, wanted: pl.DataFrame) -> dict[str, dict[str, Figures]]:
    """Recall of all questions by other ways, by group and way.

    Groups are `baseline` (one scale of full text, vectors, both fused by rank), `alone` (each list) and `without` (the
    whole but that list). A way whose list is not there is left out.
    """

    def recall(placed: pl.DataFrame) -> Figures:
        return recall_by_category(placed, wanted)[EVERY]

    there = list_names(found)
    plain = [name for name in BASELINES if name in there]
    baseline = {BASELINES[name]: recall(by_shares(found, [name])) for name in plain}
    if len(plain) == len(BASELINES):
        baseline["plain hybrid"] = recall(by_ranks(found, plain))
    return {
        "baseline": baseline,
        "alone": {name: recall(by_shares(found, [name])) for name in there if name not in OF_DIALOGUE},
        "without": {name: recall(by_shares(found, [one for one in there if one != name])) for name in there},
    }
