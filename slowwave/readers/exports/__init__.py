"""Readers of what other products export: conversations and memories."""
