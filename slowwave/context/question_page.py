"""A page about a question: the memories and the turns that answer it, best first, grouped by the day they were said.

Nothing stands on it that does not match the question: no tiers, no pointers, no conventions, and nothing that neither
holds a telling word of it nor is near it in meaning. Both sides of an open
contradiction stand in the place of the better one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from slowwave.context.matches import Matches, find_matches, key_of
from slowwave.context.memories import said_by, state_of
from slowwave.context.page import day_heading
from slowwave.context.repeats import Richest, without_repeats
from slowwave.context.situation import Situation
from slowwave.context.standing import both_sides, open_contradictions
from slowwave.context.statements.later_turns import with_later
from slowwave.context.tiers import Candidate, Chosen
from slowwave.excerpts import quoted
from slowwave.language.alike import asks_what_holds
from slowwave.language.signals import fix_cue
from slowwave.prompting.page_lines import page_line
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.moments import day_of
from slowwave.schemas.search import CellHit, TurnHit
from slowwave.schemas.tables import REMEMBERED

CELL_TOKENS, TURN_TOKENS = 18, 40
"""Tokens that hardly a memory, or a turn, takes less than: so many are ranked as a budget may hold."""

MOST_CELLS, MOST_TURNS = 200, 100
"""Ranked at most, whatever the budget."""

WEIGHED = 0.3
"""Share of a score that counts by how relevant its text is: words are known to be few, and answers to use others."""

FOLLOWING = 0.5
"""Share of a turn's relevance that the turn after it has at least."""

COMPARED = 10
"""Best memories, and turns, of which the most relevant one stands for its kind."""

LATER_AMONG = 40
"""Best memories and turns among which a later statement is looked for that changed the matter of an earlier one."""

LIKE_BEST = 0.5
"""Share of the best memory's score from which on one belongs to the list that a question asks for."""

SHORT = 600
"""Below so many tokens a memory may stand in its compressed form."""


def question_lines(situation: Situation, *, budget_tokens: int) -> tuple[list[Candidate], list[str]]:
    """Lines for the page, with notes; scores are shares of the best memory's."""
    matches = find_matches(
        situation,
        most_cells=min(budget_tokens // CELL_TOKENS + 1, MOST_CELLS),
        most_turns=min(budget_tokens // TURN_TOKENS + 1, MOST_TURNS),
    )
    matches = relevant_matches(situation, matches)
    return match_lines(situation, matches, budget_tokens=budget_tokens), matches.notes


def relevant_matches(situation: Situation, matches: Matches) -> Matches:
    """Matches that have to do with the question, weighed by how much; else the best of those that have not would lead.

    What full text found stands, and what is relevant by its words or its similarity. The best memory counts as much
    less than 1 as the memories are less relevant than the turns.
    """
    turns, cells = _relevance(situation, matches)
    of_turns = max((turns[hit.turn_id] for hit in matches.turns[:COMPARED]), default=0.0)
    of_cells = max((cells[hit.cell_id] for hit in matches.cells[:COMPARED]), default=0.0)
    share = min(of_cells / of_turns, 1.0) if of_turns else 1.0

    def weighed(score: float, relevance: float) -> dict[str, float]:
        return {"score": score * (1.0 - WEIGHED + WEIGHED * relevance)}

    best_turns = [
        hit.model_copy(update=weighed(hit.score, turns[hit.turn_id]))
        for hit in matches.turns
        if turns[hit.turn_id] > 0 or hit.turn_id in matches.worded
    ]
    best_cells = [
        hit.model_copy(update=weighed(hit.score * share, cells[hit.cell_id]))
        for hit in matches.cells
        if cells[hit.cell_id] > 0 or hit.cell_id in matches.worded
    ]
    ranked: list[CellHit | TurnHit] = sorted([*best_cells, *best_turns], key=lambda hit: -hit.score)
    if asks_what_holds(situation.request.question):
        ranked = with_later(situation, ranked, ranked[:LATER_AMONG], matches.similarity)
    return replace(
        matches,
        cells=[hit for hit in ranked if isinstance(hit, CellHit)],
        turns=[hit for hit in ranked if isinstance(hit, TurnHit)],
    )


def match_lines(situation: Situation, matches: Matches, *, budget_tokens: int) -> list[Candidate]:
    """Lines of what was found: contradictions, memories without their repeats, turns."""
    lines = memory_lines(situation, matches, budget_tokens=budget_tokens)
    return [*lines, *quote_each(situation, matches.turns)]


def memory_lines(situation: Situation, matches: Matches, *, budget_tokens: int) -> list[Candidate]:
    """Lines of the memories that were found: contradictions, and memories without their repeats."""
    disputed, lines = _disputed(situation, matches)
    told = without_repeats([hit for hit in matches.cells if hit.cell_id not in disputed])
    return lines + [_memory(situation, richest, is_short=budget_tokens < SHORT) for richest in told]


def quote_each(situation: Situation, turns: Iterable[TurnHit]) -> Iterator[Candidate]:
    """The quotes of turns in their order, each made when it is taken."""
    return (line for turn in turns for line in _quote(situation, turn))


def more_line(lines: Sequence[Candidate], chosen: Sequence[Chosen], now: datetime) -> Candidate | None:
    """The line that says how many memories of a list have no room, where any is as good as `LIKE_BEST` of the best."""
    shown = {cell_id for entry in chosen for cell_id in entry.candidate.cell_ids}
    best = max((line.score for line in lines), default=0.0)
    left = [
        line for line in lines if line.cell_ids and line.score >= LIKE_BEST * best and not shown & line.ids
    ]
    if not left:
        return None
    text = f"({len(left)} more memories match nearly as well and have no room here.)"
    return Candidate("relevant", 0.0, "pointer", (text,), now, "memory", "more of the list")


# Inside


def _relevance(situation: Situation, matches: Matches) -> tuple[dict[str, float], dict[str, float]]:
    """The relevance of turns and of memories by id, 0..1.

    A turn that follows a relevant one may answer it, and a memory is as relevant as the best turn that it rests on, but
    what somebody told Slowwave itself stands alone. What is of the time that the question names is relevant.
    """
    similarity = matches.similarity

    def of(hit: CellHit | TurnHit, text: str) -> float:
        key, relevance = key_of(hit), situation.relevance
        if key in matches.timely:
            return 1.0
        weigh = relevance.of_statement if _is_statement(hit) else relevance.of
        return weigh(text, similarity.get(key, 0.0))

    said = {turn.turn_id: of(turn, f"{turn.speaker or ''} {turn.content}") for turn in matches.turns}
    at = {(turn.session_id, turn.turn_index): said[turn.turn_id] for turn in matches.turns}
    turns = {
        turn.turn_id: max(said[turn.turn_id], FOLLOWING * at.get((turn.session_id, turn.turn_index - 1), 0.0))
        for turn in matches.turns
    }
    cells = {
        hit.cell_id: max([of(hit, _told(hit)), *(said.get(key, 0.0) for key in hit.turn_ids)])
        for hit in matches.cells
    }
    return turns, cells


def _is_statement(hit: CellHit | TurnHit) -> bool:
    """Return whether somebody told it Slowwave itself, in a conversation of nothing else."""
    return hit.source_name == REMEMBERED


def _told(hit: CellHit) -> str:
    """All that a memory's line tells."""
    return " ".join((hit.content, *hit.steps, *(former.content for former in hit.history)))


def _disputed(situation: Situation, matches: Matches) -> tuple[set[str], list[Candidate]]:
    """Memories in an open contradiction, and a line for each pair with the score of its better side."""
    scores = {hit.cell_id: hit.score for hit in matches.cells}
    doubted = {hit.cell_id for hit in matches.cells if hit.has_open_contradiction}
    undecided = [pair for pair in matches.undecided if pair & doubted]
    taken, lines = set[str](), list[Candidate]()
    for one, other, note in open_contradictions(situation, doubted, undecided=undecided) if doubted else ():
        pair = {one.cell_id, other.cell_id}
        if not taken & pair:
            score = max(scores.get(cell_id, 0.0) for cell_id in pair)
            lines.append(replace(both_sides(one, other, note, score), tier="relevant"))
            taken |= pair
    return taken, lines


def _memory(situation: Situation, richest: Richest, *, is_short: bool) -> Candidate:
    """A memory with its history, or alone; on a short page also compressed."""
    hit, repeats = richest.hit, richest.repeats
    told = _procedure(hit) or quoted(
        hit.text, situation.asked, most=situation.settings.context.quote_characters
    )
    content = STATES[state_of(situation, hit)] + told
    tail = _other_days(
        hit, [repeat for repeat in repeats if repeat.event_time.date() != hit.event_time.date()]
    )
    former = [] if hit.cell_type == "task" else hit.history
    history = "; ".join(f"{past.value} ({day_of(past.valid_from)})" for past in former)
    texts = [f"{content}{tail} Before: {history}"] * bool(history) + [f"{content}{tail}"]
    texts += [hit.compressed] if is_short and hit.compressed else []
    mark = f" ({hit.whose})" * bool(hit.whose)
    evidence = [*hit.turn_ids, *(turn_id for repeat in repeats for turn_id in repeat.turn_ids)]
    return Candidate(
        tier="relevant",
        score=max(hit.score, *(repeat.score for repeat in repeats)) if repeats else hit.score,
        kind=hit.cell_type,
        forms=tuple(dict.fromkeys(f"- {page_line(text)}{mark}" for text in texts)),
        event_time=hit.event_time,
        source_name=hit.source_name,
        why="answers the question",
        cell_ids=(hit.cell_id, *(repeat.cell_id for repeat in repeats)),
        rests_on=frozenset() if hit.cell_type == EPISODE else frozenset(evidence),
        under=day_heading(hit.event_time, hit.source_name),
        wordings=frozenset({page_line(hit.content)}),
    )


STATES = {"no task": "", "open": "(task) ", "closed": "(done) ", "past": "(task, its day has passed) "}
"""How a line begins, by the state of its memory as a task."""


def _procedure(hit: CellHit) -> str | None:
    """A workflow's steps or a pattern's form in one line; None where there is neither."""
    name = hit.subject or hit.compressed or hit.content
    if hit.steps:
        return f"how to {name}: {'; '.join(hit.steps)}"
    return f"{name}: {hit.template}" if hit.template else None


def _other_days(hit: CellHit, repeats: list[CellHit]) -> str:
    """The other days on which a memory was told, and the day from which it holds where its text names no year."""
    began = day_of(hit.valid_from)
    is_told = hit.valid_from.date() == hit.event_time.date() or f"{hit.valid_from:%Y}" in hit.content
    days = sorted({day_of(repeat.event_time) for repeat in repeats})
    told = [] if is_told else [began]
    told += [f"also said {', '.join(days)}"] * bool(days)
    return f" ({'; '.join(told)})" if told else ""


def _quote(situation: Situation, turn: TurnHit) -> list[Candidate]:
    """A turn word by word, or its telling sentences; of untrusted origin only sections of files are quoted."""
    if turn.origin == "untrusted" and turn.role != "document":
        return []
    most = situation.settings.context.quote_characters
    text = quoted(turn.content, situation.asked, most=most, cue=fix_cue)
    said = said_by(turn, text)
    said = f"a document: {said}" if turn.role == "document" else said
    line = Candidate(
        tier="relevant",
        score=turn.score,
        kind="quote",
        forms=(f"- {page_line(said)}",),
        event_time=turn.event_time,
        source_name=turn.source_name,
        why="said about the question",
        turn_ids=(turn.turn_id,),
        rests_on=frozenset({turn.turn_id}),
        under=day_heading(turn.event_time, turn.source_name),
        wordings=frozenset({page_line(turn.content)}),
    )
    return [line] if text else []
