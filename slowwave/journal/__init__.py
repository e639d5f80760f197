"""The journal: immutable segments, the catalogue of event kinds, and the fold of events into tables."""
