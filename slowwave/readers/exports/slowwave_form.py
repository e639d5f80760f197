"""Slowwave's own export: JSONL, a row of a table a line, which the export writes and ingest reads.

The first line names the form; each other one has a `type` and the columns of its table (`data/README.md`). User and
project are left out: they become those of the home that takes the export in. Columns without a value are left out, too.
"""

from typing import Final

FORMAT: Final = 1

TABLE_OF: Final[dict[str, str]] = {
    "memory": "cells",
    "turn": "turns",
    "chunk": "chunks",
    "topic": "topics",
    "contradiction": "contradictions",
    "judgement": "judgements",
    "entity": "entities",
    "identity": "identities",
    "mention": "mentions",
    "artifact": "artifacts",
    "edge": "edges",
    "link": "links",
    "core_line": "core",
    "deleted": "tombstones",
    "erased_turn": "erasures",
}
"""Types of lines, in the order in which they stand, with the table of each."""
