"""One request's conversation with the server: sent, repeated, read, and asked again when it cannot be used.

The texts of a prompt never reach Instructor, which runs every message through a template engine as soon as
validators get a context: it is handed placeholders, and `Exchange.send` puts the texts in at the wire.
Errors made here carry types, field names and numbers, never the words of a prompt, an answer or a server.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

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

from slowwave.deferred import deferred
from slowwave.errors import ContractError, InputError, OutputError, SlowwaveError, TransientError
from slowwave.llm.context import sent_model
from slowwave.llm.corrections import corrections
from slowwave.llm.requests import Outcome, Request, model_of
from slowwave.llm.safe_answers import safe_answer
from slowwave.llm.servers import (
    OPENAI_ADDRESS,
    ServerError,
    address_of,
    no_server,
    status_failure,
    unreachable,
)
from slowwave.llm.state import RunState
from slowwave.prompting.answers import Answer
from slowwave.schemas.ledger import LedgerLine
from slowwave.settings.groups import LLMSettings

if TYPE_CHECKING:
    import instructor
    import openai
    from instructor.core import exceptions
    from openai.types import chat
    from openai.types.chat import chat_completion
else:
    instructor, exceptions = deferred("instructor"), deferred("instructor.core.exceptions")
    openai, chat = deferred("openai"), deferred("openai.types.chat")
    chat_completion = deferred("openai.types.chat.chat_completion")

_BYTES_PER_TOKEN = 3
_PLACEHOLDER = "-"
_SHOWN_ERRORS = 5


class Exchange:
    """One request until its answer: what it used, what the model said last, and what was wrong with it."""

    def __init__(self, state: RunState, request: Request) -> None:
        self.state = state
        self.settings = state.settings
        self.request = request
        self.model = model_of(state.settings, request)
        self.line = LedgerLine()
        self.remark = ""
        self.text = ""
        self.message: chat.ChatCompletionMessage | None = None
        self.attempt_count = 0

    def outcome(self, *, answer: Answer | None = None, error: SlowwaveError | None = None) -> Outcome:
        """The outcome of the request, with its usage."""
        used = self.line.model_dump(exclude={"cached_count"})
        return Outcome(answer, error, self.model, self.request.prompt.prompt_version, **used)

    def run(self) -> Answer:
        """The validated answer.

        Raises:
            SlowwaveError: TransientError, ConfigError, InputError, OutputError or BudgetError.
        """
        settings = self.settings
        limit = "max_completion_tokens" if address_of(settings) == OPENAI_ADDRESS else "max_tokens"
        create = instructor.patch(create=self.send, mode=mode_of(settings))
        try:
            create(
                response_model=_response_model(self.request.answer),
                context=dict(self.request.context),
                max_retries=settings.validation_retries,
                strict=False,
                messages=[{"role": role, "content": _PLACEHOLDER} for role in ("system", "user")],
                model=sent_model(settings, self.model),
                temperature=settings.temperature,
                **{limit: settings.max_answer_tokens},
            )
        except exceptions.InstructorError as error:
            cause: BaseException | None = error.__cause__
        else:
            self.state.note(None)
            answer = read_answer(self.request, self.text)
            if answer is None:
                raise ContractError(
                    f"{self.request.answer.__name__}: an accepted answer does not validate twice"
                )
            return self._without_secrets(answer)
        if isinstance(cause, ServerError):
            self.state.note(cause)
            raise cause.error
        if self.line.call_count:
            self.state.note(None)
        raise cause if isinstance(cause, SlowwaveError) else self._unusable(cause)

    def _without_secrets(self, answer: Answer) -> Answer:
        """The answer as it may be kept."""
        safe = safe_answer(self.text)
        if safe == self.text:
            return answer
        self.text = safe
        answer_without = read_answer(self.request, safe)
        if answer_without is None:
            raise OutputError(
                f"{self.request.answer.__name__}: the answer cannot be used without the secrets in it"
            )
        return answer_without

    def send(self, *_: object, **request: Any) -> "chat.ChatCompletion":
        """The server as Instructor sees it: real texts in, repeats while it can pass, answers parseable."""
        self.attempt_count += 1
        prompt = self.request.prompt
        request["messages"] = [
            {"role": "system", "content": prompt.system},
            {"role": "user", "content": prompt.user},
            *self._corrections(),
        ]
        for tool in request.get("tools", []):
            tool["function"] = {**tool["function"], **_strict(self.request.answer)}
        self._check_fit(request["messages"])
        retrying = Retrying(
            retry=retry_if_exception(_can_pass),
            stop=stop_after_attempt(self.settings.transport_retries + 1)
            | stop_when_event_set(self.state.stopped),
            wait=self._pause,
            sleep=sleep_using_event(self.state.stopped),
            reraise=True,
        )
        completion = retrying(self._post, request)
        self.remark = _make_parseable(completion)
        self.text = _said(completion)
        self.message = completion.choices[0].message
        return completion

    def _corrections(self) -> list[dict[str, Any]]:
        """The messages about the last try, which Instructor's own give way to; none at the first."""
        if self.message is None:
            return []
        return corrections(self.request, self.message, self.text, remark=self.remark)

    def _post(self, request: dict[str, Any]) -> "chat.ChatCompletion":
        """One request over the wire, entered into the ledger whatever comes of it."""
        self.state.check_open()
        self.state.prepare(self.model)
        completion: object = None
        failure: SlowwaveError | ServerError = no_server(self.settings)
        try:
            completion = self.state.client.chat.completions.create(**request)
        except openai.APIStatusError as error:
            failure = status_failure(error, self.model, self.settings, is_repeat=self.attempt_count > 1)
        except (openai.APIError, json.JSONDecodeError) as error:
            failure = ServerError(unreachable(error, address_of(self.settings)))
        answered = completion if isinstance(completion, chat.ChatCompletion) else None
        self._record(request, answered)
        if answered is None:
            raise failure
        return answered

    def _record(self, request: dict[str, Any], completion: "chat.ChatCompletion | None") -> None:
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
        self.state.record(self.request, line)

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
        return min(max(seconds, error.retry_after if isinstance(error, ServerError) else 0.0), most)

    def _unusable(self, cause: BaseException | None) -> SlowwaveError:
        """The error of an answer that stayed unusable: error types and field names only."""
        if isinstance(cause, ValidationError):
            found = _summary(cause)
        elif isinstance(cause, json.JSONDecodeError):
            found = "no JSON"
        elif isinstance(cause, exceptions.ResponseParsingError):
            found = "no tool call"
        else:
            return ContractError(f"reading a {self.request.answer.__name__} ended in {type(cause).__name__}")
        return OutputError(
            f"no usable {self.request.answer.__name__} from {self.model} in {self.attempt_count} tries: "
            f"{self.remark or found}"
        )


def read_answer(request: Request, text: str | None) -> Answer | None:
    """The answer in a JSON text, if it is one that validates under this request's own context."""
    if text is None:
        return None
    try:
        return request.answer.model_validate_json(text, context=dict(request.context))
    except ValidationError:
        return None


def mode_of(settings: LLMSettings) -> "instructor.Mode":
    """TOOLS_STRICT is a deprecated name for TOOLS, without strictness: `Exchange.send` makes it strict."""
    return instructor.Mode.JSON_SCHEMA if settings.provider == "ollama" else instructor.Mode.TOOLS


@lru_cache(maxsize=64)
def _response_model(answer: type[Answer]) -> type[Answer]:
    """The answer as Instructor wants it; made once, because Instructor would build a new class a call."""
    return instructor.response_schema(answer)


@lru_cache(maxsize=64)
def _strict(answer: type[Answer]) -> dict[str, object]:
    """The fields that make a tool strict. Its parameters require every field, even one that has a default."""
    return {"strict": True, "parameters": openai.pydantic_function_tool(answer)["function"]["parameters"]}


def _make_parseable(completion: "chat.ChatCompletion") -> str:
    """Turns an answer that would end Instructor's loop into one that is asked again; returns what was wrong.

    Instructor re-asks for what fails to parse. It gives up at once on a cut answer and a refusal, and breaks
    on an answer without choices.
    """
    choice = completion.choices[0] if completion.choices else None
    if choice is None or choice.message is None:
        message = chat.ChatCompletionMessage(role="assistant", content="")
        completion.choices = [chat_completion.Choice(finish_reason="stop", index=0, message=message)]
        return "the server sent no answer"
    reason, message = choice.finish_reason, choice.message
    choice.finish_reason = "stop"
    if message.refusal or reason == "content_filter":
        message.content, message.refusal, message.tool_calls = message.refusal or "", None, None
        is_cut = reason == "content_filter"
        return "the server's content filter cut the answer" if is_cut else "the model refused"
    return "the answer was cut at max_answer_tokens" if reason == "length" else ""


def _said(completion: "chat.ChatCompletion") -> str:
    """The JSON text of an answer: the first tool call's arguments, or the content."""
    message = completion.choices[0].message
    calls: list[Any] = message.tool_calls or []
    said: object = calls[0].function.arguments if calls else message.content
    return said if isinstance(said, str) else json.dumps(said)


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
    return isinstance(error, ServerError) and isinstance(error.error, TransientError)
