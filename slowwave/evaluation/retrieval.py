"""Retrieval quality: recall of evidence turns, by category, by baseline, and by what each list adds. Pure.

Everything is computed from one frame, `found`: `question_index`, `turn_id` and for each list of the fusion
`<name>_rank`, `<name>_value` and `<name>_share` (`slowwave/recall/turns.py`). A list's share does not depend on the
other lists, so the answer without a list is the same frame with its share left out: nothing is asked twice. What
dialogue adds (`slowwave/recall/turns.py`) stands there as lists do, and is of the whole.
"""

from collections.abc import Sequence

import polars as pl

from slowwave.journal.new_cells import new_cells
from slowwave.schemas.identity import content_hashes, stable_id, stable_ids
from slowwave.schemas.questions import Conversation, Question
from slowwave.schemas.tables import OWNER

CUTS = (5, 10, 25, 50)
"""Numbers of turns after which recall is measured."""

RANK_CONSTANT = 60
"""k of the plain hybrid baseline: Cormack, Clarke and Buettcher, 2009."""

EVERY = "all"
"""The category of all questions together."""

WANTED = pl.Schema({"question_index": pl.Int64, "category": pl.String, "turn_id": pl.String})
"""One row a question and turn of its evidence."""


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


def list_names(found: pl.DataFrame) -> list[str]:
    """The lists that found anything."""
    return [name.removesuffix("_share") for name in found.columns if name.endswith("_share")]


def by_shares(found: pl.DataFrame, lists: Sequence[str]) -> pl.DataFrame:
    """`question_index`, `turn_id` and `rank` (1 is the best, ties by turn id) of the sum of these lists' shares."""
    return _placed(found, lists, [pl.col(f"{name}_share") for name in lists])


def by_ranks(found: pl.DataFrame, lists: Sequence[str]) -> pl.DataFrame:
    """As `by_shares`, of the sum of 1 / (`RANK_CONSTANT` + rank): plain hybrid search."""
    return _placed(found, lists, [1.0 / (RANK_CONSTANT + pl.col(f"{name}_rank")) for name in lists])


def _placed(found: pl.DataFrame, lists: Sequence[str], shares: list[pl.Expr]) -> pl.DataFrame:
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


def session_recall(placed: pl.DataFrame, wanted: pl.DataFrame, sessions: pl.DataFrame) -> pl.DataFrame:
    """`recall_table` of whole sessions, each where its best turn stands; evidence are the sessions of the turns.

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
    return recall_table(*(rows.rename({"session_id": "turn_id"}) for rows in (best, asked)))


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


OF_DIALOGUE = ("answer", "asking", "speaker")
"""Parts of a score that reorder what the lists found, and find nothing themselves."""

BASELINES = {"turn": "full text only", "vector": "vectors only"}
"""The lists of plain hybrid search, and what each is alone."""


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
