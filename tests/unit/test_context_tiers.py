"""Packing tiers, and what files, branches and errors say."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from slowwave.language.signals import (
    SAME_ERROR,
    branch_words,
    error_message,
    error_sameness,
    error_signature,
    error_words,
    file_words,
    fix_cue,
    holds_words,
    names_file,
)
from slowwave.language.tokens import count_tokens
from slowwave.recall.page import source_label, whole_text
from slowwave.recall.select import BEST_LINES, SHORT_TOKENS, Candidate, allot, pack, pack_best
from slowwave.schemas.context import TIERS, TierName

DAY = datetime(2026, 9, 1, tzinfo=UTC)
EVEN = (0.25, 0.375, 0.25, 0.125)
FREE = dict.fromkeys(TIERS, 0)


def candidate(tier: TierName, name: str, *tokens: int, score: float = 1.0, ids: str = "") -> Candidate:
    forms = tuple(f"{name}{place}" for place in range(len(tokens)))
    cells = tuple((ids or name).split())
    return Candidate(tier, score, "fact", forms, DAY, "talk", "why", cell_ids=cells, tokens=tokens)


def packed(*candidates: Candidate, budget: int, headings: dict[TierName, int] = FREE) -> list[str]:
    return [
        entry.text for entry in pack(candidates, budget_tokens=budget, shares=EVEN, heading_tokens=headings)
    ]


# tiers


def test_a_page_names_a_session_by_the_end_of_its_id_and_a_file_by_its_name():
    names = [
        "1b0c6f5e-0001-4c1e-8a11-0000f00dcafe.jsonl",
        "rollout-2026-05-01-1b0c6f5e-0001-4c1e-8a11-0000f00dbeef",
    ]
    numbered = ("03-2026-06-11-lock-timeout.jsonl", "2026-06-11.jsonl")
    assert [source_label(name) for name in (*names, "talk.jsonl", "n" * 40, *numbered)] == [
        "f00dcafe",
        "f00dbeef",
        "talk",
        "n" * 24,
        "lock-timeout",
        "2026-06-11",
    ]


def test_shares_are_rounded_down():
    assert allot(1001, EVEN) == {"critical": 250, "relevant": 375, "background": 250, "index": 125}


def test_what_a_tier_leaves_flows_down_and_never_up():
    assert packed(candidate("index", "i", 800), budget=800) == ["i0"]
    assert packed(candidate("critical", "c", 300), budget=800) == []
    assert packed(candidate("critical", "c", 100), candidate("relevant", "r", 400), budget=800) == [
        "c0",
        "r0",
    ]


def test_an_id_stands_once_in_the_highest_tier_that_wants_it():
    both = [candidate("relevant", "low", 10, ids="a"), candidate("critical", "high", 10, ids="a b")]
    assert packed(*both, candidate("index", "last", 10, ids="b"), budget=800) == ["high0"]


def test_what_its_highest_tier_has_no_room_for_may_stand_in_the_next():
    both = [candidate("critical", "high", 250, ids="a"), candidate("relevant", "low", 250, ids="a")]
    assert packed(*both, budget=800) == ["low0"]


def test_the_best_come_first_and_equal_ones_keep_their_order():
    lines = [candidate("critical", name, 10, score=score) for name, score in (("a", 1), ("b", 2), ("c", 1))]
    assert packed(*lines, budget=800) == ["b0", "a0", "c0"]


def test_a_line_is_shortened_to_a_whole_form_or_left_out():
    assert packed(candidate("critical", "c", 90, 40), budget=400) == ["c1"]
    assert packed(candidate("critical", "c", 120, 100), budget=400) == ["c1"]
    assert packed(candidate("critical", "c", 120, 101), budget=400) == []


def test_a_smaller_line_still_fits_behind_one_that_does_not():
    assert packed(candidate("critical", "big", 500, score=2), candidate("critical", "c", 20), budget=400) == [
        "c0"
    ]


def test_a_heading_costs_once_and_only_where_there_are_lines():
    headings = {**FREE, "critical": 60}
    lines = [candidate("critical", "a", 20), candidate("critical", "b", 20)]
    assert packed(*lines, budget=400, headings=headings) == ["a0", "b0"]
    assert packed(*lines, budget=336, headings=headings) == ["a0"]
    assert packed(candidate("relevant", "r", 250), budget=400, headings=headings) == ["r0"]


def test_what_was_shown_is_left_out():
    lines = [candidate("critical", "a", 10), candidate("critical", "b", 10)]
    chosen = pack(lines, budget_tokens=400, shares=EVEN, heading_tokens=FREE, shown={"a"})
    assert [entry.text for entry in chosen] == ["b0"]


# a page about a question


def best(
    *candidates: Candidate, budget: int, groups: dict[str, int] | None = None, told_weight: float = 0.5
) -> list[str]:
    chosen = pack_best(candidates, budget_tokens=budget, group_tokens=groups or {}, told_weight=told_weight)
    return [entry.text for entry in chosen]


def quote(turn: str, tokens: int, *, score: float) -> Candidate:
    line = candidate("relevant", turn, tokens, score=score)
    return replace(line, cell_ids=(), turn_ids=(turn,), rests_on=frozenset({turn}))


def memory(name: str, tokens: int, *turns: str, score: float) -> Candidate:
    return replace(candidate("relevant", name, tokens, score=score), rests_on=frozenset(turns))


def test_the_best_lines_of_all_tiers_are_taken_and_the_whole_form_while_it_fits():
    lines = [candidate("index", "low", 300, 100), candidate("critical", "high", 600, 100, score=2)]
    assert best(*lines, budget=900) == ["high0", "low0"]
    assert best(*lines, budget=750) == ["high0", "low1"]


def test_on_a_short_page_the_whole_form_of_later_lines_leaves_room_for_more():
    lines = [candidate("relevant", name, 60, 20, score=3 - place) for place, name in enumerate("abc")]
    assert best(*lines, budget=140) == ["a0", "b1", "c1"]
    assert best(*lines, budget=SHORT_TOKENS) == ["a0", "b0", "c0"]


def test_a_turn_that_a_memory_tells_waits_and_so_does_a_memory_that_is_quoted():
    told = [memory("m", 10, "t1", score=1.0), quote("t1", 10, score=0.9), quote("t2", 10, score=0.5)]
    assert best(*told, budget=30) == ["m0", "t20", "t10"]
    assert best(*told, budget=20) == ["m0", "t20"]
    quoted_first = [
        quote("t1", 10, score=1.0),
        memory("m", 10, "t1", score=0.9),
        memory("n", 10, "t1", "t2", score=0.5),
    ]
    assert best(*quoted_first, budget=30) == ["t10", "n0", "m0"]


def test_a_turn_and_its_memory_in_the_same_wording_stand_once():
    lines = [memory("m", 10, "t1", score=1.0), quote("t1", 10, score=0.9), quote("t2", 10, score=0.5)]
    worded = [replace(line, wordings=frozenset({"we deploy with Nomad"})) for line in lines]
    assert best(*worded, budget=30) == ["m0", "t20"]
    assert best(worded[1], worded[0], budget=30) == ["m0"]
    assert best(worded[2], replace(worded[1], score=2.0), worded[0], budget=10) == ["m0"]
    assert packed(*worded, budget=100) == ["m0", "t20"]


def test_an_open_contradiction_tells_both_sides_in_the_place_of_their_quotes():
    said = [quote("t1", 10, score=2.0), quote("t2", 10, score=1.5)]
    said = [replace(line, wordings=frozenset({f"deploy on {line.turn_ids[0]}"})) for line in said]
    sides = replace(memory("both", 10, "t1", "t2", score=1.0), kind="contradiction")
    worded = replace(sides, wordings=said[0].wordings | said[1].wordings)
    assert best(*said, worded, budget=30, told_weight=0.0) == ["both0"]
    assert packed(*said, replace(worded, tier="critical"), budget=100) == ["both0"]
    assert best(*said, sides, budget=30, told_weight=0.0) == ["t10", "t20", "both0"]
    assert packed(*said, replace(worded, tier="index"), budget=100) == ["t10", "t20", "both0"]


def test_the_line_above_a_group_is_paid_once():
    lines = [replace(candidate("relevant", name, 10), under="day") for name in ("a", "b", "c")]
    assert best(*lines, budget=35, groups={"day": 10}) == ["a0", "b0"]
    assert best(*lines, budget=40, groups={"day": 10}) == ["a0", "b0", "c0"]


# signals


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/home/mara/src/kittiwake/jobs/manifest_export.py", "jobs manifest export"),
        ("web/src/components/HoldTimer.vue", "components hold timer"),
        ("src/index.ts", ""),
        ("", ""),
        ("C:\\code\\api\\client.ts", "api client"),
    ],
)
def test_a_path_gives_the_words_of_its_name_and_folder(path: str, words: str):
    assert file_words(path) == words


@pytest.mark.parametrize(
    ("branch", "words"),
    [("feat/departure-index", "departure index"), ("main", ""), ("fix_seatHold", "seat hold"), ("HEAD", "")],
)
def test_a_branch_gives_its_words_and_a_trunk_none(branch: str, words: str):
    assert branch_words(branch) == words


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("`jobs/occupancy.py` writes", True),
        ("occupancy.py writes", True),
        ("see /srv/kittiwake/jobs/occupancy.py:77", True),
        ("Jobs/Occupancy.py", True),
        ("api/occupancy.py writes", False),
        ("occupancy.py of the shop file:shop/occupancy.py", False),
        ("jobs/occupancy.pyc", False),
        ("my_occupancy.py", False),
        ("the occupancy job", False),
    ],
)
def test_a_text_names_a_file_by_as_much_of_its_path_as_it_gives(text: str, is_named: bool):
    assert names_file(text, "/srv/kittiwake/jobs/occupancy.py") is is_named


def test_a_text_of_nothing_but_slashes_is_no_trap():
    assert not names_file("/" * 200_000 + "x.py", "a.py")


TRACEBACK = """Traceback (most recent call last):
  File "/srv/jobs/occupancy.py", line 41, in run
    await con.execute(query)
asyncpg.exceptions.LockNotAvailableError: canceling statement due to lock timeout
SQLSTATE 55P03"""


def test_an_error_is_told_by_its_last_lines_its_class_and_its_code():
    assert error_message(TRACEBACK).endswith("lock timeout\nSQLSTATE 55P03")
    assert error_signature(TRACEBACK) == {"locknotavailableerror", "55p03"}
    assert {"canceling", "statement", "lock"} <= error_words(TRACEBACK)
    assert error_signature("ValueError: 12 at 0x7f3a") == frozenset()


def sameness(error: str, text: str) -> float:
    return error_sameness(text, signature=error_signature(error), words=error_words(error))


def test_the_same_error_is_known_by_its_code_or_by_its_words():
    assert sameness(TRACEBACK, "migration fails with SQLSTATE 55P03") >= SAME_ERROR
    assert (
        sameness("canceling statement due to lock timeout", "... canceling statement due to lock timeout")
        == 1
    )
    assert sameness(TRACEBACK, "the lock of the door") < SAME_ERROR
    assert sameness("KeyError: 'a'", "a KeyError") == 0, "an everyday class alone tells nothing"


def test_a_fix_sounds_like_one():
    assert fix_cue("Cause: a lock. Fix: move the call out of the transaction.") > fix_cue("It hangs again.")
    assert fix_cue("It hangs again.") == 0


# words


def test_endings_of_longer_words_do_not_count():
    assert holds_words("refresh tokens live two weeks", {"token", "lives", "port"}) == pytest.approx(2 / 3)
    assert holds_words("anything", ()) == 0


# tokens


def test_tokens_are_those_of_a_real_tokenizer():
    assert count_tokens([]) == []
    assert count_tokens(["", "hello world", "\ud800"])[:2] == [0, 2]
    assert count_tokens(["hello " * 1000]) == [1001] or count_tokens(["hello " * 1000])[0] > 900


@pytest.mark.parametrize("layout", ["question", "small"])
def test_lines_of_one_day_and_source_are_in_the_order_in_which_they_were_said_whatever_their_rank(layout):
    said = [("b", 9, "x:"), ("other", 1, "y:"), ("a", 8, "x:"), ("same", 9, "x:")]
    lines = [
        replace(
            candidate("relevant", name, 10),
            score=2.0 - place / 10,
            under=under,
            event_time=DAY.replace(hour=hour),
        )
        for place, (name, hour, under) in enumerate(said)
    ]
    chosen = pack_best(lines, budget_tokens=1_000, group_tokens={"x:": 5, "y:": 5}, told_weight=0.0)
    told = [line for line in whole_text(chosen, DAY, layout).splitlines() if line[-1] in "0:"]
    assert told[-6:] == ["x:", "a0", "b0", "same0", "y:", "other0"]
    assert [entry.text for entry in chosen] == ["b0", "other0", "a0", "same0"]


def test_the_weak_lines_of_a_group_come_after_the_best_lines_of_the_others():
    best = [replace(candidate("relevant", f"a{i}", 10), score=2.0 - i / 100, under="a:") for i in range(40)]
    other = replace(candidate("relevant", "answer", 10), score=1.85, under="b:")
    chosen = pack_best([*best, other], budget_tokens=1_000, group_tokens={"a:": 5, "b:": 5}, told_weight=0.0)
    lines = whole_text(chosen, DAY, "question").splitlines()[2:-1]
    assert lines.index("answer0") == BEST_LINES + 1, (
        "after the best of the other group, under a line of its own"
    )
    assert lines.count("a:") == 2
    assert len(lines) == len(chosen) + 3
