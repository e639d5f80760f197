"""Names as they are compared: what stays of a name when case, signs, versions and titles do not count.

Everything here is an expression over one column of names. Which names belong to one entity is decided in
`slowwave/stages/graph/entities.py`.
"""

from typing import Final, get_args

import polars as pl

from slowwave.schemas.choices import EntityType

TYPES: Final = get_args(EntityType)
_TYPE = rf"\s*\(({'|'.join(TYPES)})\)\s*$"

SHORT = 3
"""Letters of a name that is too short to stand for another one: such names are only ever the same as themselves."""

_COMMON = (
    # names of people that are words of the language, and words that stand for a person
    "april art august bill chance chase dawn dean drew faith frank grace grant hope hunter joy june mark mason "
    "miles page rich rose summer will admin assistant bot boss client customer doctor friend guest manager mother "
    "father neighbour neighbor owner someone team user "
    # things that are numbered rather than versioned
    "alarm build chapter checkpoint class cluster day device disk door environment epic floor gate gpu group host "
    "hour incident issue item job kiln lane level line lot machine meeting migration milestone model module "
    "number office part phase plan plant platform port printer process project proposal pump queue rack release "
    "rev revision robot room route rule run section sensor server service shard shift site slot sprint stage "
    "station step store system table task test ticket track unit vehicle version volume week window worker year "
    "zone"
)
COMMON_WORDS: Final = frozenset(_COMMON.split())
"""Words that name nothing by themselves: no other name is joined to them."""

NICKNAMES: Final = {
    nickname: name
    for line in (
        "andrew andy drew",
        "anthony tony",
        "benjamin benny benji",
        "catherine cathy",
        "charles charlie chuck",
        "daniel danny",
        "david dave davey",
        "deborah debbie",
        "donald donnie",
        "edward eddie teddy",
        "elizabeth liz lizzy beth betty eliza",
        "frederick freddy freddie",
        "gabriel gabe",
        "gerald gerry",
        "gregory greg",
        "jacob jake",
        "james jimmy jamie",
        "jeffrey jeff",
        "jennifer jenny jenn",
        "jonathan jonny",
        "joseph joey",
        "joshua josh",
        "katherine kate katie kathy",
        "kenneth kenny",
        "kimberly kimmy",
        "lawrence larry",
        "leonard lenny",
        "margaret maggie peggy",
        "matthew matt matty",
        "michael mike mikey mick",
        "nathaniel nate",
        "nicholas nick nicky",
        "patricia patty trish",
        "peter pete",
        "philip phil",
        "rebecca becky becca",
        "richard dick rick ricky richie",
        "robert bob bobby robbie",
        "ronald ronnie",
        "samantha sammy",
        "stephen steve",
        "susan susie",
        "theodore theo",
        "thomas tommy",
        "timothy timmy",
        "tobias tobi",
        "victoria vicky",
        "vincent vinny",
        "walter walt",
        "william bill billy willy",
        "zachary zach",
    )
    for name, *nicknames in [line.split()]
    for nickname in nicknames
}
"""The whole nickname rule: English short forms that stand for one name. Those of several (Alex, Chris, Pat, Sam) are
left out, and so are all that no line names."""

KNOWN_AS: Final = {
    "postgresql": "postgres",
    "nodejs": "node js",
    "reactjs": "react js",
    "react": "react js",
    "nextjs": "next js",
    "mongo": "mongodb",
    "google cloud platform": "google cloud",
    "visual studio code": "vscode",
    "vs code": "vscode",
}
"""Tools with two names, as they are compared. None has three letters or fewer: too many things are called that."""
_FAMILIES: Final = {alias.split()[0]: name.split()[0] for alias, name in KNOWN_AS.items()}

_TRADES = (
    "airlines bank consulting energy foods group holding holdings industries insurance international labs laboratories "
    "logistics media partners payments pharma robotics software solutions studio studios systems technologies "
    "technology telecom travel ventures"
)
TRADE_WORDS: Final = tuple(_TRADES.split())
"""Words that end the full name of an organization and that people leave out: Skerry is Skerry Travel."""

_LETTERS: Final = {
    "ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i",
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


def thing_name(name: pl.Expr, entity_type: pl.Expr) -> pl.Expr:
    """The name that things are compared by: plain, without a tool's version and an organization's legal form.

    A name of which too little would be left stays as it is.
    """
    whole = plain_name(name)
    bare = plain_name(without_version(name))
    versionless = pl.when((entity_type == "tool") & ~is_ambiguous(bare)).then(bare).otherwise(whole)
    legal = versionless.str.replace(_LEGAL, "")
    is_organization = entity_type == "organization"
    free = pl.when(is_organization).then(legal.str.replace(_LEGAL_OF_ORGANIZATIONS, "")).otherwise(legal)
    short = pl.when(is_ambiguous(free)).then(versionless).otherwise(free)
    return short.replace(KNOWN_AS)


def has_legal_form(plain: pl.Expr) -> pl.Expr:
    """Whether a plain name ends in a legal form, such as gmbh or inc."""
    return plain.str.contains(_LEGAL)


def person_name(plain: pl.Expr) -> pl.Expr:
    """A person's plain name with the whole first name, without title and middle initials.

    Dr Bob J Smith is robert smith.
    """
    named = plain.str.replace(_TITLE, "")
    rest = named.str.replace(r"^\S+", "").str.replace_all(r" \p{L}\b", "")
    return first_name(named) + pl.when(rest.str.contains(r"\S")).then(rest).otherwise(pl.lit(""))


def first_name(plain: pl.Expr) -> pl.Expr:
    """The first word of a plain name, and for a nickname the name that it stands for."""
    return plain.str.replace(_TITLE, "").str.extract(r"^(\S+)", 1).replace(NICKNAMES)


def family(plain: pl.Expr) -> pl.Expr:
    """What all names that may ever be one entity share: the first word, nicknames and second names resolved.

    To decide about a name, only its family has to be looked at.
    """
    return first_name(plain).replace(_FAMILIES)


def is_ambiguous(plain: pl.Expr) -> pl.Expr:
    """Whether a plain name is too short or too common to stand for another one."""
    letters = plain.str.replace_all(r"[^\p{L}]", "").str.len_chars()
    return (letters <= SHORT) | plain.is_in(list(COMMON_WORDS))
