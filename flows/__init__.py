"""Prefect flows, one stage per file; each can be run alone from Prefect's pages."""
