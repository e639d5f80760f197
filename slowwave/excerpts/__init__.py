"""Excerpts: the parts of a long text that tell what a question asks, for a screen or a page. No language model."""

from slowwave.excerpts.excerpt import excerpt, quoted
from slowwave.excerpts.terms import Asked, asked_terms, asked_words

__all__ = ["Asked", "asked_terms", "asked_words", "excerpt", "quoted"]
