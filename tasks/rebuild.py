"""The two long steps of a rebuild as tasks, each with its line in the run's page."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from slowwave.embeddings import Embedder
from slowwave.home.paths import Home
from slowwave.stages import run as plain
from slowwave.store import Store


@task(name="fold-journal", cache_policy=NO_CACHE)
def fold_journal(home: Home, store: Store) -> list[str]:
    """Folds every segment into an empty store; returns the files that were skipped, with the reason."""
    return plain.fold_journal(home, store)


@task(name="embed-all", cache_policy=NO_CACHE)
def embed_all(store: Store, embedder: Embedder | None) -> dict[str, int]:
    """Computes every vector of a store."""
    return plain.embed_all(store, embedder)
