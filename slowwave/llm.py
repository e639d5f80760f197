"""The gateway to the language model: the one file that knows Instructor, OpenAI's client and Ollama's models.

A request goes in, an outcome comes out: a validated answer, or an error with the reason. One item's failure
never stops the others, an outage costs a few requests and not one for each item, and a budget is a bound.

    cache -> is the server up? budget left? does it fit? -> send (repeated when it can pass) -> validate
          -> the model is shown its mistake and asked again -> cache

The texts of a prompt never reach Instructor, which runs every message through a template engine as soon as
validators get a context: it is handed placeholders, and `_Exchange.send` puts the texts in at the wire.
Errors made here carry types, field names and numbers, never the words of a prompt, an answer or a server.
"""

import json
import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import instructor
import ollama
import openai
from instructor.cache import make_cache_key
from instructor.core.exceptions import InstructorError, ResponseParsingError
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.chat.chat_completion import Choice
from pydantic import ValidationError
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    stop_when_event_set,
    wait_exponential_jitter,
)
from tenacity.nap import sleep_using_event

from slowwave.answer_cache import AnswerCache
from slowwave.errors import (
    BudgetError,
    ConfigError,
    ContractError,
    InputError,
    OutputError,
    SlowwaveError,
    TransientError,
)
from slowwave.schemas.answers import Answer
from slowwave.schemas.ledger import Ledger, LedgerLine
from slowwave.schemas.prompt import Prompt
from slowwave.settings import LLMSettings

OPENAI_ADDRESS = "https://api.openai.com/v1"
OLLAMA_ADDRESS = "http://127.0.0.1:11434"

_BYTES_PER_TOKEN = 3
_PLACEHOLDER = "-"
_SHOWN_ERRORS = 5
_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Request:
    """One question. `context` reaches the answer's validators (the numbers that the prompt showed)."""

    prompt: Prompt
    answer: type[Answer]
    context: Mapping[str, object]
    is_gate: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one request: exactly one of `answer` and `error` is set.

    `call_count` counts requests sent, repeats included; tokens and US dollars cover all of them. `cost` is
    null when the model has no price. What was never sent, or came from the cache, costs 0.
    """

    answer: Answer | None
    error: SlowwaveError | None
    model: str
    prompt_version: str
    call_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    is_cached: bool = False

    def __post_init__(self) -> None:
        if (self.answer is None) == (self.error is None):
            raise ContractError("an outcome holds either an answer or an error")


class LLM:
    """The language model of one run: its server, cache, budget and ledger. Made by `open_llm`."""

    def __init__(self, settings: LLMSettings, cache: AnswerCache) -> None:
        self.settings = settings
        self._cache = cache
        self._client = _openai_client(settings)
        self._ollama = _ollama_client(settings) if settings.provider == "ollama" else None
        self._lock = threading.Lock()
        self._prepare_lock = threading.Lock()
        self._prepared: set[str] = set()
        self._ledger = Ledger()
        self._failures_in_row = 0
        self._down: SlowwaveError | None = None
        self._stopped = threading.Event()

    @property
    def ledger(self) -> Ledger:
        """What was used so far."""
        with self._lock:
            return self._ledger

    @property
    def is_down(self) -> bool:
        """Whether this run gave the server up; it stays so for the life of this object."""
        return self._down is not None

    def ask_all(
        self, requests: Sequence[Request], on_done: Callable[[Outcome], None] | None = None
    ) -> list[Outcome]:
        """One outcome a request, in the order of the requests.

        `on_done` is called in the caller's thread, in the order of completion. What it raises ends the run:
        what was not yet sent is not sent any more.
        """
        outcomes: dict[Future[Outcome], Outcome] = {}
        pool = ThreadPoolExecutor(max_workers=self.settings.concurrency, thread_name_prefix="slowwave-llm")
        futures = [pool.submit(self._ask, request) for request in requests]
        try:
            for future in as_completed(futures):
                outcomes[future] = future.result()
                if on_done is not None:
                    on_done(outcomes[future])
        except BaseException:
            self._give_up(TransientError("the run was stopped"))
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return [outcomes[future] for future in futures]

    def close(self) -> None:
        """Closes the connections and the cache."""
        self._client.close()
        if self._ollama is not None:
            self._ollama.close()  # type: ignore[no-untyped-call]
        self._cache.close()

    def _ask(self, request: Request) -> Outcome:
        model = _model_of(self.settings, request)
        key = _cache_key(self.settings, request)
        exchange = _Exchange(self, request)
        try:
            answer = _read(request, self._cache.get(key))
            if answer is not None:
                self._record(request, LedgerLine(cached_count=1))
                return Outcome(answer, None, model, request.prompt.prompt_version, is_cached=True)
            answer = exchange.run()
        except SlowwaveError as error:
            failure = error
        else:
            self._keep(key, exchange.text)
            return exchange.outcome(answer=answer)
        return exchange.outcome(error=_bare(failure))

    def _keep(self, key: str, text: str) -> None:
        """Caches a paid answer as the model gave it: validators may mend it differently another time.

        A cache that cannot take it costs a repeated call later, not this answer.
        """
        try:
            self._cache.set(key, text)
        except SlowwaveError as error:
            _log.warning("an answer was not cached: %s", error)

    def _record(self, request: Request, line: LedgerLine) -> None:
        part = Ledger.of(
            line, model=_model_of(self.settings, request), prompt_version=request.prompt.prompt_version
        )
        with self._lock:
            self._ledger = self._ledger + part

    def _check_open(self) -> None:
        """Raises when nothing may be sent any more: the server was given up, or the budget is spent."""
        if isinstance(self._down, ConfigError):
            raise ConfigError(f"not asked: {self._down}")
        if self._down is not None:
            raise TransientError(f"not asked: the server is down ({self._down})")
        total, limits = self.ledger.total, self.settings
        used = total.input_tokens + total.output_tokens
        if limits.budget_tokens is not None and used >= limits.budget_tokens:
            raise BudgetError(
                f"not asked: {used} tokens of budget_tokens={limits.budget_tokens} are used. "
                "Raise it or let the next run go on."
            )
        if limits.budget_cost is not None and (total.cost is None or total.cost >= limits.budget_cost):
            raise BudgetError(
                f"not asked: {total.cost} US dollars of budget_cost={limits.budget_cost} are used. "
                "Raise it or let the next run go on."
            )

    def _prepare(self, model: str) -> None:
        """Makes sure, once a run, that Ollama holds the model with our context size."""
        if self._ollama is None or model in self._prepared:
            return
        with self._prepare_lock:
            if model in self._prepared:
                return
            self._check_open()
            _bake_context(self._ollama, model, self.settings.context_tokens)
            self._prepared.add(model)

    def _note(self, failure: "_ServerError | None") -> None:
        """Counts the server's failures in a row, by item; enough of them, or a fatal one, end the run."""
        with self._lock:
            self._failures_in_row = 0 if failure is None else self._failures_in_row + 1
            is_outage = self._failures_in_row >= self.settings.outage_failures
        if failure is not None and (failure.is_fatal or is_outage):
            self._give_up(failure.error)

    def _give_up(self, error: SlowwaveError) -> None:
        with self._lock:
            self._down = self._down or _bare(error)
        self._stopped.set()


def open_llm(settings: LLMSettings, cache_path: Path) -> LLM | None:
    """The gateway, or null when the provider is `none`. Nothing is sent yet.

    Raises:
        ConfigError: no model, no key for OpenAI's own address, a cost budget without a price, a bad cache.
    """
    if settings.provider == "none":
        return None
    problem = _problem(settings)
    if problem:
        raise ConfigError(problem)
    _quiet_libraries()
    return LLM(settings, AnswerCache(cache_path))


def check_llm(settings: LLMSettings) -> list[tuple[str, bool, str]]:
    """Rows of (what, is it well, what was found or what to do); sends no prompt and changes nothing."""
    if settings.provider == "none":
        return [("llm", True, "none: nights run without a model. Set SLOWWAVE_LLM__PROVIDER to change that.")]
    problem = _problem(settings)
    if problem:
        return [("llm settings", False, problem)]
    _quiet_libraries()
    address = _shown(_address(settings))
    try:
        names = _ollama_models(settings) if settings.provider == "ollama" else _openai_models(settings)
    except _ServerError as failure:
        return [("llm server", False, str(failure.error))]
    rows = [("llm server", True, f"{address} answers")]
    for model in _models(settings):
        if names is None:
            rows.append(
                (f"llm model {model}", True, "the server does not list its models; the first call will tell")
            )
        elif model in names or f"{model}:latest" in names:
            rows.append((f"llm model {model}", True, "is there"))
        else:
            cure = f"Run `ollama pull {model}`." if settings.provider == "ollama" else "Look at llm.model."
            rows.append((f"llm model {model}", False, f"{address} does not have it. {cure}"))
    return rows


class _ServerError(Exception):
    """The server failed, or refuses us. `is_fatal`: no other request can fare better."""

    def __init__(self, error: SlowwaveError, *, retry_after: float = 0.0, is_fatal: bool = False) -> None:
        super().__init__(type(error).__name__)
        self.error = error
        self.retry_after = retry_after
        self.is_fatal = is_fatal


class _Exchange:
    """One request until its answer: what it used, what the model said last, and what was wrong with it."""

    def __init__(self, llm: LLM, request: Request) -> None:
        self.llm = llm
        self.settings = llm.settings
        self.request = request
        self.model = _model_of(llm.settings, request)
        self.line = LedgerLine()
        self.remark = ""
        self.text = ""
        self.attempt_count = 0

    def outcome(self, *, answer: Answer | None = None, error: SlowwaveError | None = None) -> Outcome:
        used = self.line
        return Outcome(
            answer,
            error,
            self.model,
            self.request.prompt.prompt_version,
            call_count=used.call_count,
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            cost=used.cost,
        )

    def run(self) -> Answer:
        """The validated answer.

        Raises:
            SlowwaveError: TransientError, ConfigError, InputError, OutputError or BudgetError.
        """
        settings = self.settings
        limit = "max_completion_tokens" if _address(settings) == OPENAI_ADDRESS else "max_tokens"
        create = instructor.patch(create=self.send, mode=_mode(settings))
        try:
            create(
                response_model=_response_model(self.request.answer),
                context=dict(self.request.context),
                max_retries=settings.validation_retries,
                strict=False,
                messages=[{"role": role, "content": _PLACEHOLDER} for role in ("system", "user")],
                model=_sent_model(settings, self.model),
                temperature=settings.temperature,
                **{limit: settings.max_answer_tokens},
            )
        except InstructorError as error:
            cause: BaseException | None = error.__cause__
        else:
            self.llm._note(None)
            answer = _read(self.request, self.text)
            if answer is None:
                raise ContractError(
                    f"{self.request.answer.__name__}: an accepted answer does not validate twice"
                )
            return answer
        if isinstance(cause, _ServerError):
            self.llm._note(cause)
            raise cause.error
        if self.line.call_count:
            self.llm._note(None)
        raise cause if isinstance(cause, SlowwaveError) else self._unusable(cause)

    def send(self, *_: object, **request: Any) -> ChatCompletion:
        """The server as Instructor sees it: real texts in, repeats while it can pass, answers parseable."""
        self.attempt_count += 1
        prompt = self.request.prompt
        asked_again = [message for message in request["messages"][2:] if not _is_empty(message)]
        request["messages"] = [
            {"role": "system", "content": prompt.system},
            {"role": "user", "content": prompt.user},
            *asked_again,
        ]
        for tool in request.get("tools", []):
            tool["function"] = {**tool["function"], "strict": True}
        self._check_fit(request["messages"])
        retrying = Retrying(
            retry=retry_if_exception(_can_pass),
            stop=stop_after_attempt(self.settings.transport_retries + 1)
            | stop_when_event_set(self.llm._stopped),
            wait=self._pause,
            sleep=sleep_using_event(self.llm._stopped),
            reraise=True,
        )
        completion = retrying(self._post, request)
        self.remark = _make_parseable(completion)
        self.text = _said(completion)
        return completion

    def _post(self, request: dict[str, Any]) -> ChatCompletion:
        """One request over the wire, entered into the ledger whatever comes of it."""
        self.llm._check_open()
        self.llm._prepare(self.model)
        completion: object = None
        failure: SlowwaveError | _ServerError | None = None
        try:
            completion = self.llm._client.chat.completions.create(**request)
        except openai.APIStatusError as error:
            failure = _status_failure(error, self.model, self.settings, is_repeat=self.attempt_count > 1)
        except (openai.APIError, json.JSONDecodeError) as error:
            failure = _ServerError(_unreachable(error, _address(self.settings)))
        if failure is None and not isinstance(completion, ChatCompletion):
            failure = _ServerError(
                ConfigError(
                    f"{_shown(_address(self.settings))} is no OpenAI-compatible server. Look at llm.base_url."
                )
            )
        used = completion if isinstance(completion, ChatCompletion) else None
        self._record(request, used)
        if failure is not None or used is None:
            raise failure or ContractError("a call ended without an answer and without an error")
        return used

    def _record(self, request: dict[str, Any], completion: ChatCompletion | None) -> None:
        """Adds one call. Where the server reports no usage, the estimate counts, so that a budget holds."""
        sent = received = 0
        if completion is not None and completion.usage is not None:
            sent, received = completion.usage.prompt_tokens or 0, completion.usage.completion_tokens or 0
        elif completion is not None:
            sent, received = _tokens(request["messages"]), _tokens(completion.model_dump()["choices"] or [])
        price = self.settings.prices.get(self.model)
        cost = None if price is None else (sent * price.input + received * price.output) / 1_000_000
        line = LedgerLine(call_count=1, input_tokens=sent, output_tokens=received, cost=cost)
        self.line = self.line + line
        self.llm._record(self.request, line)

    def _check_fit(self, messages: list[dict[str, object]]) -> None:
        """Raises when messages and answer cannot be sure to fit: Ollama would drop the start unsaid."""
        try:
            needed = _tokens(messages) + self.settings.max_answer_tokens
        except UnicodeEncodeError:
            needed = None
        if needed is None:
            raise InputError("the prompt holds half a character (a lone surrogate) and cannot be sent")
        if self.settings.provider != "ollama" or needed <= self.settings.context_tokens:
            return
        message = (
            f"about {needed} tokens with the answer do not fit "
            f"context_tokens={self.settings.context_tokens}. Raise it, or make the windows smaller."
        )
        raise OutputError(f"asking again: {message}") if self.attempt_count > 1 else InputError(message)

    def _pause(self, state: RetryCallState) -> float:
        """Seconds before a repeat: back-off with jitter, or what the server asked, up to the time-out."""
        first, most = self.settings.transport_backoff_seconds, self.settings.timeout_seconds
        seconds = wait_exponential_jitter(multiplier=first, max=most, jitter=first)(state)
        error = state.outcome.exception() if state.outcome is not None else None
        return min(max(seconds, error.retry_after if isinstance(error, _ServerError) else 0.0), most)

    def _unusable(self, cause: BaseException | None) -> SlowwaveError:
        """The error of an answer that stayed unusable: error types and field names only."""
        if isinstance(cause, ValidationError):
            found = _summary(cause)
        elif isinstance(cause, json.JSONDecodeError | ResponseParsingError):
            found = "no JSON" if isinstance(cause, json.JSONDecodeError) else "no tool call"
        else:
            return ContractError(f"reading a {self.request.answer.__name__} ended in {type(cause).__name__}")
        return OutputError(
            f"no usable {self.request.answer.__name__} from {self.model} in {self.attempt_count} tries: "
            f"{self.remark or found}"
        )


def _read(request: Request, text: str | None) -> Answer | None:
    """The answer in a JSON text, if it is one that validates under this request's own context."""
    if text is None:
        return None
    try:
        return request.answer.model_validate_json(text, context=dict(request.context))
    except ValidationError:
        return None


def _cache_key(settings: LLMSettings, request: Request) -> str:
    """Hash of all that shapes an answer: server, model and context size, texts, schema, mode, parameters.

    The validators' context is left out: it does not reach the model, and a hit is validated under its own.
    The key of the server is left out too: a new key must not cost all answers again.
    """
    return make_cache_key(
        messages=[request.prompt.system, request.prompt.user],
        model=_sent_model(settings, _model_of(settings, request)),
        response_model=request.answer,
        mode=str(_mode(settings).value),
        provider=settings.provider,
        namespace=_address(settings),
        request_kwargs={"temperature": settings.temperature, "max_tokens": settings.max_answer_tokens},
    )


@lru_cache(maxsize=64)
def _response_model(answer: type[Answer]) -> type[Answer]:
    """The answer as Instructor wants it; made once, because Instructor would build a new class a call."""
    return instructor.response_schema(answer)


def _make_parseable(completion: ChatCompletion) -> str:
    """Turns an answer that would end Instructor's loop into one that is asked again; returns what was wrong.

    Instructor re-asks for what fails to parse. It gives up at once on a cut answer and a refusal, and breaks
    on an answer without choices.
    """
    choice = completion.choices[0] if completion.choices else None
    if choice is None or choice.message is None:
        message = ChatCompletionMessage(role="assistant", content="")
        completion.choices = [Choice(finish_reason="stop", index=0, message=message)]
        return "the server sent no answer"
    reason, message = choice.finish_reason, choice.message
    choice.finish_reason = "stop"
    if message.refusal or reason == "content_filter":
        message.content, message.refusal, message.tool_calls = message.refusal or "", None, None
        return (
            "the server's content filter cut the answer"
            if reason == "content_filter"
            else "the model refused"
        )
    return "the answer was cut at max_answer_tokens" if reason == "length" else ""


def _said(completion: ChatCompletion) -> str:
    """The JSON text of an answer: the first tool call's arguments, or the content."""
    message = completion.choices[0].message
    calls: list[Any] = message.tool_calls or []
    said: object = calls[0].function.arguments if calls else message.content
    return said if isinstance(said, str) else json.dumps(said)


def _is_empty(message: dict[str, Any]) -> bool:
    """Whether a message says nothing; some servers refuse such a message."""
    return not message.get("content") and not message.get("tool_calls")


def _tokens(messages: Sequence[object]) -> int:
    """Tokens, estimated high: a token for three bytes (ASCII is nearer four, Chinese near three).

    Raises:
        UnicodeEncodeError: a text holds a lone surrogate.
    """
    return -(-len(json.dumps(messages, ensure_ascii=False, default=str).encode()) // _BYTES_PER_TOKEN)


def _summary(error: ValidationError) -> str:
    """Fields and kinds of error, never values; a field that the model invented is not named either."""
    found = error.errors(include_input=False, include_url=False, include_context=False)
    parts = []
    for item in found[:_SHOWN_ERRORS]:
        loc = [*item["loc"][:-1], "?"] if item["type"] == "extra_forbidden" else [*item["loc"]]
        parts.append(".".join(str(part) for part in loc) + " " + item["type"] if loc else item["type"])
    more = len(found) - len(parts)
    return ", ".join(parts) + (f" and {more} more" if more else "")


def _can_pass(error: BaseException) -> bool:
    return isinstance(error, _ServerError) and isinstance(error.error, TransientError)


def _unreachable(error: Exception, address: str) -> TransientError:
    """The error of a call that got no whole answer."""
    kind = (
        "did not answer in time"
        if isinstance(error, openai.APITimeoutError | httpx.TimeoutException)
        else (
            "sent half an answer"
            if isinstance(error, json.JSONDecodeError)
            else "cannot be reached or hung up"
        )
    )
    return TransientError(f"{_shown(address)} {kind}. Is it running? Later runs try again.")


def _status_failure(
    error: openai.APIStatusError, model: str, settings: LLMSettings, *, is_repeat: bool
) -> SlowwaveError | _ServerError:
    """The failure behind an HTTP status. Only short codes of the server are shown, never its message."""
    status, code = error.status_code, _code(error.code) or _code(error.type)
    told = f"{_shown(_address(settings))} answered {status}{f' ({code})' if code else ''}"
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or code == "context_length_exceeded":
        return InputError(f"{told}: the prompt is too long for {model}")
    if code in ("content_filter", "content_policy_violation"):
        return OutputError(f"{told}: its filter refuses the prompt")
    if status == HTTPStatus.PAYMENT_REQUIRED or code == "insufficient_quota":
        return _ServerError(ConfigError(f"{told}: the account has no credit left. Top it up."), is_fatal=True)
    if status in (401, 403):
        cure = "Look at SLOWWAVE_LLM__API_KEY."
        return _ServerError(ConfigError(f"{told}: the key is missing or refused. {cure}"), is_fatal=True)
    if status == HTTPStatus.NOT_FOUND:
        cure = "Look at llm.model and llm.base_url."
        return _ServerError(
            ConfigError(f"{told}: no such model as {model}, or no such address. {cure}"), is_fatal=True
        )
    if status in (408, 409, 429) or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return _ServerError(TransientError(f"{told}. Later runs try again."), retry_after=_retry_after(error))
    if is_repeat:
        return OutputError(f"{told}: it refuses to be asked again about an unusable answer")
    parameter = _code(error.param)
    return _ServerError(
        ConfigError(
            f"{told}: it refuses the request{f' over {parameter!r}' if parameter else ''}. "
            "Look at the llm settings."
        )
    )


def _code(text: object) -> str:
    """A server's short code, or nothing when it is long or free text."""
    return text if isinstance(text, str) and re.fullmatch(r"[\w.\[\]-]{1,60}", text) else ""


def _retry_after(error: openai.APIStatusError) -> float:
    """Seconds that the server asks to wait, from either form of the header; 0 when it does not ask."""
    text = error.response.headers.get("retry-after", "")
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    return max(0.0, (moment.astimezone(UTC) - datetime.now(UTC)).total_seconds())


def _bake_context(client: ollama.Client, model: str, context_tokens: int) -> None:
    """Makes sure that the derived model exists and proves its context size.

    The base is looked at first: Ollama would silently download a base that is not there.

    Raises:
        _ServerError: the server failed, the base is missing or too small, or the size did not take.
    """
    derived = _derived_name(model, context_tokens)
    base = _show(client, model)
    if base is None:
        raise _ServerError(
            ConfigError(f"Ollama has no model {model}. Run `ollama pull {model}`, or set llm.model."),
            is_fatal=True,
        )
    sizes = [size for name, size in (base.modelinfo or {}).items() if name.endswith(".context_length")]
    if any(isinstance(size, int) and size < context_tokens for size in sizes):
        raise _ServerError(
            ConfigError(
                f"{model} has a context of {min(sizes)} tokens: set llm.context_tokens to that or less."
            ),
            is_fatal=True,
        )
    if _context_size(_show(client, derived)) == context_tokens:
        return
    _call_ollama(lambda: client.create(derived, from_=model, parameters={"num_ctx": context_tokens}))
    found = _context_size(_show(client, derived))
    if found != context_tokens:
        raise _ServerError(
            ConfigError(f"Ollama made {derived} with num_ctx {found}, not {context_tokens}. Update Ollama."),
            is_fatal=True,
        )


def _show(client: ollama.Client, model: str) -> ollama.ShowResponse | None:
    """What Ollama knows of a model, or null when it does not have it."""
    try:
        return _call_ollama(lambda: client.show(model))
    except _ServerError as failure:
        if isinstance(failure.error, _NotThereError):
            return None
        raise


class _NotThereError(ConfigError):
    """Ollama does not have the model."""


def _call_ollama(call: Callable[[], _Result]) -> _Result:
    """Runs one call of Ollama's client with its errors made ours."""
    failure: _ServerError
    try:
        return call()
    except ollama.ResponseError as error:
        status = error.status_code
        told = f"Ollama answered {status}"
        if status == HTTPStatus.NOT_FOUND:
            failure = _ServerError(_NotThereError(f"{told}: no such model"), is_fatal=True)
        elif status in (408, 429) or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            failure = _ServerError(TransientError(f"{told}. Later runs try again."))
        else:
            failure = _ServerError(
                ConfigError(f"{told}. Look at llm.base_url and llm.api_key."), is_fatal=True
            )
    except (ConnectionError, httpx.HTTPError, ValueError) as error:
        failure = _ServerError(_unreachable(error, "Ollama"))
    raise failure


def _context_size(shown: ollama.ShowResponse | None) -> int | None:
    """The `num_ctx` that a model's parameters prove."""
    found = re.search(r"^num_ctx\s+(\d+)\s*$", (shown.parameters or "") if shown else "", re.MULTILINE)
    return int(found[1]) if found else None


def _derived_name(model: str, context_tokens: int) -> str:
    return f"slowwave-{re.sub(r'[^A-Za-z0-9._-]', '-', model)}-{context_tokens}"


def _ollama_models(settings: LLMSettings) -> set[str]:
    client = _ollama_client(settings)
    try:
        listed = _call_ollama(client.list)
    finally:
        client.close()  # type: ignore[no-untyped-call]
    return {found.model for found in listed.models if found.model}


def _openai_models(settings: LLMSettings) -> set[str] | None:
    """Names of the server's models; null when it does not list them."""
    failure: SlowwaveError | _ServerError
    client = _openai_client(settings)
    try:
        return {found.id for found in client.models.list()}
    except openai.APIStatusError as error:
        if error.status_code in (404, 405, 501):
            return None
        failure = _status_failure(error, settings.model, settings, is_repeat=False)
    except (openai.APIError, json.JSONDecodeError) as error:
        failure = _ServerError(_unreachable(error, _address(settings)))
    except (AttributeError, TypeError):
        failure = ConfigError(
            f"{_shown(_address(settings))} is no OpenAI-compatible server. Look at llm.base_url."
        )
    finally:
        client.close()
    raise failure if isinstance(failure, _ServerError) else _ServerError(failure)


def _openai_client(settings: LLMSettings) -> openai.OpenAI:
    """Address and key are always given, so that no variable of the environment can send them elsewhere."""
    address = _address(settings) + ("/v1" if settings.provider == "ollama" else "")
    return openai.OpenAI(
        base_url=address, api_key=_key(settings) or "none", max_retries=0, timeout=settings.timeout_seconds
    )


def _ollama_client(settings: LLMSettings) -> ollama.Client:
    key = _key(settings)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return ollama.Client(host=_address(settings), timeout=settings.timeout_seconds, headers=headers)


def _address(settings: LLMSettings) -> str:
    """The server's address without a slash at the end; Ollama's also without `/v1`."""
    if settings.provider == "ollama":
        return (settings.base_url or OLLAMA_ADDRESS).rstrip("/").removesuffix("/v1").rstrip("/")
    return (settings.base_url or OPENAI_ADDRESS).rstrip("/")


def _shown(address: str) -> str:
    """The address for messages, without a user name or password in it."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


def _key(settings: LLMSettings) -> str:
    """The server's key without blanks around it (files end in a new line); empty when there is none."""
    return settings.api_key.get_secret_value().strip() if settings.api_key else ""


def _problem(settings: LLMSettings) -> str | None:
    """What is wrong with the settings before anything is sent, and the cure; null when nothing is."""
    if not settings.model:
        return "no language model is named. Set SLOWWAVE_LLM__MODEL, or llm.model in slowwave.toml."
    if not _address(settings).startswith(("http://", "https://")):
        return "llm.base_url must begin with http:// or https://."
    key = _key(settings)
    if not key and _address(settings) == OPENAI_ADDRESS:
        return f"{OPENAI_ADDRESS} needs a key. Set SLOWWAVE_LLM__API_KEY, or a base_url of your own."
    if not (key.isascii() and key.isprintable()):
        return "the key holds characters that no key has. Look at SLOWWAVE_LLM__API_KEY."
    unpriced = [name for name in _models(settings) if name not in settings.prices]
    if settings.budget_cost is not None and unpriced:
        return f"budget_cost needs a price for {', '.join(unpriced)}. Add it to llm.prices."
    return None


def _mode(settings: LLMSettings) -> instructor.Mode:
    """TOOLS_STRICT is a deprecated name for TOOLS, without strictness: `_Exchange.send` makes it strict."""
    return instructor.Mode.JSON_SCHEMA if settings.provider == "ollama" else instructor.Mode.TOOLS


def _models(settings: LLMSettings) -> list[str]:
    return list(dict.fromkeys([settings.model, settings.gate_model or settings.model]))


def _model_of(settings: LLMSettings, request: Request) -> str:
    return (settings.gate_model or settings.model) if request.is_gate else settings.model


def _sent_model(settings: LLMSettings, model: str) -> str:
    return _derived_name(model, settings.context_tokens) if settings.provider == "ollama" else model


def _bare(error: SlowwaveError) -> SlowwaveError:
    """The error without its history, which may hold prompts."""
    error.__cause__ = error.__context__ = error.__traceback__ = None
    return error


def _quiet_libraries() -> None:
    """Instructor logs answers as errors, and OpenAI's client logs prompts when debugging."""
    logging.getLogger("instructor").setLevel(logging.CRITICAL + 1)
    logging.getLogger("openai").setLevel(logging.INFO)
