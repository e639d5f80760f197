"""The steps of reconcile: what proposes pairs, what waits in the queue, and what the answers change.

Pairs that wait are rows of `judgements` with the verdict `unjudged`, and nothing else is remembered: what a budget or
an outage leaves there waits, and a pair with another verdict is never asked about again.
"""

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.home.stated_values import stated_values
from slowwave.home.vectors import nearest_of_owner
from slowwave.journal.plan import Plan, rejected
from slowwave.language.text import full_text_queries
from slowwave.lifecycle.fading import revivals
from slowwave.lifecycle.order import AGE_ORDER, PAIR
from slowwave.lifecycle.pairs import kept_rows, oriented, unjudged_rows, with_both, without_named
from slowwave.lifecycle.succession import succession
from slowwave.models.requests import Outcome
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.table_parts import nullable
from slowwave.schemas.tables import OWNER, TIMESTAMP
from slowwave.store import Expr, col, lit, same_owner
from slowwave.store.chains import PERSON as A_PERSON
from slowwave.store.chains import elaborated_pairs, flags, standing_ends, with_stored_chains
from slowwave.trust.origins import PERSON
from tasks.ask import Model, author_columns
from tasks.frames import Frame
from tasks.reconcile.contradictions import ended, opened
from tasks.reconcile.guard import guarded
from tasks.reconcile.pages import (
    Page,
    Said,
    disjoint_pages,
    on_page,
    request_of,
    said_on,
    shown_pairs,
    with_speakers,
)
from tasks.reconcile.pairs import (
    Near,
    Proposed,
    exact_repetitions,
    near_enough,
    of_one_property,
    resting_on_superseded,
    shares_of_words,
    unasked,
)
from tasks.reconcile.plan import after_succession, examples, judged_events, said_with_more
from tasks.step import Readable, StageRun, step
from tasks.tries import failed_rows

WHOLE_WORDS, TELLING_WORDS = 64, 24
"""Full-text search looks for every word of a memory with at most so many different ones, and for so many telling ones
of a longer one. From windows of a conversation the telling ones found more of the statements that others update
than the first 48 words did, at half the cost in a large store."""

NO_JUDGE = "near pairs are noted as unjudged: without a language model nobody decides what they mean"

LOOKED_AT = 16
"""Neighbours by vector, and by words, whose ranks are fused."""

DATES = ["cell_id", *OWNER, *AGE_ORDER[:-1], "valid_precision"]
PAIR_SHAPE = {"cell_id": pl.String, "target_id": pl.String}
JUDGEABLE = col("status").isin(["active", "archived"]) & (col("cell_type") != lit(EPISODE))
"""Memories that a judge may be shown."""


class Looked(Frame):
    """New memories, whose neighbours are looked at tonight, and those that are marked for review."""

    cell_id: str
    user_id: str
    project_id: str
    scope: str
    content: str
    property: str = nullable()
    is_marked: bool


class Queue(Frame):
    """Pairs to ask about, in their order; the memory in `cell_id` is the later one."""

    cell_id: str
    target_id: str


class Answers(NamedTuple):
    """Judgements, the pages that they were given on, and the outcomes of the pages without a usable answer."""

    said: DataFrame[Said]
    pages: DataFrame[Page]
    failed: Mapping[int, Outcome]


@step
def plan_repetitions(reader: Readable) -> Plan:
    """New memories that say exactly what another says live on in the most trusted, oldest one.

    What is archived comes back only by what a person says.
    """
    new = reader.store.rows("cells", ["content_hash"], _is_new())
    known = reader.store.having("cells", "content_hash", new["content_hash"])
    said = (pl.col("origin") == PERSON).any().over(*OWNER, "content_hash")
    is_there = (pl.col("status") == "active") | ((pl.col("status") == "archived") & said)
    repeated = exact_repetitions(known.filter(is_there & (pl.col("cell_type") != EPISODE)))
    if repeated.is_empty():
        return Plan()
    links = repeated.clear().with_columns(verdict=pl.lit(None, dtype=pl.String))
    chains = with_stored_chains(reader.store, links, repeated)
    usage = reader.store.by_key("cell_usage", chains.members["cell_id"])
    found = succession(chains, usage, now=reader.now, made_by=author_columns())
    text = found.merged.join(known.unique("cell_id"), on="cell_id").select(
        pl.format("said again: {}", "content")
    )
    return Plan(events=found.events, rows_in=found.merged.height, examples=text.to_series().to_list())


@step
def plan_stated_values(reader: Readable) -> Plan:
    """Retires the values that one outdates which a person told with its subject and attribute."""
    return Plan(events=stated_values(reader.store, now=reader.now))


@step
def index_texts(run: StageRun) -> None:
    """Brings the full-text index up to date: each query would read every new text otherwise."""
    if not run.report.dry_run:
        with run.workspace.writing():
            run.store.index_if_stale("cells")


@step
def find_cells(reader: Readable) -> DataFrame[Looked]:
    """New memories, and those that are marked for review."""
    is_marked = (col("needs_review") == lit(value=True)) & JUDGEABLE
    new, marked = (reader.store.rows("cells", Looked.names()[:-1], where) for where in (_is_new(), is_marked))
    marked = marked.join(new, on="cell_id", how="anti")
    both = [
        new.with_columns(is_marked=pl.lit(value=False)),
        marked.with_columns(is_marked=pl.lit(value=True)),
    ]
    return Looked.of(pl.concat(both).sort("cell_id"))


@step
def find_neighbours(reader: Readable, cells: DataFrame[Looked]) -> DataFrame[Near]:
    """The living and archived memories of the same owner that are nearest to each, by vector and by words."""
    found = [pl.DataFrame(schema={**PAIR_SHAPE, "similarity": pl.Float64, "share": pl.Float64})]
    for owner in cells.filter(~pl.col("is_marked")).partition_by(OWNER, maintain_order=True):
        where = JUDGEABLE & same_owner(owner)
        vectors = reader.store.vectors("cells", owner["cell_id"])
        placed = owner.select("cell_id", *OWNER).join(vectors.select("cell_id", "vector"), on="cell_id")
        near = nearest_of_owner(reader.store, "cells", placed, k=LOOKED_AT, where=where)
        texts = full_text_queries(owner["content"], whole=WHOLE_WORDS, most=TELLING_WORDS)
        matching = reader.store.matching("cells", texts, LOOKED_AT, where=where).rename(
            {"cell_id": "target_id"}
        )
        queries = owner.select("cell_id").with_row_index("query_index").cast({"query_index": pl.Int64})
        shares = shares_of_words(matching.join(queries, on="query_index"))
        both = near.filter(pl.col("cell_id") != pl.col("target_id")).join(
            shares, on=PAIR, how="full", coalesce=True
        )
        found.append(_with_similarity(reader, both.with_columns(pl.col("share").fill_null(0.0))))
    return Near.of(pl.concat(found, how="diagonal"))


def _with_similarity(reader: Readable, pairs: pl.DataFrame) -> pl.DataFrame:
    """`pairs` with the cosine of those that only the words found; null where one has no vector."""
    lacking = pairs.filter(pl.col("similarity").is_null()).select(PAIR)
    vectors = reader.store.vectors("cells", _named(lacking))
    both = with_both(lacking, vectors.select("cell_id", vector=pl.col("vector").arr.to_list()))
    one, other = pl.col("vector"), pl.col("vector_target")
    norm = (one * one).list.sum().sqrt() * (other * other).list.sum().sqrt()
    cosine = both.select(*PAIR, cosine=((one * other).list.sum() / norm).cast(pl.Float64))
    joined = pairs.join(cosine, on=PAIR, how="left", maintain_order="left")
    return joined.with_columns(similarity=pl.coalesce("similarity", "cosine")).drop("cosine")


@step
def propose_near(
    reader: Readable, cells: DataFrame[Looked], neighbours: DataFrame[Near]
) -> DataFrame[Proposed]:
    """Pairs by nearness, and by one subject and attribute; without an embedder the words decide alone."""
    looked = cells.filter(~pl.col("is_marked"))
    names = ["cell_id", *OWNER, "property", *AGE_ORDER[:-1], "status", "cell_type"]
    known = reader.store.having("cells", "property", looked["property"].drop_nulls().unique(), names)
    is_judgeable = pl.col("status").is_in(["active", "archived"]) & (pl.col("cell_type") != EPISODE)
    same = of_one_property(looked, known.filter(is_judgeable))
    least = reader.embedder.profile.relevance_threshold if reader.embedder is not None else 1.0
    return Proposed.of(pl.concat([same, near_enough(neighbours, least=least)]))


@step
def propose_changed(reader: Readable, cells: DataFrame[Looked]) -> DataFrame[Proposed]:
    """Memories marked for review, each with what took the place of what it rests on."""
    marked = cells.filter("is_marked")
    rests_on = elaborated_pairs(reader.store, marked["cell_id"])
    before = reader.store.by_key("cells", rests_on["target_id"], ["cell_id", "status", "valid_until"])
    return resting_on_superseded(rests_on, before, standing_ends(reader.store, before["cell_id"]))


@step
def plan_pairs(
    reader: Readable,
    cells: DataFrame[Looked],
    near: DataFrame[Proposed],
    changed: DataFrame[Proposed],
    *,
    has_model: bool,
) -> Plan:
    """Notes proposed pairs that nobody asked about; their memories are looked at then.

    What changed under a memory is asked about though the two were kept apart before, unless a person did that.
    """
    fresh = _unasked(reader, near)
    again = _unasked(reader, changed, is_again=True)
    rows = pl.concat([again, without_named(fresh, again)])
    new, marked = cells.filter(~pl.col("is_marked")), cells.filter("is_marked").select("cell_id")
    reason = pl.lit("its pairs are noted for a judge")
    reviewed = marked.with_columns(*author_columns(), verdict=pl.lit("keep"), reason=reason)
    return Plan(
        events={
            "pair.judged": unjudged_rows(rows, pl.col("reason")),
            "cell.judged": new.select("cell_id"),
            "cell.reviewed": reviewed,
        },
        rows_in=new.height,
        notes=[] if has_model or rows.is_empty() else [NO_JUDGE],
    )


@step
def find_queue(reader: Readable, proposed: Plan | None = None) -> DataFrame[Queue]:
    """The pairs to ask about, those that wait longest first, without memories whose next try is not due.

    `proposed` has the pairs that a dry run did not store.
    """
    noted = reader.store.rows("judgements", [*PAIR, "judged_at"], col("verdict") == lit("unjudged"))
    if proposed is not None:
        now = pl.lit(reader.now, dtype=TIMESTAMP)
        noted = pl.concat([noted, proposed.events["pair.judged"].select(*PAIR, judged_at=now)]).unique(PAIR)
    facts = reader.store.by_key("cells", _named(noted), [*DATES, "status", "salience"])
    standing = facts.filter(pl.col("status") != "superseded")
    pairs = with_both(oriented(noted, standing), standing.select("cell_id", "salience"))
    waiting = pairs.join(_held(reader, pairs["cell_id"]), on="cell_id", how="anti")
    weight = pl.col("salience") + pl.col("salience_target")
    return Queue.of(waiting.sort("judged_at", weight, *PAIR, descending=[False, True, False, False]))


@step
def find_round(reader: Readable, queue: DataFrame[Queue]) -> tuple[DataFrame[Page], pl.DataFrame]:
    """The pages of one round, and their memories (rows of `cells`) with who said each (`said_by`).

    A memory whose page failed before is asked about alone.
    """
    tries = reader.store.by_key("judging", queue["cell_id"].unique(), ["cell_id", "attempts"])
    pages = disjoint_pages(queue, alone=set(tries.filter(pl.col("attempts") > 0)["cell_id"]))
    cells = reader.store.by_key("cells", pages["cell_id"])
    turns = cells["evidence"].explode(keep_nulls=False, empty_as_null=False).unique()
    return pages, with_speakers(cells, reader.store.by_key("turns", turns, ["turn_id", "speaker"]))


@step
def ask_judgements(model: Model, pages: DataFrame[Page], cells: pl.DataFrame) -> Answers:
    """The judgements of each page; a page without a usable answer waits, and blocks no other."""
    shown = {
        int(page["page"][0]): on_page(page, cells) for page in pages.partition_by("page", maintain_order=True)
    }
    outcomes = model.outcomes({number: request_of(page) for number, page in shown.items()}, work="reconcile")
    failed = {number: outcome for number, outcome in outcomes.items() if outcome.answer is None}
    answered = pages.filter(~pl.col("page").is_in(list(failed)))
    said = [Said.of(pl.DataFrame(schema=dict.fromkeys(Said.names(), pl.String)))]
    said += [said_on(shown[number], outcome) for number, outcome in outcomes.items() if number not in failed]
    return Answers(Said.of(pl.concat(said)), Page.of(answered), failed)


@step
def plan_judged(reader: Readable, queue: DataFrame[Queue], pages: DataFrame[Page], answers: Answers) -> Plan:
    """The changes that the judgements make, behind the guard and in the order of the chains that they belong to."""
    said, settled = answers.said, _contradicting(reader, answers.pages["cell_id"])
    cells = reader.store.by_key("cells", answers.pages["cell_id"])
    judged = guarded(without_named(said, settled), cells).join(
        cells.select("cell_id", *OWNER), on="cell_id", maintain_order="left"
    )
    retiring = judged.filter(pl.col("effect") == "superseded").select(*PAIR, "verdict")
    repeating = judged.filter(pl.col("effect") == "confirmed").select(PAIR)
    chains = with_stored_chains(reader.store, retiring, repeating)
    every = pl.concat([cells, chains.members]).unique("cell_id", keep="first", maintain_order=True)
    author = judged.select("prompt_version", "model").head(1)
    made_by = author_columns(*(author.row(0) if author.height else (None, None)))
    usage = reader.store.by_key("cell_usage", every["cell_id"])
    found = succession(chains, usage, now=reader.now, made_by=made_by)
    judged = after_succession(judged, found)
    events = judged_events(judged, shown_pairs(queue, answers.pages), every, found)
    more = usage.filter(pl.col("cell_id").is_in(said_with_more(judged, cells).implode()))
    back = pl.concat([events["cell.revived"], revivals(more, now=reader.now, reason="said again")])
    leaving = every.filter(pl.col("cell_id").is_in(found.leaving.implode()))
    gone = pl.concat([found.merged["cell_id"], found.leaving])
    # one that left before it was looked at, and stands again: else only a night that was cut off would look at it
    back_new = every.filter(~pl.col("is_judged")).join(events["cell.reinstated"], on="cell_id", how="semi")
    back_new = back_new.select("cell_id")
    tried = reader.store.by_key("judging", answers.pages.filter("is_new")["cell_id"], ["cell_id", "attempts"])
    return Plan(
        events={
            **events,
            "cell.revived": back.unique("cell_id", maintain_order=True),
            **flags(reader.store, leaving, gone=gone, why="was superseded"),
            "cell.judged": pl.concat(
                [tried.filter(pl.col("attempts") > 0).select("cell_id"), back_new]
            ).unique(maintain_order=True),
            "judging.failed": _failed(reader, pages, answers),
        },
        rejected={
            **_refused(judged, said.height - judged.height),
            **rejected("waits for a judgement", _without_answer(pages, answers)["cell_id"]),
        },
        examples=examples(judged, every),
    )


@step
def plan_moved(reader: Readable) -> Plan:
    """Pairs that wait, and open contradictions, of which a side no longer stands: both go on with what took its place.

    A contradiction goes on between memories that say the same; else the successors are a pair to ask about.
    """
    store = reader.store
    noted = store.rows("judgements", ["judgement_id", *PAIR, *OWNER], col("verdict") == lit("unjudged"))
    columns = ["contradiction_id", "cell_a", "cell_b", "subject", "attribute", "note", *OWNER]
    doubts = store.rows("contradictions", columns, col("status") == lit("open"))
    named = pl.concat([*(noted[name] for name in PAIR), doubts["cell_a"], doubts["cell_b"]]).unique()
    cells = store.by_key("cells", named, ["cell_id", "status", "superseded_by", "valid_until"])
    ends = standing_ends(store, named)
    over = ended(doubts, cells, ends)
    end = pl.col(PAIR).replace_strict(ends, default=None, return_dtype=pl.String)
    standing = cells.filter(pl.col("status") != "superseded")["cell_id"].implode()
    undecided = without_named(noted, _contradicting(reader, named))["judgement_id"]
    is_open = pl.all_horizontal(pl.col(PAIR).is_in(standing)) & pl.col("judgement_id").is_in(
        undecided.implode()
    )
    stale = noted.filter(~is_open)
    moved = pl.concat([stale.select(end), over.filter(~pl.col("is_merged")).select(PAIR)]).drop_nulls()
    pairs = _unasked(
        reader, moved.with_columns(reason=pl.lit("it took the place of a memory that was to be judged"))
    )
    merged = over.filter("is_merged").drop_nulls(PAIR)
    dates = store.by_key("cells", _named(merged), DATES)
    again = without_named(oriented(merged, dates), _contradicting(reader, dates["cell_id"]))
    note = pl.concat_str(["note", pl.format("closed: {}", "closing")], separator="; ", ignore_nulls=True)
    reason = pl.lit("one of the two no longer stands, or the pair stands in a contradiction")
    return Plan(
        events={
            "contradiction.closed": over.with_columns(note=note),
            "contradiction.opened": opened(again.with_columns(*author_columns())),
            "pair.judged": pl.concat([kept_rows(stale, reason), unjudged_rows(pairs, pl.col("reason"))]),
        }
    )


# Inside


def _named(pairs: pl.DataFrame) -> pl.Series:
    """The ids of both sides."""
    return pl.concat([pairs[name] for name in PAIR]).unique()


def _without_answer(pages: DataFrame[Page], answers: Answers) -> pl.DataFrame:
    """The memories that were asked about on pages without a usable answer."""
    return pages.filter(pl.col("is_new") & pl.col("page").is_in(list(answers.failed))).sort("page", "cell_id")


def _failed(reader: Readable, pages: DataFrame[Page], answers: Answers) -> pl.DataFrame:
    """Rows of `judging.failed`: one try more for these; an outage or a spent budget is no try."""
    asked = _without_answer(pages, answers)
    known = reader.store.by_key("judging", asked["cell_id"], ["cell_id", "attempts"])
    tried = asked.join(known, on="cell_id", how="left", maintain_order="left").with_columns(
        pl.col("attempts").fill_null(0)
    )
    outcomes = [answers.failed[page] for page in tried["page"]]
    return failed_rows(
        "judging.failed",
        tried.select("cell_id", "attempts"),
        outcomes,
        now=reader.now,
    )


def _is_new() -> Expr:
    return (col("status") == lit("active")) & (col("is_judged") == lit(value=False))


def _held(reader: Readable, cell_ids: pl.Series) -> pl.DataFrame:
    """`cell_id` of the memories in quarantine, and of those whose next try is not due."""
    tried = reader.store.by_key("judging", cell_ids, ["cell_id", "status", "retry_at"])
    # also what failed in this run, however short the pause: a run asks once
    is_early = (pl.col("status") == "failed") & (pl.col("retry_at") >= pl.lit(reader.now))
    return tried.filter((pl.col("status") == "quarantined") | is_early).select("cell_id")


def _contradicting(reader: Readable, cell_ids: pl.Series) -> pl.DataFrame:
    """Pairs of these memories that stand or stood in a contradiction."""
    found = reader.store.having("contradictions", "cell_a", cell_ids, ["cell_a", "cell_b"])
    return found.select(cell_id="cell_b", target_id="cell_a")


def _unasked(reader: Readable, pairs: pl.DataFrame, *, is_again: bool = False) -> pl.DataFrame:
    """`unasked` pairs by what the store has; `is_again` asks anew about what a judge kept apart."""
    ids = _named(pairs)
    columns = [*PAIR, "verdict", "prompt_version"]
    judged = pl.concat([reader.store.having("judgements", name, ids, columns) for name in PAIR])
    if is_again:
        judged = judged.filter((pl.col("verdict") != "keep") | pl.col("prompt_version").eq_missing(A_PERSON))
    asked = pl.concat([judged.select(PAIR), _contradicting(reader, ids)])
    return unasked(pairs, asked, reader.store.by_key("cells", ids, DATES))


def _refused(judged: pl.DataFrame, settled: int) -> dict[str, list[str]]:
    """The rows of the report about what the guard refused; `settled` counts pairs that a contradiction decided."""
    noted = judged.drop_nulls("guard_note").sort("guard_note")
    found = {
        f"guard: {note}": part["cell_id"].to_list()
        for (note,), part in noted.group_by("guard_note", maintain_order=True)
    }
    return found | rejected("guard: this pair was settled before", [""] * settled)
