"""Context assembly: what an agent should have in its prompt now, within a budget. No language model, no Prefect."""

from slowwave.context.assemble import assemble

__all__ = ["assemble"]
