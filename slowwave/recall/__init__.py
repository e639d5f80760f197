"""The query module: one pipeline from a question to what an agent reads. No language model, no Prefect, no lock.

    understand -> gather -> resolve -> score -> select -> render

`gather` reads, everything behind it is computed from what was read. Every form of an answer (a search, a page, the
small form before a prompt, the opening of a conversation, the four tiers of work) goes this way, with another `Mode`.
"""
