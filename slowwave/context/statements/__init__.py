"""Statements of persons, word by word: preferences that stand, and what was said later of a matter."""
