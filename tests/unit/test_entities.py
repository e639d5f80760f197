"""Which names are one person or thing, and which only look like it."""

from collections.abc import Sequence

import polars as pl
import pytest

from slowwave.home.entities import entity_changes, mentions_of, resolve, vanished
from slowwave.language.names import is_ambiguous, person_name, without_version
from tests.rows import DAY, row, rows


def cells(*entities: Sequence[str], **given: object) -> pl.DataFrame:
    """A cell for each list of names."""
    whole = [
        row("cells", f"c{n}", entities=[*names], event_time=DAY, **given) for n, names in enumerate(entities)
    ]
    return rows("cells", *whole)


def resolved(*names: str, **given: object) -> pl.DataFrame:
    """The entities of cells that name one name each."""
    return resolve(mentions_of(cells(*([name] for name in names), **given)))[1]


def called(*names: str) -> list[str]:
    return sorted(resolved(*names)["canonical_name"])


ONE = [
    (("PostgreSQL (tool)", "Postgres 16 (tool)", "postgres (tool)"), "PostgreSQL"),
    (("Python 3.11 (tool)", "Python 3.12 (tool)"), "Python"),
    (("Ubuntu 24.04 LTS (tool)", "Ubuntu (tool)"), "Ubuntu"),
    (("Node.js v18 (tool)", "NodeJS (tool)"), "Node.js"),
    (("Mara (person)", "Mara Lindqvist (person)", "MARA (person)", "Lindqvist, Mara (person)"), "Mara Lindqvist"),
    (("Mike (person)", "Michael Ortega (person)", "Mike Ortega (person)"), "Michael Ortega"),
    (("Dr. Robert J. Smith (person)", "Bob Smith (person)"), "Dr. Robert J. Smith"),
    (("José Álvarez (person)", "Jose Alvarez (person)"), "José Álvarez"),
    (("Mara (person)", "Mara"), "Mara"),
    (("Mara", "Mara Lindqvist (person)"), "Mara Lindqvist"),
    (("Paylark GmbH (organization)", "Paylark (organization)", "PAYLARK (tool)"), "Paylark"),
    (("Skerry (organization)", "Skerry Travel (organization)"), "Skerry Travel"),
    (("notify-queue (tool)", "notify_queue (concept)", "Notify Queue"), "Notify Queue"),
    (("the harbour authority (organization)", "harbour authority (organization)"), "the harbour authority"),
]  # fmt: skip


@pytest.mark.parametrize(("names", "best"), ONE, ids=lambda value: value if isinstance(value, str) else "")
def test_names_of_one_are_one_under_the_best_of_them(names: tuple[str, ...], best: str) -> None:
    assert called(*names) == [best]


@pytest.mark.parametrize(
    "names",
    [
        ("Jonas (person)", "Jonas Weber (person)", "Jonas Eriksen (person)"),  # two candidates
        ("Tom (person)", "Tom Baker (person)"),  # three letters
        ("Bob (person)", "Robert Smith (person)"),
        ("Will (person)", "Will Turner (person)"),  # a word
        ("Mike (person)", "Michael (person)"),  # no full name says that they are one
        ("Vue (tool)", "Vue 3 (tool)"),
        ("Go (tool)", "Go 1.22 (tool)"),
        ("C (tool)", "C++ (tool)", "C# (tool)"),
        ("migration 0031 (concept)", "migration 0038 (concept)"),
        ("kiln 2 (tool)", "kiln 3 (tool)"),
        ("Line 2 (tool)", "Line 3 (tool)"),
        ("Jordan (person)", "Jordan (place)"),
        ("Skerry (organization)", "Skerry Travel (organization)", "Skerry Labs (organization)"),
        ("Mara Lindqvist (person)", "Mara Jensen (person)"),
        ("Google (organization)", "Google Cloud (organization)"),
    ],
)
def test_names_that_may_be_two_stay_two(names: tuple[str, ...]) -> None:
    assert resolved(*names).height == len(names)


def test_a_second_full_name_takes_a_first_name_out_of_the_first_one_again() -> None:
    one = resolved("Mara (person)", "Mara Lindqvist (person)")
    three = resolved("Mara (person)", "Mara Lindqvist (person)", "Mara Jensen (person)")
    assert one.height == 1
    assert sorted(three["canonical_name"]) == ["Mara", "Mara Jensen", "Mara Lindqvist"]
    assert set(one["entity_id"]) < set(three["entity_id"])


def test_an_entity_tells_its_type_by_most_mentions_its_aliases_and_its_count_of_cells() -> None:
    entities = resolve(
        mentions_of(
            cells(["scanner app (tool)"], ["Scanner-App (project)", "scanner app (project)"], ["???"])
        )
    )[1]
    assert entities.select("canonical_name", "entity_type", "aliases", "mention_count").rows() == [
        ("Scanner-App", "project", ["scanner app"], 2)
    ]


def test_a_name_without_a_type_has_no_type_unless_another_mention_says_it() -> None:
    assert resolved("Lomvi")["entity_type"].to_list() == [None]
    assert resolved("Lomvi", "Lomvi (concept)")["entity_type"].to_list() == ["concept"]


def test_what_changed_is_told_and_what_did_not_is_not() -> None:
    before = resolved("Mara (person)", "Redis (tool)")
    after = resolved("Mara (person)", "Redis (tool)", "Redis (tool)")
    assert entity_changes(before, before).is_empty()
    assert entity_changes(after, before)["canonical_name"].to_list() == ["Redis"]


def test_an_entity_that_vanishes_names_the_one_that_took_its_names_or_none() -> None:
    old = mentions_of(cells(["Mara (person)"], ["Redis (tool)"]))
    before, known = resolve(old)
    grown = pl.concat(
        [old.filter(pl.col("name") == "Mara"), mentions_of(cells([], [], ["Mara Lindqvist (person)"]))]
    )
    after, entities = resolve(grown)
    whole = entities["entity_id"].item()
    ids = dict(known.select("canonical_name", "entity_id").iter_rows())
    assert set(vanished(known, before, after).iter_rows()) == {(ids["Mara"], whole), (ids["Redis"], None)}


def test_names_of_one_entity_are_of_one_family_so_that_a_night_finds_them_together() -> None:
    for names, _ in ONE:
        assert mentions_of(cells([*names]))["family"].n_unique() == 1, names


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("Python 3.11", "Python"),
        ("Postgres 16", "Postgres"),
        ("node v20.1", "node"),
        ("kiln 2", "kiln 2"),
        ("S3", "S3"),
    ],
)
def test_a_version_is_cut_off_and_a_number_of_a_thing_is_not(name: str, bare: str) -> None:
    assert pl.select(without_version(pl.lit(name))).item() == bare


def test_a_persons_name_loses_title_and_middle_initials_and_gets_its_whole_first_name() -> None:
    assert pl.select(person_name(pl.lit("dr bob j smith"))).item() == "robert smith"


@pytest.mark.parametrize(
    ("plain", "wanted"), [("aws", True), ("will", True), ("redis", False), ("s3 go", True)]
)
def test_short_and_common_names_are_ambiguous(plain: str, wanted: bool) -> None:
    assert pl.select(is_ambiguous(pl.lit(plain))).item() is wanted
