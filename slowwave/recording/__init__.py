"""Turn what readers and agents deliver into the turns, chunks and memories of a home."""
