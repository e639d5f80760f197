"""One request, one block of memory: four tiers within a budget, or the small form for a message."""

from datetime import datetime

from slowwave.context.episodes import episode_lines
from slowwave.context.fixes import fix_lines
from slowwave.context.gather import signals_find, tier_lines
from slowwave.context.page import counted, finished, frame_tokens, heading_tokens
from slowwave.context.shown import keep_shown, shown_to
from slowwave.context.situation import Situation
from slowwave.context.small import small_lines
from slowwave.context.standing import background_lines, contradiction_lines, index_lines
from slowwave.context.tiers import Candidate, pack
from slowwave.language.query_words import telling_words
from slowwave.schemas.context import Context, ContextRequest
from slowwave.search import Reader
from slowwave.settings.reading import Shares


def assemble(reader: Reader, request: ContextRequest, *, now: datetime) -> Context:
    """Choose what an agent should have in its prompt: `Context.text`, at most the budget's tokens as a whole.

    The four tiers are packed in order; `request.small` asks for the small form instead, which is empty where nothing
    is relevant and new to the conversation. Where `conversation_id` is given, what is shown is kept for it.

    Raises:
        ConfigError: the tokenizer is not installed, or the store cannot be read as it is.
    """
    request, settings = _cleaned(request), reader.settings.context
    usual = settings.small_tokens if request.small else settings.budget_tokens
    budget = usual if request.budget_tokens is None else request.budget_tokens
    if request.small:
        budget = min(budget, settings.small_tokens)
    shares: Shares = (
        (0.0, 1.0, 0.0, 0.0) if request.small else getattr(settings, f"{request.activity}_shares")
    )
    store = reader.current()
    notes, lines = [reader.why_nothing()], list[Candidate]()
    if store is not None and (store.count("cells") or store.count("turns")):
        lines, notes = (small_lines if request.small else _tiers)(Situation(reader, store, request, now))
    shown = frozenset[str]()
    if request.small and request.conversation_id:
        shown = frozenset(shown_to(reader.home, request.conversation_id, now=now))
    chosen = pack(
        counted(lines),
        budget_tokens=budget - frame_tokens(now, small=request.small),
        shares=shares,
        heading_tokens=heading_tokens(small=request.small),
        shown=shown,
    )
    if request.small:
        chosen = chosen[: settings.small_lines]
    context = finished(chosen, request, budget_tokens=budget, shares=shares, notes=notes, now=now)
    if not request.conversation_id:
        return context
    ids = {name for line in context.lines for name in (*line.cell_ids, *line.topic_ids, *line.turn_ids)}
    note = keep_shown(reader.home, request.conversation_id, ids, now=now)
    return context.model_copy(update={"notes": [*context.notes, note]}) if note else context


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
