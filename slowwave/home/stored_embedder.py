"""The embedder that a store's vectors were made with, in the vector space of the home.

A space is an embedder without the common directions that a night fitted on the home's own texts
(`slowwave/home/vector_space.py`). The fits are rows of `spaces`, folded from the journal, so that a rebuilt store has
the same vectors.
"""

import polars as pl

from slowwave.errors import ConfigError, TransientError
from slowwave.home.paths import Home
from slowwave.models.embed.choice import open_embedder
from slowwave.models.embed.profiles import Profile, centred_profile
from slowwave.models.embed.protocol import Embedder
from slowwave.models.embed.relevance import Relevance, guessed_relevance
from slowwave.models.embed.space import CentredEmbedder, base_id_of, decode_directions
from slowwave.store import Store, col, lit


def embedder_of(home: Home, store: Store) -> tuple[Embedder | None, str]:
    """The embedder that the store's vectors were made with, in their space, or None with the reason.

    Another embedder that is configured or found never writes into this store: `reembed` switches.
    """
    space_id = store.meta.embedder_id
    base, note = base_embedder(home, space_id)
    if base is None or space_id == base_id_of(space_id):
        return base, note
    fits: pl.DataFrame = store.by_key("spaces", [space_id])
    if fits.is_empty():
        return None, f"the store lacks the fit of its vectors {space_id}: `slowwave run rebuild` mends it"
    return _centred(base, fits.row(0, named=True)), note


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


def newest_fit(store: Store, base: Embedder) -> dict[str, object] | None:
    """The row of `spaces` with the last fit of this embedder's vectors; None before the first one."""
    fits = store.rows("spaces", where=col("base_embedder_id") == lit(base.embedder_id))
    newest = fits.sort("fitted_at", "space_id").tail(1)
    return newest.row(0, named=True) if newest.height else None


def wanted_space(store: Store, base: Embedder) -> Embedder:
    """The embedder in the space that the store's vectors should be of: with its newest fit, where there is one."""
    newest = newest_fit(store, base)
    return base if newest is None else _centred(base, newest)


def _centred(base: Embedder, fit: dict[str, object]) -> Embedder:
    profile = centred_profile(base.profile)
    directions = decode_directions(str(fit["directions"]), base.dims)
    return CentredEmbedder(str(fit["space_id"]), profile, _relevance(fit, profile), base, directions)


def _relevance(fit: dict[str, object], profile: Profile) -> Relevance:
    """The noise that a fit measured; fits of former versions measured none."""
    mean, std, kin = (fit[name] for name in ("noise_mean", "noise_std", "kin"))
    if mean is None or std is None:
        return guessed_relevance(profile)
    return Relevance(float(str(mean)), float(str(std)), None if kin is None else float(str(kin)))
