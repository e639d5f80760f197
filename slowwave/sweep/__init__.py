"""Sweep: secrets that older rules let in leave the home, down to the bytes, and a scan proves it."""
