"""Times in English words: what they mean, and what is no time at all."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from slowwave.errors import InputError
from slowwave.language.times import TimeRange, time_of_filter, time_of_question

NOW = datetime(2026, 9, 17, 10, 30, tzinfo=UTC)
"""A Thursday."""
OPEN = "..."


def moment(text: str) -> datetime | None:
    return None if text == OPEN else datetime.fromisoformat(text).replace(tzinfo=UTC)


def asked(question: str, now: datetime = NOW) -> tuple[datetime | None, datetime | None] | None:
    found = time_of_question(question, now=now)
    return (found.start, found.end) if found else None


FILTERS = {
    # word: start (after, before), end (as_of)
    "2026-05-01": ("2026-05-01", "2026-05-02"),
    "2026-05-01T14:30": ("2026-05-01T14:30", "2026-05-01T14:30:00.000001"),
    "2026-05-01 14:30:05.5Z": ("2026-05-01T14:30:05.5", "2026-05-01T14:30:05.500001"),
    "2026-05-01T14:30:00+02:00": ("2026-05-01T12:30", "2026-05-01T12:30:00.000001"),
    "2026-05-01t14:30:00-0500": ("2026-05-01T19:30", "2026-05-01T19:30:00.000001"),
    "2026-05": ("2026-05-01", "2026-06-01"),
    "2026": ("2026-01-01", "2027-01-01"),
    "today": ("2026-09-17", "2026-09-18"),
    "Yesterday": ("2026-09-16", "2026-09-17"),
    "last_week": ("2026-09-07", "2026-09-14"),
    "last-month": ("2026-08-01", "2026-09-01"),
    "LAST YEAR": ("2025-01-01", "2026-01-01"),
    "3 days ago": ("2026-09-14", "2026-09-15"),
    "3-days_ago": ("2026-09-14", "2026-09-15"),
    "two weeks ago": ("2026-09-03", "2026-09-04"),
    "a month ago": ("2026-08-17", "2026-08-18"),
    "2 hours ago": ("2026-09-17T08:30", "2026-09-17T08:30:00.000001"),
    "last_3_days": ("2026-09-14", "2026-09-17T10:30"),
    "last spring": ("2026-03-01", "2026-06-01"),
    "spring": ("2026-03-01", "2026-06-01"),
    "may 2026": ("2026-05-01", "2026-06-01"),
    "may": ("2026-05-01", "2026-06-01"),
    "monday": ("2026-09-14", "2026-09-15"),
    "7 May 2026": ("2026-05-07", "2026-05-08"),
    "now": ("2026-09-17T10:30", "2026-09-17T10:30"),
}


@pytest.mark.parametrize("word", FILTERS)
def test_a_filter_counts_from_the_start_of_a_period_and_as_of_to_its_end(word):
    start, end = FILTERS[word]
    assert time_of_filter(word, use="after", now=NOW) == moment(start)
    assert time_of_filter(word, use="before", now=NOW) == moment(start)
    assert time_of_filter(word, use="as_of", now=NOW) == moment(end)


def test_now_may_come_in_any_zone():
    there = NOW.astimezone(timezone(timedelta(hours=-11)))
    assert time_of_filter("today", use="after", now=there) == moment("2026-09-17")
    assert time_of_filter("now", use="after", now=there).tzinfo is UTC
    assert asked("what did I do yesterday?", there) == (moment("2026-09-16"), moment("2026-09-17"))


@pytest.mark.parametrize(
    "word",
    ["", "   ", "soon", "2026-13-01", "2026-02-30", "05/07/2026", "christmas", "3 days", "since may", "2026-05-01x",
     "2026-05-01T25:00", "tomorrow's", "last", "999999 days ago", "x" * 5_000, "may\x00", "９９９ years"],
)  # fmt: skip
def test_a_filter_that_is_no_time_is_refused_in_one_line_that_says_what_to_write(word):
    with pytest.raises(InputError) as caught:
        time_of_filter(word, use="before", now=NOW)
    message = str(caught.value)
    assert message.startswith("before: ")
    assert repr(word[:40]) in message
    assert "2026-05-01" in message
    assert "\n" not in message
    assert len(message) < 250


QUESTIONS = {
    # calendar
    "what happened on 2023-05-07?": ("2023-05-07", "2023-05-08"),
    "who came on 7 May 2023?": ("2023-05-07", "2023-05-08"),
    "what happened May 7th, 2023": ("2023-05-07", "2023-05-08"),
    "what happened on Sunday, 7 May 2023?": ("2023-05-07", "2023-05-08"),
    "the forest picture of December 1,2023": ("2023-12-01", "2023-12-02"),
    "what did he say on the 5th of May?": ("2026-05-05", "2026-05-06"),
    "what did they give him on Dec 15th?": ("2025-12-15", "2025-12-16"),
    "what did we decide on 29 February?": ("2024-02-29", "2024-03-01"),
    "what did we decide in May?": ("2026-05-01", "2026-06-01"),
    "what did we decide in december": ("2025-12-01", "2026-01-01"),
    "what did we decide in September?": ("2026-09-01", "2026-10-01"),
    "what did we decide in the month of may 2025": ("2025-05-01", "2025-06-01"),
    "which March of last year notes": ("2025-03-01", "2025-04-01"),
    "how often in 2023?": ("2023-01-01", "2024-01-01"),
    "where were we in the summer of 2022?": ("2022-06-01", "2022-09-01"),
    "where were we during the winter?": ("2025-12-01", "2026-03-01"),
    "what happened in winter 2022": ("2022-12-01", "2023-03-01"),
    # a part of a period is read as the period
    "in the beginning of November 2022": ("2022-11-01", "2022-12-01"),
    "where was he in the second week of November?": ("2025-11-01", "2025-12-01"),
    # counted from now
    "what did I do yesterday?": ("2026-09-16", "2026-09-17"),
    "what did we say the day before yesterday": ("2026-09-15", "2026-09-16"),
    "what broke last night": ("2026-09-16", "2026-09-17"),
    "what did I promise this morning?": ("2026-09-17", "2026-09-18"),
    "what was agreed last Tuesday?": ("2026-09-15", "2026-09-16"),
    "what was agreed on Thursday?": ("2026-09-10", "2026-09-11"),
    "what was agreed on Tuesday last week?": ("2026-09-08", "2026-09-09"),
    "what did we do this week?": ("2026-09-14", "2026-09-21"),
    "what did we do last week?": ("2026-09-07", "2026-09-14"),
    "what did we do in the last week?": ("2026-09-10", "2026-09-17T10:30"),
    "what did we do at the weekend?": ("2026-09-12", "2026-09-14"),
    "what did we do last month?": ("2026-08-01", "2026-09-01"),
    "what did we do last quarter?": ("2026-04-01", "2026-07-01"),
    "which trip last year": ("2025-01-01", "2026-01-01"),
    "what happened last spring?": ("2026-03-01", "2026-06-01"),
    "what happened last winter?": ("2025-12-01", "2026-03-01"),
    "what happened last May?": ("2026-05-01", "2026-06-01"),
    "what broke in the last three days?": ("2026-09-14", "2026-09-17T10:30"),
    "within the last hour": ("2026-09-17T09:30", "2026-09-17T10:30"),
    # vague: half a unit on both sides
    "what broke 3 days ago?": ("2026-09-14", "2026-09-15"),
    "what broke two weeks ago?": ("2026-08-31", "2026-09-07"),
    "what broke about two weeks ago?": ("2026-08-31", "2026-09-07"),
    "what broke fifteen days ago?": ("2026-09-02", "2026-09-03"),
    "what broke a month ago?": ("2026-08-02", "2026-09-02"),
    "where did she live 4 years ago?": ("2022-03-18", "2023-03-20"),
    "what happened around 5 June 2023?": ("2023-06-02", "2023-06-09"),
    # sides
    "what did we use before 2024?": (OPEN, "2024-01-01"),
    "what changed since April?": ("2026-04-01", OPEN),
    "what changed after June 3?": ("2026-06-04", OPEN),
    "what did we have until May 2026?": (OPEN, "2026-06-01"),
    "how many has he won by July 10, 2022?": (OPEN, "2022-07-11"),
    "what did we know as of December 2023": (OPEN, "2024-01-01"),
    "what changed after last week's outage?": ("2026-09-07", "2026-09-14"),
    # ranges
    "between March and May 2026": ("2026-03-01", "2026-06-01"),
    "between March and May": ("2026-03-01", "2026-06-01"),
    "from November to February": ("2025-11-01", "2026-03-01"),
    "from May 2023 to July": ("2023-05-01", "2023-08-01"),
    "March–May 2026": ("2026-03-01", "2026-06-01"),
    "May 3-7, 2023": ("2023-05-03", "2023-05-08"),
    "between 3 and 7 May 2023": ("2023-05-03", "2023-05-08"),
    "where was he between August 11 and August 15 2023?": ("2023-08-11", "2023-08-16"),
    "between 2020 and 2022": ("2020-01-01", "2023-01-01"),
    # a time counted from a date is read as the side of it
    "where was he in the week before 16 November 2023?": (OPEN, "2023-11-16"),
    "what ran at 2026-05-01 14:30?": ("2026-05-01", "2026-05-02"),
    # several: the one with a year wins, then the first
    "what was his issue last week, as mentioned on November 6, 2023?": ("2023-11-06", "2023-11-07"),
    "did we do it last month or last week?": ("2026-08-01", "2026-09-01"),
    # the future only where it is said
    "what is planned for next week?": ("2026-09-21", "2026-09-28"),
    "what is tomorrow?": ("2026-09-18", "2026-09-19"),
    # a question about when may say a time too
    "When did we go camping in June?": ("2026-06-01", "2026-07-01"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_means_the_time_that_it_names(question):
    start, end = QUESTIONS[question]
    assert asked(question) == (moment(start), moment(end))


@pytest.mark.parametrize(
    "question",
    ["", "When did we move to Postgres?", "Since when do we use it?", "How long ago did we meet?",
     "may I ask which tests we march through?", "It may fail in 5 steps; we march on", "this may be wrong",
     "how do we set up the spring framework?", "how do I test beans in Spring?", "last Spring Boot release",
     "who came second?", "the second one", "who has the first quarter?", "what did June say to April?",
     "which commit is by June?", "our Q2 goals", "what is in 2000 rows?", "what changed in 2023.1?",
     "open 2023-05-01-add-users.sql", "logs/2023-05-01", "what is on 5/7/2023?", "on 31.2.2023",
     'who wrote "Yesterday"?', "what does `last week` do?", "the last week of school", "his last year at college",
     "what did I do last time?", "the last-minute change", "what do we do on Tuesdays?", "what did she paint recently?",
     "plans for the summer", "two weeks before the launch", "the fall of the server", "in the sun", "a few days"],
)  # fmt: skip
def test_a_question_without_a_sure_time_names_none(question):
    assert time_of_question(question, now=NOW) is None


def test_the_words_of_a_range_are_those_of_the_question():
    found = time_of_question("Well, what did we do In the Last 3 Days, Ana?", now=NOW)
    assert found == TimeRange(moment("2026-09-14"), NOW, "In the Last 3 Days")


def test_last_never_means_what_still_goes_on():
    winter = datetime(2026, 1, 15, tzinfo=UTC)
    assert asked("what broke last winter?", winter) == (moment("2024-12-01"), moment("2025-03-01"))
    assert asked("what broke this winter?", winter) == (moment("2025-12-01"), moment("2026-03-01"))
    sunday = datetime(2026, 9, 20, 9, tzinfo=UTC)
    assert asked("what did we do last weekend?", sunday) == (moment("2026-09-12"), moment("2026-09-14"))
    assert asked("what did we do at the weekend?", sunday) == (moment("2026-09-19"), moment("2026-09-21"))
    assert asked("what did we do on Sunday?", sunday) == (moment("2026-09-13"), moment("2026-09-14"))


def test_a_day_that_a_month_lacks_is_its_last():
    assert asked("what did we do a month ago?", datetime(2026, 3, 31, 12, tzinfo=UTC)) == (
        moment("2026-02-13"),
        moment("2026-03-16"),
    )
