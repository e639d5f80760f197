"""Erase and redact: rewrite every file of a home without a text, and prove it by scanning the bytes."""
