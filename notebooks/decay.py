"""The fading of memories: what is left of each, what will go, what came back. Reads the store and nothing else.

.venv/bin/marimo run notebooks/decay.py -- --home HOME --year FILE
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Decay")

with app.setup:
    import json
    from datetime import UTC, datetime
    from pathlib import Path
    from typing import NamedTuple

    import altair as alt
    import marimo as mo
    import polars as pl
    from markupsafe import Markup, escape

    from slowwave.entrypoints.show.terminal import visible
    from slowwave.errors import NotFoundError, SlowwaveError
    from slowwave.home.paths import Home, open_home
    from slowwave.lifecycle.fading import MOST_FALSE_RATE, RECENT_RATE_DAYS, fading, false_forgetting
    from slowwave.lifecycle.retention import effective_confidence, retention, unused_days
    from slowwave.schemas.report import Forgetting, forgetting_line
    from slowwave.schemas.tables import frame_schema
    from slowwave.store import open_store, owned_by

    COLUMNS = (
        "cell_id",
        "cell_type",
        "content",
        "salience",
        "confidence",
        "status",
        "decay_rate",
        "protected",
    )
    CURVE_DAYS = 200
    AHEAD_DAYS = 180
    LISTED = 15
    YEAR_PARTS = {
        "what it believes": ("first", "recall", "precision", "stale"),
        "how much it holds": ("active", "active_cited", "superseded", "archived"),
        "seconds of work a night": ("night_cpu_seconds",),
    }

    class Memories(NamedTuple):
        """The owner's cells with their vitals; `problem` says why there are none."""

        home: Home | None
        cells: pl.DataFrame
        cell_usage: pl.DataFrame
        problem: str

    class Year(NamedTuple):
        """Output of `benchmarks/year.py --json`; `problem` says why there is none."""

        result: dict
        months: pl.DataFrame
        problem: str


@app.function
def read_memories(path):
    """The memories of the home at `path`, else of the configured one."""
    cells = pl.DataFrame(schema={name: frame_schema("cells")[name] for name in COLUMNS})
    cell_usage = pl.DataFrame(schema=frame_schema("cell_usage"))
    try:
        home = open_home(path or None)
        store = open_store(home.store_root)
        cells = store.rows("cells", COLUMNS, owned_by(home.settings.owner))
        cell_usage = store.by_key("cell_usage", cells["cell_id"])
    except NotFoundError:
        return Memories(None, cells, cell_usage, "No memory yet.")
    except SlowwaveError as error:
        return Memories(None, cells, cell_usage, str(error))
    return Memories(home, cells, cell_usage, "")


@app.function
def read_year(path):
    """The year in the file at `path`."""
    nothing = pl.DataFrame({"month": []}, schema={"month": pl.Int64})
    if not path:
        return Year({}, nothing, "No year is given: `benchmarks/year.py --json > year.json` lives one.")
    try:
        result = json.loads(Path(path).read_text(encoding="utf-8"))
        return Year(result, pl.DataFrame(result["months"]), "")
    except (OSError, ValueError, KeyError, TypeError) as error:
        return Year({}, nothing, f"{path} is not a year that can be read ({type(error).__name__}).")


@app.function
def paragraph(text):
    """Text as it is, never as markup."""
    return mo.Html(str(Markup("<p style='margin:0'>{}</p>").format(escape(visible(text)))))


@app.function
def listing(frame):
    """A table in which nothing is markup."""
    head = Markup("").join(
        Markup("<th style='text-align:left'>{}</th>").format(name) for name in frame.columns
    )
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(Markup("<td>{}</td>").format(escape(visible(value))) for value in row)
        )
        for row in frame.iter_rows()
    )
    return mo.Html(str(Markup("<table style='width:100%'><tr>{}</tr>{}</table>").format(head, body)))


@app.cell(hide_code=True)
def _():
    mo.md("""
    # Decay

    **What is left of each memory, what will go, and was it right to let go?** Nothing is written, and looking does
    not count as use.
    """)
    return


@app.cell(hide_code=True)
def _():
    _args = mo.cli_args()
    home_box = mo.ui.text(value=str(_args.get("home") or ""), label="Home", full_width=True)
    year_box = mo.ui.text(value=str(_args.get("year") or ""), label="A year's JSON", full_width=True)
    mo.hstack([home_box, year_box], widths="equal", gap=1)
    return home_box, year_box


@app.cell(hide_code=True)
def _(home_box, year_box):
    now = datetime.now(UTC)
    memories = read_memories(home_box.value.strip())
    year = read_year(year_box.value.strip())
    _shown = mo.callout(paragraph(memories.problem), kind="info") if memories.problem else mo.md("")
    _shown
    return memories, now, year


@app.cell(hide_code=True)
def _(memories):
    _settings = memories.home.settings if memories.home else open_home().settings
    decay, forget = _settings.decay, _settings.forget
    _rates = {"other types": decay.default_rate, **decay.rates}
    _days = pl.DataFrame({"days": list(range(CURVE_DAYS + 1))}).cast(pl.Float64)
    curves = (
        pl.DataFrame({"cell_type": list(_rates), "rate": list(_rates.values())})
        .join(_days, how="cross")
        .with_columns(retention=retention(pl.col("rate"), pl.col("days")))
    )
    _lines = (
        alt.Chart(curves)
        .mark_line()
        .encode(
            x=alt.X("days:Q", title="days without use"),
            y=alt.Y("retention:Q", title="share that is left", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("cell_type:N", title="type"),
        )
    )
    _limit = (
        alt.Chart(pl.DataFrame({"y": [forget.min_confidence]})).mark_rule(strokeDash=[4, 4]).encode(y="y:Q")
    )
    mo.vstack(
        [
            mo.md("## How each type fades"),
            paragraph(
                f"Below {forget.min_confidence:g}, after {forget.unused_days:g} days without use at least, "
                "a memory that was never cited is archived. Protected ones have no curve."
            ),
            mo.ui.altair_chart(_lines + _limit),
        ]
    )
    return curves, forget


@app.cell(hide_code=True)
def _(forget, memories, now):
    _live = memories.cells.filter(pl.col("status") == "active").join(
        memories.cell_usage, on="cell_id", how="inner"
    )
    strength = _live.select(
        "cell_id",
        "cell_type",
        effective=effective_confidence(now=now),
        unused=unused_days(now=now),
    )
    coming = fading(memories.cells, memories.cell_usage, now=now, forget=forget, days=AHEAD_DAYS).join(
        memories.cells.select("cell_id", "cell_type", "content", "salience"), on="cell_id", how="inner"
    )
    _points = (
        alt.Chart(strength)
        .mark_circle(opacity=0.5)
        .encode(
            x=alt.X("unused:Q", title="days without use"),
            y=alt.Y("effective:Q", title="effective confidence", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("cell_type:N", title="type"),
        )
    )
    _when = (
        alt.Chart(coming.select("fades_at", "cell_type"))
        .mark_bar()
        .encode(
            x=alt.X("yearweek(fades_at):T", title="week"),
            y=alt.Y("count():Q", title="memories that fade"),
            color=alt.Color("cell_type:N", title="type"),
        )
    )
    _named = coming.sort("salience", "fades_at", descending=[True, False]).head(LISTED)
    _table = _named.select(
        fades=pl.col("fades_at").dt.strftime("%Y-%m-%d"),
        type="cell_type",
        memory=pl.col("content").str.slice(0, 200),
    )
    mo.vstack(
        [
            mo.md("## What will fade"),
            paragraph(
                f"{coming.height} of {strength.height} living memories within {AHEAD_DAYS} days, if nobody uses them."
            ),
            mo.ui.altair_chart(_points),
            mo.ui.altair_chart(_when),
            listing(_table),
        ]
    )
    return coming, strength


@app.cell(hide_code=True)
def _(memories, now):
    forgotten = (
        false_forgetting(memories.cell_usage, now=now)
        if memories.cell_usage.height
        else Forgetting(recent_days=RECENT_RATE_DAYS)
    )
    moved = pl.concat(
        [
            memories.cell_usage.select(at=name, what=pl.lit(what)).drop_nulls()
            for name, what in (("archived_at", "archived"), ("revived_at", "came back"))
        ]
    )
    _bars = (
        alt.Chart(moved)
        .mark_bar()
        .encode(
            x=alt.X("yearmonth(at):T", title="month"),
            y=alt.Y("count():Q", title="memories"),
            color=alt.Color("what:N", title=""),
            xOffset="what:N",
        )
    )
    mo.vstack(
        [
            mo.md("## Was it right to let go?"),
            paragraph(f"{forgetting_line(forgotten)}. More than {MOST_FALSE_RATE:.1%} is too much."),
            mo.ui.altair_chart(_bars),
        ]
    )
    return forgotten, moved


@app.cell(hide_code=True)
def _(year):
    year_curves = {
        title: year.months.select("month", *names).unpivot(
            index="month", variable_name="what", value_name="value"
        )
        for title, names in YEAR_PARTS.items()
        if set(names) <= set(year.months.columns)
    }
    _charts = [
        alt.Chart(frame, title=title)
        .mark_line(point=True)
        .encode(x=alt.X("month:O"), y=alt.Y("value:Q", title=""), color=alt.Color("what:N", title=""))
        for title, frame in year_curves.items()
    ]
    _said = year.problem or (
        f"{year.result['days']} simulated days; false forgetting "
        f"{'not yet known' if (_rate := year.result['year']['false_forgetting']) is None else f'{_rate:.2%}'}."
    )
    mo.vstack([mo.md("## A simulated year"), paragraph(_said), *(mo.ui.altair_chart(one) for one in _charts)])
    return (year_curves,)


if __name__ == "__main__":
    app.run()
