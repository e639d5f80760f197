"""The first line of an answer: what is current, in at most 160 characters."""

from collections.abc import Sequence

from slowwave.language.units import units_of
from slowwave.models.page_lines import page_line
from slowwave.recall.recalled import Recalled, TopicUnit
from slowwave.recall.render import LEAD_CHARACTERS, SENTENCE_COVERAGE, lead_forms, said_mark, said_text
from slowwave.recall.resolve import Unit
from slowwave.recall.said import Said
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.moments import day_of
from slowwave.schemas.tables import RAW_PROMPT

BETTER = 0.15
"""A sentence of a summary leads where it has so much more of what is asked than the best memory."""


def leading(units: Sequence[Unit]) -> Unit | None:
    """The best memory that is no window of talk."""
    return next((unit for unit in units if not is_raw(unit)), None)


def answering_sentence(recalled: Recalled, topic: TopicUnit, best_unit: Unit) -> str:
    """The sentence of a summary that holds most of what is asked; "" where none does, or values changed since."""
    if topic.since or topic.row["needs_review"]:
        return ""
    question, text = recalled.question, topic.row["summary"]
    parts = [unit.of(text) for unit in units_of(text)]
    scored = [(question.share_of(part), -place, part) for place, part in enumerate(parts)]
    share, _, best = max(scored, default=(0.0, 0, ""))
    least = max(SENTENCE_COVERAGE, best_unit.columns["coverage"] + BETTER)
    return best if share >= least and len(best) <= LEAD_CHARACTERS else ""


def lead_of(recalled: Recalled, units: Sequence[Unit], said: Sequence[Said]) -> tuple[str, list[str]]:
    """The line that leads, without a list mark, and the ids that it rests on; "" where nothing answers."""
    unit = leading(units)
    message = said[0] if said else None
    if unit is None or (message is not None and message.score > unit.score):
        return (_said_line(recalled, message), [message.turn_id]) if message is not None else ("", [])
    (line,) = lead_forms(recalled.question, unit, now=recalled.question.now)
    ids = [unit.cell_id, *([unit.rival["cell_id"]] if unit.rival is not None else [])]
    return line.removeprefix("- "), ids


def is_raw(unit: Unit) -> bool:
    """Return whether a memory is a window of talk."""
    return bool(unit.row["prompt_version"] == RAW_PROMPT and unit.row["cell_type"] != EPISODE)


def _said_line(recalled: Recalled, one: Said) -> str:
    text = said_text(one, recalled.asked, most=2 * LEAD_CHARACTERS)  # nobody weighed what of it matters
    return f"{day_of(one.row['event_time'])} {page_line(text)}{said_mark(one, text)}" if text else ""
