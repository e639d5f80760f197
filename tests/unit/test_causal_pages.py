"""Pages of memories that may have led to one another."""

from datetime import timedelta

import polars as pl

from slowwave.stages.graph.causal_pages import likely_causes, pack, possible_effects
from tests.rows import DAY, row, rows


def cell(key: str, content: str, *, day: int = 1, **given: object) -> dict[str, object]:
    when = DAY + timedelta(days=day)
    plain = {"content": content, "subject": None, "topic_id": None, "session_id": f"s{day}"}
    return row("cells", key, **{**plain, "valid_from": when, "event_time": when, **given})


def causes(cells: pl.DataFrame, effect: str, *, each: int = 4) -> list[str]:
    asked = cells.filter(pl.col("cell_id") == effect)
    return likely_causes(cells, asked, cells, each=each)["cause_id"].to_list()


def test_what_may_have_been_led_to_is_told_by_its_type_or_by_a_word() -> None:
    cells = rows(
        "cells",
        cell("told", "Ines plays the cello.", cell_type="fact"),
        cell("change", "Ines quit the choir.", cell_type="fact"),
        cell("reason", "Ines sleeps badly because of the trams.", cell_type="fact"),
        cell("type", "The boiler may fail.", cell_type="risk"),
    )
    assert possible_effects(cells)["cell_id"].to_list() == ["change", "reason", "type"]


def test_a_cause_shares_a_rare_word_or_two_kinds_of_nearness_and_is_not_later() -> None:
    others = [cell(f"n{n}", f"Number {n} of the list.", day=20 + n) for n in range(40)]
    cells = rows(
        "cells",
        cell("effect", "Ines decided to eat less salt.", day=9, topic_id="T1", subject="Ines"),
        cell("far", "A doctor warned of salt.", day=2),
        cell("near", "Blood pressure was high.", day=8, subject="Ines"),
        cell("theme", "The kitchen was painted.", day=3, topic_id="T1"),
        cell("theme and subject", "Ines ate in hospital.", day=4, topic_id="T1", subject="ines"),
        cell("later", "The soup lacks salt.", day=10),
        cell("theirs", "Salt is cheap.", day=2, user_id="ben"),
        *others,
    )
    assert set(causes(cells, "effect")) == {"far", "near", "theme and subject"}
    assert causes(cells, "effect", each=1) == ["theme and subject"], "what has most ties first"


def test_two_memories_of_untrusted_origin_are_no_pair() -> None:
    cells = rows(
        "cells",
        cell("effect", "Ines quit the salt mine.", origin="untrusted"),
        cell("page", "The salt mine closed.", origin="untrusted"),
        cell("said", "The salt mine laid people off.", origin="user"),
    )
    assert causes(cells, "effect") == ["said"]


def test_groups_stand_whole_on_a_page_with_those_that_share_most() -> None:
    assert pack([["a", "b"], ["x", "y"], ["a", "c"], ["x", "z"]], size=3) == [
        ["a", "b", "c"],
        ["x", "y", "z"],
    ]
    assert pack([["a", "b", "c", "d"]], size=3) == [["a", "b", "c"]]
    assert pack([], size=3) == []
