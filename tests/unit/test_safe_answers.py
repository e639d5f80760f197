"""Answers of models lose keys and tokens before they are kept, and all else stays byte for byte."""

import json

from slowwave.models.exchange import safe_answer

TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


def test_an_answer_without_secrets_stays_byte_for_byte():
    texts = (
        '{ "facts": [ "Tests run on  port 8080" ], "salience": 0.5, "is_done": true }',
        '{"summary": "Priya wants alarms only at night. She joined in May 2026 and likes it.", "password": "2026"}',
        "{}",
    )
    assert [safe_answer(text) for text in texts] == [*texts]


def test_secrets_are_masked_in_every_text_of_an_answer_and_numbers_stay():
    cell = {
        "content": f"CI uses {TOKEN}.",
        "steps": [f"git clone https://x:{TOKEN}@h/r"],
        "n": 7,
        "is_open": True,
    }
    (safe,) = json.loads(safe_answer(json.dumps({"cells": [cell]})))["cells"]
    assert TOKEN not in str(safe)
    assert safe["content"] == "CI uses [redacted:github]."
    assert (safe["n"], safe["is_open"]) == (7, True)
