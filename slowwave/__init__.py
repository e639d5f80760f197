"""Slowwave: long-term memory for AI agents, recorded by day and consolidated by night."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slowwave.memory import Memory

__all__ = ["Memory"]


def __getattr__(name: str) -> object:
    """`Memory`, imported when it is first asked for: `import slowwave` alone stays light (PEP 562).

    Raises:
        AttributeError: there is no such name.
    """
    if name == "Memory":
        from slowwave.memory import Memory

        return Memory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Names of the package, with those that are imported later."""
    return sorted({*globals(), *__all__})
