"""The groups of settings of the read path: search, and context for a prompt."""

from pydantic import model_validator

from slowwave.settings.groups import Amount, Count, Group, Share, setting


class SearchSettings(Group):
    """The read path."""

    limit: int = setting(10, "Hits of both tiers together.", ge=1, le=25)
    topics: Count = setting(3, "Topic summaries among the hits, at most.")
    answer_share: Amount = setting(
        0.4,
        "Part of a turn's score that the next turn gets, where it asks something: answers follow questions.",
    )
    asking_penalty: Share = setting(
        0.4, "Part of its score that a turn of nothing but questions gives up; of half of them, half of it."
    )
    speaker_bonus: Amount = setting(
        0.5, "Added to turns of the speaker, where a question names one; a list that leads gives 1."
    )
    excerpt_characters: int = setting(
        600,
        "Characters of a memory or turn that are shown at most: the parts of it that tell what is asked.",
        ge=80,
        le=100_000,
    )
    resident_minutes: Amount = setting(
        10.0,
        "The first question of the command line starts a reader, which stays so long after the last one and answers "
        "the next at once; 0 starts none.",
    )
    memory_rows: Count = setting(
        200_000,
        "A reader that stays keeps tables of at most so many rows in memory, with their full text; "
        "0 leaves all on disk.",
    )
    episodes: int = setting(
        1,
        "Episodes among the hits, in the place of as many topic summaries, where a question asks when or for anything.",
        ge=0,
        le=25,
    )
    age_rate: Amount = setting(0.01, "Per day, in exp(-age_rate * age_days).")
    prior_floor: Share = setting(
        0.5, "The prior at its least: salience, age and retention fill the rest to 1."
    )


Shares = tuple[float, float, float, float]


class ContextSettings(Group):
    """Context that an agent gets unasked: budgets, and how the four tiers share them by activity."""

    budget_tokens: int = setting(
        8_000, "Tokens of a context, fence and headings included.", ge=100, le=1_000_000
    )
    small_tokens: int = setting(
        500, "Tokens of the small form, which goes with every message.", ge=50, le=10_000
    )
    opening_tokens: int = setting(
        1_500,
        "Tokens of what stands at the start of a conversation: open matters, core memory.",
        ge=100,
        le=100_000,
    )
    opening_shares: Shares = setting(
        (0.25, 0.15, 0.6, 0.0),
        "The shares there: open matters of persons, those that others told of, core memory, wishes as they were said.",
    )
    open_task_days: Amount = setting(
        30.0, "Days for which a task without a day of its own is told there, since it was last said."
    )
    small_lines: int = setting(5, "Memories in the small form, at most.", ge=1, le=50)
    past_task_days: Amount = setting(
        14.0, "Days after the day of a task from which it is no longer shown as open, whatever became of it."
    )
    general_shares: Shares = setting(
        (0.25, 0.375, 0.25, 0.125),
        "Shares of the tiers critical, relevant, background and index; together 1.",
    )
    feature_shares: Shares = setting((0.25, 0.375, 0.25, 0.125), "The same while a feature is started.")
    debugging_shares: Shares = setting(
        (0.375, 0.3125, 0.1875, 0.125), "The same while debugging: errors and their fixes first."
    )
    reviewing_shares: Shares = setting(
        (0.25, 0.25, 0.375, 0.125), "The same while reviewing: conventions are what a change is held against."
    )
    quote_characters: int = setting(
        480,
        "Characters of a turn or memory on a page at most; of a longer one the parts that tell what is asked.",
        ge=80,
        le=100_000,
    )
    told_weight: Share = setting(
        0.6, "What is left of a turn's score once a memory of it stands on the page, and the other way round."
    )
    shown_entries: int = setting(
        2_000, "Memories remembered as shown, for each conversation.", ge=1, le=100_000
    )
    shown_days: float = setting(
        7.0, "Days after which a memory may be shown to the same conversation again.", gt=0
    )

    @model_validator(mode="after")
    def _shares_are_a_whole(self) -> "ContextSettings":
        for name in (
            "general_shares",
            "feature_shares",
            "debugging_shares",
            "reviewing_shares",
            "opening_shares",
        ):
            shares: Shares = getattr(self, name)
            if min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:  # noqa: PLR2004
                raise ValueError(f"{name} must be four numbers from 0 on that sum to 1")
        return self
