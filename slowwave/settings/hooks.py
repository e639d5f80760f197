"""The group of settings of hooks: how the server takes in the transcripts that harnesses name."""

from slowwave.settings.groups import Group, setting


class HookSettings(Group):
    """Hooks of coding agents, as the server answers them."""

    quiet_seconds: float = setting(
        1.0, "Seconds that a transcript must be left unchanged before it is taken in.", ge=0, le=60
    )
    busy_share: float = setting(
        0.1,
        "Share of the time that taking in one transcript may take while its conversation goes on; its end waits for "
        "nothing.",
        gt=0,
        le=1,
    )
    retry_seconds: float = setting(
        5.0, "Seconds until a transcript is tried again, such as while a night writes.", gt=0, le=3_600
    )
    attempts: int = setting(
        30, "Times that a transcript is tried which keeps changing, or cannot be taken in.", ge=1, le=10_000
    )
    waiting: int = setting(1_000, "Transcripts that may wait to be taken in.", ge=1, le=100_000)
    stop_seconds: float = setting(
        10.0, "Seconds that a server which stops waits for the transcript that it is taking in.", ge=0, le=600
    )
