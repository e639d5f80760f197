"""Embedders behind HTTP: Ollama, and any server that speaks OpenAI's API. Their errors become ours here.

The server's own words stay out of messages: they may repeat a text.
"""

import errno
import os
import re
import socket
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from slowwave.embeddings.batches import PROBE_TEXT, BatchEmbedder, BrokenError, RefusedError, matrix
from slowwave.embeddings.profiles import load_profile, plain_name, with_prefixes
from slowwave.embeddings.protocol import Embedder
from slowwave.embeddings.relevance import Vectors
from slowwave.errors import ConfigError, OutputError, TransientError
from slowwave.settings.groups import EmbeddingSettings

BACKOFF_SECONDS = 0.5
"""First pause before a repeat; doubles each time, up to `MAX_BACKOFF_SECONDS`."""

MAX_BACKOFF_SECONDS = 8.0

OLLAMA_ADDRESS = ("127.0.0.1", 11434)
"""Where Ollama listens unless told otherwise."""

PROBE_SECONDS = 1.0

_NO_OLLAMA = "Ollama does not answer. Start it, or set embedding.base_url."

_TOO_LONG = re.compile(
    r"context length|too long|maximum.{0,20}(length|tokens)|physical batch size", re.IGNORECASE
)


def open_ollama(settings: EmbeddingSettings) -> Embedder:
    """The embedder of a model that Ollama has, or may pull; raises as `open_embedder`."""
    model = settings.model
    if plain_name(model) not in ollama_names(settings, settings.timeout_seconds):
        _pull(settings)
    client = _ollama_client(settings, settings.timeout_seconds)

    def ask(texts: list[str]) -> object:
        with _ollama_errors(model):
            return client.embed(model=model, input=texts, truncate=False).embeddings

    return _server_embedder("ollama", settings, client, ask, f"Ollama's {model}")


def ollama_names(settings: EmbeddingSettings, timeout_seconds: float) -> set[str]:
    """Names of the models that Ollama has, without the tag `latest`.

    Raises:
        SlowwaveError: Ollama is away, refuses us, or its answer cannot be read.
    """
    if _nobody_listens(settings):
        raise TransientError(_NO_OLLAMA)
    try:
        with closing(_ollama_client(settings, timeout_seconds)) as client, _ollama_errors(""):
            return {plain_name(entry.model) for entry in client.list().models if entry.model}
    except (RefusedError, BrokenError) as error:
        raise TransientError(f"Ollama is broken ({error}). Look at its log; try again later.") from None


def open_openai(settings: EmbeddingSettings) -> Embedder:
    """The embedder of any server that speaks OpenAI's API; raises as `open_embedder`."""
    import openai  # noqa: PLC0415

    key = settings.api_key.get_secret_value() if settings.api_key else os.environ.get("OPENAI_API_KEY")
    if not key and settings.base_url is None:
        raise ConfigError(
            "OpenAI needs a key: set embedding.api_key or OPENAI_API_KEY, or embedding.base_url."
        )
    model = settings.model
    client = openai.OpenAI(
        api_key=key or "none", base_url=settings.base_url, timeout=settings.timeout_seconds, max_retries=0
    )

    def ask(texts: list[str]) -> object:
        with _openai_errors(model):
            answer = client.embeddings.create(model=model, input=texts, encoding_format="float")
            return [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]

    who = f"the embedding server's {model}"
    return _server_embedder("openai", settings, client, ask, who)


def _server_embedder(
    provider: str,
    settings: EmbeddingSettings,
    client: Any,
    ask: Callable[[list[str]], object],
    who: str,
) -> Embedder:
    """The embedder, which closes the client when it goes; `ask` is the one call to the wire, not checked yet.

    The width of a model without a profile is asked for once.
    """
    import tenacity  # noqa: PLC0415

    again = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(TransientError),
        stop=tenacity.stop_after_attempt(settings.transport_retries + 1),
        wait=tenacity.wait_exponential(multiplier=BACKOFF_SECONDS, max=MAX_BACKOFF_SECONDS),
        reraise=True,
    )

    def vectors_of(texts: list[str]) -> Vectors:
        return again(lambda: matrix(ask(texts), len(texts), profile.dims, who))

    with ExitStack() as undo:
        undo.enter_context(closing(client))
        profile = with_prefixes(
            load_profile(settings.model),
            query=settings.query_prefix,
            document=settings.document_prefix,
        )
        if not profile.dims:
            try:
                width = vectors_of([PROBE_TEXT]).shape[1]
            except (RefusedError, BrokenError) as error:
                raise TransientError(f"the embedding server is broken ({error}). Try again later.") from None
            profile = profile.model_copy(update={"dims": width})
        embedder = BatchEmbedder(provider, profile.model, settings, profile, vectors_of)
        weakref.finalize(embedder, undo.pop_all().close)
    return embedder


def _http_failure(status: int, message: str, *, who: str, missing: str) -> Exception:
    """The error for an HTTP status, without the server's own words, which may repeat the text."""
    if status in {401, 403}:
        return ConfigError(f"{who} refused the key (HTTP {status}). Set embedding.api_key.")
    if status == 404:  # noqa: PLR2004
        return ConfigError(missing)
    if status in {408, 409, 425, 429, 502, 503, 504, 529}:
        return TransientError(f"{who} cannot answer now (HTTP {status}). Try again later.")
    if "does not support embed" in message:
        return ConfigError(f"{who}: this model makes no embeddings. Name an embedding model.")
    if _TOO_LONG.search(message):
        return RefusedError("too long for the model", too_long=True)
    if status >= 500 or status < 0:  # noqa: PLR2004
        return BrokenError(f"HTTP {status}")
    return RefusedError(f"the server refused it (HTTP {status})")


# Ollama


def _nobody_listens(settings: EmbeddingSettings) -> bool:
    """Ollama's own address refuses us: seen without its client, which takes a tenth of a second to import."""
    if settings.base_url is not None or os.environ.get("OLLAMA_HOST"):
        return False
    with socket.socket() as trial:
        trial.settimeout(PROBE_SECONDS)
        return trial.connect_ex(OLLAMA_ADDRESS) == errno.ECONNREFUSED


def _ollama_client(settings: EmbeddingSettings, timeout_seconds: float | None) -> Any:
    import ollama  # noqa: PLC0415

    key = settings.api_key
    headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if key else None
    return ollama.Client(host=settings.base_url, timeout=timeout_seconds, headers=headers)


@contextmanager
def _ollama_errors(model: str) -> Iterator[None]:
    import httpx  # noqa: PLC0415 - ollama maps a refused connection, and lets httpx's timeouts through
    import ollama  # noqa: PLC0415

    try:
        yield
    except ollama.ResponseError as error:
        missing = f"Ollama has no model {model!r}: run `ollama pull {model}`, or set embedding.allow_pull."
        raise _http_failure(error.status_code, error.error, who="Ollama", missing=missing) from None
    except ConnectionError:
        raise TransientError(_NO_OLLAMA) from None
    except httpx.TimeoutException:
        raise TransientError("Ollama took longer than embedding.timeout_seconds. Try again later.") from None
    except httpx.HTTPError as error:
        raise TransientError(
            f"the connection to Ollama broke ({type(error).__name__}). Try again later."
        ) from None
    except ValueError as error:  # no JSON, or not the shape of an answer
        raise OutputError(f"Ollama's answer cannot be read ({type(error).__name__})") from None


def _pull(settings: EmbeddingSettings) -> None:
    model = settings.model
    if not settings.allow_pull:
        raise ConfigError(
            f"Ollama has no model {model!r}: run `ollama pull {model}`, or set embedding.allow_pull."
        )
    try:
        # it may take minutes: without the time limit of a request
        with closing(_ollama_client(settings, None)) as client, _ollama_errors(model):
            client.pull(model)
    except (RefusedError, BrokenError) as error:
        raise ConfigError(
            f"Ollama could not pull {model!r} ({error}). Check its name and the network."
        ) from None


# Any OpenAI-compatible server


@contextmanager
def _openai_errors(model: str) -> Iterator[None]:
    import openai  # noqa: PLC0415

    who = "the embedding server"
    try:
        yield
    except openai.APIStatusError as error:
        if error.code == "insufficient_quota":
            raise ConfigError(
                f"{who} says that the account's quota is spent. Top it up or use another key."
            ) from None
        missing = f"{who} has no model {model!r}, or embedding.base_url is not its API's root."
        raise _http_failure(error.status_code, error.message, who=who, missing=missing) from None
    except openai.APITimeoutError:
        raise TransientError(f"{who} took longer than embedding.timeout_seconds. Try again later.") from None
    except openai.APIConnectionError:
        raise TransientError(f"{who} does not answer. Start it, or set embedding.base_url.") from None
    except (openai.APIError, ValueError, AttributeError, TypeError) as error:
        raise OutputError(f"the answer of {who} cannot be read ({type(error).__name__})") from None
