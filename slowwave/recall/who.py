"""A page about a person or thing: facts, profile, what happened lately, and what was said.

Shares of the page are the seed's: facts 40, profiles 25, time 25, evidence 10 %.
"""

import re
from collections.abc import Iterator

from slowwave.errors import NotFoundError
from slowwave.language.excerpt import quoted
from slowwave.recall.entity import describe
from slowwave.recall.lines import quote_each
from slowwave.recall.page import Shares, line_of
from slowwave.recall.reader import Reader
from slowwave.recall.recalled import Recalled, still_current
from slowwave.recall.select import Candidate
from slowwave.schemas.moments import day_of
from slowwave.schemas.report import several_memories
from slowwave.schemas.results import Entity

SHARES: Shares = (0.4, 0.25, 0.25, 0.1)
"""Facts, profile, time, evidence: in the places of the four tiers."""

PROFILE_CHARACTERS = (480, 240)
"""Characters of a profile in its shorter forms."""

_WHO = re.compile(
    r"^\W*(?:tell me (?:about|who)|who(?:'s|\u2019s| is| are| was)|what do (?:you|we) know (?:about|of))\s+"
    r"(?:the\s+)?(?P<name>[^?.!,;]{2,60}?)\s*[?.!]*\s*$",
    re.IGNORECASE,
)


def asked_name(question: str) -> str:
    """The name that a question asks about and about nothing else ("who is Mara"); "" where it is another question."""
    found = _WHO.match(question)
    return found["name"].strip() if found else ""


def entity_of(reader: Reader, question: str) -> Entity | None:
    """The person or thing that a question asks about, the most mentioned one; None where memory knows none."""
    name = asked_name(question)
    if not name:
        return None
    try:
        return describe(reader, name).entities[0]
    except NotFoundError:
        return None


def profile_lines(entity: Entity, recalled: Recalled) -> Iterator[Candidate]:
    """Lines of the page: values with their history, the profile, dated memories, messages."""
    source = (entity.last_at, several_memories(entity.mention_count))
    names = f" (also called {', '.join(entity.aliases)})" if entity.aliases else ""
    kind = entity.entity_type or "thing"
    summary = entity.summary or "no profile written yet"
    state = " (a memory behind it changed since)" if entity.needs_review else ""
    texts = [summary, *(quoted(summary, recalled.asked, most=most) for most in PROFILE_CHARACTERS)]
    head = tuple(
        line_of("profile", f"{entity.name}{names}, {kind}: {text}{state}", *source) for text in texts
    )
    yield Candidate("critical", 1e6, "profile", head, *source, "who was asked about")
    for place, fact in enumerate(entity.facts):
        before = ", ".join(past.value for past in fact.history)
        history = f" (before: {before})" if before else ""
        text = f"{fact.attribute}: {fact.value}, since {day_of(fact.valid_from)}{history}"
        at = (fact.valid_from, entity.name)
        yield Candidate("critical", 1 - place / 100, "fact", (line_of("fact", text, *at),), *at, "a property",
                        (fact.cell_id,))  # fmt: skip
    beside = ", ".join(f"{one.name} ({one.shared_count})" for one in entity.neighbours)
    if beside:
        yield Candidate("relevant", 1.0, "profile", (line_of("profile", f"named with {beside}", *source),), *source,
                        "neighbours")  # fmt: skip
    for place, event in enumerate(entity.lately):
        at = (event.valid_from, event.source_name)
        mark = f" ({event.whose})" if event.whose else ""
        forms = (line_of(event.cell_type, f"{event.content}{mark}", *at),)
        yield Candidate(
            "background", 1 - place / 100, event.cell_type, forms, *at, "lately", (event.cell_id,)
        )
    for quote in quote_each(recalled, still_current(recalled, recalled.said)):
        yield Candidate("index", quote.score, "quote", quote.forms, quote.event_time, quote.source_name, quote.why,
                        turn_ids=quote.turn_ids)  # fmt: skip
