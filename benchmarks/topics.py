"""How well topics are found: `python benchmarks/topics.py [--data FILE] [--json]`.

With `--groups` the topics of real memories are held against a reader's groups instead (`benchmarks/topic_groups.py`).

On labelled short texts (CLINC150: 150 intents in 10 domains) it measures, for each embedder that is
reachable, B-cubed precision, recall and F1 and normalised mutual information, against intents and against
domains: by the whole batch and in nightly portions, next to KMeans with the true number of intents, and to the
best threshold that a sweep with the labels finds.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from slowwave.errors import SlowwaveError
from slowwave.home.vector_space import FIT_COMPONENTS
from slowwave.home.vectors import centroids
from slowwave.language.intents import EXEMPLARS
from slowwave.models.embed.choice import open_embedder
from slowwave.models.embed.profiles import centred_profile
from slowwave.models.embed.protocol import Embedder
from slowwave.models.embed.relevance import measured_relevance
from slowwave.models.embed.space import (
    CentredEmbedder,
    encode_directions,
    fit_directions,
    space_id_of,
    unit_without_common,
)
from slowwave.settings.groups import EmbeddingSettings
from tasks.cluster.by_vector import assign_topics, find_threshold

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "topics" / "clinc150_val.csv"
OWNER = {"user_id": "u", "project_id": "p", "scope": "user-private"}
PORTION = 300
SEED = 20_261_120

Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Quality:
    """How a grouping agrees with the truth, all 0..1."""

    precision: float
    recall: float
    f1: float
    nmi: float


@dataclass(frozen=True)
class Line:
    """One way of grouping, measured."""

    embedder: str
    way: str
    threshold: float | None
    topics: int
    intents: Quality
    domains: Quality


def quality(found: Labels, truth: Labels) -> Quality:
    """B-cubed and normalised mutual information (arithmetic mean) of one grouping."""
    from sklearn.metrics import normalized_mutual_info_score

    table = np.zeros((found.max() + 1, truth.max() + 1))
    np.add.at(table, (found, truth), 1)
    square = table**2
    precision = float((square / table.sum(axis=1, keepdims=True).clip(1)).sum() / len(found))
    recall = float((square / table.sum(axis=0, keepdims=True).clip(1)).sum() / len(found))
    f1 = 2 * precision * recall / (precision + recall)
    return Quality(precision, recall, f1, float(normalized_mutual_info_score(truth, found)))


def coded(values: pl.Series) -> Labels:
    """Labels as whole numbers from 0."""
    return values.rank("dense").to_numpy().astype(np.intp) - 1


class Measured:
    """The texts and their truth, and the lines measured so far."""

    def __init__(self, data: pl.DataFrame) -> None:
        self.texts = data["text"].to_list()
        self.intents, self.domains = coded(data["intent"]), coded(data["domain"])
        self.cells = data.select(
            pl.format("c{}", pl.int_range(pl.len()).cast(pl.String).str.zfill(6)).alias("cell_id"),
            *(pl.lit(value).alias(name) for name, value in OWNER.items()),
            pl.lit("").alias("hint"),
        )
        self.lines: list[Line] = []
        self.notes: list[str] = []

    def add(self, embedder: str, way: str, threshold: float | None, topic_of: pl.DataFrame) -> Line:
        """Measure an assignment (cell_id, topic_id); a cell that is missing from it is its own topic."""
        filed = self.cells.join(topic_of, on="cell_id", how="left", maintain_order="left")
        found = coded(filed.select(pl.coalesce("topic_id", "cell_id")).to_series())
        line = Line(
            embedder,
            way,
            threshold,
            int(found.max()) + 1,
            quality(found, self.intents),
            quality(found, self.domains),
        )
        self.lines.append(line)
        return line


def shuffled_portions(cells: pl.DataFrame) -> list[pl.DataFrame]:
    """Nights: the cells in a fixed random order, `PORTION` at a time."""
    order = np.random.default_rng(SEED).permutation(cells.height)
    return [cells[order[at : at + PORTION]] for at in range(0, cells.height, PORTION)]


def topics_of(filed: pl.DataFrame) -> pl.DataFrame:
    """Topics as the store would hold them, from the cells filed so far."""
    return centroids(filed).with_columns(pl.lit(value).alias(name) for name, value in OWNER.items())


def by_night(cells: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """The incremental way: each night joins and opens topics, given those of the nights before."""
    filed = cells.clear().with_columns(pl.lit("").alias("topic_id"))
    for portion in shuffled_portions(cells):
        known = topics_of(filed)
        answer = assign_topics(portion, known, threshold=threshold, taken=known["topic_id"])
        filed = pl.concat([filed, portion.join(answer.select("cell_id", "topic_id"), on="cell_id")])
    return filed.select("cell_id", "topic_id")


def measure_embedder(measured: Measured, embedder: Embedder) -> None:
    """All ways with vectors."""
    from sklearn.cluster import KMeans

    name, threshold = embedder.embedder_id, find_threshold(embedder)
    assert threshold is not None
    embedded = embedder.embed_documents(measured.texts)
    cells = measured.cells.with_columns(
        pl.Series("vector", embedded.vectors, dtype=pl.Array(pl.Float32, embedder.dims))
    )
    none = cells.clear().select(pl.col("cell_id").alias("topic_id"), *OWNER, "vector")

    def batch(threshold: float) -> pl.DataFrame:
        return assign_topics(cells, none, threshold=threshold, taken=())

    noise = embedder.relevance
    measured.notes.append(
        f"{name}: noise {noise.noise_mean:.3f}, deviation {noise.noise_std:.3f}; "
        f"{len(embedded.failures)} texts without a vector"
    )
    measured.add(name, "batch", threshold, batch(threshold))
    measured.add(name, "nights", threshold, by_night(cells, threshold))
    usable = np.isfinite(embedded.vectors).all(axis=1)
    count = int(measured.intents.max()) + 1
    told = KMeans(count, n_init=3, random_state=0).fit_predict(embedded.vectors[usable])
    grouped = cells.filter(pl.Series(usable)).select("cell_id", topic_id=pl.Series(told).cast(pl.String))
    measured.add(name, f"KMeans told {count}", None, grouped)
    grid = np.round(np.arange(0.2, 0.6, 0.03), 2).tolist()
    best(measured, name, "batch, best of sweep", grid, batch)
    best(measured, name, "nights, best of sweep", grid, lambda threshold: by_night(cells, threshold))


def best(
    measured: Measured, name: str, way: str, grid: Sequence[float], group: Callable[[float], pl.DataFrame]
) -> None:
    """Keep the line of the threshold with the best F1 against intents."""
    start = len(measured.lines)
    for threshold in grid:
        measured.add(name, way, threshold, group(threshold))
    measured.lines[start:] = [max(measured.lines[start:], key=lambda line: line.intents.f1)]


def centred(embedder: Embedder, texts: Sequence[str]) -> Embedder:
    """The embedder without the common directions of these texts, as a home of them has it."""
    made = embedder.embed_documents(texts).vectors
    directions = fit_directions(made, components=FIT_COMPONENTS)
    name = space_id_of(embedder.embedder_id, encode_directions(directions))
    questions = embedder.embed_queries([text for texts in EXEMPLARS.values() for text in texts]).vectors
    asked, stored = (unit_without_common(rows, directions)[0] for rows in (questions, made))
    noise = measured_relevance(asked, stored)
    return CentredEmbedder(name, centred_profile(embedder.profile), noise, embedder, directions)


def reachable(measured: Measured, folder: Path | None) -> list[Embedder]:
    """The embedders that answer, and again those that homes centre; why others are missing goes to the notes.

    `folder` is that of an ONNX model, or null.
    """
    found = []
    asked = [
        EmbeddingSettings(provider="wordllama"),
        EmbeddingSettings(provider="onnx", folder=folder),
        EmbeddingSettings(provider="ollama", transport_retries=0),
        EmbeddingSettings(provider="openai", model="text-embedding-3-small", transport_retries=0),
    ]
    for settings in asked:
        try:
            embedder, _ = open_embedder(settings)
            if embedder is not None:
                embedder.embed_query("is anyone there")
                found.append(embedder)
                found.append(centred(embedder, measured.texts))
        except SlowwaveError as error:
            measured.notes.append(f"{settings.provider}: not measured ({error})")
    return found


def table(measured: Measured) -> str:
    """The lines as text, intents first."""
    head = f"{'embedder':<30} {'way':<30} {'cut':>5} {'topics':>6} | {'P':>5} {'R':>5} {'F1':>5} {'NMI':>5} |"
    rows = [f"{'':<74} | {'intents':<23} | domains", f"{head} {'P':>5} {'R':>5} {'F1':>5} {'NMI':>5}"]
    for line in measured.lines:
        cut = "" if line.threshold is None else f"{line.threshold:.2f}"
        scores = " | ".join(
            f"{part.precision:5.3f} {part.recall:5.3f} {part.f1:5.3f} {part.nmi:5.3f}"
            for part in (line.intents, line.domains)
        )
        rows.append(f"{line.embedder:<30} {line.way:<30} {cut:>5} {line.topics:>6} | {scores}")
    return "\n".join([*rows, *measured.notes])


def measure_reader(options: argparse.Namespace) -> int:
    """Measure the topics of a home, or those made of hints, against a reader's groups, and print."""
    from benchmarks.topic_groups import filed_cells, filed_hints, measure_groups, topics_told

    if (options.home is None) == (options.hints is None):
        print("--groups needs either --home HOME or --hints FILE.", file=sys.stderr)
        return 1
    filed = filed_cells(options.home) if options.home else filed_hints(pl.read_csv(options.hints))
    found = measure_groups(filed, pl.read_csv(options.groups))
    print(json.dumps(asdict(found)) if options.json else f"{topics_told(filed)}\n{found}")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA, help="CSV with text, intent and domain")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--embedder-folder", type=Path, help="measure the ONNX model in this folder as well")
    parser.add_argument("--groups", type=Path, help="CSV with a reader's group of each cell_id or text")
    parser.add_argument("--home", type=Path, help="with --groups: the home whose topics are measured")
    parser.add_argument(
        "--hints", type=Path, help="with --groups: CSV with text and hint to cluster and measure"
    )
    options = parser.parse_args(arguments)
    if options.groups:
        return measure_reader(options)
    if not options.data.is_file():
        print(
            f"{options.data} is not there: give CLINC150's validation texts with --data FILE.",
            file=sys.stderr,
        )
        return 1
    measured = Measured(pl.read_csv(options.data))
    for embedder in reachable(measured, options.embedder_folder):
        measure_embedder(measured, embedder)
    if options.json:
        lines = [asdict(line) for line in measured.lines]
        print(json.dumps({"texts": len(measured.texts), "lines": lines, "notes": measured.notes}))
    else:
        print(table(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
