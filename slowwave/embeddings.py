"""Text to vectors: the one place that imports ollama, openai and wordllama for embeddings.

One small protocol, three ways behind it, and none at all. Vectors are L2-normalised; what could not be
embedded is a row of NaN with its reason, never a made-up vector. A server that is away or unconfigured is
an error, not a row: an outage must not be stored as a property of a text. The three libraries are imported
where they are used, so that a face which only reads the journal does not pay for them. Texts never appear
in messages.
"""

import json
import logging
import math
import os
import re
import tomllib
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from slowwave.errors import ConfigError, InputError, OutputError, SlowwaveError, TransientError
from slowwave.settings import EmbeddingSettings

THRESHOLDS = (
    "topic_threshold",
    "merge_threshold",
    "split_threshold",
    "near_threshold",
    "relevance_threshold",
)
"""What a calibration may override."""

PROBE_SECONDS = 2.0
"""How long `auto` waits for Ollama to say what it has."""

BACKOFF_SECONDS = 0.5
"""First pause before a repeat; doubles each time, up to `MAX_BACKOFF_SECONDS`."""

MAX_BACKOFF_SECONDS = 8.0

Vectors = NDArray[np.float32]

_PROBE_TEXT = "memory"
_PIECE = re.compile(r"[A-Za-z]{1,4}|[^\sA-Za-z]")
_TOO_LONG = re.compile(
    r"context length|too long|maximum.{0,20}(length|tokens)|physical batch size", re.IGNORECASE
)
_MAX_HALVINGS = 3


class Profile(BaseModel):
    """What one embedding model wants and where its similarities lie (`embedding_profiles.toml` explains)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    dims: int = Field(ge=0, description="Width of a vector; 0 means that the first answer tells.")
    max_tokens: int = Field(ge=0)
    document_prefix: str
    query_prefix: str
    prefix_version: str
    topic_threshold: float = Field(ge=-1, le=1)
    mean_topic_threshold: float = Field(ge=-1, le=1)
    merge_threshold: float = Field(ge=-1, le=1)
    split_threshold: float = Field(ge=-1, le=1)
    near_threshold: float = Field(ge=-1, le=1)
    relevance_threshold: float = Field(ge=-1, le=1)
    vector_weight: float = Field(ge=0)
    calibrated: bool


@dataclass(frozen=True)
class Embedded:
    """Vectors in the order of the texts, float32 (n, dims), L2-normalised; a failed text is a row of NaN.

    `failures` gives the reason by position; `cut_count` is how many texts were too long and cut.
    """

    vectors: Vectors
    failures: dict[int, str]
    cut_count: int


class Embedder(Protocol):
    """What the rest of Slowwave knows of an embedder."""

    @property
    def embedder_id(self) -> str:
        """Provider/model/dims/prefix version. Vectors of different ids are never compared."""

    @property
    def dims(self) -> int:
        """Width of a vector."""

    @property
    def profile(self) -> Profile:
        """Prefixes and thresholds."""

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        """Vectors of stored texts.

        Raises:
            TransientError: the server is away, overloaded or broken; nothing was embedded.
            ConfigError: the model is not there, may not be used, or has other dimensions.
            OutputError: the answer cannot be read.
        """

    def embed_query(self, text: str) -> Vectors:
        """Vector of a question, (dims,).

        Raises:
            InputError: this text has no vector (nothing in it that the model knows): search by words alone.
            TransientError, ConfigError, OutputError: as above.
        """


# Profiles


def load_profile(model: str, calibration_path: Path | None = None) -> Profile:
    """The profile of a model: by its name, by its name without the tag, else the one for unknown models.

    Thresholds that `calibration_path` (if that file exists) holds for this model win, and count as
    calibrated.

    Raises:
        ConfigError: the calibration file cannot be read or holds what is not a threshold.
    """
    name = _plain_name(model)
    table = _profiles()
    given = dict(table.get(name) or table.get(name.partition(":")[0]) or table["other"])
    measured = _calibrations(calibration_path).get(name, {})
    try:
        return Profile(**(given | {"model": name} | measured | ({"calibrated": True} if measured else {})))
    except ValidationError as error:
        raise ConfigError(
            f"{calibration_path} holds a threshold for {name!r} that is not usable. "
            "Calibrate again or remove it."
        ) from error


def write_calibration(path: Path, model: str, thresholds: Mapping[str, float]) -> None:
    """Keep measured thresholds of a model beside those of others; the file is replaced as a whole.

    Raises:
        ConfigError: the file there cannot be read.
        InputError: a name is not among `THRESHOLDS`, or a value is not a cosine.
    """
    wrong = [name for name, value in thresholds.items() if name not in THRESHOLDS or not -1 <= value <= 1]
    if wrong or not thresholds:
        raise InputError(
            f"not a threshold: {', '.join(wrong) or 'nothing given'}. Known: {', '.join(THRESHOLDS)}."
        )
    everything = _calibrations(path) | {_plain_name(model): dict(thresholds)}
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(json.dumps(everything, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    draft.replace(path)


@cache
def _profiles() -> dict[str, dict[str, Any]]:
    return tomllib.loads((files("slowwave") / "embedding_profiles.toml").read_text(encoding="utf-8"))


def _plain_name(model: str) -> str:
    return model.removesuffix(":latest")


def _calibrations(path: Path | None) -> dict[str, dict[str, float]]:
    if path is None or not path.is_file():
        return {}
    advice = f"{path} is not a calibration file. Remove it and calibrate again."
    try:
        everything = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(advice) from error
    if not isinstance(everything, dict):
        raise ConfigError(advice)
    for thresholds in everything.values():
        if not isinstance(thresholds, dict) or not set(thresholds) <= set(THRESHOLDS):
            raise ConfigError(advice)
    return everything


# Choosing


def open_embedder(
    settings: EmbeddingSettings, calibration_path: Path | None = None
) -> tuple[Embedder | None, str]:
    """The embedder that the settings ask for, and a sentence that says which one it is and why.

    `auto` takes Ollama if it answers within `PROBE_SECONDS` and has the model, else WordLlama, else none.
    None means: full-text search and topics by words only.

    Raises:
        TransientError: the named server is away.
        ConfigError: the named server lacks the model or a key, or the dimensions differ from the profile's.
    """
    if settings.provider == "none":
        return None, "No embedder, as the settings say: full-text search only."
    if settings.provider == "wordllama":
        return _open_wordllama(settings, calibration_path, "as the settings say")
    if settings.provider == "openai":
        return _told(_open_openai(settings, calibration_path), "as the settings say")
    if settings.provider == "ollama":
        return _told(_open_ollama(settings, calibration_path), "as the settings say")
    try:
        with closing(_ollama_client(settings, PROBE_SECONDS)) as client:
            names = _ollama_names(client)
    except SlowwaveError:
        return _open_auto_wordllama(settings, calibration_path, "Ollama does not answer")
    if _plain_name(settings.model) not in names and not settings.allow_pull:
        reason = f"Ollama answers but lacks {settings.model} (`ollama pull {settings.model}` adds it)"
        return _open_auto_wordllama(settings, calibration_path, reason)
    return _told(_open_ollama(settings, calibration_path), "Ollama answers and has the model")


def check_embedder(settings: EmbeddingSettings) -> list[tuple[str, bool, str]]:
    """What `doctor` shows: name of the check, whether it passed, what was found or what to do."""
    try:
        embedder, note = open_embedder(settings)
    except SlowwaveError as error:
        return [("embedder", False, str(error))]
    checks = [("embedder", True, note)]
    if embedder is None:
        return checks
    try:
        made = embedder.embed_documents(["The invoice was paid by card.", "A zebra has stripes."])
        near, far = made.vectors @ embedder.embed_query("How was the bill paid?")
    except SlowwaveError as error:
        return [*checks, ("embedding", False, str(error))]
    sound = not made.failures and bool(near > far)
    found = f"{embedder.dims} dimensions; related texts {near:.2f}, unrelated {far:.2f}"
    checks.append(("embedding", sound, found if sound else f"{found}: this model does not tell them apart"))
    known = embedder.profile.calibrated
    advice = "measured" if known else f"guessed for {embedder.profile.model}: run `slowwave calibrate`"
    return [*checks, ("thresholds", known, advice)]


def _told(embedder: "Embedder", why: str) -> tuple[Embedder, str]:
    profile = embedder.profile
    guess = "" if profile.calibrated else " Its thresholds are guesses until calibrated."
    return embedder, f"Embedding with {embedder.embedder_id}: {why}.{guess}"


def _open_wordllama(
    settings: EmbeddingSettings, calibration_path: Path | None, why: str
) -> tuple[Embedder, str]:
    return _told(_WordLlamaEmbedder(settings, load_profile("wordllama", calibration_path), _wordllama()), why)


def _open_auto_wordllama(
    settings: EmbeddingSettings, calibration_path: Path | None, why: str
) -> tuple[Embedder | None, str]:
    try:
        return _open_wordllama(settings, calibration_path, why)
    except ConfigError as error:
        return None, f"No embedder: {why}, and {error} Full-text search only."


# Batches, cutting and bisection, the same for every server


class _RefusedError(Exception):
    """The server will not take these texts; fewer of them may pass."""

    def __init__(self, reason: str, *, too_long: bool = False) -> None:
        super().__init__(reason)
        self.too_long = too_long


class _BrokenError(Exception):
    """The server broke over these texts, or is broken; asking for a harmless one tells."""


Ask = Callable[[list[str]], Vectors]


def _embed(texts: Sequence[str], *, ask: Ask, dims: int, batch_size: int, max_tokens: int) -> Embedded:
    """All texts in batches; a batch that fails is halved until the text that fails stands alone."""
    sendable, is_cut = [], []
    for text in texts:
        whole = text.encode("utf-8", "replace").decode("utf-8")  # half a character cannot be sent
        end = _cut_at(whole, max_tokens)
        sendable.append(whole[:end])
        is_cut.append(end < len(whole))
    vectors = np.full((len(texts), dims), np.nan, dtype=np.float32)
    failures = {at: "there is no text" for at, text in enumerate(sendable) if not text.strip()}
    waiting = [at for at in range(len(sendable)) if at not in failures]
    stack = [waiting[at : at + batch_size] for at in range(0, len(waiting), batch_size)][::-1]
    halvings: dict[int, int] = {}
    while stack:
        batch = stack.pop()
        try:
            vectors[batch] = ask([sendable[at] for at in batch])
        except (_RefusedError, _BrokenError) as error:
            at, middle = batch[0], len(batch) // 2
            if isinstance(error, _BrokenError):
                _check_alive(ask)
            if middle:
                stack += [batch[middle:], batch[:middle]]
            elif getattr(error, "too_long", False) and halvings.get(at, 0) < _MAX_HALVINGS:
                halvings[at] = halvings.get(at, 0) + 1
                sendable[at] = sendable[at][: math.ceil(len(sendable[at]) / 2)]
                is_cut[at] = True
                stack.append(batch)
            else:
                failures[at] = str(error)
    return _normalized(vectors, failures, sum(is_cut))


def _cut_at(text: str, max_tokens: int) -> int:
    """Where to cut a text so that it holds at most `max_tokens`, at four letters a token, else one character.

    Code and tables come near one token a character, so a rule of four characters a token would not do.
    """
    if len(text) <= max_tokens:
        return len(text)
    for count, piece in enumerate(_PIECE.finditer(text), start=1):
        if count > max_tokens:
            return piece.start()
    return len(text)


def _check_alive(ask: Ask) -> None:
    """Does the server still embed a harmless text? If not, it is away, and no text is to blame."""
    try:
        ask([_PROBE_TEXT])
    except (_RefusedError, _BrokenError) as error:
        raise TransientError(
            f"the embedding server is broken ({error}). Look at its log; try again later."
        ) from None


def _normalized(vectors: Vectors, failures: dict[int, str], cut_count: int) -> Embedded:
    """Unit rows. A row without a direction is a failure."""
    length = np.linalg.norm(vectors.astype(np.float64), axis=1)
    empty = ~(np.isfinite(length) & (length > 0))
    told = {
        int(at): failures.get(int(at), "the model knows nothing in this text") for at in np.flatnonzero(empty)
    }
    vectors[empty] = np.nan
    length[empty] = 1.0
    return Embedded((vectors / length[:, None]).astype(np.float32), told, cut_count)


def _matrix(rows: Any, count: int, dims: int, who: str) -> Vectors:
    """The answer's vectors, checked: as many as texts, as wide as known (0: as wide as they are)."""
    try:
        vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise OutputError(f"{who} answered vectors of uneven width or no numbers") from error
    if vectors.ndim != 2 or len(vectors) != count:  # noqa: PLR2004 - rows and columns
        raise OutputError(f"{who} answered {len(vectors)} vectors for {count} texts")
    if dims and vectors.shape[1] != dims:
        raise ConfigError(
            f"{who} answered {vectors.shape[1]} dimensions, and {dims} are expected. "
            "Name the model that the profile is for, or re-embed the store."
        )
    return vectors


def _retried(call: Callable[[], Vectors], retries: int) -> Vectors:
    import tenacity  # noqa: PLC0415

    again = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(TransientError),
        stop=tenacity.stop_after_attempt(retries + 1),
        wait=tenacity.wait_exponential(multiplier=BACKOFF_SECONDS, max=MAX_BACKOFF_SECONDS),
        reraise=True,
    )
    return again(call)


def _http_failure(status: int, message: str, *, who: str, missing: str) -> Exception:
    """What a status means; the server's own words stay out, they may repeat the text."""
    if status in {401, 403}:
        return ConfigError(f"{who} refused the key (HTTP {status}). Set embedding.api_key.")
    if status == 404:  # noqa: PLR2004
        return ConfigError(missing)
    if status in {408, 409, 425, 429, 502, 503, 504, 529}:
        return TransientError(f"{who} cannot answer now (HTTP {status}). Try again later.")
    if "does not support embed" in message:
        return ConfigError(f"{who}: this model makes no embeddings. Name an embedding model.")
    if _TOO_LONG.search(message):
        return _RefusedError("too long for the model", too_long=True)
    if status >= 500 or status < 0:  # noqa: PLR2004
        return _BrokenError(f"HTTP {status}")
    return _RefusedError(f"the server refused it (HTTP {status})")


@dataclass(frozen=True)
class _ServerEmbedder:
    """An embedder behind HTTP; `ask` is the one call to the wire, checked and mapped."""

    provider: str
    settings: EmbeddingSettings
    profile: Profile
    ask: Ask = field(repr=False)

    @property
    def embedder_id(self) -> str:
        return _embedder_id(self.provider, self.profile.model, self.profile)

    @property
    def dims(self) -> int:
        return self.profile.dims

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        return self._embed(texts, self.profile.document_prefix)

    def embed_query(self, text: str) -> Vectors:
        return _only(self._embed([text], self.profile.query_prefix))

    def _embed(self, texts: Sequence[str], prefix: str) -> Embedded:
        limit = min(self.settings.max_text_tokens, self.profile.max_tokens) - len(_PIECE.findall(prefix))
        return _embed(
            texts,
            ask=lambda batch: _retried(
                lambda: self.ask([prefix + text for text in batch]), self.settings.transport_retries
            ),
            dims=self.dims,
            batch_size=self.settings.batch_size,
            max_tokens=max(limit, 1),
        )


def _embedder_id(provider: str, model: str, profile: Profile) -> str:
    return f"{provider}/{model}/{profile.dims}/{profile.prefix_version}"


def _only(embedded: Embedded) -> Vectors:
    if embedded.failures:
        raise InputError(f"this question has no vector: {embedded.failures[0]}. Search by words.")
    only: Vectors = embedded.vectors[0]
    return only


def _server_embedder(
    provider: str,
    settings: EmbeddingSettings,
    calibration_path: Path | None,
    client: Any,
    ask_for: Callable[[int], Ask],
) -> Embedder:
    """The embedder, which closes the client when it goes; `ask_for` takes the dims.

    The width of a model without a profile is asked for once.
    """
    profile = load_profile(settings.model, calibration_path)
    if not profile.dims:
        try:
            answer = _retried(lambda: ask_for(0)([_PROBE_TEXT]), settings.transport_retries)
        except (_RefusedError, _BrokenError) as error:
            raise TransientError(f"the embedding server is broken ({error}). Try again later.") from None
        profile = profile.model_copy(update={"dims": answer.shape[1]})
    embedder = _ServerEmbedder(provider, settings, profile, ask_for(profile.dims))
    weakref.finalize(embedder, client.close)
    return embedder


# Ollama


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
        raise TransientError("Ollama does not answer. Start it, or set embedding.base_url.") from None
    except httpx.TimeoutException:
        raise TransientError("Ollama took longer than embedding.timeout_seconds. Try again later.") from None
    except httpx.HTTPError as error:
        raise TransientError(
            f"the connection to Ollama broke ({type(error).__name__}). Try again later."
        ) from None
    except ValueError as error:  # no JSON, or not the shape of an answer
        raise OutputError(f"Ollama's answer cannot be read ({type(error).__name__})") from None


def _ollama_names(client: Any) -> set[str]:
    try:
        with _ollama_errors(""):
            return {_plain_name(entry.model) for entry in client.list().models if entry.model}
    except (_RefusedError, _BrokenError) as error:
        raise TransientError(f"Ollama is broken ({error}). Look at its log; try again later.") from None


def _open_ollama(settings: EmbeddingSettings, calibration_path: Path | None) -> Embedder:
    model = settings.model
    with ExitStack() as undo:
        client = undo.enter_context(closing(_ollama_client(settings, settings.timeout_seconds)))
        if _plain_name(model) not in _ollama_names(client):
            _pull(settings)

        def ask_for(dims: int) -> Ask:
            def ask(texts: list[str]) -> Vectors:
                with _ollama_errors(model):
                    rows = client.embed(model=model, input=texts, truncate=False).embeddings
                return _matrix(rows, len(texts), dims, f"Ollama's {model}")

            return ask

        embedder = _server_embedder("ollama", settings, calibration_path, client, ask_for)
        undo.pop_all()
    return embedder


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
    except (_RefusedError, _BrokenError) as error:
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


def _open_openai(settings: EmbeddingSettings, calibration_path: Path | None) -> Embedder:
    import openai  # noqa: PLC0415

    key = settings.api_key.get_secret_value() if settings.api_key else os.environ.get("OPENAI_API_KEY")
    if not key and settings.base_url is None:
        raise ConfigError(
            "OpenAI needs a key: set embedding.api_key or OPENAI_API_KEY, or embedding.base_url."
        )
    model = settings.model
    with ExitStack() as undo:
        client = undo.enter_context(
            closing(
                openai.OpenAI(
                    api_key=key or "none",
                    base_url=settings.base_url,
                    timeout=settings.timeout_seconds,
                    max_retries=0,
                )
            )
        )

        def ask_for(dims: int) -> Ask:
            def ask(texts: list[str]) -> Vectors:
                with _openai_errors(model):
                    answer = client.embeddings.create(model=model, input=texts, encoding_format="float")
                    rows = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
                return _matrix(rows, len(texts), dims, f"the embedding server's {model}")

            return ask

        embedder = _server_embedder("openai", settings, calibration_path, client, ask_for)
        undo.pop_all()
    return embedder


# WordLlama


@cache
def _wordllama() -> Any:
    """The model inside the wheel; never the network.

    Raises:
        ConfigError: the package or its weights are not there.
    """
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        import wordllama  # noqa: PLC0415

        return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    except (ImportError, FileNotFoundError) as error:
        raise ConfigError(
            f"WordLlama is not usable here ({type(error).__name__}): reinstall `wordllama`."
        ) from error
    finally:  # the package configures the root logger when it is imported
        root.handlers[:] = handlers
        root.setLevel(level)


@dataclass(frozen=True)
class _WordLlamaEmbedder:
    """Static word vectors, averaged.

    A text without a known token has the zero vector, which is near nothing and far from nothing: a failure.
    """

    settings: EmbeddingSettings
    profile: Profile
    model: Any = field(repr=False)

    @property
    def embedder_id(self) -> str:
        return _embedder_id("wordllama", "l2_supercat", self.profile)

    @property
    def dims(self) -> int:
        return self.profile.dims

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        return _embed(
            texts,
            ask=lambda batch: _matrix(self.model.embed(batch), len(batch), self.dims, "WordLlama"),
            dims=self.dims,
            batch_size=self.settings.batch_size,
            max_tokens=min(self.settings.max_text_tokens, self.profile.max_tokens),
        )

    def embed_query(self, text: str) -> Vectors:
        return _only(self.embed_documents([text]))
