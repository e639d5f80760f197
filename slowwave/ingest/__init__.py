"""Everything between a foreign file and a recorded turn."""
