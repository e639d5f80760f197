"""Embedding of what has no vector yet, as one task a run."""

from tasks.step import StageRun, step


@step
def embed_missing(run: StageRun) -> None:
    """Embeds what lacks a vector; an embedder that is away leaves it for the next run, and the report says so."""
    run.refresh_vectors()
