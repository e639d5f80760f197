"""Which memory superseded which: read once, followed by one walker."""
