"""Readers of what coding agents keep on disk: their transcripts, and notes that they write for themselves."""
