"""Versioned prompt files; `slowwave/prompts.py` reads them."""
