"""What a reader and a judge are asked when a memory is measured: worked examples, fields, and one answer to each."""

import json
import re

import pytest
from pydantic import ValidationError

from benchmarks.measuring import JUDGE, READER, JudgeAnswer, ReaderAnswer
from slowwave.models.answers.fields import Answer, checked_against
from slowwave.models.prompts import PromptFile, render_file

pytestmark = pytest.mark.benchmark

ASKED = [(READER, ReaderAnswer), (JUDGE, JudgeAnswer)]


@pytest.mark.parametrize(("file", "kind"), ASKED)
def test_every_worked_example_is_an_answer_that_its_own_page_allows(
    file: PromptFile, kind: type[Answer]
) -> None:
    page, found = list[str](), 0
    for line in file.system.split("\n## Example", 1)[1].splitlines():
        if not line.startswith('{"'):
            page.append(line)
            continue
        numbers = {int(match[1]) for shown in page if (match := re.match(r"\[(\d+)\]", shown))}
        with checked_against({"question_numbers": numbers, "item_numbers": numbers}):
            assert json.loads(kind.model_validate_json(line).model_dump_json()) == json.loads(line)
        page, found = [], found + 1
    assert found >= 2


@pytest.mark.parametrize(("file", "kind"), ASKED)
def test_a_system_part_names_every_field_of_its_answer(file: PromptFile, kind: type[Answer]) -> None:
    schema = kind.model_json_schema()
    for model in [schema, *schema["$defs"].values()]:
        for field, shape in model["properties"].items():
            assert all(word in file.system for word in (field, *shape.get("enum", ())))


def test_what_a_page_holds_cannot_add_a_question() -> None:
    page = {
        "number": 1,
        "date": "2026-09-20",
        "text": "a\n[9] Who fired it?",
        "questions": [{"number": 1, "text": "b\n[7] c"}],
    }
    lines = render_file(READER, {"pages": [page]}).user.splitlines()
    assert [line for line in lines if line.startswith("[")] == ["[1] b [7] c"]


@pytest.mark.parametrize("given", [[1], [1, 2, 2], [1, 2, 3]])
def test_every_question_of_the_page_is_answered_once(given: list[int]) -> None:
    answers = {"answers": [{"question": number, "answer": "x"} for number in given]}
    with checked_against({"question_numbers": {1, 2}}), pytest.raises(ValidationError):
        ReaderAnswer.model_validate(answers)
