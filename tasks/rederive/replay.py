"""Replay of what came in and of what persons did to it, from a living memory into its derivation.

Both are events of the living journal. Raw ones are copied as they are. Those of an edit are copied with the
ids of the memories that it finds in the derivation (`Matches`). A deletion needs nothing more: its tombstone is copied,
and extract keeps such memories out.
"""

from collections import Counter

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.edits.forget import WHY as DELETED
from slowwave.edits.resolve import TAKEN_BACK
from slowwave.home.derivation import DerivationState, write_state
from slowwave.home.paths import Home
from slowwave.home.vector_space import compute_vectors
from slowwave.home.workspace import Workspace
from slowwave.journal.derivations import in_force, is_statement, last_switch
from slowwave.journal.lookup import mentioning
from slowwave.journal.segments import Journal
from slowwave.progress import progress
from slowwave.schemas.derivation import CarriedEdit
from slowwave.schemas.table_parts import Timestamp, nullable
from slowwave.schemas.tables import REMEMBERED, STATED
from slowwave.store import Store, col, open_store
from slowwave.store.chains import PERSON
from tasks.frames import Frame
from tasks.nightly.night import Night
from tasks.rederive.difference import Matches
from tasks.step import open_stage, step

COPIED = ["kind", "payload", "version", "recorded_at"]
"""Columns of a scanned event that another segment takes over."""

RAW = [
    "turn.recorded", "source.recorded", "chunk.cut", "cell.deleted", "cell.readmitted", "cell.dated", "cell.erased",
    "turn.erased", "space.fitted",
]  # fmt: skip
"""Kinds of events that are copied, next to statements: what came in, what was deleted, and the vector space."""

MARKS = ["cell.protected", "core.struck", "cell.restored"]
DECISIONS = ["pair.judged", "contradiction.opened"]
FOLLOWING = ["cell.superseded", "cell.succeeded"]
"""Kinds of events of edits: those of persons alone, those that say who decided, and what follows from a decision."""

NAMES = {
    "cell.protected": "confirmed",
    "core.struck": "struck",
    "pair.judged": "corrected",
    "contradiction.opened": "disputed",
}
"""The edits that the difference lists, by the event that says them."""

NOT_FOUND = "not carried: no memory of the derivation rests on its turns and says the same"
BROUGHT = "carried over as it was: the derivation has no memory of it"
ALONE = "stands by itself: the derivation does not say what it was decided against"


class Rederiving:
    """A derivation under way: the living home, the night over the derivation, and how far it got.

    A plain class and no dataclass: Prefect looks into the fields of a dataclass that is handed to a task.
    """

    def __init__(self, living: Home, night: Night, state: DerivationState) -> None:
        self.living = living
        self.living_store = open_store(living.store_root)
        self.night = night
        self.state = state

    @property
    def folder(self) -> str:
        """The home of the derivation, for the flows of its stages."""
        return str(self.night.workspace.home.root)

    @property
    def store(self) -> Store:
        """The store of the derivation."""
        return self.night.workspace.store

    def note(self, **changed: object) -> None:
        """Writes down how far it got."""
        self.state = self.state.model_copy(update=changed)
        write_state(self.night.workspace.home, self.state)


class Edits(Frame):
    """Events of edits in their order, with the memory that each speaks for and, in a decision, the other one."""

    kind: str
    payload: str
    version: int
    recorded_at: Timestamp
    cell_id: str
    target_id: str = nullable()


@step
def replay_record(work: Rederiving) -> None:
    """Copies the raw events of the living journal into the derivation.

    A segment that no writer has applied is left out, and is news: edits are looked up in the living store.
    """
    with open_stage("replay", home=work.folder) as run:
        segments = sorted(work.living_store.applied_segments())
        run.count(**copy_record(work.living.journal, segments, run.workspace))
        run.report.rows_in = len(segments)
        work.note(taken=segments)
        compute_vectors(run)
    work.night.stages.append(run.report)


def copy_record(journal: Journal, segments: list[str], derived: Workspace) -> dict[str, int]:
    """Commits the raw events of these segments to a derivation, portion by portion; returns their counts by kind."""
    switch = last_switch(journal, journal.segment_ids())
    counts, done = Counter[str](), 0
    for part in journal.portions(segments):
        events = in_force(journal.read(part).events, switch).filter(
            pl.col("kind").is_in(RAW) | is_statement()
        )
        derived.commit(events.select(COPIED), derived.clock())
        counts.update(events["kind"])
        done += len(part)
        progress("replay", done, len(segments))
    return dict(sorted(counts.items()))


def new_segments(journal: Journal, taken: list[str]) -> list[str]:
    """The segments of the living journal that a derivation has not taken."""
    return sorted({*journal.segment_ids()} - set(taken))


def edits_since(journal: Journal, taken: list[str]) -> int:
    """The number of edits and deletions in the segments that a derivation has not taken."""
    events = journal.read(new_segments(journal, taken)).events
    gone = events.filter(pl.col("kind").is_in(["cell.deleted", "cell.readmitted"]))
    return edits_of(events).height + gone.height


@step
def find_edits(work: Rederiving) -> DataFrame[Edits]:
    """The edits of what the living store still holds, in the segments that were taken."""
    journal = work.living.journal
    switch = last_switch(journal, journal.segment_ids())
    parts = [
        edits_of(in_force(journal.read(part).events, switch)) for part in journal.portions(work.state.taken)
    ]
    edits = pl.concat([edits_of(journal.read([]).events), *parts])
    living = work.living_store.by_key("cells", edits["cell_id"], ["cell_id"])
    return Edits.of(edits.join(living, on="cell_id", how="semi", maintain_order="left"))


def edits_of(events: pl.DataFrame) -> pl.DataFrame:
    """The events of edits among scanned events, with the columns of `Edits`: by persons, and by assistants by hand."""
    names = ["cell_id", "superseded_by", "cell_a", "target_id", "supersedes", "cell_b"]
    ids = {name: pl.col("payload").str.json_path_match(f"$.{name}") for name in names}
    loser = pl.when(ids["superseded_by"].is_not_null()).then(ids["cell_id"])
    named = events.with_row_index("place").with_columns(
        cell_id=pl.coalesce(ids["superseded_by"], ids["cell_a"], ids["cell_id"]),
        target_id=pl.coalesce(ids["target_id"], ids["supersedes"], ids["cell_b"], loser),
    )
    by_hand = pl.col("payload").str.contains_any(
        [f'"prompt_version":"{name}"' for name in (PERSON, REMEMBERED)]
    )
    decided = named.filter(pl.col("kind").is_in(DECISIONS) & by_hand)
    follows = named.filter(pl.col("kind").is_in(FOLLOWING)).join(
        decided, on=["cell_id", "target_id"], how="semi"
    )
    undone = named.filter(pl.col("kind") == "cell.retired").join(decided, on="cell_id", how="semi")
    marked = named.filter(pl.col("kind").is_in(MARKS))
    return pl.concat([marked, decided, follows, undone]).sort("place").select(Edits.names())


@step
def replay_edits(work: Rederiving, edits: DataFrame[Edits], matched: DataFrame[Matches]) -> None:
    """Copies the edits that find their memories, as one segment, and writes down what became of each."""
    with open_stage("edits", home=work.folder) as run:
        found = _found(run.store, edits, matched)
        brought = _births(work.living.journal, found)
        is_brought = pl.col("new_id").is_null() & pl.col("cell_id").is_in(brought["cell_id"].implode())
        itself = pl.when(is_brought).then("cell_id")
        found = found.with_columns(new_id=pl.coalesce("new_id", itself), is_brought=is_brought)
        is_decided = pl.col("target_id").is_null() | pl.col("new_target").is_not_null()
        kept = found.filter(pl.col("new_id").is_not_null() & is_decided)
        pairs = kept.select("cell_id", "new_id").rows() + kept.select("target_id", "new_target").rows()
        ids = {f'"{old}"': f'"{new}"' for old, new in pairs if old != new}
        events = kept.with_columns(pl.col("payload").str.replace_many(ids) if ids else pl.col("payload"))
        copied = pl.concat([brought.select(COPIED), events.select(COPIED)])
        run.workspace.commit(copied, run.now)
        run.count(**dict(copied.group_by("kind").len().sort("kind").iter_rows()))
        run.report.rows_in = edits.height
        run.reject(NOT_FOUND, edits.height - kept.height)
        work.note(edits=_carried(work.living_store, run.store, found))
    work.night.stages.append(run.report)


def _found(derived: Store, edits: DataFrame[Edits], matched: DataFrame[Matches]) -> pl.DataFrame:
    """The edits with the memories of the derivation that theirs are found as (`new_id`, `new_target`); null for none.

    A decision between memories that are found as the same one has no target. Nor has an assistant's, unless both are
    statements that were copied: another memory may be a person's, which no assistant retires.
    """
    named = pl.concat([edits["cell_id"], edits["target_id"].drop_nulls()]).unique()
    there = derived.by_key("cells", named, ["cell_id"]).with_columns(new_id="cell_id")
    best = pl.concat([there, matched.filter("agrees").select("cell_id", "new_id")])
    ids = best.unique("cell_id", keep="first", maintain_order=True)
    target = ids.select(target_id="cell_id", new_target="new_id")
    found = edits.join(ids, on="cell_id", how="left", maintain_order="left").join(
        target, on="target_id", how="left", maintain_order="left"
    )
    is_assistants = pl.col("payload").str.contains(f'"prompt_version":"{REMEMBERED}"', literal=True)
    is_copied = (pl.col("new_id") == pl.col("cell_id")) & (pl.col("new_target") == pl.col("target_id"))
    is_apart = (pl.col("new_id") != pl.col("new_target")) & (is_copied | ~is_assistants)
    return found.with_columns(new_target=pl.when(is_apart).then("new_target"))


def _births(journal: Journal, found: pl.DataFrame) -> pl.DataFrame:
    """The events that made memories which a person confirmed or decided for, and which the derivation does not have."""
    vouched = found.filter(
        pl.col("new_id").is_null(), pl.col("kind").is_in(["cell.protected", "cell.superseded"])
    )
    ids = vouched["cell_id"].unique().to_list()
    events = mentioning(journal, ids) if ids else journal.read([]).events
    made = events.with_columns(cell_id=pl.col("payload").str.json_path_match("$.cell_id"))
    births = made.filter(pl.col("kind") == "cell.extracted", pl.col("cell_id").is_in(ids))
    return births.unique("cell_id", keep="last", maintain_order=True)


def _carried(living: Store, derived: Store, found: pl.DataFrame) -> list[CarriedEdit]:
    """The outcome of each statement, of each edit that is current, and of each deletion."""
    columns = ["cell_id", "content"]
    stated = living.rows("cells", columns, col("prompt_version").isin(STATED)).sort("cell_id")
    dead = derived.rows("tombstones", columns).drop_nulls("content").sort("cell_id")
    why, effect = (pl.col("payload").str.json_path_match(f"$.{name}") for name in ("reason", "effect"))
    is_of_statement = pl.col("kind").is_in(MARKS) & pl.col("cell_id").is_in(stated["cell_id"].implode())
    is_undone = why.is_in([DELETED, TAKEN_BACK]).fill_null(value=False)
    current = (
        found.unique(["kind", "cell_id", "target_id"], keep="last", maintain_order=True)
        .filter(pl.col("kind").is_in(NAMES) & ~is_undone & ~is_of_statement)
        .with_columns(
            edit=pl.when(effect == "none").then(pl.lit("settled")).otherwise(pl.col("kind").replace(NAMES))
        )
    )
    texts = living.by_key("cells", current["cell_id"], columns)
    edited = current.join(texts, on="cell_id", how="left", maintain_order="left")
    parts = [
        edited.select("edit", *columns, "new_id", how=_how()),
        stated.with_columns(edit=pl.lit("remembered"), new_id="cell_id", how=pl.lit("kept word by word")),
        dead.with_columns(edit=pl.lit("deleted"), how=pl.lit("kept out, in other words too")),
    ]
    rows = (
        pl.concat(parts, how="diagonal")
        .rename({"content": "said"})
        .with_columns(pl.col("said").fill_null(""))
    )
    return [CarriedEdit(**row) for row in rows.iter_rows(named=True)]


def _how() -> pl.Expr:
    """The outcome of an edit in words."""
    return (
        pl.when(pl.col("new_id").is_null())
        .then(pl.lit(NOT_FOUND))
        .when(pl.col("new_target").is_not_null())
        .then(pl.format("carried: it is {} there, and the other one {}", "new_id", "new_target"))
        .when(pl.col("target_id").is_not_null())
        .then(pl.lit(ALONE))
        .when("is_brought")
        .then(pl.lit(BROUGHT))
        .otherwise(pl.format("carried: {} says the same", "new_id"))
    )
