"""The words of a person, one module a word: remember, correct, confirm, forget, erase, resolve; and explain.

A person's word wins over every judge. Each word is one segment of the journal, so that `rebuild` gives the same memory.
"""
