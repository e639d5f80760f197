"""From what a reader read, or an agent says, to the turns, chunks and memories of a home."""
