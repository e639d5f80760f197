"""Whatever is written, times are ordered ranges in UTC or nothing, and the past stays in the past."""

from datetime import UTC, datetime, timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from slowwave.errors import InputError
from slowwave.language.times import time_of_filter, time_of_question

NOWS = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
WORD_TEXT = (
    "in on at since until before after between and from to by around the of last this next past week weekend month "
    "year quarter day days spring fall winter may march May June sept 7 31 7th 2023 1999, 2023-05-07 2023-05 7.5.2023 "
    "5/13/2023 q2 Q4 first second half early mid late end beginning two a few couple half ago back yesterday today "
    "tonight night Tuesday sun about 999 0 right launch we moved, ? . ' \" ` - – _ 's 10:30 T Z what did"
)
MESSES = st.lists(st.sampled_from(WORD_TEXT.split(" ")) | st.text(max_size=4), max_size=14).map(" ".join)
TEXTS = st.text(max_size=60) | MESSES
UNITS = ["day", "week", "month", "year"]
PAST = st.one_of(
    st.sampled_from(["yesterday", "last night", "the day before yesterday"]),
    st.sampled_from(["week", "weekend", "month", "quarter", "year", "spring", "winter", "May", "Friday"]).map(
        lambda word: f"last {word}"
    ),
    st.builds(
        lambda about, count, unit: f"{about}{count} {unit}s ago",
        st.sampled_from(["", "about ", "around "]),
        st.integers(1, 60) | st.sampled_from(["two", "a"]),
        st.sampled_from([*UNITS, "hour", "minute"]),
    ),
    st.builds(
        lambda count, unit: f"in the last {count} {unit}s",
        st.integers(1, 60),
        st.sampled_from([*UNITS, "hour"]),
    ),
)


@given(TEXTS, NOWS)
@example("two weeks before " * 400, datetime(2026, 1, 1, tzinfo=UTC))
@example("the week before the " * 200, datetime(2026, 1, 1, tzinfo=UTC))
@example("auguſt 2023, ３ days ago, in Ⅻ", datetime(2026, 1, 1, tzinfo=UTC))
def test_a_question_gives_an_ordered_range_of_its_own_words_or_none(text, now):
    found = time_of_question(text, now=now)
    if found is not None:
        assert found.text in text
        assert found.text.strip()
        assert (found.start, found.end) != (None, None)
        for side in (found.start, found.end):
            assert side is None or side.utcoffset() == timedelta(0)
        if found.start is not None and found.end is not None:
            assert found.start < found.end


@given(TEXTS, NOWS)
def test_a_filter_gives_a_moment_in_utc_or_says_that_it_is_none(text, now):
    try:
        after, before, as_of = (
            time_of_filter(text, use=use, now=now) for use in ("after", "before", "as_of")
        )
    except InputError:
        return
    assert after == before <= as_of
    assert after.utcoffset() == as_of.utcoffset() == timedelta(0)


@given(PAST, NOWS)
def test_what_is_past_is_over_by_now(words, now):
    found = time_of_question(f"what happened {words}?", now=now)
    assert found is not None
    assert found.start is not None
    assert found.end is not None
    assert found.start < found.end <= now


@given(st.sampled_from(["in May", "in the summer", "on Friday", "since June", "on 7 July"]), NOWS)
def test_what_has_no_year_has_begun_by_now(words, now):
    found = time_of_question(f"what happened {words}?", now=now)
    assert found is not None
    assert found.start is not None
    assert now - timedelta(days=366) <= found.start <= now


@given(st.dates(datetime(1900, 1, 1).date(), datetime(2099, 12, 31).date()), NOWS)  # noqa: DTZ001
def test_a_date_with_its_year_is_that_day_in_every_form_and_at_any_time(day, now):
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    month = day.strftime("%B")
    forms = [f"on {day}", f"on {day.day} {month} {day.year}", f"{month} {day.day}, {day.year}",
             f"on the {day.day}th of {month}, {day.year}"]  # fmt: skip
    for form in forms:
        found = time_of_question(f"what did we do {form}?", now=now)
        assert found is not None, form
        assert (found.start, found.end) == (start, start + timedelta(days=1)), form
    assert time_of_filter(str(day), use="after", now=now) == start
