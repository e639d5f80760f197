"""The read path: two tiers, and the raw turns under them. Thin and fast; no language model, no Prefect."""

from slowwave.search.reader import Reader, open_reader
from slowwave.search.search import ask, search

__all__ = ["Reader", "ask", "open_reader", "search"]
