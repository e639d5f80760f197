"""From bytes on disk to a frame of turns; `agents`, `exports` and `questions` hold one file a format."""
