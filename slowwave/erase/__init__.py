"""Erase what was said from the home, down to the bytes, and prove it by a scan."""
