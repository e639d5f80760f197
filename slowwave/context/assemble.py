"""One request, one block of memory: four tiers within a budget, or the small form for a message."""

from collections.abc import Callable
from datetime import datetime
from itertools import islice

from slowwave.context.episodes import episode_lines
from slowwave.context.fixes import fix_lines
from slowwave.context.gather import signals_find, tier_lines
from slowwave.context.page import Layout, counted, finished, frame_tokens, group_tokens, heading_tokens
from slowwave.context.question_page import more_line, question_lines, quote_each
from slowwave.context.shown import keep_shown, shown_at_all
from slowwave.context.situation import Situation
from slowwave.context.small import small_lines
from slowwave.context.standing import background_lines, contradiction_lines, index_lines, opening_lines
from slowwave.context.statements.preferences import more_wishes
from slowwave.context.tiers import Candidate, Chosen, pack, pack_best
from slowwave.language.intents import asks_for_list
from slowwave.language.query_words import telling_words
from slowwave.language.signals import branch_words
from slowwave.schemas.context import Context, ContextRequest
from slowwave.schemas.search import TurnHit
from slowwave.search import Reader
from slowwave.settings.reading import Shares

Packed = tuple[list[Chosen], list[str]]
"""Lines that have their place, best first, and notes."""

ONE_LIST: Shares = (0.0, 1.0, 0.0, 0.0)
"""Shares where there are no tiers: all is in the second."""


QUOTED_AT_ONCE = 2
"""Quotes that the small form makes before it looks whether its lines stand."""

LONGEST_TOKEN = 5
"""Characters of a token at most, over a whole message: prose has about four, and code fewer."""


def assemble(reader: Reader, request: ContextRequest, *, now: datetime) -> Context:
    """Choose what an agent should have in its prompt: `Context.text`, at most the budget's tokens as a whole.

    A question alone gets a page about it; what is asked beside a file, an error, a branch or an activity gets four
    tiers, packed in order. `request.small` asks for the small form instead, which is empty where nothing is relevant
    and new to the conversation. Where `conversation_id` is given, what is shown is kept for it.

    Raises:
        ConfigError: the tokenizer is not installed, or the store cannot be read as it is.
    """
    request, settings = _cleaned(request), reader.settings.context
    layout = _layout(request)
    usual = {"small": settings.small_tokens, "opening": settings.opening_tokens}
    most = usual.get(layout, settings.budget_tokens)
    budget = most if request.budget_tokens is None else request.budget_tokens
    if request.small:
        budget = min(budget, settings.small_tokens)
    shares: Shares = getattr(settings, f"{request.activity}_shares") if layout == "tiers" else ONE_LIST
    shares = settings.opening_shares if layout == "opening" else shares
    store, notes, chosen = reader.current(), [reader.why_nothing()], list[Chosen]()
    if store is not None and (store.count("cells") or store.count("turns")):
        situation = Situation(reader, store, request, now)
        room = budget - frame_tokens(now, layout, has_ids=request.ids)
        chosen, notes = _CHOOSE[layout](situation, room, shares)
    context = finished(
        chosen, request, layout=layout, budget_tokens=budget, shares=shares, notes=notes, now=now
    )
    if not request.conversation_id:
        return context
    told = {line.text for line in context.lines}
    ids = {name for entry in chosen if entry.text in told for name in _told_by(entry.candidate)}
    note = keep_shown(reader.home, request.conversation_id, ids, now=now, unasked=request.opening)
    return context.model_copy(update={"notes": [*context.notes, note]}) if note else context


def _told_by(line: Candidate) -> frozenset[str]:
    """Everything that a line speaks of; a memory tells the turns that it rests on, too."""
    return line.ids | line.rests_on if line.cell_ids else line.ids


def _layout(request: ContextRequest) -> Layout:
    """The small form, a page about the question, or tiers where there are signals of work beside it or no question."""
    if request.opening:
        return "opening"
    if request.small:
        return "small"
    has_signals = request.current_file or request.recent_errors or branch_words(request.branch or "")
    is_question = request.question and request.activity == "general" and not has_signals
    return "question" if is_question else "tiers"


def _choose_small(situation: Situation, room: int, _: Shares) -> Packed:
    found, has_ids = small_lines(situation, budget_tokens=room), situation.request.ids
    lines, shown = counted(found.lines, has_ids=has_ids), _shown(situation)
    most = situation.settings.context.small_lines
    chosen = _best(lines, room, told_weight=0.0, shown=shown)[:most]
    turns = (
        turn for turn in found.turns if turn.turn_id not in shown and _may_fit(situation, turn, chosen, room)
    )
    while quotes := counted(list(islice(quote_each(situation, turns), QUOTED_AT_ONCE)), has_ids=has_ids):
        lines += quotes  # a quote takes long to make: only as many as may have a place
        chosen = _best(lines, room, told_weight=0.0, shown=shown)[:most]
        if len(chosen) == most and chosen[-1].candidate.score >= quotes[-1].score:
            break
    return chosen, found.notes


def _may_fit(situation: Situation, turn: TurnHit, chosen: list[Chosen], room: int) -> bool:
    """Return whether the lines that are as good leave room for a turn's quote."""
    room -= sum(entry.tokens for entry in chosen if entry.candidate.score >= turn.score)
    most = situation.settings.context.quote_characters
    plain = " ".join(turn.content[: 2 * most].split())
    return min(len(plain), most) <= room * LONGEST_TOKEN


def _choose_opening(situation: Situation, room: int, shares: Shares) -> Packed:
    lines = counted(opening_lines(situation), has_ids=situation.request.ids)
    headings, shown = heading_tokens("opening"), _shown(situation)
    chosen = pack(lines, budget_tokens=room, shares=shares, heading_tokens=headings, shown=shown)
    more = more_wishes([line for line in lines if not shown & line.ids], chosen, situation.now)
    if more is None:
        return chosen, []
    (more,) = counted([more], has_ids=situation.request.ids)
    room -= more.tokens[0]
    chosen = pack(lines, budget_tokens=room, shares=shares, heading_tokens=headings, shown=shown)
    return [*chosen, Chosen(more, 0)], []


def _shown(situation: Situation) -> frozenset[str]:
    """All that the conversation was shown."""
    conversation = situation.request.conversation_id
    if not conversation:
        return frozenset()
    return shown_at_all(situation.reader.home, conversation, now=situation.now)


def _choose_best(situation: Situation, room: int, _: Shares) -> Packed:
    found, notes = question_lines(situation, budget_tokens=room)
    lines = counted(found, has_ids=situation.request.ids)
    told_weight = situation.settings.context.told_weight
    chosen = _best(lines, room, told_weight=told_weight)
    more = more_line(lines, chosen, situation.now) if asks_for_list(situation.request.question) else None
    if more is not None:
        (more,) = counted([more], has_ids=situation.request.ids)
        chosen = [Chosen(more, 0), *_best(lines, room - more.tokens[0], told_weight=told_weight)]
    return chosen, notes


def _best(
    lines: list[Candidate], room: int, *, told_weight: float, shown: frozenset[str] = frozenset()
) -> list[Chosen]:
    return pack_best(
        lines,
        budget_tokens=room,
        group_tokens=group_tokens(lines),
        told_weight=told_weight,
        shown=shown,
    )


def _choose_tiers(situation: Situation, room: int, shares: Shares) -> Packed:
    lines, notes = _tiers(situation)
    lines = counted(lines, has_ids=situation.request.ids)
    return pack(lines, budget_tokens=room, shares=shares, heading_tokens=heading_tokens()), notes


_CHOOSE: dict[Layout, Callable[[Situation, int, Shares], Packed]] = {
    "small": _choose_small,
    "question": _choose_best,
    "tiers": _choose_tiers,
    "opening": _choose_opening,
}


def _tiers(situation: Situation) -> tuple[list[Candidate], list[str]]:
    """Lines that the four tiers want, with notes."""
    found = signals_find(situation)
    lines = contradiction_lines(situation, found)
    lines += fix_lines(situation)
    lines += tier_lines(situation, found)
    lines += background_lines(situation)
    lines += episode_lines(situation)
    lines += index_lines(situation, lines, found)
    return lines, found.notes


def _cleaned(request: ContextRequest) -> ContextRequest:
    """The request without half characters; a question without any word asks nothing."""
    plain = [text.encode("utf-8", "replace").decode() for text in (request.question, *request.recent_errors)]
    question = plain[0].strip() if telling_words(plain[0], most=1) else ""
    return request.model_copy(update={"question": question, "recent_errors": tuple(plain[1:])})
