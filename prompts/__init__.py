"""Versioned prompt files; `slowwave/models/prompts.py` reads them."""
