"""Chains of memories that superseded each other: read once, followed by one walker."""
