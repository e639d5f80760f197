"""Entities are a function of the set of names: no order of arrival, no other owner and no short name changes them."""

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.home.entities import mentions_of, resolve, vanished
from slowwave.language.lexicon import AMBIGUOUS_NAMES
from tests.examples import at_most
from tests.rows import DAY, row, rows

NAME = st.sampled_from(
    [
        "Mara (person)", "Mara", "Mara Lindqvist (person)", "mara jensen (person)", "Mike (person)", "Tom (person)",
        "Michael Ortega (person)", "Tom Baker (person)", "Postgres 16 (tool)", "PostgreSQL (tool)", "Go (tool)",
        "Go 1.22 (tool)", "Skerry (organization)", "Skerry Travel (organization)", "Skerry Labs (organization)",
        "Skerry (place)", "line 2 (tool)", "Line 3 (tool)", "Will (person)", "Will Turner (person)", "??",
    ]
)  # fmt: skip
OWNER = st.sampled_from(["ana", "ben"])
CELL = st.tuples(OWNER, st.lists(NAME, max_size=3))
CELLS = st.lists(CELL, min_size=1, max_size=10)
Said = list[tuple[str, list[str]]]


def cells_of(said: Said) -> pl.DataFrame:
    whole = [
        row("cells", f"c{n:02}", user_id=who, entities=names, event_time=DAY)
        for n, (who, names) in enumerate(said)
    ]
    return rows("cells", *whole)


def night_by_night(
    cells: pl.DataFrame, order: list[int], sizes: list[int]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Mentions and entities after nights that each look only at the families of their new names."""
    mentions, entities = resolve(mentions_of(cells.clear()))
    start = 0
    for size in [*sizes, cells.height]:
        named = mentions_of(cells[order[start : start + size]])
        start += size
        mine = pl.col("family").is_in(named["family"].unique().implode())
        before, known = mentions.filter(mine), entities.filter(mine)
        after, fresh = resolve(pl.concat([before.select(named.columns), named]).unique("mention_id"))
        gone = vanished(known, before, after)["entity_id"]
        mentions = pl.concat([mentions.filter(~mine), after])
        entities = pl.concat(
            [
                entities.join(fresh, on="entity_id", how="anti").filter(
                    ~pl.col("entity_id").is_in(gone.implode())
                ),
                fresh,
            ]
        )
    return mentions.sort("mention_id"), entities.sort("entity_id")


@settings(max_examples=at_most(30))
@given(CELLS, st.data())
def test_any_order_of_arrival_over_any_nights_gives_the_same_entities(said: Said, data: st.DataObject):
    cells = cells_of(said)
    order = data.draw(st.permutations(range(cells.height)))
    sizes = data.draw(st.lists(st.integers(1, 4), max_size=4))
    mentions, entities = night_by_night(cells, list(order), sizes)
    at_once, wanted = resolve(mentions_of(cells))
    assert entities.to_dicts() == wanted.to_dicts()
    assert mentions.to_dicts() == at_once.to_dicts()


@settings(max_examples=at_most(15))
@given(CELLS)
def test_what_others_say_changes_nothing_for_an_owner(said: Said):
    cells = cells_of(said)
    for who in ("ana", "ben"):
        alone = resolve(mentions_of(cells.filter(pl.col("user_id") == who)))[1]
        together = resolve(mentions_of(cells))[1].filter(pl.col("user_id") == who)
        assert alone.to_dicts() == together.to_dicts()


SHORT = st.one_of(
    st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=3), st.sampled_from(sorted(AMBIGUOUS_NAMES))
)


@settings(max_examples=at_most(30))
@given(
    SHORT,
    st.sampled_from(["{} (person)", "{} (organization)", "{} (tool)"]),
    st.sampled_from(["Baker", "Travel", "3.2"]),
)
def test_a_short_or_common_name_is_never_joined_to_a_longer_one(short: str, form: str, more: str):
    mentions, _ = resolve(
        mentions_of(cells_of([("ana", [form.format(short)]), ("ana", [form.format(f"{short} {more}")])]))
    )
    assert mentions["entity_id"].n_unique() == mentions.height == 2
