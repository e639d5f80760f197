"""Slowwave: long-term memory for AI agents, recorded by day and consolidated by night."""
