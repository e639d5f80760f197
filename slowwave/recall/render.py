"""The words of an answer: a memory in one line with its history, both sides of a dispute, a quote, the lead.

Stored text is data. Forms go from the longest to the shortest; which one is shown depends on the room.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from slowwave.language.excerpt import Asked, Cue, quoted
from slowwave.language.terms import text_terms
from slowwave.language.units import units_of
from slowwave.lifecycle.retention import days_ago
from slowwave.models.page_lines import page_line
from slowwave.recall.question import Question
from slowwave.recall.resolve import STATE_WORDS, Echo, Unit
from slowwave.recall.said import Said
from slowwave.schemas.choices import EPISODE, WHOSE
from slowwave.schemas.moments import day_of
from slowwave.settings.groups import EpisodeSettings
from slowwave.settings.tree import Settings
from slowwave.store import Row
from slowwave.trust.origins import whose_of
from slowwave.trust.speakers import speaker_of, standing

LEAD_CHARACTERS = 160
"""Characters of the first line of a page at most: an agent that reads only the beginning has the answer."""

QUOTE_CHARACTERS = 480
"""Characters of a message or memory on a page; a longer one shows the parts that answer what was asked."""

FORMER_VALUES = 4
"""Former values that a line names, newest first."""

_CLAUSE, ROOM_FOR_DOTS = re.compile(r"[,;:]\s+"), 8

SHAPED = 0.3
"""Share of a question for a number that a part of a text answers by having one."""

SENTENCE_COVERAGE = 0.6
"""Share of the question's terms that a sentence of a summary has which may lead."""


def full_text(unit: Unit, settings: Settings, *, now: datetime) -> str:
    """The text of a memory as it is shown now: a procedure in one line, an episode in the form of its age."""
    row = unit.row
    if row["cell_type"] == EPISODE:
        return episode_text(row, settings.episodes, now=now)
    named = row["subject"] or whole_sentence(row["compressed"]) or row["content"]
    if row["steps"]:
        how = named if re.match(r"(?:how\s+)?to\s", named, re.IGNORECASE) else f"to {named}"
        return f"{how if how.lower().startswith('how') else f'how {how}'}: {'; '.join(row['steps'])}"
    return f"{named}: {row['template']}" if row["template"] else str(row["content"])


def episode_text(row: Row, settings: EpisodeSettings, *, now: datetime) -> str:
    """An episode in the form of its age: its text, then its summary, then one line.

    Where a form was never written, the next longer one is taken.
    """
    age_days = days_ago(row["event_time"], now=now)
    if age_days >= settings.compressed_days and row["compressed"]:
        return str(row["compressed"])
    if age_days >= settings.summary_days and row["summary"]:
        return str(row["summary"])
    return str(row["content"])


def history_of(unit: Unit) -> str:
    """Former values, newest first, each with its end: "250 (until 2026-08-19), 100 (until 2026-07-08)"."""
    if unit.row["cell_type"] == "task":
        return ""
    told = dict[str, str]()
    for past in unit.history:
        text = shortened(past["value"], unit.row["value"]) if past["value"] else ""
        until = past["valid_until"]
        if text and text not in told and text != unit.row["value"]:
            told[text] = f"{text} (until {day_of(until)})" if until else text
    return ", ".join(list(told.values())[:FORMER_VALUES])


def shortened(former: str, current: str | None) -> str:
    """A former value without the words at its end that the current one has, too ("250" of "250 per minute")."""
    words, now = former.split(), (current or "").split()
    while len(words) > 1 and now and words[-1] == now[-1]:
        words.pop()
        now.pop()
    return " ".join(words)


def value_line(unit: Unit) -> str:
    """A property in one line, with its value; empty where the memory names none."""
    row = unit.row
    if not (row["subject"] and row["attribute"] and row["value"]):
        return ""
    name = row["subject"] if row["attribute"] in row["subject"] else f"{row['subject']}, {row['attribute']}"
    return f"{name}: {row['value']}"


def marks(unit: Unit) -> str:
    """The remarks of a line besides its text: since when, what was before, an echo, whose word it is."""
    row, parts = unit.row, []
    is_since = unit.history or row["valid_from"].date() != row["event_time"].date()
    if (
        is_since
        and row["cell_type"] != "task"
        and day_of(row["valid_from"]) not in row["content"]
        and row["cell_type"] != EPISODE
    ):
        parts.append(f"since {day_of(row['valid_from'])}")
    if former := history_of(unit):
        parts.append(f"before: {former}")
    if unit.echo_of is not None:
        parts.append(echo_mark(unit.echo_of))
    if word := whose_of(row):
        parts.append(word)
    return f" ({page_line('; '.join(parts))})" if parts else ""


def echo_mark(echo: Echo) -> str:
    """The former value that a text mentions, and the current one."""
    now = echo.of.row["value"] or echo.of.row["content"]
    return f"{page_line(echo.was)} then; {page_line(now)} since {day_of(echo.of.row['valid_from'])}"


def unit_forms(unit: Unit, asked: Asked | None, settings: Settings, *, now: datetime) -> tuple[str, ...]:
    """The forms of a memory, longest first: all of it, its value, its compressed form; each with its marks.

    Of a long one what was `asked`, where anything was.
    """
    whole = full_text(unit, settings, now=now)
    whole = whole if asked is None else quoted(whole, asked, most=QUOTE_CHARACTERS)
    texts = [whole, value_line(unit), whole_sentence(unit.row["compressed"])]
    texts = [text for text in texts if text and len(text) <= len(whole)]
    return tuple(dict.fromkeys(f"{page_line(text)}{marks(unit)}" for text in texts))


def dispute_forms(unit: Unit) -> tuple[str, ...]:
    """Both sides of an undecided pair in one line, the older one first."""
    older, newer = unit.sides

    def side(row: Row, text: str) -> str:
        word = f", {whose_of(row)}" if whose_of(row) else ""
        return f"{page_line(text).rstrip('.')} [{day_of(row['event_time'])}{word}]"

    def line(texts: Sequence[str], note: str = "") -> str:
        reason = f" ({page_line(note)})" if note else ""
        return f"- Undecided: {side(older, texts[0])} or {side(newer, texts[1])}{reason}"

    contents = (older["content"], newer["content"])
    short = tuple(row["value"] or row["compressed"] or row["content"] for row in (older, newer))
    named = newer["subject"] and newer["attribute"] and older["value"] and newer["value"]
    by_value = [line((f"{newer['subject']}, {newer['attribute']}: {short[0]}", short[1]))] if named else []
    return tuple(dict.fromkeys([line(contents, unit.note or ""), line(contents), *by_value]))


def lead_forms(question: Question, unit: Unit, *, now: datetime) -> tuple[str, ...]:
    """The first line: a text of at most `LEAD_CHARACTERS` with the current value, and behind it what it was before."""
    if unit.rival is not None:
        return tuple(sorted(dispute_forms(unit), key=len))[:1]
    text, mark = full_text(unit, question.settings, now=now), marks(unit)
    value = unit.row["value"] or ""
    is_state = text_terms(value) <= STATE_WORDS  # "done" says less than the sentence around it
    named = "" if is_state else value
    candidates = [text, _part_with(text, named, question), "" if is_state else value_line(unit)]
    candidates += [whole_sentence(unit.row["compressed"]), _part_with(text, "", question)]
    fitting = (one for one in candidates if one and len(one) <= LEAD_CHARACTERS and _names(one, named))
    return (f"- {page_line(next(fitting, text[:LEAD_CHARACTERS]))}{mark}",)


def whole_sentence(text: str | None) -> str:
    """A stored short form, unless it was cut: no sentence is shown cut in the middle."""
    return "" if text is None or text.rstrip().endswith(("...", "\u2026")) else text


def _part_with(text: str, value: str, question: Question) -> str:
    """The part of a text that names a value and holds most of what is asked, within `LEAD_CHARACTERS`."""

    def asked(part: str) -> float:
        is_shaped = question.asks_number and question.has_number(part)
        return question.share_of(part) + SHAPED * is_shaped

    return max(
        (part for part in _parts(text, whole=bool(value)) if _names(part, value)), key=asked, default=""
    )


def _parts(text: str, *, whole: bool) -> Iterator[str]:
    """The sentences of a text; of one that is longer than a lead the runs of clauses that are not, with dots.

    With `whole` such a sentence is left out: a value is said in a line of its own before it is cut out of one.
    """
    for unit in units_of(text):
        sentence = unit.of(text)
        if len(sentence) <= LEAD_CHARACTERS:
            yield sentence
            continue
        ends = [] if whole else [0, *(found.end() for found in _CLAUSE.finditer(sentence)), len(sentence)]
        for place, start in enumerate(ends[:-1]):
            fitting = [end for end in ends[place + 1 :] if end - start <= LEAD_CHARACTERS - ROOM_FOR_DOTS]
            if fitting:
                before, behind = "... " * (start > 0), " ..." * (fitting[-1] < len(sentence))
                yield f"{before}{sentence[start : fitting[-1]].strip()}{behind}"


def _names(text: str, value: str) -> bool:
    """Return whether a text says a value: it has each of its terms."""
    return text_terms(value) <= text_terms(text)


def said_text(one: Said, asked: Asked, *, most: int, cue: Cue | None = None) -> str:
    """A message in one line under its speaker's name, which says whether the speaker says or quotes it."""
    row = one.row
    text = quoted(row["content"], asked, most=most, cue=cue)
    if not text:
        return ""
    if row["role"] == "document":
        return f'a document: "{text}"'
    shown = speaker_of(role=row["role"], speaker=row["speaker"], content=row["content"], shown=text)
    return f'{shown}: "{text}"'


def said_word(one: Said, text: str) -> str:
    """Words for whose word the shown part of a message is; empty for a person's own."""
    row = one.row
    is_quote = standing(text, row["content"], row["role"]) == "quoted"
    return WHOSE["untrusted" if is_quote else row["origin"]]


def said_mark(one: Said, text: str) -> str:
    """The source of the shown part of a message, and a mark that a newer message is about the same."""
    later = one.later
    earlier = f"earlier than {day_of(later.row['event_time'])}" if later is not None else ""
    parts = [part for part in (earlier, said_word(one, text)) if part]
    return f" ({'; '.join(parts)})" if parts else ""
