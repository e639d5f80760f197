"""The difference between a living memory and its derivation; and which memories of the two say the same.

A better prompt words a memory anew, so that its id is another one. It is found by the turns that it rests on.
"""

from collections.abc import Callable

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.language.terms import telling_terms
from slowwave.language.text import (
    days_and_months,
    is_negated,
    normalized,
    numbers,
    plain_value,
)
from slowwave.schemas.derivation import CarriedEdit, ChangedMemory, DerivationDiff
from slowwave.schemas.tables import OWNER
from slowwave.store import Store, col, lit
from slowwave.store.chains import EXTRACTED
from tasks.frames import Frame
from tasks.step import step

LEAST_NEAR = 0.5
"""Common words (Dice, 0..1) from which two memories of one turn say the same. A turn that tells two facts about one
person gives texts that share the names and the verb, which is below half of their words."""

LIVE = ["active", "archived"]
COMPARED = [
    "cell_id", *OWNER, "cell_type", "content", "content_hash", "subject", "attribute", "value", "status", "salience",
    "evidence",
]  # fmt: skip


class Matches(Frame):
    """Memories of the living store (`cell_id`) and of the derivation (`new_id`) that say the same, the best first.

    `agrees` is false where a number, a day, a negation or a value of one is another one in the other.
    """

    cell_id: str
    new_id: str
    agrees: bool


@step
def find_matches(living: Store, derived: Store) -> DataFrame[Matches]:
    """All matches of two stores, superseded memories included."""
    return matches(*(store.rows("cells", COMPARED, EXTRACTED) for store in (living, derived)))


def matches(old: pl.DataFrame, new: pl.DataFrame) -> DataFrame[Matches]:
    """The memories of `new` that say what one of `old` says: itself, one with its text, or a near one of its turns.

    Both have the columns `COMPARED`. Live ones come first within an old memory, then the nearest.
    """
    described = [*COMPARED, "words", "values", "is_negated"]
    sides = [frame.with_columns(_described()).select(described) for frame in (old, new)]
    later = sides[1].rename({name: f"new_{name}" for name in described})
    pairs = (
        _candidates(old, new)
        .join(sides[0], on="cell_id")
        .join(later, left_on="new_id", right_on="new_cell_id")
    )
    common = pl.col("words").list.set_intersection("new_words").list.len()
    dice = 2 * common / (pl.col("words").list.len() + pl.col("new_words").list.len()).clip(lower_bound=1)
    is_text = pl.col("content_hash") == pl.col("new_content_hash")
    is_itself = pl.col("cell_id") == pl.col("new_id")
    is_property = _same("subject", normalized) & _same("attribute", normalized)
    near = pairs.with_columns(
        nearness=pl.when(is_text | is_itself).then(1.0).otherwise(dice),
        agrees=_agrees() | is_itself,
        is_itself=is_itself,
        is_live=pl.col("new_status").is_in(LIVE),
    ).filter((pl.col("nearness") >= LEAST_NEAR) | is_property.fill_null(value=False))
    best = ["is_itself", "is_live", "nearness", "agrees"]
    return Matches.of(near.sort("cell_id", *best, "new_id", descending=[False, *[True] * len(best), False]))


def differences(old: pl.DataFrame, new: pl.DataFrame, matched: DataFrame[Matches]) -> pl.DataFrame:
    """The live memories of both, one row each, the most salient first within a difference.

    `old` and `new` have the columns `COMPARED`. Returns `difference` (`kept` too) and the columns of `ChangedMemory`.
    """
    live, fresh = (frame.filter(pl.col("status").is_in(LIVE)) for frame in (old, new))
    is_over = ~pl.col("status").is_in(LIVE)
    after = new.select(new_id="cell_id", after="content", new_hash="content_hash", is_over=is_over)
    best = matched.unique("cell_id", keep="first", maintain_order=True)
    known = (
        live.join(best, on="cell_id", how="left")
        .join(after, on="new_id", how="left")
        .with_columns(
            difference=_difference(),
            before="content",
            why=pl.when("is_over").then(pl.lit("no longer holds in the derivation")).otherwise(pl.lit("")),
        )
    )
    said = matched.join(live, on="cell_id", how="semi")
    gained = fresh.join(said, left_on="cell_id", right_on="new_id", how="anti")
    names = {"new_id": "cell_id", "after": "content"}
    news = gained.select("cell_type", "salience", difference=pl.lit("gained"), why=pl.lit(""), **names)
    columns = ["difference", "cell_type", "cell_id", "before", "new_id", "after", "why"]
    order = ["difference", "salience", "before", "after"]
    rows = pl.concat([known.select(*columns, "salience"), news], how="diagonal")
    return rows.sort(order, descending=[False, True, False, False]).select(columns)


def compare(living: Store, derived: Store, edits: list[CarriedEdit]) -> DerivationDiff:
    """The difference of two stores, with what became of a person's edits."""
    old, new = (store.rows("cells", COMPARED, EXTRACTED) for store in (living, derived))
    found = differences(old, new, matches(old, new))
    counts = dict.fromkeys(("gained", "lost", "changed", "reworded", "kept"), 0)
    topics = [_topics(store) for store in (living, derived)]
    nights = derived.rows("nights", ["token_count", "cost"])
    changed = found.filter(pl.col("difference") != "kept")
    return DerivationDiff(
        counts=counts | dict(found.group_by("difference").len().iter_rows()),
        topics=(len(topics[0]), len(topics[1])),
        contradictions=(_open(living), _open(derived)),
        token_count=int(nights["token_count"].sum()),
        cost=None if nights["cost"].null_count() else float(nights["cost"].sum()),
        gained_topics=sorted(topics[1] - topics[0]),
        lost_topics=sorted(topics[0] - topics[1]),
        memories=[ChangedMemory(**row) for row in changed.iter_rows(named=True)],
        edits=edits,
    )


def _candidates(old: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Pairs (`cell_id`, `new_id`) of one owner that have a text or a turn in common, or are the same memory."""
    turns = [
        frame.select("cell_id", *OWNER, key="evidence").explode("key").drop_nulls("key")
        for frame in (old, new)
    ]
    names = [
        pl.concat([frame.select("cell_id", *OWNER, key=name) for name in ("cell_id", "content_hash")])
        for frame in (old, new)
    ]
    one, other = (pl.concat(frames) for frames in zip(turns, names, strict=True))
    shared = one.join(other.rename({"cell_id": "new_id"}), on=[*OWNER, "key"], how="inner")
    return shared.select("cell_id", "new_id").unique()


def _described() -> list[pl.Expr]:
    text = pl.col("content")
    return [
        telling_terms(text).alias("words"),
        numbers(text).list.concat(days_and_months(text)).alias("values"),
        is_negated(text).alias("is_negated"),
    ]


def _agrees() -> pl.Expr:
    one, other = pl.col("values"), pl.col("new_values")
    missing = [one.list.set_difference(other), other.list.set_difference(one)]
    is_nested = pl.min_horizontal(values.list.len() for values in missing) == 0
    is_value = _same("value", plain_value).fill_null(value=True)
    return is_nested & is_value & (pl.col("is_negated") == pl.col("new_is_negated"))


def _same(name: str, form: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
    return form(pl.col(name)) == form(pl.col(f"new_{name}"))


def _difference() -> pl.Expr:
    is_other = pl.col("is_over") | ~pl.col("agrees")
    return (
        pl.when(pl.col("new_id").is_null())
        .then(pl.lit("lost"))
        .when(is_other)
        .then(pl.lit("changed"))
        .when(pl.col("content_hash") == pl.col("new_hash"))
        .then(pl.lit("kept"))
        .otherwise(pl.lit("reworded"))
    )


def _topics(store: Store) -> set[str]:
    is_used = (col("cell_count") > lit(0)) & col("merged_into").is_null()
    return set(store.rows("topics", ["name"], is_used)["name"].drop_nulls())


def _open(store: Store) -> int:
    return store.count("contradictions", col("status") == lit("open"))
