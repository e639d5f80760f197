"""A home folder: paths, locks, the workspace of a night, usage, and `MEMORY.md`."""
