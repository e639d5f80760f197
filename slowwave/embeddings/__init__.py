"""Text to vectors: the one place that imports ollama and openai, and reads WordLlama's vectors, for embeddings.

One small protocol, three ways behind it, and none at all. Vectors are L2-normalised; what could not be
embedded is a row of NaN with its reason, never a made-up vector. A server that is away or unconfigured is
an error, not a row: an outage must not be stored as a property of a text. The libraries are imported
where they are used, so that a face which only reads the journal does not pay for them. Texts never appear
in messages.
"""

from slowwave.embeddings.centring import (
    CentredEmbedder,
    KnownVectors,
    base_id_of,
    base_of,
    decode_directions,
    encode_directions,
    fit_directions,
    space_id_of,
    unit_without_common,
)
from slowwave.embeddings.choice import check_embedder, open_embedder
from slowwave.embeddings.profiles import (
    Profile,
    centred_profile,
    load_profile,
)
from slowwave.embeddings.protocol import Embedded, Embedder
from slowwave.embeddings.relevance import Relevance, Vectors, guessed_relevance, measured_relevance

__all__ = [
    "CentredEmbedder",
    "Embedded",
    "Embedder",
    "KnownVectors",
    "Profile",
    "Relevance",
    "Vectors",
    "base_id_of",
    "base_of",
    "centred_profile",
    "check_embedder",
    "decode_directions",
    "encode_directions",
    "fit_directions",
    "guessed_relevance",
    "load_profile",
    "measured_relevance",
    "open_embedder",
    "space_id_of",
    "unit_without_common",
]
