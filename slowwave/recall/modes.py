"""The differences between the forms of an answer, as rows of data: weights of lists, cuts and bounds."""

from dataclasses import dataclass

from slowwave.schemas.search import Intent

KIND: dict[Intent, dict[str, float]] = {
    "what": {"decision": 1.1, "fact": 1.05, "preference": 1.05, "insight": 0.95, "risk": 0.95, "code_ref": 0.9,
             "task": 0.9, "episode": 0.75},
    "general": {"decision": 1.1, "fact": 1.05, "preference": 1.05, "code_ref": 0.95, "task": 0.92, "episode": 0.8},
    "when": {"task": 1.07, "decision": 1.07, "episode": 0.9},
    "who": {"code_ref": 0.95, "episode": 0.8},
    "why": {"decision": 1.1, "insight": 1.1, "risk": 1.05, "code_ref": 0.9, "episode": 0.75},
}  # fmt: skip
"""How well a type of memory answers an intent; 1 where nothing is said."""


@dataclass(frozen=True)
class Mode:
    """The weights and cuts of one form of an answer.

    `text`, `vector` and `evidence` weigh the lists, `period` is added to what is of the time that is named. Nothing
    is known where coverage and strength of the best add up to less than `known`; what is below `cut` of the best is
    left out. `turns` weighs messages beside memories. So many memories a list, and messages
    in all, are looked at, whatever the limit of the answer.
    """

    text: float = 0.6
    vector: float = 0.5
    evidence: float = 0.6
    period: float = 0.5
    cut: float = 0.5
    known: float = 0.7
    turns: float = 0.7
    has_raw: bool = False
    fills: bool = False
    most_cells: int = 60
    most_said: int = 20


SEARCH = Mode(has_raw=True)
PAGE = Mode(cut=0.0, known=0.6, fills=True, most_cells=100, most_said=60)
SMALL = Mode(cut=0.6, known=0.9)
