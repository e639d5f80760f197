"""The structural guard behind the judge: what a judgement may change, checked against both memories.

To retire a memory, a judgement must name the subject and the single-valued attribute that both carry, or copy the two
values from the two texts; the values must differ, the source must be one that may, and no person may have confirmed
the one that goes. What fails is recorded as an open contradiction, and both stay. What says the same must hold all
numbers, dates, names and negations of what it takes in.
"""

import polars as pl

from slowwave.language.text import (
    days_and_months,
    denied_words,
    first_word,
    is_negated,
    is_plan,
    names,
    normalized,
    numbers,
    plain_value,
    without_telling_date,
    words,
    words_of_denials,
)
from slowwave.lifecycle.order import held_from
from slowwave.schemas.choices import TRUST
from slowwave.schemas.moments import are_unknown, latest_moments
from slowwave.stages.reconcile.pairs import within
from slowwave.trust.origins import least_to_outdate, rank_of

RELATED = 0.3
"""The same from which a word that one sentence denies and the other says is no accident."""

REPEATING = ["confirms", "absorbs", "absorbed"]

CHANGING = ["updates", "corrects"]
"""Verdicts that retire a value, and name it."""

_LEAST = {rank: least_to_outdate(origin, is_judged=True) for rank, origin in enumerate(TRUST)}

ALIKE = 0.6
"""Jaccard similarity of words from which two sentences count as alike but for a negation."""


def guard(judgements: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """The effect that each judgement may have, after checking it against both memories.

    `judgements` has `cell_id`, `target_id`, `verdict`, `subject`, `attribute`, `target_value`, `new_value`, `reason`;
    `cells` has the cells named. Adds `effect` and `guard_note`:

    - `confirmed`: said again, and one of the two texts has every value of the other.
    - `elaborated`: said again, each with a value that the other lacks or with the same one in other words, or with more
      by who is trusted less: both stay.
    - `superseded`: an update or correction of one property of one subject, or the outcome of a plan.
    - `contradiction`: cannot both hold, or a judgement that failed a check, such as the order of the two in time.
    - `none`: keep.
    """
    checked = _checked(_side_by_side(judgements, cells))
    verdict, note = pl.col("verdict"), pl.col("guard_note")
    is_judged = ~verdict.is_in(["keep", "unjudged"])
    is_there = pl.col("content_old").is_not_null()
    changes, repeats, completes = verdict.is_in(CHANGING), verdict.is_in(REPEATING), verdict == "completes"
    retires = changes | completes
    told = (
        pl.when(~is_judged)
        .then(pl.lit(None, dtype=pl.String))
        .when(~is_there)
        .then(pl.lit("the target is not among the memories shown"))
        .when(changes & pl.col("is_same_state"))
        .then(pl.lit("both memories carry the same value"))
        .when(changes & ~pl.col("is_shared") & ~pl.col("is_copied"))
        .then(pl.lit("the two memories do not share the named subject and attribute"))
        .when(completes & ~pl.col("is_outcome"))
        .then(pl.lit("the target is no plan of the same subject that came before"))
        .when(retires & pl.col("is_unordered"))
        .then(pl.lit("the day of one of them is unknown: no date says which holds now"))
        .when(retires & _in_one_breath())
        .then(pl.lit("both memories were said in one breath"))
        .when(retires & ~pl.col("is_trusted"))
        .then(pl.lit("a less trusted source may not retire this memory"))
        .when(retires & pl.col("protected_old"))
        .then(pl.lit("a person confirmed this memory: only a person retires it"))
        .when(repeats & pl.col("differs"))
        .then(pl.lit("said again, but numbers, dates, names or negations differ"))
    )
    effect = (
        pl.when(~is_judged | ~is_there | (completes & note.is_not_null()))
        .then(pl.lit("none"))
        .when(repeats & ~pl.col("differs"))
        .then(
            pl.when(pl.col("holds_all") & ~pl.col("loses"))
            .then(pl.lit("confirmed"))
            .otherwise(pl.lit("elaborated"))
        )
        .when(changes & pl.col("is_same_state"))
        .then(pl.lit("elaborated"))
        .when(retires & note.is_null())
        .then(pl.lit("superseded"))
        .otherwise(pl.lit("contradiction"))
    )
    return (
        checked.with_columns(guard_note=told)
        .with_columns(effect=effect)
        .select(*judgements.columns, "effect", "guard_note")
    )


def _checked(both: pl.DataFrame) -> pl.DataFrame:
    """Add what each pair is (`is_shared`, ...): as columns, since Polars computes a repeated expression anew."""
    trust_new, trust_old = rank_of(pl.col("origin_new")), rank_of(pl.col("origin_old"))
    is_same_value = plain_value(pl.col("value_new")).eq_missing(plain_value(pl.col("value_old")))
    return (
        both.with_columns(_names_in_words())
        .with_columns(
            is_shared=(_names_same("subject") & _names_same("attribute")).fill_null(value=False),
            is_copied=_names_values().fill_null(value=False),
            is_outcome=_is_outcome().fill_null(value=False),
            is_unordered=_is_unordered(),
            is_trusted=trust_new <= trust_old.replace_strict(_LEAST, return_dtype=pl.Int64),
            differs=_differs(),
            holds_all=_holds_all(),
            # the more trusted text would stand for both, and it is the one that says less
            loses=((pl.col("verdict") == "absorbed") & (trust_new < trust_old))
            | ((pl.col("verdict") == "absorbs") & (trust_old < trust_new)),
        )
        .with_columns(
            # whatever property was judged, what carries one value of one property contradicts nothing
            is_same_state=~pl.col("is_copied")
            & is_same_value
            & (pl.col("is_shared") | _is_one_property().fill_null(value=False))
        )
    )


def _side_by_side(judgements: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Judgements with the facts of the new cell (`_new`) and of its target (`_old`)."""
    content = pl.col("content")
    known = cells if "protected" in cells.columns else cells.with_columns(protected=pl.lit(value=False))
    dated = without_telling_date(content, pl.col("event_time"))
    facts = known.select(
        "cell_id",
        *["subject", "attribute", "value", "content", "origin", "protected", "event_time"],
        held=held_from(),
        latest=latest_moments(held_from()),
        is_undated=are_unknown(held_from()),
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
        numbers=numbers(dated),
        days=days_and_months(dated),
        is_plan=(pl.col("cell_type") == "task")
        | is_plan(content)
        | (pl.col("valid_from") > latest_moments(pl.col("event_time"))),
        is_negated=is_negated(content),
        names=pl.concat_list(
            names(content), *(names("x " + pl.col(name).fill_null("")) for name in ("subject", "value"))
        )
        .list.unique()
        .list.sort(),
        words=words(content).list.unique(),
        named=_name_words(pl.concat_str(["content", "value"], separator=" ", ignore_nulls=True)),
        things=pl.col("entities").list.eval(
            pl.element().filter(~pl.element().str.ends_with("(person)")).str.to_lowercase()
        ),
    )
    for name in ("target_value", "new_value"):
        if name not in judgements.columns:
            judgements = judgements.with_columns(pl.lit(None, dtype=pl.String).alias(name))
    new = facts.rename(lambda name: name if name == "cell_id" else f"{name}_new")
    old = facts.rename(lambda name: "target_id" if name == "cell_id" else f"{name}_old")
    return judgements.join(new, on="cell_id", how="left").join(old, on="target_id", how="left")


def _names_in_words() -> list[pl.Expr]:
    """The words of each side's subject and attribute (`_words`), and those without its owner (`_bare`)."""
    named = [f"{name}{side}" for name in ("subject", "attribute") for side in ("", "_new", "_old")]
    whole = [_word_set(pl.col(name)).alias(f"{name}_words") for name in named]
    return whole + [_word_set(_without_owner(pl.col(name))).alias(f"{name}_bare") for name in named]


def _names_same(column: str) -> pl.Expr:
    """Both cells' `column` and the judgement's name the same thing: equal words, or one's words within the other's."""
    said = (column, f"{column}_new", f"{column}_old")
    # "Ola" and "Ola's flight" are two things, though the words of one lie within the other's
    return _alike([f"{name}_words" for name in said]) & _alike([f"{name}_bare" for name in said])


def _names_values() -> pl.Expr:
    """The judgement copied a value from either text that the other side does not carry, of one subject that both have.

    Attributes that memories carry must be the one that the judgement names, unless both carry the same: such memories
    are about one thing, of which another property changed (the due date of a task that is open).
    """
    is_one_thing = _same_name("attribute_new", "attribute_old").fill_null(value=False)
    new, old = (_name_words(pl.col(name)) for name in ("new_value", "target_value"))
    stands = _all_in(new, "named_new") & _all_in(old, "named_old") & ~_all_in(new, "named_old")
    return stands & _fits("subject", has_text=True) & (is_one_thing | _fits("attribute", has_text=False))


def _is_one_property() -> pl.Expr:
    """Both memories carry a value of one attribute of one subject."""
    named = [_same_name(f"{name}_new", f"{name}_old") for name in ("subject", "attribute")]
    return pl.all_horizontal(*named, pl.col("value_new").is_not_null())


def _fits(column: str, *, has_text: bool) -> pl.Expr:
    """The judgement's `column` is what both memories carry; where one carries none, its text names it (`has_text`)."""
    said = pl.col(f"{column}_words")
    sides = []
    for side in ("new", "old"):
        mine = f"{column}_{side}"
        named = _all_in(said, f"named_{side}") if has_text else pl.lit(value=True)
        sides.append(pl.when(pl.col(mine).is_null()).then(named).otherwise(_same_name(column, mine)))
    both = _same_name(f"{column}_new", f"{column}_old").fill_null(value=True)
    return (said.list.len() > 0) & sides[0] & sides[1] & both


def _same_name(one: str, other: str) -> pl.Expr:
    whole = within(pl.col(f"{one}_words"), pl.col(f"{other}_words"))
    return whole & within(pl.col(f"{one}_bare"), pl.col(f"{other}_bare"))


def _all_in(few: pl.Expr, column: str) -> pl.Expr:
    """The list has words, and all of them are among those of `column`."""
    return (few.list.len() > 0) & (few.list.set_difference(pl.col(column)).list.len() == 0)


def _is_outcome() -> pl.Expr:
    """The target is a task or plan, the new memory was said after it, and both are about one subject or thing.

    A person whom both name is none: two people who talk are named by most of what they say.
    """
    subject = within(pl.col("subject_new_words"), pl.col("subject_old_words"))
    shares = pl.col("things_new").list.set_intersection("things_old").list.len() > 0
    is_about_one = subject.fill_null(value=False) | shares.fill_null(value=False)
    return pl.col("is_plan_old") & (pl.col("event_time_new") >= pl.col("event_time_old")) & is_about_one


def _holds_all() -> pl.Expr:
    """One of the two texts has every number, day and name of the other."""
    return ~pl.any_horizontal(*_more("new", "old")) | ~pl.any_horizontal(*_more("old", "new"))


def _alike(words: list[str]) -> pl.Expr:
    judged, new, old = (pl.col(name) for name in words)
    return within(judged, new) & within(judged, old) & within(new, old)


def _without_owner(text: pl.Expr) -> pl.Expr:
    """The thing itself in "X's thing"; what has no owner stays as it is."""
    bare = text.str.replace("’", "'").str.replace(r"^.*\w(?:'s|s')\s+(\S)", "${1}")
    return pl.when(bare.str.strip_chars() == "").then(text).otherwise(bare)


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


def _word_set(text: pl.Expr) -> pl.Expr:
    return _name_words(text).list.set_difference(["the", "a", "an", "of", "for", "s"]).list.sort()


def _name_words(text: pl.Expr) -> pl.Expr:
    """Different words as names are compared: "max_retries" has two, in a subject as in a text."""
    return normalized(text).str.split(" ").list.set_difference([""])


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
