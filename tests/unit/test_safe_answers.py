"""Answers of models lose secrets before they are kept, and all others stay byte for byte."""

import json

from slowwave.llm.safe_answers import safe_answer

TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


def test_an_answer_without_secrets_stays_byte_for_byte():
    for text in (
        '{ "facts": [ "Tests run on  port 8080" ], "salience": 0.5, "is_done": true }',
        "{}",
        "null",
    ):
        assert safe_answer(text) == text


def test_secrets_are_masked_in_every_text_of_an_answer_and_numbers_stay():
    answer = {
        "cells": [{"content": f"CI uses {TOKEN}.", "attribute": "password", "value": "Kx9!tram-P77", "n": 7}]
    }
    safe = json.loads(safe_answer(json.dumps(answer)))
    assert safe == {
        "cells": [
            {
                "content": "CI uses [redacted:github].",
                "attribute": "password",
                "value": "[redacted:password]",
                "n": 7,
            }
        ]
    }
