"""Embedders behind HTTP: Ollama, and any server that speaks OpenAI's API."""

import errno
import socket
import threading
import weakref
from collections.abc import Callable
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from slowwave.errors import ConfigError, TransientError
from slowwave.models.embed.batches import PROBE_TEXT, batch_embedder, matrix
from slowwave.models.embed.profiles import load_profile, plain_name
from slowwave.models.embed.protocol import Embedder
from slowwave.models.embed.relevance import Vectors
from slowwave.models.servers import (
    OLLAMA_ADDRESS,
    ServerError,
    asking,
    cure,
    key_of,
    ollama_client,
    openai_client,
    quiet_libraries,
    repeated,
)
from slowwave.settings.groups import EmbeddingSettings

BACKOFF_SECONDS = 0.5
"""First pause before a repeat; doubles each time."""

MAX_BACKOFF_SECONDS = 8.0
"""Longest pause, whatever the server asks: somebody may wait for the answer to a question."""

PROBE_SECONDS = 1.0


def open_ollama(settings: EmbeddingSettings) -> Embedder:
    """The embedder of a model that Ollama has; raises as `open_embedder`."""
    model = settings.model
    if plain_name(model) not in ollama_names(settings, settings.timeout_seconds):
        raise ConfigError(f"Ollama has no model {model}. {cure(settings, model)}")
    client = ollama_client(settings)
    return _server_embedder(
        "ollama",
        settings,
        client,
        lambda texts: client.embed(model=model, input=texts, truncate=False).embeddings,
    )


def ollama_names(settings: EmbeddingSettings, timeout_seconds: float) -> set[str]:
    """Names of the models that Ollama has, without the tag `latest`.

    Raises:
        SlowwaveError: Ollama is away, refuses us, or its answer cannot be read.
    """
    if settings.base_url is None and _nobody_listens():
        raise TransientError("Ollama does not answer. Start it, or set embedding.base_url.")
    try:
        with closing(ollama_client(settings, timeout_seconds=timeout_seconds)) as client, asking(settings):
            return {plain_name(entry.model) for entry in client.list().models if entry.model}
    except ServerError as failure:
        raise failure.error from None


def open_openai(settings: EmbeddingSettings) -> Embedder:
    """The embedder of any server that speaks OpenAI's API; raises as `open_embedder`."""
    if not key_of(settings) and settings.base_url is None:
        raise ConfigError("OpenAI needs a key. Set SLOWWAVE_EMBEDDING__API_KEY, or a base_url of your own.")
    client = openai_client(settings)

    def ask(texts: list[str]) -> object:
        answer = client.embeddings.create(model=settings.model, input=texts, encoding_format="float")
        return [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]

    return _server_embedder("openai", settings, client, ask)


def _server_embedder(
    provider: str,
    settings: EmbeddingSettings,
    client: Any,
    ask: Callable[[list[str]], object],
) -> Embedder:
    """The embedder, which closes the client when it goes; `ask` is the one call to the wire, not checked yet.

    The width of a model without a profile is asked for once.
    """
    quiet_libraries()

    def called(texts: list[str]) -> object:
        with asking(settings, settings.model):
            return ask(texts)

    def vectors_of(texts: list[str]) -> Vectors:
        rows = repeated(
            lambda: called(texts),
            retries=settings.transport_retries,
            pauses=(BACKOFF_SECONDS, MAX_BACKOFF_SECONDS),
            # over a text that breaks the server others must not wait: it is found out by halving
            can_pass=lambda failure: isinstance(failure.error, TransientError) and not failure.is_about_text,
            stopped=threading.Event(),
        )
        return matrix(rows, len(texts), profile.dims, f"the embedding server's {settings.model}")

    weakref.finalize(vectors_of, client.close)
    profile = load_profile(settings.model, query=settings.query_prefix, document=settings.document_prefix)
    if not profile.dims:
        try:
            width = vectors_of([PROBE_TEXT]).shape[1]
        except ServerError as failure:
            raise failure.error from None
        profile = profile.model_copy(update={"dims": width})
    return batch_embedder(provider, profile.model, settings, profile, vectors_of)


def _nobody_listens() -> bool:
    """Ollama's own address refuses us: seen without its client, which takes a tenth of a second to import."""
    place = urlsplit(OLLAMA_ADDRESS)
    with socket.socket() as trial:
        trial.settimeout(PROBE_SECONDS)
        return trial.connect_ex((place.hostname or "", place.port or 0)) == errno.ECONNREFUSED
