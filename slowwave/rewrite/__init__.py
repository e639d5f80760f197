"""Rewrite a home, down to the bytes, without what a person erased or what newer rules redact; a scan proves it."""
