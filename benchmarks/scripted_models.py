"""A scripted model that speaks the protocols of four coding agents over HTTP on the loopback.

    POST /v1/messages                          Anthropic Messages: Claude Code
    POST /v1/responses                         OpenAI Responses: Codex
    POST /v1/chat/completions                  OpenAI Chat Completions: OpenCode
    POST /v1beta/models/NAME:generateContent   Gemini CLI, also `streamGenerateContent`

    with ScriptedModel() as model:
        ...  # start an agent with `model.url` as its base address
        assert "kiln" in model.asked[-1].text

The prompt says what the model does: `CALL name {"key": "value"}` in the newest message of the user calls the tool whose
name ends so. Everything else is answered by a sentence, and so is what a tool returned. `asked` holds each request.
"""

import itertools
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

Body = dict[str, Any]

ANSWER = "Understood, and done as asked."
_CALL = re.compile(r"CALL ([\w-]+) (?=\{)")
_TURNS = ("messages", "input", "contents")
_COUNT = 7
"""Tokens that every request and answer is said to have."""


class Said(NamedTuple):
    """An answer: a sentence, or the call of a tool with its arguments as JSON."""

    text: str = ""
    tool: str = ""
    arguments: str = "{}"


class Asked(NamedTuple):
    """A request: names of its tools, the newest message of a user, and what the tools called since then returned."""

    path: str
    body: Body
    tools: tuple[str, ...]
    newest: str
    results: tuple[str, ...]

    @property
    def text(self) -> str:
        """All texts that the model was sent."""
        return "\n".join(_texts(self.body))


def read_request(path: str, body: Body) -> Asked:
    """A request of any of the protocols."""
    turns: list[Body] = next((body[key] for key in _TURNS if isinstance(body.get(key), list)), [])
    newest: list[str] = []
    results: list[str] = []
    for turn in reversed(turns):
        parts = turn.get("content", turn.get("parts"))
        if _is_result(turn, parts) and not newest:
            results.insert(0, "\n".join(_texts(parts or turn)))
        elif turn.get("role") == "user":
            newest = [*_texts(parts), *newest]
        elif newest and turn.get("role") not in ("system", "developer"):
            break
    return Asked(path, body, _tool_names(body.get("tools")), "\n".join(newest), tuple(results))


def answer(asked: Asked) -> Said:
    """The scripted answer to a request: the next call that its newest message wants, else a sentence."""
    calls = [*_CALL.finditer(asked.newest)] if asked.tools else []
    if len(asked.results) >= len(calls):
        return Said(ANSWER)
    wanted = calls[len(asked.results)]
    arguments, _ = json.JSONDecoder().raw_decode(asked.newest, wanted.end())
    tool = next((name for name in asked.tools if name.endswith(wanted[1])), "")
    return (
        Said(tool=tool, arguments=json.dumps(arguments)) if tool else Said(f"There is no tool {wanted[1]}.")
    )


def anthropic(said: Said, body: Body) -> Iterator[Body]:
    """Events of a message of Anthropic's."""
    usage = {"input_tokens": _COUNT, "output_tokens": _COUNT}
    start: Body = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": said.text}
    if said.tool:
        start = {"type": "tool_use", "id": _new("toolu"), "name": said.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": said.arguments}
    message: Body = {
        "id": _new("msg"),
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "usage": usage,
    }
    begun: Body = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    yield {"type": "message_start", "message": begun}
    yield {"type": "content_block_start", "index": 0, "content_block": start}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = {"stop_reason": "tool_use" if said.tool else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": reason, "usage": usage}
    yield {"type": "message_stop"}


def anthropic_whole(said: Said, body: Body) -> Body:
    """A message of Anthropic's that is not streamed: always a sentence."""
    begun, *_ = anthropic(said, body)
    return {**begun["message"], "content": [{"type": "text", "text": said.text}], "stop_reason": "end_turn"}


def responses(said: Said, body: Body) -> Iterator[Body]:
    """Events of a response of OpenAI's."""
    usage = {"input_tokens": _COUNT, "output_tokens": _COUNT, "total_tokens": 2 * _COUNT}
    response: Body = {"id": _new("resp"), "object": "response", "model": body.get("model"), "output": []}
    item: Body = {"type": "message", "id": _new("item"), "role": "assistant", "status": "completed",
                  "content": [{"type": "output_text", "text": said.text, "annotations": []}]}  # fmt: skip
    if said.tool:
        namespace, _, name = said.tool.rpartition("/")
        item = {"type": "function_call", "id": _new("item"), "call_id": _new("call"), "name": name,
                "arguments": said.arguments, "status": "completed"}  # fmt: skip
        item |= {"namespace": namespace} if namespace else {}
    yield {"type": "response.created", "response": {**response, "status": "in_progress"}}
    yield {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {
        "type": "response.completed",
        "response": {**response, "status": "completed", "output": [item], "usage": usage},
    }


def completion(said: Said, body: Body) -> Iterator[Body]:
    """Chunks of a chat completion of OpenAI's."""
    chunk = {"id": _new("chat"), "object": "chat.completion.chunk", "created": 0, "model": body.get("model")}
    delta: Body = {"role": "assistant", "content": said.text}
    if said.tool:
        call = {"index": 0, "id": _new("call"), "type": "function"}
        delta = {
            "role": "assistant",
            "tool_calls": [{**call, "function": {"name": said.tool, "arguments": said.arguments}}],
        }
    reason = "tool_calls" if said.tool else "stop"
    usage = {"prompt_tokens": _COUNT, "completion_tokens": _COUNT, "total_tokens": 2 * _COUNT}
    yield {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}


def gemini(said: Said, body: Body) -> Iterator[Body]:
    """The one chunk of a content of Gemini's; an answer that must be JSON is an empty object."""
    is_json = "json" in str((body.get("generationConfig") or {}).get("responseMimeType"))
    part: Body = {"text": "{}" if is_json else said.text}
    if said.tool:
        part = {"functionCall": {"name": said.tool, "args": json.loads(said.arguments)}}
    usage = {"promptTokenCount": _COUNT, "candidatesTokenCount": _COUNT, "totalTokenCount": 2 * _COUNT}
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    yield {"candidates": [candidate], "usageMetadata": usage, "responseId": _new("gemini")}


class ScriptedModel:
    """The server, on a free port of the loopback."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def since(self, place: int) -> list[Asked]:
        """Requests from a place on that were given tools: those of the conversation itself, no titles or summaries."""
        return [asked for asked in self.asked[place:] if asked.tools]


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send("application/json", json.dumps({"object": "list", "data": [], "models": []}))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
            path = self.path.partition("?")[0]
            asked = read_request(path, body)
            model.asked.append(asked)
            said = answer(asked)
            if path.endswith("/messages"):
                self._send_events(anthropic(said, body)) if body.get("stream") else self._send_json(
                    anthropic_whole(said, body)
                )
            elif path.endswith("/responses"):
                self._send_events(responses(said, body))
            elif path.endswith("/chat/completions"):
                self._send_events(completion(said, body), last="data: [DONE]\n\n")
            elif path.endswith(":streamGenerateContent"):
                self._send_events(gemini(said, body))
            elif path.endswith(":generateContent"):
                self._send_json(next(gemini(said, body)))
            else:
                self._send_json({"input_tokens": _COUNT, "totalTokens": _COUNT})

        def _send_json(self, value: object) -> None:
            self._send("application/json", json.dumps(value))

        def _send_events(self, events: Iterator[Body], *, last: str = "") -> None:
            lines = [
                (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"
                for event in events
            ]
            self._send("text/event-stream", "".join(lines) + last)

        def _send(self, kind: str, text: str) -> None:
            data = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    return Handler


def _is_result(turn: Body, parts: object) -> bool:
    """Return whether a turn holds what a tool returned."""
    known = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return (
        turn.get("type") in ("function_call_output", "custom_tool_call_output")
        or turn.get("role") == "tool"
        or any(part.get("type") == "tool_result" or "functionResponse" in part for part in known)
    )


def _tool_names(tools: object, space: str = "") -> tuple[str, ...]:
    """Names of tools, also of those within a namespace, as `namespace/name`."""
    found: list[str] = []
    for tool in tools if isinstance(tools, list) else []:
        named = tool.get("function") or tool
        if tool.get("type") == "namespace":
            found += _tool_names(tool.get("tools"), f"{tool['name']}/")
        elif "functionDeclarations" in tool:
            found += _tool_names(tool["functionDeclarations"])
        elif isinstance(named.get("name"), str):
            found.append(space + named["name"])
    return tuple(found)


def _texts(value: object) -> Iterator[str]:
    """Yield every text within a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


_numbers = itertools.count(1)


def _new(kind: str) -> str:
    return f"{kind}_{next(_numbers):08d}"
