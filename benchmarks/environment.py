"""The environment of a measurement: the same whatever servers and settings the machine has."""

import os


def hide_settings(*, keep: str = "") -> None:
    """Take the machine's own settings away, but for those that begin with `keep`, where it is given."""
    for name in [name for name in os.environ if name.startswith("SLOWWAVE_")]:
        if not (keep and name.startswith(keep)):
            del os.environ[name]
