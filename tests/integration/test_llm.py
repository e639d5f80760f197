"""The gateway against scripted servers over real HTTP."""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field

from slowwave.errors import (
    BudgetError,
    ConfigError,
    InputError,
    OutputError,
    SlowwaveError,
    TransientError,
)
from slowwave.models.answers.extract import ExtractAnswer
from slowwave.models.answers.fields import Answer, of_page
from slowwave.models.cache import AnswerCache
from slowwave.models.checks import check_llm
from slowwave.models.gateway import LLM, open_llm
from slowwave.models.requests import Outcome, Prompt, Request
from slowwave.models.state import OUTAGE_FAILURES
from slowwave.schemas.ledger import Ledger, LedgerLine
from slowwave.settings.groups import LLMSettings
from tests.servers import (
    CONTENT_FILTER,
    DROPPED,
    GARBLED,
    NO_CHOICES,
    NO_TOOL_CALL,
    OVERLOADED,
    PAGE,
    REFUSAL,
    RESET,
    SERVER_ERROR,
    Body,
    Fault,
    OllamaServer,
    OpenAIServer,
    answer_name,
    in_turn,
    rate_limited,
    refused,
    silence,
    user_text,
)

CHAT = "/v1/chat/completions"
HOSTILE = (
    "  {{ 7 * 7 }} {% for x in y %} {{ config.__class__ }} {# gone? #} {% raw %}\n\n"
    "    indented\n \n{{ numbers }}\n"
)


class Colours(Answer):
    """The colour that was found, and the numbers of the turns that say it."""

    colour: Literal["red", "blue"]
    numbers: list[int] = Field(description="Numbers of the turns")

    def _problems(self) -> list[str]:
        allowed = of_page("numbers")
        is_off = allowed is not None and not set(self.numbers) <= set(allowed)
        return [f"use only {sorted(allowed)}"] if is_off else []


class OtherColours(Colours):
    """A second kind of answer with the same fields."""


GOOD = '{"colour": "red", "numbers": [1, 2]}'
WRONG_ENUM = '{"colour": "secret-mauve", "numbers": [1]}'
INVENTED = '{"colour": "red", "numbers": [99]}'


def ask(text: str = "what colour?", *, numbers: object = frozenset({1, 2}), is_gate: bool = False) -> Request:
    return Request(
        Prompt("find_colour.v1", "You find colours.", text), Colours, {"numbers": numbers}, is_gate
    )


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., LLM]]:
    """Opens gateways on one cache file, with pauses and time-outs made small, and closes them."""
    made: list[LLM] = []
    monkeypatch.setattr("slowwave.models.exchange.FIRST_PAUSE_SECONDS", 0.001)

    def open_one(
        server: OpenAIServer | OllamaServer, *, outage_failures: int = OUTAGE_FAILURES, **given: object
    ) -> LLM:
        monkeypatch.setattr("slowwave.models.state.OUTAGE_FAILURES", outage_failures)
        settings = settings_for(server, **given)
        llm = open_llm(settings, tmp_path / "answers.sqlite")
        assert llm is not None
        made.append(llm)
        return llm

    yield open_one
    for llm in made:
        llm.close()


def settings_for(server: OpenAIServer | OllamaServer, **given: object) -> LLMSettings:
    is_openai = isinstance(server, OpenAIServer)
    defaults: dict[str, object] = {
        "provider": "openai" if is_openai else "ollama",
        "base_url": server.url,
        "api_key": "key-of-the-server" if is_openai else None,
        "model": "m" if is_openai else "llama3.2",
        "timeout_seconds": 5.0,
        "concurrency": 1,
    }
    return LLMSettings.model_validate({**defaults, **given})


def error_of(outcome: Outcome) -> SlowwaveError:
    assert outcome.error is not None
    return outcome.error


# --- what is sent


def test_openai_is_asked_with_a_strict_tool_and_our_parameters(opened: Callable[..., LLM]) -> None:
    with OpenAIServer(lambda body: GOOD) as server:
        outcome = opened(server, max_answer_tokens=321, temperature=0.5).ask_all([ask()])[0]
    assert outcome.answer == Colours(colour="red", numbers=[1, 2])
    assert type(outcome.answer) is Colours
    assert (outcome.error, outcome.model, outcome.prompt_version) == (None, "m", "find_colour.v1")
    body = server.bodies(CHAT)[0]
    function = body["tools"][0]["function"]
    assert (function["strict"], function["name"]) == (True, "Colours")
    assert function["parameters"]["additionalProperties"] is False
    assert body["tool_choice"] == {"type": "function", "function": {"name": "Colours"}}
    assert (body["max_tokens"], body["temperature"], body["model"]) == (321, 0.5, "m")
    assert body["messages"] == [
        {"role": "system", "content": "You find colours."},
        {"role": "user", "content": "what colour?"},
    ]
    assert server.requests[0].headers["authorization"] == "Bearer key-of-the-server"


def test_a_tool_is_not_strict_where_a_model_may_leave_fields_out(opened: Callable[..., LLM]) -> None:
    request = Request(Prompt("extract_cells.v1", "Extract.", "nothing"), ExtractAnswer, {})
    with OpenAIServer(lambda body: '{"cells": []}') as server:
        assert opened(server).ask_all([request])[0].answer == ExtractAnswer(cells=[])
    function = server.bodies(CHAT)[0]["tools"][0]["function"]
    cell = function["parameters"]["$defs"]["ExtractedCell"]
    assert "strict" not in function
    assert "content" in cell["required"]
    assert "stated_by" not in cell["required"]
    assert not [name for name, shape in cell["properties"].items() if "default" in shape]


def test_ollama_is_asked_with_a_schema_and_a_model_that_holds_our_context_size(
    opened: Callable[..., LLM],
) -> None:
    with OllamaServer(lambda body: GOOD, models={"org/llama3.2:3b": {"stop": "x"}}) as server:
        outcome = opened(server, model="org/llama3.2:3b", context_tokens=4096, max_answer_tokens=512).ask_all(
            [ask()]
        )[0]
    assert outcome.answer == Colours(colour="red", numbers=[1, 2])
    assert outcome.model == "org/llama3.2:3b"
    created = server.bodies("/api/create")
    assert created[0]["parameters"] == {"num_ctx": 4096}
    assert (created[0]["model"], created[0]["from"]) == ("slowwave-org-llama3.2-3b-4096", "org/llama3.2:3b")
    body = server.bodies(CHAT)[0]
    assert (body["model"], answer_name(body)) == ("slowwave-org-llama3.2-3b-4096", "Colours")
    assert "tools" not in body


@pytest.mark.parametrize("kind", [OpenAIServer, OllamaServer])
def test_template_marks_in_user_text_arrive_unharmed_and_unexecuted(
    opened: Callable[..., LLM], kind: type[OpenAIServer] | type[OllamaServer]
) -> None:
    with kind(in_turn(WRONG_ENUM, GOOD)) as server:
        request = Request(Prompt("p.v1", HOSTILE, HOSTILE), Colours, {"numbers": {1, 2}, "y": "z"})
        outcome = opened(server).ask_all([request])[0]
    assert outcome.answer is not None
    assert [len(body["messages"]) for body in server.bodies(CHAT)] == [2, 4]
    for body in server.bodies(CHAT):
        assert [message["content"] for message in body["messages"][:2]] == [HOSTILE, HOSTILE]


def test_half_a_character_in_the_prompt_is_an_input_error_of_that_item_alone(
    opened: Callable[..., LLM],
) -> None:
    with OpenAIServer(lambda body: GOOD) as server:
        bad, good = opened(server).ask_all([ask("broken \ud83d"), ask()])
    assert isinstance(bad.error, InputError)
    assert good.answer is not None
    assert len(server.bodies(CHAT)) == 1


# --- order, concurrency, callbacks


def test_outcomes_keep_the_order_of_the_requests_and_no_more_than_allowed_are_in_flight(
    opened: Callable[..., LLM],
) -> None:
    def slower_first(body: Body) -> str | Fault:
        number = int(user_text(body))
        return silence(0.02 * (8 - number), f'{{"colour": "red", "numbers": [{number}]}}')

    done: list[Outcome] = []
    with OpenAIServer(slower_first) as server:
        llm = opened(server, concurrency=3)
        outcomes = llm.ask_all([ask(str(number), numbers=range(8)) for number in range(8)], done.append)
        assert server.most_in_flight == 3
    assert [outcome.answer for outcome in outcomes] == [Colours(colour="red", numbers=[n]) for n in range(8)]
    assert sorted(map(id, done)) == sorted(map(id, outcomes))


def test_a_callback_that_raises_ends_the_run_and_sends_nothing_more(opened: Callable[..., LLM]) -> None:
    def stop(outcome: Outcome) -> None:
        raise KeyboardInterrupt

    with OpenAIServer(lambda body: silence(0.05, GOOD)) as server:
        llm = opened(server, concurrency=1)
        with pytest.raises(KeyboardInterrupt):
            llm.ask_all([ask(str(number)) for number in range(20)], stop)
        assert len(server.bodies(CHAT)) <= 3


# --- transport


@pytest.mark.parametrize(
    "fault",
    [
        rate_limited(),
        SERVER_ERROR,
        OVERLOADED,
        refused(408),
        refused(409),
        RESET,
        DROPPED,
        GARBLED,
        silence(1.0),
    ],
    ids=lambda fault: f"{fault.kind}-{fault.status}",
)
def test_what_can_pass_is_repeated_until_it_has_passed(opened: Callable[..., LLM], fault: Fault) -> None:
    with OpenAIServer(in_turn(fault, fault, GOOD)) as server:
        llm = opened(server, timeout_seconds=0.25 if fault.kind == "silence" else 5.0)
        outcome = llm.ask_all([ask()])[0]
    assert outcome.answer is not None
    assert outcome.call_count == len(server.bodies(CHAT)) == 3
    assert llm.ledger.total.call_count == 3
    assert not llm.is_down


@pytest.mark.parametrize("ask_for", ["7", "7.0"])
def test_retry_after_is_honoured_up_to_the_time_out(
    opened: Callable[..., LLM], ask_for: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("tenacity.sleep_using_event", lambda event: pauses.append)
    with OpenAIServer(
        in_turn(rate_limited(ask_for), rate_limited("900"), rate_limited("soon"), GOOD)
    ) as server:
        outcome = opened(server, timeout_seconds=30.0).ask_all([ask()])[0]
    assert outcome.answer is not None
    first, second, third = pauses
    assert first == 7.0
    assert second == 30.0
    assert third < 1.0


def test_an_outage_costs_a_few_requests_and_leaves_the_rest_unasked(opened: Callable[..., LLM]) -> None:
    with OpenAIServer(lambda body: SERVER_ERROR) as server:
        llm = opened(server, transport_retries=1, outage_failures=3)
        outcomes = llm.ask_all([ask(str(number)) for number in range(50)])
        assert llm.is_down
        later = llm.ask_all([ask("later")])
        assert len(server.bodies(CHAT)) == 6
    assert all(type(outcome.error) is TransientError for outcome in [*outcomes, *later])
    assert [outcome.call_count for outcome in outcomes] == [2, 2, 2] + [0] * 47
    assert "not asked: the server is down" in str(outcomes[-1].error)


def test_when_the_run_is_given_up_nobody_waits_for_a_repeat_any_more(opened: Callable[..., LLM]) -> None:
    def answer(body: Body) -> str | Fault:
        return refused(401) if user_text(body) == "fatal" else rate_limited("3600")

    with OpenAIServer(answer) as server:
        llm = opened(server, concurrency=4, transport_retries=10, timeout_seconds=3600.0)
        outcomes = llm.ask_all([ask("a"), ask("b"), ask("c"), ask("fatal"), ask("d")])
        called = len(server.bodies(CHAT))
    assert [outcome.answer for outcome in outcomes] == [None] * 5
    assert sum(outcome.call_count for outcome in outcomes) == called <= 5
    assert llm.is_down


def test_failures_that_are_not_in_a_row_are_no_outage(opened: Callable[..., LLM]) -> None:
    def answer(body: Body) -> str | Fault:
        return GOOD if int(user_text(body)) % 2 else SERVER_ERROR

    with OpenAIServer(answer) as server:
        llm = opened(server, transport_retries=0, outage_failures=2)
        outcomes = llm.ask_all([ask(str(number)) for number in range(10)])
    assert [outcome.answer is not None for outcome in outcomes] == [False, True] * 5
    assert not llm.is_down


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_no_server_at_all_is_a_transient_error(
    tmp_path: Path, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slowwave.models.exchange.FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr("slowwave.models.state.OUTAGE_FAILURES", 1)
    with OpenAIServer() as gone:
        pass
    settings = settings_for(gone, provider=provider, transport_retries=1)
    llm = open_llm(settings, tmp_path / "a.sqlite")
    assert llm is not None
    with closing(llm):
        outcomes = llm.ask_all([ask("a"), ask("b")])
        assert [type(outcome.error) for outcome in outcomes] == [TransientError, TransientError]
        assert llm.is_down


# --- refusals of the server


@pytest.mark.parametrize(
    "fault",
    [
        refused(401),
        refused(403),
        refused(404, "model_not_found"),
        refused(402),
        refused(429, "insufficient_quota"),
    ],
    ids=lambda fault: str(fault.status),
)
def test_what_only_configuration_can_cure_ends_the_run_at_once(
    opened: Callable[..., LLM], fault: Fault
) -> None:
    with OpenAIServer(lambda body: fault) as server:
        llm = opened(server)
        outcomes = llm.ask_all([ask(str(number)) for number in range(5)])
        assert len(server.bodies(CHAT)) == 1
    assert all(type(outcome.error) is ConfigError for outcome in outcomes)
    assert llm.is_down
    assert str(outcomes[1].error).startswith("not asked: ")


def test_one_prompt_that_the_server_finds_bad_does_not_end_the_run(opened: Callable[..., LLM]) -> None:
    def answer(body: Body) -> str | Fault:
        return refused(400) if user_text(body) == "poison" else GOOD

    with OpenAIServer(answer) as server:
        outcomes = opened(server).ask_all([ask("poison"), ask("b"), ask("c")])
    assert [type(outcome.error) for outcome in outcomes] == [ConfigError, type(None), type(None)]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (refused(400, "context_length_exceeded"), InputError),
        (refused(413), InputError),
        (refused(400, "content_filter"), OutputError),
    ],
)
def test_a_prompt_that_the_server_cannot_take_is_an_error_of_that_item_alone(
    opened: Callable[..., LLM], fault: Fault, kind: type[SlowwaveError]
) -> None:
    with OpenAIServer(lambda body: fault) as server:
        llm = opened(server, outage_failures=1)
        outcomes = llm.ask_all([ask("a"), ask("b")])
    assert [type(outcome.error) for outcome in outcomes] == [kind, kind]
    assert [outcome.call_count for outcome in outcomes] == [1, 1]
    assert not llm.is_down


def test_a_server_that_cannot_be_asked_again_makes_the_answer_unusable_and_not_the_settings(
    opened: Callable[..., LLM],
) -> None:
    with OpenAIServer(in_turn(WRONG_ENUM, refused(400))) as server:
        outcome = opened(server).ask_all([ask()])[0]
    assert type(outcome.error) is OutputError


def test_a_web_page_instead_of_a_model_is_a_matter_of_configuration(opened: Callable[..., LLM]) -> None:
    with OpenAIServer(lambda body: PAGE) as server:
        outcome = opened(server).ask_all([ask()])[0]
    assert type(outcome.error) is ConfigError
    assert "base_url" in str(outcome.error)


# --- unusable answers

MENDABLE = {
    "wrong enum": WRONG_ENUM,
    "invented numbers": INVENTED,
    "unknown field": '{"colour": "red", "numbers": [], "secret-field": 1}',
    "no JSON": "secret-mauve, I would say",
    "a list": "[]",
    "no tool call": NO_TOOL_CALL,
}
FINAL = {
    "cut": Fault("cut", GOOD),
    "refusal": REFUSAL,
    "content filter": CONTENT_FILTER,
    "no choices": NO_CHOICES,
}


@pytest.mark.parametrize("bad", MENDABLE.values(), ids=MENDABLE.keys())
def test_an_unusable_answer_is_asked_again_with_its_error_and_can_be_mended(
    opened: Callable[..., LLM], bad: str | Fault
) -> None:
    with OpenAIServer(in_turn(bad, bad, GOOD)) as server:
        llm = opened(server)
        outcome = llm.ask_all([ask()])[0]
    assert outcome.answer == Colours(colour="red", numbers=[1, 2])
    bodies = server.bodies(CHAT)
    assert outcome.call_count == len(bodies) == 3
    assert (outcome.input_tokens, outcome.output_tokens) == (300, 30)
    assert llm.ledger.total == LedgerLine(call_count=3, input_tokens=300, output_tokens=30, cost=None)


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (WRONG_ENUM, "colour\n  Input should be 'red' or 'blue'"),
        (INVENTED, "use only [1, 2]"),
        ('{"colour": "red", "numbers": [1, "x"]}', "numbers.1\n  Input should be a valid integer"),
        ('{"colour": "red", "numbers": [], "more": 1}', "more\n  Extra inputs are not permitted"),
        ("Red, I would say", "Invalid JSON"),
    ],
)
@pytest.mark.parametrize("kind", [OpenAIServer, OllamaServer])
def test_a_model_that_is_asked_again_sees_its_own_answer_and_what_is_wrong(
    opened: Callable[..., LLM], bad: str, told: str, kind: type[OpenAIServer] | type[OllamaServer]
) -> None:
    with kind(in_turn(bad, GOOD)) as server:
        opened(server).ask_all([ask()])
    said, correction = server.bodies(CHAT)[1]["messages"][2:]
    assert told in correction["content"]
    assert said["role"] == "assistant"
    if kind is OpenAIServer:
        [call] = said["tool_calls"]
        assert (call["function"]["name"], call["function"]["arguments"]) == ("Colours", bad)
        assert (correction["role"], correction["tool_call_id"]) == ("tool", call["id"])
    else:
        assert (said["content"], correction["role"]) == (bad, "user")


@pytest.mark.parametrize("bad", FINAL.values(), ids=FINAL.keys())
def test_a_cut_a_refused_and_a_missing_answer_are_output_errors_and_not_asked_for_again(
    opened: Callable[..., LLM], bad: Fault
) -> None:
    with OpenAIServer(in_turn(bad, GOOD)) as server:
        llm = opened(server, outage_failures=1)
        first, second = llm.ask_all([ask("secret-prompt"), ask("b")])
    assert type(error_of(first)) is OutputError
    assert "secret" not in str(first.error)
    assert (first.call_count, first.input_tokens) == (1, 100)
    assert second.answer is not None, "it is no outage"


def test_each_request_is_checked_against_its_own_page_in_whatever_thread(opened: Callable[..., LLM]) -> None:
    def answer(body: Body) -> str | Fault:
        return silence(0.02, f'{{"colour": "red", "numbers": [{user_text(body)}]}}')

    with OpenAIServer(answer) as server:
        llm = opened(server, concurrency=4, validation_retries=0)
        outcomes = llm.ask_all([ask(str(n), numbers={n if n % 2 else n + 1}) for n in range(12)])
    assert [outcome.answer is not None for outcome in outcomes] == [False, True] * 6


@pytest.mark.parametrize("bad", MENDABLE.values(), ids=MENDABLE.keys())
@pytest.mark.parametrize("kind", [OpenAIServer, OllamaServer])
def test_an_answer_that_stays_unusable_is_an_output_error_in_one_line_without_texts(
    opened: Callable[..., LLM], bad: str | Fault, kind: type[OpenAIServer] | type[OllamaServer]
) -> None:
    with kind(lambda body: bad) as server:
        llm = opened(server, validation_retries=1)
        outcome = llm.ask_all([ask("secret-prompt")])[0]
    error = error_of(outcome)
    assert type(error) is OutputError
    assert outcome.call_count == len(server.bodies(CHAT)) == 2
    assert (outcome.input_tokens, outcome.output_tokens) == (200, 20)
    assert "\n" not in str(error)
    assert "secret" not in str(error)
    assert "Colours" in str(error)
    assert error.__cause__ is error.__context__ is error.__traceback__ is None
    assert not llm.is_down


def test_the_error_of_an_unusable_answer_names_fields_and_kinds(opened: Callable[..., LLM]) -> None:
    with OpenAIServer(lambda body: '{"colour": "mauve", "numbers": ["x"], "extra": 1}') as server:
        outcome = opened(server, validation_retries=0).ask_all([ask()])[0]
    message = str(outcome.error)
    assert "colour literal_error" in message
    assert "numbers.0 int_parsing" in message
    assert "? extra_forbidden" in message


def test_numbers_that_a_small_model_puts_in_quotes_are_taken(opened: Callable[..., LLM]) -> None:
    with OllamaServer(lambda body: '{"colour": "red", "numbers": ["1"]}') as server:
        outcome = opened(server).ask_all([ask()])[0]
    assert outcome.answer == Colours(colour="red", numbers=[1])


def test_no_log_line_carries_prompt_answer_or_key(
    opened: Callable[..., LLM], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    faults: list[str | Fault] = [
        WRONG_ENUM,
        Fault("status", status=400, message="you said secret-prompt"),
        GOOD,
        SERVER_ERROR,
    ]
    with OpenAIServer(in_turn(*faults)) as server:
        llm = opened(server, validation_retries=1, transport_retries=1)
        outcomes = llm.ask_all([ask("secret-prompt 1"), ask("secret-prompt 2"), ask("secret-prompt 3")])
    assert len(outcomes) == 3
    written = caplog.text + "".join(str(outcome.error) for outcome in outcomes)
    assert "secret-" not in written
    assert "key-of-the-server" not in written


# --- tokens, cost, budget


def test_cost_follows_the_prices_of_the_models_that_were_called(opened: Callable[..., LLM]) -> None:
    prices = {"m": {"input": 2.0, "output": 10.0}, "cheap": {"input": 1.0, "output": 1.0}}
    with OpenAIServer(in_turn(WRONG_ENUM, GOOD), models=["m", "cheap"]) as server:
        llm = opened(server, prices=prices, gate_model="cheap")
        strong, gate = llm.ask_all([ask("a"), ask("b", is_gate=True)])
    assert strong.cost == pytest.approx((200 * 2.0 + 20 * 10.0) / 1e6)
    assert gate.cost == pytest.approx(110 / 1e6)
    ledger = llm.ledger
    assert ledger.total.cost == pytest.approx(710 / 1e6)
    assert ledger.by_model["m"].call_count == 2
    assert ledger.by_model["cheap"].call_count == 1
    assert ledger.by_prompt_version == {"find_colour.v1": ledger.total}


def test_a_model_without_a_price_makes_the_cost_unknown(opened: Callable[..., LLM]) -> None:
    with OpenAIServer(lambda body: GOOD, models=["m", "cheap"]) as server:
        llm = opened(server, prices={"m": {"input": 1, "output": 1}}, gate_model="cheap")
        priced, unpriced = llm.ask_all([ask("a"), ask("b", is_gate=True)])
    assert priced.cost is not None
    assert unpriced.cost is None
    assert llm.ledger.total.cost is None


def test_ledgers_add_up() -> None:
    one = Ledger.of(LedgerLine(call_count=1, input_tokens=2, cost=0.5), model="a", prompt_version="p.v1")
    two = Ledger.of(LedgerLine(call_count=2, cached_count=1, cost=None), model="b", prompt_version="p.v1")
    both = one + two
    assert both.total == LedgerLine(call_count=3, cached_count=1, input_tokens=2, cost=None)
    assert both.by_model == {"a": one.total, "b": two.total}
    assert both.by_prompt_version == {"p.v1": both.total}
    assert Ledger() + one == one


def test_a_spent_token_budget_sends_nothing_more(opened: Callable[..., LLM]) -> None:
    with OpenAIServer(lambda body: GOOD) as server:
        llm = opened(server, budget_tokens=220)
        outcomes = llm.ask_all([ask(str(number)) for number in range(5)])
        assert len(server.bodies(CHAT)) == 2
    assert [type(outcome.error) for outcome in outcomes] == [type(None)] * 2 + [BudgetError] * 3
    assert [outcome.call_count for outcome in outcomes] == [1, 1, 0, 0, 0]
    assert not llm.is_down


def test_a_spent_cost_budget_sends_nothing_more(opened: Callable[..., LLM]) -> None:
    with OpenAIServer(lambda body: GOOD) as server:
        llm = opened(server, budget_cost=0.0001, prices={"m": {"input": 1.0, "output": 1.0}})
        outcomes = llm.ask_all([ask("a"), ask("b")])
    assert [type(outcome.error) for outcome in outcomes] == [type(None), BudgetError]


def test_a_server_that_reports_no_usage_cannot_slip_past_a_budget(opened: Callable[..., LLM]) -> None:
    with OpenAIServer(lambda body: Fault("no_usage", GOOD)) as server:
        llm = opened(server, budget_tokens=20)
        outcomes = llm.ask_all([ask("a"), ask("b")])
    assert [type(outcome.error) for outcome in outcomes] == [type(None), BudgetError]
    assert outcomes[0].input_tokens > 0


# --- cache


def test_a_repeated_question_is_answered_from_the_cache_for_nothing(opened: Callable[..., LLM]) -> None:
    with OpenAIServer(in_turn(WRONG_ENUM, GOOD, SERVER_ERROR)) as server:
        first = opened(server).ask_all([ask()])[0]
        llm = opened(server, api_key="another key", budget_tokens=0)
        second = llm.ask_all([ask()])[0]
        assert len(server.bodies(CHAT)) == 2
    assert second.answer == first.answer
    assert (first.is_cached, second.is_cached) == (False, True)
    assert (second.call_count, second.input_tokens, second.output_tokens, second.cost) == (0, 0, 0, 0.0)
    assert llm.ledger.total == LedgerLine(cached_count=1)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"temperature": 0.3},
        {"max_answer_tokens": 99},
        {"request": ask("what colour, again?")},
        {"request": Request(Prompt("find_colour.v1", "Another system.", "what colour?"), Colours, {})},
        {"request": Request(ask().prompt, OtherColours, {})},
    ],
    ids="-".join,
)
def test_a_change_of_anything_that_shapes_an_answer_asks_again(
    opened: Callable[..., LLM], change: dict[str, object]
) -> None:
    given = {name: value for name, value in change.items() if name != "request"}
    request = change.get("request", ask())
    assert isinstance(request, Request)
    with OpenAIServer(lambda body: GOOD, models=["m", "other"]) as server:
        opened(server).ask_all([ask()])
        outcome = opened(server, **given).ask_all([request])[0]
        assert len(server.bodies(CHAT)) == 2
    assert not outcome.is_cached


def test_a_cached_answer_that_fails_under_this_context_is_asked_again(opened: Callable[..., LLM]) -> None:
    with OpenAIServer(in_turn(GOOD, '{"colour": "blue", "numbers": [7]}')) as server:
        llm = opened(server)
        first = llm.ask_all([ask(numbers={1, 2})])[0]
        second = llm.ask_all([ask(numbers={7})])[0]
        third = llm.ask_all([ask(numbers={7, 8})])[0]
    assert first.answer == Colours(colour="red", numbers=[1, 2])
    assert second.answer == Colours(colour="blue", numbers=[7])
    assert [outcome.is_cached for outcome in (first, second, third)] == [False, False, True]


def test_an_unusable_answer_is_never_cached(opened: Callable[..., LLM]) -> None:
    with OpenAIServer(in_turn(WRONG_ENUM, GOOD)) as server:
        llm = opened(server, validation_retries=0)
        outcomes = llm.ask_all([ask()]) + llm.ask_all([ask()])
    assert [outcome.answer is not None for outcome in outcomes] == [False, True]


def test_the_cache_keeps_neither_prompt_nor_key(opened: Callable[..., LLM], tmp_path: Path) -> None:
    with OpenAIServer(lambda body: GOOD) as server:
        opened(server).ask_all([ask("secret-prompt")])
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"colour" in content
    assert b"secret-prompt" not in content
    assert b"key-of-the-server" not in content


def test_a_cache_that_cannot_take_an_answer_does_not_lose_it(
    opened: Callable[..., LLM], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: AnswerCache, key: str, text: str) -> None:
        raise TransientError("the disk is full")

    monkeypatch.setattr(AnswerCache, "set", full)
    with OpenAIServer(lambda body: GOOD) as server:
        assert opened(server).ask_all([ask()])[0].answer is not None


# --- Ollama's context


def test_a_derived_model_that_proves_its_size_is_not_made_again(opened: Callable[..., LLM]) -> None:
    models: dict[str, dict[str, object]] = {"llama3.2": {}, "slowwave-llama3.2-12288": {"num_ctx": 12288}}
    with OllamaServer(lambda body: GOOD, models=models) as server:
        llm = opened(server, concurrency=4)
        outcomes = llm.ask_all([ask(str(number)) for number in range(8)])
    assert all(outcome.answer is not None for outcome in outcomes)
    assert server.bodies("/api/create") == []
    assert len(server.bodies("/api/show")) == 2


def test_a_size_that_did_not_take_sends_no_prompt(opened: Callable[..., LLM]) -> None:
    with OllamaServer(lambda body: GOOD, keeps_parameters=False) as server:
        llm = opened(server)
        outcomes = llm.ask_all([ask("a"), ask("b")])
    assert [type(outcome.error) for outcome in outcomes] == [ConfigError, ConfigError]
    assert server.bodies(CHAT) == []
    assert llm.is_down


def test_a_missing_base_model_is_never_downloaded_unasked(opened: Callable[..., LLM]) -> None:
    with OllamaServer(lambda body: GOOD, models={"other": {}}) as server:
        outcome = opened(server).ask_all([ask()])[0]
    assert type(outcome.error) is ConfigError
    assert "ollama pull llama3.2" in str(outcome.error)
    assert {request.path for request in server.requests} == {"/api/show"}


def test_a_context_that_the_model_does_not_have_is_a_matter_of_configuration(
    opened: Callable[..., LLM],
) -> None:
    with OllamaServer(lambda body: GOOD, model_context=4096) as server:
        outcome = opened(server, context_tokens=8192).ask_all([ask()])[0]
    assert type(outcome.error) is ConfigError
    assert "4096" in str(outcome.error)
    assert server.bodies(CHAT) == []


@pytest.mark.parametrize("path", ["/api/show", "/api/create"])
def test_preparing_a_model_is_repeated_when_the_failure_can_pass(
    opened: Callable[..., LLM], path: str
) -> None:
    with OllamaServer(lambda body: GOOD) as server:
        server.fail(path, RESET)
        outcome = opened(server, timeout_seconds=0.3).ask_all([ask()])[0]
    assert outcome.answer is not None
    assert outcome.call_count == 1


def test_a_prompt_longer_than_the_context_is_an_input_error_and_is_not_sent(
    opened: Callable[..., LLM],
) -> None:
    with OllamaServer(lambda body: GOOD) as server:
        llm = opened(server, context_tokens=2048, max_answer_tokens=512)
        long, short, chinese = llm.ask_all([ask("word " * 1000), ask("word " * 100), ask("记忆" * 800)])
    assert [type(outcome.error) for outcome in (long, short, chinese)] == [InputError, type(None), InputError]
    assert "context_tokens=2048" in str(long.error)
    assert len(server.bodies(CHAT)) == 1
    assert not llm.is_down


def test_asking_again_is_not_sent_when_it_would_outgrow_the_context(opened: Callable[..., LLM]) -> None:
    with OllamaServer(lambda body: json.dumps({"colour": "x" * 3000, "numbers": []})) as server:
        outcome = opened(server, context_tokens=2048, max_answer_tokens=1024).ask_all([ask()])[0]
    assert type(outcome.error) is OutputError
    assert outcome.call_count == 1


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
def test_ollamas_address_may_be_given_in_any_common_form(opened: Callable[..., LLM], suffix: str) -> None:
    with OllamaServer(lambda body: GOOD) as server:
        assert opened(server, base_url=server.url + suffix).ask_all([ask()])[0].answer is not None


# --- opening and checking


def test_no_provider_is_no_gateway(tmp_path: Path) -> None:
    assert open_llm(LLMSettings(), tmp_path / "a.sqlite") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"provider": "ollama"}, "SLOWWAVE_LLM__MODEL"),
        ({"provider": "openai", "model": "m"}, "SLOWWAVE_LLM__API_KEY"),
        ({"provider": "openai", "model": "m", "api_key": ""}, "SLOWWAVE_LLM__API_KEY"),
        (
            {"provider": "openai", "model": "m", "base_url": "https://api.openai.com/v1/"},
            "SLOWWAVE_LLM__API_KEY",
        ),
        ({"provider": "ollama", "model": "m", "budget_cost": 1.0}, "price for m"),
        ({"provider": "ollama", "model": "m", "base_url": "localhost:11434"}, "http://"),
        ({"provider": "openai", "model": "m", "api_key": "k\u00e9y"}, "SLOWWAVE_LLM__API_KEY"),
    ],
)
def test_settings_that_cannot_work_are_told_before_anything_is_sent(
    tmp_path: Path, given: dict[str, object], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-someone")
    with pytest.raises(ConfigError, match=told) as caught:
        open_llm(LLMSettings.model_validate(given), tmp_path / "a.sqlite")
    assert "key-of-someone" not in str(caught.value)


def test_no_variable_of_the_environment_moves_address_or_key(
    opened: Callable[..., LLM], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-someone")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    with OpenAIServer(lambda body: GOOD) as server:
        assert opened(server, api_key=None).ask_all([ask()])[0].answer is not None
        assert "key-of-someone" not in server.requests[0].headers["authorization"]


def test_a_key_from_a_file_may_end_in_a_new_line(opened: Callable[..., LLM]) -> None:
    with OpenAIServer(lambda body: GOOD, api_key="k") as server:
        assert opened(server, api_key="k\n").ask_all([ask()])[0].answer is not None


def test_doctor_finds_all_well(opened: Callable[..., LLM]) -> None:
    with OpenAIServer(models=["m", "cheap"]) as openai, OllamaServer(models={"llama3.2": {}}) as ollama:
        rows = check_llm(settings_for(openai, gate_model="cheap")) + check_llm(settings_for(ollama))
        assert [request.method for request in openai.requests + ollama.requests] == ["GET", "GET"]
    assert [name for name, _, _ in rows] == [
        "llm server",
        "llm model m",
        "llm model cheap",
        "llm server",
        "llm model llama3.2",
    ]
    assert all(is_well for _, is_well, _ in rows)
    assert check_llm(LLMSettings())[0][1]


def test_doctor_tells_what_to_do_about_a_missing_model() -> None:
    with OllamaServer(models={"other": {}}) as server:
        rows = check_llm(settings_for(server))
    assert [is_well for _, is_well, _ in rows] == [True, False]
    assert "ollama pull llama3.2" in rows[1][2]


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_doctor_tells_of_a_server_that_is_not_there_without_a_password(provider: str) -> None:
    with OpenAIServer() as gone:
        pass
    address = gone.address.replace("//", "//user:password@") + "/v1"
    rows = check_llm(settings_for(gone, provider=provider, base_url=address))
    assert [(name, is_well) for name, is_well, _ in rows] == [("llm server", False)]
    assert "password" not in rows[0][2]


def test_doctor_tells_of_a_refused_key_without_showing_it() -> None:
    with OpenAIServer(api_key="the right key") as server:
        rows = check_llm(settings_for(server))
    assert [is_well for _, is_well, _ in rows] == [False]
    assert "API_KEY" in rows[0][2]
    assert "key-of-the-server" not in rows[0][2]


@pytest.mark.parametrize("fault", [PAGE, GARBLED, SERVER_ERROR], ids=lambda f: f.kind)
@pytest.mark.parametrize("kind", [OpenAIServer, OllamaServer])
def test_doctor_never_raises(fault: Fault, kind: type[OpenAIServer] | type[OllamaServer]) -> None:
    with kind() as server:
        server.fail("/v1/models", fault)
        server.fail("/api/tags", fault)
        rows = check_llm(settings_for(server))
    assert [is_well for _, is_well, _ in rows] == [False]


def test_doctor_is_content_with_a_server_that_lists_no_models() -> None:
    with OpenAIServer() as server:
        server.fail("/v1/models", refused(404))
        rows = check_llm(settings_for(server))
    assert all(is_well for _, is_well, _ in rows)
