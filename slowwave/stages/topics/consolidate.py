"""The consolidate stage: topics that need a summary, written by a model or from their own sentences."""

import polars as pl

from slowwave.journal.catalogue import CATALOGUE
from slowwave.language.text import without_speakers
from slowwave.llm import Request
from slowwave.prompting.files import summarize_prompt
from slowwave.prompting.prompt_inputs import topic_lines
from slowwave.prompting.text_answers import SummaryAnswer
from slowwave.stages.asking import ask, author_columns, usable_answers
from slowwave.stages.run import Stage
from slowwave.stages.topics.summaries import EXTRACTIVE, extractive_summaries, shorter_beyond
from slowwave.store import col, lit
from slowwave.trust.origins import answered_for_first


def find_topics(run: Stage) -> pl.DataFrame:
    """Topics with enough unsummarized cells, topics marked for review and, once there is a model, extractive ones."""
    least = run.settings.summaries.min_unsummarized
    wanted = (col("unsummarized_count") >= lit(least)) | (col("needs_review") == lit(value=True))
    if run.workspace.llm is not None:
        wanted = wanted | (col("prompt_version") == lit(EXTRACTIVE))
    topics = run.store.rows(
        "topics", where=wanted & (col("cell_count") > lit(0)) & col("merged_into").is_null()
    )
    due = topics.filter(pl.col("summary").is_not_null() | (pl.col("unsummarized_count") >= least))
    run.report.rows_in = due.height
    return due.sort("topic_id")


def find_live_cells(run: Stage, topics: pl.DataFrame) -> pl.DataFrame:
    """The active memories of the topics, most salient and newest first, at most as many as one page holds.

    A document, or what somebody quoted, is told only where a topic has nothing else.
    """
    columns = [
        "cell_id",
        "topic_id",
        "cell_type",
        "content",
        "compressed",
        "salience",
        "event_time",
        "valid_from",
        "valid_precision",
        "origin",
    ]
    where = col("topic_id").isin(topics["topic_id"].to_list()) & (col("status") == lit("active"))
    return (
        run.store.rows("cells", columns, where)
        .filter(answered_for_first("topic_id"))
        .sort("topic_id", "salience", "event_time", "cell_id", descending=[False, True, True, False])
        .group_by("topic_id", maintain_order=True)
        .head(run.settings.summaries.max_cells)
    )


def summarize(run: Stage, topics: pl.DataFrame, cells: pl.DataFrame) -> None:
    """Asks the model for each topic's name, summary and compressed line."""
    most = run.settings.summaries.max_words
    shown = shorter_beyond(cells, tokens=run.settings.summaries.whole_tokens)
    in_time = shown.sort("valid_from", "event_time", "cell_id")
    pages = [in_time.filter(pl.col("topic_id") == topic) for topic in topics["topic_id"]]
    requests = [
        Request(summarize_prompt(name, topic_lines(page), most), SummaryAnswer, {"max_words": most})
        for name, page in zip(topics["name"], pages, strict=True)
    ]
    asked = zip(topics["topic_id"], pages, strict=True)
    told = usable_answers(SummaryAnswer, asked, ask(run, requests, work="summarize"))
    run.reject("summary waits for the next run", len(pages) - len(told))
    rows = [
        {"topic_id": topic, "cell_ids": page["cell_id"].to_list(), **answer.model_dump(), **author}
        for (topic, page), answer, author in told
    ]
    written = pl.DataFrame(rows, schema={"name": pl.String, **CATALOGUE["topic.summarized"].payload})
    renamed = written.select("topic_id", "name").join(
        topics.select("topic_id", "name"), on=["topic_id", "name"], how="anti"
    )
    run.show(written.select(pl.format("{}: {}", "name", "summary")).to_series())
    run.commit({"topic.summarized": written, "topic.renamed": renamed.filter(pl.col("name") != "")})


def summarize_by_extraction(run: Stage, topics: pl.DataFrame, cells: pl.DataFrame) -> None:
    """Without a model: each topic's most central, most salient, newest sentences."""
    written = extractive_summaries(
        cells.with_columns(without_speakers(pl.col("content")).alias("content")),
        max_words=run.settings.summaries.max_words,
        now=run.now,
        age_rate=run.settings.search.age_rate,
    ).with_columns(author_columns(EXTRACTIVE))
    named = written.join(topics.select("topic_id", "name"), on="topic_id", how="inner")
    run.show(named.select(pl.format("{}: {}", "name", "summary")).to_series())
    run.note("summaries are the topics' most central sentences; a language model would write them")
    run.commit({"topic.summarized": written})
