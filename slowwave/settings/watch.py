"""The group of settings for following transcripts as they grow."""

from slowwave.settings.groups import Group, setting


class WatchSettings(Group):
    """Transcripts that are followed as they grow."""

    with_server: bool = setting(
        False,
        "Follow transcripts while `slowwave serve` runs, as `slowwave ingest --follow` does; nothing asks then.",
    )
    sources: tuple[str, ...] = setting(
        (), "Files and folders that the server follows (default: what coding agents write on this machine)."
    )
    quiet_minutes: float = setting(
        10.0, "Minutes without a message after which a conversation counts as ended.", ge=0, le=1440
    )
    poll_seconds: float = setting(
        5.0, "Seconds between two looks at the files that are followed.", ge=0.01, le=3600
    )
    settle_seconds: float = setting(
        2.0, "Seconds for which a file must stay as it is before it is taken in.", ge=0, le=3600
    )
    longest_wait_seconds: float = setting(
        60.0, "Seconds after which a file is taken in although it goes on changing.", ge=0, le=86_400
    )
    most_share: float = setting(
        0.2,
        "Most of its time that a watch spends on taking in; after a look that took long, the next one comes later.",
        gt=0,
        le=1,
    )
    compact_ingests: int = setting(
        20,
        "Ingests of a watch after which it compacts the store, whose many small parts make each slower.",
        ge=1,
        le=10_000,
    )
