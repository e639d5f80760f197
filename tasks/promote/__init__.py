"""Promote: the few memories that are in every prompt."""
