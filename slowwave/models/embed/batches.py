"""Batches, cutting and bisection, the same for every embedder: one bad text never costs another its vector."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

import numpy as np
from numpy.typing import NDArray

from slowwave.errors import ConfigError, InputError, OutputError, TransientError
from slowwave.models.embed.profiles import Profile
from slowwave.models.embed.protocol import Embedded, Embedder, embedder_id_of
from slowwave.models.embed.relevance import Vectors, guessed_relevance
from slowwave.models.servers import ServerError
from slowwave.settings.groups import EmbeddingSettings

Ask = Callable[[list[str]], Vectors]
"""One call of the model: vectors in the order of the texts, not yet of unit length.

Raises:
    ServerError: the server failed; `is_about_text` where other texts, or fewer, may pass.
"""

Cut = Callable[[str, int], int]
"""The position at which a text has so many tokens, or its length."""

PROBE_TEXT = "memory"
"""A text that no model refuses."""

PIECE = re.compile(r"[A-Za-z]{1,4}|[^\sA-Za-z]")
"""One token, where nothing better is known: up to four letters, or one other character."""

LEAST_LENGTH = 1e-6
"""Length of a vector under which its direction is rounding."""

MAX_TOKENS = 1_500
"""Most tokens of a text where no setting says so: Ollama can crash above 2,048."""

_MAX_HALVINGS = 3

BATCH_SIZE = 64
"""Texts a request: a server on a CPU must answer within `embedding.timeout_seconds`."""


@dataclass(frozen=True)
class BatchEmbedder(Embedder):
    """An embedder whose model takes whole batches. Made by `batch_embedder`."""

    settings: EmbeddingSettings
    ask: Ask = field(repr=False)
    cut_at: Cut = field(repr=False)

    def embed(self, texts: Sequence[str], prefix: str) -> Embedded:
        """As `Embedder`."""
        limit = self.settings.max_text_tokens or min(MAX_TOKENS, self.profile.max_tokens)
        return embed_in_batches(
            texts,
            ask=lambda batch: self.ask([prefix + text for text in batch]),
            dims=self.dims,
            batch_size=BATCH_SIZE,
            max_tokens=max(limit - len(PIECE.findall(prefix)), 1),
            cut_at=self.cut_at,
        )


def piece_cut(text: str, max_tokens: int) -> int:
    """The position at which a text has `max_tokens` tokens, counted by `PIECE`, or its length.

    Code and tables come near one token a character, so four characters a token would be too few.
    """
    if len(text) <= max_tokens:
        return len(text)
    for count, piece in enumerate(PIECE.finditer(text), start=1):
        if count > max_tokens:
            return piece.start()
    return len(text)


def batch_embedder(
    provider: str,
    model: str,
    settings: EmbeddingSettings,
    profile: Profile,
    ask: Ask,
    cut_at: Cut = piece_cut,
) -> BatchEmbedder:
    """The embedder of a provider's model; its noise is guessed until a fit measures it."""
    embedder_id = embedder_id_of(provider, model, profile)
    return BatchEmbedder(embedder_id, profile, guessed_relevance(profile), settings, ask, cut_at)


def embed_in_batches(
    texts: Sequence[str], *, ask: Ask, dims: int, batch_size: int, max_tokens: int, cut_at: Cut = piece_cut
) -> Embedded:
    """All texts in batches; a batch that fails is halved until the text that fails stands alone.

    Texts of one length go together: a model pads a batch to its longest text.
    """
    # half a character cannot be sent
    whole = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
    sent = [text[: cut_at(text, max_tokens)] for text in whole]
    least = [math.ceil(len(text) / 2**_MAX_HALVINGS) for text in sent]
    vectors = np.full((len(texts), dims), np.nan, dtype=np.float32)
    failures = {at: "there is no text" for at, text in enumerate(sent) if not text.strip()}
    waiting = sorted((at for at in range(len(sent)) if at not in failures), key=lambda at: len(sent[at]))
    stack = [waiting[at : at + batch_size] for at in range(0, len(waiting), batch_size)][::-1]
    while stack:
        batch = stack.pop()
        try:
            vectors[batch] = ask([sent[at] for at in batch])
        except ServerError as failure:
            _check_about_text(failure, ask)
            at, middle = batch[0], len(batch) // 2
            if middle:
                stack += [batch[middle:], batch[:middle]]
            elif isinstance(failure.error, InputError) and len(sent[at]) > least[at]:
                sent[at] = sent[at][: math.ceil(len(sent[at]) / 2)]
                stack.append(batch)
            else:
                failures[at] = str(failure.error)
    unit, empty = unit_rows(vectors)
    told = {int(at): failures.get(int(at), "the model knows nothing in this text") for at in empty}
    return Embedded(unit, told, sum(len(cut) < len(text) for cut, text in zip(sent, whole, strict=True)))


def _check_about_text(failure: ServerError, ask: Ask) -> None:
    """Raise our error if no text is to blame: also where the server broke, and breaks over a harmless text too."""
    if not failure.is_about_text:
        raise failure.error from None
    if failure.status >= HTTPStatus.INTERNAL_SERVER_ERROR or failure.status < 0:
        try:
            ask([PROBE_TEXT])
        except ServerError as error:
            told = f"the embedding server is broken ({error.error})"
            raise TransientError(told) from None


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
