"""The model servers: their clients and addresses, what their failures mean, and when a call is repeated.

One map for chat and embeddings. Errors made here carry types, names and numbers, never the words of a prompt, an
answer or a server.
"""

import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from slowwave.deferred import deferred
from slowwave.errors import ConfigError, InputError, OutputError, SlowwaveError, TransientError
from slowwave.settings.groups import EmbeddingSettings, LLMSettings

if TYPE_CHECKING:
    import ollama
    import openai
    import tenacity
else:
    ollama, openai, tenacity = deferred("ollama"), deferred("openai"), deferred("tenacity")

OPENAI_ADDRESS = "https://api.openai.com/v1"
OLLAMA_ADDRESS = "http://127.0.0.1:11434"

Settings = LLMSettings | EmbeddingSettings
_Result = TypeVar("_Result")

_CLIENTS = ("openai", "ollama", "httpx", "httpx2")
_UNREADABLE = (ConnectionError, ValueError, AttributeError, TypeError)
"""What clients let through where an answer has another shape; Ollama's makes a refused connection one of Python's."""

_TOO_LONG = re.compile(
    r"context.length|too long|maximum.{0,20}(length|tokens)|physical batch size", re.IGNORECASE
)
_NO_CREDIT = ("insufficient_quota",)
_FILTERED = ("content_filter", "content_policy_violation")
_CAN_PASS = {
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.CONFLICT,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
}


@dataclass(eq=False)
class ServerError(Exception):
    """A server failed over a request, or refuses it.

    `error` is ours. `is_fatal`: no other request can fare better. `is_about_text`: another text may pass, or fewer.
    `status` is that of HTTP; 0 where no answer came.
    """

    error: SlowwaveError
    retry_after: float = 0.0
    is_fatal: bool = False
    is_about_text: bool = False
    status: int = 0


def openai_client(settings: Settings) -> "openai.OpenAI":
    """Address and key are always given, so that no variable of the environment can send them elsewhere."""
    address = address_of(settings) + ("" if settings.provider == "openai" else "/v1")
    return openai.OpenAI(
        base_url=address, api_key=key_of(settings) or "none", max_retries=0, timeout=settings.timeout_seconds
    )


def ollama_client(settings: Settings, *, timeout_seconds: float | None = None) -> "ollama.Client":
    """A client of Ollama's own API, which lists, shows and derives models, and embeds."""
    key = key_of(settings)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    timeout = timeout_seconds or settings.timeout_seconds
    return ollama.Client(host=address_of(settings), timeout=timeout, headers=headers)


def address_of(settings: Settings) -> str:
    """The server's address without a slash at the end; Ollama's also without `/v1`."""
    if settings.provider == "openai":
        return (settings.base_url or OPENAI_ADDRESS).rstrip("/")
    return (settings.base_url or OLLAMA_ADDRESS).rstrip("/").removesuffix("/v1").rstrip("/")


def shown(address: str) -> str:
    """The address for messages, without a user name or password in it."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


def key_of(settings: Settings) -> str:
    """The server's key without blanks around it (files end in a new line); empty when there is none."""
    return settings.api_key.get_secret_value().strip() if settings.api_key else ""


@contextmanager
def asking(settings: Settings, model: str = "") -> Iterator[None]:
    """A block that asks a server and reads its answer.

    Raises:
        ServerError: in the place of whatever its client raises.
    """
    try:
        yield
    except Exception as error:
        if not (type(error).__module__.partition(".")[0] in _CLIENTS or isinstance(error, _UNREADABLE)):
            raise
        raise failure_of(error, settings, model) from None


def failure_of(error: Exception, settings: Settings, model: str) -> ServerError:
    """The meaning of a client's exception. Clients are known by what they carry: importing them takes long."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        failure = _status_failure(status, error, settings, model)
        failure.status = status
        return failure
    kind = type(error).__name__
    if isinstance(error, AttributeError | TypeError) or kind == "APIResponseValidationError":
        return no_server(settings)
    what = "cannot be reached or hung up"
    if "Timeout" in kind:
        what = f"did not answer within {_group(settings)}.timeout_seconds"
    advice = f"Start it, or look at {_group(settings)}.base_url; later runs try again."
    return ServerError(TransientError(f"{_who(settings)} {what}. {advice}"))


def no_server(settings: Settings) -> ServerError:
    """The error of an answer that no model server gives."""
    told = f"{_who(settings)} is no model server. Look at {_group(settings)}.base_url."
    return ServerError(ConfigError(told))


def _status_failure(status: int, error: Exception, settings: Settings, model: str) -> ServerError:
    """The failure behind an HTTP status. Only short codes of the server are shown, never its message."""
    code = _code(getattr(error, "code", "")) or _code(getattr(error, "type", ""))
    group, message = _group(settings), str(getattr(error, "message", "") or getattr(error, "error", ""))
    told = f"{_who(settings)} answered {status}{f' ({code})' if code else ''}"
    is_long = code == "context_length_exceeded" or _TOO_LONG.search(message)
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or (is_long and status not in _CAN_PASS):
        return ServerError(InputError(f"{told}: the text is too long for {model}"), is_about_text=True)
    if code in _FILTERED:
        return ServerError(OutputError(f"{told}: its filter refuses the text"), is_about_text=True)
    if status == HTTPStatus.PAYMENT_REQUIRED or code in _NO_CREDIT:
        return _setup(f"{told}: the account has no credit left. Top it up.")
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return _setup(f"{told}: the key is missing or refused. Look at SLOWWAVE_{group.upper()}__API_KEY.")
    if status == HTTPStatus.NOT_FOUND:
        return _setup(f"{told}: no such model as {model}, or no such address. {cure(settings, model)}")
    if "does not support embed" in message:
        return _setup(f"{told}: {model} makes no embeddings. Name an embedding model.")
    if status in _CAN_PASS or status >= HTTPStatus.BAD_GATEWAY:
        return ServerError(TransientError(f"{told}. Later runs try again."), retry_after=_retry_after(error))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status < 0:
        failure = TransientError(f"{told}. Look at its log; later runs try again.")
        return ServerError(failure, retry_after=_retry_after(error), is_about_text=True)
    over = f" over {parameter!r}" if (parameter := _code(getattr(error, "param", ""))) else ""
    refusal = ConfigError(f"{told}: it refuses the request{over}. Look at the {group} settings.")
    return ServerError(refusal, is_about_text=True)


def _setup(told: str) -> ServerError:
    return ServerError(ConfigError(told), is_fatal=True)


def cure(settings: Settings, model: str) -> str:
    """The advice for a server that does not have a model."""
    group = _group(settings)
    if settings.provider == "openai":
        return f"Look at {group}.model and {group}.base_url."
    return f"Run `ollama pull {model}`, or set {group}.model."


def repeated(
    call: Callable[[], _Result],
    *,
    retries: int,
    pauses: tuple[float, float],
    can_pass: Callable[[ServerError], bool],
    stopped: threading.Event,
) -> _Result:
    """The result of a call, repeated after what can pass: with pauses that double, or as long as the server asks.

    `pauses` are the first and the longest in seconds; `stopped` ends them all.
    """
    first, most = pauses
    doubled = tenacity.wait_exponential_jitter(multiplier=first, max=most, jitter=first)

    def pause(state: "tenacity.RetryCallState") -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        asked = error.retry_after if isinstance(error, ServerError) else 0.0
        return min(max(doubled(state), asked), most)

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(lambda error: isinstance(error, ServerError) and can_pass(error)),
        stop=tenacity.stop_after_attempt(retries + 1) | tenacity.stop_when_event_set(stopped),
        wait=pause,
        sleep=tenacity.sleep_using_event(stopped),
        reraise=True,
    )
    return retrying(call)


def _who(settings: Settings) -> str:
    address = shown(address_of(settings))
    return address if settings.provider == "openai" else f"Ollama at {address}"


def _group(settings: Settings) -> str:
    return "llm" if isinstance(settings, LLMSettings) else "embedding"


def _code(text: object) -> str:
    """A server's short code, or nothing when it is long or free text."""
    return text if isinstance(text, str) and re.fullmatch(r"[\w.\[\]-]{1,60}", text) else ""


def _retry_after(error: Exception) -> float:
    """Seconds that the server asks to wait; 0 when it does not ask, or names a date instead."""
    response = getattr(error, "response", None)
    try:
        return max(0.0, float(response.headers.get("retry-after", "") if response is not None else ""))
    except ValueError:
        return 0.0


def bare(error: SlowwaveError) -> SlowwaveError:
    """The error without its history, which may hold prompts."""
    error.__cause__ = error.__context__ = error.__traceback__ = None
    return error


def quiet_libraries() -> None:
    """Instructor logs answers as errors, and OpenAI's client logs prompts when debugging."""
    logging.getLogger("instructor").setLevel(logging.CRITICAL + 1)
    logging.getLogger("openai").setLevel(logging.INFO)
