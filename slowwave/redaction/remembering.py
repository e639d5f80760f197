"""Memory of what was found out about a value while one text is looked through: each label asks it again."""

from collections.abc import Callable
from functools import lru_cache
from typing import Final, ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")
_MOST: Final = 8192
_forgetting: Final[list[Callable[[], None]]] = []


def remembered(judge: Callable[_Given, _Answer]) -> Callable[_Given, _Answer]:
    """The same function with its answers kept until `forget`."""
    kept = lru_cache(_MOST)(judge)
    _forgetting.append(kept.cache_clear)
    return kept  # type: ignore[return-value]


def forget() -> None:
    """Drop all answers: values may be secrets, and stay in memory no longer than their text."""
    for clear in _forgetting:
        clear()
