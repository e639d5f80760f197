"""Descriptions that stand for a person's name: "Evan's wife", "his wife", "the woman from Canada"."""

from typing import Final

import polars as pl

from slowwave.language.lexicon import PERSON_WORDS, SOLE_RELATIONS
from slowwave.language.names import family, plain_name
from slowwave.schemas.tables import OWNER

_WORDS: Final = "|".join(sorted(PERSON_WORDS))
_POSSESSOR: Final = r"^(.+?)['’]s? "
_PRONOUN: Final = r"(?i)^(?:his|her|their) "
_SOLE: Final = rf"(?i)^(?:\p{{Lu}}[\w'’. -]*?['’]s?|his|her|their) (?:{'|'.join(SOLE_RELATIONS)})$"

NO_SAME = pl.DataFrame(schema=dict.fromkeys([*OWNER, "plain", "called"], pl.String))
"""`same_names` where nobody is described."""


def is_description(name: pl.Expr) -> pl.Expr:
    """Return whether a name describes a person by a word such as wife, friend or woman, in the singular."""
    return plain_name(name).str.contains(rf"\b(?:{_WORDS})\b")


def is_relative(name: pl.Expr) -> pl.Expr:
    """Return whether a description says whose relation it is by a pronoun alone: every memory may mean another one."""
    return name.str.contains(r"(?i)^(?:his|her|their|my|your|our) ")


def is_sole(name: pl.Expr) -> pl.Expr:
    """Return whether a description can fit one person at a time: a wife of somebody who is named, and not a friend."""
    return name.str.contains(_SOLE)


def possessor(name: pl.Expr) -> pl.Expr:
    """The person whose relation is described: Evan in Evan's wife; null where nobody is named."""
    return name.str.extract(_POSSESSOR)


def with_possessor(name: pl.Expr, person: pl.Expr) -> pl.Expr:
    """A description with a person in place of the pronoun that it begins with; others as they are."""
    named = pl.format("{}'s {}", person, name.str.replace(_PRONOUN, ""))
    return pl.when(name.str.contains(_PRONOUN) & person.is_not_null()).then(named).otherwise(name)


def says_who(text: pl.Expr, description: pl.Expr, person: pl.Expr) -> pl.Expr:
    """Return whether a text says that a description is a person: "Evan's wife is Mara", "Mara (Evan's wife)".

    Nothing else counts, and above all no list: "Evan's wife, Mara and Tom" may be three people.
    """
    described, named = (
        part.str.replace_all("’", "'").str.to_lowercase().str.escape_regex() for part in (description, person)
    )
    end = r"(?:[.;!)]|, | and | who |$)"
    forms = pl.concat_str(
        *(
            pl.lit(r"(?:^|[^\w'])(?:"),
            described,
            pl.lit("(?: is| named| called)? "),
            named,
            pl.lit(r"(?:[^\w']|$)"),
        ),
        *(pl.lit("|"), described, pl.lit(r" \("), named, pl.lit(r"\)")),
        *(pl.lit("|"), named, pl.lit(r" \("), described, pl.lit(r"\)")),
        *(pl.lit("|"), named, pl.lit(" is "), described, pl.lit(end + ")")),
    )
    return text.str.replace_all("’", "'").str.to_lowercase().str.contains(forms)


def same_names(identities: pl.DataFrame) -> pl.DataFrame:
    """The name for which each description stands: the owner, `plain`, `called`.

    A description that was found to be two people stands for neither. One that stands for another description stands
    for what that one does.
    """
    told = identities.drop_nulls("same_as").select(*OWNER, plain="name", called="same_as").unique()
    only = told.filter(pl.len().over(*OWNER, "plain") == 1)
    further = only.select(*OWNER, called="plain", end="called")
    led = only.join(further, on=[*OWNER, "called"], how="left").with_columns(
        called=pl.coalesce("end", "called")
    )
    return led.filter(pl.col("called") != pl.col("plain")).select(*OWNER, "plain", "called")


def as_called(names: pl.DataFrame, same: pl.DataFrame) -> pl.DataFrame:
    """Rows of the owner and `name` with `called`, the plain name that each stands for, and the `family` of that."""
    plain = names.with_columns(plain=plain_name(pl.col("name")))
    joined = plain.join(same, on=[*OWNER, "plain"], how="left", maintain_order="left")
    called = pl.coalesce("called", "plain")
    return joined.with_columns(called=called, family=family(called)).drop("plain")
