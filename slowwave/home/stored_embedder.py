"""The embedder that a store's vectors were made with."""

from slowwave.errors import ConfigError, TransientError
from slowwave.home.paths import Home
from slowwave.home.spaces import stored_space
from slowwave.models.embed.choice import open_embedder
from slowwave.models.embed.protocol import Embedder
from slowwave.models.embed.space import base_id_of
from slowwave.store import Store


def embedder_of(home: Home, store: Store) -> tuple[Embedder | None, str]:
    """The embedder that the store's vectors were made with, in their space, or None with the reason.

    Another embedder that is configured or found never writes into this store: `reembed` switches.
    """
    base, note = base_embedder(home, store.meta.embedder_id)
    if base is None:
        return None, note
    embedder = stored_space(home, store, base)
    if embedder is None:
        return (
            None,
            f"the store lacks the fit of its vectors {store.meta.embedder_id}: `slowwave run rebuild` mends it",
        )
    return embedder, note


def base_embedder(home: Home, embedder_id: str) -> tuple[Embedder | None, str]:
    """The embedder of vectors that are named so, without their fit; the store is not needed."""
    configured, stored = home.settings.embedding, base_id_of(embedder_id)
    try:
        embedder, note = open_embedder(configured)
    except TransientError as error:
        embedder, note = None, f"the embedder does not answer ({error})"
    found = embedder.embedder_id if embedder else ""
    if found == stored:
        return embedder, note
    if not stored:
        return None, f"the store holds no vectors; {found} is there: `slowwave run reembed` would use it"
    provider, *model, _, _ = stored.split("/")
    own = configured.model_copy(update={"provider": provider, "model": "/".join(model)})
    if provider != configured.provider:  # address and key belong to the provider that is configured
        own = own.model_copy(update={"base_url": None, "api_key": None})
    try:
        embedder, _ = open_embedder(own)
    except (TransientError, ConfigError) as error:
        return None, f"the store's embedder {stored} does not serve ({error}); full text only"
    if embedder is None or embedder.embedder_id != stored:
        return (
            None,
            f"the store's embedder {stored} cannot be opened again; full text only: "
            "`slowwave run reembed` mends it",
        )
    return embedder, (
        f"embedder {embedder.embedder_id}, as the store's vectors; "
        f"{found or note} is configured or found: `slowwave run reembed` switches"
    )
