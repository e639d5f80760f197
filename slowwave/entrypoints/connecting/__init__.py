"""Connections to harnesses: Slowwave's entries in the settings of coding agents, put in and taken out exactly."""
