"""Coding agents: connecting them, what is done at their hooks, and following the transcripts that they write."""
