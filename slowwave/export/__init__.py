"""Export a memory as JSONL for another home, or as one Markdown page for people."""
