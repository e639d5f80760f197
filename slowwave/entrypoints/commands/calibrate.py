"""`slowwave calibrate`: the thresholds of the store's embedder, measured on the store's own memories."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict

from slowwave.embeddings import THRESHOLDS, load_profile, write_calibration
from slowwave.entrypoints.show.terminal import flat, number, results, table
from slowwave.errors import InputError
from slowwave.home.paths import Home
from slowwave.stages.topics.calibration import calibrate
from slowwave.store import col, lit, open_store


class Calibration(BaseModel):
    """What was measured. `before` and `thresholds` are cosines by name; `path` is null in a dry run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    memory_count: int
    before: dict[str, float]
    thresholds: dict[str, float]
    noise: float
    kin: float
    path: Path | None


def calibrate_home(home: Home, *, sample: int, seed: int, dry_run: bool) -> Calibration:
    """Thresholds from the vectors of active cells, kept in the home unless it is a dry run.

    Raises:
        NotFoundError: there is no store yet.
        InputError: the store has no vectors, or too few to measure on.
    """
    store = open_store(home.store_root)
    if not store.meta.embedder_id:
        raise InputError("the store holds no vectors, so there is nothing to measure. Set an embedder first.")
    cells = store.rows("cells", ["cell_id"], col("status") == lit("active"))["cell_id"]
    vectors = store.vectors("cells", cells)["vector"]
    matrix = vectors.to_numpy() if len(vectors) else np.empty((0, store.meta.dims), dtype=np.float32)
    measured = asdict(calibrate(matrix, sample=sample, seed=seed))
    thresholds = {name: value for name, value in measured.items() if name in THRESHOLDS}
    model = _profile_name(store.meta.embedder_id)
    before = load_profile(model, home.calibration_path).model_dump(include=set(thresholds))
    if not dry_run:
        write_calibration(home.calibration_path, model, thresholds)
    return Calibration(
        model=model,
        memory_count=len(vectors),
        before=before,
        thresholds=thresholds,
        noise=measured["noise"],
        kin=measured["kin"],
        path=None if dry_run else home.calibration_path,
    )


def _profile_name(embedder_id: str) -> str:
    """The profile's name in `provider/model/dims/prefix version`; WordLlama's profile has its own name."""
    provider, *model, _, _ = embedder_id.split("/")
    return provider if provider == "wordllama" else "/".join(model)


def show_calibration(found: Calibration) -> None:
    """The thresholds before and now."""
    console = results()
    console.print(f"{found.memory_count} memories, embedded with {flat(found.model)}", soft_wrap=True)
    console.print(f"unrelated pairs score {found.noise:.2f}, close relatives {found.kin:.2f}")
    made = table("threshold", number("before"), number("now"))
    for name, value in sorted(found.thresholds.items()):
        made.add_row(name, f"{found.before[name]:.4f}", f"{value:.4f}")
    console.print(made)
    kept = "A dry run: nothing was written." if found.path is None else f"Kept in {found.path}."
    console.print(flat(kept), soft_wrap=True)
