"""The structural guard behind the judge: what a judgement may change, checked against both memories.

To retire a memory, a judgement must name the subject and the single-valued attribute that both carry, with
different values, from a source that may, and no person may have confirmed the one that goes. What fails is recorded as
an open contradiction, and both stay.
"""

import polars as pl

from slowwave.chains.repetitions import plain_value
from slowwave.language.text import (
    days_and_months,
    denied_words,
    first_word,
    is_negated,
    names,
    normalized,
    numbers,
    words,
    words_of_denials,
)
from slowwave.schemas.choices import TRUST

RELATED = 0.3
"""The same from which a word that one sentence denies and the other says is no accident."""

RETIRING = ["updates", "corrects"]

ALIKE = 0.6
"""Jaccard similarity of words from which two sentences count as alike but for a negation."""


def guard(judgements: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """The effect that each judgement may have, after checking it against both memories.

    `judgements` has `cell_id`, `target_id`, `verdict`, `subject`, `attribute`, `reason`; `cells` has the cells
    named. Adds `effect` and `guard_note`:

    - `confirmed`: said again, and nothing in it differs from what is known.
    - `elaborated`: said again with more in it, or with the same value in other words: both stay.
    - `superseded`: an update or correction of the subject and attribute that both cells name.
    - `contradiction`: cannot both hold, or a judgement that failed a check.
    - `none`: keep.
    """
    both = _side_by_side(judgements, cells)
    verdict = pl.col("verdict")
    is_judged = ~verdict.is_in(["keep", "unjudged"])
    is_there = pl.col("content_old").is_not_null()
    retires, confirms = verdict.is_in(RETIRING), verdict == "confirms"
    is_same_thing = (_names_same("subject") & _names_same("attribute")).fill_null(value=False)
    is_same_value = plain_value(pl.col("value_new")).eq_missing(plain_value(pl.col("value_old")))
    is_trusted = _trust("origin_new") <= _trust("origin_old").clip(lower_bound=TRUST.index("agent"))
    note = (
        pl.when(~is_judged)
        .then(pl.lit(None, dtype=pl.String))
        .when(~is_there)
        .then(pl.lit("the target is not among the memories shown"))
        .when(retires & ~is_same_thing)
        .then(pl.lit("the two memories do not share the named subject and attribute"))
        .when(retires & is_same_value)
        .then(pl.lit("both memories carry the same value"))
        .when(retires & _in_one_breath())
        .then(pl.lit("both memories were said in one breath"))
        .when(retires & ~is_trusted)
        .then(pl.lit("a less trusted source may not retire this memory"))
        .when(retires & pl.col("protected_old"))
        .then(pl.lit("a person confirmed this memory: only a person retires it"))
        .when(confirms & _differs())
        .then(pl.lit("said again, but numbers, dates, names or negations differ"))
    )
    effect = (
        pl.when(~is_judged | ~is_there)
        .then(pl.lit("none"))
        .when(confirms & ~_differs())
        .then(
            pl.when(pl.any_horizontal(*_more("new", "old")))
            .then(pl.lit("elaborated"))
            .otherwise(pl.lit("confirmed"))
        )
        .when(retires & is_same_value & is_same_thing)
        .then(pl.lit("elaborated"))
        .when(retires & note.is_null())
        .then(pl.lit("superseded"))
        .otherwise(pl.lit("contradiction"))
    )
    return both.with_columns(guard_note=note, effect=effect).select(
        *judgements.columns, "effect", "guard_note"
    )


def _side_by_side(judgements: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Judgements with the facts of the new cell (`_new`) and of its target (`_old`)."""
    content = pl.col("content")
    known = cells if "protected" in cells.columns else cells.with_columns(protected=pl.lit(value=False))
    facts = known.select(
        "cell_id",
        *["subject", "attribute", "value", "content", "origin", "protected"],
        day=pl.col("valid_from").dt.truncate("1d"),
        turns=pl.col("evidence").list.sort().list.join(" "),
        denied=denied_words(content),
        unsaid=words_of_denials(content),
        first=first_word(content),
        people=pl.col("entities").list.eval(
            pl.element()
            .filter(pl.element().str.ends_with("(person)"))
            .str.replace(r"\s*\([^)]*\)$", "")
            .str.to_lowercase()
        ),
        text=content.str.to_lowercase(),
        numbers=numbers(content),
        days=days_and_months(content),
        is_negated=is_negated(content),
        names=pl.concat_list(
            names(content), *(names("x " + pl.col(name).fill_null("")) for name in ("subject", "value"))
        )
        .list.unique()
        .list.sort(),
        words=words(content).list.unique(),
    )
    new = facts.rename(lambda name: name if name == "cell_id" else f"{name}_new")
    old = facts.rename(lambda name: "target_id" if name == "cell_id" else f"{name}_old")
    return judgements.join(new, on="cell_id", how="left").join(old, on="target_id", how="left")


def _names_same(column: str) -> pl.Expr:
    """Both cells' `column` and the judgement's name the same thing: equal words, or one's words within the other's."""
    said = [pl.col(name) for name in (column, f"{column}_new", f"{column}_old")]
    # "Ola" and "Ola's flight" are two things, though the words of one lie within the other's
    return _alike(said) & _alike([_without_owner(text) for text in said])


def _alike(texts: list[pl.Expr]) -> pl.Expr:
    judged, new, old = (_word_set(text) for text in texts)
    return _within(judged, new) & _within(judged, old) & _within(new, old)


def _without_owner(text: pl.Expr) -> pl.Expr:
    """The thing itself in "X's thing"; what has no owner stays as it is."""
    bare = text.str.replace("’", "'").str.replace(r"^.*\w(?:'s|s')\s+(\S)", "${1}")
    return pl.when(bare.str.strip_chars() == "").then(text).otherwise(bare)


def _in_one_breath() -> pl.Expr:
    """Both memories rest on the very same turns and hold from the same day: a list, and no change."""
    is_same = (pl.col("turns_new") == pl.col("turns_old")) & (pl.col("day_new") == pl.col("day_old"))
    return ((pl.col("turns_new") != "") & is_same).fill_null(value=False)


def _word_set(text: pl.Expr) -> pl.Expr:
    return (
        normalized(text)
        .str.split(" ")
        .list.set_difference(["", "the", "a", "an", "of", "for", "s"])
        .list.sort()
    )


def _within(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    common = left.list.set_intersection(right).list.len()
    smaller = pl.min_horizontal(left.list.len(), right.list.len())
    return (smaller > 0) & (common == smaller)


def _trust(origin: str) -> pl.Expr:
    ranks = {name: rank for rank, name in enumerate(TRUST)}
    return pl.col(origin).replace_strict(ranks, return_dtype=pl.Int64, default=len(TRUST))


def _differs() -> pl.Expr:
    """Return whether two cells that should say the same differ in a value that counts.

    Numbers, days and names differ when each side has one that the other lacks: one more on one side is detail.
    A negation on one side alone counts when the sentences are else alike, or when it denies a word that the other side
    says; in a longer sentence, or one of other words, it mostly denies something else ("X" and "X, not Y").
    """
    conflicts = [one & other for one, other in zip(_more("new", "old"), _more("old", "new"), strict=True)]
    shared = pl.col("words_new").list.set_intersection("words_old").list.len()
    alike = shared / (pl.col("words_new").list.len() + pl.col("words_old").list.len() - shared)
    is_denied = (pl.col("is_negated_new") != pl.col("is_negated_old")) & (alike >= ALIKE)
    denies = (_denies("new", "old") | _denies("old", "new")) & (alike >= RELATED)
    names_others = _names_alone("new", "old") & _names_alone("old", "new")
    differ = [*conflicts, is_denied, denies, names_others]
    # two sentences that are alike and begin with two names that the other does not say
    are_words = pl.col("first_new").is_not_null() & pl.col("first_old").is_not_null()
    others = ~(
        pl.col("words_old").list.contains(pl.col("first_new"))
        | pl.col("words_new").list.contains(pl.col("first_old"))
    )
    begins = are_words & others & (alike >= ALIKE)
    return pl.any_horizontal(*differ, begins.fill_null(value=False)).fill_null(value=True)


def _denies(one: str, other: str) -> pl.Expr:
    """One side denies a word that the other says outside of what it denies itself."""
    plain = pl.col(f"words_{other}").list.set_difference(f"unsaid_{other}")
    return pl.col(f"denied_{one}").list.set_intersection(plain).list.len() > 0


def _names_alone(one: str, other: str) -> pl.Expr:
    """One side names a known person whom the text of the other does not name."""
    known = pl.col(f"people_{one}")
    said, heard = (pl.col(f"text_{side}").str.extract_many(known, overlapping=True) for side in (one, other))
    return said.list.set_difference(heard).list.len() > 0


def _more(one: str, other: str) -> list[pl.Expr]:
    """Return whether one side has numbers, days, names that the other lacks."""
    parts = ("numbers", "days", "names")
    return [pl.col(f"{part}_{one}").list.set_difference(f"{part}_{other}").list.len() > 0 for part in parts]
