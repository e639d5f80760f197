"""Static word vectors from the model inside WordLlama's wheel: no server, no download."""

import logging
from functools import cache
from pathlib import Path
from typing import Any

from slowwave.deferred import defer_package
from slowwave.embeddings.batches import BatchEmbedder, matrix
from slowwave.embeddings.profiles import load_profile
from slowwave.embeddings.protocol import Embedder, Vectors
from slowwave.errors import ConfigError
from slowwave.settings.groups import EmbeddingSettings


def open_wordllama(settings: EmbeddingSettings, calibration_path: Path | None) -> Embedder:
    """The embedder of the wheel's model: static word vectors, averaged.

    A text without a known token has the zero vector, which is near nothing and far from nothing: a failure.

    Raises:
        ConfigError: the package or its weights are not there, or the calibration file cannot be read.
    """
    profile, model = load_profile("wordllama", calibration_path), _wordllama()

    def ask(texts: list[str]) -> Vectors:
        return matrix(model.embed(texts), len(texts), profile.dims, "WordLlama")

    return BatchEmbedder("wordllama", "l2_supercat", settings, profile, ask)


@cache
def _wordllama() -> Any:
    """The model inside the wheel; never the network."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    defer_package("requests")  # for downloads, which never happen here
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
