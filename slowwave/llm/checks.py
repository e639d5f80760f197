"""Checks of the settings and the server before a night: `doctor` shows them, and opening refuses what fails."""

import json
from contextlib import closing
from typing import TYPE_CHECKING

from slowwave.deferred import deferred
from slowwave.errors import SlowwaveError
from slowwave.llm.requests import models_of
from slowwave.llm.servers import (
    OPENAI_ADDRESS,
    ServerError,
    address_of,
    call_ollama,
    key_of,
    no_server,
    ollama_client,
    openai_client,
    quiet_libraries,
    shown,
    status_failure,
    unreachable,
)
from slowwave.settings.groups import LLMSettings

if TYPE_CHECKING:
    import openai
else:
    openai = deferred("openai")


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
        names = _ollama_models(settings) if settings.provider == "ollama" else _openai_models(settings)
    except ServerError as failure:
        return [("llm server", False, str(failure.error))]
    rows = [("llm server", True, f"{address} answers")]
    for model in models_of(settings):
        if names is None:
            rows.append(
                (f"llm model {model}", True, "the server does not list its models; the first call will tell")
            )
        elif model in names or f"{model}:latest" in names:
            rows.append((f"llm model {model}", True, "is there"))
        else:
            cure = f"Run `ollama pull {model}`." if settings.provider == "ollama" else "Look at llm.model."
            rows.append((f"llm model {model}", False, f"{address} does not have it. {cure}"))
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


def _ollama_models(settings: LLMSettings) -> set[str]:
    with closing(ollama_client(settings)) as client:
        return {found.model for found in call_ollama(client.list).models if found.model}


def _openai_models(settings: LLMSettings) -> set[str] | None:
    """Names of the server's models; null when it does not list them."""
    failure: SlowwaveError | ServerError
    client = openai_client(settings)
    try:
        return {found.id for found in client.models.list()}
    except openai.APIStatusError as error:
        if error.status_code in (404, 405, 501):
            return None
        failure = status_failure(error, settings.model, settings, is_repeat=False)
    except (openai.APIError, json.JSONDecodeError) as error:
        failure = ServerError(unreachable(error, address_of(settings)))
    except (AttributeError, TypeError):
        failure = no_server(settings)
    finally:
        client.close()
    raise failure if isinstance(failure, ServerError) else ServerError(failure)
