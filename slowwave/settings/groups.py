"""The groups of settings: what somebody sets for their home. Numbers that nobody tunes are constants at their use."""

from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

Scope = Literal["user-private", "project-shared", "system"]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Amount = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]

Default = TypeVar("Default")


def setting(
    default: Default,
    meaning: str,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    min_length: int | None = None,
) -> Default:
    """A field with its default, its line in `docs/settings.md` and its limits."""
    return Field(default=default, description=meaning, ge=ge, gt=gt, le=le, min_length=min_length)


class Group(BaseModel):
    """A group of settings; an unknown name is an error, so that a typing slip cannot pass unseen."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class ScopeSettings(Group):
    """The owner of new rows."""

    user_id: str = setting("local", "Owner of what is recorded.", min_length=1)
    project_id: str = setting(
        "default", "Project of what is recorded outside of any repository.", min_length=1
    )
    project_from: Literal["repository", "setting"] = setting(
        "repository",
        "Project of a conversation: its git repository, or always `project_id`, so that no other is read or written.",
    )
    moved: dict[str, str] = setting(
        {}, "Moved or cloned repositories: the project of the folder now, and the one whose memory it has."
    )
    scope: Scope = setting("user-private", "Who may read what is recorded.")


class ChunkSettings(Group):
    """Windows that go to the extractor."""

    window_tokens: int = setting(500, "Target tokens of a window.", ge=50, le=8000)
    overlap_tokens: int = setting(100, "Tokens repeated from the window before.", ge=0, le=4000)

    @model_validator(mode="after")
    def _overlap_leaves_room(self) -> "ChunkSettings":
        if self.overlap_tokens >= self.window_tokens:
            raise ValueError(f"overlap_tokens must be less than window_tokens ({self.window_tokens})")
        return self


class Price(Group):
    """US dollars for a million tokens of one model."""

    input: float = Field(ge=0, description="Dollars for a million tokens read.")
    output: float = Field(ge=0, description="Dollars for a million tokens written.")


class ReaderSettings(Group):
    """Bounds of what is read that a home may raise; `slowwave/ingest/bounds.py` has the others."""

    line_bytes: int = setting(
        16_000_000, "Bytes of a line of a transcript; longer ones are left out.", ge=10_000, le=64_000_000
    )
    conversation_bytes: int = setting(
        32_000_000,
        "Bytes of an exported conversation; longer ones are left out.",
        ge=10_000,
        le=128_000_000,
    )
    message_characters: int = setting(
        200_000, "Characters of a message; longer ones lose their middle.", ge=1_000, le=1_000_000
    )
    ahead_hours: float = setting(
        24.0, "Hours by which a message may be dated in the future; else its day is unknown.", ge=0, le=8_784
    )


class LLMSettings(Group):
    """The language model behind the nightly work. `none` runs the night without one."""

    provider: Literal["none", "openai", "ollama"] = setting(
        "none", "`openai` is any OpenAI-compatible server, `ollama` a local Ollama."
    )
    base_url: str | None = setting(None, "Server address; null means the provider's own default.")
    api_key: SecretStr | None = setting(None, "Key of the server; never logged.")
    gate_model: str = setting("", "Cheap model for the gate; empty means `model`.")
    model: str = setting("", "Model for extraction, judgement, summaries and promotion.")
    timeout_seconds: float = setting(120.0, "Limit of one request.", gt=0)
    concurrency: int = setting(4, "Requests in flight at once.", ge=1, le=64)
    transport_retries: int = setting(
        3, "Repeats after what can pass: 429, 5xx, time-out, no connection.", ge=0, le=10
    )
    validation_retries: int = setting(2, "Repeats with the validation error shown to the model.", ge=0, le=5)
    context_tokens: int = setting(12_288, "Context size made certain on Ollama.", ge=2048)
    max_answer_tokens: int = setting(6144, "Upper bound of one answer.", ge=64)
    temperature: float = setting(0.0, "Sampling temperature; 0 repeats best.", ge=0, le=2)
    budget_tokens: int | None = setting(None, "Tokens that one run may use; null means no limit.", ge=0)
    budget_cost: float | None = setting(None, "US dollars that one run may cost; null means no limit.", ge=0)
    prices: dict[str, Price] = setting(
        {}, "Price by model name; models without one are reported as unpriced."
    )


class EmbeddingSettings(Group):
    """The model that turns text into vectors."""

    provider: Literal["auto", "ollama", "openai", "onnx", "wordllama", "none"] = setting(
        "auto", "`auto`: the model in `folder`, else Ollama if it has the model, else the embedded one."
    )
    folder: Path | None = setting(None, "Folder of an ONNX model and its tokenizer: docs/embedders.md.")
    model: str = setting("nomic-embed-text", "Model name for Ollama or an OpenAI-compatible server.")
    base_url: str | None = setting(None, "Server address; null means the provider's own default.")
    api_key: SecretStr | None = setting(None, "Key of the server; never logged.")
    timeout_seconds: float = setting(60.0, "Limit of one request.", gt=0)
    transport_retries: int = setting(3, "Repeats after what can pass.", ge=0, le=10)
    max_text_tokens: int | None = setting(
        None, "Longer texts are cut here and counted; null: as the model's profile says, at most 1500.", ge=64
    )
    query_prefix: str | None = setting(None, "Text in front of a question; null means the profile's.")
    document_prefix: str | None = setting(None, "Text in front of a stored text; null means the profile's.")


class NightSettings(Group):
    """The sources of a night, and the gate of its LLM work."""

    sources: list[Path] = setting([], "Files and folders that every night takes in first.")
    at: str = Field(
        default="03:00",
        pattern=r"^([01]\d|2[0-3]):[0-5]\d$",
        description="Time of the night by the clock of this machine, for `slowwave ui` and `slowwave serve --nightly`.",
    )
    min_hours: Amount = setting(20.0, "Hours since the last night's LLM work.")
    learn_at_once: bool = setting(
        default=True,
        meaning="Extract a conversation in the background once it has ended; else the night does.",
    )
    learn_tokens: Count = setting(200_000, "Tokens a day for that; what is left waits for the night.")
    damaged_store: Literal["stop", "rebuild"] = setting(
        "stop", "A night that finds the store damaged changes nothing, or rebuilds it from the journal first."
    )


class SummarySettings(Group):
    """Topic summaries."""

    min_unsummarized: Positive = setting(5, "Unsummarized memories of a topic that call for a new summary.")


class EpisodeSettings(Group):
    """Conversations told as episodes, and the form in which one is shown by its age."""

    quiet_hours: Amount = setting(3.0, "Hours without a new turn after which a conversation is over.")
    summary_days: Amount = setting(7.0, "Age from which an episode is shown by its summary.")
    compressed_days: Amount = setting(30.0, "Age from which it is shown by its compressed line.")

    @model_validator(mode="after")
    def _grows_shorter_with_age(self) -> "EpisodeSettings":
        if self.compressed_days < self.summary_days:
            raise ValueError(f"compressed_days must not be less than summary_days ({self.summary_days:g})")
        return self


class GraphSettings(Group):
    """Entities."""

    enrich_entities: Count = setting(
        30, "Entities that get a summary in one night, each by a request; 0: none."
    )


class DecaySettings(Group):
    """Retention = exp(-rate * days ** .8), in days without use."""

    default_rate: Amount = setting(0.1, "Rate of types that have none of their own.")
    rates: dict[str, float] = setting(
        dict.fromkeys(("preference", "decision", "workflow", "pattern", "episode"), 0.05) | {"task": 0.15},
        "Rate by cell type; the default rate for the others.",
    )


class ForgetSettings(Group):
    """Limits of archiving and pruning."""

    min_confidence: Share = setting(0.05, "Effective confidence below which a cell may go.")
    unused_days: Amount = setting(90.0, "Days without use before a cell may go.")
    prune_superseded_days: Amount = setting(90.0, "Days after which a superseded cell may be pruned.")
    prune: bool = setting(False, "May superseded cells older than `prune_superseded_days` be removed.")


class EditSettings(Group):
    """Edits by a person: remember, correct, confirm, forget, erase, resolve."""

    lock_seconds: Amount = setting(10.0, "Seconds that an edit waits for the writer lock.")


class HookSettings(Group):
    """Conversations of coding agents, as a server follows them."""

    quiet_minutes: float = setting(
        10.0, "Minutes without a message after which a conversation counts as ended.", ge=0, le=1440
    )


class PromoteSettings(Group):
    """Core memory."""

    max_lines: int = setting(200, "Lines of core memory at most, your own among them.", ge=1, le=1000)
    target_lines: int = setting(
        60, "Lines that a night chooses, each of them in every prompt.", ge=1, le=1000
    )


class SearchSettings(Group):
    """The read path."""

    limit: int = setting(10, "Hits of both tiers together.", ge=1, le=25)
    excerpt_characters: int = setting(
        600, "Characters of a memory or turn; longer ones are shown as relevant excerpts.", ge=80, le=100_000
    )
    resident_minutes: Amount = setting(
        10.0, "Minutes without a question after which the command line's reader ends; 0 starts none."
    )
    memory_rows: Count = setting(
        200_000, "A reader that stays holds tables up to so many rows in memory; 0 leaves all on disk."
    )
    age_rate: Amount = setting(0.01, "Per day, in exp(-age_rate * age_days).")


class ContextSettings(Group):
    """Context that an agent gets unasked."""

    budget_tokens: int = setting(8_000, "Tokens of a context, headings included.", ge=100, le=1_000_000)
    small_tokens: int = setting(
        500, "Tokens of the small form, which goes with every message.", ge=50, le=10_000
    )
    opening_tokens: int = setting(1_500, "Tokens at the start of a conversation.", ge=100, le=100_000)
    shown_days: float = setting(7.0, "Days after which a conversation may see a memory again.", gt=0)


class ServerSettings(Group):
    """The one server: HTTP, and MCP over HTTP, on the loopback."""

    port: int = setting(4280, "First port that is tried.", ge=1, le=65_535)
