"""Schemas of answers as the model sees them, the docstrings of the classes among them.

A change of one is a change of what is asked: recorded answers no longer match, and cached ones are asked again.
`RENEW_GOLDEN=1 pytest tests/golden/test_answers_golden.py` renews them; then the demo must be recorded anew.
"""

import importlib
import json
import os
import pkgutil
from pathlib import Path

import pytest

import slowwave.models.answers
from slowwave.models.answers.fields import Answer

FOLDER = Path(__file__).parent / "answers"
MODULES = [
    f"slowwave.models.answers.{module.name}"
    for module in pkgutil.iter_modules(slowwave.models.answers.__path__)
]
ANSWERS = {
    name: kind
    for module in MODULES
    for name, kind in vars(importlib.import_module(module)).items()
    if isinstance(kind, type) and issubclass(kind, Answer) and kind is not Answer and name.endswith("Answer")
}


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_the_model_is_asked_for_the_same_answer_as_when_it_was_last_agreed(name: str) -> None:
    text = json.dumps(ANSWERS[name].model_json_schema(), indent=1) + "\n"
    path = FOLDER / f"{name}.json"
    if os.environ.get("RENEW_GOLDEN"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, "read the change, then renew with RENEW_GOLDEN=1"


def test_no_golden_schema_outlives_its_answer() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(ANSWERS)
