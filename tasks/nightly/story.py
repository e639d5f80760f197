"""A night as a colleague would tell it: plain sentences from its events alone, without a language model.

Stored text is shown as it is, in one line, and a long one ends after a whole sentence; whoever shows the story escapes
it. The work is proportional to what the night did.
"""

from collections.abc import Mapping
from datetime import datetime

import polars as pl

from slowwave.home.workspace import Workspace
from slowwave.journal.lookup import of_kind
from slowwave.language.text import normalized
from slowwave.schemas.moments import days_of
from slowwave.schemas.report import StoryPart, several, several_memories
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.store import Expr, Store, col, lit, owned_by
from slowwave.store.forgetting import PREVIEW_DAYS, fading_of

MOST_LINES = 6
"""Most lines of a part; the rest is a number."""

TEXT_CHARACTERS = 320
"""Characters of a text: 99 of 100 memories of a night with a model have fewer."""

KINDS = (
    "cell.extracted", "cell.confirmed", "cell.superseded", "cell.merged", "cell.retired", "contradiction.opened",
    "contradiction.closed", "cell.archived", "cell.revived", "cell.pruned", "cell.deleted", "core.promoted",
    "core.demoted",
)  # fmt: skip
"""The kinds of event that the sentences are made from."""

NAMING = ("cell_id", "superseded_by", "cell_a", "cell_b")
"""Columns of these events that name a memory whose text the story may show."""

COLUMNS = [
    *("cell_id", "content", "cell_type", "subject", "attribute", "value"),
    *("status", "salience", "valid_from", "event_time"),
]
IDS_A_READ = 2_000

Events = Mapping[str, pl.DataFrame]
"""Decoded payloads of a night's events, by kind; every one of `KINDS` is there, empty where nothing happened."""

Told = tuple[str, pl.DataFrame, int]
"""What a part says: its title, its lines in the column `line`, and of how many things it speaks."""


def tell_story(workspace: Workspace, *, since: str) -> list[StoryPart]:
    """The parts of a night's story, from the segments after `since`; empty when nothing happened.

    Only memories that the owner of the settings may see are named.
    """
    journal, store, settings = workspace.home.journal, workspace.store, workspace.settings
    scanned = journal.read(journal.segment_ids_after(since) if since else journal.segment_ids()).events
    events = {kind: of_kind(scanned, kind) for kind in KINDS}
    mine = owned_by(settings.owner)
    open_count = store.count("contradictions", mine & (col("status") == lit("open")))
    cells = _read(store, named_cells(events), mine)
    parts = night_story(events, cells, open_count=open_count, core_count=store.count("core", mine))
    now = workspace.clock()
    fading = fading_of(store, now=now, forget=settings.forget)
    if fading.height:
        soon = fading.join(_read(store, fading["cell_id"].to_list(), mine), on="cell_id", how="inner")
        parts += _parts({"fading": _fading(soon, days=PREVIEW_DAYS, now=now)})
    return parts


def named_cells(events: Events) -> list[str]:
    """Ids of the memories that the events name."""
    named = [rows[name] for rows in events.values() for name in NAMING if name in rows.columns]
    return pl.concat(named).drop_nulls().unique().sort().to_list()


def night_story(events: Events, cells: pl.DataFrame, *, open_count: int, core_count: int) -> list[StoryPart]:
    """The parts of a night's story; parts in which nothing happened are left out.

    `cells` has the cells that the events name as they are now, with `COLUMNS`. `open_count` contradictions are open
    after the night; core memory has `core_count` lines.
    """
    texts = cells.with_columns(content=_short("content"))
    return _parts(
        {
            "learned": _learned(events, texts),
            "heard_again": _heard_again(events, texts),
            "changed": _changed(events, texts),
            "doubted": _doubted(events, texts, open_count=open_count),
            "let_go": _let_go(events, texts),
            "came_back": _came_back(events, texts),
            "core_gained": _core_gained(events, core_count=core_count),
            "core_lost": _core_lost(events, texts),
        }
    )


def _parts(story: Mapping[str, Told]) -> list[StoryPart]:
    parts = []
    for name, (title, lines, count) in story.items():
        shown = lines["line"].drop_nulls().head(MOST_LINES).to_list()
        more = max(lines.height - len(shown), 0)
        if count:
            parts.append(StoryPart(name=name, said=title, lines=shown, count=count, more_count=more))
    return parts


def _learned(events: Events, texts: pl.DataFrame) -> Told:
    gone = pl.concat([events["cell.merged"]["cell_id"], events["cell.retired"]["cell_id"]])
    made = events["cell.extracted"].filter(~pl.col("cell_id").is_in(gone.implode())).unique("cell_id")
    made = made.join(texts, on="cell_id", how="semi")
    read = made.filter(pl.col("prompt_version") != RAW_PROMPT)
    known = texts.join(read if read.height else made, on="cell_id", how="semi")
    about = pl.concat_str("subject", "attribute", separator="\n")
    lines = (
        known.filter(pl.col("status") == "active")
        .sort("salience", "event_time", "cell_id", descending=[True, True, False])
        .unique(pl.coalesce(about, "cell_id"), keep="first", maintain_order=True)
    ).select(line=pl.format("{} ({}, {})", "content", "cell_type", days_of(pl.col("valid_from"))))
    where = (
        f"from {several(made['session_id'].n_unique(), 'conversation or file', 'conversations and files')}"
    )
    kinds = known.group_by("cell_type").len().sort("len", "cell_type", descending=[True, False])
    by_kind = ", ".join(
        several(number, kind.replace("code_ref", "code reference")) for kind, number in kinds.iter_rows()
    )
    title = (
        f"Learned {several(read.height, 'thing')} {where}: {by_kind}."
        if read.height
        else f"Kept {several(made.height, 'passage')} {where} as they were said; a language model will read them "
        "once there is one."
    )
    return title, lines, made.height


def _heard_again(events: Events, texts: pl.DataFrame) -> Told:
    often = pl.when(pl.col("confirmations") == 1).then(pl.lit("once more"))
    times = often.otherwise(pl.format("{} times more", "confirmations"))
    # what only gained evidence was said by no further person
    said = _latest(events["cell.confirmed"]).filter(pl.col("confirmations") > 0)
    lines = said.join(texts, on="cell_id", how="inner").sort(
        "confirmations", "cell_id", descending=[True, False]
    )
    title = f"Heard {several(lines.height, 'known thing')} again."
    return title, lines.select(line=pl.format("{} ({})", "content", times)), lines.height


def _changed(events: Events, texts: pl.DataFrame) -> Told:
    new = texts.select("attribute", "subject", "value", superseded_by="cell_id", now="content")
    old = texts.select("cell_id", before="content", old_value="value", old_attribute="attribute")
    ends = _latest(events["cell.superseded"]).join(old, on="cell_id", how="inner", maintain_order="left")
    both = ends.join(new, on="superseded_by", how="inner", maintain_order="left").filter(
        ~_is_same("now", "before") & ~_is_same("value", "old_value")
    )
    until = days_of(pl.col("valid_until")).fill_null("then")
    is_correction = pl.col("verdict") == "corrects"
    by_value = (
        pl.when(is_correction)
        .then(pl.format("{}, {}: {}; {} was wrong", "subject", "attribute", "value", "old_value"))
        .otherwise(
            pl.format("{}, {}: {}; until {} it was {}", "subject", "attribute", "value", until, "old_value")
        )
    )
    by_text = (
        pl.when(is_correction)
        .then(pl.format("{} What was wrong: {}", "now", "before"))
        .otherwise(pl.format("{} Until {}: {}", "now", until, "before"))
    )
    # values of two properties, or one value twice, are no change, and where a value is missing its sentence is, too
    is_one = pl.col("attribute").str.to_lowercase() == pl.col("old_attribute").str.to_lowercase()
    is_change = is_one & (pl.col("value") != pl.col("old_value"))
    lines = both.select(line=pl.coalesce(pl.when(is_change).then(by_value), by_text))
    return f"Changed its mind about {several(both.height, 'thing')}.", lines, both.height


def _is_same(one: str, other: str) -> pl.Expr:
    """Return whether two texts say the same in the same words: that is known news said again, and no change."""
    return (normalized(pl.col(one)) == normalized(pl.col(other))).fill_null(value=False)


def _doubted(events: Events, texts: pl.DataFrame, *, open_count: int) -> Told:
    opened = events["contradiction.opened"].unique("contradiction_id", maintain_order=True)
    closed = events["contradiction.closed"]
    both = opened.join(closed, on="contradiction_id", how="anti", maintain_order="left")
    side = pl.format("{} ({})", "content", days_of(pl.col("event_time")))
    for name in ("cell_a", "cell_b"):
        said = texts.select(pl.col("cell_id").alias(name), side.alias(f"said_{name}"))
        both = both.join(said, on=name, how="inner", maintain_order="left")
    title = (
        f"Found {several(both.height, 'new contradiction')}, {open_count} open in all: both sides stay until "
        "somebody resolves it."
    )
    return title, both.select(line=pl.format("{} or: {}", "said_cell_a", "said_cell_b")), both.height


def _let_go(events: Events, texts: pl.DataFrame) -> Told:
    archived = _latest(events["cell.archived"]).join(texts, on="cell_id", how="inner")
    pruned, deleted = events["cell.pruned"].height, events["cell.deleted"].height
    sentences = [
        f"Let go of {several_memories(archived.height)} that nobody used. They are archived, and "
        "come back when they are asked for or said again."
        if archived.height
        else "",
        f"Took {several(pruned, 'long superseded memory', 'long superseded memories')} out of the store."
        if pruned
        else "",
        f"Kept {several(deleted, 'deleted memory', 'deleted memories')} out." if deleted else "",
    ]
    lines = archived.sort("salience", "cell_id", descending=[True, False])
    count = archived.height + pruned + deleted
    return " ".join(filter(None, sentences)), lines.select(line=_with_reason("{} ({})")), count


def _came_back(events: Events, texts: pl.DataFrame) -> Told:
    back = _latest(events["cell.revived"]).join(texts, on="cell_id", how="inner", maintain_order="left")
    title = f"Brought {several(back.height, 'archived memory', 'archived memories')} back."
    return title, back.select(line=_with_reason("{} ({})", otherwise="used")), back.height


def _core_gained(events: Events, *, core_count: int) -> Told:
    promoted = _latest(events["core.promoted"])
    is_new = pl.col("reason") != "reworded"
    entered = promoted.filter(is_new).join(
        events["core.demoted"], on="cell_id", how="anti", maintain_order="left"
    )
    reworded = promoted.filter(~is_new)
    reason = _short("reason").str.replace("^salience ", "importance ")
    lines = pl.concat([entered, reworded]).select(line=pl.format("{} Reason: {}.", _short("line"), reason))
    also = f" and {several(reworded.height, 'line was', 'lines were')} reworded" if reworded.height else ""
    title = f"Core memory gained {several(entered.height, 'line')}{also}; it has {several(core_count, 'line')} now."
    return title, lines, lines.height


def _core_lost(events: Events, texts: pl.DataFrame) -> Told:
    left = _latest(events["core.demoted"]).join(texts, on="cell_id", how="left", maintain_order="left")
    lines = left.with_columns(pl.col("content").fill_null("A deleted memory."))
    title = f"Core memory lost {several(left.height, 'line')}; what left can still be found."
    return title, lines.select(line=_with_reason("{} Reason: {}.", otherwise="none given")), left.height


def _fading(found: pl.DataFrame, *, days: float, now: datetime) -> Told:
    """The memories that will fade soon, the most salient first: `found` has `content`, `salience` and `fades_at`."""
    day = pl.max_horizontal("fades_at", pl.lit(now)).dt.strftime("%Y-%m-%d")
    ordered = found.sort("salience", "fades_at", descending=[True, False])
    title = f"{several_memories(found.height)} will fade within {days:g} days if nobody uses them. The most important:"
    return title, ordered.select(line=pl.format("{} ({})", _short("content"), day)), found.height


def _with_reason(form: str, *, otherwise: str = "unused") -> pl.Expr:
    return pl.format(form, "content", pl.col("reason").fill_null(otherwise))


def _latest(rows: pl.DataFrame) -> pl.DataFrame:
    """The last event of each memory."""
    return rows.unique("cell_id", keep="last", maintain_order=True)


def _short(column: str) -> pl.Expr:
    """A text in one line; of a long one whole sentences, or whole words where the first sentence is too long."""
    flat = pl.col(column).str.replace_all(r"\s+", " ").str.strip_chars()
    start = flat.str.slice(0, TEXT_CHARACTERS)
    cut = pl.coalesce(start.str.extract(r"^(.*[.!?])\s"), start.str.extract(r"^(.*)\s"), start) + " ..."
    return pl.when(flat.str.len_chars() > TEXT_CHARACTERS).then(cut).otherwise(flat)


def _read(store: Store, cell_ids: list[str], mine: Expr) -> pl.DataFrame:
    """The cells of these ids that the owner may see."""
    parts = [
        store.rows("cells", COLUMNS, mine & col("cell_id").isin(cell_ids[start : start + IDS_A_READ]))
        for start in range(0, len(cell_ids), IDS_A_READ)
    ]
    return pl.concat(parts) if parts else store.by_key("cells", [], COLUMNS)
