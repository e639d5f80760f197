"""The groups of settings about topics: what joins one, how large it grows, and its summary."""

from slowwave.settings.groups import Count, Group, Positive, Share, setting


class TopicSettings(Group):
    """Topics: which names join, and how large a topic grows."""

    max_cells: int = setting(40, "Live cells that one summary can tell; a topic with more is parted.", ge=6)
    max_share: float = setting(
        0.15, "Share of its owner's live cells above which a topic is parted, too.", gt=0, le=1
    )
    share_from: Count = setting(80, "Live cells of an owner from which `max_share` counts.")
    join_similarity: float = setting(
        0.25,
        "Nearness from which two names mean the same: 0 is the median of all pairs of names, 1 is the same memories.",
        gt=0,
        le=1,
    )
    name_weight: Share = setting(0.4, "Nearness that names add which have all their words in common.")
    crowding: Share = setting(0.1, "Further nearness that is asked of names which would fill a topic.")
    group_from: Positive = setting(
        10, "New memories of a night from which the model files them; fewer go by the names they came with."
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
