"""Readers of published question sets, for measurements."""
