"""A model server on this machine that answers from a recording, for `make run`, `make demo` and the tests.

It speaks OpenAI's chat completions (tools and `response_format`), so that the whole night runs through the
real client without a key, a network or a cost. A recording is one JSON object a line:

    {"prompt": "ExtractAnswer", "request": "<sha256 of what was asked>", "answer": {...}}

`answer` is the JSON that the model said. Where it said something else (plain talk, half an answer, a
refusal) the line has `message` instead, as it came. The hash covers messages, tools and `response_format`,
never the model's name or a key. A question that is not in the recording gets HTTP 400.
`benchmarks/record_answers.py` makes recordings.
"""

import hashlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from slowwave.errors import ConfigError, NotFoundError

LOOPBACK = "127.0.0.1"
HASHED = ("messages", "tools", "response_format")
MISS_CODE = "prompt-changed-since-the-recording"
RECORD_COMMAND = "python benchmarks/record_answers.py --upstream URL --out FILE --port N"
MISS_MESSAGE = (
    f"this question is not in the recording: a prompt or its data changed. Record anew: {RECORD_COMMAND}"
)
MAX_REQUEST_BYTES = 16_000_000
MODEL = "recorded"

Body = dict[str, Any]
Respond = Callable[[Body, str], tuple[int, Body]]
"""Status and document for a request's body and its Authorization header."""


@dataclass
class Replay:
    """A running server: its address, and by name the prompts that it had no answer for."""

    base_url: str
    misses: list[str] = field(default_factory=list)
    answered_count: int = 0

    def problem(self) -> ConfigError | None:
        """The error to raise if questions were asked that are not in the recording."""
        if not self.misses:
            return None
        names = ", ".join(sorted(set(self.misses)))
        return ConfigError(
            f"{len(self.misses)} questions ({names}) are not in the recording: a prompt, a schema or the "
            f"sample data changed since it was made. Record anew with `{RECORD_COMMAND}`."
        )


def request_hash(body: Body) -> str:
    """Hash of what was asked, independent of the model, of key order and of everything about sampling."""
    asked = {name: body.get(name) for name in HASHED}
    canonical = json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def answer_name(body: Body) -> str:
    """The name of the answer that is asked for, such as `ExtractAnswer`; "chat" when none is named."""
    tools = body.get("tools") or [{}]
    wanted = (body.get("response_format") or {}).get("json_schema") or tools[0].get("function") or {}
    return str(wanted.get("name") or "chat")


def read_recording(path: Path) -> dict[str, Body]:
    """Lines of a recording by request hash; of two with the same hash the later one counts.

    Raises:
        NotFoundError: there is no such file.
        ConfigError: a line is not one of a recording.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no recording {path}. Record one: {RECORD_COMMAND}") from error
    lines: dict[str, Body] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            lines[entry["request"]] = entry
            is_whole = "answer" in entry or isinstance(entry["message"], dict)
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"line {number} of {path} is not one of a recording. Record anew.") from error
        if not is_whole:
            raise ConfigError(f"line {number} of {path} has no answer. Record anew.")
    return lines


@contextmanager
def replaying(path: Path, *, port: int = 0) -> Iterator[Replay]:
    """A server that answers from the recording at `path` while the block runs; port 0 takes a free one."""
    entries = read_recording(path)

    def respond(body: Body, _: str) -> tuple[int, Body]:
        entry = entries.get(request_hash(body))
        if entry is None:
            return HTTPStatus.BAD_REQUEST, failure(MISS_MESSAGE, MISS_CODE)
        return HTTPStatus.OK, completion(entry, body)

    with serving(respond, port=port) as replay:
        yield replay


def completion(entry: Body, body: Body) -> Body:
    """The chat completion that stands for one line of a recording; equal lines give equal completions."""
    message, reason = entry.get("message"), "stop"
    if isinstance(message, dict):
        message, reason = {**message}, message.get("finish_reason") or "stop"
        message.pop("finish_reason", None)
    else:
        text = json.dumps(entry["answer"], ensure_ascii=False)
        function = {"name": answer_name(body), "arguments": text}
        called = {"content": None, "tool_calls": [{"type": "function", "function": function}]}
        message = called if body.get("tools") else {"content": text}
    for call in message.get("tool_calls") or []:  # the server's own ids differ from run to run
        call["id"] = f"call_{entry['request'][:24]}"
    choice = {
        "index": 0,
        "finish_reason": reason,
        "message": {"role": "assistant", "content": None, **message},
    }
    document = {
        "id": f"chatcmpl-{entry['request'][:24]}",
        "object": "chat.completion",
        "created": 0,
        "model": str(body.get("model") or MODEL),
        "choices": [choice],
    }
    return document | ({"usage": entry["usage"]} if entry.get("usage") else {})


def failure(message: str, code: str) -> Body:
    """The body of an answer that says what went wrong."""
    return {"error": {"message": message, "code": code, "type": "slowwave_replay", "param": None}}


# The HTTP part


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that hangs up."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(respond: Respond, *, port: int) -> Iterator[Replay]:
    """A server that answers with `respond` while the block runs; port 0 takes a free one.

    Raises:
        ConfigError: the port cannot be used.
    """
    try:
        server = _Server((LOOPBACK, port), BaseHTTPRequestHandler)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"port {port} on {LOOPBACK} cannot be used ({error}). Take another.") from error
    replay = Replay(f"http://{LOOPBACK}:{server.server_address[1]}/v1")
    server.RequestHandlerClass = _handler(respond, replay)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True, name="slowwave-replay")
    thread.start()
    try:
        yield replay
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(respond: Respond, replay: Replay) -> type[BaseHTTPRequestHandler]:
    counting = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # head and body in one packet

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing on stderr."""

        def do_GET(self) -> None:
            if self._path() == "/v1/models":
                self._send(HTTPStatus.OK, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
            else:
                self._send(HTTPStatus.NOT_FOUND, failure(f"no such address {self._path()[:80]}", "not-found"))

        def do_POST(self) -> None:
            body = self._body()
            if self._path() != "/v1/chat/completions":
                self._send(HTTPStatus.NOT_FOUND, failure(f"no such address {self._path()[:80]}", "not-found"))
            elif body is None or not isinstance(body.get("messages"), list):
                self._send(
                    HTTPStatus.BAD_REQUEST, failure("a chat completion request is expected", "no-request")
                )
            elif body.get("stream"):
                self._send(HTTPStatus.BAD_REQUEST, failure("streaming is not recorded", "no-streaming"))
            else:
                status, document = respond(body, self.headers.get("Authorization", ""))
                with counting:
                    if (document.get("error") or {}).get("code") == MISS_CODE:
                        replay.misses.append(answer_name(body))
                    elif status == HTTPStatus.OK:
                        replay.answered_count += 1
                self._send(status, document)

        def _path(self) -> str:
            return self.path.partition("?")[0]

        def _body(self) -> Body | None:
            try:
                length = int(self.headers.get("Content-Length") or 0)
                if not 0 <= length <= MAX_REQUEST_BYTES:
                    raise ValueError
                body = json.loads(self.rfile.read(length))
            except ValueError:
                self.close_connection = True
                return None
            return body if isinstance(body, dict) else None

        def _send(self, status: int, document: Body) -> None:
            payload = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

    return Handler
