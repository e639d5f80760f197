"""Vectors in memory: nearest ones by one exact pass, or in a large table by a short sketch first.

A sketch is a vector's part along the few directions in which the table's vectors differ most. It costs a sixth of an
exact pass; the best rows by their sketches are then compared whole.

A pass is `np.vecdot`, one product after the other in the asking thread. A product of a matrix and a vector by OpenBLAS
takes no less time, and wakes its threads, which then wait in a loop: with two cores one pass of 1 ms cost 20 ms of CPU.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Places = NDArray[np.intp]
Mask = NDArray[np.bool_]

SKETCH_PART = 6
"""A sketch has this part of the dimensions."""

LEAST_SKETCH = 128

SAMPLE_ROWS = 20_000
"""Rows, evenly spaced, that tell in which directions vectors differ."""

COMPARED_WHOLE, COMPARED_FOR_EACH = 500, 5
"""Rows that are compared whole: so many at least, and so many for each that is wanted."""


@dataclass(frozen=True)
class MemoryVectors:
    """Unit vectors by row, (rows, dims), zero where a row has none.

    With a sketch `whole` is of half precision, since it only orders what the sketch has chosen.
    """

    whole: NDArray[np.float32] | NDArray[np.float16]
    is_there: Mask
    axes: Floats | None = None
    sketches: Floats | None = None

    def first_look(self, vector: Floats) -> Floats:
        """Cosine of a vector with every row, or what the sketches say of it."""
        unit = _unit(vector)
        if self.sketches is None or self.axes is None:
            return _products(self.whole, unit)
        return _products(self.sketches, _products(self.axes.T, unit))

    def nearest(self, vector: Floats, first_look: Floats, k: int, mask: Mask) -> tuple[Places, Floats]:
        """Places and cosine (-1..1) of the `k` nearest rows of a mask, best first, ties by place."""
        wanted = mask & self.is_there
        if self.sketches is None:
            return best(first_look, wanted, k)
        likely, _ = best(first_look, wanted, max(COMPARED_WHOLE, COMPARED_FOR_EACH * k))
        likely.sort()
        places, values = best(_products(self.whole[likely], _unit(vector)), np.ones(likely.size, bool), k)
        return likely[places], values

    def cosines(self, vector: Floats, places: Places) -> Floats:
        """Cosine of a vector with some rows, exact; 0 for rows without one."""
        return _products(self.whole[places], _unit(vector))


def memory_vectors(vectors: Floats, *, exact_rows: int | None = None) -> MemoryVectors:
    """Vectors of a table, as stored; zero rows have none. From `exact_rows` on with a sketch."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    is_there = lengths[:, 0] > 0
    lengths[lengths == 0] = 1.0
    unit = (vectors / lengths).astype(np.float32)
    dims = unit.shape[1]
    if exact_rows is None or len(unit) < exact_rows or dims <= LEAST_SKETCH:
        return MemoryVectors(unit, is_there)
    axes = _axes(unit[is_there], max(dims // SKETCH_PART, LEAST_SKETCH))
    return MemoryVectors(unit.astype(np.float16), is_there, axes, unit @ axes)


def best(values: NDArray[Any], wanted: Mask, k: int) -> tuple[Places, NDArray[Any]]:
    """Places and values of the `k` highest values of a mask, best first, ties by place."""
    found = np.flatnonzero(wanted)
    scores = values[found]
    if found.size > k:
        least = np.partition(scores, found.size - k)[found.size - k]
        found, scores = found[scores >= least], scores[scores >= least]
    order = np.argsort(-scores, kind="stable")[:k]
    return found[order], scores[order]


def _products(rows: NDArray[np.float32] | NDArray[np.float16], vector: Floats) -> Floats:
    found: Floats = np.vecdot(rows.astype(np.float32, copy=False), vector)
    return found


def _unit(vector: Floats) -> Floats:
    return (vector / (float(np.linalg.norm(vector)) or 1.0)).astype(np.float32)


def _axes(unit: Floats, count: int) -> Floats:
    """The `count` directions, (dims, count), along which the vectors' products are largest: principal axes."""
    sample = unit[:: max(len(unit) // SAMPLE_ROWS, 1)]
    _, directions = np.linalg.eigh(sample.T @ sample)
    axes: Floats = np.ascontiguousarray(directions[:, -count:], dtype=np.float32)
    return axes
