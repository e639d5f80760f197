"""What a question wants: intent by words, depth, and lists."""

from typing import get_args

import pytest

from slowwave.language.intents import (
    EXEMPLARS,
    Intent,
    asks_for_list,
    intent_by_words,
    is_complex,
)

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
        "Почему мы отказались от Kafka?",
        "По какой причине упала сборка?",
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
        "Когда мы переехали?",
        "С каких пор мы так делаем?",
    ),
    "who": (
        "who wrote this?",
        "So... who's on call?",
        "Guess what, who called?",
        "To whom did we sell it?",
        "Whose idea was it?",
        "Which reviewer approved the change?",
        "What person did he meet?",
        "Кто написал парсер?",
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
        "Какой порт у прокси?",
        "Сколько реплик?",
    ),
    "general": (
        "",
        "?!",
        "Tell me about the launch",
        "How did she feel when he left?",
        "Is it done?",
        "What if we drop it?",
        "Как прошёл запуск?",
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
