"""Model answers: what is harmless is mended, the rest is refused with a message that says how to mend it."""

from collections.abc import Iterator
from typing import Any, TypeVar

import pytest
from openai.lib._pydantic import to_strict_json_schema
from pydantic import ValidationError

from slowwave.models.answers.extract import MAX_CELLS, ExtractAnswer, ExtractedCell, GateAnswer
from slowwave.models.answers.fields import Answer, checked_against
from slowwave.models.answers.judge import PromoteAnswer, ReconcileAnswer
from slowwave.models.answers.write import (
    CausesAnswer,
    EntityAnswer,
    EpisodeAnswer,
    PeopleAnswer,
    SummaryAnswer,
)

A = TypeVar("A", bound=Answer)

PAGE = {"turn_numbers": {1, 2, 3}, "known_numbers": {1, 2}}
NO_KNOWN = {"turn_numbers": {1, 2, 3}, "known_numbers": set()}
RECONCILE = {"new_numbers": {3, 4}, "page_numbers": {1, 2, 3, 4}}
ANSWERS = [GateAnswer, ExtractAnswer, ReconcileAnswer, SummaryAnswer, PromoteAnswer, EpisodeAnswer]
ANSWERS += [EntityAnswer, CausesAnswer, PeopleAnswer]

CELL: dict[str, Any] = {
    "cell_type": "fact",
    "content": "The ferry terminal closes at 22:00.",
    "subject": "ferry terminal",
    "attribute": "closing time",
    "value": "22:00",
    "topic": "ferry terminal",
    "salience": 0.5,
    "confidence": 0.9,
    "valid_from": "",
    "valid_until": "",
    "evidence": [1],
    "relation": "new",
    "known": 0,
    "entities": ["ferry terminal (place)"],
    "steps": [],
}
READ = CELL | {"brief": "", "question": "", "stated_by": 1, "is_wish": False, "aliases": []}
"""The same memory once it is read: its only evidence states it."""


def validated(kind: type[A], given: dict[str, Any], page: dict[str, Any]) -> A:
    with checked_against(page):
        return kind.model_validate(given)


def extracted(context: dict[str, Any] | None = None, **changes: Any) -> ExtractedCell:
    answer = validated(ExtractAnswer, {"cells": [CELL | changes]}, PAGE if context is None else context)
    return answer.cells[0]


def judged(*judgements: dict[str, Any], context: dict[str, Any] | None = None) -> list[tuple[int, str, int]]:
    filled = [
        {
            **dict.fromkeys(("target_value", "new_value"), "v"),
            "reason": "why",
            "subject": "s",
            "attribute": "a",
        }
        | {"target": 0}
        | entry
        for entry in judgements
    ]
    answer = validated(ReconcileAnswer, {"judgements": filled}, context or RECONCILE)
    return [(judgement.new, judgement.verdict, judgement.target) for judgement in answer.judgements]


def judgement(new: int, verdict: str, target: int = 0, **changes: Any) -> dict[str, Any]:
    return {"new": new, "verdict": verdict, "target": target} | changes


def summary(words: int, **changes: Any) -> dict[str, Any]:
    return {
        "name": "ferry terminal",
        "summary": " ".join(["word"] * words),
        "compressed": "closes 22:00",
    } | changes


ALWAYS = {"cell_type", "content", "topic", "salience", "evidence", "entities"}
RARE = set(ExtractedCell.model_fields) - ALWAYS


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from nodes(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from nodes(value)


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_strict_tool_schema_is_what_the_answer_already_has_but_requires_every_field(
    answer: type[Answer],
) -> None:
    strict, schema = to_strict_json_schema(answer), answer.model_json_schema()
    for node in (*nodes(strict), *nodes(schema)):
        node.pop("required", None)
    assert strict == schema


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_schema_requires_every_field_but_the_rare_ones_and_knows_neither_unions_nor_defaults(
    answer: type[Answer],
) -> None:
    for node in nodes(answer.model_json_schema()):
        assert not {"anyOf", "oneOf", "allOf", "default", "pattern", "format", "const"} & node.keys()
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            rare = RARE if node["properties"].keys() == ExtractedCell.model_fields.keys() else set[str]()
            assert node["required"] == [name for name in node["properties"] if name not in rare]


def test_a_brief_that_is_long_or_says_the_same_is_none() -> None:
    assert extracted(brief="terminal: closes 22:00").brief == "terminal: closes 22:00"
    assert extracted(brief="the ferry  terminal closes at 22:00.").brief == ""
    assert extracted(brief="word " * 17).brief == ""


def test_the_reason_is_written_before_the_verdict() -> None:
    assert list(GateAnswer.model_fields) == ["reason", "is_worth_remembering"]
    schema = ReconcileAnswer.model_json_schema()["$defs"]["ReconcileJudgement"]
    assert list(schema["properties"])[:4] == ["new", "reason", "verdict", "target"]


@pytest.mark.parametrize(
    ("given", "stated_by", "evidence"),
    [
        ({"evidence": [2]}, 2, [2]),
        ({"evidence": [1, 2]}, 0, [1, 2]),
        ({"evidence": [1, 2], "stated_by": 2}, 2, [1, 2]),
        ({"evidence": [1], "stated_by": 3}, 3, [1, 3]),
        ({"evidence": [1, 2], "stated_by": 9}, 0, [1, 2]),
    ],
)
def test_a_memory_is_stated_by_a_turn_of_the_page_that_is_then_its_evidence(
    given: dict[str, Any], stated_by: int, evidence: list[int]
) -> None:
    cell = extracted(**given)
    assert (cell.stated_by, cell.evidence) == (stated_by, evidence)


def test_an_alias_names_an_entity_of_its_memory_and_another_name() -> None:
    names = ["ferry terminal = Pier 4 ", "harbour = Pier 4", "ferry terminal = Ferry Terminal", "Pier 4", ""]
    assert extracted(aliases=names).aliases == ["ferry terminal = Pier 4"]


def test_more_memories_than_one_page_can_hold_are_refused() -> None:
    cells = [CELL | {"content": f"Berth {number} is free."} for number in range(MAX_CELLS + 1)]
    with pytest.raises(ValidationError, match="at most 40"):
        validated(ExtractAnswer, {"cells": cells}, PAGE)


def test_the_same_content_twice_is_one_memory_with_the_evidence_of_both() -> None:
    second = CELL | {"content": "the ferry terminal  closes at 22:00.", "evidence": [3, 2]}
    answer = validated(ExtractAnswer, {"cells": [CELL, second]}, PAGE)
    assert [cell.evidence for cell in answer.cells] == [[1, 2, 3]]


@pytest.mark.parametrize(
    "nothing", ["", "  ", "none", "None", "N/A", "null", "unknown", "-", "not specified"]
)
def test_words_for_nothing_become_the_empty_text(nothing: str) -> None:
    cell = extracted(subject=nothing, attribute=nothing, valid_from=nothing, valid_until=nothing)
    assert (cell.subject, cell.attribute, cell.value, cell.valid_from, cell.valid_until) == (
        "",
        "",
        "",
        "",
        "",
    )


def test_none_is_a_value_where_there_is_an_attribute_for_it() -> None:
    assert extracted(attribute="night guard", value="none").value == "none"
    assert extracted(attribute="night guard", value="n/a").value == ""


def test_a_value_without_its_attribute_and_an_attribute_without_its_subject_are_dropped() -> None:
    assert extracted(attribute="").value == ""
    assert extracted(subject="").attribute == ""


def test_a_redacted_secret_is_never_a_value() -> None:
    assert extracted(value="[redacted:password]").value == ""
    assert extracted(value="postgres://app:[REDACTED:password]@db").value == ""


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2026-06-02", "2026-06-02"),
        (" 2026-06-02 ", "2026-06-02"),
        ("2026-06-02T10:30:00Z", "2026-06-02"),
        ("2026-06-02 10:30", "2026-06-02"),
        ("2026-06", "2026-06"),
        ("2026", "2026"),
    ],
)
def test_a_date_is_as_exact_as_it_is_known_and_a_time_of_day_is_cut_off(given: str, kept: str) -> None:
    assert extracted(valid_from=given).valid_from == kept


@pytest.mark.parametrize(
    "given", ["in June", "2026-13", "last week", "2026-02-30", "02/06/2026", "20260602", "26"]
)
def test_what_is_no_date_is_refused_with_the_form_to_use(given: str) -> None:
    with pytest.raises(ValidationError, match="is no date; write YYYY-MM-DD"):
        extracted(valid_from=given)


def test_an_end_before_the_start_is_refused() -> None:
    with pytest.raises(ValidationError, match="valid_until 2026-06-01 is before valid_from 2026-06-02"):
        extracted(valid_from="2026-06-02", valid_until="2026-06-01")
    with pytest.raises(ValidationError, match="valid_until 2025 is before valid_from 2026-06-02"):
        extracted(valid_from="2026-06-02", valid_until="2025")
    assert extracted(valid_from="2026-06-02", valid_until="2026-06").valid_until == "2026-06"


def test_evidence_off_the_page_is_refused_and_the_page_is_named() -> None:
    with pytest.raises(
        ValidationError, match=r"evidence.1\n.*9 is not on this page; use only the numbers 1, 2, 3"
    ):
        extracted(evidence=[1, 9])


def test_a_new_memory_names_no_known_one() -> None:
    with pytest.raises(
        ValidationError, match='relation "new" needs known 0; if this memory is about known memory 2'
    ):
        extracted(relation="new", known=2)


@pytest.mark.parametrize("known", [0, 7])
def test_a_changed_memory_names_a_known_one_of_the_page(known: int) -> None:
    with pytest.raises(
        ValidationError, match=r"needs the number of a known memory.*use only the numbers 1, 2"
    ):
        extracted(relation="changed", known=known)


def test_where_no_memory_is_known_every_memory_is_new() -> None:
    cell = extracted(NO_KNOWN, relation="confirmed", known=4)
    assert (cell.relation, cell.known) == ("new", 0)


def test_all_problems_of_a_memory_are_told_at_once() -> None:
    with pytest.raises(ValidationError, match=r"content is empty.*evidence is empty"):
        extracted(content="  ", evidence=[])


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Ada Quist (person)", "Ada Quist (person)"),
        ("Ada Quist(Person)", "Ada Quist (person)"),
        ("Nordlys (company)", "Nordlys (organization)"),
        ("Ferry (MS Alma) (place)", "Ferry (MS Alma) (place)"),
    ],
)
def test_an_entity_keeps_its_name_and_gets_a_known_kind(given: str, kept: str) -> None:
    assert extracted(entities=[given, given, "none"]).entities == [kept]


@pytest.mark.parametrize("given", ["Ada Quist", "Ada Quist (hero)", "(person)"])
def test_an_entity_without_a_known_kind_is_refused(given: str) -> None:
    with pytest.raises(ValidationError, match=r"needs its kind: write .* one of person, project"):
        extracted(entities=[given])


def test_line_breaks_and_control_characters_never_reach_a_one_line_field() -> None:
    cell = extracted(subject="ferry\n## NEW\x00 terminal\u2028x", value="22:00\r\n")
    assert (cell.subject, cell.value) == ("ferry ## NEW terminal x", "22:00")


def test_text_beyond_its_bound_is_refused_with_its_count() -> None:
    with pytest.raises(
        ValidationError, match=r"topic\n.*it has 30 words, at most 8 are allowed; it is a label of 2-4 words"
    ):
        extracted(topic="word " * 30)
    with pytest.raises(ValidationError, match="content has 1500 characters"):
        extracted(content="x" * 1500)


def test_what_is_not_listed_is_kept_and_a_keep_that_is_listed_is_dropped() -> None:
    assert judged(judgement(3, "updates", 1), judgement(4, "keep")) == [(3, "updates", 1)]
    assert judged(judgement(3, "updates", 1)) == [(3, "updates", 1)]
    assert judged(judgement(3, "keep", 1)) == []
    assert judged() == []


@pytest.mark.parametrize(
    "verdict", ["confirms", "absorbs", "absorbed", "completes", "updates", "contradicts"]
)
@pytest.mark.parametrize("target", [0, 3, 9])
def test_every_other_verdict_needs_another_memory_of_the_page(verdict: str, target: int) -> None:
    with pytest.raises(ValidationError, match="the numbers 1, 2, 4"):
        judged(judgement(3, verdict, target), judgement(4, "keep"))


@pytest.mark.parametrize("verdict", ["corrects", "updates", "contradicts"])
@pytest.mark.parametrize("missing", ["subject", "attribute"])
def test_a_verdict_that_can_retire_names_the_shared_subject_and_attribute(verdict: str, missing: str) -> None:
    with pytest.raises(ValidationError, match="needs the subject and attribute that both"):
        judged(judgement(3, verdict, 1, **{missing: "n/a"}), judgement(4, "keep"))


def test_two_different_judgements_of_one_memory_are_refused() -> None:
    with pytest.raises(ValidationError, match="memory 3 has two judgements"):
        judged(judgement(3, "updates", 1), judgement(3, "corrects", 2), judgement(4, "keep"))


def test_a_known_memory_is_not_judged() -> None:
    with pytest.raises(ValidationError, match="memory 2 is not NEW; judge only the numbers 3, 4"):
        judged(judgement(2, "updates", 1), judgement(3, "keep"), judgement(4, "keep"))


def test_of_two_new_memories_that_name_each_other_the_lower_is_kept() -> None:
    given = [judgement(3, "confirms", 4), judgement(4, "confirms", 3)]
    assert judged(*given) == [(4, "confirms", 3)]
    given = [judgement(3, "absorbed", 4), judgement(4, "absorbs", 3)]
    assert judged(*given) == [(4, "absorbs", 3)]


def test_other_circles_of_targets_are_refused() -> None:
    with pytest.raises(ValidationError, match="points back to itself"):
        judged(judgement(3, "confirms", 4), judgement(4, "updates", 3))
    with pytest.raises(ValidationError, match="leave one of the numbers 2, 3, 4 out"):
        judged(
            judgement(2, "updates", 3),
            judgement(3, "updates", 4),
            judgement(4, "updates", 2),
            context={"new_numbers": {2, 3, 4}, "page_numbers": {1, 2, 3, 4}},
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, r"name\n.*it is empty"),
        ({"summary": " \n "}, r"summary\n.*it is empty"),
        ({"compressed": ""}, r"compressed\n.*it is empty"),
        ({"compressed": "word " * 40}, r"compressed\n.*it has 40 words"),
    ],
)
def test_no_part_of_a_summary_may_be_empty_or_endless(changes: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        validated(SummaryAnswer, summary(10, **changes), {"max_words": 150})


def test_core_memory_keeps_the_first_of_repeated_and_surplus_numbers() -> None:
    context = {"candidate_numbers": {1, 2, 3, 4}, "max_lines": 2}
    assert validated(PromoteAnswer, {"chosen": [4, 4, 1, 2]}, context).chosen == [4, 1]


def test_a_workflow_needs_two_steps_and_a_pattern_without_its_form_is_a_fact() -> None:
    steps = extracted(cell_type="workflow", steps=["stop the pump", "", "open the valve"])
    assert steps.steps == ["stop the pump", "open the valve"]
    assert extracted(cell_type="pattern", steps=["hall-<number>"]).steps == ["hall-<number>"]
    assert extracted(cell_type="fact", steps=["one", "two"]).steps == []
    with pytest.raises(ValidationError, match="a workflow needs its steps in order, at least 2, not 1"):
        extracted(cell_type="workflow", steps=["stop the pump"])
    assert extracted(cell_type="pattern").cell_type == "fact"


EPISODE = {
    "title": "Pump of hall 3",
    "narrative": "Ada moved the pump to hall 3.",
    "summary": "The pump is in hall 3.",
    "compressed": "pump: hall 3",
    "index_label": "",
}


def test_an_episode_keeps_within_its_words_and_gets_a_label() -> None:
    limits = {"max_words": 7, "summary_words": 6}
    assert validated(EpisodeAnswer, EPISODE, limits).index_label == "pump_of_hall_3"
    with pytest.raises(ValidationError, match=r"narrative\n.*it has 7 words, at most 6 are allowed"):
        validated(EpisodeAnswer, EPISODE, {**limits, "max_words": 6})
    with pytest.raises(ValidationError, match=r"summary\n.*it is empty"):
        validated(EpisodeAnswer, {**EPISODE, "summary": " "}, limits)
