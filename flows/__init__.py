"""Prefect flows, one stage per file; each can be run alone from Prefect's pages.

What a flow calls is a task, and its name says what it may do:

    open_stage    opens the home and times the stage; its report is the flow's result and an artifact
    find_*        reads the store and returns a frame; `run.reader` cannot write
    ask_*         asks the language model; `run.model` is null where none is configured
    plan_*        frames in, a plan out: rows to write by kind of event, rows left out with the reason, notes
    commit        writes a plan: one segment of the journal, which is then applied to the store
    others        work on frames; those that get the whole `run` write too (turns, vectors, use, MEMORY.md)

A dry run plans everything and commits nothing. A killed run keeps what it had committed; running it again goes on.
"""
