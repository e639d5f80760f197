"""Ingest as steps of a flow. Commands take files in without Prefect, so the work is in `slowwave/recording`."""

from slowwave.home import vector_space
from slowwave.recording import ingest
from tasks.step import step

ingest_sources = step(ingest.ingest_sources)
compute_vectors = step(vector_space.compute_vectors)
index_new_turns = step(ingest.index_new_turns)
