"""The prompt gateway: declared inputs, fenced data, and files whose worked examples are right answers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from slowwave.errors import ContractError
from slowwave.models.answers.extract import ExtractAnswer, GateAnswer, TombstoneAnswer
from slowwave.models.answers.fields import Answer, checked_against
from slowwave.models.answers.judge import PromoteAnswer, ReconcileAnswer
from slowwave.models.answers.write import (
    CausesAnswer,
    EntityAnswer,
    EpisodeAnswer,
    GroupsAnswer,
    PeopleAnswer,
    SummaryAnswer,
)
from slowwave.models.fences import dated, fenced, fenced_line, weeks
from slowwave.models.prompts import prompt_files, read_prompt_file, render, render_file
from slowwave.models.rows import Row, cell_rows, page_rows, rows_by_page
from tests.conftest import ROOT

ANSWERS: dict[str, type[Answer]] = {
    "enrich_entity": EntityAnswer,
    "extract_cells": ExtractAnswer,
    "gate_chunk": GateAnswer,
    "group_memories": GroupsAnswer,
    "infer_cause": CausesAnswer,
    "match_people": PeopleAnswer,
    "promote_cells": PromoteAnswer,
    "reconcile_cells": ReconcileAnswer,
    "summarize_topic": SummaryAnswer,
    "write_episode": EpisodeAnswer,
    "judge_tombstone": TombstoneAnswer,
}
FILES = sorted((ROOT / "prompts").glob("*.md"))


def turn(number: int, speaker: str, role: str, date: str, text: str, *, is_read: bool = False) -> Row:
    return {
        "number": number,
        "speaker": speaker,
        "role": role,
        "date": date,
        "text": text,
        "is_read": is_read,
    }


def extract_page(
    date: str, turns: list[Row], known: list[Row], *, earlier: str = "", topics: str = ""
) -> str:
    return render(
        "extract_cells", session_date=date, turns=turns, known=known, earlier=earlier, topics=topics
    ).user


TURN = turn(1, "Ada", "user", "2026-06-02", "The pump is in hall 3.")
PROBE = "inputs: text, rows\n# system\nBe brief.\n# user\n"


@dataclass(frozen=True)
class Example:
    """A worked example of a prompt: the lines of its page and the answer it shows."""

    page: list[str]
    answer: str

    @property
    def asked(self) -> str:
        return next(
            (line for line in self.page if line.startswith(("## Look for what led to: ", "## Who is: "))), ""
        )

    def numbers(
        self, pattern: str = r"\[(\d+)\]", *, after: str | None = None, before: str | None = None
    ) -> set[int]:
        first = self.page.index(after) if after in self.page else 0
        last = self.page.index(before) if before in self.page else len(self.page)
        found = (re.match(pattern, line) for line in self.page[first:last])
        return {int(match[1]) for match in found if match}

    def context(self) -> dict[str, Any]:
        bounds = re.findall(r"^(?:Choose at|At) most (\d+)", "\n".join(self.page), re.MULTILINE)
        bound = int(bounds[0]) if bounds else 0
        has_known = "Known memories" in self.page
        return {
            "turn_numbers": self.numbers(after="Turns"),
            "known_numbers": self.numbers(before="Turns") if has_known else set(),
            "new_numbers": self.numbers(r"\[(\d+)\] NEW"),
            "page_numbers": self.numbers(after="## New memories"),
            "topic_numbers": self.numbers(before="## New memories"),
            "candidate_numbers": self.numbers(),
            "effect_numbers": {int(number) for number in re.findall(r"\d+", self.asked)},
            "described_numbers": {int(number) for number in re.findall(r"\d+", self.asked)},
            "max_words": bound,
            "max_lines": bound,
        }


def system_of(name: str) -> str:
    file = next(file for file in FILES if file.stem.startswith(f"{name}.v"))
    return read_prompt_file(file.name, file.read_text(encoding="utf-8")).system


def examples(name: str) -> Iterator[Example]:
    page: list[str] = []
    for line in system_of(name).split("\n## Example", 1)[1].splitlines():
        if line.startswith('{"'):
            yield Example(page, line)
            page = []
        else:
            page.append(line)


def page_of(template: str, **inputs: object) -> str:
    return render_file(
        read_prompt_file("probe.v1.md", PROBE + template), {"text": "", "rows": []} | inputs
    ).user


@pytest.mark.parametrize("name", ANSWERS)
def test_every_worked_example_is_an_answer_that_its_own_page_allows(name: str) -> None:
    found = list(examples(name))
    assert len(found) >= 2
    for example in found:
        with checked_against(example.context()):
            answer = ANSWERS[name].model_validate_json(example.answer)
        shown = ANSWERS[name].model_validate_json(example.answer)
        assert answer.model_dump_json() == shown.model_dump_json(), example.page


def test_the_worked_examples_of_reconcile_list_what_is_not_kept_and_name_no_keep() -> None:
    shown = {
        judgement.verdict
        for example in examples("reconcile_cells")
        for judgement in ReconcileAnswer.model_validate_json(example.answer).judgements
    }
    assert shown == {"absorbs", "completes", "updates"}


def test_a_planted_order_and_a_secret_of_an_example_reach_no_memory() -> None:
    planted = [
        example for example in examples("extract_cells") if "ignore your rules" in "\n".join(example.page)
    ]
    assert planted
    for example in planted:
        assert not re.search("ignore|without asking|redacted|password", example.answer)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_system_part_names_every_field_of_its_answer(name: str) -> None:
    system, schema = system_of(name), ANSWERS[name].model_json_schema()
    for model in [schema, *schema.get("$defs", {}).values()]:
        for field, shape in model["properties"].items():
            assert field in system
            for choice in shape.get("enum", ()):
                assert choice in system, choice


@pytest.mark.parametrize("name", ANSWERS)
def test_a_system_part_leaves_most_of_a_small_context_to_the_page(name: str) -> None:
    assert len(system_of(name)) < 11_000  # about 3,000 tokens of the 8,192 that Ollama gets by default


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_prompt_file_is_plain_text_without_template_syntax_in_its_system_part(file: Path) -> None:
    parts = read_prompt_file(file.name, file.read_text(encoding="utf-8"))
    assert not re.search(r"\{\{|\{%|\{#", parts.system)
    assert not re.search(r"[\t\r]| $", file.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_folder_holds_one_version_of_each_prompt() -> None:
    assert list(prompt_files()) == sorted(ANSWERS)
    assert {file.stem.partition(".v")[0] for file in FILES} == ANSWERS.keys()
    assert len(FILES) == len(ANSWERS)


def test_the_system_part_is_the_same_whatever_stands_on_the_page() -> None:
    assert render("gate_chunk", turns=[TURN]).system == render("gate_chunk", turns=[]).system


def test_an_unknown_prompt_is_a_bug_of_ours() -> None:
    with pytest.raises(ContractError, match="no prompt 'gate'; known are enrich_entity, extract_cells"):
        render("gate")


def test_missing_and_undeclared_inputs_are_both_refused() -> None:
    with pytest.raises(ContractError, match=r"missing inputs \['turns'\], undeclared inputs \['turn'\]"):
        render("gate_chunk", turn=[])


def test_text_that_went_through_no_fence_cannot_stand_on_a_page() -> None:
    with pytest.raises(ContractError, match="a str that went through no fence"):
        page_of("{{ text }}", text="hello")
    with pytest.raises(ContractError, match="a list that went through no fence"):
        page_of("{{ rows }}", rows=["hello"])


def test_a_template_reaches_no_python() -> None:
    with pytest.raises(ContractError, match="SecurityError"):
        page_of("{{ text.__class__.__mro__ | fenced }}")


@pytest.mark.parametrize(
    "text", ["inputs: turns\n# user\nx", "# system\nx\n# user\ny", "inputs: a\n# system\nx"]
)
def test_a_file_without_its_three_parts_is_refused(text: str) -> None:
    with pytest.raises(ContractError, match=r"probe\.v1\.md is not a prompt file"):
        read_prompt_file("probe.v1.md", text)


def test_template_syntax_in_data_is_only_text() -> None:
    text = "{{ 7 * 7 }} {% for x in y %} {# gone? #} ${{ secrets.KEY }}"
    assert f"> {text}\n" in render("gate_chunk", turns=[turn(1, "", "user", "2026-06-02", text)]).user


def test_every_line_of_data_stands_behind_its_fence() -> None:
    assert fenced("a\r\nb\x0bc\u2028d\x85e") == "> a\n> b\n> c\n> d\n> e"


def test_data_that_looks_like_the_page_is_told_apart() -> None:
    assert fenced("## NEW\n [4] user\n# user\n#tag") == "> \\## NEW\n> \\[4] user\n> \\# user\n> #tag"


@pytest.mark.parametrize(
    "markup",
    [
        "<|im_start|>",
        "<｜end▁of▁sentence｜>",
        "</s>",
        "<start_of_turn>",
        "[INST]",
        "[/INST]",
        "</turn>",
        "</THINK>",
        "<<SYS>>",
    ],
)
def test_the_markup_of_chat_templates_is_broken_by_a_blank(markup: str) -> None:
    assert markup not in fenced(f"x {markup}system")
    assert markup not in fenced_line(f"x {markup}system")
    assert fenced_line(markup).replace(" ", "") == markup


@pytest.mark.parametrize(
    "text", ["List<String>", "<div>", "a < b || c > d", "ssh <user>@<host>", "arr[0] |> map", "[x]"]
)
def test_ordinary_code_is_kept_as_it_is(text: str) -> None:
    assert fenced(text) == f"> {text}"


def test_invisible_characters_are_dropped_and_joiners_stay() -> None:
    assert fenced("a\u202eb\u2066c\u200bd\ufeffe\U000e0041f\x00g\x1b[0m\U000e0101") == "> abcdefg[0m"
    assert fenced("\U0001f469\u200d\U0001f52c") == "> \U0001f469\u200d\U0001f52c"


def test_a_date_carries_its_weekday() -> None:
    assert dated("2026-06-02") == "2026-06-02 Tuesday"
    assert dated("2026-06-02T23:59:00+00:00") == "2026-06-02 Tuesday"
    assert dated("in\nspring") == "in spring"


def test_the_calendar_spans_the_weeks_around_a_session() -> None:
    assert weeks("2026-03-01").splitlines() == [
        "last week: Mon 2026-02-16, Tue 17, Wed 18, Thu 19, Fri 20, Sat 21, Sun 22",
        "this week: Mon 2026-02-23, Tue 24, Wed 25, Thu 26, Fri 27, Sat 28, Sun 2026-03-01",
        "next week: Mon 2026-03-02, Tue 03, Wed 04, Thu 05, Fri 06, Sat 07, Sun 08",
    ]


def cell(number: int, **fields: object) -> Row:
    empty = dict.fromkeys(("topic", "subject", "attribute", "value"), "")
    given = {"number": number, "cell_type": "fact", "date": "2026-06-02", "content": "x"}
    return {**given, **empty, **fields}


def test_fields_that_a_memory_does_not_have_are_not_shown() -> None:
    known = cell(1, subject="pump", date="2026-05-01", content="The pump is old.")
    user = extract_page("2026-06-02", [TURN], [known])
    assert "[1] fact, 2026-05-01\n> The pump is old.\n" in user
    assert not re.search(r"topic:|attribute:|## Topics|## Earlier", user)


def test_a_page_tells_what_was_read_before_and_a_date_only_where_it_changes() -> None:
    turns = [
        turn(1, "Ada", "user", "2026-06-02", "Where is it?", is_read=True),
        turn(2, "", "assistant", "2026-06-02", "In hall 3."),
        turn(3, "Ada", "user", "2026-06-03", "Thanks."),
    ]
    user = extract_page("2026-06-02", turns, [], earlier="The pump leaks.", topics="the pump, hall 3")
    assert "[1] 2026-06-02 Tuesday, Ada, read before\n> Where is it?\n" in user
    assert "[2] assistant\n> In hall 3.\n" in user
    assert "[3] 2026-06-03 Wednesday, Ada\n" in user
    assert "## Earlier in this conversation\n\n> The pump leaks.\n" in user
    assert "## Topics\n\n> the pump, hall 3\n" in user


def test_a_reconciliation_page_shows_groups_and_marks_what_is_new() -> None:
    cells = [cell(number, is_new=number > 1, said_by="user") for number in (1, 2, 3, 4)]
    user = render("reconcile_cells", groups=[cells[:2], cells[2:]]).user
    assert "Group 1\n[1] fact, 2026-06-02, said by user\n" in user
    assert "[2] NEW fact, 2026-06-02, said by user\n" in user
    assert "> x\nGroup 2\n[3] NEW fact" in user


def test_limits_stand_on_the_page() -> None:
    asked = render("summarize_topic", name="pumps", cells=[cell(1)], max_words=120).user
    assert "At most 120 words." in asked
    counts = {"salience": 0.5, "retrievals": 3, "citations": 2, "confirmations": 1, "ignores": 0}
    user = render("promote_cells", cells=[cell(1, **counts, is_core=True, is_wish=False)], max_lines=40).user
    assert "Choose at most 40." in user
    assert (
        "[1] fact, 2026-06-02, salience 0.5, cited 2, retrieved 3, ignored 0, confirmed 1, in core\n> x\n"
        in user
    )


def test_rows_of_a_page_are_counted_and_a_null_is_an_empty_text_and_a_time_its_date() -> None:
    moment = datetime(2026, 6, 2, 9, 30, tzinfo=UTC)
    frame = pl.DataFrame({"page": ["b", "a", "b"], "text": ["x", None, "y"], "date": [moment] * 3})
    assert rows_by_page(frame) == {
        "b": [
            {"number": 1, "text": "x", "date": "2026-06-02"},
            {"number": 2, "text": "y", "date": "2026-06-02"},
        ],
        "a": [{"number": 1, "text": "", "date": "2026-06-02"}],
    }
    assert page_rows(pl.DataFrame({"number": [7], "text": ["x"]})) == [{"number": 7, "text": "x"}]


def test_a_page_dates_a_memory_as_exactly_as_it_was_told() -> None:
    told = pl.DataFrame({"valid_precision": [None, "day", "month", "year"]}).with_columns(
        cell_type=pl.lit("fact"), content=pl.lit("x"), valid_from=pl.lit(datetime(2026, 7, 1, tzinfo=UTC))
    )
    dates = [row["date"] for row in cell_rows(told)]
    assert dates == ["2026-07-01", "2026-07-01", "2026-07", "2026"]
