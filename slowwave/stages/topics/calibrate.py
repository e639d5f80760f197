"""`calibrate`: measures the thresholds of the store's embedder on the store's own memories."""

from dataclasses import asdict

import numpy as np

from slowwave.embeddings import THRESHOLDS, load_profile, write_calibration
from slowwave.errors import InputError
from slowwave.home.paths import Home
from slowwave.schemas.results import Calibration
from slowwave.stages.topics.calibration import calibrate
from slowwave.store import col, lit, open_store

SAMPLE = 2_000
SEED = 0


def calibrate_home(home: Home, *, dry_run: bool) -> Calibration:
    """Measure thresholds on the vectors of active cells, and keep them in the home unless it is a dry run.

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
    measured = asdict(calibrate(matrix, sample=SAMPLE, seed=SEED))
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
