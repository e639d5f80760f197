"""Everything between a foreign file and a recorded turn; `formats` holds one file a format."""
