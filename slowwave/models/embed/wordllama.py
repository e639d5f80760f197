"""Static word vectors from the model inside WordLlama's wheel: no server, no download.

A text's vector is the mean of the vectors of its tokens, which is all that the package computes for it. Its files are
read here instead of importing it: that takes longer than opening a store, and loads its whole matrix.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from slowwave.errors import ConfigError
from slowwave.language.tokens import package_file, token_ids
from slowwave.models.embed.batches import batch_embedder, matrix
from slowwave.models.embed.profiles import load_profile
from slowwave.models.embed.protocol import Embedder
from slowwave.models.embed.relevance import Vectors
from slowwave.settings.groups import EmbeddingSettings

WEIGHTS = Path("weights") / "l2_supercat_256.safetensors"
MATRIX = "embedding.weight"
LONGEST_HEAD = 1_000_000
"""Bytes that describe the matrix: more are no description."""


def open_wordllama(settings: EmbeddingSettings) -> Embedder:
    """The embedder of the wheel's model: static word vectors, averaged.

    A text without a known token has the zero vector, which is near nothing and far from nothing: a failure.

    Raises:
        ConfigError: the package or its weights are not there.
    """
    profile, weights = load_profile("wordllama"), _weights()

    def ask(texts: list[str]) -> Vectors:
        return matrix(_means(weights, token_ids(texts)), len(texts), profile.dims, "WordLlama")

    return batch_embedder("wordllama", "l2_supercat", settings, profile, ask)


def _means(weights: Any, texts: list[list[int]]) -> Vectors:
    """The mean vector of each text's tokens; zeros for a text without any. Each token of a batch is looked up once."""
    known, places = np.unique(
        np.concatenate([np.array(ids, dtype=np.intp) for ids in texts]), return_inverse=True
    )
    vectors = weights[known].astype(np.float32)
    ends = np.cumsum([len(ids) for ids in texts])
    return np.array(
        [
            vectors[places[end - len(ids) : end]].sum(axis=0, dtype=np.float32) / np.float32(max(len(ids), 1))
            for ids, end in zip(texts, ends, strict=True)
        ]
    )


@cache
def _weights() -> Any:
    """The vectors of all tokens in half precision, a row each; pages of the file are read as they are used."""
    path = package_file(WEIGHTS)
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            head = json.loads(file.read(min(size, LONGEST_HEAD)))[MATRIX]
        if head["dtype"] != "F16":
            raise ValueError(head["dtype"])
        start = 8 + size + head["data_offsets"][0]
        return np.memmap(path, dtype="<f2", mode="r", offset=start, shape=tuple(head["shape"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"WordLlama's vectors cannot be read ({type(error).__name__}): reinstall `wordllama`."
        ) from error
