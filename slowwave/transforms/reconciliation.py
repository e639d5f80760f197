"""Reconciliation: candidates by rank, pages for the judge, the structural guard, and what follows from it.

Similarity only ever finds candidates. A judge (a language model) says how two memories relate, and the guard
here checks every judgement that would retire a memory against the memories themselves: both must speak of the
subject and the single-valued attribute that the judgement names. What fails the check is recorded as an open
contradiction, and both memories stay. Which value holds now is computed from dates, never asked.
"""

from collections.abc import Mapping
from datetime import datetime

import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import OWN, TRUST
from slowwave.transforms.text import days_and_months, is_negated, names, normalized, numbers, words

AGE_ORDER = ["valid_from", "event_time", "recorded_at", "cell_id"]
"""The order of cells on a page, oldest first."""

HOLDING_ORDER = ["valid_day", "event_time", "recorded_at", "cell_id"]
"""Oldest first; the last cell of a group is the one that holds now. A date without a time is as good as the time of
a turn of that day, so days are compared, and within a day the order in which things were said."""

RETIRING = ["updates", "corrects"]

ALIKE = 0.6
"""Jaccard similarity of words from which two sentences count as alike but for a negation."""


def exact_duplicates(cells: pl.DataFrame) -> pl.DataFrame:
    """Active cells that say exactly what an older one of the same owner says.

    `cells` has `cell_id`, the owner, `content_hash`, `event_time`, `evidence`. Returns `cell_id`,
    `superseded_by` (the survivor: the oldest), sorted; exact repetition needs no judge.
    """
    ranked = cells.sort("event_time", "cell_id").with_columns(
        superseded_by=pl.col("cell_id").first().over(*OWN, "content_hash")
    )
    return (
        ranked.filter(pl.col("cell_id") != pl.col("superseded_by"))
        .select("cell_id", "superseded_by")
        .sort("cell_id")
    )


def fuse_candidates(
    queries: pl.DataFrame, near: pl.DataFrame, matching: pl.DataFrame, *, k: int, rank_constant: int
) -> pl.DataFrame:
    """The k best candidates of each new cell from a vector list and a full-text list, by reciprocal rank.

    `queries` has `query_index` and `cell_id`; `near` has `query_index`, `cell_id`, `similarity`; `matching` has
    `query_index`, `cell_id`, `match_score`. Score = sum of 1 / (rank_constant + rank) (Cormack, Clarke and
    Buettcher, 2009). Returns `cell_id`, `target_id`, `score`, `similarity` (null when only the text matched),
    best first within a cell.
    """
    lists = [
        near.select("query_index", target_id="cell_id", similarity="similarity", value="similarity"),
        matching.select(
            "query_index", target_id="cell_id", similarity=pl.lit(None, dtype=pl.Float64), value="match_score"
        ),
    ]
    named = [
        frame.join(queries, on="query_index", how="inner").filter(pl.col("cell_id") != pl.col("target_id"))
        for frame in lists
    ]
    ranked = [
        frame.sort("cell_id", "value", "target_id", descending=[False, True, False]).with_columns(
            share=1.0 / (rank_constant + pl.int_range(1, pl.len() + 1).over("cell_id"))
        )
        for frame in named
    ]
    return (
        pl.concat(ranked)
        .group_by("cell_id", "target_id")
        .agg(score=pl.col("share").sum(), similarity=pl.col("similarity").max())
        .sort("cell_id", "score", "target_id", descending=[False, True, False])
        .group_by("cell_id", maintain_order=True)
        .head(k)
    )


def near_pairs(candidates: pl.DataFrame, *, threshold: float) -> pl.DataFrame:
    """Candidates close enough to be noted as unjudged while there is no judge, each pair once."""
    pair = pl.concat_list("cell_id", "target_id").list.sort()
    return (
        candidates.filter(pl.col("similarity") >= threshold)
        .with_columns(first=pair.list.first(), second=pair.list.last())
        .sort("first", "second", "cell_id")
        .unique(["first", "second"], keep="first", maintain_order=True)
        .select("cell_id", "target_id", "similarity")
    )


def build_pages(candidates: pl.DataFrame, new_ids: pl.Series, *, max_cells: int) -> pl.DataFrame:
    """Groups new cells with their candidates into pages of at most `max_cells` cells for one judgement.

    Pairs are taken strongest first; two groups become one when their cells together fit on a page (Kruskal's
    algorithm with a bound, so connected cells share a page as far as it holds them). A known cell may stand on
    several pages, a new one is judged on one. A new cell without candidates needs no judge and gets no page.

    Returns `page` (0-based), `cell_id`, `is_new`, sorted.
    """
    wanted = candidates.filter(pl.col("cell_id").is_in(new_ids.implode()))
    targets = wanted.group_by("cell_id", maintain_order=True).agg("target_id")
    members = {
        cell: {cell, *known[: max_cells - 1]}
        for cell, known in zip(targets["cell_id"], targets["target_id"].to_list(), strict=True)
    }
    group = {cell: cell for cell in members}
    new = {cell: {cell} for cell in members}
    pairs = wanted.sort("score", "cell_id", "target_id", descending=[True, False, False])
    shared = _linked_pairs(pairs)
    for one, other in zip(shared["cell_id"].to_list(), shared["other_id"].to_list(), strict=True):
        left, right = group[one], group[other]
        if left != right and len(members[left] | members[right]) <= max_cells:
            members[left] |= members.pop(right)
            new[left] |= new.pop(right)
            group.update(dict.fromkeys(new[left], left))
    rows = [
        (page, cell, cell in new[root])
        for page, root in enumerate(sorted(members))
        for cell in sorted(members[root])
    ]
    return pl.DataFrame(
        rows, schema={"page": pl.Int64, "cell_id": pl.String, "is_new": pl.Boolean}, orient="row"
    )


def _linked_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """Pairs of new cells that belong together, strongest first: one is the other's candidate, or they share one."""
    new = pairs.select("cell_id").unique()
    direct = pairs.join(new, left_on="target_id", right_on="cell_id", how="semi").select(
        "cell_id", other_id="target_id", score="score"
    )
    common = (
        pairs.join(pairs, on="target_id", suffix="_other")
        .filter(pl.col("cell_id") < pl.col("cell_id_other"))
        .select("cell_id", other_id="cell_id_other", score=pl.min_horizontal("score", "score_other"))
    )
    return pl.concat([direct, common]).sort("score", "cell_id", "other_id", descending=[True, False, False])


def guard(judgements: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """The effect that each judgement may have, after checking it against both memories.

    `judgements` has `cell_id`, `target_id`, `verdict`, `subject`, `attribute`, `reason`; `cells` has the cells
    named. Adds `effect` and `guard_note`:

    - `confirmed`: said again, and nothing in it differs from what is known.
    - `elaborated`: said again with more in it, or with the same value in other words: both stay.
    - `superseded`: an update or correction of the subject and attribute that both cells name.
    - `contradiction`: cannot both hold, or a judgement that failed a check.
    - `none`: keep.
    """
    both = _side_by_side(judgements, cells)
    verdict = pl.col("verdict")
    is_judged = ~verdict.is_in(["keep", "unjudged"])
    is_there = pl.col("content_old").is_not_null()
    retires, confirms = verdict.is_in(RETIRING), verdict == "confirms"
    is_same_thing = (_names_same("subject") & _names_same("attribute")).fill_null(value=False)
    is_same_value = _plain_value("value_new").eq_missing(_plain_value("value_old"))
    is_trusted = _trust("origin_new") <= _trust("origin_old").clip(lower_bound=TRUST.index("agent"))
    note = (
        pl.when(~is_judged)
        .then(pl.lit(None, dtype=pl.String))
        .when(~is_there)
        .then(pl.lit("the target is not among the memories shown"))
        .when(retires & ~is_same_thing)
        .then(pl.lit("the two memories do not share the named subject and attribute"))
        .when(retires & is_same_value)
        .then(pl.lit("both memories carry the same value"))
        .when(retires & ~is_trusted)
        .then(pl.lit("a less trusted source may not retire this memory"))
        .when(confirms & _differs())
        .then(pl.lit("said again, but numbers, dates, names or negations differ"))
    )
    effect = (
        pl.when(~is_judged | ~is_there)
        .then(pl.lit("none"))
        .when(confirms & ~_differs())
        .then(pl.when(_adds()).then(pl.lit("elaborated")).otherwise(pl.lit("confirmed")))
        .when(retires & is_same_value & is_same_thing)
        .then(pl.lit("elaborated"))
        .when(retires & note.is_null())
        .then(pl.lit("superseded"))
        .otherwise(pl.lit("contradiction"))
    )
    return both.with_columns(guard_note=note, effect=effect).select(
        *judgements.columns, "effect", "guard_note"
    )


def _side_by_side(judgements: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Judgements with the facts of the new cell (`_new`) and of its target (`_old`)."""
    content = pl.col("content")
    facts = cells.select(
        "cell_id",
        *["subject", "attribute", "value", "content", "origin"],
        numbers=numbers(content),
        days=days_and_months(content),
        is_negated=is_negated(content),
        names=pl.concat_list(
            names(content), *(names("x " + pl.col(name).fill_null("")) for name in ("subject", "value"))
        )
        .list.unique()
        .list.sort(),
        words=words(content).list.unique(),
    )
    new = facts.rename(lambda name: name if name == "cell_id" else f"{name}_new")
    old = facts.rename(lambda name: "target_id" if name == "cell_id" else f"{name}_old")
    return judgements.join(new, on="cell_id", how="left").join(old, on="target_id", how="left")


def _names_same(column: str) -> pl.Expr:
    """Both cells' `column` and the judgement's name the same thing: equal words, or one's words within the other's."""
    judged, new, old = (_word_set(pl.col(name)) for name in (column, f"{column}_new", f"{column}_old"))
    return _within(judged, new) & _within(judged, old) & _within(new, old)


def _plain_value(column: str) -> pl.Expr:
    """A value as it is compared: its signs count (C is not C++), its case and blanks do not."""
    return pl.col(column).str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars(" .")


def _word_set(text: pl.Expr) -> pl.Expr:
    return (
        normalized(text)
        .str.split(" ")
        .list.set_difference(["", "the", "a", "an", "of", "for", "s"])
        .list.sort()
    )


def _within(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    common = left.list.set_intersection(right).list.len()
    smaller = pl.min_horizontal(left.list.len(), right.list.len())
    return (smaller > 0) & (common == smaller)


def _trust(origin: str) -> pl.Expr:
    ranks = {name: rank for rank, name in enumerate(TRUST)}
    return pl.col(origin).replace_strict(ranks, return_dtype=pl.Int64, default=len(TRUST))


def _differs() -> pl.Expr:
    """Whether two cells that should say the same differ in a value that counts.

    Numbers, days and names differ when each side has one that the other lacks: one more on one side is detail.
    A negation on one side alone counts when the sentences are else alike; in a longer sentence, or one of other
    words, it mostly denies something else ("X" and "X, not Y").
    """
    conflicts = [
        (pl.col(f"{part}_new").list.set_difference(f"{part}_old").list.len() > 0)
        & (pl.col(f"{part}_old").list.set_difference(f"{part}_new").list.len() > 0)
        for part in ("numbers", "days", "names")
    ]
    shared = pl.col("words_new").list.set_intersection("words_old").list.len()
    alike = shared / (pl.col("words_new").list.len() + pl.col("words_old").list.len() - shared)
    is_denied = (pl.col("is_negated_new") != pl.col("is_negated_old")) & (alike >= ALIKE)
    return pl.any_horizontal(*conflicts, is_denied).fill_null(value=True)


def _adds() -> pl.Expr:
    """Whether the new cell has numbers, days or names that the old one lacks."""
    more = [
        pl.col(f"{part}_new").list.set_difference(f"{part}_old").list.len() > 0
        for part in ("numbers", "days", "names")
    ]
    return pl.any_horizontal(*more)


def survivors(lives_on: Mapping[str, str]) -> dict[str, str]:
    """For every cell that lives on in another, the one at the end of the chain; a circle keeps its smallest id."""
    ends: dict[str, str] = {}
    for cell in lives_on:
        seen = [cell]
        while seen[-1] in lives_on and lives_on[seen[-1]] not in seen:
            seen.append(lives_on[seen[-1]])
        circle = seen[seen.index(lives_on[seen[-1]]) :] if seen[-1] in lives_on else seen[-1:]
        ends[cell] = min(circle)
    return {cell: end for cell, end in ends.items() if cell != end}


def supersessions(pairs: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Who supersedes whom, from pairs that speak of the same subject and attribute.

    `pairs` has `cell_id`, `target_id`, `verdict` (the judged ones and, from earlier nights, the links of the
    cells involved); `cells` has those cells. Each connected group is put in order of `valid_from`, then
    `recorded_at`: every cell is superseded by the next, the last one holds now, whatever order they came in.

    Returns `cell_id`, `superseded_by`, `valid_until`, `verdict`, oldest first; empty groups give no rows.
    """
    groups = _connected(pairs)
    said = cells.select("cell_id", "valid_from", "event_time", "recorded_at")
    corrections = (
        pairs.filter(pl.col("verdict") == "corrects")
        .join(said, on="cell_id", how="inner")
        .join(
            said.rename(lambda name: f"{name}_other"),
            left_on="target_id",
            right_on="cell_id_other",
            how="inner",
        )
        .with_columns(cell_id_other="target_id")
        .with_columns(is_later=_is_later("event_time", "recorded_at", "cell_id"))
    )
    wrong = corrections.select(cell_id=pl.when("is_later").then("target_id").otherwise("cell_id")).unique()
    return (
        groups.join(said.rename({"valid_from": "said_from"}), on="cell_id", how="inner")
        .join(_holding_from(said, corrections), on="cell_id", how="inner")
        .join(wrong.with_columns(is_wrong=pl.lit(value=True)), on="cell_id", how="left")
        .with_columns(valid_day=pl.col("valid_from").dt.truncate("1d"))
        .sort("group", *HOLDING_ORDER)
        .with_columns(
            superseded_by=pl.col("cell_id").shift(-1).over("group", order_by=HOLDING_ORDER),
            next_from=pl.col("valid_from").shift(-1).over("group", order_by=HOLDING_ORDER),
        )
        .filter(pl.col("superseded_by").is_not_null())
        .select(
            "cell_id",
            "superseded_by",
            # a corrected value never held
            valid_until=pl.when("is_wrong").then("said_from").otherwise("next_from"),
            verdict=pl.when("is_wrong").then(pl.lit("corrects")).otherwise(pl.lit("updates")),
        )
    )


def _is_later(*columns: str) -> pl.Expr:
    """The row is after its `_other` in the order of these columns."""
    later = pl.lit(value=False)
    for name in reversed(columns):
        other = f"{name}_other"
        later = (pl.col(name) > pl.col(other)) | ((pl.col(name) == pl.col(other)) & later)
    return later


def _holding_from(said: pl.DataFrame, corrections: pl.DataFrame) -> pl.DataFrame:
    """`cell_id`, `valid_from`: a correction may say "since ever", it still stands after what it corrects.

    What it corrects may itself be a correction, so the dates pass along until none moves; corrections go from the
    earlier said to the later said and have no circle.
    """
    right = corrections.select(
        cell_id=pl.when("is_later").then("cell_id").otherwise("target_id"),
        wrong_id=pl.when("is_later").then("target_id").otherwise("cell_id"),
    )
    holding, before = said.select("cell_id", "valid_from").sort("cell_id"), pl.DataFrame()
    while not holding.equals(before):
        before = holding
        not_before = (
            right.join(before, left_on="wrong_id", right_on="cell_id", how="inner")
            .group_by("cell_id")
            .agg(not_before=pl.col("valid_from").max())
        )
        holding = before.join(not_before, on="cell_id", how="left", maintain_order="left").select(
            "cell_id", pl.max_horizontal("valid_from", "not_before").alias("valid_from")
        )
    return holding


def _connected(pairs: pl.DataFrame) -> pl.DataFrame:
    """`cell_id`, `group` of the cells in `pairs`."""
    cells = pl.concat([pairs["cell_id"], pairs["target_id"]]).unique().sort()
    if cells.is_empty():
        return pl.DataFrame(schema={"cell_id": pl.String, "group": pl.Int64})
    index = {cell: position for position, cell in enumerate(cells)}
    rows = np.array([index[cell] for cell in pairs["cell_id"]])
    columns = np.array([index[cell] for cell in pairs["target_id"]])
    graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(cells), len(cells)))
    _, labels = connected_components(graph, directed=False)
    return pl.DataFrame({"cell_id": cells, "group": labels.astype(np.int64)})


def timelines(links: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """For every cell that holds now after supersessions: what it supersedes, and the timeline as its summary.

    `links` is what `supersessions` returned. Returns `cell_id`, `supersedes`, `summary`:
    "now 180; previously 250 (until 2026-08-19), 100 (until 2026-07-08)". A corrected value never held and is
    not part of the timeline.
    """
    groups = _connected(links.select("cell_id", target_id="superseded_by"))
    value = pl.coalesce("value", "content")
    facts = (
        groups.join(
            cells.select("cell_id", "valid_from", "event_time", "recorded_at", "value", "content"),
            on="cell_id",
            how="inner",
        )
        .join(links, on="cell_id", how="left")
        .sort("group", *AGE_ORDER)
    )
    until = pl.format("{} (until {})", value, pl.col("valid_until").dt.strftime("%Y-%m-%d"))
    before = facts.filter(pl.col("superseded_by").is_not_null() & (pl.col("verdict") == "updates"))
    history = (
        before.sort("group", "valid_until", *AGE_ORDER, descending=[False, True, True, True, True, True])
        .group_by("group", maintain_order=True)
        .agg(history=until.str.join(", "))
    )
    direct = links.select(cell_id="superseded_by", supersedes="cell_id")
    now = facts.filter(pl.col("superseded_by").is_null()).select("group", "cell_id", now=value)
    return (
        now.join(history, on="group", how="left")
        .join(direct, on="cell_id", how="inner")
        .select(
            "cell_id",
            "supersedes",
            summary=pl.when(pl.col("history").is_not_null()).then(
                pl.format("now {}; previously {}", "now", "history")
            ),
        )
        .sort("cell_id")
    )


def contradiction_rows(judged: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Rows of open contradictions from guarded judgements: the older cell is `cell_a`; each pair once.

    Returns `contradiction_id`, `cell_a`, `cell_b`, `subject`, `attribute`, `note`, the owner and provenance.
    """
    age = cells.sort(*AGE_ORDER).select("cell_id", *OWN).with_row_index("age")
    found = (
        judged.filter(pl.col("effect") == "contradiction")
        .join(age, on="cell_id", how="inner", maintain_order="left")
        .join(
            age.select(target_id="cell_id", target_age="age"),
            on="target_id",
            how="inner",
            maintain_order="left",
        )
    )
    is_older = pl.col("target_age") <= pl.col("age")
    rows = found.with_columns(
        cell_a=pl.when(is_older).then("target_id").otherwise("cell_id"),
        cell_b=pl.when(is_older).then("cell_id").otherwise("target_id"),
        note=pl.coalesce("guard_note", "reason"),
    ).unique(["cell_a", "cell_b"], keep="first", maintain_order=True)
    return (
        rows.with_columns(stable_ids("contradiction", rows.select("cell_a", "cell_b")))
        .select(
            "contradiction_id",
            "cell_a",
            "cell_b",
            "subject",
            "attribute",
            "note",
            *OWN,
            "prompt_version",
            "model",
        )
        .sort("contradiction_id")
    )


def confirmations(
    pairs: pl.DataFrame, cells: pl.DataFrame, vitals: pl.DataFrame, *, now: datetime
) -> pl.DataFrame:
    """New counts and joined evidence of cells that were said again.

    `pairs` has `cell_id` (the survivor), `confirmed_by` and `evidence` (of the repetition). Returns one row a
    survivor: `cell_id`, `confirmed_by`, `confirmations`, `evidence`, `last_accessed`.
    """
    said = pairs.group_by("cell_id").agg(
        pl.col("confirmed_by").sort().str.join(" "),
        said_count=pl.len().cast(pl.Int64),
        said_evidence=pl.col("evidence").list.explode(keep_nulls=False, empty_as_null=False),
    )
    return (
        said.join(cells.select("cell_id", "evidence"), on="cell_id", how="inner")
        .join(vitals.select("cell_id", "confirmations", "last_accessed"), on="cell_id", how="inner")
        .select(
            "cell_id",
            "confirmed_by",
            confirmations=pl.col("confirmations") + pl.col("said_count"),
            evidence=pl.col("evidence").list.set_union("said_evidence").list.sort(),
            last_accessed=pl.max_horizontal("last_accessed", pl.lit(now)),
        )
        .sort("cell_id")
    )
