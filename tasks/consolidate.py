"""Consolidate: topics that gathered enough new memories, or lost one, get a new summary."""

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.journal.catalogue import CATALOGUE
from slowwave.journal.plan import Plan, rejected
from slowwave.language.text import without_speakers
from slowwave.models.answers.write import SummaryAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Request
from slowwave.models.rows import cell_rows
from slowwave.schemas.choices import EXTRACTIVE
from slowwave.schemas.table_parts import Timestamp, nullable, strings
from slowwave.store import col, lit
from slowwave.trust.origins import answered_for_first
from tasks.ask import Model, author_columns
from tasks.extractive import extractive_summaries, shorter_beyond
from tasks.frames import Frame
from tasks.step import Readable, step

TOPIC_WORDS = 150
"""Longest summary of a topic, in words: a search shows it whole."""

SUMMARY_MEMORIES = 60
"""Memories shown for one summary, most salient and newest first: more than a topic has that need not be split."""

WHOLE_TOKENS = 600
"""Tokens of memories that are shown whole for one summary; the others are shown in their compressed form."""


class DueTopics(Frame):
    """Topics that get a new summary; `name` is null where none was given yet."""

    topic_id: str
    name: str = nullable()


class TopicCells(Frame):
    """Active memories of topics, most salient and newest first within a topic; a page has room for `is_shown`."""

    cell_id: str
    topic_id: str
    cell_type: str
    content: str
    summary: str = nullable()
    supersedes: str = nullable()
    compressed: str = nullable()
    salience: float
    event_time: Timestamp
    valid_from: Timestamp
    valid_precision: str = nullable()
    is_shown: bool


class Summaries(Frame):
    """Summaries as they are committed, with all active memories of their topics: none waits for a summary any more."""

    topic_id: str
    name: str = nullable()
    summary: str
    compressed: str = nullable()
    cell_ids: pl.List = strings()
    prompt_version: str
    model: str = nullable()


@step
def find_due_topics(reader: Readable, *, has_model: bool) -> DataFrame[DueTopics]:
    """Topics with enough unsummarized memories, flagged topics and, once there is a model, extractive summaries."""
    least = reader.settings.summaries.min_unsummarized
    wanted = (col("unsummarized_count") >= lit(least)) | (col("needs_review") == lit(value=True))
    if has_model:
        wanted = wanted | (col("prompt_version") == lit(EXTRACTIVE))
    is_living = (col("cell_count") > lit(0)) & col("merged_into").is_null()
    columns = ["topic_id", "name", "summary", "unsummarized_count"]
    topics = reader.store.rows("topics", columns, wanted & is_living)
    due = topics.filter(pl.col("summary").is_not_null() | (pl.col("unsummarized_count") >= least))
    return DueTopics.of(due.sort("topic_id"))


@step
def find_cells_of(reader: Readable, topics: DataFrame[DueTopics]) -> DataFrame[TopicCells]:
    """The active memories of the topics; those are shown that one page holds.

    A document, or a quotation, is shown only where a topic has nothing else.
    """
    where = col("topic_id").isin(topics["topic_id"].to_list()) & (col("status") == lit("active"))
    columns = [name for name in TopicCells.names() if name != "is_shown"]
    cells = reader.store.rows("cells", [*columns, "origin"], where).sort(
        "topic_id", "salience", "event_time", "cell_id", descending=[False, True, True, False]
    )
    best = cells.filter(answered_for_first("topic_id")).group_by("topic_id", maintain_order=True)
    shown = best.head(SUMMARY_MEMORIES)["cell_id"]
    return TopicCells.of(cells.with_columns(is_shown=pl.col("cell_id").is_in(shown.implode())))


@step
def ask_summaries(
    model: Model, topics: DataFrame[DueTopics], cells: DataFrame[TopicCells]
) -> DataFrame[Summaries]:
    """The model's name, summary and compressed line of each topic; a topic without a usable answer has no row."""
    shown = shorter_beyond(cells.filter("is_shown"), tokens=WHOLE_TOKENS).sort(
        "valid_from", "event_time", "cell_id"
    )
    pages = {topic: shown.filter(pl.col("topic_id") == topic) for topic in topics["topic_id"]}
    page = {"max_words": TOPIC_WORDS}
    requests = {
        topic: Request(
            render("summarize_topic", name=name, cells=cell_rows(pages[topic]), **page), SummaryAnswer, page
        )
        for topic, name in topics.select("topic_id", "name").iter_rows()
    }
    rows = [
        {
            "topic_id": topic,
            "cell_ids": cells.filter(pl.col("topic_id") == topic)["cell_id"].to_list(),
            "prompt_version": said.prompt_version,
            "model": said.model,
            **said.answer.model_dump(),
        }
        for topic, said in model.ask(SummaryAnswer, requests, work="summarize").items()
    ]
    return Summaries.of(
        pl.DataFrame(rows, schema={"name": pl.String, **CATALOGUE["topic.summarized"].payload})
    )


@step
def extract_summaries(
    reader: Readable, topics: DataFrame[DueTopics], cells: DataFrame[TopicCells]
) -> DataFrame[Summaries]:
    """Without a model: each topic's most central, most salient, newest sentences."""
    written = extractive_summaries(
        cells.filter("is_shown").with_columns(without_speakers(pl.col("content")).alias("content")),
        max_words=TOPIC_WORDS,
        now=reader.now,
        age_rate=reader.settings.search.age_rate,
    )
    every = cells.group_by("topic_id").agg(cell_ids=pl.col("cell_id").sort())
    named = written.join(every, on="topic_id", how="inner", maintain_order="left").join(
        topics.select("topic_id", "name"), on="topic_id", how="inner", maintain_order="left"
    )
    return Summaries.of(named.with_columns(author_columns(EXTRACTIVE)))


@step
def plan_summaries(topics: DataFrame[DueTopics], summaries: DataFrame[Summaries]) -> Plan:
    """The new summaries, and the names that the model changed."""
    waiting = topics.join(summaries, on="topic_id", how="anti")
    renamed = summaries.select("topic_id", "name").join(topics, on=["topic_id", "name"], how="anti")
    is_extractive = (summaries["prompt_version"] == EXTRACTIVE).any()
    note = "summaries are the topics' most central sentences; a language model would write them"
    return Plan(
        events={
            "topic.summarized": summaries,
            "topic.renamed": renamed.filter(pl.col("name") != ""),
        },
        rows_in=topics.height,
        rejected=rejected("summary waits for the next run", waiting["topic_id"]),
        notes=[note] if is_extractive else [],
        examples=summaries.select(pl.format("{}: {}", "name", "summary")).to_series().to_list(),
    )
