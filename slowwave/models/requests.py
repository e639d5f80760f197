"""A prompt, a request to the language model and its outcome."""

from collections.abc import Mapping
from dataclasses import dataclass

from slowwave.errors import SlowwaveError
from slowwave.models.answers.fields import Answer
from slowwave.settings.groups import LLMSettings


@dataclass(frozen=True, slots=True)
class Prompt:
    """`prompt_version` names file and version (`extract_cells.v1`); both texts are final, never templates."""

    prompt_version: str
    system: str
    user: str


@dataclass(frozen=True, slots=True)
class Request:
    """One question. `page` reaches the answer's validators: the numbers and bounds that the prompt showed."""

    prompt: Prompt
    answer: type[Answer]
    page: Mapping[str, object]
    is_gate: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one request: exactly one of `answer` and `error` is set.

    `call_count` counts requests sent, repeats included; tokens and US dollars cover all of them. `cost` is
    null when the model has no price. What was never sent, or came from the cache, costs 0.
    """

    answer: Answer | None
    error: SlowwaveError | None
    model: str
    prompt_version: str
    call_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    is_cached: bool = False


def models_of(settings: LLMSettings) -> list[str]:
    """Names of the models that a run may ask, each once."""
    return list(dict.fromkeys([settings.model, settings.gate_model or settings.model]))


def model_of(settings: LLMSettings, request: Request) -> str:
    """The model that a request goes to: gates may have a cheaper one."""
    return (settings.gate_model or settings.model) if request.is_gate else settings.model
