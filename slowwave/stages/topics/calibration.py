"""Thresholds of an embedder from a store's own vectors, without a label.

Similarity scales differ between embedders (unrelated pairs lie near 0 for one and near 0.6 for another) and
between kinds of text, so a threshold is a place between two landmarks that any store shows by itself:

    noise = median similarity of random pairs: what two memories without a common subject score
    kin   = median similarity of a memory to its nearest neighbour: what close relatives score
    threshold = noise + share * (kin - noise)

Both are medians: outliers and a few duplicates do not move them. A shift or stretch of the scale moves the
threshold along. A quantile of random pairs (a bound on false joins) was tried and rejected: in a store with
few topics one random pair in ten is rightly a join, and the bound lands far too high.

`TOPIC_SHARE` was chosen on CLINC150 in 22 cuts (5 to 150 subjects, 2 to 20 texts each, single domains,
skewed sizes) and six vector spaces (WordLlama whole, narrowed, centred and shifted; latent semantic
analysis plain and shifted): F1 lies on average 10 % under the best threshold that labels could find; the 99
% quantile lies 36 % under it. `benchmarks/topics.py` measures it again.
"""

import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from slowwave.errors import InputError
from slowwave.home.paths import Home
from slowwave.models.embed.profiles import (
    THRESHOLDS,
    Profile,
    centred_name,
    centred_profile,
    load_profile,
    write_calibration,
)
from slowwave.models.embed.space import base_id_of
from slowwave.schemas.results import Calibration
from slowwave.stages.topics.topic_clusters import nearest_other
from slowwave.store import col, lit, open_store

SAMPLE = 2_000
TOPIC_SHARE = 0.45
NEAR_SHARE = 0.77
MERGE_SHARE = 0.85

MERGE_FLOOR = 0.66
"""Lowest merge threshold: just over the cosine that the parts of a split can have (`topics.MIN_GAIN`)."""

MIN_VECTORS = 50
"""Under this, medians of neighbours say little."""

MIN_CONTRAST = 0.02
"""`kin - noise` under this: the vectors do not tell anything apart."""


@dataclass(frozen=True)
class Thresholds:
    """Cosines, with the landmarks that they were computed from."""

    topic_threshold: float
    split_threshold: float
    near_threshold: float
    merge_threshold: float
    noise: float
    kin: float


def calibrate(vectors: NDArray[np.float32], *, sample: int, seed: int) -> Thresholds:
    """Thresholds for the space that these vectors lie in.

    `vectors` is (n, dims), L2-normalised; rows of NaN are left out. `sample` rows are looked at, against
    all rows for their nearest neighbour and against each other for random pairs. How relevant a memory is
    to a question cannot be read from memories alone: no threshold for it is returned.

    Raises:
        InputError: fewer than `MIN_VECTORS` usable rows, or nothing is nearer than anything else.
    """
    usable = vectors[np.isfinite(vectors).all(axis=1)]
    if len(usable) < MIN_VECTORS:
        raise InputError(
            f"calibration needs at least {MIN_VECTORS} memories with a vector, and there are {len(usable)}: "
            "keep the profile's thresholds until there are more."
        )
    rows = np.sort(np.random.default_rng(seed).permutation(len(usable))[:sample])
    looked_at = usable[rows]
    pairs = (looked_at @ looked_at.T)[np.triu_indices(len(rows), 1)]
    noise, kin = float(np.median(pairs)), float(np.median(nearest_other(usable, rows)[1]))
    if kin - noise < MIN_CONTRAST:
        raise InputError(
            f"these vectors cannot be calibrated: a memory's nearest neighbour ({kin:.2f}) is no nearer than "
            f"any other ({noise:.2f})."
        )
    topic, near, merge = (
        round(noise + share * (kin - noise), 4) for share in (TOPIC_SHARE, NEAR_SHARE, MERGE_SHARE)
    )
    return Thresholds(
        topic_threshold=topic,
        split_threshold=round(math.sqrt(max(topic, 0.0)), 4),
        near_threshold=near,
        merge_threshold=max(merge, MERGE_FLOOR),
        noise=round(noise, 4),
        kin=round(kin, 4),
    )


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
    measured = asdict(calibrate(matrix, sample=SAMPLE, seed=0))
    thresholds = {name: value for name, value in measured.items() if name in THRESHOLDS}
    model, profile = _profile_of(home, store.meta.embedder_id)
    before = profile.model_dump(include=set(thresholds))
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


def _profile_of(home: Home, space_id: str) -> tuple[str, Profile]:
    """The name under which thresholds of a space stand, and its profile."""
    provider, *name, _, _ = base_id_of(space_id).split("/")  # provider/model/dims/prefix version
    model = provider if provider == "wordllama" else "/".join(name)
    profile = load_profile(model, home.calibration_path)
    if space_id == base_id_of(space_id):
        return model, profile
    return centred_name(model), centred_profile(profile, home.calibration_path)
