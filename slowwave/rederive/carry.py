"""A person's edits, carried to the memories of the derivation: each finds its counterpart there, or stands by itself.

They are applied once everything is extracted and before anything is judged, so that no judge decides over a person's
word. What a person stated is taken in word by word with the record, and what a person deleted is kept out by extract.
Every edit is carried again at each run: one that stands already asks for nothing.
"""

from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from slowwave.edits.assistants_word import contradiction_with_an_assistant, is_a_persons
from slowwave.edits.consequences import cascade, joined, judged, protection, settled_by, succession
from slowwave.edits.forget import WHY as DELETED
from slowwave.edits.resolve import TAKEN_BACK
from slowwave.home.paths import Home
from slowwave.journal.catalogue import EventRows, encode
from slowwave.journal.lookup import journaled
from slowwave.rederive.beside import Rederiving
from slowwave.rederive.carry_deletions import carry_deletions
from slowwave.rederive.counterparts import best_counterparts
from slowwave.rederive.pairing import pair
from slowwave.rederive.usage import carried_usage
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.derivation import CarriedEdit
from slowwave.schemas.tables import REMEMBERED, STATED
from slowwave.stages.run import Stage
from slowwave.store import Store, col, lit
from slowwave.store.chains import PERSON
from slowwave.trust.origins import PERSON as PERSONS

DECIDING = (PERSON, REMEMBERED)
"""`prompt_version` of judgements that are carried: a person's, and those of an assistant's corrections."""

CARRIED = "carried over as it was: the derivation has no memory of it"


@dataclass
class Carrying:
    """Edits on their way: the living store, the run on the derivation, the pairs of memories, and what was told."""

    living: Store
    run: Stage
    pairs: pl.DataFrame
    best: dict[str, str] = field(default_factory=dict)
    told: list[CarriedEdit] = field(default_factory=list)

    @property
    def derived(self) -> Store:
        """The derivation's store."""
        return self.run.store

    def counterpart(self, cell_id: str) -> str | None:
        """The memory of the derivation that says the same: itself, or the surest other one."""
        return self.best.get(cell_id)

    def content(self, cell_id: str) -> str:
        """The text of a memory of the living store; empty where it left."""
        found = self.living.by_key("cells", [cell_id], ["cell_id", "content"])
        return str(found["content"][0]) if found.height else ""


def carry_edits(work: Rederiving) -> list[CarriedEdit]:
    """Commits what a person's edits ask of the derivation; returns how each of them stands."""
    run = Stage("carry", work.night.workspace, dry_run=False, steps=work.night.steps)
    living = work.living_store
    pairs = pair(living, run.store, least_score=work.living.settings.rederive.counterpart_score)
    same = pairs.filter("says_all")  # a person's word about one value says nothing of another one
    carrying = Carrying(living, run, same, best_counterparts(same))
    _bring(carrying)
    _protect(carrying, work.living)
    _strike(carrying)
    _settle(carrying)
    _dispute(carrying)
    _retire_statements(carrying)
    carrying.told += carry_deletions(run, living)
    run.commit({"cell_usage.folded": usage_of(living, run.store, best_counterparts(pairs))})
    run.refresh_vectors()
    run.report.rows_in = len(carrying.told)
    work.night.stages.append(run.report)
    return carrying.told


def usage_of(living: Store, derived: Store, best: dict[str, str]) -> pl.DataFrame:
    """Rows of `cell_usage.folded` that the derivation does not have yet: the use of the living memories."""
    waiting = living.rows("usage", where=col("folded_at").is_null())
    old = living.by_key("cell_usage", best)
    new = derived.by_key("cell_usage", best.values())
    rows = carried_usage(waiting, old, new, best)
    return rows.join(new, on=rows.columns, how="anti", nulls_equal=True)


def _bring(carrying: Carrying) -> None:
    """Memories that a person confirmed or chose come over as they were where nothing says the same."""
    chosen = _decisions(carrying.living).filter(pl.col("effect") == "superseded")["cell_id"]
    named = carrying.living.rows("cells", where=col("protected") == lit(value=True))
    cells = pl.concat([named, carrying.living.by_key("cells", chosen)]).unique("cell_id").sort("cell_id")
    missing = cells.filter(
        ~pl.col("cell_id").is_in(list(carrying.best)) & (pl.col("cell_type") != EPISODE)
    ).join(carrying.derived.rows("tombstones", ["cell_id"]), on="cell_id", how="anti")
    if missing.is_empty():
        return
    nothing = {
        **dict.fromkeys(
            ["topic_id", "supersedes", "superseded_by", "chunk_id", "summary"], pl.lit(None, pl.String)
        ),
        **dict.fromkeys(["needs_review", "is_judged", "is_summarized", "protected"], pl.lit(value=False)),
        "superseded_at": pl.lit(None, dtype=missing.schema["superseded_at"]),
        "status": pl.lit("active"),
    }
    rows = missing.with_columns(**nothing)
    carrying.run.count(**{"cell.extracted": rows.height})
    events = encode("cell.extracted", rows)
    kept = events.with_columns(recorded_at=missing["recorded_at"])  # learned when it was learned
    carrying.run.steps.commit(carrying.run.workspace, kept, carrying.run.now)
    carrying.best |= {cell_id: cell_id for cell_id in missing["cell_id"]}


def _strike(carrying: Carrying) -> None:
    """Memories that a person took out of core memory stay out of it."""
    struck = carrying.living.rows("cell_usage", ["cell_id"], col("demoted_at").is_not_null())[
        "cell_id"
    ].sort()
    found = [new_id for cell_id in struck if (new_id := carrying.counterpart(cell_id)) is not None]
    known = carrying.derived.by_key("cell_usage", found, ["cell_id", "demoted_at"])
    carrying.run.commit({"core.struck": known.filter(pl.col("demoted_at").is_null()).select("cell_id")})


def _protect(carrying: Carrying, living: Home) -> None:
    """Confirmations: the counterpart of a memory that a person confirmed is protected, too."""
    cells = carrying.living.rows(
        "cells", ["cell_id", "content", "prompt_version", "status"], col("protected") == lit(value=True)
    ).sort("cell_id")
    if cells.is_empty():
        return
    said = journaled(living.journal, cells["cell_id"].to_list(), "cell.protected")
    notes = dict(said.drop_nulls("note").select("cell_id", "note").iter_rows())
    found = {cell_id: carrying.counterpart(cell_id) for cell_id in cells["cell_id"]}
    known = carrying.derived.by_key("cells", [new for new in found.values() if new], ["cell_id", "protected"])
    protected = dict(known.select("cell_id", "protected").iter_rows())
    for cell_id, content, prompt, status in cells.iter_rows():
        new_id = found[cell_id]
        if new_id in protected and not protected[new_id]:
            carrying.run.commit({"cell.protected": protection(str(new_id), notes.get(cell_id, ""))})
        if prompt in STATED and status == "superseded":
            continue  # told with what took its place
        if prompt not in STATED:
            how = _how_found(cell_id, new_id, is_brought=_is_brought(carrying, cell_id, new_id))
            carrying.told.append(
                CarriedEdit(edit="confirmed", said=content, cell_id=cell_id, new_id=new_id, how=how)
            )


def _settle(carrying: Carrying) -> None:
    """Decisions between two memories: corrections, an assistant's, too, and contradictions that a person resolved."""
    person = col("prompt_version").isin(DECIDING)
    rows = _decisions(carrying.living)
    known = carrying.derived.rows("judgements", ["cell_id", "target_id", "effect"], person)
    done = set(known.iter_rows())
    for row in rows.iter_rows(named=True):
        winner = carrying.counterpart(row["cell_id"])
        losers = [] if winner is None else _losers(carrying, row, winner)
        standing = carrying.derived.by_key("cells", losers, ["cell_id", "status"])
        over = standing.filter(pl.col("status") != "superseded")["cell_id"]
        waiting = [loser for loser in over if (winner, loser, row["effect"]) not in done]
        if winner is not None and waiting:
            carrying.run.commit(_decision(carrying, row, winner, waiting))
            done |= {(winner, loser, str(row["effect"])) for loser in waiting}
        said = carrying.content(row["cell_id"]) or str(row["reason"])
        is_correction = row["effect"] == "superseded"
        carrying.told.append(
            CarriedEdit(
                edit="corrected" if is_correction else "settled",
                said=said,
                cell_id=row["cell_id"],
                new_id=winner,
                how=_how_settled(winner, losers, is_correction=is_correction),
            )
        )


def _dispute(carrying: Carrying) -> None:
    """Open contradictions between a person's word and what an assistant said instead by hand."""
    rows = carrying.living.rows("contradictions", where=col("status") == lit("open")).sort("contradiction_id")
    said = carrying.living.by_key("cells", rows["cell_b"], ["cell_id", "prompt_version", "origin"])
    stated = said.filter((pl.col("prompt_version") == REMEMBERED) & (pl.col("origin") != PERSONS))
    for row in rows.join(stated, left_on="cell_b", right_on="cell_id", how="semi").iter_rows(named=True):
        own, other = carrying.counterpart(row["cell_a"]), carrying.counterpart(row["cell_b"])
        sides = carrying.derived.by_key("cells", [side for side in (own, other) if side is not None])
        standing = set(sides.filter(pl.col("status") != "superseded")["cell_id"])
        if own is not None and other is not None and own != other and {own, other} <= standing:
            opened = contradiction_with_an_assistant({**row, "cell_id": own}, other, note=row["note"])
            known = carrying.derived.by_key("contradictions", opened["contradiction_id"])
            carrying.run.commit({"contradiction.opened": opened if known.is_empty() else opened.clear()})


def _decisions(living: Store) -> pl.DataFrame:
    """Judgements of a person or an assistant, oldest first, without what only mended a chain or took one back."""
    rows = living.rows("judgements", where=col("prompt_version").isin(DECIDING)).sort(
        "judged_at", "judgement_id"
    )
    return rows.filter(~pl.col("reason").fill_null("").is_in([DELETED, TAKEN_BACK]))


def _losers(carrying: Carrying, row: dict[str, object], winner: str) -> list[str]:
    """The memory of the derivation that says what a person decided against, in a list; empty where none does."""
    of_winner = carrying.pairs.filter(pl.col("cell_id") == row["cell_id"]).select(
        "target_id", winning="score"
    )
    rivals = (
        carrying.pairs.filter((pl.col("cell_id") == row["target_id"]) & (pl.col("target_id") != winner))
        .join(of_winner, on="target_id", how="left", maintain_order="left")
        .filter(pl.col("score") > pl.col("winning").fill_null(0.0))  # what says the winner's words is none
    )
    found = carrying.derived.by_key("cells", rivals["target_id"].head(1))
    is_assistants = row["prompt_version"] != PERSON
    return [
        cell["cell_id"]
        for cell in found.iter_rows(named=True)
        if not (is_assistants and is_a_persons(cell))  # an assistant's correction takes no person's place
    ]


def _decision(carrying: Carrying, row: dict[str, object], winner: str, losers: list[str]) -> EventRows:
    """Events of a person's decision on the memories of the derivation."""
    store, why = carrying.derived, str(row["reason"] or "a person decided it")
    author = str(row["prompt_version"])
    by = "a person" if author == PERSON else "an assistant"
    over = store.by_key("cells", losers)
    if row["effect"] != "superseded":
        return {"pair.judged": judged(winner, over, effect="none", why=why, author=author)}
    return joined(
        succession(
            store,
            store.by_key("cells", [winner]),
            over,
            why=why,
            now=carrying.run.now,
            author=author,
            since=_changed_on(carrying, row),
        ),
        cascade(store, over, why=f"was corrected by {by}"),
        {"contradiction.resolved": settled_by(store, losers, why=why)},
    )


def _changed_on(carrying: Carrying, row: dict[str, object]) -> datetime | None:
    """The day until which the memory was true that a person decided against; None where it never held."""
    if row["verdict"] != "updates":
        return None
    old = carrying.living.by_key("cells", [str(row["target_id"])], ["cell_id", "valid_until"])
    return old["valid_until"][0] if old.height else None


def _retire_statements(carrying: Carrying) -> None:
    """Statements: word by word in the derivation; those that a person took back are retired there, too."""
    columns = ["cell_id", "content", "status", "superseded_by", "superseded_at"]
    said = col("prompt_version").isin(STATED)
    cells = carrying.living.rows("cells", columns, said).sort("cell_id")
    derived = carrying.derived.by_key("cells", cells["cell_id"], ["cell_id", "status", "superseded_by"])
    taken_back = cells.filter((pl.col("status") == "superseded") & pl.col("superseded_by").is_null())
    active = derived.filter(pl.col("status") == "active")
    carrying.run.commit(
        {"cell.retired": taken_back.join(active, on="cell_id", how="semi").select("cell_id", "superseded_at")}
    )
    gone = set(taken_back["cell_id"])
    standing = dict(derived.select("cell_id", "superseded_by").iter_rows())
    for cell_id, content in cells.select("cell_id", "content").iter_rows():
        by = standing.get(cell_id)
        how = (
            "taken back by a person, as before"
            if cell_id in gone
            else "kept word by word"
            if by is None
            else f"kept word by word; {by} came after it"
        )
        carrying.told.append(
            CarriedEdit(edit="remembered", said=content, cell_id=cell_id, new_id=cell_id, how=how)
        )


def _is_brought(carrying: Carrying, cell_id: str, new_id: str | None) -> bool:
    """Return whether a memory came over as it was: the derivation has it, and no page of its own gave it."""
    if new_id != cell_id:
        return False
    found = carrying.derived.by_key("cells", [cell_id], ["cell_id", "chunk_id"])
    return found.height > 0 and found["chunk_id"][0] is None


def _how_found(cell_id: str, new_id: str | None, *, is_brought: bool) -> str:
    if new_id is None:
        return "waits: the derivation does not tell its conversation yet"
    if is_brought:
        return CARRIED
    return "confirmed there, too" if new_id == cell_id else f"confirmed as {new_id}, which says the same"


def _how_settled(winner: str | None, losers: list[str], *, is_correction: bool) -> str:
    if winner is None:
        return "not carried: the memory that it speaks of left the living memory"
    if not losers:
        return "stands as a memory of its own: the derivation does not say what it decided against"
    what = ", ".join(losers)
    return f"took the place of {what}" if is_correction else f"both hold, beside {what}"
