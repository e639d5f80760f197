"""The settings, one tree in groups."""
