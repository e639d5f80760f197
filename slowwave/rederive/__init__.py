"""Rederive: today's prompts and models over the raw record, in a derivation beside the living memory.

    take     what came in, and what a person said, from the living journal into a home of its own
    derive   the stages of a night over it
    carry    what a person did to memories: corrections, confirmations, deletions, resolutions, use
    compare  the derivation with the living memory: gained, lost, changed, kept
    switch   the derivation into the place of the memory, by one segment of the journal; or drop it

The living memory serves and takes in turns meanwhile.
"""
