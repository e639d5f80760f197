"""The content of a memory, what is found in it and what is missed. Reads the store and nothing else.

make notebook, or: .venv/bin/marimo run notebooks/memory_quality.py -- --home HOME --questions FILE
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Memory quality")

with app.setup:
    from datetime import UTC, datetime
    from pathlib import Path
    from typing import NamedTuple

    import altair as alt
    import marimo as mo
    import polars as pl
    from markupsafe import Markup, escape

    from slowwave.edits.status import read_status
    from slowwave.entrypoints.show.home import pending_lines
    from slowwave.entrypoints.show.terminal import ago, visible
    from slowwave.errors import NotFoundError, SlowwaveError
    from slowwave.home.paths import Home, open_home
    from slowwave.lifecycle.fading import to_archive
    from slowwave.lifecycle.retention import days_since, effective_confidence
    from slowwave.measure import (
        CUTS,
        EVERY,
        by_shares,
        compared,
        find,
        list_names,
        read_questions,
        recall_table,
        wanted_turns,
    )
    from slowwave.memory import Memory as SlowwaveMemory
    from slowwave.recall.reader import open_reader
    from slowwave.schemas.results import Status
    from slowwave.schemas.search import MAX_LIMIT
    from slowwave.schemas.tables import RAW_PROMPT, frame_schema
    from slowwave.store import Store, col, open_store, owned_by

    COLUMNS = {
        "cells": (
            "cell_id", "topic_id", "cell_type", "subject", "attribute", "salience", "confidence", "status",
            "needs_review", "event_time", "decay_rate", "protected", "prompt_version",
        ),
        "topics": ("topic_id", "name", "merged_into"),
        "turns": ("turn_id", "event_time", "content_hash"),
        "chunks": ("chunk_id", "source_name", "status", "attempts", "error", "event_time"),
        "contradictions": ("cell_a", "cell_b", "subject", "attribute", "detected_at", "status"),
    }  # fmt: skip
    SAMPLES = ("60", "250", "1000")
    NEAR = 5
    TOP_TOPICS = 12
    LISTED = 12

    BLUE, AMBER, GREY, GREEN, RED = "#3f76c0", "#dfa63c", "#a2abb8", "#3d9a78", "#cf5b52"
    STATUS_COLORS = {"active": BLUE, "superseded": AMBER, "archived": GREY}
    PLACES = ("1st", "2nd to 5th", "later", "not found")
    PLACE_COLORS = dict(zip(PLACES, (GREEN, "#93c9ae", AMBER, RED), strict=True))
    CUT_COLORS = ("#1d3f73", "#3f76c0", "#84aee3", "#bcd4f2")
    KIND_COLORS = {
        "facts and insights": BLUE, "decisions and risks": AMBER, "preferences": "#c0679b", "tasks": GREEN,
        "patterns and workflows": "#8d6bb8", "episodes": GREY, "other": "#6b7280",
    }  # fmt: skip
    MUTED = "#7b8494"
    STYLE = """
    .sw-p { margin: 0; }
    .sw-note { margin: 0.25rem 0; font-size: 0.85rem; color: var(--muted-foreground); }
    .sw-stat { border: 1px solid var(--border); border-radius: 8px; padding: 0.7rem 0.9rem; height: 100%; }
    .sw-stat b { display: block; font-size: 1.5rem; font-weight: 600; line-height: 1.25; }
    .sw-stat span { display: block; font-size: 0.85rem; }
    .sw-stat i { font-style: normal; font-size: 0.78rem; color: var(--muted-foreground); }
    .sw-panel h4, .sw-tier { margin: 0.5rem 0 0.1rem; font-size: 0.95rem; font-weight: 600; }
    .sw-panel p { margin: 0; font-size: 0.82rem; color: var(--muted-foreground); max-width: 46rem; }
    .sw-scroll { overflow-x: auto; }
    .sw-table { border-collapse: collapse; width: 100%; font-size: 0.84rem; margin: 0.3rem 0; }
    .sw-table th { text-align: left; font-weight: 500; color: var(--muted-foreground); padding: 0.25rem 0.6rem 0.25rem 0; }
    .sw-table td { border-top: 1px solid var(--border); padding: 0.35rem 0.8rem 0.35rem 0; vertical-align: top; overflow-wrap: anywhere; }
    .sw-table .sw-n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
    .sw-table td:first-child { min-width: 5.5rem; }
    .sw-table th.sw-n { padding-right: 0.8rem; }
    .sw-table .sw-d { white-space: nowrap; }
    .sw-answer { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 0 2rem; }
    .sw-hits { list-style: none; margin: 0; padding: 0; }
    .sw-hits li { border-top: 1px solid var(--border); padding: 0.55rem 0; margin: 0; overflow-wrap: anywhere; }
    .sw-chip { display: inline-block; font-size: 0.72rem; padding: 0 0.45rem; border-radius: 99px; border: 1px solid var(--border); }
    .sw-text { font-size: 0.9rem; line-height: 1.4; margin: 0.15rem 0; }
    .sw-about, .sw-why { font-size: 0.75rem; color: var(--muted-foreground); }
    .sw-why { display: flex; flex-wrap: wrap; gap: 0 0.9rem; }
    """


@app.cell(hide_code=True)
def _():
    mo.md("""
    # Memory quality

    **What does this memory hold, what is found in it, and what is missed?**
    Everything here is read from the store of one home at one moment. Nothing is written, no lock is taken, no
    language model is asked, and looking does not count as use.
    """)
    return


@app.cell(hide_code=True)
def _():
    _args = mo.cli_args()
    home_box = mo.ui.text(
        value=str(_args.get("home") or ""),
        label="Home",
        placeholder="SLOWWAVE_HOME, else your own",
        full_width=True,
    )
    set_box = mo.ui.text(
        value=str(_args.get("questions") or ""),
        label="Question set",
        placeholder="none: path of a JSON file, as benchmarks/README.md shows it",
        full_width=True,
    )
    again = mo.ui.button(label="Read again", value=0, on_click=lambda clicks: clicks + 1)
    mo.hstack([home_box, set_box, again], widths=[4, 4, 1], align="end", gap=1)
    return again, home_box, set_box


@app.cell(hide_code=True)
def _(again, home_box):
    again.value  # a click reads again
    now = datetime.now(UTC)
    memory = read_memory(home_box.value.strip())
    style()
    return memory, now


@app.cell(hide_code=True)
def _(memory, now):
    _live = memory.cells.filter(pl.col("status") == "active")
    _night = memory.status.last_night if memory.status else None
    if memory.problem:
        _shown = mo.callout(paragraph(memory.problem), kind="danger")
    elif memory.is_empty:
        _shown = mo.callout(
            paragraph(
                f"No memory yet in {memory.root}. `make demo` makes one to look at, in data/demo-home."
            ),
            kind="info",
        )
    else:
        _shown = mo.vstack(
            [
                paragraph(f"Home {memory.root}, read {now:%Y-%m-%d %H:%M} UTC. {memory.owner}"),
                mo.hstack(
                    [
                        stat(_live.height, "live memories", f"of {memory.cells.height:,} kept"),
                        stat(
                            _live["topic_id"].drop_nulls().n_unique(),
                            "topics",
                            f"{_live['topic_id'].null_count():,} memories in none",
                        ),
                        stat(memory.turns.height, "raw turns", f"in {memory.chunks.height:,} chunks"),
                        stat(
                            memory.contradictions.filter(pl.col("status") == "open").height,
                            "open contradictions",
                            f"{memory.contradictions.filter(pl.col('status') == 'resolved').height:,} resolved",
                        ),
                        stat(
                            ago(_night.finished_at, now) if _night else "never",
                            "last night",
                            (_night.outcome + (", with a model" if _night.has_llm else ", no model"))
                            if _night
                            else "slowwave run nightly",
                        ),
                    ],
                    widths="equal",
                    gap=0.75,
                ),
            ]
        )
    _shown
    return


@app.cell(hide_code=True)
def _(memory):
    section(
        memory,
        mo.md("""
    ## What it holds
    """),
    )
    return


@app.cell(hide_code=True)
def _(memory):
    by_type = memory.cells.group_by("cell_type", "status").agg(count=pl.len()).sort("cell_type", "status")
    by_status = memory.cells.group_by("status").agg(count=pl.len()).sort("status")
    _live = memory.cells.filter(pl.col("status") == "active")
    by_topic = (
        _live.join(memory.topics.filter(pl.col("merged_into").is_null()), on="topic_id", how="inner")
        .group_by("topic_id", "name")
        .agg(count=pl.len())
        .with_columns(  # names need not be unique: then the id tells topics apart
            label=pl.when(pl.len().over("name") > 1)
            .then(pl.format("{} [{}]", "name", pl.col("topic_id").str.slice(0, 4)))
            .otherwise("name")
        )
        .sort("count", "topic_id", descending=[True, False])
    )
    _kept = {row["status"]: row["count"] for row in by_status.iter_rows(named=True)}
    _told = ", ".join(f"{_kept.get(name, 0):,} {name}" for name in STATUS_COLORS)
    _rest = by_topic.slice(TOP_TOPICS)
    section(
        memory,
        mo.hstack(
            [
                panel(
                    "By type",
                    f"{_told}. Superseded and archived ones are kept, and out of search.",
                    bars(by_type, "cell_type", "status", STATUS_COLORS),
                ),
                panel(
                    "By topic",
                    f"Live memories of the {min(TOP_TOPICS, by_topic.height)} largest topics; "
                    f"{_rest.height:,} smaller ones hold {_rest['count'].sum():,}."
                    if by_topic.height
                    else "A night finds them.",
                    bars(by_topic.head(TOP_TOPICS).select("label", "count"), "label"),
                ),
            ],
            widths="equal",
            gap=2,
            align="start",
        ),
    )
    return


@app.cell(hide_code=True)
def _(memory, now):
    ages = memory.cells.filter(pl.col("status") == "active").select(
        "cell_type", "event_time", age_days=days_since(pl.col("event_time"), now=now)
    )
    bucket = bucket_of(ages["age_days"])
    timeline = (
        ages.group_by(
            since=pl.col("event_time").dt.truncate(bucket.every),
            kind=kind_of(pl.col("cell_type")),
        )
        .agg(count=pl.len())
        .sort("since", "kind")
    )
    _middle = ages["age_days"].median() or 0.0
    section(
        memory,
        panel(
            "By age",
            f"Live memories by the {bucket.name} in which they were last said. Half are older than {_middle:,.0f} days; "
            f"the newest is {ages['age_days'].min() or 0:,.0f}, the oldest {ages['age_days'].max() or 0:,.0f} days old.",
            history_chart(timeline, bucket),
        ),
    )
    return


@app.cell(hide_code=True)
def _(memory):
    section(
        memory,
        mo.md("""
    ## What fades

    Effective confidence is the stored confidence, strengthened by use, times retention: the share that is left after the
    days since the last use. It is computed here from stored columns and the present moment.
    """),
    )
    return


@app.cell(hide_code=True)
def _(memory, now):
    strength = (
        memory.cells.filter(pl.col("status") == "active")
        .join(memory.cell_usage, on="cell_id", how="inner")
        .with_columns(
            effective=effective_confidence(now=now) if memory.home else pl.lit(0.0),
            idle_days=days_since(pl.col("last_accessed"), now=now),
        )
    )
    fading = (
        to_archive(
            memory.cells,
            memory.cell_usage,
            now=now,
            forget=memory.home.settings.forget,
        )
        if memory.home
        else strength.select("cell_id").clear()
    )
    _least = memory.home.settings.forget.min_confidence if memory.home else 0.0
    _used = pl.col("retrieval_count") + pl.col("citation_count")
    section(
        memory,
        mo.hstack(
            [
                panel(
                    "Effective confidence of live memories",
                    f"Left of the red line ({_least:g}) a memory may be archived, if it was never cited, is not protected "
                    f"and rested for {memory.forget_days:g} days: tonight that would be {fading.height:,}.",
                    strength_chart(strength, _least),
                ),
                panel(
                    "Use",
                    "What agents did with live memories, as far as the nights have counted it.",
                    table(
                        ("", "memories"),
                        [
                            ("never in an answer", strength.filter(_used == 0).height),
                            ("in an answer", strength.filter(pl.col("retrieval_count") > 0).height),
                            ("cited", strength.filter(pl.col("citation_count") > 0).height),
                            ("passed over", strength.filter(pl.col("ignore_count") > 0).height),
                            ("said again", strength.filter(pl.col("confirmations") > 0).height),
                            ("back from the archive", strength.filter(pl.col("revived_count") > 0).height),
                            ("protected", strength.filter(pl.col("protected")).height),
                        ],
                    ),
                ),
            ],
            widths=[3, 2],
            gap=2,
            align="start",
        ),
    )
    return


@app.cell(hide_code=True)
def _(memory):
    section(
        memory,
        mo.md("""
    ## What waits, and what does not fit
    """),
    )
    return


@app.cell(hide_code=True)
def _(memory):
    _live = memory.cells.filter(pl.col("status") == "active")
    waiting = {
        **(pending_lines(memory.status.pending) if memory.status else {}),
        "raw memories, made without a model": _live.filter(pl.col("prompt_version") == RAW_PROMPT).height,
        "memories to review": _live.filter(pl.col("needs_review")).height,
    }
    set_aside = memory.chunks.filter(pl.col("status").is_in(["quarantined", "failed"])).sort("event_time")
    _listed = [
        (row["event_time"], row["source_name"], row["status"], row["attempts"], row["error"] or "")
        for row in set_aside.head(LISTED).iter_rows(named=True)
    ]
    section(
        memory,
        mo.hstack(
            [
                panel(
                    "Waiting",
                    "Work for the next night, in the whole home.",
                    table(("", "how many"), [pair for pair in waiting.items() if pair[1]])
                    if any(waiting.values())
                    else paragraph("Nothing waits."),
                ),
                panel(
                    "Failed and quarantined chunks",
                    f"{set_aside.height:,} chunks whose answers could not be used; they are tried again with back-off.",
                    table(("said", "source", "status", "tries", "why"), _listed)
                    if _listed
                    else paragraph("None."),
                ),
            ],
            widths=[2, 3],
            gap=2,
            align="start",
        ),
    )
    return


@app.cell(hide_code=True)
def _(memory):
    contradictions_open = memory.contradictions.filter(pl.col("status") == "open").sort(
        "detected_at", descending=True
    )
    _said = texts(memory, [*contradictions_open["cell_a"], *contradictions_open["cell_b"]])
    section(
        memory,
        panel(
            "Open contradictions",
            "Two memories that cannot both hold; no date decides between them.",
            table(
                ("found", "of what", "known longer", "newer"),
                [
                    (
                        row["detected_at"],
                        " / ".join(part for part in (row["subject"], row["attribute"]) if part),
                        _said.get(row["cell_a"], "(removed)"),
                        _said.get(row["cell_b"], "(removed)"),
                    )
                    for row in contradictions_open.head(LISTED).iter_rows(named=True)
                ],
                more=contradictions_open.height - LISTED,
            )
            if contradictions_open.height
            else paragraph("None."),
        ),
    )
    return


@app.cell(hide_code=True)
def _(memory):
    section(
        memory,
        mo.md("""
    ## Ask

    What a search finds, and why: under a hit, the columns that its score was computed from.
    """),
    )
    return


@app.cell(hide_code=True)
def _(memory):
    _named = memory.cells.filter((pl.col("status") == "active") & pl.col("attribute").is_not_null()).sort(
        "salience", "cell_id", descending=[True, False]
    )
    question_box = mo.ui.text(
        value=f"What is the {_named['attribute'][0]} of {_named['subject'][0]}?" if _named.height else "",
        placeholder="a question, or words",
        full_width=True,
    )
    turns_box = mo.ui.checkbox(value=True, label="raw turns too")
    section(memory, mo.hstack([question_box, turns_box], widths=[6, 1], align="center"))
    return question_box, turns_box


@app.cell(hide_code=True)
def _(memory, now, question_box, turns_box):
    answer = asked(memory, question_box.value, has_turns=turns_box.value, now=now)
    section(memory, shown_answer(answer, now))
    return


@app.cell(hide_code=True)
def _(memory):
    section(
        memory,
        mo.md("""
    ## What is missed: without labels

    Each of a sample of live memories is asked for by **its own subject and attribute**, and should come back near the top.
    """),
    )
    return


@app.cell(hide_code=True)
def _(memory):
    sample_box = mo.ui.dropdown(SAMPLES, value=SAMPLES[0], label="memories to ask for, at most")
    section(memory, sample_box)
    return (sample_box,)


@app.cell(hide_code=True)
def _(memory, now, sample_box):
    reachable = reached(memory, most=int(sample_box.value), now=now)
    by_place = (
        reachable.group_by("cell_type", "place")
        .agg(count=pl.len())
        .sort("cell_type", pl.col("place").cast(pl.Enum(PLACES)))
    )
    _near = reachable.filter(pl.col("rank") <= NEAR).height
    _missed = reachable.filter((pl.col("rank") > NEAR) | pl.col("rank").is_null()).sort(
        "rank", "cell_id", nulls_last=False, descending=[True, False]
    )
    _first = _missed.head(LISTED)
    _said = texts(memory, [*_first["cell_id"], *_first["first_id"].drop_nulls()])
    _live = memory.cells.filter(pl.col("status") == "active").height
    _nameless = memory.cells.filter(
        (pl.col("status") == "active") & pl.any_horizontal(pl.col("subject", "attribute").is_null())
    ).height
    section(
        memory,
        mo.vstack(
            [
                panel(
                    f"{share(_near, reachable.height)} come back among the first {NEAR}"
                    if reachable.height
                    else "None can be asked for",
                    f"{reachable.height:,} asked, of {_live:,} live memories; {_nameless:,} name no subject or no attribute "
                    "and cannot be asked for this way. A value that holds no more counts where its holder stands.",
                    bars(by_place, "cell_type", "place", PLACE_COLORS) if reachable.height else None,
                ),
                note(
                    "This measures whether a memory can be reached by the words that it carries itself, or is crowded out by "
                    "others of the same name. It does not measure whether a person's question, in other words, finds it, nor "
                    "whether what should have been remembered was. Only questions with known answers tell that."
                ),
                panel(
                    "Crowded out",
                    f"{_missed.height:,} of {reachable.height:,} were not among the first {NEAR}.",
                    table(
                        ("asked", "place", "namesakes", "the memory", "what stood first"),
                        [
                            (
                                row["question"],
                                "not found" if row["rank"] is None else f"{row['rank']}.",
                                row["namesakes"],
                                _said.get(row["cell_id"], ""),
                                _said.get(row["first_id"] or "", "nothing"),
                            )
                            for row in _first.iter_rows(named=True)
                        ],
                        more=_missed.height - LISTED,
                    ),
                )
                if _missed.height
                else note(""),
            ],
            gap=1,
        ),
    )
    return


@app.cell(hide_code=True)
def _(memory):
    section(
        memory,
        mo.md("""
    ## What is missed: by a question set

    Recall at k is the share of the turns that answer a question among the first k that are found, the mean over the
    questions. Other ways of searching are asked the same questions of the same store.
    """),
    )
    return


@app.cell(hide_code=True)
def _(memory, set_box):
    measured = measure(memory, set_box.value.strip())
    if memory.is_empty:
        _shown = paragraph("No memory yet.")
    elif measured.problem:
        _shown = mo.callout(paragraph(measured.problem), kind=measured.kind)
    else:
        _left = "; ".join(f"{count:,} x {reason}" for reason, count in measured.left_out.items())
        _shown = mo.vstack(
            [
                mo.hstack(
                    [
                        stat(
                            f"{measured.recall[f'recall_at_{cut}'][0]:.1%}",
                            f"recall at {cut}",
                            f"{measured.recall['question_count'][0]:,} questions" if cut == CUTS[0] else "",
                        )
                        for cut in CUTS
                    ],
                    widths="equal",
                    gap=0.75,
                ),
                mo.hstack(
                    [
                        panel(
                            "By category",
                            "Small categories move by chance: mind the number of questions.",
                            recall_chart(measured.recall, "category"),
                        ),
                        panel(
                            "Beside other ways",
                            "Baselines, each list alone, and the whole without each list.",
                            recall_chart(measured.ways, "way"),
                        ),
                    ],
                    widths="equal",
                    gap=2,
                    align="start",
                ),
                note(f"Does not count: {_left}." if _left else ""),
            ],
            gap=1,
        )
    _shown
    return (measured,)


@app.cell(hide_code=True)
def _(measured, memory):
    _cut = CUTS[1]
    missed = measured.missed
    _first = missed.head(LISTED)
    _said = turn_texts(memory, [turn_id for turn_ids in _first["lost"] for turn_id in turn_ids])
    section(
        memory,
        panel(
            f"Missed among the first {_cut}",
            f"{missed.height:,} of {measured.recall['question_count'].head(1).sum():,} questions lack a turn that answers "
            "them; with the turns that were missed, and the place where each stood.",
            table(
                ("category", "question", "missed", "evidence"),
                [
                    (
                        row["category"],
                        row["question"],
                        f"{len(row['lost'])} of {row['wanted']}",
                        evidence(row["lost"], row["places"], _said),
                    )
                    for row in _first.iter_rows(named=True)
                ],
                more=missed.height - LISTED,
            ),
        )
        if missed.height
        else None,
    )
    return


@app.class_definition
class Memory(NamedTuple):
    """One home as it stood when it was read: narrow columns of what its owner may see, and no text."""

    root: str
    home: Home | None
    asked: SlowwaveMemory | None
    store: Store | None
    status: Status | None
    problem: str
    cells: pl.DataFrame
    cell_usage: pl.DataFrame
    topics: pl.DataFrame
    turns: pl.DataFrame
    chunks: pl.DataFrame
    contradictions: pl.DataFrame

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look at."""
        return self.cells.is_empty() and self.turns.is_empty()

    @property
    def owner(self) -> str:
        """The owner whose memory is counted."""
        owner = self.home.settings.owner if self.home else None
        return (
            f"Counted is what user {owner.user_id!r} may see in project {owner.project_id!r}."
            if owner
            else ""
        )

    @property
    def forget_days(self) -> float:
        """Days without use before a memory may go."""
        return self.home.settings.forget.unused_days if self.home else 0.0


@app.function
def read_memory(path: str):
    """The home at `path`, else at SLOWWAVE_HOME, else this user's. Takes no lock, and writes nothing."""
    empty = {name: pl.DataFrame(schema=shape_of(name)) for name in [*COLUMNS, "cell_usage"]}
    home = None
    try:
        home = open_home(path or None)
        status, asked_memory = (
            read_status(home, now=datetime.now(UTC)),
            SlowwaveMemory(home.root, records_usage=False),
        )
        try:
            store = open_store(home.store_root)
        except NotFoundError:
            return Memory(str(home.root), home, asked_memory, None, status, "", **empty)
        where = owned_by(home.settings.owner)
        frames = {name: store.rows(name, columns, where) for name, columns in COLUMNS.items()}
        cell_usage = store.rows("cell_usage").join(frames["cells"], on="cell_id", how="semi")
        return Memory(
            str(home.root),
            home,
            asked_memory,
            store,
            status,
            "",
            **frames,
            cell_usage=cell_usage.sort("cell_id"),
        )
    except SlowwaveError as error:
        root = str(home.root) if home else path
        return Memory(root, None, None, None, None, str(error), **empty)


@app.function
def shape_of(table):
    schema = frame_schema(table)
    return {name: schema[name] for name in COLUMNS.get(table, schema)}


@app.function
def texts(memory, cell_ids):
    """Texts of these memories, by id."""
    if memory.store is None or not cell_ids:
        return {}
    rows = memory.store.by_key("cells", cell_ids, ["cell_id", "content"])
    return dict(zip(rows["cell_id"], rows["content"], strict=True))


@app.function
def turn_texts(memory, turn_ids):
    """Texts of these turns, with speaker and day, by id; only those that the owner may see."""
    if memory.store is None or not turn_ids:
        return {}
    where = owned_by(memory.home.settings.owner) & col("turn_id").isin(sorted(set(turn_ids)))
    rows = memory.store.rows("turns", ["turn_id", "speaker", "role", "content", "event_time"], where)
    return {
        row["turn_id"]: f"{row['event_time']:%Y-%m-%d} {row['speaker'] or row['role']}: {row['content']}"
        for row in rows.iter_rows(named=True)
    }


@app.function
def asked(memory, question, *, has_turns, now):
    """The answer of a search, or None with the reason; it is not noted as use."""
    if memory.is_empty or memory.asked is None:
        return None, "No memory yet."
    if not question.strip():
        return None, "Write a question above."
    try:
        level = "evidence" if has_turns else "full"
        return memory.asked.search(question, detail_level=level, now=now), ""
    except SlowwaveError as error:
        return None, str(error)


@app.function
def reached(memory, *, most, now):
    """Of a sample of live memories: the place at which each comes back when asked for by its own names.

    `cell_id`, `cell_type`, `question`, `rank` (1-based, null where it was not found), `place`, `first_id` (what stood
    first instead) and `namesakes`, other live memories with the same subject and attribute.
    """
    name = ["subject", "attribute"]
    live = memory.cells.filter(pl.col("status") == "active").drop_nulls(name)
    sample = (
        live.with_columns(namesakes=pl.len().over(name) - 1)
        .sort("cell_id")  # ids are hashes: their first ones are a fair sample, and the same one each time
        .head(most)
    )
    found = []
    for row in sample.iter_rows(named=True):
        question = f"{row['subject']} {row['attribute']}"
        try:
            cells = memory.asked.search(question, limit=MAX_LIMIT, now=now).cells
        except SlowwaveError:  # a name of signs alone, of which nothing can be asked
            cells = []
        ids = [{cell.cell_id, *(former.cell_id for former in cell.history)} for cell in cells]
        rank = next((place for place, known in enumerate(ids, 1) if row["cell_id"] in known), None)
        found.append(
            (
                row["cell_id"],
                row["cell_type"],
                question,
                rank,
                row["namesakes"],
                cells[0].cell_id if cells else None,
            )
        )
    schema = {
        "cell_id": pl.String, "cell_type": pl.String, "question": pl.String, "rank": pl.Int64,
        "namesakes": pl.Int64, "first_id": pl.String,
    }  # fmt: skip
    rank = pl.col("rank")
    place = (
        pl.when(rank == 1)
        .then(pl.lit(PLACES[0]))
        .when(rank <= NEAR)
        .then(pl.lit(PLACES[1]))
        .when(rank > NEAR)
        .then(pl.lit(PLACES[2]))
        .otherwise(pl.lit(PLACES[3]))
    )
    return pl.DataFrame(found, schema=schema, orient="row").with_columns(place=place)


@app.class_definition
class Measured(NamedTuple):
    """Retrieval of one question set. `recall` and `ways` as `recall_table`; `missed` a row a question."""

    recall: pl.DataFrame
    ways: pl.DataFrame
    missed: pl.DataFrame
    left_out: dict[str, int]
    problem: str = ""
    kind: str = "neutral"


@app.function
def measure(memory, path):
    """Asks a question set of this home with the lists that a search uses, as `slowwave run evaluate` does."""
    wanted = pl.DataFrame(schema={"question_index": pl.Int64, "category": pl.String, "turn_id": pl.String})
    found = pl.DataFrame(schema={"question_index": pl.Int64, "turn_id": pl.String})
    nothing = scored(found, wanted, [], {})
    if not path:
        return nothing._replace(
            problem="No question set is given. Name one above: questions with the ids of the turns of this home that "
            "answer them, in the form of benchmarks/README.md."
        )
    try:
        questions = read_questions(Path(path).expanduser())
    except SlowwaveError as error:
        return nothing._replace(problem=str(error), kind="danger")
    if memory.store is None:
        return nothing
    with mo.status.spinner(title="asking the question set"):
        known = memory.turns.select("turn_id", id="turn_id")
        wanted, left_out = wanted_turns(questions, known)
        places = wanted["question_index"].unique().sort()
        ranked = find(open_reader(memory.home), [questions[place] for place in places])
        found = ranked.with_columns(question_index=places.gather(ranked["question_index"]))
    result = scored(found, wanted, [one.question for one in questions], left_out)
    if result.recall["question_count"].sum() == 0:
        return result._replace(
            problem="None of the turns that this set names is in this home. A set that brings its own sessions is measured "
            "by benchmarks/retrieval_quality.py FILE.",
            kind="warn",
        )
    return result


@app.function
def scored(found, wanted, questions, left_out):
    """The figures of all questions, and what was missed among the first ten."""
    lists = list_names(found)
    placed = by_shares(found, lists)
    recall = recall_table(placed, wanted).filter(
        (pl.col("category") == EVERY) | (pl.col("question_count") > 0)
    )
    words = {"baseline": "{}", "alone": "{} alone", "without": "all but {}"}
    whole = recall.head(1).rename({"category": "way"}).with_columns(way=pl.lit("all lists"))
    others = compared(found, wanted)
    parts = [
        others.filter(pl.col("group") == group)
        .with_columns(way=pl.format(form, pl.col("way")))
        .select(whole.columns)
        for group, form in words.items()
        if others.height
    ]
    ranked = wanted.join(placed, on=["question_index", "turn_id"], how="left").sort("question_index", "rank")
    is_lost = (pl.col("rank") > CUTS[1]).fill_null(value=True)
    missed = (
        ranked.group_by("question_index", "category")
        .agg(
            wanted=pl.len(),
            lost=pl.col("turn_id").filter(is_lost),
            places=pl.col("rank").filter(is_lost),
        )
        .filter(pl.col("lost").list.len() > 0)
        .with_columns(share=pl.col("lost").list.len() / pl.col("wanted"))
        .sort("share", "question_index", descending=[True, False])
    )
    names = pl.DataFrame(
        {"question_index": range(len(questions)), "question": questions},
        schema={"question_index": pl.Int64, "question": pl.String},
    )
    return Measured(
        recall,
        pl.concat([whole, *parts]),
        missed.join(names, on="question_index", how="left", maintain_order="left"),
        left_out,
    )


@app.function
def share(part, whole):
    """`87 %`; a dash of nothing."""
    return f"{part / whole:.0%}" if whole else "–"


@app.function
def kind_of(cell_type):
    """The kind of memory that a type belongs to, for a chart that would have too many colours."""
    kinds = {
        "fact": "facts and insights", "insight": "facts and insights", "code_ref": "facts and insights",
        "decision": "decisions and risks", "risk": "decisions and risks",
        "preference": "preferences", "task": "tasks",
        "pattern": "patterns and workflows", "workflow": "patterns and workflows",
        "episode": "episodes",
    }  # fmt: skip
    return cell_type.replace_strict(kinds, default="other", return_dtype=pl.String)


@app.class_definition
class Bucket(NamedTuple):
    """A step of time for a chart: Polars' name of it, and the name for people."""

    every: str
    name: str


@app.function
def bucket_of(age_days):
    """Days, weeks or months, so that a chart has at most some sixty bars."""
    span = (age_days.max() or 0.0) - (age_days.min() or 0.0)
    if span <= 60:
        return Bucket("1d", "day")
    return Bucket("1w", "week") if span <= 400 else Bucket("1mo", "month")


@app.function
def bars(frame, label, part=None, colors=None):
    """Horizontal bars of `count`, longest first, split by `part`; the whole stands at the end of each."""
    if frame.is_empty():
        return paragraph("Nothing yet.")
    names = {label: "label", part: "part"} if part else {label: "label"}
    data = (
        frame.select(*names, "count")
        .rename(names)
        .group_by(names.values(), maintain_order=True)
        .agg(pl.col("count").sum())
    )
    if part is None:
        data = data.with_columns(part=pl.lit("all"))
    whole = data.group_by("label").agg(pl.col("count").sum()).sort("count", "label", descending=[True, False])
    order = whole["label"].to_list()
    domain = [name for name in colors if name in data["part"]] if colors else ["all"]
    rank = {name: place for place, name in enumerate(domain)}
    data = data.with_columns(
        place=pl.col("part").replace_strict(rank, default=len(rank), return_dtype=pl.Int64)
    )
    color = alt.Color(
        "part:N",
        title=None,
        scale=alt.Scale(domain=domain, range=[colors[name] for name in domain] if colors else [BLUE]),
        legend=alt.Legend(orient="top", offset=4) if colors else None,
    )
    y = alt.Y(
        "label:N",
        sort=order,
        title=None,
        axis=alt.Axis(labelLimit=190, ticks=False, domain=False, labelPadding=6),
    )
    x = alt.X(
        "count:Q",
        title=None,
        axis=None,
        scale=alt.Scale(domainMin=0, domainMax=int(whole["count"].max() * 1.12) + 1),
    )
    drawn = (
        alt.Chart(data)
        .mark_bar(height={"band": 0.72})
        .encode(
            y=y,
            x=x,
            color=color,
            order="place:Q",
            tooltip=[
                alt.Tooltip("label:N", title=" "),
                *([alt.Tooltip("part:N", title="of these")] if part else []),
                "count:Q",
            ],
        )
    )
    ends = (
        alt.Chart(whole)
        .mark_text(align="left", dx=5, color=MUTED, fontSize=11)
        .encode(y=y, x=x, text=alt.Text("count:Q", format=",d"))
    )
    return finished(drawn + ends, height=26 * len(order) + 8)


@app.function
def history_chart(timeline, bucket):
    """Memories by the time in which they were said, one bar a bucket."""
    if timeline.is_empty():
        return paragraph("Nothing yet.")
    data = timeline.with_columns(until=pl.col("since").dt.offset_by(bucket.every)).with_columns(
        pl.col("since", "until").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    )
    kinds = [name for name in KIND_COLORS if name in data["kind"]]
    starts = timeline["since"].unique().sort()
    marks = starts.gather_every(-(-len(starts) // 8)).dt.epoch("ms").to_list()
    chart = (
        alt.Chart(data)
        .mark_bar()
        .encode(
            x=alt.X(
                "since:T",
                title=None,
                scale=alt.Scale(type="utc"),
                axis=alt.Axis(grid=False, format="%d %b %Y", values=marks, labelOverlap=True),
            ),
            x2="until:T",
            y=alt.Y("sum(count):Q", title="memories", axis=alt.Axis(tickMinStep=1, tickCount=4)),
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=kinds, range=[KIND_COLORS[name] for name in kinds]),
                legend=alt.Legend(orient="top", offset=4),
            ),
            tooltip=[
                alt.Tooltip("since:T", title=f"{bucket.name} from", format="%Y-%m-%d"),
                alt.Tooltip("kind:N", title="kind"),
                alt.Tooltip("sum(count):Q", title="memories"),
            ],
        )
    )
    return finished(chart, height=200)


@app.function
def strength_chart(strength, least):
    """Effective confidence of live memories in steps of a twentieth; the red line is where forgetting begins."""
    if strength.is_empty():
        return paragraph("Nothing yet.")
    step = 0.05
    data = (
        strength.group_by(since=((pl.col("effective") / step).floor().clip(0, 19) * step).round(2))
        .agg(count=pl.len())
        .with_columns(until=(pl.col("since") + step).round(2))
        .sort("since")
    )
    drawn = (
        alt.Chart(data)
        .mark_bar(color=BLUE, orient="vertical")
        .encode(
            x=alt.X(
                "since:Q",
                title="effective confidence",
                scale=alt.Scale(domain=[0, 1], nice=False, padding=0),
                axis=alt.Axis(grid=False, values=[0, 0.2, 0.4, 0.6, 0.8, 1], format=".1f"),
            ),
            x2="until:Q",
            y=alt.Y("count:Q", title="memories", axis=alt.Axis(tickMinStep=1, tickCount=4)),
            y2=alt.datum(0),
            tooltip=[
                alt.Tooltip("since:Q", title="from"),
                alt.Tooltip("until:Q", title="to"),
                alt.Tooltip("count:Q", title="memories"),
            ],
        )
    )
    line = (
        alt.Chart(pl.DataFrame({"least": [least]}))
        .mark_rule(color=RED, strokeWidth=2)
        .encode(x=alt.X("least:Q", scale=alt.Scale(domain=[0, 1], nice=False, padding=0)))
    )
    return finished(drawn + line, height=220)


@app.function
def recall_chart(recall, label):
    """A row a category or way, a dot a cut; the first row is the whole."""
    if recall.is_empty():
        return paragraph("Nothing yet.")
    named = recall.with_columns(
        label=pl.when(pl.col("category") == EVERY).then(pl.lit("all questions")).otherwise("category")
        + pl.format("  ({})", "question_count")
        if label == "category"
        else pl.col(label)
    )
    order = named["label"].to_list()
    data = named.unpivot(
        [f"recall_at_{cut}" for cut in CUTS], index="label", variable_name="cut", value_name="recall"
    ).with_columns(cut=pl.lit("at ") + pl.col("cut").str.strip_prefix("recall_at_"))
    y = alt.Y(
        "label:N",
        sort=order,
        title=None,
        axis=alt.Axis(labelLimit=190, ticks=False, domain=False, labelPadding=8),
    )
    x = alt.X(
        "recall:Q",
        title=None,
        scale=alt.Scale(domain=[0, 1], nice=False, padding=0),
        axis=alt.Axis(format=".0%", tickCount=5),
    )
    span = (
        alt.Chart(data).mark_line(color=GREY, opacity=0.5, strokeWidth=2).encode(y=y, x=x, detail="label:N")
    )
    dots = (
        alt.Chart(data)
        .mark_circle(size=85, opacity=1)
        .encode(
            y=y,
            x=x,
            color=alt.Color(
                "cut:N",
                title=None,
                scale=alt.Scale(domain=[f"at {cut}" for cut in CUTS], range=list(CUT_COLORS)),
                legend=alt.Legend(orient="top", offset=4),
            ),
            tooltip=[alt.Tooltip("label:N", title=" "), "cut:N", alt.Tooltip("recall:Q", format=".1%")],
        )
    )
    return finished(span + dots, height=24 * len(order) + 12)


@app.function
def finished(chart, *, height):
    """A chart in the page's form."""
    return (
        chart.properties(width="container", height=height, usermeta={"embedOptions": {"actions": False}})
        .configure(background="transparent", font="inherit", padding=4)
        .configure_view(strokeWidth=0)
        .configure_axis(
            labelColor=MUTED,
            titleColor=MUTED,
            gridColor="#8884",
            domainColor="#8886",
            tickColor="#8886",
            labelFontSize=11,
            titleFontSize=11,
            titleFontWeight="normal",
        )
        .configure_legend(labelColor=MUTED, labelFontSize=11, symbolType="square", symbolSize=90)
    )


@app.function
def style():
    """The page's few rules, in marimo's own colours, light and dark."""
    return html(Markup("<style>{}</style>").format(STYLE))


@app.function
def html(markup):
    """Markup as a part of the page. It takes no text: what is stored comes in through `plain`."""
    assert isinstance(markup, Markup)
    return mo.Html(str(markup))


@app.function
def plain(value):
    """A value as escaped text; what cannot be seen in it is made visible."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, datetime):
        return escape(f"{value:%Y-%m-%d}")
    return escape(f"{value:,}" if isinstance(value, int) else visible(value))


@app.function
def paragraph(text):
    """A sentence with whatever text in it."""
    return html(Markup('<p class="sw-p">{}</p>').format(plain(text)))


@app.function
def note(text):
    """A remark, or nothing."""
    return html(Markup('<p class="sw-note">{}</p>').format(plain(text))) if text else html(Markup(""))


@app.function
def stat(value, label, below):
    """A figure with its name, and what it is of."""
    form = Markup('<div class="sw-stat"><b>{}</b><span>{}</span><i>{}</i></div>')
    return html(form.format(*(plain(part) for part in (value, label, below))))


@app.function
def panel(title, text, shown):
    """A titled part with a sentence that says how to read it."""
    head = Markup('<div class="sw-panel"><h4>{}</h4><p>{}</p></div>').format(plain(title), plain(text))
    return mo.vstack([html(head), *([shown] if shown is not None else [])], gap=0.25)


@app.function
def section(memory, shown):
    """The output of a cell; of a home without memory nothing, for the first cell says so."""
    return None if memory.is_empty else shown


@app.function
def table(heads, rows, more=0):
    """Rows of values as a table of escaped text; numbers stand right. `more` rows are named and not shown."""
    kinds = [form_of(value) for value in rows[0]] if rows else [""] * len(heads)
    cells = [
        Markup("").join(
            Markup('<td class="{}">{}</td>').format(kind, plain(value))
            for kind, value in zip(kinds, row, strict=True)
        )
        for row in rows
    ]
    head = Markup("").join(
        Markup('<th class="{}">{}</th>').format(kind, plain(name))
        for kind, name in zip(kinds, heads, strict=True)
    )
    tail = Markup('<p class="sw-note">and {} more</p>').format(f"{more:,}") if more > 0 else Markup("")
    return html(
        Markup(
            '<div class="sw-scroll"><table class="sw-table"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>{}'
        ).format(head, Markup("").join(Markup("<tr>{}</tr>").format(row) for row in cells), tail)
    )


@app.function
def form_of(value):
    """Alignment of a column of such values: numbers to the right, dates in one line."""
    return "sw-n" if isinstance(value, int) else "sw-d" if isinstance(value, datetime) else ""


@app.function
def evidence(turn_ids, places, said):
    """Turns with the place where each stood, one under the other."""
    lines = [
        Markup("<div><b>{}</b> {}</div>").format(
            "not found" if place is None else f"place {place}",
            plain(cut(said.get(turn_id, "(removed)"), 240)),
        )
        for turn_id, place in zip(turn_ids, places, strict=True)
    ]
    return Markup("").join(lines)


@app.function
def cut(text, most):
    """The beginning of a long text."""
    return text if len(text) <= most else f"{text[:most].rstrip()} ..."


@app.function
def shown_answer(answer, now):
    """An answer with the reasons of every hit."""
    found, problem = answer
    if found is None:
        return paragraph(problem)
    topics = [
        hit(one.name, one.summary, f"{one.cell_count} memories, updated {ago(one.updated_at, now)}", one)
        for one in found.topics
    ]
    cells = [
        hit(
            one.cell_type,
            one.content,
            ", ".join(
                [
                    ago(one.event_time, now),
                    one.source_name,
                    *([f"topic {one.topic_name}"] if one.topic_name else []),
                    f"salience {one.salience:.1f}",
                    *(["in an open contradiction"] if one.has_open_contradiction else []),
                    *([f"previously {one.history[0].value}"] if one.history else []),
                ]
            ),
            one,
        )
        for one in found.cells
    ]
    turns = [
        hit(
            one.speaker or one.role,
            cut(one.content, 320),
            f"{ago(one.event_time, now)}, {one.source_name}",
            one,
        )
        for one in found.turns
    ]
    when = f", time {found.after or '...'} to {found.before or '...'}" if found.after or found.before else ""
    parts = [
        Markup('<p class="sw-note">taken as a question of the kind <b>{}</b>{}. {}</p>').format(
            found.intent, when, " ".join(str(plain(one)) for one in found.notes)
        )
    ]
    columns = [("Memories", cells), ("Topic summaries", topics), ("Raw turns", turns)]
    left = Markup("").join(tier(name, hits) for name, hits in columns[:2] if hits)
    right = Markup("").join(tier(name, hits) for name, hits in columns[2:] if hits)
    parts.append(
        Markup('<div class="sw-answer"><div>{}</div>{}</div>').format(
            left or Markup('<p class="sw-note">No memory is found.</p>'),
            Markup("<div>{}</div>").format(right) if right else Markup(""),
        )
    )
    return html(Markup("").join(parts))


@app.function
def tier(name, hits):
    """One tier of an answer."""
    return Markup('<h4 class="sw-tier">{}</h4><ol class="sw-hits">{}</ol>').format(
        name, Markup("").join(hits)
    )


@app.function
def hit(chip, text, about, one):
    """One hit: what it says, where it is from, and the columns of its score."""
    columns = Markup("").join(
        Markup("<span>{} {}</span>").format(plain(name), f"{value:.4g}") for name, value in one.why.items()
    )
    form = Markup(
        '<li><div class="sw-chip">{}</div><div class="sw-text">{}</div><div class="sw-about">{}</div>'
        '<div class="sw-why">{}<span>score {}</span></div></li>'
    )
    return form.format(plain(chip), plain(text), plain(about), columns, f"{one.score:.4f}")


if __name__ == "__main__":
    app.run()
