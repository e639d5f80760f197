"""The read path: two tiers, and the raw turns under them. Thin and fast; no language model, no Prefect."""

from slowwave.search.reader import Reader, open_reader
from slowwave.search.search import answer, ask

__all__ = ["Reader", "answer", "ask", "open_reader"]
