"""Laws of episodes: the same events in any order make the same episode, and a page keeps within its bounds."""

from datetime import timedelta

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tasks.compress.extract import extractive_episodes
from tasks.compress.pages import choose_excerpts
from tasks.compress.rows import episode_rows
from tasks.compress.sessions import MIN_TURNS, due_sessions, session_spans
from tasks.compress.short_forms import UnlabelledCells, short_forms
from tests.rows import DAY, NOW, OWNER, row, rows

WORDS = st.sampled_from(
    [
        "kiln",
        "tile",
        "glaze",
        "crack",
        "the",
        "and?",
        "1040",
        "°C.\n",
        "pr",
        "#7",
        "src/kiln.py",
        "Done!",
        "```x```",
        "[1]",
    ]
)
TEXTS = st.lists(st.lists(WORDS, max_size=40).map(" ".join), min_size=1, max_size=14)
SEEDS = st.integers(0, 5)


def turns_of(texts: list[str]) -> pl.DataFrame:
    said = [
        row("turns", f"t{n}", session_id=f"s{n % 2}", turn_index=n, content=text or "-",
            role="user" if n % 3 else "assistant", event_time=DAY + timedelta(minutes=n))
        for n, text in enumerate(texts)
    ]  # fmt: skip
    return rows("turns", *said)


def plan(turns: pl.DataFrame) -> pl.DataFrame:
    """The rows of all episodes of these turns without a model, as the stage makes them."""
    spans = session_spans(turns)
    named = turns.join(spans.select(*OWNER, "session_id", episode_id="cell_id"), on=[*OWNER, "session_id"])
    texts = extractive_episodes(named).with_columns(
        compressed=pl.lit("x"), index_label=pl.lit("x"), prompt_version=pl.lit("raw"),
        model=pl.lit(None, dtype=pl.String),
        cell_ids=pl.lit([], dtype=pl.List(pl.String)),
    )  # fmt: skip
    types = {
        "episode_id": pl.String,
        "salience": pl.Float64,
        "confidence": pl.Float64,
        "artifacts": pl.List(pl.String),
    }
    return episode_rows(texts, spans, named, pl.DataFrame(schema=types), decay_rate=0.05)


@given(TEXTS, SEEDS)
def test_the_same_turns_in_any_order_make_the_same_episodes(texts: list[str], seed: int):
    turns = turns_of(texts)
    assert plan(turns.sample(fraction=1, shuffle=True, seed=seed)).equals(plan(turns))


@given(TEXTS)
def test_every_conversation_is_told_once_and_rests_on_all_its_turns(texts: list[str]):
    turns = turns_of(texts)
    told = plan(turns)
    assert sorted(told["evidence"].explode()) == sorted(turns["turn_id"])
    assert (told["turn_count"] == told["evidence"].list.len()).all()
    assert (told["valid_from"] <= told["valid_until"]).all()
    assert told.select(pl.col("subject", "content", "summary").null_count().sum()).row(0) == (0,) * 3


@given(TEXTS, st.integers(1, 12), st.integers(80, 300), st.integers(100, 900))
def test_a_page_keeps_within_its_bounds(texts: list[str], most: int, turn: int, page: int):
    turns = turns_of(texts).with_columns(episode_id="session_id")
    shown = choose_excerpts(turns, most=most, turn_characters=turn, page_characters=page)
    assert (shown["text"].str.len_chars() <= turn).all()
    for part in shown.partition_by("episode_id"):
        assert part.height <= most
        assert part["text"].str.len_chars().sum() <= max(page, turn)
        assert part["turn_index"].is_sorted()


@given(TEXTS)
def test_what_was_told_is_not_due_again(texts: list[str]):
    spans = session_spans(turns_of(texts))
    nothing = pl.Series("cell_id", [], dtype=pl.String)
    learned = spans.select(*OWNER, "session_id").with_columns(last_learned=pl.lit(DAY))
    first = due_sessions(
        spans, rows("episodes"), learned=learned, flagged=nothing, now=NOW, quiet_hours=3.0, has_model=True
    )
    assert first.height == spans.filter(pl.col("turn_count") >= MIN_TURNS).height
    told = rows(
        "episodes",
        *(row("episodes", key, turn_count=count, status="written", written_at=NOW, prompt_version="p.v1")
          for key, count in spans.select("cell_id", "turn_count").iter_rows()),
    )  # fmt: skip
    for has_llm in (True, False):
        again = due_sessions(
            spans, told, learned=learned, flagged=nothing, now=NOW, quiet_hours=3.0, has_model=has_llm
        )
        assert again.is_empty()


@given(st.text(max_size=60))
def test_short_forms_are_short_and_in_the_words_of_the_text(content: str):
    names = UnlabelledCells.names()
    cell = {**dict.fromkeys(names), "cell_id": "c", "content": content}
    _, line, label = short_forms(pl.DataFrame([cell], schema=dict.fromkeys(names, pl.String))).row(0)
    assert label
    assert line is None or (len(line.split()) <= 12 and line in " ".join(content.split()))
