"""Episodes as the model writes them, and the events that they become."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.journal.plan import Plan, rejected
from slowwave.language.text import CHARACTERS_A_TOKEN
from slowwave.lifecycle.fading import revivals
from slowwave.models.answers.write import EpisodeAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Outcome, Request
from slowwave.models.rows import Row, rows_by_page
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.moments import day_of
from slowwave.schemas.tables import OWNER
from slowwave.settings.tree import Settings
from tasks.ask import Model
from tasks.compress.extract import EPISODE_WORDS, SUMMARY_WORDS
from tasks.compress.pages import EpisodeCells, EpisodeTurns, page_cells, page_turns
from tasks.compress.rows import EpisodeTexts, Told, episode_rows
from tasks.compress.sessions import DueSessions
from tasks.step import Readable, step
from tasks.tries import failed_rows

PAGE_SHARE = 0.5
"""The share of the model's context for turns and memories; prompt, answer and repeats need the rest."""

PAGE_CHARACTERS = 18_000
"""Memories and turns of one page together: 30 turns of `TURN_CHARACTERS`."""

EPISODE_MEMORIES = 40
"""Memories shown for one episode, most salient first."""

WORDS_A_TURN = 6
"""Words of an episode for each turn, from `LEAST_WORDS` to `EPISODE_WORDS`: short talk needs no long story."""

LEAST_WORDS = 40
"""Words that the shortest conversation may take."""

CELL = ["episode_id", "cell_type", "date", "content", "replaced_by", "replaced_date"]
TURN = ["episode_id", "number", "speaker", "role", "date", "text"]


@step
def ask_episodes(
    model: Model,
    due: DataFrame[DueSessions],
    turns: DataFrame[EpisodeTurns],
    cells: DataFrame[EpisodeCells],
    settings: Settings,
) -> Told:
    """The model's episode of each conversation with anything to show."""
    characters = _page_characters(settings)
    memories = page_cells(cells, most=EPISODE_MEMORIES, characters=characters // 2)
    excerpts = page_turns(turns, memories, characters=characters)
    known = rows_by_page(memories.select(CELL))
    said = rows_by_page(excerpts.rename({"event_time": "date"}).select(TURN))
    requests = {
        row["cell_id"]: _request(row, known.get(row["cell_id"], []), said[row["cell_id"]])
        for row in due.iter_rows(named=True)
        if row["cell_id"] in said
    }
    shown = dict(memories.group_by("episode_id").agg(pl.col("cell_id").sort()).rows())
    outcomes = model.outcomes(requests, work="compress")
    rows = [
        {
            "cell_id": key,
            "cell_ids": shown.get(key, []),
            "prompt_version": outcome.prompt_version,
            "model": outcome.model,
            **_texts(outcome.answer),
        }
        for key, outcome in outcomes.items()
        if isinstance(outcome.answer, EpisodeAnswer)
    ]
    schema = {name: pl.List(pl.String) if name == "cell_ids" else pl.String for name in EpisodeTexts.names()}
    return Told(EpisodeTexts.of(pl.DataFrame(rows, schema=schema)), outcomes)


@step
def plan_episodes(
    reader: Readable,
    due: DataFrame[DueSessions],
    turns: DataFrame[EpisodeTurns],
    cells: DataFrame[EpisodeCells],
    written: Told,
) -> Plan:
    """The episodes, and the conversations whose answer could not be used. An archived episode that grew comes back."""
    texts = written.texts
    told = texts.select(episode_id="cell_id")
    active = cells.filter(pl.col("status") == "active").join(told, on="episode_id", how="semi")
    decay = reader.settings.decay
    rows = episode_rows(
        texts,
        due,
        turns.join(told, on="episode_id", how="semi"),
        active,
        decay_rate=decay.rates.get(EPISODE, decay.default_rate),
    )
    known = reader.store.by_key("cells", rows["cell_id"], ["cell_id", "status"])
    archived = reader.store.by_key("cell_usage", known.filter(pl.col("status") == "archived")["cell_id"])
    empty = due.join(turns.filter("is_shown"), left_on="cell_id", right_on="episode_id", how="anti")
    return Plan(
        events={
            "episode.written": rows,
            "cell.revived": revivals(archived, now=reader.now, reason="its conversation went on"),
            "episode.failed": _failed(reader, due, written.outcomes),
        },
        rejected=rejected("nothing is left to tell: a person deleted it", empty["cell_id"]),
        examples=rows.select(pl.format("{}: {}", "subject", "compressed")).to_series().to_list(),
    )


# Inside


def _failed(reader: Readable, due: pl.DataFrame, outcomes: Mapping[str, Outcome]) -> pl.DataFrame:
    """Conversations with one try more; one that grew since its last failure begins anew."""
    tries = pl.when(pl.col("told_count") == pl.col("turn_count")).then("attempts").fill_null(0)
    asked = due.filter(pl.col("cell_id").is_in([*outcomes]))
    tried = asked.select("cell_id", *OWNER, "session_id", "turn_count", attempts=tries)
    return failed_rows("episode.failed", tried, [outcomes[key] for key in tried["cell_id"]], now=reader.now)


def _page_characters(settings: Settings) -> int:
    room = settings.llm.context_tokens - settings.llm.max_answer_tokens
    return min(PAGE_CHARACTERS, int(room * PAGE_SHARE * CHARACTERS_A_TOKEN))


def _request(session: dict[str, Any], cells: list[Row], turns: list[Row]) -> Request:
    """The question about one conversation; how many words it may take depends on its length."""
    count = session["turn_count"]
    words = min(EPISODE_WORDS, max(LEAST_WORDS, WORDS_A_TURN * count))
    limits = {"max_words": words, "summary_words": min(SUMMARY_WORDS, words // 2)}
    prompt = render(
        "write_episode",
        first_date=day_of(session["valid_from"]),
        last_date=day_of(session["event_time"]),
        cells=cells,
        turns=turns,
        shown_count=len(turns),
        turn_count=count,
        **limits,
    )
    return Request(prompt, EpisodeAnswer, limits)


def _texts(answer: EpisodeAnswer) -> dict[str, str]:
    short = answer.model_dump(include={"title", "summary", "compressed", "index_label"})
    return {**short, "content": f"{answer.title}\n{answer.narrative}"}
