"""Export: all of a memory as JSONL for another home, or as one page of Markdown for people."""
