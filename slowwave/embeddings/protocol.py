"""The protocol of an embedder, and the vectors that it returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from slowwave.embeddings.profiles import Profile
from slowwave.embeddings.relevance import Relevance, Vectors


@dataclass(frozen=True)
class Embedded:
    """Vectors in the order of the texts, float32 (n, dims), L2-normalised; a failed text is a row of NaN.

    `failures` gives the reason by position; `cut_count` is how many texts were too long and cut.
    """

    vectors: Vectors
    failures: dict[int, str]
    cut_count: int


class Embedder(Protocol):
    """An embedder, as the rest of Slowwave knows it."""

    @property
    def embedder_id(self) -> str:
        """Provider/model/dims/prefix version, and `+` a store's fit. Vectors of different ids are never compared."""

    @property
    def dims(self) -> int:
        """Width of a vector."""

    @property
    def profile(self) -> Profile:
        """Prefixes and thresholds."""

    @property
    def relevance(self) -> Relevance:
        """The noise of this space, for judging a question's similarity to a memory."""

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        """Vectors of stored texts.

        Raises:
            TransientError: the server is away, overloaded or broken; nothing was embedded.
            ConfigError: the model is not there, may not be used, or has other dimensions.
            OutputError: the answer cannot be read.
        """

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        """Vectors of questions; raises as `embed_documents`."""

    def embed_query(self, text: str) -> Vectors:
        """Vector of a question, (dims,).

        Raises:
            InputError: this text has no vector (nothing in it that the model knows): search by words alone.
            TransientError, ConfigError, OutputError: as above.
        """


def embedder_id_of(provider: str, model: str, profile: Profile) -> str:
    """The id of an embedder: vectors of different ids are never compared."""
    return f"{provider}/{model}/{profile.dims}/{profile.prefix_version}"
