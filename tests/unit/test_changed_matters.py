"""A later text that tells a change of what an earlier one told, and one that does not."""

from collections.abc import Sequence

import pytest

from slowwave.context.statements.changed_matters import Matter, tells_change


def alike(terms: Sequence[str]) -> list[float]:
    return [1.0] * len(terms)


UNASKED = Matter(frozenset(), alike)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The warehouse runs on Postgres 13 in Oslo.", "We switched the warehouse to Postgres 16 in Bergen."),
        (
            "Screenshots of the manual go to the wiki.",
            "The wiki was shut down. Put screenshots of the manual in docs.",
        ),
        ("The rate limit of the API is 100 a minute.", "The rate limit of the API is 250 a minute."),
        ("Write commit messages in German.", "Commit messages are English from today."),
        ("Use the library moment for dates.", "Don\u2019t use the library moment."),
    ],
)
def test_a_change_is_told(earlier: str, later: str):
    assert tells_change(later, earlier, UNASKED)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The warehouse runs on Postgres 13 in Oslo.", "Did we move the warehouse off Postgres 13 in Oslo?"),
        ("The warehouse runs on Postgres 13 in Oslo.", "The tests of the Oslo office have moved."),
        ("Write commit messages in German.", "Great, thanks, that is now much better."),
        ("Thanks, that looks great today.", "Great, thanks, it looks no longer bad today."),
        ("", ""),
    ],
)
def test_no_change_is_told(earlier: str, later: str):
    assert not tells_change(later, earlier, UNASKED)


def test_words_that_stand_in_every_text_tell_nothing():
    earlier, later = (
        "The kiln glaze is green.",
        "The kiln glaze moved to the shelf with all other jars of Mira.",
    )
    assert tells_change(later, earlier, UNASKED)
    rare = Matter(frozenset(), lambda terms: [0.1 if term in {"kiln", "glaze"} else 5.0 for term in terms])
    assert not tells_change(later, earlier, rare)


@pytest.mark.parametrize(
    ("earlier", "later", "is_as_near", "is_told"),
    [
        ("We keep sessions in Redis.", "Session data lives in Postgres now.", True, True),
        ("We keep sessions in Redis.", "Session data lives in Postgres now.", False, False),
        ("We keep sessions in Redis.", "Redis was dropped for Postgres.", False, True),
        ("We keep sessions in Redis.", "The session of the choir is long.", True, False),
        ("Sessions of Mira are in Redis.", "The sessions of Ola moved to Postgres.", True, False),
    ],
)
def test_a_question_tells_that_two_texts_in_other_words_are_about_one_matter(
    earlier: str, later: str, is_as_near: bool, is_told: bool
):
    asked = Matter(frozenset({"session", "store"}), alike, frozenset({"mira"}))
    assert tells_change(later, earlier, asked, is_as_near=is_as_near) is is_told
