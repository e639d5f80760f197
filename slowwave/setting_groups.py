"""The groups of settings: every number of the specification is a default here, never a constant in code."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

Scope = Literal["user-private", "project-shared", "system"]


class Group(BaseModel):
    """A group of settings; an unknown name is an error, so that a typing slip cannot pass unseen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ScopeSettings(Group):
    """Whose memory new rows belong to."""

    user_id: str = Field(default="local", description="Owner of what is recorded.", min_length=1)
    project_id: str = Field(default="default", description="Project of what is recorded.", min_length=1)
    scope: Scope = Field(default="user-private", description="Who may read what is recorded.")


class ChunkSettings(Group):
    """Windows that go to the extractor."""

    window_tokens: int = Field(default=500, ge=50, le=8000, description="Target tokens of a window.")
    overlap_tokens: int = Field(
        default=100,
        ge=0,
        le=4000,
        description="Tokens repeated from the window before; less than the window.",
    )

    @model_validator(mode="after")
    def _overlap_leaves_room(self) -> "ChunkSettings":
        if self.overlap_tokens >= self.window_tokens:
            raise ValueError(f"overlap_tokens must be less than window_tokens ({self.window_tokens})")
        return self


class Price(Group):
    """US dollars for a million tokens of one model."""

    input: float = Field(ge=0, description="Dollars for a million tokens read.")
    output: float = Field(ge=0, description="Dollars for a million tokens written.")


class LLMSettings(Group):
    """The language model behind the nightly work. `none` runs the night without one."""

    provider: Literal["none", "openai", "ollama"] = Field(
        default="none",
        description="`openai` is any OpenAI-compatible server, `ollama` a local Ollama.",
    )
    base_url: str | None = Field(
        default=None, description="Server address; null means the provider's own default."
    )
    api_key: SecretStr | None = Field(default=None, description="Key of the server; never logged.")
    gate_model: str = Field(default="", description="Cheap model for the gate; empty means `model`.")
    model: str = Field(default="", description="Model for extraction, judgement, summaries and promotion.")
    timeout_seconds: float = Field(default=120.0, gt=0, description="Limit of one request.")
    concurrency: int = Field(default=4, ge=1, le=64, description="Requests in flight at once.")
    transport_retries: int = Field(
        default=3, ge=0, le=10, description="Repeats after what can pass: 429, 5xx, time-out, no connection."
    )
    transport_backoff_seconds: float = Field(
        default=1.0, ge=0, description="First pause before a repeat; doubles each time."
    )
    validation_retries: int = Field(
        default=2, ge=0, le=5, description="Repeats with the validation error shown to the model."
    )
    outage_failures: int = Field(
        default=3,
        ge=1,
        description="Transport failures in a row that count as an outage and end the calls of a run.",
    )
    context_tokens: int = Field(default=12_288, ge=2048, description="Context size made certain on Ollama.")
    max_answer_tokens: int = Field(default=3072, ge=64, description="Upper bound of one answer.")
    temperature: float = Field(default=0.0, ge=0, le=2, description="Sampling temperature; 0 repeats best.")
    budget_tokens: int | None = Field(
        default=None, ge=0, description="Tokens that one run may use; null means no limit."
    )
    budget_cost: float | None = Field(
        default=None, ge=0, description="US dollars that one run may cost; null means no limit."
    )
    prices: dict[str, Price] = Field(
        default_factory=dict,
        description="Price by model name; a model without a price is reported as unpriced.",
    )


class EmbeddingSettings(Group):
    """What turns text into vectors."""

    provider: Literal["auto", "ollama", "openai", "wordllama", "none"] = Field(
        default="auto", description="`auto`: Ollama if it answers and has the model, else the embedded one."
    )
    model: str = Field(
        default="nomic-embed-text", description="Model name for Ollama or an OpenAI-compatible server."
    )
    base_url: str | None = Field(
        default=None, description="Server address; null means the provider's own default."
    )
    api_key: SecretStr | None = Field(default=None, description="Key of the server; never logged.")
    batch_size: int = Field(default=64, ge=1, le=2048, description="Texts a request.")
    timeout_seconds: float = Field(default=60.0, gt=0, description="Limit of one request.")
    transport_retries: int = Field(default=3, ge=0, le=10, description="Repeats after what can pass.")
    max_text_tokens: int = Field(
        default=1500, ge=64, description="Longer texts are cut here, counted, before they are sent."
    )
    allow_pull: bool = Field(default=False, description="May Ollama download a missing model.")


class NightSettings(Group):
    """What a night takes in, and the gate of its LLM work."""

    sources: list[Path] = Field(
        default_factory=list, description="Files and folders that every night takes in first."
    )
    min_hours: float = Field(default=20.0, ge=0, description="Hours since the last night's LLM work.")
    min_cells: int = Field(
        default=1, ge=0, description="New chunks or cells that make a night worth its calls."
    )
    extract_batch: int = Field(
        default=8,
        ge=1,
        le=512,
        description="Chunks that are committed together; small, so that later ones are shown what earlier ones gave.",
    )
    known_cells: int = Field(
        default=10, ge=0, le=50, description="Nearest known cells shown to the extractor."
    )
    max_attempts: int = Field(
        default=3, ge=1, description="Unusable answers before a chunk or cluster is quarantined."
    )
    retry_backoff_hours: float = Field(
        default=20.0, ge=0, description="First pause before a failed chunk is tried again; doubles each time."
    )


class ReconcileSettings(Group):
    """Candidates for contradiction detection and deduplication."""

    neighbours: int = Field(default=8, ge=1, le=50, description="Neighbours of each new cell.")
    component_cells: int = Field(default=25, ge=2, le=100, description="Cells that one judgement may see.")


class SummarySettings(Group):
    """Topic summaries."""

    min_unsummarized: int = Field(
        default=5, ge=1, description="Unsummarized cells that call for a new summary."
    )
    max_words: int = Field(default=150, ge=20, le=500, description="Longest summary.")
    max_cells: int = Field(
        default=60, ge=5, description="Live cells shown for one summary, most salient and newest first."
    )


class DecaySettings(Group):
    """Retention = exp(-rate * days_since_access ** exponent)."""

    default_rate: float = Field(default=0.1, ge=0, description="Rate of types that have none of their own.")
    rates: dict[str, float] = Field(
        default_factory=lambda: {
            "preference": 0.05,
            "decision": 0.05,
            "workflow": 0.05,
            "pattern": 0.05,
            "task": 0.15,
        },
        description="Rate by cell type; the default rate for the others.",
    )
    exponent: float = Field(default=0.8, gt=0, description="Below 1: fast at first, slow later.")
    reinforcement: float = Field(
        default=0.05, ge=0, description="Weight of ln(1 + access_count / reinforcement_scale)."
    )
    reinforcement_scale: float = Field(
        default=20.0, gt=0, description="Accesses that count as much as knowing it at all."
    )
    citation_weight: float = Field(default=3.0, ge=0, description="Accesses that one citation counts for.")
    ignore_weight: float = Field(
        default=1.5,
        ge=0,
        description="Accesses that an ignored retrieval takes away: its own, and from 1 on some more.",
    )
    shown_days: float = Field(
        default=180.0,
        ge=0,
        description="Days by which being shown, and neither cited nor said again, prolongs a life at most.",
    )


class ForgetSettings(Group):
    """What may be archived."""

    min_confidence: float = Field(
        default=0.05, ge=0, le=1, description="Effective confidence below which a cell may go."
    )
    unused_days: float = Field(default=90.0, ge=0, description="Days without use before a cell may go.")
    prune_superseded_days: float = Field(
        default=90.0, ge=0, description="Days after which a superseded cell may be pruned."
    )
    prune: bool = Field(
        default=False, description="May superseded cells older than `prune_superseded_days` be removed."
    )
    preview_days: float = Field(
        default=30.0, ge=0, description="Days that the preview of fading looks ahead."
    )
    recent_days: float = Field(
        default=90.0, gt=0, description="Days of the recent false-forgetting rate, beside that of all time."
    )
    max_false_rate: float = Field(
        default=0.01,
        ge=0,
        le=1,
        description="Share of archived cells that came back above which a night warns.",
    )


class PromoteSettings(Group):
    """Core memory."""

    max_lines: int = Field(default=200, ge=1, le=1000, description="Longest core memory.")
    target_lines: int = Field(
        default=60,
        ge=1,
        le=1000,
        description="Lines that a choice may have: well below `max_lines`, since each stands in every prompt.",
    )
    candidates: int = Field(
        default=80, ge=3, description="Cells shown to the model for core memory, a third of them newcomers."
    )
    margin: float = Field(
        default=0.25, ge=0, description="Share that a line of core memory counts more than a newcomer."
    )
    settled_days: float = Field(
        default=7.0, ge=0, description="Days that a line stays at least, as long as it holds."
    )


class SearchSettings(Group):
    """The read path."""

    limit: int = Field(default=10, ge=1, le=25, description="Hits of both tiers together.")
    topics: int = Field(
        default=3, ge=0, description="Share of topic summaries among the hits, against `cells`."
    )
    cells: int = Field(default=7, ge=0, description="Share of cells among the hits, against `topics`.")
    rank_constant: int = Field(default=60, ge=1, description="k of reciprocal rank fusion.")
    text_weight: float = Field(default=1.0, ge=0, description="Weight of the full-text list.")
    vector_weight: float = Field(
        default=1.0, ge=0, description="Multiplied by the embedder profile's own weight."
    )
    entity_weight: float = Field(
        default=0.5,
        ge=0,
        description="Weight of the list of cells that name a person or thing of the question.",
    )
    time_weight: float = Field(
        default=0.5, ge=0, description="Weight of the list of cells from the time that the question names."
    )
    former_weight: float = Field(
        default=0.5,
        ge=0,
        description="Weight of what superseded cells would answer, given to their successors.",
    )
    reason_weight: float = Field(
        default=0.5, ge=0, description="Weight of decisions, insights and risks where a question asks why."
    )
    resident_minutes: float = Field(
        default=10.0,
        ge=0,
        description="After a question of the command line a reader stays this long, so that the next one is "
        "answered at once; 0 leaves none.",
    )
    age_rate: float = Field(default=0.01, ge=0, description="Per day, in exp(-age_rate * age_days).")
    prior_floor: float = Field(
        default=0.5, ge=0, le=1, description="The product of the priors never falls below this."
    )


Shares = tuple[float, float, float, float]


class ContextSettings(Group):
    """What an agent is told unasked: budgets, and how the four tiers share them by activity."""

    budget_tokens: int = Field(
        default=8_000, ge=100, le=1_000_000, description="Tokens of a context, fence and headings included."
    )
    small_tokens: int = Field(
        default=500, ge=50, le=10_000, description="Tokens of the small form, which goes with every message."
    )
    small_lines: int = Field(default=5, ge=1, le=50, description="Memories in the small form, at most.")
    general_shares: Shares = Field(
        default=(0.25, 0.375, 0.25, 0.125),
        description="Shares of the tiers critical, relevant, background and index; together 1.",
    )
    feature_shares: Shares = Field(
        default=(0.25, 0.375, 0.25, 0.125), description="The same while a feature is started."
    )
    debugging_shares: Shares = Field(
        default=(0.375, 0.375, 0.125, 0.125),
        description="The same while debugging: errors and their fixes first.",
    )
    reviewing_shares: Shares = Field(
        default=(0.25, 0.25, 0.375, 0.125),
        description="The same while reviewing: conventions are what a change is held against.",
    )
    shown_entries: int = Field(
        default=2_000, ge=1, le=100_000, description="Memories remembered as shown, for each conversation."
    )
    shown_days: float = Field(
        default=7.0,
        gt=0,
        description="Days after which a memory may be shown to the same conversation again.",
    )

    @model_validator(mode="after")
    def _shares_are_a_whole(self) -> "ContextSettings":
        for name in ("general_shares", "feature_shares", "debugging_shares", "reviewing_shares"):
            shares: Shares = getattr(self, name)
            if min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:  # noqa: PLR2004
                raise ValueError(f"{name} must be four numbers from 0 on that sum to 1")
        return self


class StoreSettings(Group):
    """Upkeep of the store."""

    vector_index_rows: int = Field(default=20_000, ge=256, description="Rows from which a vector index pays.")
    keep_versions_hours: float = Field(
        default=24.0, ge=0, description="Hours for which old table versions are kept; readers need minutes."
    )
