"""The difference between a living memory and its derivation; and which memories of the two say the same.

A better prompt words a memory anew, so that its id is another one. It is found by the turns that it rests on.
"""

from collections.abc import Callable

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.language.terms import telling_terms
from slowwave.language.text import days_and_months, is_negated, normalized, numbers, plain_value
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
    one, other = (frame.with_columns(_described()) for frame in (old, new))
    pairs = (
        _candidates(old, new)
        .join(one, on="cell_id")
        .join(other.rename(lambda name: f"new_{name}"), left_on="new_id", right_on="new_cell_id")
    )
    common = pl.col("words").list.set_intersection("new_words").list.len()
    dice = 2 * common / (pl.col("words").list.len() + pl.col("new_words").list.len()).clip(lower_bound=1)
    is_itself = pl.col("cell_id") == pl.col("new_id")
    is_text = is_itself | (pl.col("content_hash") == pl.col("new_content_hash"))
    is_property = (_same("subject", normalized) & _same("attribute", normalized)).fill_null(value=False)
    near = pairs.with_columns(
        nearness=pl.when(is_text).then(1.0).otherwise(dice),
        agrees=_agrees() | is_itself,
        is_itself=is_itself,
        is_live=pl.col("new_status").is_in(LIVE),
    ).filter((pl.col("nearness") >= LEAST_NEAR) | is_property)
    best = ["is_itself", "is_live", "nearness", "agrees"]
    return Matches.of(near.sort("cell_id", *best, "new_id", descending=[False, *[True] * len(best), False]))


def differences(old: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """The live memories of both (`COMPARED`), one row each, the most salient first within a difference.

    Returns `difference` (`kept` too) and the columns of `ChangedMemory`.
    """
    old, new = (frame.filter(pl.col("status").is_in(LIVE)) for frame in (old, new))
    matched = matches(old, new)
    best = matched.unique("cell_id", keep="first", maintain_order=True)
    after = new.select(new_id="cell_id", after="content", new_hash="content_hash")
    known = old.join(best, on="cell_id", how="left").join(after, on="new_id", how="left")
    difference = (
        pl.when(pl.col("new_id").is_null())
        .then(pl.lit("lost"))
        .when(~pl.col("agrees"))
        .then(pl.lit("changed"))
        .when(pl.col("content_hash") == pl.col("new_hash"))
        .then(pl.lit("kept"))
        .otherwise(pl.lit("reworded"))
    )
    gained = new.join(matched, left_on="cell_id", right_on="new_id", how="anti").select(
        "cell_type", "salience", difference=pl.lit("gained"), new_id="cell_id", after="content"
    )
    columns = ["difference", "cell_type", "cell_id", "before", "new_id", "after"]
    rows = known.with_columns(difference=difference, before="content").select(*columns, "salience")
    both = pl.concat([rows, gained], how="diagonal")
    order = ["difference", "salience", "before", "after"]
    return both.sort(order, descending=[False, True, False, False]).select(columns)


def compare(living: Store, derived: Store, edits: list[CarriedEdit]) -> DerivationDiff:
    """The difference of two stores, with what became of a person's edits."""
    found = differences(*(store.rows("cells", COMPARED, EXTRACTED) for store in (living, derived)))
    counts = dict.fromkeys(("gained", "lost", "changed", "reworded", "kept"), 0)
    open_before, open_after = (
        store.count("contradictions", col("status") == lit("open")) for store in (living, derived)
    )
    nights = derived.rows("nights", ["token_count", "cost"])
    changed = found.filter(pl.col("difference") != "kept")
    return DerivationDiff(
        counts=counts | dict(found.group_by("difference").len().iter_rows()),
        contradictions=(open_before, open_after),
        token_count=int(nights["token_count"].sum()),
        cost=None if nights["cost"].null_count() else float(nights["cost"].sum()),
        memories=[ChangedMemory(**row) for row in changed.iter_rows(named=True)],
        edits=edits,
    )


# Inside


def _candidates(old: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Pairs (`cell_id`, `new_id`) of one owner that have a text or a turn in common, or are the same memory."""
    key = pl.concat_list("evidence", "cell_id", "content_hash")
    one, other = (frame.select("cell_id", *OWNER, key=key).explode("key") for frame in (old, new))
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
