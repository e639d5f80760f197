"""The groups of settings: every number of the specification is a default here, never a constant in code."""

from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

Scope = Literal["user-private", "project-shared", "system"]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Batch = Annotated[int, Field(ge=1, le=512)]
Lines = Annotated[int, Field(ge=1, le=1000)]
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
        "default",
        "The home's own project: of what is remembered or recorded outside of any other.",
        min_length=1,
    )
    project_from: Literal["repository", "setting"] = setting(
        "repository",
        "The project of a conversation: of the git repository that it was held in, or always `project_id`, and then no "
        "other project is read or written.",
    )
    moved: dict[str, str] = Field(
        default_factory=dict,
        description="Moved or cloned repositories: the project of the folder now, and the one whose memory it has.",
    )
    scope: Scope = setting("user-private", "Who may read what is recorded.")


class ChunkSettings(Group):
    """Windows that go to the extractor."""

    window_tokens: int = setting(500, "Target tokens of a window.", ge=50, le=8000)
    overlap_tokens: int = setting(
        100, "Tokens repeated from the window before; less than the window.", ge=0, le=4000
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
    transport_backoff_seconds: Amount = setting(1.0, "First pause before a repeat; doubles each time.")
    validation_retries: int = setting(2, "Repeats with the validation error shown to the model.", ge=0, le=5)
    outage_failures: Positive = setting(
        3, "Transport failures in a row that count as an outage and end the calls of a run."
    )
    context_tokens: int = setting(12_288, "Context size made certain on Ollama.", ge=2048)
    max_answer_tokens: int = setting(6144, "Upper bound of one answer.", ge=64)
    temperature: float = setting(0.0, "Sampling temperature; 0 repeats best.", ge=0, le=2)
    budget_tokens: int | None = setting(None, "Tokens that one run may use; null means no limit.", ge=0)
    budget_cost: float | None = setting(None, "US dollars that one run may cost; null means no limit.", ge=0)
    prices: dict[str, Price] = Field(
        default_factory=dict,
        description="Price by model name; a model without a price is reported as unpriced.",
    )


class EmbeddingSettings(Group):
    """The model that turns text into vectors."""

    provider: Literal["auto", "ollama", "openai", "wordllama", "none"] = setting(
        "auto", "`auto`: Ollama if it answers and has the model, else the embedded one."
    )
    model: str = setting("nomic-embed-text", "Model name for Ollama or an OpenAI-compatible server.")
    base_url: str | None = setting(None, "Server address; null means the provider's own default.")
    api_key: SecretStr | None = setting(None, "Key of the server; never logged.")
    batch_size: int = setting(64, "Texts a request.", ge=1, le=2048)
    timeout_seconds: float = setting(60.0, "Limit of one request.", gt=0)
    transport_retries: int = setting(3, "Repeats after what can pass.", ge=0, le=10)
    max_text_tokens: int | None = setting(
        None,
        "Longer texts are cut here, counted, before they are sent; null: as the model's profile says, at most 1500.",
        ge=64,
    )
    query_prefix: str | None = setting(
        None, "Text that the server's model wants in front of a question; null means its profile's."
    )
    document_prefix: str | None = setting(
        None, "Text that the server's model wants in front of a stored text; null means its profile's."
    )
    centring: bool = setting(
        True,
        "Take what all texts of the home share out of its vectors, fitted after ingest, for every model.",
    )
    centring_components: int = setting(
        3,
        "Principal components of the home's vectors taken out beside their mean; in a small home at most one for each "
        "50 texts.",
        ge=0,
        le=10,
    )
    centring_texts: int = setting(6, "Turns and memories from which on the home's vectors are fitted.", ge=2)
    centring_growth: float = setting(
        1.5, "Turns and memories, times those of the last fit, that call for a new one.", gt=1
    )
    centring_sample: int = setting(20_000, "Texts, evenly spaced, that a fit looks at, at most.", ge=10)


class NightSettings(Group):
    """The sources of a night, and the gate of its LLM work."""

    sources: list[Path] = Field(
        default_factory=list, description="Files and folders that every night takes in first."
    )
    min_hours: Amount = setting(20.0, "Hours since the last night's LLM work.")
    min_cells: Count = setting(1, "New chunks or cells that make a night worth its calls.")
    learn_at_once: bool = setting(
        default=True,
        meaning="Extract what a conversation said when it has ended, in the background; else the night does it.",
    )
    learn_tokens: Count = setting(200_000, "Tokens a day for that; what is left waits for the night.")
    page_tokens: int = setting(
        1500,
        "New tokens of one request to the extractor: consecutive chunks of one session.",
        ge=50,
        le=16_000,
    )
    extract_batch: Batch = setting(
        8,
        "Pages of different owners that go to the extractor side by side; those of one owner wait for each other.",
    )
    known_cells: int = setting(
        10, "Known cells from before a page that the extractor is shown, nearest first.", ge=0, le=50
    )
    earlier_tokens: int = setting(
        90, "Tokens of what a session's earlier pages gave that its next page is shown.", ge=0, le=1000
    )
    topic_names: int = setting(20, "Names of topics near a page that the extractor is shown.", ge=0, le=100)
    max_attempts: Positive = setting(3, "Unusable answers before a chunk or cluster is quarantined.")
    retry_backoff_hours: Amount = setting(
        20.0, "First pause before a failed chunk is tried again; doubles each time."
    )
    damaged_store: Literal["stop", "rebuild"] = setting(
        "stop",
        "A night that finds the store damaged stops before it changes anything, or rebuilds it from the journal first.",
    )


class ReconcileSettings(Group):
    """Pairs of memories that the language model is asked about."""

    scan_cells: Count = setting(
        200, "Known cells whose neighbours a night looks at again, those longest not looked at first."
    )
    scan_days: Amount = setting(7.0, "Days after which the neighbours of a cell are looked at again.")
    scan_pairs: Count = setting(
        100, "Pairs of known cells that a night shows to the judge, beside all pairs of new ones."
    )


class EpisodeSettings(Group):
    """Conversations told as episodes, and what stands for one by its age."""

    quiet_hours: Amount = setting(3.0, "Hours without a new turn after which a conversation is over.")
    min_turns: Positive = setting(4, "Turns that make a conversation worth an episode.")
    summary_days: Amount = setting(7.0, "Age from which the summary stands for an episode.")
    compressed_days: Amount = setting(30.0, "Age from which the compressed line stands for it.")
    max_words: int = setting(220, "Longest text of an episode.", ge=40, le=1000)
    turn_words: int = setting(6, "Words of its text for each turn, up to that; 40 at least.", ge=1, le=100)
    summary_words: int = setting(60, "Longest summary of an episode.", ge=15, le=300)
    max_cells: int = setting(40, "Memories shown for one episode, most salient first.", ge=1, le=500)
    max_turns: int = setting(30, "Turns shown for one episode: first, last and most central.", ge=2, le=500)
    remembered_turns: int = setting(
        8, "The same where memories were made of the conversation: they tell the rest.", ge=2, le=500
    )
    turn_characters: int = setting(600, "Longest part of one turn that is shown.", ge=80, le=20_000)
    page_characters: int = setting(
        18_000,
        "Memories and turns of one page together; less where the model's context is small.",
        ge=2_000,
        le=1_000_000,
    )
    max_artifacts: int = setting(
        40, "Artifacts of one episode, those named in most turns first.", ge=0, le=1000
    )
    batch: Batch = setting(8, "Conversations that are told and committed together.")

    @model_validator(mode="after")
    def _grows_shorter_with_age(self) -> "EpisodeSettings":
        if self.compressed_days < self.summary_days:
            raise ValueError(f"compressed_days must not be less than summary_days ({self.summary_days:g})")
        return self


class GraphSettings(Group):
    """Entities and causes."""

    enrich_mentions: Positive = setting(3, "Mentions from which an entity gets a summary from a model.")
    enrich_general_mentions: Positive = setting(12, "The same for a place or a concept.")
    enrich_growth: float = setting(
        2.0, "Mentions, times those of its last summary, that call for a new one.", gt=1
    )
    enrich_entities: Count = setting(30, "Entities that get a summary in one night.")
    enrich_cells: Positive = setting(40, "Live cells shown for one entity, most salient and newest first.")
    enrich_words: int = setting(60, "Longest summary of an entity with the fewest mentions.", ge=10, le=300)
    enrich_mention_words: Count = setting(7, "Words more for each further mention.")
    enrich_most_words: int = setting(200, "Longest summary of any entity.", ge=10, le=1000)
    match_people: int = setting(
        24, "People on the one page of a night that asks who is described, at most.", ge=2, le=60
    )
    match_memories: int = setting(3, "Memories shown for each of them.", ge=1, le=10)
    causal_pages: Count = setting(10, "Conversations asked about causes in one night, the newest first.")
    causal_cells: int = setting(26, "Cells on one of these pages, at most.", ge=2, le=60)
    causal_confidence: Share = setting(0.7, "Confidence of a causal edge that a model inferred.")


class DecaySettings(Group):
    """Retention = exp(-rate * days_since_access ** exponent)."""

    default_rate: Amount = setting(0.1, "Rate of types that have none of their own.")
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
    exponent: float = setting(0.8, "Below 1: fast at first, slow later.", gt=0)
    reinforcement: Amount = setting(0.05, "Weight of ln(1 + access_count / reinforcement_scale).")
    reinforcement_scale: float = setting(20.0, "Accesses that count as much as knowing it at all.", gt=0)
    citation_weight: Amount = setting(3.0, "Accesses that one citation counts for.")
    ignore_weight: Amount = setting(
        1.5, "Accesses that an ignored retrieval takes away: its own, and from 1 on some more."
    )
    shown_days: Amount = setting(
        180.0, "Days by which being shown, and neither cited nor said again, prolongs a life at most."
    )


class ForgetSettings(Group):
    """Limits of archiving and pruning."""

    min_confidence: Share = setting(0.05, "Effective confidence below which a cell may go.")
    unused_days: Amount = setting(90.0, "Days without use before a cell may go.")
    prune_superseded_days: Amount = setting(90.0, "Days after which a superseded cell may be pruned.")
    prune: bool = setting(False, "May superseded cells older than `prune_superseded_days` be removed.")
    preview_days: Amount = setting(30.0, "Days that the preview of fading looks ahead.")
    recent_days: float = setting(
        90.0, "Days of the recent false-forgetting rate, beside that of all time.", gt=0
    )
    max_false_rate: Share = setting(0.01, "Share of archived cells that came back above which a night warns.")


class RecordSettings(Group):
    """Messages recorded as they are said."""

    fold_seconds: Amount = setting(
        2.0, "Seconds after which recorded messages are taken into the store, many together, to be found."
    )
    retry_seconds: float = setting(
        15.0, "Seconds after which that is tried again, where another process writes the store.", gt=0
    )


class EditSettings(Group):
    """Edits by a person: remember, correct, confirm, forget, erase, resolve."""

    lock_seconds: Amount = setting(
        10.0, "How long an edit waits for the writer lock, which a run holds for each of its commits."
    )
    tombstones_a_memory: int = setting(
        3, "Nearest deleted memories that a new one is held against.", ge=1, le=20
    )
    same_words: Share = setting(
        0.6,
        "Share of common words from which, without a language model, a new memory counts as a "
        "deleted one said again, where no number, day, name or negation differs.",
    )
    weak_days: float = setting(30.0, "How far `weak` looks ahead, unless it is told otherwise.", gt=0)
    erase_shortest: Positive = setting(4, "Characters of the shortest text that `erase --text` accepts.")
    proof_shortest: Positive = setting(
        12,
        "An erased turn or memory with fewer characters is not searched for afterwards, "
        "since short texts occur anywhere.",
    )
    secret_shortest: int = setting(
        7,
        "Characters from which `run redact` masks a secret of letters and digits wherever it stands, and not only "
        "where its surroundings show it.",
        ge=4,
        le=64,
    )


class PromoteSettings(Group):
    """Core memory."""

    max_lines: Lines = setting(200, "Longest core memory.")
    target_lines: Lines = setting(
        60, "Lines that a choice may have: well below `max_lines`, since each stands in every prompt."
    )
    candidates: int = setting(
        80, "Cells shown to the model for core memory, a third of them newcomers.", ge=3
    )
    margin: Amount = setting(0.25, "Share that a line of core memory counts more than a newcomer.")
    settled_days: Amount = setting(7.0, "Days that a line stays at least, as long as it holds.")


class StoreSettings(Group):
    """Upkeep of the store."""

    vector_index_rows: int = setting(20_000, "Rows from which a vector index pays.", ge=256)
    keep_versions_hours: Amount = setting(
        24.0, "Hours for which old table versions are kept; readers need minutes."
    )
    keep_damaged_days: int = setting(
        14, "Days for which `slowwave run rebuild` keeps a store that it found damaged.", ge=0, le=3_650
    )
