"""An analyst's questions about one memory: staleness, forgetting, contradictions, nights, use. Reads and writes nothing.

make notebook, or: .venv/bin/marimo run notebooks/memory_quality.py -- --home HOME
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Memory quality")

with app.setup:
    from datetime import UTC, datetime, timedelta

    import altair as alt
    import marimo as mo
    import polars as pl
    import polars.selectors as cs

    from slowwave import Memory
    from slowwave.errors import SlowwaveError

    ROWS, NIGHTS, LONGEST = 10, 30, 300
    MINUTE = "%Y-%m-%d %H:%M"
    STATES = ("current", "in doubt", "replaced", "merged", "archived")
    WIDTHS = {"memory": 560, "days": 60, **dict.fromkeys(("about", "known_longer", "newer", "why"), 232)}


@app.cell(hide_code=True)
def _():
    mo.md("""
    # Memory quality

    What a memory holds that is out of date, what it forgot, what it disputes, what its nights did and what nobody uses.
    Each figure is computed from `Memory.frame` for the user that the home's settings name. Nothing is written, and
    looking does not count as use.
    """)
    return


@app.cell(hide_code=True)
def _():
    home_box = mo.ui.text(
        str(mo.cli_args().get("home") or ""),
        label="Home",
        placeholder="SLOWWAVE_HOME, else your own",
        full_width=True,
    )
    again = mo.ui.button(label="Read again")
    mo.hstack([home_box, again], widths=[8, 1], align="end")
    return again, home_box


@app.cell(hide_code=True)
def _(again, home_box):
    again.value  # a click reads again
    now = datetime.now(UTC)
    memory, problem = opened(home_box.value.strip())
    mo.stop(bool(problem), mo.callout(mo.plain_text(problem), kind="warn"))
    mo.plain_text(f"Home {memory.status().home}, read at {now:{MINUTE}} UTC.")
    return memory, now


@app.cell(hide_code=True)
def _(memory):
    cells = memory.frame(
        "cells",
        columns=[
            "cell_id", "cell_type", "content", "status", "is_judged", "needs_review", "event_time", "recorded_at",
            "valid_from", "valid_until", "superseded_at",
        ],
    )  # fmt: skip
    cell_usage = memory.frame("cell_usage")
    contradictions = memory.frame("contradictions")
    judgements = memory.frame("judgements", columns=["verdict", "effect", "judged_at"])
    nights = memory.frame("nights").sort("started_at")
    topics = memory.frame("topics", columns=["summarized_at"])
    return cell_usage, cells, contradictions, judgements, nights, topics


@app.cell(hide_code=True)
def _(cells, contradictions, now):
    _open = contradictions.filter(pl.col("status") == "open")
    _disputed = pl.concat([_open["cell_a"], _open["cell_b"]])
    states = cells.with_columns(
        doubt=pl.when(pl.col("status") == "active").then(
            pl.concat_str(
                pl.when(pl.col("cell_id").is_in(_disputed.implode())).then(pl.lit("open contradiction")),
                pl.when((pl.col("valid_until") <= now) & (pl.col("cell_type") != "episode")).then(
                    pl.lit("its time is over")
                ),
                pl.when("needs_review").then(pl.lit("marked for review")),
                pl.when(~pl.col("is_judged")).then(pl.lit("not judged yet")),
                separator=", ",
                ignore_nulls=True,
            )
        )
    ).with_columns(
        state=pl.when(pl.col("status") == "archived")
        .then(pl.lit("archived"))
        .when(
            pl.col("status") == "superseded"
        )  # by another value, or by a memory that says the same and more
        .then(pl.when(pl.col("valid_until").is_null()).then(pl.lit("merged")).otherwise(pl.lit("replaced")))
        .when(pl.col("doubt") != "")
        .then(pl.lit("in doubt"))
        .otherwise(pl.lit("current"))
    )
    stale = states.filter(pl.col("state") == "replaced")
    doubtful = states.filter(pl.col("state") == "in doubt").sort("event_time")
    _active = states.filter(pl.col("status") == "active").height
    _lasted = days(
        (stale["valid_until"] - stale["valid_from"]).filter(stale["valid_until"] > stale["valid_from"])
    ).median()
    mo.vstack(
        [
            mo.md("""
            ## What share is stale?

            A replaced memory had a value that changed or was wrong; a merged one says what another says as well. Both are
            kept as history and left out of answers. An active memory is in doubt if it is in an open contradiction, if the
            time that it was said for is over, if it is marked for review, or if no night judged it.
            """),
            stats(
                ("replaced", share(stale.height, states.height), f"{stale.height} of {states.height} memories"),
                ("active and in doubt", share(doubtful.height, _active), f"{doubtful.height} of {_active} active"),
                ("a value lasted", "–" if _lasted is None else f"{_lasted:.0f} days", "median of replaced memories"),
            ),
            bars(states, "cell_type", "state", STATES),
            table(
                doubtful.select(said=pl.col("event_time").dt.date(), type="cell_type", why="doubt", memory="content"),
                nothing="No active memory is in doubt.",
            ),
        ]
    )  # fmt: skip
    return doubtful, stale, states


@app.cell(hide_code=True)
def _(cell_usage, cells):
    _archived, _revived = cell_usage["archived_count"].sum(), cell_usage["revived_count"].sum()
    revived = (
        cell_usage.filter(pl.col("revived_count") > 0)
        .join(cells, on="cell_id", how="inner")
        .sort("revived_at", descending=True)
    )
    mo.vstack(
        [
            mo.md("""
            ## What was falsely forgotten?

            A memory that faded into the archive and came back because somebody needed it was forgotten too early.
            """),
            stats(
                ("archived", f"{_archived}", "times, over all nights"),
                ("came back", f"{_revived}", "times"),
                ("false forgetting", share(_revived, _archived), "came back, of archived"),
            ),
            table(
                revived.select(
                    back=pl.col("revived_at").dt.date(), archived="archived_count", status="status", memory="content"
                ),
                nothing="No archived memory came back.",
            ),
        ]
    )  # fmt: skip
    return (revived,)


@app.cell(hide_code=True)
def _(cells, contradictions, now):
    _texts = cells.select("cell_id", "content")
    open_pairs = (
        contradictions.filter(pl.col("status") == "open")
        .join(_texts.rename({"cell_id": "cell_a", "content": "known_longer"}), on="cell_a", how="left")
        .join(_texts.rename({"cell_id": "cell_b", "content": "newer"}), on="cell_b", how="left")
        .with_columns(age_days=(now - pl.col("detected_at")).dt.total_days())
        .sort("detected_at", "contradiction_id")
    )
    _ended = contradictions.filter(pl.col("status") == "resolved")
    _took = days(_ended["resolved_at"] - _ended["detected_at"]).median()
    mo.vstack(
        [
            mo.md("""
            ## Which contradictions are open, and how old are they?

            Two memories that cannot both hold wait for your decision: `slowwave contradictions`, then `slowwave resolve`.
            """),
            stats(
                ("open", f"{open_pairs.height}", "wait for a decision"),
                ("the oldest", f"{open_pairs['age_days'].max()} days", "since it was found")
                if open_pairs.height
                else ("the oldest", "–", "none is open"),
                ("resolved", f"{_ended.height}", "so far" if _took is None else f"after {_took:.0f} days (median)"),
            ),
            table(
                open_pairs.select(
                    days="age_days",
                    about=pl.concat_str("subject", "attribute", separator=": ", ignore_nulls=True),
                    known_longer="known_longer", newer="newer", why="note",
                ),
                nothing="No contradiction is open.",
            ),
        ]
    )  # fmt: skip
    return (open_pairs,)


@app.cell(hide_code=True)
def _(cell_usage, cells, contradictions, judgements, nights, topics):
    _changes = {
        "memories learned": cells["recorded_at"],
        "superseded": cells["superseded_at"],
        "archived": cell_usage["archived_at"],
        "revived": cell_usage["revived_at"],
        "contradictions found": contradictions["detected_at"],
        "topics summarized": topics["summarized_at"],
    }
    changed = (
        pl.concat([pl.DataFrame({"at": times, "what": what}) for what, times in _changes.items()])
        .drop_nulls("at")
        .sort("at")
        .join_asof(nights, left_on="at", right_on="started_at")
        .filter(pl.col("at") <= pl.col("finished_at"))  # the others were made by day
        .group_by("night_id", "what", night=pl.col("started_at").dt.strftime(MINUTE))
        .agg(count=pl.len())
        .sort("night", "what")
    )
    per_night = nights.select(
        "night_id",
        night=pl.col("started_at").dt.strftime(MINUTE),
        outcome="outcome",
        minutes=((pl.col("finished_at") - pl.col("started_at")).dt.total_seconds() / 60).round(1),
        model_calls="call_count",
        tokens="token_count",
        dollars=pl.col("cost").round(4),
    ).join(
        changed.pivot("what", index="night_id", values="count"),
        on="night_id",
        how="left",
        maintain_order="left",
    )
    fell = (
        judgements.group_by("verdict", "effect").agg(count=pl.len()).sort("count", "verdict", descending=True)
    )
    _last = nights.tail(1)
    mo.vstack(
        [
            mo.md("""
            ## What did a night cost, and what did it change?

            A change counts for the run that was going on then; a memory that was archived or revived several times counts
            once, for the last. Short runs that learn from a conversation by day (`learned`) are listed as well.
            """),
            stats(
                ("runs", f"{nights.height}", f"the last began {_last['started_at'][0]:{MINUTE}} UTC" if nights.height else "so far"),
                ("tokens", f"{nights['token_count'].sum():,}", f"in {nights['call_count'].sum():,} calls of a model"),
                ("cost", f"${nights['cost'].sum():.2f}", "where the model's price is known"),
            ),
            bars(changed.tail(NIGHTS * len(_changes)), "night", "what", tuple(_changes), sort="descending"),
            table(per_night.drop("night_id").reverse(), nothing="Nothing ran yet: `slowwave run nightly`."),
            mo.md("**Verdicts on pairs of memories, and what the checks let them do**"),
            table(fell, nothing="No pair was judged yet."),
        ]
    )  # fmt: skip
    return changed, fell, per_night


@app.cell(hide_code=True)
def _(cell_usage, memory, states):
    _waiting = memory.frame(
        "usage", columns=["cell_id"], where=pl.col("usage_type").is_in(["retrieved", "cited"])
    )
    use = (
        states.filter(pl.col("status") == "active")
        .join(cell_usage, on="cell_id", how="inner")
        .with_columns(
            use=pl.when(pl.col("citation_count") > 0)
            .then(pl.lit("cited"))
            .when((pl.col("retrieval_count") > 0) | pl.col("cell_id").is_in(_waiting["cell_id"].implode()))
            .then(pl.lit("retrieved"))
            .otherwise(pl.lit("never used"))
        )
    )
    unused = use.filter(pl.col("use") == "never used").sort("event_time")
    _used = use.filter(pl.col("use") != "never used").sort(
        "citation_count", "retrieval_count", descending=True
    )
    mo.vstack(
        [
            mo.md("""
            ## What is used, and what never?

            Answers retrieve memories, and agents cite those that helped or pass them over. Only active memories count, and
            what happened since the last night is not all counted yet.
            """),
            stats(
                ("never used", share(unused.height, use.height), f"{unused.height} of {use.height} active"),
                ("cited", share(use.filter(pl.col("use") == "cited").height, use.height), "helped an agent"),
                ("passed over", f"{use.filter(pl.col('ignore_count') > 0).height}", "memories that did not help"),
            ),
            bars(use, "cell_type", "use", ("cited", "retrieved", "never used")),
            mo.ui.tabs(
                {
                    "Used most": table(
                        _used.select(
                            cited="citation_count", retrieved="retrieval_count", passed_over="ignore_count",
                            type="cell_type", memory="content",
                        ),
                        nothing="No memory was used yet.",
                    ),
                    "Never used, oldest first": table(
                        unused.select(said=pl.col("event_time").dt.date(), type="cell_type", memory="content"),
                        nothing="Every memory was used.",
                    ),
                }
            ),
        ]
    )  # fmt: skip
    return unused, use


@app.cell(hide_code=True)
def _(memory):
    memory  # without one there is nothing to choose
    ahead = mo.ui.slider(30, 360, step=30, value=180, label="days ahead", show_value=True)
    mo.vstack([mo.md("## What fades next?"), ahead])
    return (ahead,)


@app.cell(hide_code=True)
def _(ahead, memory, now, states):
    _found = [one.model_dump() for one in memory.weak(days=ahead.value, now=now)]
    _shape = {"fades_at": pl.Datetime("us", "UTC"), "cell_type": pl.String, "content": pl.String,
              "effective_confidence": pl.Float64, "retrieval_count": pl.Int64}  # fmt: skip
    fading = pl.DataFrame(
        [{name: {**one, **one["use"]}[name] for name in _shape} for one in _found], schema=_shape
    )
    _ends = pl.DataFrame({"at": [now, now + timedelta(days=ahead.value)], "count": 0})
    curve = (  # one row a day: of several at one time Vega would draw the sum
        pl.concat([_ends, fading.select(at="fades_at", count=pl.lit(1))], how="vertical_relaxed")
        .group_by(day=pl.col("at").dt.date())
        .agg(pl.col("count").sum())
        .sort("day")
        .select("day", faded=pl.col("count").cum_sum())
    )
    _active = states.filter(pl.col("status") == "active").height
    mo.vstack(
        [
            mo.md("A memory that nobody uses loses confidence; below the limit a night archives it, unless it is protected."),
            stats(
                ("fading", f"{fading.height}", f"of {_active} active, within {ahead.value} days if nobody uses them"),
                ("the first", f"{fading['fades_at'][0]:%Y-%m-%d}" if fading.height else "–", "the day on which it fades"),
            ),
            alt.Chart(curve)
            .mark_area(interpolate="step-after")
            .encode(alt.X("day:T", title=None), alt.Y("faded:Q", title="faded by then"))
            .properties(width="container", height=160),
            table(
                fading.select(
                    fades=pl.col("fades_at").dt.date(), type="cell_type", retrieved="retrieval_count",
                    confidence=pl.col("effective_confidence").round(2), memory="content",
                ),
                nothing="Nothing fades in that time.",
            ),
        ]
    )  # fmt: skip
    return curve, fading


@app.function
def opened(home: str):
    """The memory of a home, and why there is none to look at: "" where there is one."""
    try:
        memory = Memory(home or None, records_usage=False)
        if memory.frame("cells", columns=["cell_id"]).is_empty():
            return None, "No memory yet: `slowwave ingest PATH` and `slowwave run nightly` make one."
        return memory, ""
    except SlowwaveError as error:
        return None, str(error)


@app.function
def share(part: int, whole: int) -> str:
    """`8.7 %`; a dash where there is nothing."""
    return f"{part / whole:.1%}" if whole else "–"


@app.function
def days(spans: pl.Series) -> pl.Series:
    """Spans of time in days."""
    return spans.dt.total_seconds() / 86_400


@app.function
def stats(*figures):
    """Figures side by side: label, value, caption."""
    return mo.hstack(
        [mo.stat(value, label=label, caption=caption, bordered=True) for label, value, caption in figures],
        widths="equal",
        gap=1,
    )


@app.function
def bars(frame: pl.DataFrame, place: str, part: str, parts: tuple[str, ...], *, sort: str = "-x"):
    """Bars of `count`, else of rows, one for each place and stacked by part: the longest first, or by name."""
    if frame.is_empty():
        return mo.md("")
    counted = (
        frame.with_columns(count="count" if "count" in frame.columns else pl.lit(1))
        .group_by(place, part)
        .agg(pl.col("count").sum())
        .with_columns(rank=pl.col(part).cast(pl.Enum(parts)).to_physical())
    )
    return (
        alt.Chart(counted)
        .mark_bar()
        .encode(
            alt.Y(f"{place}:N", title=None, sort=sort),
            alt.X("count:Q", title=None, axis=alt.Axis(tickMinStep=1)),
            color=alt.Color(f"{part}:N", title=None, sort=parts, legend=alt.Legend(orient="top")),
            order="rank:Q",
            tooltip=[place, part, "count"],
        )
        .properties(width="container")
    )


@app.function
def table(frame: pl.DataFrame, *, nothing: str):
    """Rows as a table of plain text, or the sentence that says that there are none.

    marimo makes pictures and links of addresses in a cell, and markup of some texts in a list: stored text must not
    fetch anything. So addresses are broken, and columns of lists are refused.
    """
    if frame.is_empty():
        return mo.md(nothing)
    assert not any(kind.is_nested() for kind in frame.schema.values())
    plain = cs.string().str.replace_all(r"(?i)(https?|data):", "$1 :").str.head(LONGEST)
    widths = {name: width for name, width in WIDTHS.items() if name in frame.columns}
    return mo.ui.table(
        frame.with_columns(plain),
        selection=None,
        page_size=ROWS,
        wrapped_columns=[name for name in widths if frame.schema[name] == pl.String],
        show_column_summaries=False,
        column_widths=widths,
        show_data_types=False,
    )


if __name__ == "__main__":
    app.run()
