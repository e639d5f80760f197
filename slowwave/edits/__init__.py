"""Edits by a person: remember, correct, confirm, forget, resolve; and reports such as explain.

An edit wins over every judge. Each is one segment of the journal, so that `rebuild` gives the same memory.
"""
