"""Static word vectors from the model inside WordLlama's wheel: no server, no download."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from slowwave.embeddings.batches import embed_in_batches, matrix
from slowwave.embeddings.profiles import Profile, load_profile
from slowwave.embeddings.protocol import Embedded, Embedder, Vectors, embedder_id_of, only_vector
from slowwave.errors import ConfigError
from slowwave.settings.groups import EmbeddingSettings


def open_wordllama(settings: EmbeddingSettings, calibration_path: Path | None) -> Embedder:
    """The embedder of the wheel's model.

    Raises:
        ConfigError: the package or its weights are not there, or the calibration file cannot be read.
    """
    return _WordLlamaEmbedder(settings, load_profile("wordllama", calibration_path), _wordllama())


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
        return embedder_id_of("wordllama", "l2_supercat", self.profile)

    @property
    def dims(self) -> int:
        return self.profile.dims

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        return embed_in_batches(
            texts,
            ask=lambda batch: matrix(self.model.embed(batch), len(batch), self.dims, "WordLlama"),
            dims=self.dims,
            batch_size=self.settings.batch_size,
            max_tokens=min(self.settings.max_text_tokens, self.profile.max_tokens),
        )

    def embed_query(self, text: str) -> Vectors:
        return only_vector(self.embed_documents([text]))
