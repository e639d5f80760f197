"""The servers behind the gateway: their clients, their addresses, and what their failures mean.

Errors made here carry types, names and numbers, never the words of a prompt, an answer or a server.
"""

import json
import logging
import re
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from slowwave.deferred import deferred
from slowwave.errors import ConfigError, InputError, OutputError, SlowwaveError, TransientError
from slowwave.settings.groups import LLMSettings

if TYPE_CHECKING:
    import httpx
    import ollama
    import openai
else:
    httpx = deferred("httpx")
    ollama = deferred("ollama")
    openai = deferred("openai")

OPENAI_ADDRESS = "https://api.openai.com/v1"
OLLAMA_ADDRESS = "http://127.0.0.1:11434"

_Result = TypeVar("_Result")


class ServerError(Exception):
    """The server failed, or refuses us. `is_fatal`: no other request can fare better."""

    def __init__(self, error: SlowwaveError, *, retry_after: float = 0.0, is_fatal: bool = False) -> None:
        super().__init__(type(error).__name__)
        self.error = error
        self.retry_after = retry_after
        self.is_fatal = is_fatal


class NotThereError(ConfigError):
    """Ollama does not have the model."""


def openai_client(settings: LLMSettings) -> "openai.OpenAI":
    """Address and key are always given, so that no variable of the environment can send them elsewhere."""
    address = address_of(settings) + ("/v1" if settings.provider == "ollama" else "")
    return openai.OpenAI(
        base_url=address, api_key=key_of(settings) or "none", max_retries=0, timeout=settings.timeout_seconds
    )


def ollama_client(settings: LLMSettings) -> "ollama.Client":
    """A client of Ollama's own API, which lists, shows and derives models."""
    key = key_of(settings)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return ollama.Client(host=address_of(settings), timeout=settings.timeout_seconds, headers=headers)


def address_of(settings: LLMSettings) -> str:
    """The server's address without a slash at the end; Ollama's also without `/v1`."""
    if settings.provider == "ollama":
        return (settings.base_url or OLLAMA_ADDRESS).rstrip("/").removesuffix("/v1").rstrip("/")
    return (settings.base_url or OPENAI_ADDRESS).rstrip("/")


def shown(address: str) -> str:
    """The address for messages, without a user name or password in it."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


def key_of(settings: LLMSettings) -> str:
    """The server's key without blanks around it (files end in a new line); empty when there is none."""
    return settings.api_key.get_secret_value().strip() if settings.api_key else ""


def call_ollama(call: Callable[[], _Result]) -> _Result:
    """Run one call of Ollama's client and turn its errors into ours."""
    failure: ServerError
    try:
        return call()
    except ollama.ResponseError as error:
        status = error.status_code
        told = f"Ollama answered {status}"
        if status == HTTPStatus.NOT_FOUND:
            failure = ServerError(NotThereError(f"{told}: no such model"), is_fatal=True)
        elif status in (408, 429) or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            failure = ServerError(TransientError(f"{told}. Later runs try again."))
        else:
            failure = ServerError(
                ConfigError(f"{told}. Look at llm.base_url and llm.api_key."), is_fatal=True
            )
    except (ConnectionError, httpx.HTTPError, ValueError) as error:
        failure = ServerError(unreachable(error, "Ollama"))
    raise failure


def unreachable(error: Exception, address: str) -> TransientError:
    """The error of a call that got no whole answer."""
    kind = "cannot be reached or hung up"
    if isinstance(error, openai.APITimeoutError | httpx.TimeoutException):
        kind = "did not answer in time"
    elif isinstance(error, json.JSONDecodeError):
        kind = "sent half an answer"
    return TransientError(f"{shown(address)} {kind}. Is it running? Later runs try again.")


def no_server(settings: LLMSettings) -> ServerError:
    """The error of an answer that no OpenAI-compatible server gives."""
    told = f"{shown(address_of(settings))} is no OpenAI-compatible server. Look at llm.base_url."
    return ServerError(ConfigError(told))


def status_failure(
    error: "openai.APIStatusError", model: str, settings: LLMSettings, *, is_repeat: bool
) -> SlowwaveError | ServerError:
    """The failure behind an HTTP status. Only short codes of the server are shown, never its message."""
    status, code = error.status_code, _code(error.code) or _code(error.type)
    told = f"{shown(address_of(settings))} answered {status}{f' ({code})' if code else ''}"
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or code == "context_length_exceeded":
        return InputError(f"{told}: the prompt is too long for {model}")
    if code in ("content_filter", "content_policy_violation"):
        return OutputError(f"{told}: its filter refuses the prompt")
    if status == HTTPStatus.PAYMENT_REQUIRED or code == "insufficient_quota":
        return ServerError(ConfigError(f"{told}: the account has no credit left. Top it up."), is_fatal=True)
    if status in (401, 403):
        cure = "Look at SLOWWAVE_LLM__API_KEY."
        return ServerError(ConfigError(f"{told}: the key is missing or refused. {cure}"), is_fatal=True)
    if status == HTTPStatus.NOT_FOUND:
        cure = "Look at llm.model and llm.base_url."
        return ServerError(
            ConfigError(f"{told}: no such model as {model}, or no such address. {cure}"), is_fatal=True
        )
    if status in (408, 409, 429) or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ServerError(TransientError(f"{told}. Later runs try again."), retry_after=_retry_after(error))
    if is_repeat:
        return OutputError(f"{told}: it refuses to be asked again about an unusable answer")
    over = f" over {parameter!r}" if (parameter := _code(error.param)) else ""
    return ServerError(ConfigError(f"{told}: it refuses the request{over}. Look at the llm settings."))


def _code(text: object) -> str:
    """A server's short code, or nothing when it is long or free text."""
    return text if isinstance(text, str) and re.fullmatch(r"[\w.\[\]-]{1,60}", text) else ""


def _retry_after(error: "openai.APIStatusError") -> float:
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


def bare(error: SlowwaveError) -> SlowwaveError:
    """The error without its history, which may hold prompts."""
    error.__cause__ = error.__context__ = error.__traceback__ = None
    return error


def quiet_libraries() -> None:
    """Instructor logs answers as errors, and OpenAI's client logs prompts when debugging."""
    logging.getLogger("instructor").setLevel(logging.CRITICAL + 1)
    logging.getLogger("openai").setLevel(logging.INFO)
