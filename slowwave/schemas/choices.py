"""Columns of few values: the words that they may hold. Apart from the tables, so that a face imports them cheaply."""

from typing import Final, Literal

ExtractedType = Literal[
    "fact",
    "decision",
    "preference",
    "task",
    "risk",
    "code_ref",
    "insight",
    "pattern",
    "workflow",
]
"""Types that the extractor may give; the newest prompt `extract_cells` says what each of them means."""
CellType = Literal[ExtractedType, "episode"]
EPISODE: Final = "episode"
RAW_PROMPT: Final = "raw"
"""`prompt_version` of cells that were made without a language model."""
EXTRACTIVE: Final = "extractive"
"""`prompt_version` of summaries that were written without one."""
CellStatus = Literal["active", "superseded", "archived"]
Precision = Literal["day", "month", "year"]
"""How exactly the date is known that a memory holds from, or on which it happened."""
SaidBy = Literal["user", "reported", "agent"]
"""Origins of what is remembered by hand: a person's word, one that an assistant passes on, an assistant's own."""

Origin = Literal["user", "reported", "agent", "tool", "untrusted", "system"]
ChunkStatus = Literal["pending", "gated_out", "extracted", "failed", "quarantined"]
EpisodeStatus = Literal["written", "failed", "quarantined"]
JudgingStatus = Literal["settled", "failed", "quarantined"]
SourceType = Literal["conversation", "file"]
Scale = Literal["turn", "near", "wide"]
Verdict = Literal[
    "unjudged",
    "keep",
    "confirms",
    "absorbs",
    "absorbed",
    "completes",
    "corrects",
    "updates",
    "contradicts",
]
Effect = Literal["none", "confirmed", "superseded", "contradiction", "elaborated"]
EntityType = Literal["person", "project", "organization", "place", "concept", "tool"]
ArtifactType = Literal["commit", "pr", "adr", "file"]
Relation = Literal["causal", "supersedes", "elaborates"]
"""How a memory belongs to an earlier one. Causes are stored as edges; the others are read from cells and judgements."""
ExportFormat = Literal["jsonl", "markdown"]
FlowName = Literal[
    "ingest",
    "extract",
    "cluster",
    "reconcile",
    "consolidate",
    "compress",
    "link",
    "decay",
    "forget",
    "promote",
    "learn",
    "nightly",
    "rebuild",
    "reembed",
    "redact",
]
"""The flows that can be started, by the names of their files in `flows/`."""

Resolution = Literal["a_wins", "b_wins", "both_valid", "merged"]
CorrectionReason = Literal["changed", "wrong"]
"""Why a memory is corrected: its value held until a day, or it never held."""

TRUST: tuple[Origin, ...] = ("system", "user", "reported", "agent", "tool", "untrusted")
"""Origins, most trusted first: Slowwave itself, a person, one who may be quoting, an assistant, a tool, and a text
that nobody answers for (documents, and whatever anybody plainly quotes). A memory is the word of the person who states
it, else it has the origin of the least trusted text that it was taken from (`slowwave/trust/stated.py`).
Neither repetition nor merging nor a model's answer raises it."""

WHOSE: dict[Origin, str] = {
    "system": "",
    "user": "",
    "reported": "perhaps a person's own word",
    "agent": "an assistant said",
    "tool": "a tool's output",
    "untrusted": "a document or a quote",
}
"""Whose word a text is, as a page says it beside the text; nothing for a person's word.

`reported` is what a person may only be passing on, and what an assistant says that a person said.
"""
