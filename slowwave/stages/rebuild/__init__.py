"""Rebuild and reembed: a new store from the journal, or with other vectors."""
