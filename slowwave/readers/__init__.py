"""One file a transcript format: from bytes on disk to a frame of turns."""
