"""The cluster stage. What looks at everything reads centroids alone; only what changed is written."""

import polars as pl

from slowwave.home.topic_counts import topic_counts
from slowwave.language.text import without_speakers
from slowwave.models.embed.profiles import load_profile
from slowwave.schemas.choices import EPISODE, EXTRACTIVE
from slowwave.schemas.tables import OWNER, RAW_PROMPT
from slowwave.stages.asking import author_columns
from slowwave.stages.run import Stage
from slowwave.stages.topics.named_topics import TOLD, Joining, assign_named_topics, names_and_owners
from slowwave.stages.topics.topic_names import better_names, name_topics, normalized
from slowwave.stages.topics.topic_parts import name_parts, part_topics
from slowwave.stages.topics.topic_upkeep import merge_topics, split_topics
from slowwave.stages.topics.topics import assign_topics
from slowwave.stages.topics.topics_by_text import assign_topics_by_text
from slowwave.store import col, lit
from slowwave.trust.origins import surely_answered_for_first

SPLIT_MIN_CELLS = 12
"""A topic smaller than this is never split."""


def find_unassigned(run: Stage) -> pl.DataFrame:
    """Active memories without a topic."""
    columns = ["cell_id", *OWNER, *TOLD, "content", "origin", "prompt_version", "event_time"]
    living = (col("status") == lit("active")) & (col("cell_type") != lit(EPISODE))
    cells = run.store.rows("cells", columns, living & col("topic_id").is_null()).sort("cell_id")
    run.report.rows_in = cells.height
    return cells.with_columns(without_speakers(pl.col("content")).alias("content"))


def assign(run: Stage, cells: pl.DataFrame) -> set[str]:
    """Joins memories to topics and opens new ones; returns the topics that changed."""
    is_raw = pl.col("prompt_version") == RAW_PROMPT
    extracted, raw = cells.filter(~is_raw), cells.filter(is_raw)
    assigned = pl.concat([_assign(run, extracted, is_raw=False), _assign(run, raw, is_raw=True)])
    run.reject("waits for its vector", cells.height - assigned.height)
    opened = _opened(assigned.filter("is_new_topic").join(cells, on="cell_id", how="inner"))
    run.show(opened.select(pl.format("new topic: {}", "name")).to_series())
    run.commit({"topic.opened": opened, "cell.assigned": assigned.sort("cell_id")})
    return set(assigned["topic_id"])


def _assign(run: Stage, cells: pl.DataFrame, *, is_raw: bool) -> pl.DataFrame:
    """A topic for each memory, by hint and vector where there is an embedder, else by hint and words."""
    embedder = run.workspace.embedder
    if embedder is None:
        run.note("no embedder: topics by hint and by words")
        known = _living_topics(run, "name", "summary").rename({"summary": "text"})
        return assign_topics_by_text(cells, known, threshold=load_profile("lexical").topic_threshold)
    placed = cells.join(run.store.vectors("cells", cells["cell_id"]), on="cell_id", how="inner")
    topics, threshold = _with_centroids(run), embedder.profile.mean_topic_threshold
    if is_raw:
        return assign_topics(placed, topics, threshold=threshold)
    settings = run.settings.topics
    joining = Joining(
        similarity=settings.join_similarity,
        name_weight=settings.name_weight,
        crowding=settings.crowding,
        most_cells=settings.max_cells,
        noise=threshold,
    )
    return assign_named_topics(placed, _members(run), topics, joining=joining, threshold=threshold)


def _members(run: Stage, topic_ids: set[str] | None = None) -> pl.DataFrame:
    """Live memories of all or some topics: topic_id, the owner's columns, and what tells whose a topic name is."""
    living = (col("status") == lit("active")) & col("topic_id").is_not_null()
    if topic_ids is not None:
        living = living & col("topic_id").isin(sorted(topic_ids))
    return run.store.rows("cells", ["topic_id", *OWNER, *TOLD, "origin"], living)


def _living_topics(run: Stage, *columns: str) -> pl.DataFrame:
    return run.store.rows("topics", ["topic_id", *OWNER, *columns], col("merged_into").is_null())


def _with_centroids(run: Stage) -> pl.DataFrame:
    """Living topics with `name`, `cell_count` and their centroid as `vector`."""
    topics = _living_topics(run, "name", "cell_count", "centroid")
    return topics.drop_nulls("centroid").rename({"centroid": "vector"})


def merge(run: Stage, touched: set[str]) -> set[str]:
    """Merges near-identical topics, the touched ones among them; returns the topics that changed."""
    embedder = run.workspace.embedder
    if embedder is None or run.report.dry_run:
        return set()
    members, topics = _members(run), _with_centroids(run)
    named = topics.join(names_and_owners(members, topics), on="topic_id").join(
        _most_cells(run, members), on=OWNER
    )
    profile = embedder.profile
    merged = merge_topics(
        named, touched, threshold=profile.merge_threshold, noise=profile.mean_topic_threshold
    )
    moved = (
        run.store.rows("cells", ["cell_id", "topic_id"], col("topic_id").isin(merged["topic_id"].to_list()))
        .join(merged, on="topic_id", how="inner")
        .select("cell_id", topic_id="merged_into", similarity=pl.lit(None, dtype=pl.Float64))
    )
    names = dict(topics.select("topic_id", "name").iter_rows())
    told = [pl.col(name).replace(names) for name in ("topic_id", "merged_into")]
    run.show(merged.select(pl.format("topic merged: {} into {}", *told)).to_series())
    run.commit({"topic.merged": merged, "cell.assigned": moved.sort("cell_id")})
    return {*merged["topic_id"], *merged["merged_into"]}


def _most_cells(run: Stage, members: pl.DataFrame) -> pl.DataFrame:
    """The owner's columns and `most_cells`: how many live memories a topic of this owner may hold."""
    settings = run.settings.topics
    by_share = pl.when(pl.len() >= settings.share_from).then((pl.len() * settings.max_share).floor())
    most = pl.min_horizontal(pl.lit(settings.max_cells), by_share.cast(pl.Int64))
    return members.group_by(OWNER).agg(most_cells=most)


def split(run: Stage, touched: set[str]) -> set[str]:
    """Splits touched topics that fell apart or grew too large; returns the topics that changed."""
    embedder = run.workspace.embedder
    if embedder is None or run.report.dry_run or not touched:
        return set()
    where = col("topic_id").isin(sorted(touched)) & (col("status") == lit("active"))
    columns = [
        "cell_id",
        "topic_id",
        "topic_hint",
        "session_id",
        "content",
        "is_summarized",
        "origin",
        *OWNER,
        "vector",
    ]
    members = run.store.rows("cells", columns, where).drop_nulls("vector")
    named = members.filter(normalized("topic_hint") != "")["topic_id"].unique()
    fallen = split_topics(
        members.filter(~pl.col("topic_id").is_in(named.implode())),
        split_threshold=embedder.profile.split_threshold,
        min_cells=SPLIT_MIN_CELLS,
    )
    sized = members.update(fallen, on="cell_id").join(_most_cells(run, _members(run)), on=OWNER)
    parted = part_topics(sized)
    leaving = pl.concat([fallen.join(parted, on="cell_id", how="anti"), parted])
    return _part(run, members, leaving) if leaving.height else set()


def _part(run: Stage, members: pl.DataFrame, leaving: pl.DataFrame) -> set[str]:
    """Commits that the memories in `leaving` go to new topics; what stays of a summary is written anew."""
    moving = members.rename({"topic_id": "family"}).join(leaving, on="cell_id", how="inner")
    parted = members.filter(pl.col("topic_id").is_in(moving["family"].implode()))
    texts = pl.concat(
        [
            moving.select("topic_id", "family", "content"),
            parted.join(leaving, on="cell_id", how="anti").select(
                "topic_id", family="topic_id", content="content"
            ),
        ]
    )
    opened = _opened(moving)
    names = name_parts(opened.select("topic_id", "name"), texts, _living_topics(run, "name"))
    opened = opened.drop("name").join(names, on="topic_id").sort("topic_id")
    summarized = moving.filter("is_summarized")
    reason = pl.lit("parted")
    run.show(opened.select(pl.format("topic split off: {}", "name")).to_series())
    run.commit(
        {
            "topic.opened": opened,
            "cell.assigned": leaving.with_columns(similarity=pl.lit(None, dtype=pl.Float64)).sort("cell_id"),
            "topic.flagged": summarized.select(topic_id="family")
            .unique()
            .sort("topic_id")
            .with_columns(reason=reason),
            "topic.unsummarized": summarized.group_by("topic_id")
            .agg(cell_ids=pl.col("cell_id").sort())
            .sort("topic_id")
            .with_columns(reason=reason),
        }
    )
    return {*leaving["topic_id"], *moving["family"]}


def _opened(founders: pl.DataFrame) -> pl.DataFrame:
    """New topics with their names and owners, from the memories that founded them."""
    owners = founders.select("topic_id", *OWNER).unique("topic_id")
    named = name_topics(founders.filter(surely_answered_for_first("topic_id")))
    return named.join(owners, on="topic_id", how="inner").with_columns(author_columns()).sort("topic_id")


def rename(run: Stage, touched: set[str]) -> None:
    """Gives touched topics that no model has named yet the name of most of their memories, unless another bears it."""
    if run.report.dry_run:
        return
    topics = _living_topics(run, "name", "prompt_version")
    is_unnamed = pl.col("prompt_version").is_null() | (pl.col("prompt_version") == EXTRACTIVE)
    looked_at = topics.filter(is_unnamed & pl.col("topic_id").is_in(sorted(touched)))
    members = _members(run, touched).filter(surely_answered_for_first("topic_id"))
    run.commit({"topic.renamed": better_names(looked_at, members, topics)})


def count_topics(run: Stage, touched: set[str]) -> None:
    """Counts the live and the unsummarized cells of topics that changed."""
    if not run.report.dry_run:
        run.commit({"topic.counted": topic_counts(run.store, touched, {})})


def find_miscounted(run: Stage) -> set[str]:
    """Topics whose count is not that of their living memories: a run was cut off before it had counted them."""
    topics = _living_topics(run, "cell_count")
    active = run.store.rows("cells", ["topic_id"], col("status") == lit("active"))
    living = active.group_by("topic_id").agg(living=pl.len().cast(pl.Int64))
    counts = topics.join(living, on="topic_id", how="left").with_columns(pl.col("living").fill_null(0))
    return set(counts.filter(pl.col("cell_count") != pl.col("living"))["topic_id"])
