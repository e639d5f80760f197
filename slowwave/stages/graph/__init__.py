"""Graph: names become entities, and memories get edges."""
