"""The structural guard behind the judge: what a judgement may change, checked against both memories.

To retire a memory, a judgement must name the subject and the single-valued attribute that both carry, or copy the two
values from the two texts, or the later text must itself say what the value was before; the values must differ, the
source must be one that may, and no person may have confirmed the one that goes. What fails is recorded as an open
contradiction, and both stay. What says the same must hold all numbers, dates, names and negations of what it takes in.
"""

from collections.abc import Iterator, Mapping
from typing import Any

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

NOT_SHOWN = "the target is not among the memories shown"
SAME_STATE = "both memories carry the same value"
DIFFERS = "said again, but numbers, dates, names or negations differ"
OUT_OF_ARCHIVE = "an archived memory comes back by what a person says"

HARD = ("numbers", "days", "names")
"""What a repetition must not lose."""

Facts = Mapping[str, Any]
"""What the guard compares of a judgement or a memory; several words, numbers or names are a set."""


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
    named = _rows(said.with_columns(*_named_words(), *_value_words()))
    facts = {one["cell_id"]: one for one in _rows(_facts(cells))}
    ruled = [_ruled(one, facts[one["cell_id"]], facts.get(one["target_id"])) for one in named]
    schema = {"effect": pl.String, "guard_note": pl.String}
    return said.hstack(pl.DataFrame(ruled, schema=schema, orient="row"))


def _ruled(said: Facts, new: Facts, old: Facts | None) -> tuple[str, str | None]:
    """Effect and note of one judgement about a new memory and its target."""
    verdict = said["verdict"]
    if verdict == "keep":
        return "none", None
    if old is None:
        return "none", NOT_SHOWN
    if verdict in REPEATING:
        return _repetition(verdict, new, old)
    if verdict == "contradicts":
        return "contradiction", None
    if verdict in CHANGING and _is_same_state(said, new, old):
        return "elaborated", SAME_STATE
    note = next((text for fails, text in _vetoes(said, new, old) if fails), None)
    if note is None:
        return "superseded", None
    return "contradiction" if verdict in CHANGING else "none", note


def _repetition(verdict: str, new: Facts, old: Facts) -> tuple[str, str | None]:
    if _differs(new, old):
        return "contradiction", DIFFERS
    if old["status"] == "archived" and new["origin"] != PERSON:
        return "none", OUT_OF_ARCHIVE
    return "confirmed" if _holds_all(verdict, new, old) else "elaborated", None


def _vetoes(said: Facts, new: Facts, old: Facts) -> Iterator[tuple[bool, str]]:
    """Yields the reasons why a memory may not be retired, each with whether it holds."""
    if said["verdict"] in CHANGING:
        is_one = _is_shared(said, new, old) or _copies_values(said, new, old) or _restates_value(new, old)
        yield not is_one, "the two memories do not share the named subject and attribute"
    else:
        yield not _is_outcome(new, old), "the target is no task of the same subject that came before"
    yield _is_unordered(new, old), "the day of one of them is unknown: no date says which holds now"
    yield _in_one_breath(new, old), "both memories were said in one breath"
    least = least_to_outdate(TRUST[old["trust"]], is_judged=True)
    yield new["trust"] > least, "a less trusted source may not retire this memory"
    yield old["protected"], "a person confirmed this memory: only a person retires it"


# what is compared


def _facts(cells: pl.DataFrame) -> pl.DataFrame:
    content = pl.col("content")
    dated = without_telling_date(content, pl.col("event_time"))
    things = pl.element().filter(~pl.element().str.ends_with("(person)")).str.to_lowercase()
    named = [names("x " + pl.col(name).fill_null("")) for name in ("subject", "value")]
    return cells.select(
        *("cell_id", "subject", "attribute", "value", "origin", "protected", "event_time", "status"),
        *_named_words(),
        held=held_from(),
        latest=latest_moments(held_from()),
        is_undated=are_unknown(held_from()),
        day=pl.col("valid_from").dt.truncate("1d"),
        evidence="evidence",
        trust=rank_of(pl.col("origin")),
        is_task=pl.col("cell_type") == "task",
        is_negated=is_negated(content),
        numbers=numbers(dated),
        days=days_and_months(dated),
        names=pl.concat_list(names(content), *named),
        plain_value=plain_value(pl.col("value")),
        value_numbers=_words(numbers(pl.col("value")).list.join(" ")),
        value_words=_words(pl.col("value"), small=True),
        words=words(content),
        said=_words(content),
        named=_words(pl.concat_str("content", "value", separator=" ", ignore_nulls=True)),
        things=pl.col("entities").list.eval(things),
    )


def _named_words() -> list[pl.Expr]:
    """The words of subject and attribute, and those without their owner."""
    columns = [pl.col("subject"), pl.col("attribute")]
    whole = [_words(column, small=True).name.suffix("_words") for column in columns]
    return whole + [_words(_without_owner(column), small=True).name.suffix("_bare") for column in columns]


def _value_words() -> list[pl.Expr]:
    """The words of the values that a judgement copied from the two texts."""
    return [_words(pl.col(name)).name.suffix("_words") for name in ("new_value", "target_value")]


def _without_owner(text: pl.Expr) -> pl.Expr:
    """The thing itself in "X's thing"; what has no owner stays as it is."""
    bare = text.str.replace("’", "'").str.replace(r"^.*\w(?:'s|s')\s+(\S)", "${1}")
    return pl.when(bare.str.strip_chars() == "").then(text).otherwise(bare)


def _words(text: pl.Expr, *, small: bool = False) -> pl.Expr:
    """Different words as names are compared: "max_retries" has two. Those of subjects lack small words (`small`)."""
    left_out = ["", "the", "a", "an", "of", "for", "s"] if small else [""]
    return normalized(text.fill_null("")).str.split(" ").list.set_difference(left_out)


def _rows(frame: pl.DataFrame) -> list[Facts]:
    return [
        {name: frozenset(found) if isinstance(found, list) else found for name, found in row.items()}
        for row in frame.iter_rows(named=True)
    ]


# what the checks are


def _is_shared(said: Facts, new: Facts, old: Facts) -> bool:
    """Both memories and the judgement name one subject and one attribute."""
    sides = [(said, new), (said, old), (new, old)]
    return all(_same(name, *pair) for name in ("subject", "attribute") for pair in sides)


def _same(name: str, one: Facts, other: Facts) -> bool:
    """Both name the same thing: equal words, or one's words within the other's."""
    # "Ola" and "Ola's flight" are two things, though the words of one lie within the other's
    return all(_is_within(one[f"{name}_{form}"], other[f"{name}_{form}"]) for form in ("words", "bare"))


def _is_within(one: frozenset[str], other: frozenset[str]) -> bool:
    """Both have words, and all of one are among those of the other."""
    return bool(one and other) and (one <= other or other <= one)


def _copies_values(said: Facts, new: Facts, old: Facts) -> bool:
    """The judgement copied a value from either text that the other side does not carry, of one subject that both have.

    Attributes that memories carry must be the one that the judgement names. A task carries its status, whichever of its
    properties changed (the due date, how far it is).
    """
    news, before = said["new_value_words"], said["target_value_words"]
    is_copied = _all_in(news, new["named"]) and _all_in(before, old["named"]) and not news <= old["named"]
    return is_copied and all(_fits(name, said, new, old) for name in ("subject", "attribute"))


def _fits(name: str, said: Facts, new: Facts, old: Facts) -> bool:
    """Both memories carry what the judgement names; of one that carries no subject the text names it."""
    asked = said[f"{name}_words"]
    free = [
        side for side in (new, old) if side[name] is None or (side["is_task"] and side[name] == TASK_PROPERTY)
    ]
    bound = [side for side in (new, old) if side not in free]
    is_named = name == "attribute" or all(asked <= side["named"] for side in free)
    is_one = bool(free) or _same(name, new, old)
    return bool(asked) and is_named and is_one and all(_same(name, said, side) for side in bound)


def _restates_value(new: Facts, old: Facts) -> bool:
    """The later text says what the value was before ("8 % instead of 12 %"), and its own value is news to the other.

    So extractors may call one attribute by two names. Of a value with numbers these count, else all its words.
    """
    news, before = (side["value_numbers"] or side["value_words"] for side in (new, old))
    return _all_in(before, new["said"]) and _all_in(news, new["said"]) and not news <= old["named"]


def _is_same_state(said: Facts, new: Facts, old: Facts) -> bool:
    """Whatever property was judged, what carries one value of one property contradicts nothing."""
    if new["plain_value"] != old["plain_value"]:
        return False
    is_one = new["value"] is not None and all(_same(name, new, old) for name in ("subject", "attribute"))
    is_change = _copies_values(said, new, old) or _restates_value(new, old)
    return (is_one or _is_shared(said, new, old)) and not is_change


def _all_in(few: frozenset[str], many: frozenset[str]) -> bool:
    """There are words, and all of them are among the others."""
    return bool(few) and few <= many


def _is_outcome(new: Facts, old: Facts) -> bool:
    """The target is a task, the new memory was said after it, and both are about one subject or thing.

    A person whom both name is none: two people who talk are named by most of what they say.
    """
    is_about_one = _is_within(new["subject_words"], old["subject_words"]) or new["things"] & old["things"]
    return bool(old["is_task"] and new["event_time"] >= old["event_time"] and is_about_one)


def _is_unordered(new: Facts, old: Facts) -> bool:
    """A memory of an unknown day came before the other only where that one holds from after its latest possible day."""
    sides = [(new, old), (old, new)]
    return any(one["is_undated"] and not _surely_before(one, other) for one, other in sides)


def _surely_before(one: Facts, other: Facts) -> bool:
    return bool(not other["is_undated"] and one["latest"] < other["held"])


def _in_one_breath(new: Facts, old: Facts) -> bool:
    """Both memories rest on the very same turns and hold from the same day: a list, and no change."""
    return bool(new["evidence"] and new["evidence"] == old["evidence"] and new["day"] == old["day"])


def _differs(new: Facts, old: Facts) -> bool:
    """Return whether two memories that should say the same differ in a value that counts.

    Numbers, days and names differ when each side has one that the other lacks: one more on one side is detail. Other
    names, and a negation on one side alone, count when the sentences are else alike; in a longer sentence, or one of
    other words, they are mostly more detail, and deny something else ("X" and "X, not Y").
    """
    numbers_differ, days_differ, names_differ = (
        bool(new[part] - old[part] and old[part] - new[part]) for part in HARD
    )
    alike = len(new["words"] & old["words"]) >= ALIKE * len(new["words"] | old["words"])
    is_denied = new["is_negated"] != old["is_negated"]
    return numbers_differ or days_differ or ((names_differ or is_denied) and alike)


def _holds_all(verdict: str, new: Facts, old: Facts) -> bool:
    """The memory that would stand for both has every number, day and name of the other (`richness` says which does)."""
    lacks = {
        "new": any(old[part] - new[part] for part in HARD),
        "old": any(new[part] - old[part] for part in HARD),
    }
    order = {
        name: (side["is_undated"], not side["protected"], side["trust"])
        for name, side in (("new", new), ("old", old))
    }
    if order["new"] < order["old"]:
        return not lacks["new"] and verdict != "absorbed"
    if order["old"] < order["new"]:
        return not lacks["old"] and verdict != "absorbs"
    return not all(lacks.values())
