"""Prompt files, their inputs, and the answers that models give to them."""
