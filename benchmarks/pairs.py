"""Whether reconciliation finds and judges changed statements: `python benchmarks/pairs.py FILE [--distractors FILE]`.

FILE holds labelled pairs of dated statements, one JSON object a line: `id`, `verdict` (updates, corrects, contradicts,
compatible, unclear), `subject`, `attribute`, `value_a`, `value_b`, and the older statement `a` (`a_date`) and the newer
`b` (`b_date`). All statements lie in one store, with the memories of a question set (LoCoMo's observations) as
distractors. Measured is whether the older one is among the candidates that the reconcile stage finds for the newer
one, beside plain cosine. With `--verdicts` the whole stage runs with the language model of the environment
(SLOWWAVE_LLM__...), and its verdicts are held against the labels. Nothing is set by the pairs.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.environment import hide_settings  # noqa: E402
from benchmarks.question_sets import read_question_set  # noqa: E402
from slowwave.errors import InputError, SlowwaveError  # noqa: E402
from slowwave.journal.catalogue import CATALOGUE  # noqa: E402
from slowwave.schemas.identity import content_hash, stable_id  # noqa: E402

OWNER = {"user_id": "local", "project_id": "default", "scope": "user-private"}
CHANGING = ("updates", "corrects", "contradicts")
"""Labels of pairs that the stage must find."""
RETIRING = (*CHANGING, "completes")
"""Verdicts that find what changed: an outcome of a plan is one."""
DEEP = 64
"""Candidates looked at for the histogram of ranks."""
BANDS = ((1, 1), (2, 3), (4, 8), (9, 16), (17, DEEP))

Row = dict[str, Any]


@dataclass(frozen=True)
class Pair:
    """One labelled pair: the cells of its older and its newer statement, and its label."""

    name: str
    verdict: str
    older: Row
    newer: Row


def moment(text: str) -> datetime:
    """`2023/05/21 (Sun) 09:04` or an ISO time as UTC."""
    try:
        plain = datetime.fromisoformat(text)
    except ValueError:
        plain = datetime.strptime(text, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)
    return plain if plain.tzinfo else plain.replace(tzinfo=UTC)


def cell(content: str, at: datetime, session: str, **named: object) -> Row:
    """A memory as the extractor would have stored it."""
    row: Row = {
        **OWNER,
        "cell_id": stable_id("cell", *OWNER.values(), session, content_hash(content)),
        "cell_type": "fact",
        "content": content,
        "content_hash": content_hash(content),
        "salience": 0.5,
        "confidence": 0.9,
        "status": "active",
        "origin": "user",
        "valid_from": at,
        "event_time": at,
        "decay_rate": 0.0,
        "session_id": session,
        "source_type": "conversation",
        "source_id": session,
        "source_name": session,
        "evidence": [stable_id("turn", session)],
        "entities": [],
        "artifacts": [],
        "steps": [],
        "prompt_version": "given",
        **dict.fromkeys(("needs_review", "is_judged", "is_summarized", "is_wish", "protected"), False),
        **named,
    }
    return {name: row.get(name) for name in CATALOGUE["cell.extracted"].payload}


def read_pairs(path: Path, *, is_named: bool) -> list[Pair]:
    """The labelled pairs; `is_named` gives their memories subject, attribute and value.

    Raises:
        InputError: a line is not a pair.
    """
    pairs = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            said = json.loads(line)
            name, verdict = str(said["id"]), str(said["verdict"])
            named = {key: said[key] for key in ("subject", "attribute")} if is_named else {}
            sides = [
                cell(
                    said[side],
                    moment(said[f"{side}_date"]),
                    f"{name}-{side}",
                    **named,
                    **({"value": said[f"value_{side}"]} if is_named else {}),
                )
                for side in ("a", "b")
            ]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"line {number} of {path} is no pair ({error}): see benchmarks/pairs.py"
            ) from error
        pairs.append(Pair(name, verdict, *sides))
    return pairs


def distractors(path: Path) -> list[Row]:
    """The memories of a question set, dated by the turns that they come from."""
    rows = []
    for conversation in read_question_set(path).conversations:
        said_at = {turn.id: turn.timestamp for session in conversation.sessions for turn in session.turns}
        for memory in conversation.memories:
            dates = [said_at[name] for name in memory.evidence if name in said_at]
            if dates:
                rows.append(cell(memory.content, max(dates), conversation.name))
    return rows


def fill(workspace: Any, pairs: Sequence[Pair], others: Sequence[Row]) -> None:
    """Commits the older statements and the distractors as settled memories, the newer ones as new; all embedded."""
    from slowwave.journal.catalogue import encode, rows_of

    known = [pair.older for pair in pairs] + list(others)
    whole = {row["cell_id"]: row for row in [*known, *(pair.newer for pair in pairs)]}
    settled = [{"cell_id": key} for key in {row["cell_id"] for row in known}]
    events = [
        encode("cell.extracted", rows_of("cell.extracted", list(whole.values()))),
        encode("cell.judged", rows_of("cell.judged", settled)),
    ]
    workspace.commit(pl.concat(events), now=datetime.now(UTC))
    workspace.refresh_vectors()
    workspace.store.index_new_rows("cells")


def ranks(candidates: pl.DataFrame, pairs: Sequence[Pair]) -> list[int | None]:
    """The place of each pair's older statement among the candidates of its newer one, from 1; null: not there."""
    placed = candidates.with_columns(rank=pl.int_range(1, pl.len() + 1).over("cell_id"))
    rank_of = {
        (cell_id, target): rank
        for cell_id, target, rank in placed.select("cell_id", "target_id", "rank").iter_rows()
    }
    return [rank_of.get((pair.newer["cell_id"], pair.older["cell_id"])) for pair in pairs]


def plain_cosine(workspace: Any, pairs: Sequence[Pair], *, k: int) -> pl.DataFrame:
    """The k nearest memories of each newer statement by cosine alone, in the form of candidates."""
    import numpy as np

    store = workspace.store
    newer = store.by_key("cells", [pair.newer["cell_id"] for pair in pairs], ["cell_id"])
    placed = newer.join(store.vectors("cells", newer["cell_id"]), on="cell_id", maintain_order="left")
    found = store.nearest("cells", placed["vector"].to_numpy().astype(np.float32), k + 1)
    names = dict(enumerate(placed["cell_id"]))
    near: pl.DataFrame = (
        found.select(
            cell_id=pl.col("query_index").replace_strict(names, return_dtype=pl.String), target_id="cell_id"
        )
        .filter(pl.col("cell_id") != pl.col("target_id"))
        .group_by("cell_id", maintain_order=True)
        .head(k)
    )
    return near


def recall_by_verdict(found: Sequence[int | None], pairs: Sequence[Pair], *, k: int) -> dict[str, Row]:
    """Share of the pairs whose older statement is among the first k, by label, and of all changing ones."""
    groups = {"changing": CHANGING, **{verdict: (verdict,) for verdict in sorted({p.verdict for p in pairs})}}
    table: dict[str, Row] = {}
    for name, verdicts in groups.items():
        mine = [rank for rank, pair in zip(found, pairs, strict=True) if pair.verdict in verdicts]
        hits = sum(rank is not None and rank <= k for rank in mine)
        table[name] = {"pairs": len(mine), "found": hits, "recall": hits / len(mine) if mine else None}
    return table


def histogram(found: Sequence[int | None]) -> dict[str, int]:
    """Pairs by the band of their rank."""
    counts = {
        (str(low) if low == high else f"{low}-{high}"): sum(
            rank is not None and low <= rank <= high for rank in found
        )
        for low, high in BANDS
    }
    return {**counts, "not found": sum(rank is None for rank in found)}


def measure_candidates(workspace: Any, pairs: Sequence[Pair]) -> Row:
    """Share of the pairs that the stage's own search proposes, beside plain cosine."""
    from tasks.reconcile.pairs import BEST
    from tasks.reconcile.reconcile import find_cells, find_neighbours, propose_near
    from tasks.step import StageRun

    run = StageRun("reconcile", workspace, dry_run=True)
    cells = find_cells(run.reader)
    proposed = propose_near(run.reader, cells, find_neighbours(run.reader, cells))
    shipped = ranks(proposed.unique(["cell_id", "target_id"], maintain_order=True), pairs)
    cosine = ranks(plain_cosine(workspace, pairs, k=DEEP), pairs)
    missed = [
        pair.name
        for rank, pair in zip(shipped, pairs, strict=True)
        if rank is None and pair.verdict in CHANGING
    ]
    changing = [pair.verdict in CHANGING for pair in pairs]
    return {
        "k": BEST,
        "proposed": proposed.height,
        "memories": workspace.store.count("cells"),
        "embedder": workspace.store.meta.embedder_id,
        "recall": recall_by_verdict(shipped, pairs, k=DEEP),
        "cosine_recall": recall_by_verdict(cosine, pairs, k=BEST),
        "cosine_ranks": histogram([rank for rank, is_one in zip(cosine, changing, strict=True) if is_one]),
        "missed": missed,
    }


def measure_verdicts(folder: Path, pairs: Sequence[Pair]) -> Row:
    """Runs the whole stage with the configured model; its verdicts beside the labels, and what was lost."""
    from flows.reconcile import reconcile
    from slowwave.home.workspace import open_workspace

    report = reconcile.fn(home=str(folder))
    with open_workspace(folder) as workspace:
        said = workspace.store.rows("judgements", ["cell_id", "target_id", "verdict", "effect"])
        cells = workspace.store.rows("cells", ["cell_id", "status"])
    by_pair = {frozenset(row[:2]): row[2:] for row in said.iter_rows()}
    alive = dict(cells.iter_rows())
    table = []
    for pair in pairs:
        both = (pair.older["cell_id"], pair.newer["cell_id"])
        verdict, effect = by_pair.get(frozenset(both), ("keep", "none"))
        lost = [cell_id for cell_id in both if alive[cell_id] == "superseded"]
        table.append(
            {"id": pair.name, "label": pair.verdict, "verdict": verdict, "effect": effect, "lost": len(lost)}
        )
    changing = [row for row in table if row["label"] in CHANGING]
    called = [row for row in table if row["verdict"] in RETIRING and row["label"] != "unclear"]
    right = [row for row in changing if row["verdict"] in RETIRING]
    exact = [row for row in changing if row["verdict"] == row["label"]]
    compatible = [row for row in table if row["label"] == "compatible"]
    return {
        "recall": len(right) / len(changing) if changing else None,
        "recall_exact": len(exact) / len(changing) if changing else None,
        "precision": len(right) / len(called) if called else None,
        "compatible_losing_a_memory": [row["id"] for row in compatible if row["lost"]],
        "wrong": [row for row in table if (row["label"] in CHANGING) != (row["verdict"] in RETIRING)],
        "by_effect": dict(
            pl.DataFrame(table)
            .group_by("label", "effect")
            .len()
            .select(pl.format("{}: {}", "label", "effect").alias("name"), "len")
            .sort("name")
            .iter_rows()
        ),
        "calls": report.ledger.total.call_count,
        "tokens": report.ledger.total.input_tokens + report.ledger.total.output_tokens,
        "rejected": report.rejected,
    }


def use_home(folder: Path, *, has_model: bool) -> None:
    """The embedded embedder whatever servers the machine has; settings of a model stay where one is asked for."""
    hide_settings(keep="SLOWWAVE_LLM__" if has_model else "")
    os.environ |= {"SLOWWAVE_EMBEDDING__PROVIDER": "wordllama", "PREFECT_HOME": str(folder / "prefect")}


def show(found: Row) -> None:
    """The figures as tables."""
    console = Console(highlight=False)
    table = Table("label", "pairs", "proposed", f"among {found['k']} by cosine alone")
    for name, row in found["recall"].items():
        other = found["cosine_recall"][name]
        if row["recall"] is not None:
            table.add_row(name, str(row["pairs"]), f"{row['recall']:.1%}", f"{other['recall']:.1%}")
    console.print(table)
    console.print(f"ranks of the changing pairs by cosine alone: {found['cosine_ranks']}")
    console.print(
        f"{found['proposed']} pairs proposed among {found['memories']} memories, embedder {found['embedder']}; "
        f"missed: {found['missed'] or 'none'}"
    )
    for name, value in found.get("verdicts", {}).items():
        console.print(f"{name}: {value}", markup=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="labelled pairs, one JSON object a line")
    parser.add_argument(
        "--distractors", type=Path, help="a question set whose memories lie in the same store"
    )
    parser.add_argument(
        "--named", action="store_true", help="give the memories the labels' subject, attribute and value"
    )
    parser.add_argument(
        "--verdicts", action="store_true", help="run the stage with the configured model, named"
    )
    parser.add_argument("--folder", type=Path, help="keep the home here; it must be empty")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="slowwave-pairs-") as temporary:
        folder: Path = (options.folder or Path(temporary)) / "home"
        use_home(folder, has_model=options.verdicts)
        try:
            from slowwave.home.workspace import open_workspace

            pairs = read_pairs(options.file, is_named=options.named or options.verdicts)
            others = distractors(options.distractors) if options.distractors else []
            with open_workspace(folder) as workspace:
                fill(workspace, pairs, others)
                found = measure_candidates(workspace, pairs)
            if options.verdicts:
                found["verdicts"] = measure_verdicts(folder, pairs)
        except SlowwaveError as error:
            print(error, file=sys.stderr)
            return error.exit_code
    if options.json:
        print(json.dumps(found))
    else:
        show(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
