"""The group of settings for following transcripts as they grow."""

from slowwave.settings.groups import Group, setting


class WatchSettings(Group):
    """Transcripts that are followed as they grow."""

    poll_seconds: float = setting(
        5.0, "Seconds between two looks at the files that are followed.", ge=0.01, le=3600
    )
    settle_seconds: float = setting(
        2.0, "Seconds for which a file must stay as it is before it is taken in.", ge=0, le=3600
    )
    longest_wait_seconds: float = setting(
        60.0, "Seconds after which a file is taken in although it goes on changing.", ge=0, le=86_400
    )
