"""The structural guard behind the judge: what a judgement may change, checked against both memories.

To retire a memory, a judgement must name the subject and the single-valued attribute that both carry, or copy the two
values from the two texts, or the later text must itself say what the value was before; the values must differ, the
source must be one that may, and no person may have confirmed the one that goes. What fails is recorded as an open
contradiction, and both stay. What says the same must hold all numbers, dates, names and negations of what it takes in.
"""

import polars as pl

from slowwave.language.text import (
    days_and_months,
    is_negated,
    names,
    normalized,
    numbers,
    plain_value,
    without_telling_date,
    words,
)
from slowwave.lifecycle.order import held_from
from slowwave.schemas.choices import TRUST
from slowwave.schemas.moments import are_unknown, latest_moments
from slowwave.trust.origins import PERSON, least_to_outdate, rank_of

REPEATING = ["confirms", "absorbs", "absorbed"]

TASK_PROPERTY = "status"

CHANGING = ["updates", "corrects"]
"""Verdicts that retire a value, and name it."""

ALIKE = 0.5
"""Jaccard similarity of words from which two sentences count as alike but for a negation or a name. Where a judge says
"confirms" of every labelled pair (`benchmarks/pairs.py`), 26 of 27 updates still merge nothing; of the sample's night
two retold memories of which each names somebody else no longer contradict each other."""

_LEAST = {rank: least_to_outdate(origin, is_judged=True) for rank, origin in enumerate(TRUST)}


def guarded(said: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """The effect that each judgement may have, after checking it against both memories.

    `said` has the columns of `Said`, `cells` the rows of the memories named. Adds `effect` and `guard_note`:

    - `confirmed`: said again, and the one that will stand for both has every value of the other.
    - `elaborated`: said again, each with a value that the other lacks or with the same one in other words, or with more
      by who is trusted less: both stay.
    - `superseded`: an update or correction of one property of one subject, or the outcome of a task.
    - `contradiction`: cannot both hold, or a judgement that failed a check, such as the order of the two in time.
    - `none`: keep.
    """
    verdict = pl.col("verdict")
    is_judged, changes, repeats = verdict != "keep", verdict.is_in(CHANGING), verdict.is_in(REPEATING)
    retires = changes | (verdict == "completes")
    vetoes = [
        (pl.col("content_old").is_null(), "the target is not among the memories shown"),
        (changes & pl.col("is_same_state"), "both memories carry the same value"),
        (
            changes & ~pl.any_horizontal("is_shared", "is_copied", "is_restated"),
            "the two memories do not share the named subject and attribute",
        ),
        (
            (verdict == "completes") & ~pl.col("is_outcome"),
            "the target is no task of the same subject that came before",
        ),
        (retires & _is_unordered(), "the day of one of them is unknown: no date says which holds now"),
        (retires & _in_one_breath(), "both memories were said in one breath"),
        (retires & ~pl.col("is_trusted"), "a less trusted source may not retire this memory"),
        (retires & pl.col("protected_old"), "a person confirmed this memory: only a person retires it"),
        (repeats & pl.col("differs"), "said again, but numbers, dates, names or negations differ"),
        (repeats & _is_out_of_archive(), "an archived memory comes back by what a person says"),
    ]
    note = pl.coalesce(pl.when(is_judged & fails).then(pl.lit(text)) for fails, text in vetoes)
    is_void = pl.col("content_old").is_null() | (
        (verdict == "completes") & pl.col("guard_note").is_not_null()
    )
    effect = (
        pl.when(~is_judged | is_void)
        .then(pl.lit("none"))
        .when(repeats & ~pl.col("differs"))
        .then(
            pl.when(_is_out_of_archive())
            .then(pl.lit("none"))
            .when(pl.col("holds_all"))
            .then(pl.lit("confirmed"))
            .otherwise(pl.lit("elaborated"))
        )
        .when(changes & pl.col("is_same_state"))
        .then(pl.lit("elaborated"))
        .when(retires & pl.col("guard_note").is_null())
        .then(pl.lit("superseded"))
        .otherwise(pl.lit("contradiction"))
    )
    checked = _checked(_side_by_side(said, cells)).with_columns(guard_note=note)
    return checked.with_columns(effect=effect).select(*said.columns, "effect", "guard_note")


def _side_by_side(said: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Judgements with the facts of the new cell (`_new`) and of its target (`_old`)."""
    content, things = pl.col("content"), pl.element().filter(~pl.element().str.ends_with("(person)"))
    dated = without_telling_date(content, pl.col("event_time"))
    named = [names("x " + pl.col(name).fill_null("")) for name in ("subject", "value")]
    facts = cells.select(
        *(
            "cell_id",
            "subject",
            "attribute",
            "value",
            "content",
            "origin",
            "protected",
            "event_time",
            "status",
        ),
        held=held_from(),
        latest=latest_moments(held_from()),
        is_undated=are_unknown(held_from()),
        day=pl.col("valid_from").dt.truncate("1d"),
        turns=pl.col("evidence").list.sort().list.join(" "),
        trust=rank_of(pl.col("origin")),
        is_task=pl.col("cell_type") == "task",
        is_negated=is_negated(content),
        numbers=numbers(dated),
        days=days_and_months(dated),
        names=pl.concat_list(names(content), *named).list.unique(),
        value_numbers=_words(numbers(pl.col("value")).list.join(" ")),
        words=words(content).list.unique(),
        said=_words(content),
        named=_words(pl.concat_str("content", "value", separator=" ", ignore_nulls=True)),
        things=pl.col("entities").list.eval(things.str.to_lowercase()),
    )
    new = facts.rename(lambda name: name if name == "cell_id" else f"{name}_new")
    old = facts.rename(lambda name: "target_id" if name == "cell_id" else f"{name}_old")
    return said.join(new, on="cell_id", how="left").join(old, on="target_id", how="left")


def _checked(both: pl.DataFrame) -> pl.DataFrame:
    """Add what each pair is (`is_shared`, ...): as columns, since Polars computes a repeated expression anew."""
    fields = [f"{name}{side}" for name in ("subject", "attribute") for side in ("", "_new", "_old")]
    is_one_property = _same("subject_new", "subject_old") & _same("attribute_new", "attribute_old")
    is_same_value = plain_value(pl.col("value_new")).eq_missing(plain_value(pl.col("value_old")))
    least = pl.col("trust_old").replace_strict(_LEAST, return_dtype=pl.Int64, default=None)
    return (
        both.with_columns(
            *(_words(pl.col(name), small=True).alias(f"{name}_words") for name in fields),
            *(_words(_without_owner(pl.col(name)), small=True).alias(f"{name}_bare") for name in fields),
        )
        .with_columns(
            is_shared=_names_same("subject") & _names_same("attribute"),
            is_copied=_copies_values(),
            is_restated=_restates_value(),
            is_outcome=_is_outcome(),
            is_trusted=pl.col("trust_new") <= least,
            differs=_differs(),
            holds_all=_holds_all(),
        )
        .with_columns(
            pl.col("is_shared", "is_copied", "is_restated", "is_outcome", "is_trusted").fill_null(value=False)
        )
        .with_columns(
            # whatever property was judged, what carries one value of one property contradicts nothing
            is_same_state=~pl.any_horizontal("is_copied", "is_restated")
            & is_same_value
            & (
                pl.col("is_shared")
                | (is_one_property & pl.col("value_new").is_not_null()).fill_null(value=False)
            )
        )
    )


def _names_same(column: str) -> pl.Expr:
    """Both cells' `column` and the judgement's name the same thing: equal words, or one's words within the other's."""
    new, old = f"{column}_new", f"{column}_old"
    return _same(column, new) & _same(column, old) & _same(new, old)


def _same(one: str, other: str) -> pl.Expr:
    # "Ola" and "Ola's flight" are two things, though the words of one lie within the other's
    whole = _within(pl.col(f"{one}_words"), pl.col(f"{other}_words"))
    return whole & _within(pl.col(f"{one}_bare"), pl.col(f"{other}_bare"))


def _within(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """All words of one list are among those of the other, and both have some."""
    fewer = pl.min_horizontal(left.list.len(), right.list.len())
    return (fewer > 0) & (left.list.set_intersection(right).list.len() == fewer)


def _copies_values() -> pl.Expr:
    """The judgement copied a value from either text that the other side does not carry, of one subject that both have.

    Attributes that memories carry must be the one that the judgement names. A task carries its status, whichever of its
    properties changed (the due date, how far it is).
    """
    new, old = (_words(pl.col(name)) for name in ("new_value", "target_value"))
    stands = _all_in(new, "named_new") & _all_in(old, "named_old") & ~_all_in(new, "named_old")
    return stands & _fits("subject", has_text=True) & _fits("attribute", has_text=False)


def _restates_value() -> pl.Expr:
    """The later text says what the value was before ("8 % instead of 12 %"), and its own value is news to the other.

    So extractors may call one attribute by two names. Of a value with numbers these count, else all its words.
    """
    new, old = (
        pl.when(pl.col(f"value_numbers_{side}").list.len() > 0)
        .then(pl.col(f"value_numbers_{side}"))
        .otherwise(_words(pl.col(f"value_{side}"), small=True))
        for side in ("new", "old")
    )
    return _all_in(old, "said_new") & _all_in(new, "said_new") & ~_all_in(new, "named_old")


def _fits(column: str, *, has_text: bool) -> pl.Expr:
    """The judgement's `column` is what both memories carry; where one carries none, its text names it (`has_text`)."""
    said = pl.col(f"{column}_words")
    fits = [said.list.len() > 0]
    both = _same(f"{column}_new", f"{column}_old")
    for side in ("new", "old"):
        mine = pl.col(f"{column}_{side}")
        is_free = mine.is_null() | (pl.col(f"is_task_{side}") & (mine == TASK_PROPERTY))
        named = _all_in(said, f"named_{side}") if has_text else pl.lit(value=True)
        fits.append(pl.when(is_free).then(named).otherwise(_same(column, mine.meta.output_name())))
        both = both | is_free
    return pl.all_horizontal(*fits, both)


def _all_in(few: pl.Expr, column: str) -> pl.Expr:
    """The list has words, and all of them are among those of `column`."""
    return (few.list.len() > 0) & (few.list.set_difference(pl.col(column)).list.len() == 0)


def _is_outcome() -> pl.Expr:
    """The target is a task, the new memory was said after it, and both are about one subject or thing.

    A person whom both name is none: two people who talk are named by most of what they say.
    """
    subject = _within(pl.col("subject_new_words"), pl.col("subject_old_words"))
    shares = pl.col("things_new").list.set_intersection("things_old").list.len() > 0
    is_about_one = subject.fill_null(value=False) | shares.fill_null(value=False)
    return pl.col("is_task_old") & (pl.col("event_time_new") >= pl.col("event_time_old")) & is_about_one


def _is_unordered() -> pl.Expr:
    """A memory of an unknown day came before the other only where that one holds from after its latest possible day."""
    undated, other = pl.col("is_undated_new"), pl.col("is_undated_old")
    is_before = pl.col("latest_new") < pl.col("held_old")
    is_after = pl.col("latest_old") < pl.col("held_new")
    return ((undated & (other | ~is_before)) | (other & ~is_after)).fill_null(value=False)


def _in_one_breath() -> pl.Expr:
    """Both memories rest on the very same turns and hold from the same day: a list, and no change."""
    is_same = (pl.col("turns_new") == pl.col("turns_old")) & (pl.col("day_new") == pl.col("day_old"))
    return ((pl.col("turns_new") != "") & is_same).fill_null(value=False)


def _is_out_of_archive() -> pl.Expr:
    """Another voice than a person's says again what is archived."""
    return (pl.col("status_old") == "archived") & (pl.col("origin_new") != PERSON)


def _differs() -> pl.Expr:
    """Return whether two cells that should say the same differ in a value that counts.

    Numbers, days and names differ when each side has one that the other lacks: one more on one side is detail. Other
    names, and a negation on one side alone, count when the sentences are else alike; in a longer sentence, or one of
    other words, they are mostly more detail, and deny something else ("X" and "X, not Y").
    """
    more = zip(_more("new", "old"), _more("old", "new"), strict=True)
    numbers_differ, days_differ, names_differ = [one & other for one, other in more]
    shared = pl.col("words_new").list.set_intersection("words_old").list.len()
    alike = shared / (pl.col("words_new").list.len() + pl.col("words_old").list.len() - shared)
    is_denied = pl.col("is_negated_new") != pl.col("is_negated_old")
    hard = numbers_differ | days_differ | ((names_differ | is_denied) & (alike >= ALIKE))
    return hard.fill_null(value=True)


def _holds_all() -> pl.Expr:
    """The memory that would stand for both has every number, day and name of the other (`richness` says which does)."""
    first = {
        side: pl.col(f"is_undated_{side}").cast(pl.Int64) * 100
        + (~pl.col(f"protected_{side}")).cast(pl.Int64) * 10
        + pl.col(f"trust_{side}")
        for side in ("new", "old")
    }
    new_lacks, old_lacks = (pl.any_horizontal(*_more(*sides)) for sides in (("old", "new"), ("new", "old")))
    verdict = pl.col("verdict")
    return (
        pl.when(first["new"] < first["old"])
        .then(~new_lacks & (verdict != "absorbed"))
        .when(first["old"] < first["new"])
        .then(~old_lacks & (verdict != "absorbs"))
        .otherwise(~new_lacks | ~old_lacks)
    )


def _more(one: str, other: str) -> list[pl.Expr]:
    """Return whether one side has numbers, days, names that the other lacks."""
    parts = ("numbers", "days", "names")
    return [pl.col(f"{part}_{one}").list.set_difference(f"{part}_{other}").list.len() > 0 for part in parts]


def _without_owner(text: pl.Expr) -> pl.Expr:
    """The thing itself in "X's thing"; what has no owner stays as it is."""
    bare = text.str.replace("’", "'").str.replace(r"^.*\w(?:'s|s')\s+(\S)", "${1}")
    return pl.when(bare.str.strip_chars() == "").then(text).otherwise(bare)


def _words(text: pl.Expr, *, small: bool = False) -> pl.Expr:
    """Different words as names are compared: "max_retries" has two. Those of subjects lack small words (`small`)."""
    left_out = ["", "the", "a", "an", "of", "for", "s"] if small else [""]
    return normalized(text).str.split(" ").list.set_difference(left_out)
