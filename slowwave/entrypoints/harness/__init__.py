"""Hooks of coding agents: the program that a harness calls, and what the server does at each event."""
