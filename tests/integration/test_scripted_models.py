"""The scripted model of `benchmarks/agents.py`: the same play in each protocol."""

import json

import httpx
import pytest

from benchmarks.scripted_models import ANSWER, ScriptedModel

pytestmark = pytest.mark.benchmark

PROMPT = 'Please CALL search {"query": "a {kiln}"} and CALL keep {"text": "cone six"}'
NAMES = ("memory__search", "memory__keep", "shell")

ANTHROPIC = (
    "/v1/messages",
    {"stream": True, "tools": [{"name": name} for name in NAMES]},
    "messages",
    [
        {"role": "user", "content": [{"type": "text", "text": PROMPT}]},
        {"role": "system", "content": "Be kind."},
    ],
    {"role": "user", "content": [{"type": "tool_result", "content": "found it"}]},
)
RESPONSES = (
    "/v1/responses",
    {"tools": [{"type": "namespace", "name": "memory", "tools": [{"name": "search"}, {"name": "keep"}]}]},
    "input",
    [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": PROMPT}]}],
    {"type": "function_call_output", "output": "found it"},
)
COMPLETIONS = (
    "/v1/chat/completions",
    {"tools": [{"type": "function", "function": {"name": name}} for name in NAMES]},
    "messages",
    [{"role": "system", "content": "Be kind."}, {"role": "user", "content": PROMPT}],
    {"role": "tool", "content": "found it"},
)
GEMINI = (
    "/v1beta/models/any:streamGenerateContent?alt=sse",
    {"tools": [{"functionDeclarations": [{"name": name} for name in NAMES]}]},
    "contents",
    [{"role": "user", "parts": [{"text": PROMPT}]}],
    {"role": "user", "parts": [{"functionResponse": {"response": {"output": "found it"}}}]},
)


@pytest.mark.parametrize("protocol", [ANTHROPIC, RESPONSES, COMPLETIONS, GEMINI], ids=lambda one: one[0])
def test_a_model_makes_the_calls_that_the_prompt_names_and_then_says_a_sentence(protocol):
    path, given, key, turns, result = protocol
    with ScriptedModel() as model:

        def ask(*more):
            told = httpx.post(model.url + path, json={**given, key: [*turns, *more]}).text
            lines = [line.removeprefix("data: ") for line in told.splitlines() if line.startswith("data: {")]
            return "".join(json.dumps(json.loads(line)) for line in lines)

        first, second, last = ask(), ask(result), ask(result, result)
        titles = httpx.post(model.url + path, json={key: turns}).text
    assert "search" in first
    assert "a {kiln}" in first
    assert "cone six" not in first
    assert "keep" in second
    assert "cone six" in second
    assert ANSWER in last
    assert "cone six" not in last
    assert ANSWER in titles, "a request without tools is answered by a sentence"
    assert "found it" in model.asked[2].results[1]
    assert PROMPT in model.asked[2].text
