"""Candidates, pages, the guard and what follows from judgements."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from slowwave.lifecycle.order import supersessions
from slowwave.lifecycle.repetitions import complete, confirmations, stand_ins
from slowwave.schemas.moments import day_of, unknown_until
from tasks.reconcile.guard import guarded
from tasks.reconcile.pages import disjoint_pages
from tasks.reconcile.pairs import Near, exact_repetitions, near_enough, of_one_property, unasked
from tests.rows import DAY, NOW, row, rows


def day(number: int, month: int = 6) -> datetime:
    return datetime(2026, month, number, tzinfo=UTC)


def cells(*whole: dict[str, object]) -> pl.DataFrame:
    return rows("cells", *whole)


def cell(key: str, **given: object) -> dict[str, object]:
    return row("cells", key, **given)


# the guard

OLD: dict[str, object] = {
    "subject": "kiln of line 2",
    "attribute": "temperature",
    "value": "1060 °C",
    "content": "The kiln of line 2 runs at 1060 °C.",
}
NEW: dict[str, object] = {**OLD, "value": "1040 °C", "content": "The kiln of line 2 runs at 1040 °C."}


def ruled(
    verdict: str, new: dict[str, object], old: dict[str, object], **named: str | None
) -> tuple[str, str | None]:
    """Effect and note of one judgement."""
    said = {"cell_id": "new", "target_id": "old", "verdict": verdict, "subject": "kiln of line 2",
            "attribute": "temperature", "target_value": None, "new_value": None, "reason": "r", **named}  # fmt: skip
    judged = guarded(
        pl.DataFrame([said], schema=dict.fromkeys(said, pl.String)),
        cells(cell("new", **{"evidence": ["turn-2"], **new}), cell("old", **old)),
    )
    assert judged.columns == [*said, "effect", "guard_note"]
    effect, note = judged.select("effect", "guard_note").row(0)
    return effect, note


@pytest.mark.parametrize("verdict", ["updates", "corrects"])
def test_a_new_value_of_the_shared_subject_and_attribute_retires_the_old(verdict: str):
    assert ruled(verdict, NEW, OLD) == ("superseded", None)


def test_a_text_that_says_what_the_value_was_before_retires_it_by_whatever_name_of_the_attribute():
    new = {**NEW, "attribute": "heat", "content": "The kiln of line 2 runs at 1040 °C instead of 1060 °C."}
    assert ruled("updates", new, OLD, attribute="heat") == ("superseded", None)
    assert (
        ruled("updates", {**new, "content": "1040 °C is the heat."}, OLD, attribute="heat")[0]
        == "contradiction"
    )
    assert ruled("updates", new, {**OLD, "protected": True})[0] == "contradiction"


UNSHARED = "the two memories do not share the named subject and attribute"


@pytest.mark.parametrize("verdict", ["updates", "corrects"])
@pytest.mark.parametrize(
    ("new", "old", "named"),
    [
        ({"subject": "kiln of line 3"}, {}, {}),
        ({"attribute": "colour"}, {}, {}),
        ({}, {"subject": "the dryer"}, {}),
        ({}, {"attribute": "owner"}, {}),
        ({"subject": None}, {}, {}),
        ({}, {"attribute": None}, {}),
        ({}, {}, {"subject": "kiln of line 3"}),
        ({}, {}, {"attribute": "colour"}),
        ({}, {}, {"subject": ""}),
        ({}, {}, {"attribute": None}),
        ({"subject": "of the"}, {"subject": "the of"}, {"subject": "a"}),
    ],
)
def test_no_memory_retires_one_of_another_subject_or_attribute(verdict, new, old, named):
    assert ruled(verdict, {**NEW, **new}, {**OLD, **old}, **named) == ("contradiction", UNSHARED)


@pytest.mark.parametrize(
    "subject", ["The KILN of line 2", "kiln line 2", "kiln-of-line-2", "the kiln of line 2 in Hall B", "kiln"]
)
def test_a_subject_may_be_said_in_other_order_case_and_length(subject: str):
    assert ruled("updates", {**NEW, "subject": subject}, OLD)[0] == "superseded"


def test_an_invented_target_has_no_effect():
    missing = "the target is not among the memories shown"
    for verdict in ("confirms", "corrects", "updates", "contradicts"):
        assert ruled(verdict, NEW, OLD, target_id="nobody") == ("none", missing)
        assert ruled(verdict, NEW, OLD, target_id=None) == ("none", missing)


def test_keep_has_no_effect():
    assert ruled("keep", NEW, OLD, target_id=None) == ("none", None)


@pytest.mark.parametrize("verdict", ["updates", "corrects"])
@pytest.mark.parametrize("is_new", [True, False])
def test_a_memory_of_an_unknown_day_stands_beside_one_from_before_its_file(verdict: str, is_new: bool):
    at = datetime(2026, 5, 1, tzinfo=UTC)
    undated = dict.fromkeys(("valid_from", "event_time"), unknown_until(at))
    for days, effect in ((-30, "contradiction"), (1, "superseded")):
        dated = dict.fromkeys(("valid_from", "event_time"), at + timedelta(days=days))
        new, old = (undated, dated) if is_new else (dated, undated)
        assert ruled(verdict, NEW | new, OLD | old)[0] == effect
    assert ruled(verdict, NEW | undated, OLD | undated)[0] == "contradiction"


def test_contradicts_opens_a_contradiction():
    assert ruled("contradicts", NEW, OLD) == ("contradiction", None)


DIFFER = "said again, but numbers, dates, names or negations differ"


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The limit is 250 a minute.", "The limit is 100 a minute."),
        ("It is due on 2026-09-01.", "It is due on 2026-09-02."),
        ("The review is on Monday.", "The review is on Tuesday."),
        ("The deploy is owned by Ana.", "The deploy is owned by Ben."),
        ("The deploy is owned by Åse.", "The deploy is owned by Øyvind."),
        ("Settings are in app/main.toml.", "Settings are in app/base.toml."),
        ("Settings are in app/main.toml.", "Settings are in app/main.yaml."),
        ("Retries are enabled.", "Retries are not enabled."),
        ("Never deploy on port 80.", "Deploy on port 80."),
        ("Don’t retry the call.", "Retry the call."),
        ("Deploys on Friday are not allowed, says the runbook.", "Deploys on Friday are allowed."),
        ("A hold lasts thirty minutes.", "A hold lasts forty minutes."),
    ],
)
def test_what_is_said_again_with_another_number_date_name_or_negation_is_a_contradiction(new, old):
    plain = {"subject": None, "attribute": None, "value": None}
    assert ruled("confirms", {**plain, "content": new}, {**plain, "content": old}) == (
        "contradiction",
        DIFFER,
    )


def test_the_same_said_with_the_same_or_fewer_values_confirms():
    assert ruled("confirms", OLD, OLD) == ("confirmed", None)
    again = {**OLD, "content": "At 1060 °C is where the kiln of line 2 runs."}
    assert ruled("confirms", again, OLD) == ("confirmed", None)
    fewer = {**OLD, "content": "Line 2 runs hot."}
    assert ruled("confirms", fewer, OLD) == ("confirmed", None)


@pytest.mark.parametrize("verdict", ["confirms", "absorbs", "absorbed"])
def test_the_same_said_with_more_values_is_a_repetition_whoever_says_more(verdict: str):
    more = {**OLD, "content": "The kiln of line 2 runs at 1060 °C since 2026-05-04."}
    assert ruled(verdict, more, OLD) == ("confirmed", None)
    assert ruled(verdict, OLD, more) == ("confirmed", None)


@pytest.mark.parametrize("verdict", ["confirms", "absorbs", "absorbed"])
def test_where_each_side_has_a_value_that_the_other_lacks_both_stay(verdict: str):
    dated = {**OLD, "content": "The kiln of line 2 runs at 1060 °C since 2026-05-04."}
    named = {**OLD, "content": "The kiln of line 2 runs at 1060 °C, says Signe."}
    assert ruled(verdict, dated, named) == ("elaborated", None)


HABIT: dict[str, object] = {
    "subject": "Signe",
    "attribute": None,
    "value": None,
    "entities": ["Ola (person)"],
}


def test_the_day_on_which_a_habit_was_told_is_no_value_of_it():
    told = {**HABIT, "content": "As of 2026-06-02 Signe checks the kiln every morning.", "event_time": day(2)}
    again = {
        **HABIT,
        "content": "As of 2026-07-05 Signe checks the kiln every morning.",
        "event_time": day(5, 7),
    }
    assert ruled("confirms", again, told) == ("confirmed", None)
    event = {**HABIT, "content": "Signe repaired the kiln on 2026-06-02.", "event_time": day(2)}
    other = {**HABIT, "content": "Signe repaired the kiln on 2026-07-05.", "event_time": day(5, 7)}
    assert ruled("confirms", other, event) == ("contradiction", DIFFER)


# a state that changed where neither memory carries the attribute

LIVED: dict[str, object] = {**HABIT, "subject": "Ola", "content": "Ola lives in Turku by the river."}
LIVES: dict[str, object] = {**LIVED, "content": "Ola has settled in Riga."}
HOME = {"subject": "Ola", "attribute": "home city", "target_value": "Turku", "new_value": "Riga"}


@pytest.mark.parametrize("verdict", ["updates", "corrects"])
def test_values_copied_from_both_texts_of_one_subject_retire_the_old(verdict: str):
    assert ruled(verdict, LIVES, LIVED, **HOME) == ("superseded", None)


@pytest.mark.parametrize(
    ("new", "old", "named"),
    [
        ({}, {}, {"target_value": "Oslo"}),
        ({}, {}, {"new_value": "Oslo"}),
        ({}, {}, {"new_value": ""}),
        ({}, {}, {"target_value": None}),
        ({}, {}, {"new_value": "Ola"}),
        ({}, {}, {"attribute": ""}),
        ({}, {}, {"subject": "Signe"}),
        ({"subject": "Ola's brother"}, {}, {}),
        ({"subject": None, "content": "She has settled in Riga."}, {}, {}),
        ({"attribute": "office", "value": "Riga"}, {}, {}),
        ({"attribute": "home city", "value": "Riga"}, {"attribute": "office", "value": "Turku"}, {}),
    ],
)
def test_a_shared_mention_without_copied_values_of_one_property_retires_nothing(new, old, named):
    found = ruled("updates", {**LIVES, **new}, {**LIVED, **old}, **{**HOME, **named})
    assert found == ("contradiction", UNSHARED)


def test_a_text_that_names_the_subject_may_lack_the_field():
    assert ruled("updates", {**LIVES, "subject": None}, LIVED, **HOME)[0] == "superseded"


def test_a_task_may_change_in_another_property_than_its_status():
    removal = {
        "cell_type": "task",
        "subject": "removal of the old kiln",
        "attribute": "status",
        "value": "open",
    }
    old = {**LIVED, **removal, "content": "The old kiln is to be removed by 2026-08-28."}
    new = {**LIVED, **removal, "content": "The removal of the old kiln was moved to 2026-09-11."}
    due = {"attribute": "due date", "target_value": "2026-08-28", "new_value": "2026-09-11"}
    dated = {**new, "cell_type": "fact", "attribute": "due date", "value": "2026-09-11"}
    for one in (new, dated):
        assert ruled("updates", one, old, subject="removal of the old kiln", **due) == ("superseded", None)
    alone = {**new, "attribute": "owner", "value": "Ola"}
    assert ruled("updates", alone, old, subject="removal of the old kiln", **due) == (
        "contradiction",
        UNSHARED,
    )


# a plan that met its outcome

PLAN: dict[str, object] = {
    **HABIT,
    "cell_type": "task",
    "subject": "TLS certificate",
    "content": "The certificate must be renewed.",
}
DONE: dict[str, object] = {
    **PLAN,
    "cell_type": "fact",
    "content": "The certificate was renewed.",
    "event_time": day(20, 9),
}
NONE = {"subject": "", "attribute": ""}


def test_a_task_ends_with_its_outcome_and_needs_no_attribute():
    assert ruled("completes", DONE, PLAN, **NONE) == ("superseded", None)
    named = {"subject": "site", "entities": ["TLS certificate (tool)"]}
    assert (
        ruled("completes", {**DONE, **named}, {**PLAN, **named, "subject": "Mara"}, **NONE)[0] == "superseded"
    )


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ({}, {"cell_type": "fact"}),
        ({"subject": "oven"}, {}),
        ({"event_time": day(1)}, {}),
        ({"origin": "untrusted"}, {}),
        ({}, {"protected": True}),
    ],
)
def test_what_is_no_task_or_no_outcome_of_it_stays(new, old):
    effect, note = ruled("completes", {**DONE, **new}, {**PLAN, **old}, **NONE)
    assert effect == "none"
    assert note


@pytest.mark.parametrize("verdict", ["updates", "corrects"])
def test_a_memory_with_the_same_value_does_not_retire_the_other(verdict: str):
    same = {**NEW, "value": "1060 °c"}
    assert ruled(verdict, same, OLD) == ("elaborated", "both memories carry the same value")
    assert ruled(verdict, {**NEW, "value": None}, {**OLD, "value": None})[0] == "elaborated"


@pytest.mark.parametrize(
    ("verdict", "new", "old", "effect"),
    [
        ("absorbed", "user", "agent", "elaborated"),
        ("absorbed", "agent", "user", "confirmed"),
        ("absorbed", "user", "user", "confirmed"),
        ("absorbs", "agent", "user", "elaborated"),
        ("absorbs", "user", "agent", "confirmed"),
    ],
)
def test_a_poorer_text_of_who_is_trusted_more_takes_in_no_richer_one(
    verdict: str, new: str, old: str, effect: str
):
    poor, rich = "Answers come first.", "Answers come first and reasons after them, without emoji."
    texts = (poor, rich) if verdict == "absorbed" else (rich, poor)
    sides = [{"content": text, "origin": origin} for text, origin in zip(texts, (new, old), strict=True)]
    assert ruled(verdict, *sides, subject="", attribute="")[0] == effect


def test_a_setting_by_its_name_in_code_is_a_subject_that_texts_name():
    old = {"content": "`max_retries` of the mailer is 3."}
    new = {"content": "`max_retries` is 5 since the outage."}
    named = {"subject": "max_retries", "attribute": "value", "target_value": "3", "new_value": "5"}
    assert ruled("updates", new, old, **named) == ("superseded", None)


@pytest.mark.parametrize(
    ("new", "old", "effect"),
    [
        ("user", "user", "superseded"),
        ("user", "agent", "superseded"),
        ("user", "untrusted", "superseded"),
        ("agent", "user", "superseded"),
        ("tool", "user", "contradiction"),
        ("tool", "tool", "superseded"),
        ("untrusted", "user", "contradiction"),
        ("untrusted", "agent", "contradiction"),
        ("untrusted", "tool", "contradiction"),
        ("untrusted", "untrusted", "superseded"),
    ],
)
def test_a_less_trusted_source_opens_a_contradiction_where_it_may_not_retire(new, old, effect):
    found = ruled("updates", {**NEW, "origin": new}, {**OLD, "origin": old})
    note = None if effect == "superseded" else "a less trusted source may not retire this memory"
    assert found == (effect, note)


@pytest.mark.parametrize("verdict", ["updates", "corrects"])
@pytest.mark.parametrize(
    ("subject", "target", "named"),
    [
        ("Ola", "Ola's flight", "Ola"),
        ("the user's parents", "user", "user"),
        ("Ola’s train", "Ola's flight", "Ola"),
        ("Rachel", "Rachel's team", "Rachel's team"),
    ],
)
def test_a_thing_and_its_owner_are_two_subjects(verdict, subject, target, named):
    found = ruled(verdict, {**NEW, "subject": subject}, {**OLD, "subject": target}, subject=named)
    assert found == ("contradiction", UNSHARED)
    assert ruled(verdict, NEW, {**OLD, "subject": "Ola's kiln of line 2"})[0] == "superseded"


@pytest.mark.parametrize("verdict", ["updates", "corrects"])
def test_what_was_said_in_one_breath_is_a_list_and_no_change(verdict):
    breath = {"evidence": ["turn-1"]}
    found = ruled(verdict, {**NEW, **breath}, {**OLD, **breath})
    assert found == ("contradiction", "both memories were said in one breath")
    later = ruled(verdict, {**NEW, **breath, "valid_from": NOW}, {**OLD, **breath})
    assert later == ("superseded", None), "one turn may tell what was and what is"


# what proposes a pair


def near(*hits: tuple[str, str, float | None, float]) -> pl.DataFrame:
    return Near.of(pl.DataFrame(list(hits), schema=Near.names(), orient="row", schema_overrides=FLOATS))


FLOATS = {"similarity": pl.Float64, "share": pl.Float64}


def test_a_memory_is_asked_about_with_the_three_nearest_by_vector_and_by_words():
    found = near(
        ("n", "a", 0.5, 0.4), ("n", "b", 0.9, 0.3), ("n", "c", 0.8, 0.1), ("n", "d", 0.45, 0.4), ("n", "e", 0.5, 0.05)
    )  # fmt: skip
    assert near_enough(found, least=0.4)["target_id"].to_list() == ["b", "a", "c"]
    words_alone = near(("n", "a", None, 0.3), ("n", "b", None, 0.1))
    assert near_enough(words_alone, least=0.4)["target_id"].to_list() == ["a"]


def test_what_claims_the_property_of_another_owner_is_no_pair():
    known = cells(
        *(cell(f"k{number}", valid_from=day(number)) for number in range(1, 6)), cell("x", user_id="ben")
    )
    named = known.with_columns(property=pl.lit("kiln|heat"))
    looked = cells(cell("n")).with_columns(property=pl.lit("kiln|heat"))
    assert of_one_property(looked, named)["target_id"].to_list() == ["k5", "k4", "k3"]


def test_a_pair_is_asked_once_whoever_is_named_first_and_never_over_an_owner():
    three = cells(cell("old", valid_from=day(1)), cell("new", valid_from=day(9)), cell("x", user_id="ben"))
    pairs = pl.DataFrame(
        [("old", "new", "r"), ("new", "old", "r"), ("new", "x", "r")],
        schema=["cell_id", "target_id", "reason"], orient="row",
    )  # fmt: skip
    asked = pl.DataFrame(schema={"cell_id": pl.String, "target_id": pl.String})
    assert unasked(pairs, asked, three).select("cell_id", "target_id").rows() == [("new", "old")]
    assert unasked(pairs, pairs.head(1).select("cell_id", "target_id"), three).is_empty()


# pages


def paged(*pairs: tuple[str, str], alone: str = "") -> list[list[str]]:
    queue = pl.DataFrame(pairs, schema=dict.fromkeys(["cell_id", "target_id"], pl.String), orient="row")
    pages = disjoint_pages(queue, alone=set(alone.split()))
    marked = pages.with_columns(name=pl.when("is_new").then(pl.format("*{}", "cell_id")).otherwise("cell_id"))
    return marked.group_by("group", maintain_order=True).agg("name")["name"].to_list()


def test_pairs_that_share_a_memory_are_one_group_and_what_does_not_fit_waits_for_the_next_round():
    assert paged(("n1", "a"), ("n2", "a"), ("n3", "n2"), ("n4", "b")) == [
        ["a", "*n1", "*n2", "*n3"],
        ["b", "*n4"],
    ]
    many = [(f"n{number}", "a") for number in range(9)]
    assert paged(*many) == [["a", *(f"*n{number}" for number in range(5))]]


# which of several memories that say the same stands for them


def stands(repeats: list[tuple[str, str]], *whole: dict[str, object]) -> dict[str, str]:
    """The memory that each lives on in."""
    same = pl.DataFrame(repeats, schema=dict.fromkeys(["cell_id", "target_id"], pl.String), orient="row")
    elements = stand_ins(pairs_of(), same, cells(*whole))
    return dict(elements.rows())


def said(key: str, content: str, number: int, **given: object) -> dict[str, object]:
    plain = {"subject": "Signe", "value": None, "valid_from": day(number), "event_time": day(number)}
    return cell(key, content=content, **{**plain, **given})


def test_what_was_said_on_a_known_day_stands_for_the_same_of_an_unknown_day():
    undated = dict.fromkeys(("valid_from", "event_time"), unknown_until(day(20)))
    known, bare = (
        said("known", "Signe fires on Friday.", 9),
        said("bare", "Signe fires the kiln on Friday 7.", 9),
    )
    assert stands([("known", "bare")], known, bare | undated) == {"known": "known", "bare": "known"}
    # another value from before the known day does not come between
    between = said("between", "Signe fires on Monday.", 8)
    same = pl.DataFrame([("known", "bare")], schema=["cell_id", "target_id"], orient="row")
    pairs = pairs_of(("known", "between", "updates"))
    elements = dict(stand_ins(pairs, same, cells(known, bare | undated, between)).rows())
    assert elements == {"known": "known", "bare": "known", "between": "between"}
    assert exact_repetitions(cells(known, {**known, **undated, "cell_id": "a"})).rows() == [("a", "known")]


def test_the_end_of_a_value_of_an_unknown_day_is_known_only_if_the_next_came_after_its_file():
    undated = value("a", "100", unknown_until(day(10)))
    for number, end in ((5, "day unknown"), (12, "2026-06-12")):
        links = supersessions(pairs_of(("b", "a", "updates")), cells(undated, value("b", "250", day(number))))
        assert links.select("cell_id", "superseded_by").rows() == [("a", "b")]
        assert day_of(links["valid_until"][0]) == end
        assert links["valid_until"][0] > undated["valid_from"]  # it held


def test_the_richer_text_stands_for_the_poorer_whichever_is_older():
    poor = said("poor", "Signe bakes.", 1)
    rich = said("rich", "Signe bakes rye bread with caraway for the harbour market.", 5)
    assert stands([("rich", "poor")], poor, rich) == {"poor": "rich", "rich": "rich"}
    late = said("poor", "Signe bakes.", 9)
    assert stands([("poor", "rich")], late, rich) == {"poor": "rich", "rich": "rich"}


def test_what_a_person_confirmed_and_what_a_trusted_source_said_is_not_replaced_by_a_richer_text():
    poor = said("poor", "Signe bakes.", 1)
    rich = said("rich", "Signe bakes rye bread with caraway for the harbour market.", 5)
    assert set(stands([("rich", "poor")], {**poor, "protected": True}, rich).values()) == {"poor"}
    assert set(stands([("rich", "poor")], poor, {**rich, "origin": "untrusted"}).values()) == {"poor"}


def test_what_three_say_alike_keeps_the_one_with_a_value_of_its_own():
    known = cells(
        said("plain", "The kiln runs.", 1),
        said("hot", "The kiln runs at 1060 in hall 4.", 2),
        said("late", "The kiln runs till 22:00.", 3),
    )
    pairs = [("hot", "plain"), ("late", "plain")]
    repeats = pl.DataFrame(pairs, schema=["cell_id", "target_id"], orient="row")
    left, more = complete(repeats, known)
    assert (left.rows(), more.to_list()) == ([("hot", "plain")], ["late"])


# which value holds


def test_an_outcome_follows_its_plan_though_the_plan_was_for_a_later_day():
    plan = value("plan", "sail to Gotland", day(20), said=day(1))
    done = value("done", "sailed to Gotland", day(12))
    links = supersessions(pairs_of(("done", "plan", "completes")), cells(plan, done))
    assert links.select("cell_id", "superseded_by", "verdict").rows() == [("plan", "done", "completes")]


@pytest.mark.parametrize(
    ("said", "last"),
    [
        (day(1), "plain"),  # before what is dated, of the same month
        (day(30), "vague"),
        (day(3, month=9), "plain"),  # a month after another one is no later than the end of its own
    ],
)
def test_a_month_is_ordered_by_when_it_was_told_and_never_past_its_end(said: datetime, last: str):
    vague = {**value("vague", "250", day(1), said), "valid_precision": "month"}
    plain = value("plain", "180", day(10) if said.month == 6 else day(1, month=7))
    for pair in (("vague", "plain", "updates"), ("plain", "vague", "updates")):
        links = supersessions(pairs_of(pair), cells(vague, plain))
        assert links["superseded_by"].to_list() == [last]
        assert links["valid_until"].to_list() == [said if last == "vague" else plain["valid_from"]]


def pairs_of(*pairs: tuple[str, str, str]) -> pl.DataFrame:
    return pl.DataFrame(
        list(pairs), schema=dict.fromkeys(["cell_id", "target_id", "verdict"], pl.String), orient="row"
    )


def value(key: str, amount: str, valid_from: datetime, said: datetime | None = None) -> dict[str, object]:
    return cell(
        key, value=amount, content=f"limit {amount}", valid_from=valid_from, event_time=said or valid_from
    )


ALWAYS = day(1, month=1)


def test_every_value_is_superseded_by_the_next():
    three = cells(value("a", "100", day(1)), value("b", "250", day(8)), value("c", "180", day(19)))
    links = supersessions(pairs_of(("c", "b", "updates"), ("b", "a", "updates")), three)
    assert links.rows() == [("a", "b", day(8), "updates"), ("b", "c", day(19), "updates")]


def test_a_corrected_value_never_held():
    two = cells(value("a", "100", day(1)), value("b", "250", day(8)))
    links = supersessions(pairs_of(("b", "a", "corrects")), two)
    assert links.rows() == [("a", "b", day(1), "corrects")]


def test_a_correction_of_a_correction_that_says_always_stands_last():
    three = cells(
        value("a", "100", day(8)), value("b", "250", ALWAYS, day(19)), value("c", "180", ALWAYS, day(20))
    )
    links = supersessions(pairs_of(("b", "a", "corrects"), ("c", "b", "corrects")), three)
    assert links.rows() == [("a", "b", day(8), "corrects"), ("b", "c", ALWAYS, "corrects")]


def test_a_correction_that_says_always_holds_from_what_it_corrects():
    four = cells(
        value("o", "50", day(1)),
        value("w", "100", day(8)),
        value("r", "110", ALWAYS, day(9)),
        value("u", "180", day(19)),
    )
    pairs = pairs_of(("w", "o", "updates"), ("r", "w", "corrects"), ("u", "r", "updates"))
    links = supersessions(pairs, four)
    assert links.select("cell_id", "superseded_by").rows() == [("o", "w"), ("w", "r"), ("r", "u")]


# duplicates, contradictions, confirmations


def test_of_exact_repetitions_of_one_owner_the_oldest_lives_on():
    four = cells(
        cell("b", content_hash="h", event_time=day(2)),
        cell("a", content_hash="h", event_time=day(3)),
        cell("c", content_hash="h", event_time=day(1), user_id="ben"),
        cell("d", content_hash="other", event_time=day(1)),
        cell("e", content_hash="h", event_time=day(1), scope="project-shared"),
    )
    assert exact_repetitions(four).rows() == [("a", "b")]


def judged(*pairs: tuple[str, str, str | None]) -> pl.DataFrame:
    said = pl.DataFrame(
        list(pairs), schema=dict.fromkeys(["cell_id", "target_id", "guard_note"], pl.String), orient="row"
    )
    text = dict.fromkeys(["subject", "attribute", "prompt_version", "model"], pl.lit("x"))
    return said.with_columns(effect=pl.lit("contradiction"), reason=pl.lit("the model's words"), **text)


def repetitions(*rows: tuple[str, str, list[str], str, str]) -> pl.DataFrame:
    names = ["cell_id", "confirmed_by", "evidence", "origin", "session_id"]
    kinds = {name: pl.List(pl.String) if name == "evidence" else pl.String for name in names}
    return pl.DataFrame(list(rows), schema=kinds, orient="row")


@pytest.mark.parametrize(
    ("origin", "session", "wanted"),
    [("user", "s2", 1), ("user", "s1", 0), ("agent", "s2", 0), ("tool", "s2", 0), ("untrusted", "s2", 0)],
)
def test_only_a_person_who_says_it_in_another_conversation_confirms(origin: str, session: str, wanted: int):
    known = cells(cell("a", session_id="s1", evidence=["t1"]))
    cell_usage = rows("cell_usage", row("cell_usage", "a", last_accessed=DAY))
    said = repetitions(*(("a", f"x{number}", [f"t{number}"], origin, session) for number in range(2, 22)))
    (told,) = confirmations(said, known, cell_usage, now=NOW).to_dicts()
    assert told["confirmations"] == wanted, "twenty times from one hand are one time at most"
    assert told["last_accessed"] == (NOW if wanted else DAY)
    assert len(told["evidence"]) == 21, "what it rests on is kept whoever says it"


def test_confirmations_add_up_and_join_their_evidence():
    known = cells(cell("a", evidence=["t2", "t1"]), cell("b", evidence=["t9"]))
    cell_usage = rows(
        "cell_usage", row("cell_usage", "a", confirmations=2, last_accessed=DAY), row("cell_usage", "b")
    )
    said = repetitions(("a", "y", ["t3", "t1"], "user", "s2"), ("a", "x", ["t4"], "user", "s3"))
    assert confirmations(said, known, cell_usage, now=NOW).rows() == [
        ("a", "x y", 4, ["t1", "t2", "t3", "t4"], NOW)
    ]
    earlier = confirmations(said, known, cell_usage, now=day(1, month=1))
    assert earlier["last_accessed"].to_list() == [DAY]
    assert confirmations(said.clear(), known, cell_usage, now=NOW).is_empty()
