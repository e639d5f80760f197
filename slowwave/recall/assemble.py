"""One request, one block of memory: a page about a question, the small form, the opening, or four tiers."""

from dataclasses import replace
from datetime import datetime
from itertools import islice

from slowwave.language.intents import asks_for_list, is_complex
from slowwave.language.query_words import calls_for_nothing, is_repeated, telling_words
from slowwave.language.signals import branch_words, file_words
from slowwave.recall.fixes import failures_of
from slowwave.recall.gather import Gathered
from slowwave.recall.lines import question_lines
from slowwave.recall.modes import PAGE, SMALL
from slowwave.recall.opening import more_wishes, opening_lines
from slowwave.recall.page import (
    Layout,
    Shares,
    counted,
    finished,
    frame_tokens,
    group_tokens,
    heading_tokens,
)
from slowwave.recall.question import understand
from slowwave.recall.reader import Reader
from slowwave.recall.recalled import (
    Recalled,
    near_best,
    recall,
    still_current,
    unread,
)
from slowwave.recall.select import Candidate, Chosen, pack, pack_best
from slowwave.recall.shown import keep_shown, shown_at_all
from slowwave.recall.who import SHARES as PROFILE_SHARES
from slowwave.recall.who import entity_of, profile_lines
from slowwave.recall.work import Work, work_lines
from slowwave.schemas.context import Activity, Context, ContextRequest
from slowwave.schemas.results import Entity
from slowwave.schemas.search import MAX_QUERY_CHARACTERS, Filters
from slowwave.settings.groups import ContextSettings
from slowwave.store import Store

Packed = tuple[list[Chosen], list[str]]
"""Lines that have their place, best first, and notes."""

ONE_LIST: Shares = (0.0, 1.0, 0.0, 0.0)
"""Shares where there are no tiers: all is in the second."""

OPENING: Shares = (0.25, 0.15, 0.6, 0.0)
"""Shares at the start of a conversation: open matters of persons, those of others, core memory, wishes as said."""

TIERS_OF: dict[Activity, Shares] = {
    "general": (0.25, 0.375, 0.25, 0.125),
    "feature": (0.25, 0.375, 0.25, 0.125),
    "debugging": (0.375, 0.3125, 0.1875, 0.125),  # errors and their fixes first
    "reviewing": (0.25, 0.25, 0.375, 0.125),  # a change is compared with conventions
}
"""Shares of critical, relevant, background and index by activity, in sixteenths."""

TOLD_WEIGHT = 0.6
"""Share that is left of a message's score once a memory of it is on the page, and the other way round."""

SMALL_LINES = 5
"""Memories in the small form, at most: it comes with every message."""

SIMPLE_TOKENS, COMPLEX_TOKENS = 1_000, 3_000
"""Budgets of a simple and of a complex question, where the request names none."""

FILLED_TOKENS = 350
"""A page of more tokens is filled with what matches less well, once what is relevant has its place."""

FILL = 0.3
"""Weight of a message that a memory was made of: it fills a page that memories leave room on."""

CELL_TOKENS, TURN_TOKENS, FEWEST = 15, 40, 8
"""Tokens that hardly a memory, or a message, takes less than: so many lines are made as a page may hold."""

LIKE_BEST = 0.5
"""Share of the best memory's score from which on one belongs to the list that a question asks for."""


def assemble(reader: Reader, request: ContextRequest, *, now: datetime) -> Context:
    """Choose what an agent should have in its prompt: `Context.text`, at most the budget's tokens as a whole.

    A question alone gets a page about it; what is asked beside a file, an error, a branch or an activity gets four
    tiers. `request.small` asks for the small form instead, which is empty where nothing is relevant and new to the
    conversation. Where `conversation_id` is given, what is shown is kept for it.

    Raises:
        ConfigError: the tokenizer is not installed, or the store cannot be read as it is.
    """
    request, settings = _cleaned(request), reader.settings.context
    layout = _layout(request)
    budget = _budget(request, layout, settings)
    shares = {"tiers": TIERS_OF[request.activity], "opening": OPENING}.get(layout, ONE_LIST)
    store, notes, chosen = reader.current(), [reader.why_nothing()], list[Chosen]()
    if store is not None and (store.count("cells") or store.count("turns")):
        entity = entity_of(reader, request.question) if layout == "question" else None
        layout, shares = ("profile", PROFILE_SHARES) if entity is not None else (layout, shares)
        room = budget - frame_tokens(now, layout, has_ids=request.ids)
        chosen, notes = _choose(reader, store, request, layout, room, shares, now, entity)
    context = finished(
        chosen, request, layout=layout, budget_tokens=budget, shares=shares, notes=notes, now=now
    )
    if not request.conversation_id:
        return context
    told = {line.text for line in context.lines}
    ids = {name for entry in chosen if entry.text in told for name in _shown_ids(entry.candidate)}
    note = keep_shown(reader.home, request.conversation_id, ids, now=now, unasked=request.opening)
    return context.model_copy(update={"notes": [*context.notes, note]}) if note else context


def _budget(request: ContextRequest, layout: Layout, settings: ContextSettings) -> int:
    """The tokens of the answer: those asked for, else by its form and by how much a question asks."""
    asked = COMPLEX_TOKENS if is_complex(request.question) else SIMPLE_TOKENS
    usual = {
        "small": settings.small_tokens,
        "opening": settings.opening_tokens,
        "question": min(asked, settings.budget_tokens),
        "profile": min(asked, settings.budget_tokens),
        "tiers": settings.budget_tokens,
    }[layout]
    budget = usual if request.budget_tokens is None else request.budget_tokens
    return min(budget, settings.small_tokens) if request.small else budget


def _shown_ids(line: Candidate) -> frozenset[str]:
    """Everything that a line mentions; a memory shows the messages that it rests on, too."""
    return line.ids | line.rests_on if line.cell_ids else line.ids


def _layout(request: ContextRequest) -> Layout:
    """The small form, a page about the question, or tiers where there are signals of work or no question."""
    if request.opening:
        return "opening"
    if request.small:
        return "small"
    has_signals = request.current_file or request.recent_errors or branch_words(request.branch or "")
    is_question = request.question and request.activity == "general" and not has_signals
    return "question" if is_question else "tiers"


def _choose(
    reader: Reader,
    store: Store,
    request: ContextRequest,
    layout: Layout,
    room: int,
    shares: Shares,
    now: datetime,
    entity: Entity | None,
) -> Packed:
    if layout == "tiers":
        return _choose_tiers(reader, store, request, room, shares, now)
    if layout == "opening":
        return _choose_opening(reader, store, request, room, shares, now)
    vector, note = reader.vector_of(request.question)
    mode = SMALL if layout == "small" else PAGE
    recalled = recall(reader, store, request.question, mode, vector=vector, now=now)
    notes = [note] if note else []
    if entity is not None:
        lines = counted(list(profile_lines(entity, recalled)), has_ids=request.ids)
        return pack(lines, budget_tokens=room, shares=shares, heading_tokens=heading_tokens(layout)), notes
    choose = _choose_small if layout == "small" else _choose_page
    return choose(reader, recalled, request, room), notes


def _choose_tiers(
    reader: Reader, store: Store, request: ContextRequest, room: int, shares: Shares, now: datetime
) -> Packed:
    """The four tiers: each signal worked through as a question, one budget."""
    notes = list[str]()

    def worked(text: str) -> Recalled | None:
        text = text[:MAX_QUERY_CHARACTERS]
        if not telling_words(text, most=1):
            return None
        vector, note = reader.vector_of(text)
        notes.extend([note] if note and note not in notes else [])
        return recall(reader, store, text, PAGE, vector=vector, now=now)

    path, branch = request.current_file or "", branch_words(request.branch or "")
    failures = failures_of(request.recent_errors)[:ERRORS]
    errors = [(failure, found) for failure in failures if (found := worked(failure.query)) is not None]
    work = Work(
        base=understand(reader, store, request.question, None, Filters(), now=now),
        request=request,
        asked=worked(request.question),
        around=worked(f"{file_words(path)} {path} {branch}"),
        errors=tuple(errors),
    )
    lines = counted(work_lines(work), has_ids=request.ids)
    return pack(lines, budget_tokens=room, shares=shares, heading_tokens=heading_tokens()), notes


def _choose_opening(
    reader: Reader, store: Store, request: ContextRequest, room: int, shares: Shares, now: datetime
) -> Packed:
    """Open matters and core memory; wishes without room are counted."""
    base = understand(reader, store, "", None, Filters(), now=now)
    recalled, conversation = Recalled(base, Gathered({}, {})), request.conversation_id or ""
    shown = shown_at_all(reader.home, conversation, now=now) if conversation else frozenset[str]()
    lines = counted(opening_lines(recalled, conversation=conversation), has_ids=request.ids)
    headings = heading_tokens("opening")
    chosen = pack(lines, budget_tokens=room, shares=shares, heading_tokens=headings, shown=shown)
    more = more_wishes([line for line in lines if not shown & line.ids], chosen, recalled)
    if more is None:
        return chosen, []
    (more,) = counted([more], has_ids=request.ids)
    room -= more.tokens[0]
    chosen = pack(lines, budget_tokens=room, shares=shares, heading_tokens=headings, shown=shown)
    return [*chosen, Chosen(more, 0)], []


ERRORS = 2
"""Recent errors that are worked through, newest first."""


def _choose_page(reader: Reader, recalled: Recalled, request: ContextRequest, room: int) -> list[Chosen]:
    """The best lines that fit; what asks for a list is told how many more there are."""
    said, units = recalled.said, recalled.units
    if room > FILLED_TOKENS:
        said, units = [*said, *recalled.more_said], [*units, *recalled.more_units]
    among = said[: max(room // TURN_TOKENS, FEWEST)]
    fresh = {one.turn_id for one in unread(recalled, among)}
    quotes = [
        one if one.turn_id in fresh else replace(one, score=FILL * one.score)
        for one in still_current(recalled, among)
    ]
    units = units[: max(room // CELL_TOKENS, FEWEST)]
    lines = counted(question_lines(recalled, units, quotes), has_ids=request.ids)
    chosen = _packed(lines, room, told_weight=TOLD_WEIGHT)
    more = _more_line(lines, chosen, recalled) if asks_for_list(request.question) else None
    if more is None:
        return chosen
    (more,) = counted([more], has_ids=request.ids)
    return [*_packed(lines, room - more.tokens[0], told_weight=TOLD_WEIGHT), Chosen(more, 0)]


def _more_line(lines: list[Candidate], chosen: list[Chosen], recalled: Recalled) -> Candidate | None:
    """A line that counts the memories of a list without room which score `LIKE_BEST` of the best or more."""
    shown = {cell_id for entry in chosen for cell_id in entry.candidate.cell_ids}
    best = max((unit.score for unit in recalled.units), default=0.0)
    left = [
        line for line in lines if line.cell_ids and line.score >= LIKE_BEST * best and not shown & line.ids
    ]
    if not left:
        return None
    text = f"({len(left)} more memories match nearly as well and have no room here.)"
    return Candidate("relevant", 0.0, "pointer", (text,), recalled.question.now, "memory", "more of the list")


def _choose_small(reader: Reader, recalled: Recalled, request: ContextRequest, room: int) -> list[Chosen]:
    """The few memories that a message itself calls for, and that its conversation was not shown."""
    if calls_for_nothing(request.question):
        return []
    conversation, question = request.conversation_id, request.question
    shown = frozenset[str]()
    if conversation:
        shown = shown_at_all(reader.home, conversation, now=recalled.question.now)
    units = [
        unit
        for unit in near_best(recalled.units, SMALL.cut)
        if unit.row["session_id"] != conversation and not is_repeated(unit.row["content"], question)
    ]
    best = max([unit.score for unit in units], default=0.0)
    said = [
        one
        for one in recalled.said
        if one.row["session_id"] != conversation
        and one.score >= SMALL.cut * best
        and not is_repeated(one.row["content"], question)
    ]
    fresh = list(
        islice((one for one in unread(recalled, said[:UNREAD]) if one.turn_id not in shown), SMALL_LINES)
    )
    lines = counted(question_lines(recalled, units, fresh), has_ids=request.ids)
    return _packed(lines, room, told_weight=0.0, shown=shown)[:SMALL_LINES]


UNREAD = 10
"""Messages, best first, among which the small form looks for those that no memory holds."""


def _packed(
    lines: list[Candidate], room: int, *, told_weight: float, shown: frozenset[str] = frozenset()
) -> list[Chosen]:
    tokens = group_tokens(lines)
    return pack_best(lines, budget_tokens=room, group_tokens=tokens, told_weight=told_weight, shown=shown)


def _cleaned(request: ContextRequest) -> ContextRequest:
    """The request without half characters; a question without any word asks nothing."""
    plain = [text.encode("utf-8", "replace").decode() for text in (request.question, *request.recent_errors)]
    question = plain[0].strip() if telling_words(plain[0], most=1) else ""
    return request.model_copy(update={"question": question, "recent_errors": tuple(plain[1:])})
