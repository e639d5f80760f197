"""Episodes: conversations are told as one memory, and memories get short forms."""
