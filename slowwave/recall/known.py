"""Memories that are wanted whatever their words: by a condition on rows, resolved like those that a question finds."""

from slowwave.recall.conditions import cell_condition
from slowwave.recall.gather import CELL_COLUMNS, gather_rows
from slowwave.recall.question import Question
from slowwave.recall.resolve import Unit, resolve
from slowwave.store import Expr, FirstQuery, Row, RowsQuery

MOST_KNOWN = 200
"""Rows of one condition, newest first."""


def known_units(
    question: Question, where: Expr, *, by: str = "event_time", most: int = MOST_KNOWN
) -> list[Unit]:
    """Current memories of the rows that a condition holds for: highest `by` first, with history and rivals."""
    living = cell_condition(question.settings.owner) & where
    (rows,) = question.store.find([FirstQuery("cells", by, most, living, CELL_COLUMNS)])
    return units_of_rows(question, rows)


def units_of_ids(question: Question, where: Expr) -> list[Unit]:
    """The same without an order or a bound, for few rows that are named."""
    living = cell_condition(question.settings.owner) & where
    (rows,) = question.store.find([RowsQuery("cells", CELL_COLUMNS, living)])
    return units_of_rows(question, rows)


def units_of_rows(question: Question, rows: list[Row]) -> list[Unit]:
    """Units of rows that were read, in their order."""
    if not rows:
        return []
    gathered = gather_rows(question, rows)
    place = {row["cell_id"]: number for number, row in enumerate(rows)}
    units = resolve(question, gathered)
    for unit in units:
        unit.score = unit.row["salience"]
    return sorted(units, key=lambda unit: min(place[row["cell_id"]] for row in unit.members))
