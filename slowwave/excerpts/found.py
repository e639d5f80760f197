"""The excerpts of what a search found, and who says what of a message is shown."""

from collections.abc import Callable
from functools import partial

from slowwave.excerpts.excerpt import excerpt
from slowwave.excerpts.terms import asked_terms
from slowwave.schemas.choices import WHOSE
from slowwave.schemas.search import CellHit, Excerpt, SearchResult, TurnHit
from slowwave.store import Store
from slowwave.trust.speakers import origin_of, speaker_of

EVIDENCE_SHARE = 0.5
"""Part of the length that a turn gets which is shown under a memory."""


def with_excerpts(found: SearchResult, store: Store | None, *, most: int) -> SearchResult:
    """The same answer with an excerpt of at most `most` characters for each hit; summaries are excerpts as they are."""
    if store is None:
        return found
    asked = asked_terms(found.query, partial(store.rarities, "cells"))
    of = partial(excerpt, asked=asked, most=most)
    return found.model_copy(
        update={
            "topics": [
                hit.model_copy(update={"excerpt": of(hit.summary, most=len(hit.summary))})
                for hit in found.topics
            ],
            "cells": [_of_cell(hit, of, partial(of, most=int(EVIDENCE_SHARE * most))) for hit in found.cells],
            "turns": [_of_turn(hit, of) for hit in found.turns],
            "reasons": [step.model_copy(update={"excerpt": of(step.content)}) for step in found.reasons],
        }
    )


def _of_cell(hit: CellHit, of: Callable[[str], Excerpt], of_evidence: Callable[[str], Excerpt]) -> CellHit:
    evidence = [_of_turn(turn, of_evidence) for turn in hit.evidence]
    return hit.model_copy(update={"excerpt": of(hit.text), "evidence": evidence})


def _of_turn(hit: TurnHit, of: Callable[[str], Excerpt]) -> TurnHit:
    shown = of(hit.content)
    part = {"role": hit.role, "content": hit.content, "shown": shown.text}
    told = {
        "said_by": speaker_of(speaker=hit.speaker, **part),
        "whose": WHOSE[origin_of(hit.origin, **part)],
    }
    return hit.model_copy(update={"excerpt": shown, **told})
