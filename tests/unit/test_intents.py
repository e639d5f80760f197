"""What a question wants: intent by words and by vectors, depth, and the names in it."""

from typing import get_args

import numpy as np
import pytest

from slowwave.errors import ContractError
from slowwave.language.intents import (
    EXEMPLARS,
    Intent,
    asks_for_list,
    intent_by_vectors,
    intent_by_words,
    is_complex,
)
from slowwave.language.query_words import asked_kinds

INTENTS = get_args(Intent)
ASKED: dict[str, tuple[str, ...]] = {
    "why": (
        "Why?",
        "WHY did we drop Kafka",
        "hey, do you remember why we dropped Kafka?",
        "I know who did it, but why?",
        "We moved when traffic grew. Why did we do it?",
        "How come the build is red?",
        "what made her leave",
        "What's the main reason for the retry?",
        "For what reason did he go?",
        "What motivates the team?",
        "Did it fail because of the cache?",
    ),
    "when": (
        "when",
        "When's the demo?",
        "What date was that?",
        "On which day does it end?",
        "In which month's release was it?",
        "What year did they move",
        "How long ago was that?",
        "Since when do we do this?",
        "how long has she had the dog?",
        "do you remember when we moved",
        "What I want to know is when it ends.",
    ),
    "who": (
        "who wrote this?",
        "So... who's on call?",
        "Guess what, who called?",
        "To whom did we sell it?",
        "Whose idea was it?",
        "Which reviewer approved the change?",
        "What person did he meet?",
    ),
    "what": (
        "what?",
        "what's the port",
        "Which database do we use?",
        "how many replicas",
        "Where is the backup?",
        "What time zone do we use?",
        "Which time management technique does he use?",
        "What causes does she support?",
        "When we moved to Postgres, what broke?",
        "List all open tasks",
        "What did she feel when he left?",
    ),
    "general": (
        "",
        "?!",
        "Tell me about the launch",
        "How did she feel when he left?",
        "Is it done?",
        "What if we drop it?",
        "pourquoi",
        "\x00\ud800",
    ),
}


@pytest.mark.parametrize("intent", ASKED)
def test_the_first_question_word_decides(intent):
    assert {question: intent_by_words(question) for question in ASKED[intent]} == dict.fromkeys(
        ASKED[intent], intent
    )


def test_the_exemplars_of_an_intent_are_many_different_and_mean_it():
    assert set(EXEMPLARS) == set(INTENTS)
    everything = [question for questions in EXEMPLARS.values() for question in questions]
    assert len(everything) == len(set(everything))
    for intent, questions in EXEMPLARS.items():
        assert 8 <= len(questions) <= 15
        assert {question: intent_by_words(question) for question in questions} == dict.fromkeys(
            questions, intent
        )


VECTORS = np.array(
    [[1, 0, 0], [2, 0.2, 0], [0, 1, 0], [0, 3, 0.3], [0, 0, 0], [np.nan, 1, 1]], dtype=np.float32
)
LABELS: list[Intent] = ["why", "why", "who", "who", "what", "what"]


def near(vector: list[float], margin: float = 0.1) -> Intent | None:
    return intent_by_vectors(np.array(vector, dtype=np.float32), VECTORS, LABELS, margin=margin)


def test_the_nearest_exemplars_decide_whatever_their_lengths():
    assert near([5, 0, 0]) == "why"
    assert near([0, 0.01, 0]) == "who"


def test_a_lead_below_the_margin_is_not_sure():
    assert near([1, 1, 0]) is None
    assert near([1, 0.9, 0], margin=0.2) is None
    assert near([1, 0.9, 0], margin=0.01) == "why"


def test_what_has_no_vector_is_not_sure():
    assert near([0, 0, 0]) is None
    assert near([np.nan, 0, 0]) is None
    nothing = np.zeros((0, 3), dtype=np.float32)
    assert intent_by_vectors(np.ones(3, dtype=np.float32), nothing, [], margin=0.1) is None


def test_only_the_three_nearest_exemplars_of_an_intent_count():
    vectors = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [1, 0.7]], dtype=np.float32)
    labels: list[Intent] = ["why", "why", "why", "why", "why", "who"]
    assert intent_by_vectors(np.array([1, 0], dtype=np.float32), vectors, labels, margin=0.1) == "why"


@pytest.mark.parametrize("shape", [(2, 3), (6, 2), (6,)])
def test_shapes_that_do_not_belong_together_are_a_bug(shape):
    with pytest.raises(ContractError, match=r"do not belong together"):
        intent_by_vectors(np.ones(3, dtype=np.float32), np.ones(shape, dtype=np.float32), LABELS, margin=0.1)


@pytest.mark.parametrize(
    "question",
    ["", "Who wrote the parser?", "What port does the proxy use?", "When did we move to Postgres?",
     "Why did she leave the choir?", "What is the name of his dog?", "What did this class do?"],
)  # fmt: skip
def test_a_simple_question_is_simple(question):
    assert not is_complex(question)


@pytest.mark.parametrize(
    "question",
    ["How did the login flow change over time?", "Which cities have Ana and Ben both visited?",
     "How does the cache differ from the queue?", "Is Postgres faster than MySQL here?",
     "What books has he read?", "Which tools do we use?", "How many times has she been to the sea?",
     "List the open tasks", "Who was on call? What broke?", "Would she like the mountains?",
     "What has changed since the rewrite?", "Give me an overview of the garden project", "word " * 19],
)  # fmt: skip
def test_what_joins_compares_counts_lists_supposes_or_goes_through_time_is_complex(question):
    assert is_complex(question)


# lists


@pytest.mark.parametrize(
    ("question", "is_list"),
    [
        ("Which books has Ines read?", True),
        ("what pets does Tomas have", True),
        ("What outdoor activities did they try last year?", True),
        ("Where has Ines been?", True),
        ("How many canoes do we own?", True),
        ("Name all the suppliers", True),
        ("In what ways does the new kiln differ?", True),
        ("What are the open tasks?", True),
        ("What does Tomas build?", False),
        ("Which bus is it?", False),
        ("Where did Ines go?", False),
        ("How many weeks did it take?", False),
        ("Why do ferries leave late?", False),
        ("", False),
    ],
)
def test_a_question_for_several_things_asks_for_a_list(question: str, is_list: bool):
    assert asks_for_list(question) is is_list


def test_a_word_of_the_question_asks_for_a_kind_of_entity():
    assert asked_kinds("Which cities or countries has Ines visited?") == "place"
    assert asked_kinds("Where is the company?") == "place organization"
    assert asked_kinds("Why is the port closed?") == ""
