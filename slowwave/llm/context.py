"""Ollama's models with our context size: it takes `num_ctx` from the model alone, so a derived model carries it.

Without it Ollama would drop the start of a long prompt and say nothing.
"""

import re
from typing import TYPE_CHECKING

from slowwave.errors import ConfigError
from slowwave.llm.servers import NotThereError, ServerError, call_ollama
from slowwave.settings.groups import LLMSettings

if TYPE_CHECKING:
    import ollama


def sent_model(settings: LLMSettings, model: str) -> str:
    """The model's name as the server is told it: Ollama's derived one carries our context size."""
    return _derived_name(model, settings.context_tokens) if settings.provider == "ollama" else model


def bake_context(client: "ollama.Client", model: str, context_tokens: int) -> None:
    """Make sure that the derived model exists and proves its context size.

    The base is looked at first: Ollama would silently download a base that is not there.

    Raises:
        ServerError: the server failed, the base is missing or too small, or the size did not take.
    """
    derived = _derived_name(model, context_tokens)
    base, problem = _show(client, model), ""
    if base is None:
        problem = f"Ollama has no model {model}. Run `ollama pull {model}`, or set llm.model."
    else:
        sizes = [size for name, size in (base.modelinfo or {}).items() if name.endswith(".context_length")]
        if any(isinstance(size, int) and size < context_tokens for size in sizes):
            problem = f"{model} has a context of {min(sizes)} tokens: set llm.context_tokens to that or less."
    if not problem and _context_size(_show(client, derived)) != context_tokens:
        call_ollama(lambda: client.create(derived, from_=model, parameters={"num_ctx": context_tokens}))
        found = _context_size(_show(client, derived))
        if found != context_tokens:
            problem = f"Ollama made {derived} with num_ctx {found}, not {context_tokens}. Update Ollama."
    if problem:
        raise ServerError(ConfigError(problem), is_fatal=True)


def _show(client: "ollama.Client", model: str) -> "ollama.ShowResponse | None":
    """Ollama's description of a model, or null when it does not have it."""
    try:
        return call_ollama(lambda: client.show(model))
    except ServerError as failure:
        if isinstance(failure.error, NotThereError):
            return None
        raise


def _context_size(shown: "ollama.ShowResponse | None") -> int | None:
    """The `num_ctx` that a model's parameters prove."""
    found = re.search(r"^num_ctx\s+(\d+)\s*$", (shown.parameters or "") if shown else "", re.MULTILINE)
    return int(found[1]) if found else None


def _derived_name(model: str, context_tokens: int) -> str:
    return f"slowwave-{re.sub(r'[^A-Za-z0-9._-]', '-', model)}-{context_tokens}"
