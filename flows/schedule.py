"""Rule of the next night, for `slowwave ui` and `slowwave serve --nightly`."""

from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

import tzlocal


def next_night(after: datetime, *, at: str, zone: tzinfo) -> datetime:
    """First moment (UTC) after `after` at which clocks in `zone` show `at` (HH:MM).

    An hour that is skipped in spring counts as the one behind it; of an hour that comes twice in autumn only the first
    counts, so that no night comes twice.
    """
    first, shown = after.astimezone(zone).date(), time.fromisoformat(at)
    days = (first + timedelta(days=count) for count in range(3))
    moments = (datetime.combine(day, shown, zone).astimezone(UTC) for day in days)
    return next(moment for moment in moments if moment > after)


def local_zone() -> ZoneInfo:
    """The time zone of this machine, or that of the variable TZ; UTC where none is set."""
    return tzlocal.get_localzone()
