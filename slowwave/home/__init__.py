"""One home folder: paths, the writer lock, the workspace of a night, usage, and `MEMORY.md`."""
