"""From `Memory` to a Polars frame and a plot: a beginning for a notebook of your own.

.venv/bin/marimo edit notebooks/first_frame.py -- --home data/demo-home
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App()

with app.setup:
    import altair as alt
    import marimo as mo
    import polars as pl

    from slowwave import Memory
    from slowwave.errors import SlowwaveError


@app.cell
def _():
    try:
        memory = Memory(mo.cli_args().get("home"), records_usage=False)
        cells = memory.frame("cells", columns=["cell_type", "event_time"], where=pl.col("status") == "active")
    except SlowwaveError as error:  # no memory yet, or one that cannot be read: its message is one sentence
        mo.stop(True, mo.plain_text(str(error)))
    monthly = cells.group_by("cell_type", month=pl.col("event_time").dt.truncate("1mo")).len().sort("month")
    monthly
    return (monthly,)


@app.cell
def _(monthly):
    alt.Chart(monthly).mark_bar().encode(x="yearmonth(month):T", y="len:Q", color="cell_type:N")
    return


if __name__ == "__main__":
    app.run()
