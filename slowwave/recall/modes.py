"""The differences between the forms of an answer, as rows of data: weights, cuts and bounds."""

from dataclasses import dataclass

KIND = {"decision": 1.1, "task": 0.9, "code_ref": 0.9, "episode": 0.8}
"""How well a type of memory answers, whatever is asked; 1 where nothing is said."""

IN_PERIOD = 3.0
"""Weight of what is of the time that a question names: about what another type, shape and property take together."""


@dataclass(frozen=True)
class Mode:
    """The weights and cuts of one form of an answer.

    Nothing is known where coverage and strength of the best add up to less than `known`; what is below `cut` of the
    best is left out. `turns` weighs messages beside memories. So many memories a list, and messages in all, are looked
    at, whatever the limit of the answer.
    """

    cut: float = 0.4
    known: float = 0.7
    turns: float = 0.8
    has_raw: bool = False
    fills: bool = False
    most_cells: int = 60
    most_said: int = 20


SEARCH = Mode(has_raw=True)
PAGE = Mode(cut=0.0, known=0.52, fills=True, most_cells=100, most_said=60)
SMALL = Mode(cut=0.5, known=0.75)
