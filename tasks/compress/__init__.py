"""Compress: conversations become episodes, and memories get short forms."""
