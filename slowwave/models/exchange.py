"""One request's conversation with the server: sent, repeated, validated, and asked again by Instructor.

Validators learn what the page showed from `checked_against`, not from Instructor's own context: with one it runs every
message through a template engine, and prompts hold stored text.
Errors made here carry types, field names and numbers, never the words of a prompt, an answer or a server.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from slowwave.deferred import deferred
from slowwave.errors import ConfigError, ContractError, InputError, OutputError, SlowwaveError, TransientError
from slowwave.ingest.redact.spans import find, masked
from slowwave.ingest.redact.table import in_force
from slowwave.models.answers.fields import Answer, checked_against, read_answer
from slowwave.models.ollama_context import sent_model
from slowwave.models.requests import Outcome, Request, model_of
from slowwave.models.servers import OPENAI_ADDRESS, ServerError, address_of, asking, no_server, repeated
from slowwave.models.state import RunState
from slowwave.schemas.ledger import LedgerLine
from slowwave.settings.groups import LLMSettings

if TYPE_CHECKING:
    import instructor
    import openai
    from instructor.core import exceptions
    from openai.types import chat
else:
    instructor, exceptions = deferred("instructor"), deferred("instructor.core.exceptions")
    openai, chat = deferred("openai"), deferred("openai.types.chat")

_BYTES_PER_TOKEN = 3
_SHOWN_ERRORS = 5
_ENDED = {
    "length": "the answer was cut at max_answer_tokens",
    "content_filter": "the server's content filter cut the answer",
}
"""What is wrong with an answer that ended so. It is not asked for again: it would end so again."""

FIRST_PAUSE_SECONDS = 1.0
"""First pause before a request is repeated; doubles each time."""


class Exchange:
    """One request until its answer: what it used, and the text that was accepted."""

    def __init__(self, state: RunState, request: Request) -> None:
        self.state = state
        self.settings = state.settings
        self.request = request
        self.model = model_of(state.settings, request)
        self.line = LedgerLine()
        self.text = ""
        self.try_count = 0

    def outcome(self, *, answer: Answer | None = None, error: SlowwaveError | None = None) -> Outcome:
        """The outcome of the request, with its usage."""
        used = self.line.model_dump(exclude={"cached_count"})
        return Outcome(answer, error, self.model, self.request.prompt.prompt_version, **used)

    def run(self) -> Answer:
        """The validated answer, without secrets.

        Raises:
            SlowwaveError: TransientError, ConfigError, InputError, OutputError or BudgetError.
        """
        try:
            with checked_against(self.request.page):
                self._ask()
        except exceptions.InstructorError as error:
            cause = error.__cause__
        else:
            self.state.note(None)
            kind, self.text = self.request.answer, safe_answer(self.text)
            answer = read_answer(kind, self.text, self.request.page)
            if answer is None:
                raise OutputError(f"{kind.__name__}: the answer cannot be used without the secrets in it")
            return answer
        if isinstance(cause, ServerError):
            self.state.note(cause)
            raise cause.error
        if self.line.call_count:
            self.state.note(None)
        raise cause if isinstance(cause, SlowwaveError) else self._unusable(cause)

    def _ask(self) -> None:
        """Ask, and have Instructor ask again with what is wrong, until the answer validates."""
        settings, prompt = self.settings, self.request.prompt
        limit = "max_completion_tokens" if address_of(settings) == OPENAI_ADDRESS else "max_tokens"
        bounds: dict[str, Any] = {limit: settings.max_answer_tokens}
        instructor.patch(create=self._send, mode=mode_of(settings))(
            response_model=_response_model(self.request.answer),
            max_retries=settings.validation_retries,
            strict=False,
            messages=[
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
            model=sent_model(settings, self.model),
            temperature=settings.temperature,
            **bounds,
        )

    def _send(self, *_: object, **request: Any) -> "chat.ChatCompletion":
        """The server as Instructor sees it: repeated while it can pass, and an answer that can be read."""
        self.try_count += 1
        for tool in request.get("tools", []):
            tool["function"] = {**tool["function"], **_strict(self.request.answer)}
        self._check_fit(request["messages"])
        completion = repeated(
            lambda: self._post(request),
            retries=self.settings.transport_retries,
            pauses=(FIRST_PAUSE_SECONDS, self.settings.timeout_seconds),
            can_pass=lambda failure: isinstance(failure.error, TransientError),
            stopped=self.state.stopped,
        )
        if problem := _problem(completion):
            raise self._no_use(problem)
        self.text = _said(completion)
        return completion

    def _post(self, request: dict[str, Any]) -> "chat.ChatCompletion":
        """One request over the wire, entered into the ledger whatever comes of it."""
        self.state.check_open()
        self.state.prepare(self.model)
        completion: object = None
        try:
            with asking(self.settings, self.model):
                completion = self.state.client.chat.completions.create(**request)
        except ServerError as failure:
            if isinstance(failure.error, InputError | OutputError):
                raise failure.error from None
            if failure.is_about_text and isinstance(failure.error, ConfigError) and self.try_count > 1:
                told = f"{failure.error} It was asked again about an unusable answer."
                raise OutputError(told) from None
            raise
        finally:
            answered = completion if isinstance(completion, chat.ChatCompletion) else None
            self._record(request, answered)
        if answered is None:
            raise no_server(self.settings)
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
            told = "the prompt holds half a character (a lone surrogate) and cannot be sent"
            raise InputError(told) from None
        if self.settings.provider != "ollama" or needed <= self.settings.context_tokens:
            return
        message = (
            f"about {needed} tokens with the answer do not fit "
            f"context_tokens={self.settings.context_tokens}. Raise it, or make the windows smaller."
        )
        raise OutputError(f"asking again: {message}") if self.try_count > 1 else InputError(message)

    def _unusable(self, cause: BaseException | None) -> SlowwaveError:
        """The error of an answer that stayed unusable: error types and field names only."""
        if isinstance(cause, ValidationError):
            return self._no_use(_summary(cause))
        if isinstance(cause, exceptions.ResponseParsingError):
            return self._no_use("no tool call")
        return ContractError(f"reading a {self.request.answer.__name__} ended in {type(cause).__name__}")

    def _no_use(self, found: str) -> OutputError:
        kind, tries = self.request.answer.__name__, self.try_count
        return OutputError(f"no usable {kind} from {self.model} in {tries} tries: {found}")


def mode_of(settings: LLMSettings) -> "instructor.Mode":
    """TOOLS_STRICT is a deprecated name for TOOLS, without strictness: `Exchange` makes it strict."""
    return instructor.Mode.JSON_SCHEMA if settings.provider == "ollama" else instructor.Mode.TOOLS


@lru_cache(maxsize=64)
def _response_model(answer: type[Answer]) -> type[Answer]:
    """The answer as Instructor wants it; made once, because Instructor would build a new class a call."""
    return instructor.response_schema(answer)


@lru_cache(maxsize=64)
def _strict(answer: type[Answer]) -> dict[str, object]:
    """The fields that make a tool strict; none where an answer may leave fields out.

    Strict parameters require every field: the extractor would pay a fifth more for what it has nothing to say about.
    """
    schema = answer.model_json_schema()
    shapes = [schema, *schema.get("$defs", {}).values()]
    if any(set(shape.get("required", ())) != set(shape["properties"]) for shape in shapes):
        return {}
    return {"strict": True, "parameters": openai.pydantic_function_tool(answer)["function"]["parameters"]}


def _problem(completion: "chat.ChatCompletion") -> str:
    """Why there is nothing to read in an answer; "" where there is."""
    choice = completion.choices[0] if completion.choices else None
    if choice is None or choice.message is None:
        return "the server sent no answer"
    return "the model refused" if choice.message.refusal else _ENDED.get(choice.finish_reason, "")


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


def safe_answer(text: str) -> str:
    """The JSON text of an answer with marks in the place of secrets; one without any stays byte for byte.

    Each text of it is looked at by itself: what stands beside another in JSON says nothing about it.
    """
    answer = json.loads(text)
    safe = _masked(answer)
    return text if safe == answer else json.dumps(safe, ensure_ascii=False)


def _masked(value: object) -> object:
    if isinstance(value, dict):
        return {name: _masked(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_masked(item) for item in value]
    if not isinstance(value, str):
        return value
    # The texts that a model is shown were searched for labels already, and in its short sentences a year next to a
    # label would pass for a code.
    return masked(value, (span for span in find(value, in_force()) if not span.is_by_words))
