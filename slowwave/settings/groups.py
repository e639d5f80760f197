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
    scan_cells: int = Field(
        default=200,
        ge=0,
        description="Known cells whose neighbours a night looks at again, those longest not looked at first.",
    )
    scan_days: float = Field(
        default=7.0, ge=0, description="Days after which the neighbours of a cell are looked at again."
    )
    scan_pairs: int = Field(
        default=100, ge=0, description="Pairs of known cells that a night shows to the judge."
    )
    review_cells: int = Field(
        default=100, ge=0, description="Cells marked for review that a night judges again."
    )


class SummarySettings(Group):
    """Topic summaries."""

    min_unsummarized: int = Field(
        default=5, ge=1, description="Unsummarized cells that call for a new summary."
    )
    max_words: int = Field(default=150, ge=20, le=500, description="Longest summary.")
    max_cells: int = Field(
        default=60, ge=5, description="Live cells shown for one summary, most salient and newest first."
    )


class EpisodeSettings(Group):
    """Conversations told as episodes, and what stands for one by its age."""

    quiet_hours: float = Field(
        default=3.0, ge=0, description="Hours without a new turn after which a conversation is over."
    )
    min_turns: int = Field(default=4, ge=1, description="Turns that make a conversation worth an episode.")
    summary_days: float = Field(
        default=7.0, ge=0, description="Age from which the summary stands for an episode."
    )
    compressed_days: float = Field(
        default=30.0, ge=0, description="Age from which the compressed line stands for it."
    )
    max_words: int = Field(default=220, ge=40, le=1000, description="Longest text of an episode.")
    summary_words: int = Field(default=60, ge=15, le=300, description="Longest summary of an episode.")
    max_cells: int = Field(
        default=40, ge=1, le=500, description="Memories shown for one episode, most salient first."
    )
    max_turns: int = Field(
        default=30, ge=2, le=500, description="Turns shown for one episode: first, last and most central."
    )
    turn_characters: int = Field(
        default=600, ge=80, le=20_000, description="Longest part of one turn that is shown."
    )
    page_characters: int = Field(
        default=18_000,
        ge=2_000,
        le=1_000_000,
        description="Memories and turns of one page together; less where the model's context is small.",
    )
    max_artifacts: int = Field(
        default=40, ge=0, le=1000, description="Artifacts of one episode, those named in most turns first."
    )
    batch: int = Field(
        default=8, ge=1, le=512, description="Conversations that are told and committed together."
    )

    @model_validator(mode="after")
    def _grows_shorter_with_age(self) -> "EpisodeSettings":
        if self.compressed_days < self.summary_days:
            raise ValueError(f"compressed_days must not be less than summary_days ({self.summary_days:g})")
        return self


class GraphSettings(Group):
    """Entities and edges."""

    enrich_mentions: int = Field(
        default=3, ge=1, description="Mentions from which an entity gets a summary from a model."
    )
    enrich_growth: float = Field(
        default=2.0, gt=1, description="Mentions, times those of its last summary, that call for a new one."
    )
    enrich_entities: int = Field(default=50, ge=0, description="Entities that get a summary in one night.")
    enrich_cells: int = Field(
        default=30, ge=1, description="Live cells shown for one entity, most salient and newest first."
    )
    enrich_words: int = Field(default=60, ge=10, le=300, description="Longest summary of an entity.")
    causal_pairs: int = Field(
        default=50, ge=0, description="Pairs of consecutive sessions asked about causes in one night."
    )
    causal_cells: int = Field(
        default=12, ge=1, le=50, description="Cells of each of the two sessions shown, most salient first."
    )
    causal_confidence: float = Field(
        default=0.7, ge=0, le=1, description="Confidence of a causal edge that a model inferred."
    )
    evidence_edges: int = Field(
        default=8,
        ge=0,
        description="Edges from a cell to turns that it rests on, at most; `evidence` has all.",
    )
    related_edges: int = Field(
        default=3, ge=0, le=20, description="Edges from a new cell to near cells of other topics, at most."
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
            "episode": 0.05,
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


class EditSettings(Group):
    """Edits by a person: remember, correct, confirm, forget, erase, resolve."""

    lock_seconds: float = Field(
        default=10.0,
        ge=0,
        description="How long an edit waits while another process writes, and a run while an edit is written.",
    )
    tombstones_a_memory: int = Field(
        default=3, ge=1, le=20, description="Nearest deleted memories that a new one is held against."
    )
    same_words: float = Field(
        default=0.6,
        ge=0,
        le=1,
        description="Share of common words from which, without a language model, a new memory counts as a "
        "deleted one said again, where no number, day, name or negation differs.",
    )
    weak_days: float = Field(
        default=30.0, gt=0, description="How far `weak` looks ahead, unless it is told otherwise."
    )
    erase_shortest: int = Field(
        default=4, ge=1, description="Characters of the shortest text that `erase --text` accepts."
    )
    proof_shortest: int = Field(
        default=12,
        ge=1,
        description="An erased turn or memory with fewer characters is not searched for afterwards, "
        "since short texts occur anywhere.",
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


class StoreSettings(Group):
    """Upkeep of the store."""

    vector_index_rows: int = Field(default=20_000, ge=256, description="Rows from which a vector index pays.")
    keep_versions_hours: float = Field(
        default=24.0, ge=0, description="Hours for which old table versions are kept; readers need minutes."
    )
