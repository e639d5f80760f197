import numpy as np
import polars as pl
import pytest

from slowwave.errors import InputError
from slowwave.models.embed.choice import open_embedder
from slowwave.models.embed.profiles import load_profile
from slowwave.settings.groups import EmbeddingSettings
from slowwave.stages.topics.calibration import MERGE_FLOOR, MIN_VECTORS, calibrate


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def families(seed: int, *, shift: float = 0.0) -> np.ndarray:
    """Forty subjects of eight texts each, optionally with everything pushed into one direction."""
    draw = np.random.default_rng(seed)
    centres = unit(draw.normal(size=(40, 64)))
    rows = unit(np.repeat(centres, 8, axis=0) + unit(draw.normal(size=(320, 64))) * 0.8)
    return unit(rows + shift * np.eye(64)[0])


def test_the_thresholds_lie_between_random_pairs_and_nearest_neighbours_in_order():
    found = calibrate(families(1), sample=500, seed=0)
    assert found.noise < found.topic_threshold < found.near_threshold < found.merge_threshold < 1
    assert found.near_threshold < found.kin
    assert found.split_threshold == pytest.approx(found.topic_threshold**0.5, abs=1e-3)
    assert found.merge_threshold >= MERGE_FLOOR


def test_a_memory_is_not_its_own_nearest_neighbour():
    rows = families(1)
    similarity = rows @ rows.T - 2 * np.eye(len(rows))
    assert calibrate(rows, sample=1_000, seed=0).kin == pytest.approx(
        np.median(similarity.max(axis=1)), abs=1e-3
    )


def test_the_same_vectors_and_seed_give_the_same_thresholds():
    assert calibrate(families(1), sample=100, seed=3) == calibrate(families(1), sample=100, seed=3)


def test_a_sample_comes_near_to_the_whole():
    whole = calibrate(families(2), sample=1_000, seed=0)
    assert calibrate(families(2), sample=150, seed=0).topic_threshold == pytest.approx(
        whole.topic_threshold, abs=0.03
    )


def test_a_space_that_is_pushed_to_one_side_gets_thresholds_that_are_pushed_along():
    plain = calibrate(families(1), sample=500, seed=0)
    shifted = calibrate(families(1, shift=1.2), sample=500, seed=0)
    assert shifted.noise > plain.noise + 0.3
    assert shifted.topic_threshold > shifted.noise
    part = (shifted.topic_threshold - shifted.noise) / (shifted.kin - shifted.noise)
    assert part == pytest.approx((plain.topic_threshold - plain.noise) / (plain.kin - plain.noise), abs=0.01)


def test_failed_rows_do_not_count():
    rows = families(1)
    with_failures = np.vstack([rows, np.full((30, 64), np.nan, np.float32)])
    assert calibrate(with_failures, sample=1_000, seed=0).topic_threshold == pytest.approx(
        calibrate(rows, sample=1_000, seed=0).topic_threshold, abs=1e-4
    )


def test_too_few_memories_keep_the_profile():
    with pytest.raises(InputError, match=str(MIN_VECTORS)):
        calibrate(families(1)[: MIN_VECTORS - 1], sample=500, seed=0)


def test_vectors_that_are_all_alike_cannot_be_calibrated():
    with pytest.raises(InputError, match="no nearer"):
        calibrate(np.tile(unit(np.ones((1, 8))), (100, 1)), sample=500, seed=0)


@pytest.mark.benchmark
def test_on_labelled_texts_the_profile_is_what_the_formula_finds(shared_data):
    path = shared_data / "topics" / "clinc150_val.csv"
    if not path.is_file():
        pytest.skip("CLINC150 is not in the folder shared/data")
    embedder, _ = open_embedder(EmbeddingSettings(provider="wordllama"))
    assert embedder is not None
    vectors = embedder.embed_documents(pl.read_csv(path)["text"].to_list()).vectors
    found = calibrate(vectors, sample=2_000, seed=0)
    profile = load_profile("wordllama")
    for name in ("topic_threshold", "split_threshold", "near_threshold", "merge_threshold"):
        assert getattr(found, name) == pytest.approx(getattr(profile, name), abs=0.02), name


def test_on_labelled_texts_the_threshold_nearly_reaches_the_best_one(shared_data):
    path = shared_data / "topics" / "clinc150_val.csv"
    if not path.is_file():
        pytest.skip("CLINC150 is not in the folder shared/data")
    benchmark = pytest.importorskip("benchmarks.topics")
    pytest.importorskip("sklearn")
    data = pl.read_csv(path)
    measured = benchmark.Measured(data)
    embedder, _ = open_embedder(EmbeddingSettings(provider="wordllama"))
    vectors = embedder.embed_documents(measured.texts).vectors
    cells = measured.cells.with_columns(pl.Series("vector", vectors, dtype=pl.Array(pl.Float32, 256)))
    none = cells.clear().select(pl.col("cell_id").alias("topic_id"), *benchmark.OWNER, "vector")

    def f1(threshold: float) -> float:
        answer = benchmark.assign_topics(cells, none, threshold=threshold)
        return measured.add("wordllama", "batch", threshold, answer).intents.f1

    found = f1(calibrate(vectors, sample=2_000, seed=0).topic_threshold)
    assert found >= 0.95 * max(f1(threshold) for threshold in (0.28, 0.31, 0.34, 0.40, 0.44))
