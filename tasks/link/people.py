"""People who are only described: the model says who of the others they are, on one page a night.

The guard is one rule: two who are named in one memory are never one person.
"""

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.home.identities import identified
from slowwave.journal.plan import Plan, rejected
from slowwave.language.names import first_name, is_description, is_relative, plain_name
from slowwave.models.answers.write import PeopleAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Request
from slowwave.models.rows import told_date
from slowwave.schemas.table_parts import Made, Owned, nullable, strings
from slowwave.schemas.tables import OWNER
from slowwave.store import col, lit
from slowwave.trust.origins import is_anybodys
from tasks.ask import Model
from tasks.frames import Frame
from tasks.link.profiles import GROWTH
from tasks.step import Readable, step

PAGE_PEOPLE, SHOWN_MEMORIES = 24, 3
"""People on the one page of a night, and memories shown for each."""

NOBODY: tuple[int | None, int | None] = (None, None)
"""The row of an answer that calls nobody the same."""


class PeoplePage(Frame, Owned):
    """The people on the page, of one owner, with the memories that name them, the best first and shown."""

    number: int
    canonical_name: str
    aliases: pl.List = strings()
    mention_count: int
    is_asked: bool
    cell_ids: pl.List = strings()
    memories: pl.List = strings()


class SamePeople(Frame, Made):
    """Numbers of the page that the model calls one person; one row of nulls if there are none."""

    number: int = nullable()
    person: int = nullable()


@step
def find_people_page(reader: Readable) -> DataFrame[PeoplePage]:
    """People to ask about, who have a description for a name, and the others of their owner, most mentioned first.

    They are asked about once, and again when they are mentioned more often by far. Half of the page is theirs.
    """
    columns = ["entity_id", *OWNER, "canonical_name", "aliases", "mention_count"]
    every = reader.store.rows("entities", columns, col("entity_type") == lit("person"))
    people = every.join(_memories(reader, every), on="entity_id", how="inner")
    asked = _waiting(reader, people).with_columns(is_asked=pl.lit(value=True))
    mine = asked.join(asked.head(1), on=OWNER, how="semi", maintain_order="left").head(PAGE_PEOPLE // 2)
    others = people.join(mine, on=OWNER, how="semi").join(mine, on="entity_id", how="anti")
    others = others.sort("mention_count", "entity_id", descending=[True, False]).head(
        PAGE_PEOPLE - mine.height
    )
    page = pl.concat([mine, others.with_columns(is_asked=pl.lit(value=False))])
    enough = page if page.height > 1 else page.clear()
    return PeoplePage.of(enough.with_columns(number=pl.int_range(1, pl.len() + 1)))


@step
def ask_people(model: Model, page: DataFrame[PeoplePage]) -> DataFrame[SamePeople]:
    """The people of the page that are one person; no row without a usable answer."""
    lines = page.select("number", "canonical_name", "memories").rows()
    people = [{"number": number, "name": name, "memories": memories} for number, name, memories in lines]
    asked = page.filter("is_asked")["number"].to_list()
    numbers = {"page_numbers": set(page["number"]), "described_numbers": set(asked)}
    request = Request(render("match_people", people=people, asked=asked), PeopleAnswer, numbers)
    rows = [
        (*pair, said.prompt_version, said.model)
        for said in model.ask(PeopleAnswer, {"": request}, work="people").values()
        for pair in _pairs(said.answer)
    ]
    schema = {"number": pl.Int64, "person": pl.Int64, "prompt_version": pl.String, "model": pl.String}
    return SamePeople.of(pl.DataFrame(rows, schema=schema, orient="row"))


@step
def plan_people(page: DataFrame[PeoplePage], same: DataFrame[SamePeople]) -> Plan:
    """An identity for each description of the people asked about: who it is, or that it is nobody on the page.

    If two are said to be each other, the second keeps its name.
    """
    if same.is_empty():
        return Plan(rejected=rejected("descriptions of people wait for the next run", ["page"]))
    evidence = pl.col("cell_ids").list.head(pl.col("memories").list.len())
    known = page.with_columns(evidence=evidence, plain=plain_name(pl.col("canonical_name")))
    others = known.select(person="number", same_as="plain", theirs="evidence", naming="cell_ids")
    pairs = (
        known.join(same.select("number", "person"), on="number")
        .join(others, on="person")
        .filter(
            pl.col("cell_ids").list.set_intersection("naming").list.len() == 0,
            # Evan's wife is not Evan, whom every memory of her names with her
            ~pl.col("plain").str.contains(first_name(pl.col("same_as")), literal=True),
        )
    )
    both = pl.concat_str(
        pl.min_horizontal("number", "person"), pl.max_horizontal("number", "person"), separator=" "
    )
    found = pairs.sort("number").unique(both, keep="first").select("number", "same_as", "theirs")
    rows = (
        known.filter("is_asked")
        .join(found, on="number", how="left")
        .with_columns(
            name=pl.concat_list(pl.concat_list("canonical_name"), "aliases"),
            evidence=pl.col("evidence").list.set_union(pl.col("theirs").fill_null([])).list.sort(),
            prompt_version=pl.lit(same["prompt_version"][0], dtype=pl.String),
            model=pl.lit(same["model"][0], dtype=pl.String),
        )
        .explode("name")
        .filter(is_description(pl.col("name")))
        .with_columns(name=plain_name(pl.col("name")))
    )
    identities = identified(rows)
    lines = identities.drop_nulls("same_as").select(pl.format("{} is {}", "name", "same_as"))
    return Plan(events={"identity.recorded": identities}, examples=lines.to_series().to_list())


# Inside


def _pairs(answer: PeopleAnswer) -> list[tuple[int | None, int | None]]:
    """Numbers of one person, described and named; one row of nobody where no two are the same."""
    pairs: list[tuple[int | None, int | None]] = [(one.described, one.person) for one in answer.same]
    return pairs or [NOBODY]


def _memories(reader: Readable, people: pl.DataFrame) -> pl.DataFrame:
    """Ids of the active memories that name each person and the first of them as lines; nobody's word is none."""
    named = reader.store.having(
        "mentions", "entity_id", people["entity_id"], ["entity_id", "cell_id"]
    ).unique()
    columns = ["cell_id", "content", "salience", "valid_from", "valid_precision", "status", "origin"]
    cells = reader.store.by_key("cells", named["cell_id"].unique(), columns)
    active = cells.filter((pl.col("status") == "active") & ~is_anybodys())
    best = active.sort("salience", "valid_from", "cell_id", descending=[True, True, False])
    lines = best.select("cell_id", line=pl.format("{}: {}", told_date(), "content"))
    joined = lines.join(named, on="cell_id", how="inner", maintain_order="left")
    return joined.group_by("entity_id").agg(cell_ids="cell_id", memories=pl.col("line").head(SHOWN_MEMORIES))


def _waiting(reader: Readable, people: pl.DataFrame) -> pl.DataFrame:
    """People with a description for a name who were not asked about, or have grown since; most mentioned first."""
    asked = reader.store.rows("identities", [*OWNER, "name", "mention_count"], col("model").is_not_null())
    last = asked.group_by(*OWNER, "name").agg(asked_count=pl.col("mention_count").max())
    name = pl.col("canonical_name")
    described = people.filter(is_description(name), ~is_relative(name)).with_columns(name=plain_name(name))
    joined = described.join(last, on=[*OWNER, "name"], how="left")
    grown = pl.col("mention_count") >= pl.col("asked_count") * GROWTH
    waiting = joined.filter(pl.col("asked_count").is_null() | grown).select(people.columns)
    return waiting.sort("mention_count", "entity_id", descending=[True, False])
