"""The groups of settings about topics: what joins one, how large it grows, and its summary."""

from slowwave.settings.groups import Group, Positive, setting


class TopicSettings(Group):
    """Topics: how a model files memories, and how large a topic grows."""

    max_cells: int = setting(
        40, "Live cells that one summary can describe; a topic with more is split.", ge=6
    )
    group_memories: int = setting(
        300, "New memories on one page of the model that files them.", ge=10, le=2000
    )
    group_topics: int = setting(80, "Topics shown on such a page, the nearest first.", ge=0, le=1000)
    group_words: int = setting(18, "Words of a memory shown on such a page.", ge=5, le=200)


class SummarySettings(Group):
    """Topic summaries."""

    min_unsummarized: Positive = setting(5, "Unsummarized cells that call for a new summary.")
    max_words: int = setting(150, "Longest summary.", ge=20, le=500)
    max_cells: int = setting(60, "Live cells shown for one summary, most salient and newest first.", ge=5)
    whole_tokens: int = setting(
        600,
        "Tokens of the live cells that are shown whole for one summary; the others are shown in their compressed form.",
        ge=0,
        le=20_000,
    )
