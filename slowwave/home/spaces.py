"""The vector space of a home: an embedder without the common directions that a night fitted on the home's own texts.

The fits are rows of `spaces`, folded from the journal, so that a rebuilt store has the same vectors.
"""

import polars as pl

from slowwave.home.paths import Home
from slowwave.models.embed.profiles import Profile, centred_profile
from slowwave.models.embed.protocol import Embedder
from slowwave.models.embed.relevance import Relevance, guessed_relevance
from slowwave.models.embed.space import CentredEmbedder, base_id_of, decode_directions
from slowwave.store import Store, col, lit


def newest_fit(store: Store, base: Embedder) -> dict[str, object] | None:
    """The row of `spaces` with the last fit of this embedder's vectors; None before the first one."""
    fits = store.rows("spaces", where=col("base_embedder_id") == lit(base.embedder_id))
    newest = fits.sort("fitted_at", "space_id").tail(1)
    return newest.row(0, named=True) if newest.height else None


def wanted_space(home: Home, store: Store, base: Embedder) -> Embedder:
    """The embedder in the space that the store's vectors should be of: with its newest fit, where there is one."""
    newest = newest_fit(store, base)
    return base if newest is None else _centred(home, base, newest)


def stored_space(home: Home, store: Store, base: Embedder) -> Embedder | None:
    """The embedder in the space that the store's vectors are of; None where the store lacks the fit of that name."""
    space_id = store.meta.embedder_id
    if space_id == base_id_of(space_id):
        return base
    fits: pl.DataFrame = store.by_key("spaces", [space_id])
    return _centred(home, base, fits.row(0, named=True)) if fits.height else None


def _centred(home: Home, base: Embedder, fit: dict[str, object]) -> Embedder:
    profile = centred_profile(base.profile)
    directions = decode_directions(str(fit["directions"]), base.dims)
    return CentredEmbedder(str(fit["space_id"]), profile, _relevance(fit, profile), base, directions)


def _relevance(fit: dict[str, object], profile: Profile) -> Relevance:
    """The noise that a fit measured; fits of former versions measured none."""
    mean, std, kin = (fit[name] for name in ("noise_mean", "noise_std", "kin"))
    if mean is None or std is None:
        return guessed_relevance(profile)
    return Relevance(float(str(mean)), float(str(std)), None if kin is None else float(str(kin)))
