"""Evaluation: how well the memory finds, and shows, what answers a question."""
