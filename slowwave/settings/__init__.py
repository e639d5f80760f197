"""Settings as one tree, by groups."""
