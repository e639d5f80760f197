"""Actions on a derivation beside deriving: tell its cost, show its difference, switch to it, drop it."""

from slowwave.rederive.derive import drop, foresee, show
from slowwave.rederive.switch import switch
from slowwave.schemas.derivation import Derivation, RederiveAction


def act(home: str, action: RederiveAction, *, dry_run: bool) -> Derivation:
    """The difference, the switch, the drop; for `derive` only what it would cost.

    Raises:
        NotFoundError: there is no derivation, or nothing to derive from.
        InputError: the derivation cannot take the memory's place yet.
        BusyError: a run works on it.
        ConfigError: there is no language model to derive with.
    """
    if action == "switch":
        return switch(home, dry_run=dry_run)
    if action == "drop":
        return drop(home, dry_run=dry_run)
    return show(home) if action == "show" else foresee(home)
