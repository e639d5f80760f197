"""Ollama's models with our context size: it takes `num_ctx` from the model alone, so a derived model carries it.

Without it Ollama would drop the start of a long prompt and say nothing.
"""

import re
from http import HTTPStatus
from typing import TYPE_CHECKING

from slowwave.errors import ConfigError
from slowwave.models.servers import ServerError, asking, cure
from slowwave.settings.groups import LLMSettings

if TYPE_CHECKING:
    import ollama


def sent_model(settings: LLMSettings, model: str) -> str:
    """The model's name as the server is told it: Ollama's derived one carries our context size."""
    if settings.provider != "ollama":
        return model
    return f"slowwave-{re.sub(r'[^A-Za-z0-9._-]', '-', model)}-{settings.context_tokens}"


def bake_context(settings: LLMSettings, client: "ollama.Client", model: str) -> None:
    """Make sure that the derived model exists and proves its context size.

    The base is looked at first: Ollama would silently download a base that is not there.

    Raises:
        ServerError: the server failed, the base is missing or too small, or the size did not take.
    """
    derived, wanted = sent_model(settings, model), settings.context_tokens
    base, problem = _show(settings, client, model), ""
    if base is None:
        problem = f"Ollama has no model {model}. {cure(settings, model)}"
    else:
        sizes = [size for name, size in (base.modelinfo or {}).items() if name.endswith(".context_length")]
        if any(isinstance(size, int) and size < wanted for size in sizes):
            problem = f"{model} has a context of {min(sizes)} tokens: set llm.context_tokens to that or less."
    if not problem and _context_size(_show(settings, client, derived)) != wanted:
        with asking(settings, model):
            client.create(derived, from_=model, parameters={"num_ctx": wanted})
        found = _context_size(_show(settings, client, derived))
        if found != wanted:
            problem = f"Ollama made {derived} with num_ctx {found}, not {wanted}. Update Ollama."
    if problem:
        raise ServerError(ConfigError(problem), is_fatal=True)


def _show(settings: LLMSettings, client: "ollama.Client", model: str) -> "ollama.ShowResponse | None":
    """Ollama's description of a model, or null when it does not have it."""
    try:
        with asking(settings, model):
            return client.show(model)
    except ServerError as failure:
        if failure.status == HTTPStatus.NOT_FOUND:
            return None
        raise


def _context_size(shown: "ollama.ShowResponse | None") -> int | None:
    """The `num_ctx` that a model's parameters prove."""
    found = re.search(r"^num_ctx\s+(\d+)\s*$", (shown.parameters or "") if shown else "", re.MULTILINE)
    return int(found[1]) if found else None
