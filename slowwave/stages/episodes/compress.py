"""The compress stage: tells conversations as episodes, and gives memories the short forms that they lack."""

from dataclasses import dataclass
from typing import cast

import polars as pl

from slowwave.journal.catalogue import EventRows
from slowwave.language.artifacts import artifacts_in
from slowwave.language.text import CHARACTERS_A_TOKEN
from slowwave.lifecycle.fading import revivals
from slowwave.llm import Request
from slowwave.prompting.files import episode_prompt
from slowwave.prompting.prompt_inputs import EpisodeCell, TurnLine, items_by, told_date
from slowwave.prompting.text_answers import EpisodeAnswer
from slowwave.recall.standing_turns import standing_turns
from slowwave.recall.turns import TURN_COLUMNS
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.moments import day_of
from slowwave.schemas.search import TurnHit
from slowwave.schemas.tables import OWNER, RAW_PROMPT
from slowwave.settings.groups import EpisodeSettings
from slowwave.stages.asking import AWAY, ask, author_columns, usable_answers
from slowwave.stages.episodes.episodes import episode_rows, joined_artifacts
from slowwave.stages.episodes.excerpts import choose_excerpts, extractive_episodes
from slowwave.stages.episodes.labels import short_forms
from slowwave.stages.retries import failed_rows
from slowwave.stages.run import Stage
from slowwave.store import col, lit
from slowwave.trust.origins import answered_for_first, in_own_words

SPOKEN = [
    "turn_id", "session_id", *OWNER, "turn_index", "role", "speaker", "content", "origin", "event_time", "source_type",
    "source_id", "source_name",
]  # fmt: skip
MEMORY = [
    "cell_id", "session_id", *OWNER, "topic_id", "cell_type", "content", "status", "salience", "confidence",
    "valid_from", "valid_precision", "event_time", "superseded_by", "superseded_at", "valid_until", "artifacts",
    "prompt_version",
]  # fmt: skip

PAGE_SHARE = 0.5
"""The share of the model's context for turns and memories; prompt, answer and repeats need the rest."""


LEAST_WORDS = 40
"""Words that the shortest conversation may take."""

REMEMBERED = 4
"""Turns for each memory up to which the memories of a conversation tell it: its page needs few turns then."""


@dataclass(frozen=True)
class Material:
    """The turns and memories that episodes are written from. `turns` and `cells` name it as `episode_id`.

    `is_forgotten` marks turns that a person deleted a memory of: they are no part of any telling.
    """

    sessions: pl.DataFrame
    turns: pl.DataFrame
    cells: pl.DataFrame


def write_episodes(run: Stage, due: pl.DataFrame) -> None:
    """Tells conversations, a batch at a time; every batch is committed before the next is begun."""
    size, llm = run.settings.episodes.batch, run.workspace.llm
    for start in range(0, due.height, size):
        material = _material(run, due.slice(start, size))
        run.commit(_by_extraction(run, material) if llm is None else _by_model(run, material))
        if llm is not None and llm.is_down:
            run.reject(AWAY, max(due.height - start - size, 0))
            break
    if llm is None:
        run.note("episodes are the conversations' most central turns; a language model would tell them")


def label_cells(run: Stage) -> None:
    """Gives the active memories that lack an index label or a compressed line both, from their own words."""
    columns = ["cell_id", "subject", "topic_hint", "content", "compressed", "index_label"]
    is_lacking = col("index_label").is_null() | col("compressed").is_null()
    lacking = run.store.rows("cells", columns, (col("status") == lit("active")) & is_lacking)
    run.commit({"cell.labelled": short_forms(lacking)})


def _material(run: Stage, sessions: pl.DataFrame) -> Material:
    """Turns and memories of the conversations. What is untrusted is told only where nothing else was said."""
    named = sessions.select(*OWNER, "session_id", episode_id="cell_id")
    forgotten = run.store.rows("tombstones", ["evidence"])["evidence"].explode().drop_nulls()
    ids = named["session_id"].unique().to_list()
    on = [*OWNER, "session_id"]
    turns = run.store.having("turns", "session_id", ids, SPOKEN).join(named, on=on, how="inner")
    turns = turns.with_columns(is_forgotten=pl.col("turn_id").is_in(forgotten.implode()))
    cells = run.store.having("cells", "session_id", ids, MEMORY).join(named, on=on, how="inner")
    told = sessions.join(
        _shown_turns(turns), left_on="cell_id", right_on="episode_id", how="semi", maintain_order="left"
    )
    run.reject("nothing is left to tell: a person deleted it", sessions.height - told.height)
    return Material(told, turns, cells.filter(pl.col("cell_type") != EPISODE))


def _shown_turns(turns: pl.DataFrame) -> pl.DataFrame:
    """The turns that may be told: trusted ones where there are any, none that a person deleted a memory of."""
    turns = turns.filter(~pl.col("is_forgotten"))
    return turns.filter(answered_for_first("episode_id"))


def _by_extraction(run: Stage, material: Material) -> EventRows:
    """Without a model: the most central turns, marked raw."""
    settings = run.settings.episodes
    limits = {"max_words": settings.max_words, "summary_words": settings.summary_words}
    own = in_own_words(_as_they_stand(run, _shown_turns(material.turns)))
    told = extractive_episodes(own, _main_topics(run, material), **limits)
    nothing = dict.fromkeys(["index_label", "topic_hint"], pl.lit(None, dtype=pl.String))
    texts = told.rename({"episode_id": "cell_id"}).with_columns(
        *author_columns(RAW_PROMPT), **nothing, subject="title"
    )
    labelled = texts.drop(nothing, "compressed").join(short_forms(texts), on="cell_id")
    return _written(run, labelled, material, shown=material.cells.clear())


def _as_they_stand(run: Stage, turns: pl.DataFrame) -> pl.DataFrame:
    """The turns with what stands of them; one that was taken back is left out, unless nothing else was said."""
    hits = [TurnHit(**row, score=0.0) for row in turns.select(TURN_COLUMNS).iter_rows(named=True)]
    standing = {turn.turn_id: turn.content for turn in standing_turns(run.store, run.settings.owner, hits)}
    left = [standing.get(turn.turn_id) for turn in hits]
    told = turns.with_columns(content=pl.Series(left, dtype=pl.String))
    stands = pl.col("content").is_not_null()
    kept = told.filter(stands | ~stands.any().over("episode_id"))
    return kept.with_columns(pl.col("content").fill_null("[taken back]"))


def _main_topics(run: Stage, material: Material) -> pl.DataFrame:
    """`episode_id` and the name of the topic that holds more than half of its living extracted memories."""
    living = material.cells.filter((pl.col("status") == "active") & (pl.col("prompt_version") != RAW_PROMPT))
    counted = living.group_by("episode_id", "topic_id").len().drop_nulls("topic_id")
    every = living.group_by("episode_id").len(name="all")
    main = counted.join(every, on="episode_id").filter(pl.col("len") * 2 > pl.col("all"))
    names = run.store.by_key("topics", main["topic_id"], ["topic_id", "name"])
    return main.join(names, on="topic_id", how="inner").select("episode_id", topic="name")


def _limits(turn_count: int, settings: EpisodeSettings) -> dict[str, int]:
    """The most words of an episode and of its summary, by the length of its conversation."""
    words = min(settings.max_words, max(LEAST_WORDS, settings.turn_words * turn_count))
    return {"max_words": words, "summary_words": min(settings.summary_words, words // 2)}


def _by_model(run: Stage, material: Material) -> EventRows:
    """Episodes that the model wrote, and the conversations whose answer could not be used."""
    settings = run.settings.episodes
    room = run.settings.llm.context_tokens - run.settings.llm.max_answer_tokens
    characters = min(settings.page_characters, int(room * PAGE_SHARE * CHARACTERS_A_TOKEN))
    cells = _page_cells(run, material, characters // 2)
    dated = cells.with_columns(date=told_date())
    columns = ["episode_id", "cell_type", "date", "content", "replaced_by", "replaced_date"]
    lines = items_by(EpisodeCell, dated.select(columns))
    excerpts = _excerpts(run, material, cells, characters).rename({"event_time": "date"})
    said = items_by(TurnLine, excerpts.select("episode_id", "number", "speaker", "role", "date", "text"))
    requests = [
        Request(
            episode_prompt(
                lines.get(row["cell_id"], []),
                said.get(row["cell_id"], []),
                dates=(day_of(row["valid_from"]), day_of(row["event_time"])),
                turn_count=row["turn_count"],
                **(limits := _limits(row["turn_count"], settings)),
            ),
            EpisodeAnswer,
            limits,
        )
        for row in material.sessions.iter_rows(named=True)
    ]
    outcomes = ask(run, requests, work="compress")
    told = [
        {
            "cell_id": cell_id,
            "title": answer.title,
            "content": f"{answer.title}\n{answer.narrative}",
            **answer.model_dump(include={"summary", "compressed", "index_label"}),
            **author,
        }
        for cell_id, answer, author in usable_answers(EpisodeAnswer, material.sessions["cell_id"], outcomes)
    ]
    names = ["cell_id", "title", "content", "summary", "compressed", "index_label", "prompt_version", "model"]
    texts = pl.DataFrame(told, schema=dict.fromkeys(names, pl.String))
    # what grew since its last failure begins anew
    tries = pl.when(pl.col("told_count") == pl.col("turn_count")).then("attempts").fill_null(0)
    tried = material.sessions.select("cell_id", *OWNER, "session_id", "turn_count", attempts=tries)
    failed = failed_rows(run, "episode.failed", tried, outcomes)
    return {**_written(run, texts, material, shown=cells), "episode.failed": failed}


def _written(run: Stage, texts: pl.DataFrame, material: Material, *, shown: pl.DataFrame) -> EventRows:
    """The events of told conversations, with the memories that the teller was shown.

    An episode that faded into the archive and grew comes back.
    """
    told = texts.select(episode_id="cell_id")
    living = material.cells.filter(pl.col("status") == "active").join(told, on="episode_id", how="semi")
    turns = material.turns.join(told, on="episode_id", how="semi")
    said = turns.select("episode_id", artifacts=artifacts_in(pl.col("content")))
    named = pl.concat([said, living.select("episode_id", "artifacts")])
    sources = shown.group_by(pl.col("episode_id").alias("cell_id")).agg(cell_ids=pl.col("cell_id").sort())
    decay = run.settings.decay
    rows = episode_rows(
        texts.join(sources, on="cell_id", how="left").with_columns(pl.col("cell_ids").fill_null([])),
        material.sessions,
        turns,
        living,
        joined_artifacts(named, most=run.settings.episodes.max_artifacts),
        decay_rate=decay.rates.get(EPISODE, decay.default_rate),
    )
    run.show(rows.select(pl.format("{}: {}", "subject", "compressed")).to_series())
    archived = run.store.by_key("cells", rows["cell_id"], ["cell_id", "status"])
    cell_usage = run.store.by_key("cell_usage", archived.filter(pl.col("status") == "archived")["cell_id"])
    revived = revivals(cell_usage, now=run.now, reason="its conversation went on")
    return {"episode.written": rows, "cell.revived": revived}


def _page_cells(run: Stage, material: Material, characters: int) -> pl.DataFrame:
    """The memories of each page, oldest first: the living ones and those that another replaced, most salient first.

    A replaced memory held until then; `replaced_by` is the text that holds since.
    """
    replaced = (pl.col("status") == "superseded") & pl.col("valid_until").is_not_null()
    is_shown = (pl.col("status") == "active") | replaced
    wanted = material.cells.filter(is_shown & (pl.col("prompt_version") != RAW_PROMPT))
    columns = ["cell_id", "content", "valid_from", "valid_precision"]
    later = run.store.by_key("cells", wanted["superseded_by"].drop_nulls(), columns).select(
        superseded_by="cell_id", replaced_by="content", replaced_date=told_date()
    )
    ranked = wanted.join(later, on="superseded_by", how="left").sort(
        "episode_id", "salience", "event_time", "cell_id", descending=[False, True, True, False]
    )
    size = pl.sum_horizontal(pl.col("content", "replaced_by").str.len_chars()).cum_sum().over("episode_id")
    place = pl.int_range(pl.len()).over("episode_id")
    kept = ranked.filter((place < run.settings.episodes.max_cells) & (size <= characters))
    return kept.sort("episode_id", "valid_from", "event_time", "cell_id")


def _excerpts(run: Stage, material: Material, cells: pl.DataFrame, characters: int) -> pl.DataFrame:
    """Turns of each page with their number in the conversation; they get what the memories leave, half at least."""
    numbered = material.turns.sort("episode_id", "turn_index", "turn_id").with_columns(
        number=pl.int_range(1, pl.len() + 1).over("episode_id")
    )
    taken = cells.group_by("episode_id").agg(pl.col("content").str.len_chars().sum())
    left = characters - int(cast("int | None", taken["content"].max()) or 0)
    settings, turns = run.settings.episodes, _shown_turns(numbered)
    counts = turns.group_by("episode_id").agg(turns=pl.len())
    remembered = (
        cells.group_by("episode_id")
        .agg(cells=pl.len())
        .join(counts, on="episode_id")
        .filter(pl.col("cells") * REMEMBERED >= pl.col("turns"))
    )
    size = {"turn_characters": settings.turn_characters, "page_characters": left}
    few = turns.join(remembered, on="episode_id", how="semi", maintain_order="left")
    many = turns.join(remembered, on="episode_id", how="anti", maintain_order="left")
    return pl.concat(
        [
            choose_excerpts(few, most=min(settings.remembered_turns, settings.max_turns), **size),
            choose_excerpts(many, most=settings.max_turns, **size),
        ]
    )
