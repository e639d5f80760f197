"""Ingest: transcripts and files become journal events, turns and chunks."""
