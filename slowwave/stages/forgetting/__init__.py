"""Forgetting: usage is counted, faded memories are archived."""
