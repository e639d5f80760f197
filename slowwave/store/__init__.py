"""The LanceDB store: derived tables, full-text and vector search. The one place that imports lancedb.

Everything here can be made again from the journal.
"""

from slowwave.store.conditions import Expr, as_filter, col, lit
from slowwave.store.generations import copy_store, create_beside, create_store, filling, open_store
from slowwave.store.layout import EMBEDDER_OF, SCHEMA_VERSION, TEXT_INDEX, StoreMeta
from slowwave.store.memory_tables import Row
from slowwave.store.reads import SCORE, Query, RowsQuery, TextQuery, VectorQuery
from slowwave.store.scopes import owned_by, same_owner
from slowwave.store.writing import Store

__all__ = [
    "EMBEDDER_OF",
    "SCHEMA_VERSION",
    "SCORE",
    "TEXT_INDEX",
    "Expr",
    "Query",
    "Row",
    "RowsQuery",
    "Store",
    "StoreMeta",
    "TextQuery",
    "VectorQuery",
    "as_filter",
    "col",
    "copy_store",
    "create_beside",
    "create_store",
    "filling",
    "lit",
    "open_store",
    "owned_by",
    "same_owner",
]
