"""The choice of an embedder: the one that the settings name, or the best that is there."""

from slowwave.errors import ConfigError, SlowwaveError
from slowwave.models.embed.onnx import open_onnx
from slowwave.models.embed.profiles import plain_name
from slowwave.models.embed.protocol import Embedder
from slowwave.models.embed.servers import ollama_names, open_ollama, open_openai
from slowwave.models.embed.wordllama import open_wordllama
from slowwave.settings.groups import EmbeddingSettings

PROBE_SECONDS = 2.0
"""Time that `auto` gives Ollama to list its models."""


def open_embedder(
    settings: EmbeddingSettings,
) -> tuple[Embedder | None, str]:
    """The embedder that the settings ask for, and a sentence that says which one it is and why.

    `auto` takes the model in `folder` if one is named, else Ollama if it answers within `PROBE_SECONDS` and has the
    model, else WordLlama, else none.
    None means: full-text search, and topics by the names that a model gives alone.

    Raises:
        TransientError: the named server is away.
        ConfigError: the named server lacks the model or a key, the named folder is no model's, or the dimensions
            differ from the profile's.
    """
    if settings.provider == "none":
        return None, "No embedder, as the settings say: full-text search only."
    named = {"wordllama": open_wordllama, "onnx": open_onnx, "openai": open_openai, "ollama": open_ollama}
    if settings.provider in named:
        return _told(named[settings.provider](settings), "as the settings say")
    if settings.folder is not None:
        return _told(open_onnx(settings), f"embedding.folder names {settings.folder}")
    try:
        names = ollama_names(settings, PROBE_SECONDS)
    except SlowwaveError:
        why = "Ollama does not answer"
    else:
        if plain_name(settings.model) in names:
            return _told(open_ollama(settings), "Ollama answers and has the model")
        why = f"Ollama answers but lacks {settings.model} (`ollama pull {settings.model}` adds it)"
    try:
        return _told(open_wordllama(settings), why)
    except ConfigError as error:
        return None, f"No embedder: {why}, and {error} Full-text search only."


def check_embedder(
    settings: EmbeddingSettings,
) -> list[tuple[str, bool, str]]:
    """Rows for `doctor`: name of the check, whether it passed, what was found or what to do."""
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
    return [
        *checks,
        ("embedding", sound, found if sound else f"{found}: this model does not tell them apart"),
    ]


def _told(embedder: Embedder, why: str) -> tuple[Embedder, str]:
    return embedder, f"Embedding with {embedder.embedder_id}: {why}."
