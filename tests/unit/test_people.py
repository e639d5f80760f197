"""Descriptions of people, and whom they stand for."""

import polars as pl
import pytest

from slowwave.home.entities import mentions_of, resolve
from slowwave.home.identities import page_identities
from slowwave.language.names import is_description, is_relative, same_names
from tasks.link.people import PeoplePage, SamePeople, plan_people
from tests.rows import PLAIN, row, rows

OWNER = {name: PLAIN[name] for name in ("user_id", "project_id", "scope")}


def cells(*said: tuple[str, list[str]]) -> pl.DataFrame:
    return rows(
        "cells",
        *(row("cells", f"c{n}", content=text, entities=names) for n, (text, names) in enumerate(said)),
    )


@pytest.mark.parametrize(
    ("name", "described", "relative"),
    [
        ("Ines's wife", True, False),
        ("his wife", True, True),
        ("a friend of Ines", True, True),
        ("the woman from Oslo", True, False),
        ("Ines's kids", False, False),
        ("Mara Lindqvist", False, False),
        ("Manfred Wifley", False, False),
    ],
)
def test_a_description_has_a_word_for_a_person_and_may_mean_another_one_each_time(
    name: str, described: bool, relative: bool
) -> None:
    frame = pl.DataFrame({"n": [name]})
    assert frame.select(d=is_description(pl.col("n")), r=is_relative(pl.col("n"))).row(0) == (
        described,
        relative,
    )


def test_a_pronoun_is_the_one_person_whom_the_memory_names() -> None:
    made = cells(("Ines sails with her wife.", ["Ines (person)", "her wife (person)", "Oslo (place)"]))
    assert mentions_of(made)["name"].sort().to_list() == ["Ines", "Ines's wife", "Oslo"]


def test_one_person_has_one_entity_under_name_and_description_whatever_came_first() -> None:
    said = [
        ("Ines's wife flew to Oslo.", ["Ines's wife (person)"]),
        ("Ines's wife is Mara.", ["Ines's wife (person)", "Ines (person)", "Mara (person)"]),
        ("Mara Lindqvist sings.", ["Mara Lindqvist (person)"]),
    ]
    same = same_names(pl.DataFrame([{**OWNER, "name": "iness wife", "same_as": "mara"}]))
    for order in ([0, 1, 2], [2, 1, 0]):
        mentions = mentions_of(cells(*(said[n] for n in order)), same)
        entities = resolve(mentions, same)[1].sort("mention_count", descending=True)
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


PEOPLE = {"Ines's wife": ["c1", "c2"], "the boss": ["c3"], "Ines": ["c9"], "Mara": ["c4"], "Tom": ["c2"]}
"""People of a page with the memories that name them; the first two are described."""


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ([(1, 4)], [("boss", None), ("iness wife", "mara")]),
        ([(1, 5)], [("boss", None), ("iness wife", None)]),  # named in one memory
        ([(1, 3)], [("boss", None), ("iness wife", None)]),  # the wife of Ines is not Ines
        ([(1, 2), (2, 1)], [("boss", None), ("iness wife", "boss")]),  # said both ways: one keeps its name
        ([(None, None)], [("boss", None), ("iness wife", None)]),
        ([], []),  # not answered: asked again on the next night
    ],
)
def test_two_who_are_named_in_one_memory_are_never_one_person(
    said: list[tuple[int | None, int | None]], found: list[tuple[str, str | None]]
) -> None:
    people = [
        {"number": n, **OWNER, "canonical_name": name, "aliases": [], "mention_count": 2, "is_asked": n < 3,
         "cell_ids": named, "memories": ["2026-09-03: text"] * len(named)}
        for n, (name, named) in enumerate(PEOPLE.items(), start=1)
    ]  # fmt: skip
    page = PeoplePage.of(pl.DataFrame(people, schema_overrides={"aliases": pl.List(pl.String)}))
    types = {"number": pl.Int64, "person": pl.Int64, "prompt_version": pl.String, "model": pl.String}
    same = SamePeople.of(pl.DataFrame([(*pair, "p.v1", "m") for pair in said], schema=types, orient="row"))
    events = plan_people(page, same).events
    identities = events["identity.recorded"].select("name", "same_as").rows() if events else []
    assert sorted(identities) == found


@pytest.mark.parametrize(
    ("alias", "identities"),
    [
        ("Ines Brandt = Frau B.", [("frau b", "ines brandt")]),
        ("the pump house = HP-Nord", [("hp nord", "pump house")]),
        ("Tomas = Ines's boss", [("iness boss", "tomas")]),  # a description may be listed beside its person
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
    names = ["Ines Brandt (person)", "the pump house (place)", "Tomas (person)", "Ines's boss (person)"]
    made = cells(("Ines Brandt and Tomas were at the pump house.", names)).with_columns(
        page=pl.lit(1, dtype=pl.Int64), aliases=pl.lit([alias])
    )
    text = "Frau B., her boss, was at HP-Nord. IB: yes. Ines and Tomas came. Tomas is Ines's boss."
    pieces = pl.DataFrame({"page": [1], "text": [text], "rank": [1]})
    assert page_identities(made, pieces).select("name", "same_as").rows() == identities
    quoted = made.with_columns(origin=pl.lit("untrusted"))
    assert page_identities(quoted, pieces).is_empty()
