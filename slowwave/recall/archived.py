"""Archived memories, found when somebody asks for them explicitly; default search never shows them.

Looking changes nothing. To cite what was found (`slowwave.home.usage.cite`) brings it back with the next night.
"""

from slowwave.errors import InputError
from slowwave.recall.conditions import scope_condition
from slowwave.recall.reader import Reader
from slowwave.schemas.requests import ArchivedRequest
from slowwave.schemas.results import ForgottenCell
from slowwave.store import col, lit

COLUMNS = ("cell_id", "cell_type", "content", "subject", "attribute", "value")


def find_forgotten(reader: Reader, request: ArchivedRequest) -> list[ForgottenCell]:
    """Archived memories that the asking owner may see, by their words, best first; none where there is no store yet.

    Raises:
        InputError: the question is empty.
    """
    words = request.query.strip()
    if not words:
        raise InputError("the question is empty: say what to look for")
    store, owner = reader.current(), reader.settings.owner
    if store is None:
        return []
    where = scope_condition(owner) & (col("status") == lit("archived"))
    found = store.matching("cells", [words], request.limit, where=where)
    cells = store.by_key("cells", found["cell_id"], COLUMNS)
    hits = found.join(cells, on="cell_id", how="inner", maintain_order="left")
    return [ForgottenCell(**row) for row in hits.select(*COLUMNS, "match_score").iter_rows(named=True)]
