"""The groups of settings of the read path: search, and context for a prompt."""

from pydantic import Field, model_validator

from slowwave.settings.groups import Group


class SearchSettings(Group):
    """The read path."""

    limit: int = Field(default=10, ge=1, le=25, description="Hits of both tiers together.")
    topics: int = Field(
        default=3, ge=0, description="Share of topic summaries among the hits, against `cells`."
    )
    cells: int = Field(default=7, ge=0, description="Share of cells among the hits, against `topics`.")
    rank_constant: int = Field(
        default=60,
        ge=1,
        description="k of reciprocal rank fusion: of topic summaries, and of the candidates of reconciliation.",
    )
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
    memory_rows: int = Field(
        default=200_000,
        ge=0,
        description="A reader that stays keeps tables of at most so many rows in memory, with their full text; "
        "0 leaves all on disk.",
    )
    episodes: int = Field(
        default=1,
        ge=0,
        le=25,
        description="Episodes among the hits, in the place of as many topic summaries, where a question asks when "
        "or for anything.",
    )
    age_rate: float = Field(default=0.01, ge=0, description="Per day, in exp(-age_rate * age_days).")
    prior_floor: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="The prior at its least: salience, age and retention fill the rest to 1.",
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
