"""Versioned prompt files; `slowwave/prompting/files.py` reads them."""
