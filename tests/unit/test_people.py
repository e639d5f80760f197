"""Descriptions of people, and whom they stand for."""

import polars as pl
import pytest

from slowwave.language.names import is_description, is_relative, is_sole, same_names, says_who
from slowwave.stages.graph.entities import mentions_of, people_and_things, resolve
from slowwave.stages.graph.identities import page_identities, told_identities
from slowwave.stages.graph.people import candidates, page_of
from tests.rows import DAY, PLAIN, row, rows

OWNER = {name: PLAIN[name] for name in ("user_id", "project_id", "scope")}


def one(expression: pl.Expr, **values: str) -> object:
    return pl.DataFrame(values).select(expression).item()


def cells(*said: tuple[str, list[str]]) -> pl.DataFrame:
    return rows(
        "cells",
        *(row("cells", f"c{n}", content=text, entities=names) for n, (text, names) in enumerate(said)),
    )


def told(*said: tuple[str, list[str]]) -> list[tuple[str, str]]:
    made = cells(*said)
    return told_identities(people_and_things(made), made).select("name", "same_as").rows()


@pytest.mark.parametrize(
    ("name", "described", "sole"),
    [
        ("Ines's wife", True, True),
        ("his wife", True, True),
        ("the woman from Oslo", True, False),
        ("Ines's friend", True, False),
        ("Ines's kids", False, False),
        ("Mara Lindqvist", False, False),
        ("Manfred Wifley", False, False),
    ],
)
def test_a_description_has_a_word_for_a_person_and_a_sole_one_fits_one_at_a_time(
    name: str, described: bool, sole: bool
) -> None:
    assert one(is_description(pl.col("n")), n=name) is described
    assert one(is_sole(pl.col("n")), n=name) is sole


def test_her_friend_and_a_friend_may_be_another_one_each_time() -> None:
    names = pl.DataFrame({"n": ["her friend", "a friend of Ines", "Ines's friend", "the woman from Oslo"]})
    assert names.select(is_relative(pl.col("n"))).to_series().to_list() == [True, True, False, False]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Ines’s wife is Mara.", True),
        ("Ines's wife Mara came.", True),
        ("Mara (Ines's wife) came.", True),
        ("Mara is Ines's wife and sings.", True),
        ("Ines's wife, Mara and Tom came.", False),
        ("Mara is Ines's wife's sister.", False),
        ("Ines's wife is Mara's boss.", False),
        ("Ines's wife is Marah.", False),
        ("Mara met Ines's wife.", False),
    ],
)
def test_a_text_says_who_is_described_only_in_so_many_words(text: str, says: bool) -> None:
    told = says_who(pl.col("t"), pl.col("d"), pl.col("p"))
    assert one(told, t=text, d="Ines's wife", p="Mara") is says


def test_a_pronoun_is_the_one_person_whom_the_memory_names() -> None:
    assert (
        told(("Ines sails. Her wife Mara rows.", ["Ines (person)", "her wife (person)", "Mara (person)"]))
        == []
    )
    assert told(("His wife Mara rows.", ["his wife (person)", "Mara (person)"])) == []
    made = cells(("Ines sails with her wife.", ["Ines (person)", "her wife (person)", "Oslo (place)"]))
    assert mentions_of(made)["name"].sort().to_list() == ["Ines", "Ines's wife", "Oslo"]


def test_one_person_has_one_entity_under_name_and_description_whatever_came_first() -> None:
    said = [
        ("Ines's wife flew to Oslo.", ["Ines's wife (person)"]),
        ("Ines's wife is Mara.", ["Ines's wife (person)", "Ines (person)", "Mara (person)"]),
        ("Mara Lindqvist sings.", ["Mara Lindqvist (person)"]),
    ]
    for order in ([0, 1, 2], [2, 1, 0]):
        made = cells(*(said[n] for n in order))
        same = same_names(told_identities(people_and_things(made), made))
        entities = resolve(mentions_of(made, same), same)[1].sort("mention_count", descending=True)
        assert entities.select("canonical_name", "aliases", "mention_count").rows() == [
            ("Mara Lindqvist", ["Ines's wife", "Mara"], 3),
            ("Ines", [], 1),
        ]


def test_a_description_of_two_people_stands_for_neither_and_a_chain_is_followed() -> None:
    known = [("ines wife", "mara"), ("the boss", "bo"), ("the boss", "tor"), ("the singer", "ines wife")]
    identities = pl.DataFrame([{**OWNER, "name": name, "same_as": same} for name, same in known])
    assert dict(same_names(identities).select("plain", "called").rows()) == {
        "ines wife": "mara",
        "the singer": "mara",
    }


def person(key: str, name: str) -> dict[str, object]:
    return row("entities", key, canonical_name=name, entity_type="person", aliases=[])


def test_who_is_named_beside_a_description_or_possesses_it_is_no_candidate() -> None:
    people = rows(
        "entities", person("w", "Ines's wife"), person("i", "Ines"), person("m", "Mara"), person("t", "Tom"),
        person("far", "Ulla"),
    )  # fmt: skip
    said = [
        ("w", "c1", "The choir sang with her in Oslo."), ("t", "c1", "The choir sang with her in Oslo."),
        ("m", "c2", "A choir needs altos."), ("i", "c3", "The choir is old."), ("far", "c4", "Trams are blue."),
    ]  # fmt: skip
    told = pl.DataFrame(
        [{"entity_id": who, "cell_id": cell, "content": text, "valid_from": DAY} for who, cell, text in said]
    )
    pairs = candidates(people, people.head(1), told, each=3)
    assert pairs.rows() == [("w", "m")]
    page = page_of(people, pairs, size=24)
    assert page.select("number", "canonical_name", "is_asked").rows() == [
        (1, "Ines's wife", True),
        (2, "Mara", False),
    ]
    assert page_of(people, pairs, size=1).is_empty()


@pytest.mark.parametrize(
    ("alias", "identities"),
    [
        ("Ines Brandt = Frau B.", [("frau b", "ines brandt")]),
        ("the pump house = HP-Nord", [("hp nord", "pump house")]),
        ("the pump house = the well", []),  # the page does not have it
        ("Ines Brandt = Ines", []),  # a first name may be two people's
        ("Ines Brandt = Tomas", []),  # the memory names him as somebody else
        ("Ines Brandt = her boss", []),
        ("Ines Brandt = IB", []),  # too short to be one thing's alone
    ],
)
def test_another_name_that_the_page_has_is_an_identity_and_a_doubtful_one_is_none(
    alias: str, identities: list[tuple[str, str]]
) -> None:
    names = ["Ines Brandt (person)", "the pump house (place)", "Tomas (person)"]
    made = cells(("Ines Brandt and Tomas were at the pump house.", names)).with_columns(
        page=pl.lit(1, dtype=pl.Int64), aliases=pl.lit([alias])
    )
    text = "Frau B., her boss, was at HP-Nord. IB: yes. Ines and Tomas came."
    pieces = pl.DataFrame({"page": [1], "text": [text], "rank": [1]})
    assert page_identities(made, pieces).select("name", "same_as").rows() == identities
    quoted = made.with_columns(origin=pl.lit("untrusted"))
    assert page_identities(quoted, pieces).is_empty()
