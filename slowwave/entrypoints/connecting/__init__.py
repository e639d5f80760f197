"""Connections to coding agents: Slowwave's entries in their settings, added and removed."""
