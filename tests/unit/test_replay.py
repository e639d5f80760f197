"""The replay server and the recorder, over real HTTP and through the real gateway."""

import http.client
import json
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from benchmarks.record_answers import recording
from benchmarks.replay import (
    MISS_CODE,
    answer_name,
    completion,
    read_recording,
    replaying,
    request_hash,
)
from slowwave.errors import ConfigError, NotFoundError
from slowwave.models.answers.extract import GateAnswer
from slowwave.models.gateway import open_llm
from slowwave.models.requests import Prompt, Request
from slowwave.settings.groups import LLMSettings
from tests.servers import NO_TOOL_CALL, OpenAIServer, in_turn, refused

ROOT = Path(__file__).resolve().parent.parent.parent
GOOD = '{"reason": "a decision", "is_worth_remembering": true}'
TOOL = {"type": "function", "function": {"name": "GateAnswer", "parameters": {"type": "object"}}}


def body(text: str = "hello", **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def post(base_url: str, document: object, path: str = "/chat/completions") -> tuple[int, dict[str, Any]]:
    parts = urlsplit(base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    raw = document if isinstance(document, bytes) else json.dumps(document).encode()
    connection.request("POST", parts.path + path, raw)
    response = connection.getresponse()
    found = response.status, json.loads(response.read())
    connection.close()
    return found


def write_line(path: Path, asked: dict[str, Any], **said: object) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"prompt": answer_name(asked), "request": request_hash(asked), **said}) + "\n")


def settings(base_url: str, model: str = "m") -> LLMSettings:
    return LLMSettings(provider="openai", base_url=base_url, model=model, api_key="k", transport_retries=0)


def ask(base_url: str, cache: Path, text: str = "anything worth it?", model: str = "m") -> Any:
    llm = open_llm(settings(base_url, model), cache)
    assert llm is not None
    try:
        return llm.ask_all([Request(Prompt("gate_chunk.v1", "You judge.", text), GateAnswer, {})])[0]
    finally:
        llm.close()


def test_what_is_asked_counts_and_the_model_its_parameters_and_the_order_of_keys_do_not():
    asked = body(tools=[TOOL])
    same = {
        "tools": [TOOL],
        "messages": asked["messages"],
        "model": "other",
        "temperature": 1,
        "max_tokens": 9,
    }
    assert request_hash(asked) == request_hash(same)
    others = [
        body("hello!", tools=[TOOL]),
        body(),
        body(tools=[TOOL], response_format={"type": "json_object"}),
    ]
    assert len({request_hash(asked), *map(request_hash, others)}) == 4


def test_a_recorded_answer_comes_as_a_tool_call_where_tools_were_given_and_as_content_elsewhere(tmp_path):
    path = tmp_path / "answers.jsonl"
    write_line(path, body(tools=[TOOL]), answer={"a": 1})
    write_line(path, body("plain"), answer={"b": "ä"})
    with replaying(path) as replay:
        status, told = post(replay.base_url, body(tools=[TOOL]))
        call = told["choices"][0]["message"]["tool_calls"][0]["function"]
        assert (status, call["name"], json.loads(call["arguments"])) == (200, "GateAnswer", {"a": 1})
        status, told = post(replay.base_url, body("plain"))
        assert (status, json.loads(told["choices"][0]["message"]["content"])) == (200, {"b": "ä"})
    assert (replay.answered_count, replay.misses, replay.problem()) == (2, [], None)


def test_a_question_that_is_not_recorded_gets_400_and_is_counted_as_a_miss(tmp_path):
    path = tmp_path / "answers.jsonl"
    write_line(path, body(), answer={})
    with replaying(path) as replay:
        status, told = post(replay.base_url, body("changed", tools=[TOOL]))
    assert (status, told["error"]["code"]) == (400, MISS_CODE)
    assert "changed" in told["error"]["message"]
    assert "Record anew" in told["error"]["message"]
    problem = replay.problem()
    assert isinstance(problem, ConfigError)
    assert "1 questions (GateAnswer) are not in the recording" in str(problem)


def test_the_gateway_calls_a_miss_a_configuration_error_that_names_the_reason(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text("")
    with replaying(path) as replay:
        outcome = ask(replay.base_url, tmp_path / "cache.sqlite")
    assert isinstance(outcome.error, ConfigError)
    assert MISS_CODE in str(outcome.error)


def test_what_was_recorded_through_the_gateway_is_replayed_to_it_under_any_model_and_key(tmp_path):
    path = tmp_path / "new" / "answers.jsonl"
    with OpenAIServer(lambda _: GOOD) as upstream, recording(upstream.url, path) as recorder:
        first = ask(recorder.base_url, tmp_path / "one.sqlite")
    with replaying(path) as replay:
        again = ask(replay.base_url, tmp_path / "two.sqlite", model="another-model")
    assert first.answer == again.answer == GateAnswer(reason="a decision", is_worth_remembering=True)
    assert (first.input_tokens, first.output_tokens) == (again.input_tokens, again.output_tokens)
    line = json.loads(path.read_text(encoding="utf-8"))
    assert (line["prompt"], line["answer"]) == ("GateAnswer", json.loads(GOOD))


@pytest.mark.parametrize("first", [NO_TOOL_CALL, "{}", "not json"])
def test_an_unusable_answer_and_the_question_asked_again_are_replayed_as_they_were(tmp_path, first):
    path = tmp_path / "answers.jsonl"
    with OpenAIServer(in_turn(first, GOOD)) as upstream, recording(upstream.url, path) as recorder:
        recorded = ask(recorder.base_url, tmp_path / "one.sqlite")
    with replaying(path) as replay:
        again = ask(replay.base_url, tmp_path / "two.sqlite")
    assert recorded.answer is not None
    assert (again.answer, again.call_count) == (recorded.answer, 2)
    assert replay.misses == []


def test_a_recording_that_was_cut_off_goes_on_without_asking_twice(tmp_path):
    path = tmp_path / "answers.jsonl"
    with OpenAIServer(lambda _: GOOD) as upstream:
        for _ in range(2):
            with recording(upstream.url, path) as recorder:
                assert post(recorder.base_url, body(tools=[TOOL]))[0] == 200
        assert len(upstream.requests) == 1
    assert len(read_recording(path)) == 1


def test_an_error_of_the_upstream_server_is_passed_on_and_not_recorded(tmp_path):
    path = tmp_path / "answers.jsonl"
    limited = refused(429, "rate_limit_exceeded")
    with OpenAIServer(lambda _: limited) as upstream, recording(upstream.url, path) as recorder:
        status, told = post(recorder.base_url, body())
    assert (status, told["error"]["code"]) == (429, "rate_limit_exceeded")
    assert not path.exists()


def test_an_upstream_that_is_away_is_a_bad_gateway(tmp_path):
    with recording("http://127.0.0.1:9/v1", tmp_path / "answers.jsonl") as recorder:
        assert post(recorder.base_url, body())[0] == 502


def test_the_caller_s_key_goes_to_the_upstream_server_and_not_into_the_recording(tmp_path):
    path = tmp_path / "answers.jsonl"
    with OpenAIServer(lambda _: GOOD) as upstream, recording(upstream.url, path) as recorder:
        assert ask(recorder.base_url, tmp_path / "cache.sqlite").error is None
        assert upstream.requests[0].headers["authorization"] == "Bearer k"
    assert "Bearer" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("document", "path", "status"),
    [
        (b"not json", "/chat/completions", 400),
        ([1], "/chat/completions", 400),
        ({"model": "m"}, "/chat/completions", 400),
        (body(stream=True), "/chat/completions", 400),
        (body(), "/embeddings", 404),
    ],
)
def test_what_is_no_chat_request_is_refused_and_the_server_lives_on(tmp_path, document, path, status):
    file = tmp_path / "answers.jsonl"
    write_line(file, body(), answer={})
    with replaying(file) as replay:
        assert post(replay.base_url, document, path)[0] == status
        assert post(replay.base_url, body())[0] == 200


def test_the_server_listens_on_this_machine_only_and_is_gone_after_the_block(tmp_path):
    path = tmp_path / "answers.jsonl"
    write_line(path, body(), answer={})
    with replaying(path) as replay:
        assert urlsplit(replay.base_url).hostname == "127.0.0.1"
    with pytest.raises(ConnectionError):
        post(replay.base_url, body())


def test_a_client_that_hangs_up_leaves_nothing_on_the_screen(tmp_path, capfd):
    recorded = tmp_path / "answers.jsonl"
    write_line(recorded, body(), answer={})
    with replaying(recorded) as replay:
        parts = urlsplit(replay.base_url)
        with socket.create_connection((parts.hostname, parts.port), timeout=10) as client:
            client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        time.sleep(0.3)
        assert post(replay.base_url, body())[0] == 200
    assert capfd.readouterr().err == ""


def test_a_recording_that_is_missing_or_broken_is_told_with_the_line(tmp_path):
    path = tmp_path / "answers.jsonl"
    with pytest.raises(NotFoundError, match="Record one"), replaying(path):
        pass
    for broken in ("{", '{"prompt": "x"}', "[1]", '{"request": "h", "message": "text"}', '{"request": "h"}'):
        path.write_text(f"\n{broken}\n", encoding="utf-8")
        with pytest.raises(ConfigError, match="line 2"):
            read_recording(path)


def test_an_upstream_address_that_is_none_is_told_before_anything_is_asked(tmp_path):
    with pytest.raises(ConfigError, match="no address"), recording("localhost:8000", tmp_path / "a.jsonl"):
        pass


def test_equal_lines_give_equal_completions_so_that_asking_again_meets_the_same_ids():
    line = {"request": request_hash(body(tools=[TOOL])), "answer": {"a": 1}}
    assert completion(line, body(tools=[TOOL])) == completion(line, body(tools=[TOOL]))


@pytest.mark.processes
def test_the_program_says_its_address_and_ends_with_a_clear_line_when_it_cannot_start(tmp_path):
    recorder, out = str(ROOT / "benchmarks" / "record_answers.py"), str(tmp_path / "answers.jsonl")
    command = [sys.executable, recorder, "--upstream", "nowhere", "--out", out]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (78, "")
    assert done.stderr.startswith("slowwave: 'nowhere' is no address")
    command = [sys.executable, recorder, "--out", out]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (66, "")
    assert done.stderr.startswith("slowwave: there is no recording")
