"""Archived memories, found when somebody asks for them explicitly; default search never shows them.

Looking changes nothing. To cite what was found (`slowwave.home.usage.cite`) brings it back with the next night.
"""

from pydantic import BaseModel, ConfigDict, Field

from slowwave.errors import InputError
from slowwave.readers.files import clean_text
from slowwave.schemas.search import MAX_LIMIT
from slowwave.search.conditions import scope_condition
from slowwave.search.reader import Reader
from slowwave.store import col, lit

COLUMNS = ("cell_id", "cell_type", "content", "subject", "attribute", "value")


class ForgottenCell(BaseModel):
    """An archived memory that matches the words."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cell_id: str
    cell_type: str
    content: str
    subject: str | None
    attribute: str | None
    value: str | None
    match_score: float = Field(description="BM25, from 0, unbounded.")


def find_forgotten(reader: Reader, query: str, *, limit: int = 10) -> list[ForgottenCell]:
    """Archived memories that the asking owner may see, by their words, best first; none where there is no store yet.

    Raises:
        InputError: the question is empty, or the limit is not within 1..25.
    """
    words = clean_text(query).strip()
    if not words:
        raise InputError("the question is empty: say what to look for")
    if not 1 <= limit <= MAX_LIMIT:
        raise InputError(f"limit {limit} is not possible: choose 1 to {MAX_LIMIT}")
    store, owner = reader.current(), reader.settings.owner
    if store is None:
        return []
    where = scope_condition(owner) & (col("status") == lit("archived"))
    found = store.matching("cells", [words], limit, where=where)
    cells = store.by_key("cells", found["cell_id"], COLUMNS)
    hits = found.join(cells, on="cell_id", how="inner", maintain_order="left")
    return [ForgottenCell(**row) for row in hits.select(*COLUMNS, "match_score").iter_rows(named=True)]
