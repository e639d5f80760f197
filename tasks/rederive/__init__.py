"""Rederive: today's prompts and models over the raw record, in a home of its own below the living memory.

    replay       raw events and, once everything is extracted, the edits of persons
    difference   memories gained, lost and changed; topics, contradictions, cost
    rederive     opens and ends a derivation: show it, switch to it, drop it

The living memory answers and takes in turns meanwhile; only the switch takes it for itself.
"""
