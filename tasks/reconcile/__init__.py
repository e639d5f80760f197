"""Reconcile: similarity proposes pairs, a model judges, structure guards, dates order."""
