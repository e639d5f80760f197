"""The form of every embedder, and the vectors that it returns."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from slowwave.errors import InputError
from slowwave.models.embed.profiles import Profile
from slowwave.models.embed.relevance import Relevance, Vectors


@dataclass(frozen=True)
class Embedded:
    """Vectors in the order of the texts, float32 (n, dims), L2-normalised; a failed text is a row of NaN.

    `failures` gives the reason by position; `cut_count` is how many texts were too long and cut.
    """

    vectors: Vectors
    failures: dict[int, str]
    cut_count: int


@dataclass(frozen=True)
class Embedder(ABC):
    """An embedder, as the rest of Slowwave knows it.

    `embedder_id` is provider/model/dims/prefix version, and `+` a store's fit: vectors of different ids are never
    compared. `relevance` is the noise of this space, for judging a question's similarity to a memory.
    """

    embedder_id: str
    profile: Profile
    relevance: Relevance

    @property
    def dims(self) -> int:
        """Width of a vector."""
        return self.profile.dims

    @abstractmethod
    def embed(self, texts: Sequence[str], prefix: str) -> Embedded:
        """Vectors of texts behind a prefix.

        Raises:
            TransientError: the server is away, overloaded or broken; nothing was embedded.
            ConfigError: the model is not there, may not be used, or has other dimensions.
            OutputError: the answer cannot be read.
        """

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        """Vectors of stored texts; raises as `embed`."""
        return self.embed(texts, self.profile.document_prefix)

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        """Vectors of questions; raises as `embed`."""
        return self.embed(texts, self.profile.query_prefix)

    def embed_query(self, text: str) -> Vectors:
        """Vector of a question, (dims,).

        Raises:
            InputError: this text has no vector (nothing in it that the model knows): search by words alone.
            TransientError, ConfigError, OutputError: as above.
        """
        made = self.embed_queries([text])
        if made.failures:
            raise InputError(f"this question has no vector: {made.failures[0]}. Search by words.")
        only: Vectors = made.vectors[0]
        return only


def embedder_id_of(provider: str, model: str, profile: Profile) -> str:
    """The id of an embedder: vectors of different ids are never compared."""
    return f"{provider}/{model}/{profile.dims}/{profile.prefix_version}"
