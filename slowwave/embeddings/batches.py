"""Batches, cutting and bisection, the same for every embedder: one bad text never costs another its vector."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from slowwave.embeddings.profiles import Profile
from slowwave.embeddings.protocol import Embedded, embedder_id_of
from slowwave.embeddings.relevance import Relevance, Vectors, guessed_relevance
from slowwave.errors import ConfigError, InputError, OutputError, TransientError
from slowwave.settings.groups import EmbeddingSettings

Ask = Callable[[list[str]], Vectors]
"""One call of the model: vectors in the order of the texts, not yet of unit length."""

PROBE_TEXT = "memory"
"""A text that no model refuses."""

PIECE = re.compile(r"[A-Za-z]{1,4}|[^\sA-Za-z]")
"""One token, where nothing better is known: up to four letters, or one other character."""

LEAST_LENGTH = 1e-6
"""Length of a vector under which its direction is rounding."""

_MAX_HALVINGS = 3


class RefusedError(Exception):
    """The server will not take these texts; fewer of them may pass."""

    def __init__(self, reason: str, *, too_long: bool = False) -> None:
        super().__init__(reason)
        self.too_long = too_long


class BrokenError(Exception):
    """The server broke over these texts, or is broken; asking for a harmless one tells."""


@dataclass(frozen=True)
class BatchEmbedder:
    """An embedder whose model takes whole batches."""

    provider: str
    model: str
    settings: EmbeddingSettings
    profile: Profile
    ask: Ask = field(repr=False)

    @property
    def embedder_id(self) -> str:
        """As `Embedder`."""
        return embedder_id_of(self.provider, self.model, self.profile)

    @property
    def dims(self) -> int:
        """As `Embedder`."""
        return self.profile.dims

    @property
    def relevance(self) -> Relevance:
        """As `Embedder`."""
        return guessed_relevance(self.profile)

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        """As `Embedder`."""
        return self._embed(texts, self.profile.document_prefix)

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        """As `Embedder`."""
        return self._embed(texts, self.profile.query_prefix)

    def embed_query(self, text: str) -> Vectors:
        """As `Embedder`."""
        embedded = self.embed_queries([text])
        if embedded.failures:
            raise InputError(f"this question has no vector: {embedded.failures[0]}. Search by words.")
        only: Vectors = embedded.vectors[0]
        return only

    def _embed(self, texts: Sequence[str], prefix: str) -> Embedded:
        limit = min(self.settings.max_text_tokens, self.profile.max_tokens) - len(PIECE.findall(prefix))
        return embed_in_batches(
            texts,
            ask=lambda batch: self.ask([prefix + text for text in batch]),
            dims=self.dims,
            batch_size=self.settings.batch_size,
            max_tokens=max(limit, 1),
        )


def embed_in_batches(
    texts: Sequence[str], *, ask: Ask, dims: int, batch_size: int, max_tokens: int
) -> Embedded:
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
        except (RefusedError, BrokenError) as error:
            at, middle = batch[0], len(batch) // 2
            if isinstance(error, BrokenError):
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
    """The position at which a text has `max_tokens` tokens, counted by `PIECE`, or its length.

    Code and tables come near one token a character, so four characters a token would be too few.
    """
    if len(text) <= max_tokens:
        return len(text)
    for count, piece in enumerate(PIECE.finditer(text), start=1):
        if count > max_tokens:
            return piece.start()
    return len(text)


def _check_alive(ask: Ask) -> None:
    """Raise if the server does not embed a harmless text either: then it is away, and no text is to blame."""
    try:
        ask([PROBE_TEXT])
    except (RefusedError, BrokenError) as error:
        raise TransientError(
            f"the embedding server is broken ({error}). Look at its log; try again later."
        ) from None


def _normalized(vectors: Vectors, failures: dict[int, str], cut_count: int) -> Embedded:
    """Unit rows. A row without a direction is a failure."""
    unit, empty = unit_rows(vectors)
    told = {int(at): failures.get(int(at), "the model knows nothing in this text") for at in empty}
    return Embedded(unit, told, cut_count)


def unit_rows(vectors: Vectors) -> tuple[Vectors, NDArray[np.intp]]:
    """Rows of unit length, and the places of rows without a direction, which are NaN."""
    length = np.linalg.norm(vectors.astype(np.float64), axis=1)
    empty = ~(np.isfinite(length) & (length > LEAST_LENGTH))
    length[empty] = np.nan
    return (vectors / length[:, None]).astype(np.float32), np.flatnonzero(empty)


def matrix(rows: object, count: int, dims: int, who: str) -> Vectors:
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
