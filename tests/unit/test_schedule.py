"""When a night is due."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from flows.schedule import next_night

BERLIN = ZoneInfo("Europe/Berlin")


def berlin(text: str) -> datetime:
    """A moment by the clock of Berlin."""
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN)


def test_the_next_night_is_the_next_time_that_the_local_clock_shows_the_hour():
    assert next_night(berlin("2026-11-20 02:59"), at="03:00", zone=BERLIN) == berlin("2026-11-20 03:00")
    assert next_night(berlin("2026-11-20 03:00"), at="03:00", zone=BERLIN) == berlin("2026-11-21 03:00")
    assert next_night(datetime(2026, 7, 1, tzinfo=UTC), at="03:00", zone=BERLIN).hour == 1  # summer: UTC+2


def test_in_the_nights_when_the_clock_is_changed_there_is_one_night():
    spring = next_night(berlin("2026-03-28 12:00"), at="02:30", zone=BERLIN)
    assert spring.astimezone(BERLIN).isoformat() == "2026-03-29T03:30:00+02:00"
    autumn = next_night(berlin("2026-10-24 12:00"), at="02:30", zone=BERLIN)
    assert autumn.astimezone(BERLIN).isoformat() == "2026-10-25T02:30:00+02:00"
    assert next_night(autumn, at="02:30", zone=BERLIN) == berlin("2026-10-26 02:30")


@given(st.integers(0, 366 * 24 * 60), st.times())
def test_a_night_comes_after_the_last_one_and_within_a_day_and_an_hour(minutes, at):
    after = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    due = next_night(after, at=f"{at:%H:%M}", zone=BERLIN)
    assert after < due <= after + timedelta(hours=25)
