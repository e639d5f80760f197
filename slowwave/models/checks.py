"""Checks of the settings and the server before a night: `doctor` shows them, and opening refuses what fails."""

from contextlib import closing

from slowwave.models.requests import models_of
from slowwave.models.servers import (
    OPENAI_ADDRESS,
    ServerError,
    address_of,
    asking,
    cure,
    key_of,
    ollama_client,
    openai_client,
    quiet_libraries,
    shown,
)
from slowwave.settings.groups import LLMSettings

_LISTS_NOTHING = (404, 405, 501)


def check_llm(settings: LLMSettings) -> list[tuple[str, bool, str]]:
    """Rows of (what, is it well, what was found or what to do); sends no prompt and changes nothing."""
    if settings.provider == "none":
        return [("llm", True, "none: nights run without a model. Set SLOWWAVE_LLM__PROVIDER to change that.")]
    problem = settings_problem(settings)
    if problem:
        return [("llm settings", False, problem)]
    quiet_libraries()
    address = shown(address_of(settings))
    try:
        names = _models(settings)
    except ServerError as failure:
        return [("llm server", False, str(failure.error))]
    rows = [("llm server", True, f"{address} answers")]
    for model in models_of(settings):
        name = f"llm model {model}"
        if names is None:
            rows.append((name, True, "the server does not list its models; the first call will tell"))
        elif {model, f"{model}:latest"} & names:
            rows.append((name, True, "is there"))
        else:
            rows.append((name, False, f"{address} does not have it. {cure(settings, model)}"))
    return rows


def settings_problem(settings: LLMSettings) -> str | None:
    """A fault of the settings and its cure, found before anything is sent; None if there is none."""
    if not settings.model:
        return "no language model is named. Set SLOWWAVE_LLM__MODEL, or llm.model in slowwave.toml."
    if not address_of(settings).startswith(("http://", "https://")):
        return "llm.base_url must begin with http:// or https://."
    key = key_of(settings)
    if not key and address_of(settings) == OPENAI_ADDRESS:
        return f"{OPENAI_ADDRESS} needs a key. Set SLOWWAVE_LLM__API_KEY, or a base_url of your own."
    if not (key.isascii() and key.isprintable()):
        return "the key holds characters that no key has. Look at SLOWWAVE_LLM__API_KEY."
    unpriced = [name for name in models_of(settings) if name not in settings.prices]
    if settings.budget_cost is not None and unpriced:
        return f"budget_cost needs a price for {', '.join(unpriced)}. Add it to llm.prices."
    return None


def _models(settings: LLMSettings) -> set[str] | None:
    """Names of the server's models; null when it does not list them."""
    if settings.provider == "ollama":
        with closing(ollama_client(settings)) as ollama, asking(settings):
            return {found.model for found in ollama.list().models if found.model}
    with closing(openai_client(settings)) as client:
        try:
            with asking(settings):
                return {found.id for found in client.models.list()}
        except ServerError as failure:
            if failure.status in _LISTS_NOTHING:
                return None
            raise
