"""Decisions of reconciliation and the work that waits for it: the queue, the judgements, the candidates. Reads the store only.

.venv/bin/marimo run notebooks/contradictions.py -- --home HOME
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Contradictions")

with app.setup:
    from typing import NamedTuple

    import altair as alt
    import marimo as mo
    import polars as pl
    from markupsafe import Markup, escape

    from slowwave.entrypoints.show.terminal import visible
    from slowwave.errors import NotFoundError, SlowwaveError
    from slowwave.home.paths import open_home
    from slowwave.schemas.tables import frame_schema
    from slowwave.store import col, lit, open_store, owned_by

    LISTED = 25
    BLUE, AMBER, GREY, GREEN, RED = "#3f76c0", "#dfa63c", "#a2abb8", "#3d9a78", "#cf5b52"
    VERDICT_COLORS = {
        "keep": GREY, "confirms": GREEN, "updates": BLUE, "corrects": "#8d6bb8", "contradicts": RED, "unjudged": AMBER,
    }  # fmt: skip
    OWNER_FIELDS = {
        "cells": (
            "cell_id", "content", "subject", "attribute", "value", "status", "superseded_by", "valid_from", "is_judged",
            "needs_review", "salience",
        ),
        "contradictions": ("contradiction_id", "cell_a", "cell_b", "subject", "attribute", "detected_at", "status", "resolution", "note"),
        "judgements": ("cell_id", "target_id", "verdict", "effect", "reason", "judged_at"),
    }  # fmt: skip
    STYLE = """
    .sw-table { border-collapse: collapse; width: 100%; font-size: 0.84rem; margin: 0.3rem 0; }
    .sw-table th { text-align: left; font-weight: 500; color: var(--muted-foreground); padding: 0.25rem 0.6rem 0.25rem 0; }
    .sw-table td { border-top: 1px solid var(--border); padding: 0.35rem 0.8rem 0.35rem 0; vertical-align: top; overflow-wrap: anywhere; }
    .sw-note { margin: 0.25rem 0; font-size: 0.85rem; color: var(--muted-foreground); }
    """

    class Stored(NamedTuple):
        """The rows of the page: only what the home's owner may see."""

        cells: pl.DataFrame
        contradictions: pl.DataFrame
        judgements: pl.DataFrame
        judging: pl.DataFrame
        problem: str


@app.cell(hide_code=True)
def _():
    mo.md("""
    # Contradictions

    What the judge of the night decided about pairs of memories, what stays open for a person, and what waits.
    """)
    return


@app.cell(hide_code=True)
def _():
    home_field = mo.ui.text(str(mo.cli_args().get("home") or ""), label="home", full_width=True)
    home_field
    return (home_field,)


@app.function
def nothing(problem: str) -> Stored:
    """Empty frames, and why."""
    frames = {
        name: pl.DataFrame(schema={column: frame_schema(name)[column] for column in columns})
        for name, columns in {**OWNER_FIELDS, "judging": tuple(frame_schema("judging"))}.items()
    }
    return Stored(**frames, problem=problem)


@app.function
def read(home: str) -> Stored:
    """The rows of a home that its owner may see; a home without a store has none."""
    try:
        place = open_home(home or None)
        if not place.store_root.is_dir():
            return nothing("No memory yet.")
        store = open_store(place.store_root)
    except NotFoundError:
        return nothing("No memory yet.")
    except SlowwaveError as error:
        return nothing(str(error))
    where = owned_by(place.settings.owner)
    frames = {name: store.rows(name, columns, where) for name, columns in OWNER_FIELDS.items()}
    judging = store.rows("judging").join(frames["cells"], on="cell_id", how="semi")
    return Stored(**frames, judging=judging, problem="")


@app.function
def shown_table(headings, rows, more: int = 0) -> str:
    """A table of escaped text."""
    head = Markup("").join(Markup("<th>{}</th>").format(name) for name in headings)
    lines = [
        Markup("<tr>{}</tr>").format(
            Markup("").join(Markup("<td>{}</td>").format(visible(str(text))) for text in row)
        )
        for row in rows
    ]
    rest = Markup('<p class="sw-note">and {} more</p>').format(more) if more > 0 else Markup("")
    return str(
        Markup('<table class="sw-table"><tr>{}</tr>{}</table>{}').format(head, Markup("").join(lines), rest)
    )


@app.cell(hide_code=True)
def _(home_field):
    stored = read(home_field.value)
    mo.Html(f"<style>{STYLE}</style><p class='sw-note'>{escape(stored.problem)}</p>")
    return (stored,)


@app.cell(hide_code=True)
def _(stored):
    _live = stored.cells.filter(pl.col("status") == "active")
    waiting = {
        "contradictions open": stored.contradictions.filter(pl.col("status") == "open").height,
        "contradictions ended": stored.contradictions.filter(pl.col("status") == "resolved").height,
        "memories not judged yet": _live.filter(~pl.col("is_judged")).height,
        "pairs that wait for a judge": stored.judgements.filter(pl.col("verdict") == "unjudged").height,
        "memories marked for review": _live.filter("needs_review").height,
        "judgements that failed": stored.judging.filter(pl.col("status") == "failed").height,
        "judgements in quarantine": stored.judging.filter(pl.col("status") == "quarantined").height,
    }
    mo.vstack([mo.md("## What waits"), mo.Html(shown_table(("what", "how many"), waiting.items()))])
    return (waiting,)


@app.cell(hide_code=True)
def _(stored):
    open_pairs = (
        stored.contradictions.filter(pl.col("status") == "open")
        .join(
            stored.cells.select(cell_a="cell_id", older="content", older_from="valid_from"),
            on="cell_a",
            how="left",
        )
        .join(
            stored.cells.select(cell_b="cell_id", newer="content", newer_from="valid_from"),
            on="cell_b",
            how="left",
        )
        .sort("detected_at", "contradiction_id")
    )
    _rows = [
        (f"{row['older'] or 'not for you to see'}", f"{row['newer'] or 'not for you to see'}", row["note"] or "", f"{row['detected_at']:%Y-%m-%d}")
        for row in open_pairs.head(LISTED).iter_rows(named=True)
    ]  # fmt: skip
    mo.vstack(
        [
            mo.md("## The queue for a person"),
            mo.Html(shown_table(("older", "newer", "why", "since"), _rows, open_pairs.height - LISTED))
            if _rows
            else mo.md("No contradiction is open."),
        ]
    )
    return (open_pairs,)


@app.cell(hide_code=True)
def _(stored):
    fell = (
        stored.judgements.group_by("verdict", "effect")
        .agg(count=pl.len())
        .sort("count", "verdict", "effect", descending=[True, False, False])
    )
    by_night = (
        stored.judgements.group_by("verdict", day=pl.col("judged_at").dt.date())
        .agg(count=pl.len())
        .sort("day", "verdict")
    )
    _colors = alt.Scale(domain=list(VERDICT_COLORS), range=list(VERDICT_COLORS.values()))
    _bars = (
        alt.Chart(fell.select("verdict", "effect", "count"))
        .mark_bar()
        .encode(
            x=alt.X("count:Q", title="pairs"),
            y=alt.Y("effect:N", title="what the checks let it do", sort="-x"),
            color=alt.Color("verdict:N", scale=_colors),
            tooltip=["verdict", "effect", "count"],
        )
        .properties(width=560, height=160)
    )
    _nights = (
        alt.Chart(by_night)
        .mark_bar()
        .encode(x=alt.X("day:T", title="night"), y=alt.Y("count:Q", title="pairs"), color=alt.Color("verdict:N", scale=_colors))
        .properties(width=560, height=160)
    )  # fmt: skip
    mo.vstack(
        [mo.md("## How judgements fell"), _bars, _nights] if fell.height else [mo.md("## How judgements fell"), mo.md("No pair was judged yet.")]
    )  # fmt: skip
    return by_night, fell


@app.cell(hide_code=True)
def _(stored):
    refused = (
        stored.judgements.filter((pl.col("effect") == "contradiction") & (pl.col("verdict") != "contradicts"))
        .group_by("verdict", "reason")
        .agg(count=pl.len())
        .sort("count", "verdict", "reason", descending=[True, False, False])
    )
    _rows = [
        (row["verdict"], row["reason"] or "", row["count"])
        for row in refused.head(LISTED).iter_rows(named=True)
    ]
    mo.vstack(
        [
            mo.md("## What the guard refused"),
            mo.Html(shown_table(("verdict", "reason", "pairs"), _rows, refused.height - LISTED))
            if _rows
            else mo.md("Nothing."),
        ]
    )
    return (refused,)


@app.function
def placed(home: str, stored: Stored, most: int = 200) -> pl.DataFrame:
    """The place of each judged pair's target among the vector neighbours of its memory: `verdict`, `rank` (null: later).

    Only pairs whose verdict named the target, the latest `most` of them; the neighbours are those of today.
    """
    named = (
        stored.judgements.filter(~pl.col("verdict").is_in(["keep", "unjudged"])).sort("judged_at").tail(most)
    )
    empty = pl.DataFrame(schema={"verdict": pl.String, "rank": pl.Int64})
    if named.is_empty():
        return empty
    place = open_home(home or None)
    store = open_store(place.store_root)
    vectors = store.vectors("cells", named["cell_id"])
    if vectors.is_empty():
        return empty
    where = owned_by(place.settings.owner)
    standing = where & col("status").isin(["active", "archived", "superseded"]) & (col("cell_id") != lit(""))
    near = store.nearest("cells", vectors["vector"].to_numpy(), 33, where=standing, exact=True)
    ids = dict(enumerate(vectors["cell_id"]))
    ranked = (
        near.select(
            cell_id=pl.col("query_index").replace_strict(ids, return_dtype=pl.String), target_id="cell_id"
        )
        .filter(pl.col("cell_id") != pl.col("target_id"))
        .with_columns(rank=pl.int_range(1, pl.len() + 1).over("cell_id"))
    )
    return named.join(ranked, on=["cell_id", "target_id"], how="left").select("verdict", "rank")


@app.cell(hide_code=True)
def _(home_field, stored):
    by_rank = placed(home_field.value, stored)
    _bands = by_rank.with_columns(
        band=pl.when(pl.col("rank").is_null())
        .then(pl.lit("later"))
        .when(pl.col("rank") > 8)
        .then(pl.lit("9 to 32"))
        .otherwise(pl.col("rank").cast(pl.String))
    )
    _counts = _bands.group_by("band", "verdict").agg(count=pl.len()).sort("band", "verdict")
    _order = [*(str(rank) for rank in range(1, 9)), "9 to 32", "later"]
    _chart = (
        alt.Chart(_counts)
        .mark_bar()
        .encode(
            x=alt.X("band:N", title="place of the target among the nearest memories, by vectors alone", sort=_order),
            y=alt.Y("count:Q", title="pairs"),
            color=alt.Color("verdict:N", scale=alt.Scale(domain=list(VERDICT_COLORS), range=list(VERDICT_COLORS.values()))),
        )
        .properties(width=560, height=180)
    )  # fmt: skip
    mo.vstack(
        [
            mo.md("## Candidates by rank"),
            _chart if by_rank.height else mo.md("No judged pair with vectors."),
            mo.md("What stands at `later` was found by its words: vectors alone would have missed it."),
        ]
    )
    return (by_rank,)


if __name__ == "__main__":
    app.run()
