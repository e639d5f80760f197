"""Parse foreign files into turns, and redact secrets; `formats` has one file per format."""
