"""Reconcile: repeats are confirmed, changes supersede, doubts stay open."""
