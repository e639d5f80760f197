"""The read path: two tiers, and the raw turns under them. Thin and fast; no language model, no Prefect."""

from slowwave.query.reader import Reader, open_reader
from slowwave.query.search import ask, search

__all__ = ["Reader", "ask", "open_reader", "search"]
