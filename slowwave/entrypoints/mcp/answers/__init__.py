"""Answers of the tools: their shapes, how they are made of the results of `Memory`, and how they read as text."""
