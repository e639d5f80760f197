"""The group of settings of hooks."""

from slowwave.settings.groups import Group, setting


class HookSettings(Group):
    """Conversations of coding agents, as a server follows them."""

    quiet_minutes: float = setting(
        10.0,
        "Minutes without a message after which a conversation counts as ended and is learned from, where its agent "
        "says nothing of its end.",
        ge=0,
        le=1440,
    )
