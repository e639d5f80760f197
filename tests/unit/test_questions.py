"""The words of a question that full text looks for."""

import pytest

from slowwave.language.query_words import telling_words


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What is the rate limit of the API?", "rate limit api"),
        ("Who am I?", "who am i"),
        ("Redis, redis and REDIS", "redis"),
        ("kw_sid in config/limits.toml", "kw_sid config limits toml"),
        ("Größe der Fähre", "größe der fähre"),
        ('"; DROP TABLE cells; --', "drop table cells"),
        ("?!", ""),
        ("", ""),
    ],
)
def test_stop_words_repetitions_and_signs_are_left_out(question: str, words: str):
    assert telling_words(question, most=64) == words


def test_a_long_question_is_its_first_words():
    assert telling_words(" ".join(f"w{i}" for i in range(99)), most=3) == "w0 w1 w2"
