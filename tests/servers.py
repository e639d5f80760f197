"""Scripted model servers that speak real HTTP on 127.0.0.1, for tests of everything that calls a model.

    with OpenAIServer(lambda body: '{"reason": "", "is_worth_remembering": true}') as server:
        settings = LLMSettings(provider="openai", base_url=server.url, api_key="k", model="m")

An answer function gets the request's body and returns the JSON text that the model "says", or a `Fault`. It
is called in the server's threads, several at once. `in_turn` makes one from a list; `server.fail(path, ...)`
puts faults before any path at all. Every request is kept in `server.requests`.
"""

import json
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

Body = dict[str, Any]

FaultKind = Literal[
    "status",  # an HTTP error status
    "silence",  # no answer for some seconds, then a good one
    "reset",  # the connection is closed before a byte is sent
    "dropped",  # the connection is closed in the middle of the body
    "garbled",  # a whole body, which is half a JSON document
    "page",  # a web page with status 200
    "cut",  # the answer ends in the middle, finish_reason "length"
    "refusal",  # the model refuses
    "content_filter",  # nothing is said, finish_reason "content_filter"
    "no_choices",  # an answer without choices
    "no_tool_call",  # plain talk where a tool call was asked for
    "no_usage",  # a good answer that does not say what it used
]


@dataclass(frozen=True)
class Fault:
    """One way to go wrong. `text` is the answer behind the fault, where there is one."""

    kind: FaultKind
    text: str = "{}"
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    code: str = ""
    message: str = "scripted fault"


def rate_limited(retry_after: str = "0") -> Fault:
    """429 with a Retry-After header (seconds or an HTTP date)."""
    return Fault("status", status=429, headers={"Retry-After": retry_after}, code="rate_limit_exceeded")


def refused(status: int, code: str = "", message: str = "scripted fault") -> Fault:
    """Any other error status."""
    return Fault("status", status=status, code=code, message=message)


def silence(seconds: float, text: str = "{}") -> Fault:
    """Longer than the client waits."""
    return Fault("silence", text, seconds=seconds)


SERVER_ERROR = Fault("status", status=500)
OVERLOADED = Fault("status", status=503)
RESET = Fault("reset")
DROPPED = Fault("dropped")
GARBLED = Fault("garbled")
PAGE = Fault("page")
REFUSAL = Fault("refusal", "I cannot help with that.")
CONTENT_FILTER = Fault("content_filter")
NO_CHOICES = Fault("no_choices")
NO_TOOL_CALL = Fault("no_tool_call", "Let me think about it.")

AnswerFunction = Callable[[Body], str | Fault]


def in_turn(*answers: str | Fault) -> AnswerFunction:
    """Answers one after the other, whoever asks; the last one goes on for ever."""
    lock = threading.Lock()
    left = deque(answers)

    def answer(body: Body) -> str | Fault:
        with lock:
            return left.popleft() if len(left) > 1 else left[0]

    return answer


def user_text(body: Body) -> str:
    """The prompt's user text: the first message of the user."""
    return next(str(message["content"]) for message in body["messages"] if message["role"] == "user")


def answer_name(body: Body) -> str:
    """The answer model that a chat request asks for, such as `ExtractAnswer`; empty without one."""
    if body.get("tools"):
        return str(body["tools"][0]["function"]["name"])
    return str(body.get("response_format", {}).get("json_schema", {}).get("name", ""))


def hashed_vector(text: str, dimensions: int = 8) -> list[float]:
    """A vector that depends on the text alone; equal texts are equal, others are far apart."""
    digest = sha256(text.encode("utf-8", "surrogatepass")).digest()
    return [digest[index % len(digest)] / 127.5 - 1.0 for index in range(dimensions)]


@dataclass(frozen=True)
class Recorded:
    """One request as it came in; header names in lower case."""

    method: str
    path: str
    body: Body
    headers: dict[str, str]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is part of the play."""


class ScriptedServer:
    """What both servers share: the socket, the record of requests, and faults put before a path."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[Recorded] = []
        self._faults: dict[str, deque[Fault]] = defaultdict(deque)
        self._closing = threading.Event()
        self._in_flight = 0
        self.most_in_flight = 0
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def address(self) -> str:
        """`http://127.0.0.1:port`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> list[Recorded]:
        """Everything that came in so far, in order of arrival."""
        with self._lock:
            return list(self._requests)

    def bodies(self, path: str) -> list[Body]:
        """Bodies of the requests to one path."""
        return [request.body for request in self.requests if request.path == path]

    def fail(self, path: str, *faults: Fault) -> None:
        """The next requests to this path go wrong in these ways, then it is well again."""
        with self._lock:
            self._faults[path].extend(faults)

    def respond(self, request: Recorded) -> "Body | Fault":
        """The JSON document for one request, or a fault. Each kind of server has its own."""
        raise NotImplementedError

    def handle(self, request: Recorded) -> "Body | Fault":
        with self._lock:
            self._requests.append(request)
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
            fault = self._faults[request.path].popleft() if self._faults[request.path] else None
        try:
            if fault is not None and fault.kind != "silence":
                return fault
            if fault is not None:
                self._closing.wait(fault.seconds)
            return self.respond(request)
        finally:
            with self._lock:
                self._in_flight -= 1

    def chat(self, body: Body, answer: AnswerFunction) -> "Body | Fault":
        """The chat completion around an answer: a tool call when tools were given, else plain content."""
        said = answer(body)
        if isinstance(said, str):
            return _completion(body, said)
        if said.kind == "silence":
            self._closing.wait(said.seconds)
            return _completion(body, said.text)
        shaped = _FAULTY_COMPLETIONS.get(said.kind)
        return said if shaped is None else shaped(body, said)


class OpenAIServer(ScriptedServer):
    """`/v1/chat/completions` (tools and response_format), `/v1/models`, `/v1/embeddings`.

    With `api_key`, any other key is answered with 401. `url` is the base address with `/v1`.
    """

    def __init__(
        self,
        answer: AnswerFunction = lambda body: "{}",
        *,
        models: Sequence[str] = ("m",),
        api_key: str | None = None,
        embed: Callable[[str], list[float]] = hashed_vector,
    ) -> None:
        self.answer = answer
        self.models = list(models)
        self.api_key = api_key
        self.embed = embed
        super().__init__()

    @property
    def url(self) -> str:
        """What goes into `base_url`."""
        return f"{self.address}/v1"

    def respond(self, request: Recorded) -> "Body | Fault":
        if self.api_key is not None and request.headers.get("authorization") != f"Bearer {self.api_key}":
            return refused(401, "invalid_api_key")
        if (request.method, request.path) == ("GET", "/v1/models"):
            data = [
                {"id": name, "object": "model", "created": 0, "owned_by": "tests"} for name in self.models
            ]
            return {"object": "list", "data": data}
        if request.method != "POST" or request.path not in ("/v1/chat/completions", "/v1/embeddings"):
            return refused(404, "no_such_path")
        if request.body.get("model") not in self.models:
            return refused(404, "model_not_found")
        if request.path == "/v1/chat/completions":
            return self.chat(request.body, self.answer)
        data = [
            {"object": "embedding", "index": index, "embedding": self.embed(text)}
            for index, text in enumerate(_texts(request.body))
        ]
        return {
            "object": "list",
            "data": data,
            "model": request.body["model"],
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }


class OllamaServer(ScriptedServer):
    """Ollama's `/api/version`, `tags`, `show`, `create`, `pull`, `embed`, and `/v1/chat/completions`.

    Args:
        answer: the chat model.
        models: parameters by model name, such as `{"llama3.2": {}}`; `create` and `pull` add to it.
        pullable: names that `pull` can fetch.
        embed: text to vector; only for texts that do not fail.
        fails_on: a text for which the whole `/api/embed` request fails, as Ollama does.
        max_embed_chars: with `truncate: false`, a longer text fails the request with 400; else it is cut.
        keeps_parameters: whether `create` takes the parameters that it is given.
        model_context: the context length that `show` reports of every model.
    """

    def __init__(
        self,
        answer: AnswerFunction = lambda body: "{}",
        *,
        models: Mapping[str, Mapping[str, object]] | None = None,
        pullable: Sequence[str] = (),
        embed: Callable[[str], list[float]] = hashed_vector,
        fails_on: Callable[[str], bool] = lambda text: False,
        max_embed_chars: int = 8000,
        keeps_parameters: bool = True,
        model_context: int = 131_072,
    ) -> None:
        self.answer = answer
        self.models: dict[str, dict[str, object]] = {
            name: dict(parameters) for name, parameters in (models or {"llama3.2": {}}).items()
        }
        self.pullable = set(pullable)
        self.embed = embed
        self.fails_on = fails_on
        self.max_embed_chars = max_embed_chars
        self.keeps_parameters = keeps_parameters
        self.model_context = model_context
        super().__init__()

    @property
    def url(self) -> str:
        """What goes into `base_url`."""
        return self.address

    def respond(self, request: Recorded) -> "Body | Fault":
        routes: dict[tuple[str, str], Callable[[Body], Body | Fault]] = {
            ("GET", "/api/version"): lambda body: {"version": "0.12.0"},
            ("GET", "/api/tags"): lambda body: {"models": [self._tag(name) for name in list(self.models)]},
            ("POST", "/api/show"): self._show,
            ("POST", "/api/create"): self._create,
            ("POST", "/api/pull"): self._pull,
            ("POST", "/api/embed"): self._embed,
            ("POST", "/v1/chat/completions"): self._chat,
        }
        route = routes.get((request.method, request.path))
        return refused(404) if route is None else route(request.body)

    def _known(self, name: object) -> str | None:
        """The name under which a model is held: Ollama takes `x` for `x:latest` and the other way round."""
        text = str(name)
        return next(
            (held for held in (text, f"{text}:latest", text.removesuffix(":latest")) if held in self.models),
            None,
        )

    def _tag(self, name: str) -> Body:
        tagged = name if ":" in name else f"{name}:latest"
        return {"name": tagged, "model": tagged, "size": 1, "digest": sha256(name.encode()).hexdigest()}

    def _show(self, body: Body) -> "Body | Fault":
        name = self._known(body.get("model"))
        if name is None:
            return refused(404, message="model not found")
        lines = [f"{key:<30} {value}" for key, value in self.models[name].items()]
        return {
            "parameters": "\n".join(lines),
            "model_info": {"general.architecture": "llama", "llama.context_length": self.model_context},
            "details": {"family": "llama"},
            "capabilities": ["completion"],
        }

    def _create(self, body: Body) -> "Body | Fault":
        base = self._known(body.get("from"))
        if base is None:
            return refused(404, message="model not found")
        given = dict(body.get("parameters") or {}) if self.keeps_parameters else {}
        self.models[str(body["model"])] = {**self.models[base], **given}
        return {"status": "success"}

    def _pull(self, body: Body) -> "Body | Fault":
        if body.get("model") not in self.pullable:
            return refused(500, message="pull model manifest: file does not exist")
        self.models[str(body["model"])] = {}
        return {"status": "success"}

    def _embed(self, body: Body) -> "Body | Fault":
        if self._known(body.get("model")) is None:
            return refused(404, message="model not found")
        texts = _texts(body)
        if any(self.fails_on(text) for text in texts):
            return refused(500, message="llama runner process has terminated")
        if body.get("truncate") is False and any(len(text) > self.max_embed_chars for text in texts):
            return refused(400, message="the input length exceeds the context length")
        vectors = [self.embed(text[: self.max_embed_chars]) for text in texts]
        return {"model": body["model"], "embeddings": vectors, "prompt_eval_count": len(texts)}

    def _chat(self, body: Body) -> "Body | Fault":
        if self._known(body.get("model")) is None:
            return refused(404, message="model not found")
        return self.chat(body, self.answer)


def _texts(body: Body) -> list[str]:
    given = body.get("input", "")
    return [given] if isinstance(given, str) else list(given)


def _completion(
    body: Body, text: str | None, *, reason: str = "stop", is_talk: bool = False, refusal: str | None = None
) -> Body:
    message: Body = {"role": "assistant", "content": text, "refusal": refusal}
    if body.get("tools") and not is_talk:
        call = {
            "id": "call_1",
            "type": "function",
            "function": {"name": answer_name(body), "arguments": text},
        }
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {
        "id": "chat_1",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model", ""),
        "choices": [{"index": 0, "finish_reason": reason, "message": message}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


_FAULTY_COMPLETIONS: dict[FaultKind, Callable[[Body, Fault], Body]] = {
    "cut": lambda body, fault: _completion(body, fault.text[: len(fault.text) // 2], reason="length"),
    "refusal": lambda body, fault: _completion(body, None, is_talk=True, refusal=fault.text),
    "content_filter": lambda body, fault: _completion(body, None, reason="content_filter", is_talk=True),
    "no_choices": lambda body, fault: {**_completion(body, ""), "choices": []},
    "no_tool_call": lambda body, fault: _completion(body, fault.text, is_talk=True),
    "no_usage": lambda body, fault: {**_completion(body, fault.text), "usage": None},
}


def _handler(scripted: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = (
            -1
        )  # head and body in one packet: apart, each answer would wait 40 ms for an acknowledgement

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing on stderr."""

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def _serve(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(raw) if raw else {}
            headers = {name.lower(): value for name, value in self.headers.items()}
            found = scripted.handle(Recorded(self.command, self.path.partition("?")[0], body, headers))
            if isinstance(found, Fault):
                self._go_wrong(found)
            else:
                self._send(200, json.dumps(found).encode())

        def _go_wrong(self, fault: Fault) -> None:
            if fault.kind == "status":
                error = {"message": fault.message, "code": fault.code or None, "type": None, "param": None}
                # OpenAI nests the error, Ollama's own paths give a text.
                document = {"error": fault.message if self.path.startswith("/api/") else error}
                self._send(fault.status, json.dumps(document).encode(), headers=fault.headers)
            elif fault.kind == "reset":
                self.close_connection = True
            elif fault.kind == "dropped":
                self._send(200, b'{"id": "chat_1", "choi', length=1000)
                self.close_connection = True
            elif fault.kind == "garbled":
                self._send(200, b'{"id": "chat_1", "choi')
            elif fault.kind == "page":
                self._send(200, b"<html>Welcome</html>", content_type="text/html")
            else:
                raise ValueError(f"{fault.kind} has no meaning for {self.path}")

        def _send(
            self,
            status: int,
            payload: bytes,
            *,
            headers: Mapping[str, str] | None = None,
            content_type: str = "application/json",
            length: int | None = None,
        ) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(payload) if length is None else length))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(payload)
            self.wfile.flush()

    return Handler
