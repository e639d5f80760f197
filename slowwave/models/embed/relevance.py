"""The scale of similarity in one vector space, from the noise of unrelated texts there, measured at each fit.

Cosines of different models and homes cannot be compared, and the best of many unrelated memories scores more than the
best of few. Only noise is measured, on questions that nobody asked the home: its own questions are not known at a fit,
and pairs of its memories share names and subjects.
"""

from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from slowwave.models.embed.profiles import Profile

Vectors = NDArray[np.float32]

CERTAINTY = 0.8
"""Share of unanswerable questions whose best memory stays below `noise_best`."""

TAIL = 1.1
"""The noise's tail against a normal one: 20 unanswerable questions, three models, homes of 6 to 600 memories."""

RELEVANT_STDS = 2.5
"""Standard deviations of noise from which one memory is relevant: 1 % of unrelated ones reach it."""

GUESSED_STD = 0.08
"""Noise of WordLlama and all-MiniLM after centring: where nothing was measured."""

LEAST_STD = 0.01

KIN_SAMPLE = 2_000


@dataclass(frozen=True)
class Relevance:
    """The noise of a vector space: mean and standard deviation of the cosines of questions and unrelated memories.

    `kin` is the median cosine of a memory and the turns that it rests on (nearest texts where there are no such
    turns); null where no fit measured it.
    """

    noise_mean: float
    noise_std: float
    kin: float | None = None

    def noise_best(self, n: int) -> float:
        """Cosine that the best of `n` unrelated memories stays below, for `CERTAINTY` of questions."""
        return self.noise_mean + TAIL * self.noise_std * _normal_best(max(n, 1))

    def strength(self, cosine: float, n: int) -> float:
        """Similarity on a scale that all models and sizes share, 0..1.

        0 is the mean of unrelated memories, 0.5 the best of `n` of them (`noise_best`), 1 twice as far from the mean.
        """
        ceiling = self.noise_best(n) - self.noise_mean
        return min(max((cosine - self.noise_mean) / (2 * ceiling), 0.0), 1.0)


@lru_cache(maxsize=64)  # a question asks it for each of its texts
def _normal_best(n: int) -> float:
    """The value that the best of `n` standard normal draws stays below, with `CERTAINTY`."""
    return NormalDist().inv_cdf(CERTAINTY ** (1 / n))


def measured_relevance(questions: Vectors, texts: Vectors, *, kin: float | None = None) -> Relevance:
    """The noise between questions that the texts do not answer (m, dims) and a home's texts (n, dims).

    Rows of NaN are left out. `kin` of null is measured as the median cosine of a text and its nearest other.
    """
    asked, known = (rows[np.isfinite(rows).all(axis=1)] for rows in (questions, texts))
    noise = asked @ known.T
    if kin is None:
        kin = _nearest_other(known[:: -(-len(known) // KIN_SAMPLE)])
    return Relevance(float(noise.mean()), max(float(noise.std()), LEAST_STD), kin)


def guessed_relevance(profile: Profile) -> Relevance:
    """The noise of a space that no fit measured, from the profile's guess of what is relevant."""
    return Relevance(profile.relevance_threshold - RELEVANT_STDS * GUESSED_STD, GUESSED_STD)


def _nearest_other(vectors: Vectors) -> float:
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1.0)
    return float(np.median(cosines.max(axis=1)))
