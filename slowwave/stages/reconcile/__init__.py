"""Reconcile: repeats are confirmed, changes supersede, doubts stay open.

The modules in the order in which they work (`flows/reconcile.py`):

1. `new_memories` finds what is new and merges exact repetitions. `find_candidates` looks for known memories beside each
   one; `candidates` ranks them and groups them into pages.
2. `judge` shows a page to the language model. `judgements` checks each answer: `guard` against the two texts, `vetoes`
   against where both memories stand now. Then it commits what is left of it.
3. `chain_plan` puts what updates, corrects or repeats into the chains of values. What failed a check, or contradicts,
   is opened as a contradiction.
4. `review` asks again about memories that rest on a superseded one.
5. `older_pairs` finds near pairs of older memories and asks about some of them; `pairs` has their frames.
6. `contradictions` closes what names a memory that no longer stands.
"""
