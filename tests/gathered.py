"""A question and what was read about it, for the pure rules of `slowwave/recall`: no store."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, cast

from slowwave.language.terms import distinct_terms, held_terms
from slowwave.recall.gather import Gathered
from slowwave.recall.question import Question
from slowwave.schemas.search import Filters
from slowwave.settings.tree import Settings
from slowwave.store import Row, Store, lit
from tests.rows import row

NOW = datetime(2026, 9, 20, tzinfo=UTC)


def question_of(text: str, **given: Any) -> Question:
    """A question of which every term weighs the same; nothing may read its store."""
    terms = distinct_terms(text)
    plain: dict[str, Any] = {
        "vector": None, "filters": Filters(), "where": lit(True), "period": None,
        "is_about_time": False, "intent": "general", "now": NOW, "weights": (1.0,) * len(terms),
    }  # fmt: skip
    return Question(store=cast(Store, None), settings=Settings(), text=text, words=text, **{**plain, **given})


def cell(key: str, content: str, **given: object) -> Row:
    """A memory."""
    return row("cells", key, content=content, **{"entities": [], "artifacts": [], "evidence": [], **given})


def gathered_of(question: Question, *found: Row, others: Iterable[Row] = (), **given: Any) -> Gathered:
    """Memories that the question found, in the order of full text, and others that were read for them."""
    rows = {
        one["cell_id"]: {
            **one,
            "text_score": 10.0 - place,
            "similarity": 0.0,
            "held": held_terms(one["content"], question.bits),
        }
        for place, one in enumerate(found)
    }
    return Gathered(rows, {one["cell_id"]: one for one in others} | rows, **given)
