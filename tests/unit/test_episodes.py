"""Which conversations are told, what a row of an episode is, and what stands for one by its age."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from slowwave.recall.render import episode_text
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.settings.groups import EpisodeSettings
from tasks.compress.extract import extractive_episodes
from tasks.compress.pages import choose_excerpts
from tasks.compress.sessions import due_sessions, session_spans
from tests.rows import DAY, OWNER, row, rows, table_of

NOW = datetime(2026, 9, 17, 3, tzinfo=UTC)
HOURS = timedelta(hours=1)
SETTINGS = EpisodeSettings()
NO_FLAGS = pl.Series("cell_id", [], dtype=pl.String)


def talk(session: str, *, count: int = 4, end: datetime = DAY, recorded: datetime = DAY) -> pl.DataFrame:
    said = [
        row("turns", f"{session}-{n}", session_id=session, turn_index=n, event_time=end - (count - 1 - n) * HOURS,
            recorded_at=recorded) for n in range(count)
    ]  # fmt: skip
    return rows("turns", *said)


def due(
    turns: pl.DataFrame,
    episodes: pl.DataFrame | None = None,
    *,
    learned: datetime = DAY,
    flagged: pl.Series = NO_FLAGS,
    has_model: bool = True,
) -> list[str]:
    """The conversations to tell."""
    spans = session_spans(turns)
    found = due_sessions(
        spans,
        rows("episodes") if episodes is None else episodes,
        learned=spans.select(*OWNER, "session_id").with_columns(last_learned=pl.lit(learned)),
        flagged=flagged,
        now=NOW,
        quiet_hours=SETTINGS.quiet_hours,
        has_model=has_model,
    )
    return found["session_id"].to_list()


def state(turns: pl.DataFrame, **given: object) -> pl.DataFrame:
    """The state of the one conversation in `turns` as an episode."""
    key, session, count = session_spans(turns).select("cell_id", "session_id", "turn_count").row(0)
    whole = {
        "status": "written",
        "turn_count": count,
        "written_at": NOW - 24 * HOURS,
        "prompt_version": "p.v1",
    }
    return table_of("episodes", key, **{"session_id": session, **whole, **given})


def test_a_conversation_is_told_when_nobody_spoke_for_a_while():
    assert due(talk("s", end=NOW - 3 * HOURS)) == ["s"]
    assert due(talk("s", end=NOW - 2.9 * HOURS, recorded=NOW)) == []


def test_a_turn_from_the_future_counts_from_when_it_was_recorded():
    assert due(talk("s", end=NOW + 900 * HOURS, recorded=NOW - 4 * HOURS)) == ["s"]


def test_a_short_exchange_is_no_episode():
    assert due(talk("s", count=3)) == []


def test_a_told_conversation_is_told_again_when_it_grew_or_learned_or_is_in_doubt():
    turns = talk("s")
    told = state(turns)
    assert due(turns, told) == []
    assert due(turns, state(turns, turn_count=3)) == ["s"]
    assert due(turns, told, learned=NOW - HOURS) == ["s"]
    assert due(turns, told, flagged=told["cell_id"]) == ["s"]


def test_what_was_told_without_a_model_is_told_again_with_one():
    turns = talk("s")
    raw = state(turns, prompt_version=RAW_PROMPT)
    assert due(turns, raw) == ["s"]
    assert due(turns, raw, has_model=False) == []


def test_without_a_model_what_a_model_told_stays():
    turns = talk("s")
    assert due(turns, state(turns, turn_count=3), has_model=False) == []
    raw = state(turns, turn_count=3, prompt_version=RAW_PROMPT)
    assert due(turns, raw, has_model=False) == ["s"]


def test_a_failed_conversation_waits_and_a_quarantined_one_waits_until_it_grows():
    turns = talk("s")
    failed = {"status": "failed", "written_at": None, "attempts": 1}
    assert due(turns, state(turns, **failed, retry_at=NOW + HOURS)) == []
    assert due(turns, state(turns, **failed, retry_at=NOW - HOURS)) == ["s"]
    lost = {"status": "quarantined", "written_at": None, "attempts": 3}
    assert due(turns, state(turns, **lost)) == []
    assert due(turns, state(turns, **lost, turn_count=3)) == ["s"]


@pytest.mark.parametrize(
    ("days", "told"),
    [(0, "whole"), (6.9, "whole"), (7, "short"), (29.9, "short"), (30, "line"), (999, "line")],
)
def test_an_episode_grows_shorter_with_age(days: float, told: str):
    episode = {
        "content": "whole",
        "summary": "short",
        "compressed": "line",
        "event_time": NOW - timedelta(days=days),
    }
    assert episode_text(episode, SETTINGS, now=NOW) == told


def said(*texts: str, roles: str = "ua") -> pl.DataFrame:
    names = {"u": "user", "a": "assistant"}
    return pl.DataFrame(
        {
            "episode_id": "e",
            "turn_id": [f"t{number}" for number in range(len(texts))],
            "turn_index": list(range(len(texts))),
            "role": [names[roles[number % len(roles)]] for number in range(len(texts))],
            "speaker": [None] * len(texts),
            "content": list(texts),
        },
        schema_overrides={"speaker": pl.String},
    )


TALK = said(
    "Good morning!",
    "Hello, how can I help?",
    "The kiln of line 2 cracks its tiles since Monday. Find out why, please.",
    "The kiln of line 2 ran at 1060 °C; the tiles crack above 1050 °C.",
    "thanks, lunch now",
    "Enjoy.",
    "Back. Set the kiln to 1040 °C.",
    "Done: the kiln of line 2 runs at 1040 °C and the tiles are whole.",
)


def test_the_title_is_the_first_request_and_not_the_greeting():
    told = extractive_episodes(TALK).row(0, named=True)
    assert told["title"] == "The kiln of line 2 cracks its tiles since Monday."
    assert told["content"].startswith(told["title"] + "\n")
    assert "lunch" not in told["summary"]
    assert "Good morning" not in told["content"]


def test_a_page_shows_the_ends_and_the_most_central_turns_in_their_order():
    shown = choose_excerpts(TALK, most=6, turn_characters=200, page_characters=10_000)
    assert shown["turn_id"].to_list() == ["t0", "t1", "t2", "t3", "t6", "t7"]


def test_a_long_turn_keeps_its_beginning_and_its_end():
    whole = "begin " + "x" * 900 + " end"
    text = choose_excerpts(said(whole), most=5, turn_characters=100, page_characters=1_000)["text"][0]
    assert len(text) == 100
    assert (text[:6], text[-4:]) == ("begin ", " end")
    assert "[...]" in text


def test_talk_of_nothing_but_code_is_told_too():
    told = extractive_episodes(said("```make check```"))
    assert told["title"].to_list() == ["```make check```"]
