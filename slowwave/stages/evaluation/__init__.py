"""Evaluation: how well the memory finds what answers a question."""
