"""Sentences that say how something is always to be done, and those that only tell."""

import pytest

from slowwave.context.statements.preferences import is_standing


@pytest.mark.parametrize(
    "text",
    [
        "Always answer in German.",
        "The parser is slow. And please never use tabs in this project.",
        "I really prefer small commits.",
        "Mara prefers answers without apologies.",
        "You must always run the linter before you commit.",
        "From now on the changelog is written first.",
        "Antworte immer kurz. Nie Tabs verwenden!",
    ],
)
def test_a_standing_preference_is_seen(text: str):
    assert is_standing(text)


@pytest.mark.parametrize(
    "text",
    [
        "Do you always answer in German?",
        "The test always fails on Mondays.",
        "I never saw this error.",
        "Never mind, it works.",
        "Always here to help!",
        "Add a column to the table.",
        "",
    ],
)
def test_what_only_tells_is_none(text: str):
    assert not is_standing(text)
