"""The link stage with a model: whether people who are only described are the same as others.

Rules choose whom a description is held against, and guard the answer: nobody is two people who are named in one memory.
"""

import polars as pl

from slowwave.language.lexicon import THEMELESS_WORDS
from slowwave.language.names import is_description, is_relative, plain_name, possessor
from slowwave.language.text import words
from slowwave.models.answers.write import PeopleAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Request
from slowwave.models.rows import told_date
from slowwave.schemas.tables import OWNER
from slowwave.stages.asking import Author, ask, usable_answers
from slowwave.stages.graph.identities import identified
from slowwave.stages.run import Stage
from slowwave.store import col, lit
from slowwave.trust.origins import is_anybodys

ENTITY = ["entity_id", *OWNER, "canonical_name", "aliases", "mention_count"]


def match_people(run: Stage) -> bool:
    """Asks once who the people are that are only described; returns whether some turned out to be others."""
    people = run.store.rows("entities", ENTITY, col("entity_type") == lit("person"))
    described = _waiting(run, people)
    if described.is_empty():
        return False
    told = _told(run, people)
    pairs = candidates(people, described, told, each=run.settings.graph.match_candidates)
    page = page_of(people, pairs, size=run.settings.graph.match_people)
    if page.is_empty():
        return False
    shown = (
        told.join(page.select("entity_id", "number"), on="entity_id")
        .sort("number", "salience", "valid_from", "cell_id", descending=[False, True, True, False])
        .group_by("number", maintain_order=True)
        .head(run.settings.graph.match_memories)
    )
    found = usable_answers(PeopleAnswer, [page], ask(run, [_request(page, shown)], work="people"))
    run.reject("descriptions of people wait for the next run", 1 - len(found))
    if not found:
        return False
    [(_, answer, author)] = found
    identities = _identities(page, shown, pairs, answer, author)
    run.show(identities.drop_nulls("same_as").select(pl.format("{} is {}", "name", "same_as")).to_series())
    run.commit({"identity.recorded": identities})
    return identities["same_as"].is_not_null().any() and not run.report.dry_run


def _told(run: Stage, people: pl.DataFrame) -> pl.DataFrame:
    """The living memories that name people, a row for each name: `entity_id`, `cell_id`, `content` and more.

    Those that nobody answers for are left out: they must not say who somebody is.
    """
    named = run.store.having("mentions", "entity_id", people["entity_id"].to_list(), ["entity_id", "cell_id"])
    columns = ["cell_id", "content", "salience", "valid_from", "valid_precision", "status", "origin"]
    cells = run.store.by_key("cells", named["cell_id"].unique(), columns)
    living = cells.filter((pl.col("status") == "active") & ~is_anybodys()).drop("status", "origin")
    return named.unique(maintain_order=True).join(living, on="cell_id", maintain_order="left")


def _waiting(run: Stage, people: pl.DataFrame) -> pl.DataFrame:
    """People with no name but a description, who were not asked about or have grown since."""
    compared = run.store.rows("identities", [*OWNER, "name", "mention_count"], col("model").is_not_null())
    last = compared.group_by(*OWNER, "name").agg(compared_count=pl.col("mention_count").max())
    name = pl.col("canonical_name")
    described = people.filter(is_description(name), ~is_relative(name)).with_columns(
        name=plain_name(pl.col("canonical_name"))
    )
    joined = described.join(last, on=[*OWNER, "name"], how="left", maintain_order="left")
    has_grown = pl.col("mention_count") >= pl.col("compared_count") * run.settings.graph.enrich_growth
    return joined.filter(pl.col("compared_count").is_null() | has_grown).sort(
        "mention_count", "entity_id", descending=[True, False]
    )


def candidates(
    people: pl.DataFrame, described: pl.DataFrame, told: pl.DataFrame, *, each: int
) -> pl.DataFrame:
    """For each person who is described the `each` others whose memories are most like: `entity_id`, `other_id`.

    `told` has the `content` of the memories (`cell_id`) that name each `entity_id`. Whoever is named beside the other
    in one memory is somebody else, and so is the one whose relation the description tells. Rare words weigh more.
    """
    is_telling = ~pl.element().is_in(sorted(THEMELESS_WORDS))
    used = (
        told.select("entity_id", word=words(pl.col("content")).list.eval(pl.element().filter(is_telling)))
        .explode("word")
        .drop_nulls()
        .unique()
        .join(people.select("entity_id", *OWNER), on="entity_id")
    )
    weighed = used.with_columns(weight=1 / pl.len().over(*OWNER, "word"))
    mine = weighed.join(described.select("entity_id"), on="entity_id", how="semi")
    beside = told.select("entity_id", "cell_id").join(
        told.select("cell_id", other_id="entity_id"), on="cell_id"
    )
    whose = described.select("entity_id", possessor=plain_name(possessor(pl.col("canonical_name"))))
    called = people.select(other_id="entity_id", possessor=plain_name(pl.col("canonical_name")))
    first = called.with_columns(possessor=pl.col("possessor").str.extract(r"^(\S+)"))
    not_these = pl.concat(
        [
            beside.select("entity_id", "other_id"),
            *(
                whose.drop_nulls().join(names, on="possessor").select("entity_id", "other_id")
                for names in (called, first)
            ),
        ]
    )
    return (
        mine.join(weighed.select(*OWNER, "word", other_id="entity_id"), on=[*OWNER, "word"])
        .group_by("entity_id", "other_id")
        .agg(score=pl.col("weight").sort().sum())
        .filter(pl.col("entity_id") != pl.col("other_id"))
        .join(not_these, on=["entity_id", "other_id"], how="anti")
        .sort("entity_id", "score", "other_id", descending=[False, True, False])
        .group_by("entity_id", maintain_order=True)
        .head(each)
        .select("entity_id", "other_id")
    )


def page_of(people: pl.DataFrame, pairs: pl.DataFrame, *, size: int) -> pl.DataFrame:
    """The people on one page, at most `size`, of one owner: rows of `people` with `number` and `is_asked`.

    Each person who is described is asked about with all that they are held against.
    """
    placed = pairs.join(people.select("entity_id", *OWNER), on="entity_id").sort(
        *OWNER, "entity_id", "other_id"
    )
    of_one = placed.join(placed.head(1).select(OWNER), on=OWNER, how="semi", maintain_order="left")
    shown, asked = list[str](), list[str]()
    for (entity,), group in of_one.group_by("entity_id", maintain_order=True):
        both = list(dict.fromkeys([*shown, str(entity), *group["other_id"]]))
        if len(both) <= size:
            shown = both
            asked.append(str(entity))
    chosen = pl.DataFrame({"entity_id": shown}, schema={"entity_id": pl.String}).with_row_index(
        "number", offset=1
    )
    named = chosen.join(people, on="entity_id", maintain_order="left")
    return named.with_columns(is_asked=pl.col("entity_id").is_in(asked))


def _request(page: pl.DataFrame, shown: pl.DataFrame) -> Request:
    dated = pl.format("{}: {}", told_date(), "content")
    memories = dict(shown.group_by("number").agg(dated).rows())
    people = [
        {"number": number, "name": name, "memories": memories.get(number, [])}
        for number, name in page.select("number", "canonical_name").rows()
    ]
    asked = page.filter("is_asked")["number"].to_list()
    numbers = {"page_numbers": set(page["number"]), "described_numbers": set(asked)}
    return Request(render("match_people", people=people, asked=asked), PeopleAnswer, numbers)


def _identities(
    page: pl.DataFrame, shown: pl.DataFrame, pairs: pl.DataFrame, answer: PeopleAnswer, author: Author
) -> pl.DataFrame:
    """Identities of the people asked about, one for each description of theirs, those without an equal among them.

    An answer counts for a pair that was a candidate and was not answered the other way round.
    """
    same = {"number": [one.described for one in answer.same], "person": [one.person for one in answer.same]}
    told = pl.DataFrame(same, schema={"number": pl.UInt32, "person": pl.UInt32})
    others = page.select(person="number", other_id="entity_id", same_as=plain_name(pl.col("canonical_name")))
    cells = shown.group_by("number").agg(evidence=pl.col("cell_id"))
    found = (
        page.select("number", "entity_id")
        .join(told, on="number")
        .join(others, on="person")
        .join(pairs, on=["entity_id", "other_id"], how="semi")
    )
    turned = found.select("other_id", entity_id="entity_id", is_first=pl.col("number") < pl.col("person"))
    back = turned.filter("is_first").select(entity_id="other_id", other_id="entity_id")
    kept = found.join(back, on=["entity_id", "other_id"], how="anti")
    names = pl.concat_list(pl.concat_list("canonical_name"), "aliases")
    rows = (
        page.filter("is_asked")
        .join(
            kept.select("entity_id", "person", "same_as"), on="entity_id", how="left", maintain_order="left"
        )
        .join(cells, on="number", how="left")
        .join(cells.select(person="number", theirs="evidence"), on="person", how="left")
        .with_columns(
            name=names,
            evidence=pl.col("evidence").list.set_union(pl.col("theirs").fill_null([])).list.sort(),
            **{name: pl.lit(value, dtype=pl.String) for name, value in author.items()},
        )
        .explode("name")
        .filter(is_description(pl.col("name")))
        .with_columns(name=plain_name(pl.col("name")))
    )
    return identified(rows)
