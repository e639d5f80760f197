"""Names as they are compared: what stays of a name when case, signs, versions and titles do not count.

Behind them the descriptions that stand for a person's name: "Evan's wife", "his wife", "the woman from Canada".

Everything here is an expression over one column of names. Which names belong to one entity is decided in
`slowwave/home/entities.py`.
"""

from typing import Final, get_args

import polars as pl

from slowwave.language.lexicon import AMBIGUOUS_NAMES, FOLDED_LETTERS, by_alias, table, word_set
from slowwave.schemas.choices import EntityType
from slowwave.schemas.tables import OWNER

TYPES: Final = get_args(EntityType)
_TYPE = rf"\s*\(({'|'.join(TYPES)})\)\s*$"

SHORT = 3
"""Letters of a name that is too short to stand for another one: such names are only ever the same as themselves."""

_KNOWN_AS: Final = table("known_as")
_NICKNAMES: Final = by_alias("nicknames")
_FAMILIES: Final = {alias.split()[0]: name.split()[0] for alias, name in _KNOWN_AS.items()}

_LETTERS: Final = FOLDED_LETTERS | {
    "’": "'", "++": " plus plus", "c#": "c sharp", "f#": "f sharp", "&": " and ",
}  # fmt: skip
_TITLE = r"^(?:mr|mrs|ms|miss|dr|prof|professor|sir) "
_LEGAL = r" (?:inc|incorporated|ltd|llc|llp|plc|gmbh|corp|corporation|pty ltd)$"
_LEGAL_OF_ORGANIZATIONS = (
    r" (?:limited|company|co|ag|kg|gmbh and co kg|sa|sas|sarl|srl|spa|bv|nv|oy|ab|as|aps|pty)$"
)
_VERSION = (
    r"(?i)[\s_-]+(?:v\d+(?:\.\d+)*|\d+(?:\.(?:\d+|x))+|version \d+(?:\.\d+)*)(?:[\s-]*(?:lts|beta|rc\d*))?$"
)
_NUMBER = r"^(.*\p{Lu}.*?)\s+\d{1,4}(?:\s*(?:LTS|lts))?$"
"""A whole number counts as a version only behind a name with a capital: Postgres 16, and not kiln 2."""

_WORDS: Final = "|".join(sorted(word_set("person_words")))
_PRONOUN: Final = r"(?i)^(?:his|her|their) "

NO_SAME = pl.DataFrame(schema=dict.fromkeys([*OWNER, "plain", "called"], pl.String))
"""`same_names` where nobody is described."""


def said_name(said: pl.Expr) -> pl.Expr:
    """The name in `Name (type)`, blanks squeezed; the whole text where it names no type."""
    return said.str.replace(_TYPE, "").str.replace_all(r"\s+", " ").str.strip_chars()


def said_type(said: pl.Expr) -> pl.Expr:
    """The type in `Name (type)`; null where there is none."""
    return said.str.extract(_TYPE, 1)


def plain_name(name: pl.Expr) -> pl.Expr:
    """A name without case, accents and signs: Ås-Lindqvist and as lindqvist are one. "" where nothing is left."""
    ordered = name.str.replace(r"^([\p{L}'’-]+), ([\p{L}'’. -]+)$", "$2 $1")  # Lindqvist, Mara
    lower = ordered.str.to_lowercase().str.normalize("NFKD").str.replace_all(r"\p{M}", "")
    spelled = lower.str.replace_many(list(_LETTERS), list(_LETTERS.values()))
    return (
        spelled.str.replace(r"'s$", "")
        .str.replace_all("'", "")
        .str.replace_all(r"[^\p{L}\p{N}]+", " ")
        .str.strip_chars()
        .str.replace(r"^the (.)", "$1")
    )


def without_version(name: pl.Expr) -> pl.Expr:
    """A tool's name without its version: Python 3.11 is Python, Postgres 16 is Postgres."""
    return name.str.replace(_VERSION, "").str.replace(_NUMBER, "$1")


def with_thing_name(frame: pl.DataFrame, column: str, entity_type: pl.Expr) -> pl.DataFrame:
    """The frame with a `column` by which things of its column `name` are compared.

    That is the plain name without a tool's version and an organization's legal form; a name of which too little would
    be left stays as it is. Each step is a column, since Polars computes a repeated expression anew.
    """
    whole, versionless, free = pl.col("whole"), pl.col("versionless"), pl.col("free")
    steps = (
        frame.select(
            whole=plain_name(pl.col("name")),
            bare=plain_name(without_version(pl.col("name"))),
            type=entity_type,
        )
        .with_columns(is_tool=(pl.col("type") == "tool") & ~is_ambiguous(pl.col("bare")))
        .with_columns(versionless=pl.when("is_tool").then("bare").otherwise(whole))
        .with_columns(free=versionless.str.replace(_LEGAL, ""))
        .with_columns(
            free=pl.when(pl.col("type") == "organization")
            .then(free.str.replace(_LEGAL_OF_ORGANIZATIONS, ""))
            .otherwise(free)
        )
    )
    short = pl.when(is_ambiguous(free)).then(versionless).otherwise(free).replace(_KNOWN_AS)
    return frame.with_columns(steps.select(short.alias(column)).to_series())


def has_legal_form(plain: pl.Expr) -> pl.Expr:
    """Return whether a plain name ends in a legal form, such as gmbh or inc."""
    return plain.str.contains(_LEGAL)


def person_name(plain: pl.Expr) -> pl.Expr:
    """A person's plain name without title and initials, the first name whole: Dr Bob J Smith is robert smith."""
    named = plain.str.replace(_TITLE, "")
    rest = named.str.replace(r"^\S+", "").str.replace_all(r" \p{L}\b", "")
    return first_name(named) + pl.when(rest.str.contains(r"\S")).then(rest).otherwise(pl.lit(""))


def first_name(plain: pl.Expr) -> pl.Expr:
    """The first word of a plain name, and for a nickname the name that it stands for."""
    return plain.str.replace(_TITLE, "").str.extract(r"^(\S+)", 1).replace(_NICKNAMES)


def family(plain: pl.Expr) -> pl.Expr:
    """The family that all names of one entity share: the first word, nicknames and second names resolved.

    To decide about a name, only its family has to be looked at.
    """
    return first_name(plain).replace(_FAMILIES)


def is_ambiguous(plain: pl.Expr) -> pl.Expr:
    """Return whether a plain name is too short or too common to stand for another one."""
    letters = plain.str.replace_all(r"[^\p{L}]", "").str.len_chars()
    return (letters <= SHORT) | plain.is_in(list(AMBIGUOUS_NAMES))


def is_description(name: pl.Expr) -> pl.Expr:
    """Return whether a name describes a person by a word such as wife, friend or woman, in the singular."""
    return plain_name(name).str.contains(rf"\b(?:{_WORDS})\b")


def is_relative(name: pl.Expr) -> pl.Expr:
    """Return whether a description is "her friend" or "a friend": every memory may mean another person."""
    return name.str.contains(r"(?i)^(?:his|her|their|my|your|our|an?|some|another|one) ")


def with_possessor(name: pl.Expr, person: pl.Expr) -> pl.Expr:
    """A description with a person in place of the pronoun that it begins with; others as they are."""
    named = pl.format("{}'s {}", person, name.str.replace(_PRONOUN, ""))
    return pl.when(name.str.contains(_PRONOUN) & person.is_not_null()).then(named).otherwise(name)


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
