"""The LanceDB store: derived tables, full-text and vector search. Only this package imports lancedb.

Everything here can be made again from the journal.
"""

from slowwave.store import lance  # first: it says how LanceDB is imported
from slowwave.store.conditions import Expr, as_filter, col, is_none_of, lit
from slowwave.store.damage import told
from slowwave.store.generations import (
    OutdatedStoreError,
    copy_store,
    create_beside,
    create_store,
    damaged_stores,
    filling,
    open_store,
    remove_damaged,
    require_whole,
    set_aside,
    switch_from_damaged,
    table_damage,
)
from slowwave.store.index import Embed
from slowwave.store.layout import EMBEDDER_OF, SCHEMA_VERSION, TEXT_INDEX, StoreMeta
from slowwave.store.queries import FirstQuery, Query, Row, RowsQuery, SearchQuery
from slowwave.store.reading import StoreReader
from slowwave.store.scopes import (
    in_any_project,
    of_other_users,
    open_to_all,
    owned_by,
    owned_in,
    same_owner,
    standing_for,
)
from slowwave.store.writing import Store

give_memory_back = lance.give_memory_back

__all__ = [
    "EMBEDDER_OF",
    "SCHEMA_VERSION",
    "TEXT_INDEX",
    "Embed",
    "Expr",
    "FirstQuery",
    "OutdatedStoreError",
    "Query",
    "Row",
    "RowsQuery",
    "SearchQuery",
    "Store",
    "StoreMeta",
    "StoreReader",
    "as_filter",
    "col",
    "copy_store",
    "create_beside",
    "create_store",
    "damaged_stores",
    "filling",
    "give_memory_back",
    "in_any_project",
    "is_none_of",
    "lit",
    "of_other_users",
    "open_store",
    "open_to_all",
    "owned_by",
    "owned_in",
    "remove_damaged",
    "require_whole",
    "same_owner",
    "set_aside",
    "standing_for",
    "switch_from_damaged",
    "table_damage",
    "told",
]
