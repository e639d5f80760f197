"""Common directions: what all texts of one store share is taken out of its vectors, stored ones and questions alike.

Static vectors of texts that name the same two people lie close together whatever the texts are about, and so do all
texts of one project. The mean of a store's own vectors is that common part; principal components are what the texts
share beyond it (Mu and Viswanath 2018, "All-but-the-Top"). A transform fitted on other texts does nothing.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from slowwave.errors import ConfigError
from slowwave.models.embed.batches import unit_rows
from slowwave.models.embed.protocol import Embedded, Embedder
from slowwave.models.embed.relevance import Vectors

_NUMBERS = np.dtype("<f4")


def fit_directions(vectors: Vectors, *, components: int) -> Vectors:
    """The mean of unit vectors (n, dims) and their first `components` principal components, (1 + components, dims)."""
    whole = vectors[np.isfinite(vectors).all(axis=1)].astype(np.float64)
    mean = whole.mean(axis=0)
    around = whole - mean
    _, axes = np.linalg.eigh(around.T @ around)
    principal = axes[:, ::-1][:, :components].T
    return np.vstack([mean[None, :], principal]).astype(np.float32)


def unit_without_common(vectors: Vectors, directions: Vectors) -> tuple[Vectors, NDArray[np.intp]]:
    """Vectors (n, dims) without the mean and the components of `fit_directions`, of unit length.

    Also returns the places of rows of which nothing is left, which are NaN.
    """
    around = vectors - directions[0]
    for axis in directions[1:]:
        around = around - np.outer(around @ axis, axis)
    return unit_rows(np.asarray(around, dtype=np.float32))


def encode_directions(directions: Vectors) -> str:
    """Directions as text: base64 of their float32 numbers, row by row."""
    return base64.b64encode(directions.astype(_NUMBERS).tobytes()).decode("ascii")


def decode_directions(text: str, dims: int) -> Vectors:
    """The directions that `encode_directions` wrote, (rows, dims), bit for bit.

    Raises:
        ConfigError: the text does not hold rows of this width.
    """
    try:
        numbers = np.frombuffer(base64.b64decode(text, validate=True), dtype=_NUMBERS)
        return numbers.reshape(-1, dims).astype(np.float32)
    except ValueError as error:
        raise ConfigError(
            f"a fit of the vector space cannot be read as rows of {dims} numbers; run `slowwave run rebuild`"
        ) from error


def space_id_of(embedder_id: str, directions: str) -> str:
    """Name of the space of an embedder's vectors without these (encoded) directions."""
    return f"{embedder_id}+{hashlib.sha256(directions.encode()).hexdigest()[:8]}"


def base_id_of(space_id: str) -> str:
    """The embedder's own id, of a space that is named after it or of the embedder itself."""
    front, slash, version = space_id.rpartition("/")
    return f"{front}{slash}{version.partition('+')[0]}"


@dataclass(frozen=True)
class CentredEmbedder(Embedder):
    """An embedder without the common directions of one store.

    `known` are the base's vectors of some stored texts: a fit makes them, and the switch to it needs them again.
    """

    base: Embedder
    directions: Vectors = field(repr=False, compare=False)
    known: dict[str, Vectors] = field(default_factory=dict, repr=False, compare=False)

    def embed(self, texts: Sequence[str], prefix: str) -> Embedded:
        """As `Embedder`; of stored texts only those that are not known are embedded."""
        known = self.known if prefix == self.profile.document_prefix else {}
        new = [at for at, text in enumerate(texts) if text not in known]
        made = self.base.embed([texts[at] for at in new], prefix)
        vectors = np.full((len(texts), self.dims), np.nan, dtype=np.float32)
        vectors[new] = made.vectors
        for at, text in enumerate(texts):
            vectors[at] = known.get(text, vectors[at])
        unit, empty = unit_without_common(vectors, self.directions)
        failures = {int(at): "nothing but what all texts share" for at in empty}
        failures |= {new[at]: reason for at, reason in made.failures.items()}
        return Embedded(unit, failures, made.cut_count)


def base_of(embedder: Embedder) -> Embedder:
    """The embedder itself, without a store's fit."""
    return embedder.base if isinstance(embedder, CentredEmbedder) else embedder
