"""Answers of the memory as blocks, and the one way from any result of a route to its blocks."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

from pydantic import BaseModel

from slowwave.interfaces.rendering import cells, home, runs
from slowwave.interfaces.rendering.blocks import (
    Block,
    Cursor,
    Entry,
    Heading,
    Line,
    Note,
    Opening,
    Page,
    Quote,
    Render,
    Span,
    line,
    notes,
    quote,
)
from slowwave.interfaces.rendering.view import View
from slowwave.interfaces.rendering.words import (
    FIRST_STEPS,
    PERSON,
    clipped,
    short,
    shorts,
    until,
    valid,
)
from slowwave.schemas.moments import day_of, is_unknown
from slowwave.schemas.report import several, several_memories
from slowwave.schemas.results import (
    Cell,
    Dispute,
    Done,
    Entity,
    EntityResult,
    Erased,
    FormerValue,
    Rank,
    SearchResult,
    Timeline,
    Topic,
    Turn,
)

SEVERAL_PROJECTS: Final = (
    "Found in several projects: name one (on the command line `--project .`) to stay in it."
)

NOTHING: Final = "Nothing in memory answers that."

STEP_NAMES: Final = {"causal": "Led to", "supersedes": "Was replaced by", "elaborates": "Is explained by"}

MOST_SHOWN: Final = 20
"""Texts that an erase shows of what goes; more are counted."""

CHOICES: Final = "Choose a_wins, b_wins, both_valid, or merged with a text that replaces both."


def blocks_of(found: BaseModel | Sequence[BaseModel], view: View) -> Sequence[Block]:
    """The blocks of a result, by its type; of a list or page by the type of its entries.

    What only programs ask for, and no command or tool shows, is a page of JSON.
    """
    if not isinstance(found, BaseModel):
        return _LISTS[type(found[0]).__name__](found, view) if found else [Opening("Nothing found.")]
    name, _, of = type(found).__name__.partition("[")
    if of.rstrip("]") in _LISTS:
        return _list_page(found, of.rstrip("]"), view)
    render = _RENDERERS.get(name)
    return render(found, view) if render else [Page(found.model_dump_json(indent=2))]


def _list_page(page: Any, entry: str, view: View) -> list[Block]:
    """A page of a list: its entries, the count of them, the cursor of the next page and the notes."""
    if page.total and not page.entries:
        return [Opening("Nothing is on this page."), *notes(page.notes)]
    blocks = _LISTS[entry](page.entries, view)
    if page.entries:
        blocks = [*blocks, Note(f"{len(page.entries)} of {page.total:,}")]
    if page.next_cursor:
        blocks = [*blocks, Cursor(f"Next page: cursor {page.next_cursor}")]
    return [*blocks, *notes(page.notes)]


# Search


def _search(found: SearchResult, view: View) -> list[Block]:
    """Topic summaries, memories, what led to them and messages, best first, behind the line that leads."""
    has_projects = len({hit.project_id for hit in found.cells}) > 1
    entries = [
        *(_topic(hit, view) for hit in found.topics),
        *(_cell(hit, view, has_projects=has_projects) for hit in [*found.cells, *found.reasons]),
        *(_turn(hit, view) for hit in found.turns),
    ]
    if not entries:
        is_empty = any(note.startswith("No memory yet") for note in found.notes)
        said = [*found.notes] or [NOTHING]
        return [Opening(" ".join([*said, *([FIRST_STEPS] if is_empty else [])]))]
    lead = [Quote((Span(found.lead, "bold"),))] if found.lead else []
    asked = []
    if view.explain:
        since = f" from {found.after:%Y-%m-%d}" if found.after else ""
        asked = [f"read as a question for: {found.intent}{since}{until(found.before)}"]
    several_projects = [SEVERAL_PROJECTS] if has_projects else []
    return [Opening(_count_line(found)), *lead, *entries, *notes([*asked, *found.notes, *several_projects])]


def _count_line(found: SearchResult) -> str:
    memories = len(found.topics) + len(found.cells) + len(found.reasons)
    parts = [several(memories, "relevant memory", "relevant memories")] if memories else []
    if found.turns:
        parts.append(several(len(found.turns), "message" if memories else "relevant message"))
    return f"Found {' and '.join(parts)}:"


def _topic(hit: Topic, view: View) -> Entry:
    state = "; a memory behind it changed since" if hit.is_outdated else ""
    return Entry(
        (
            Heading(f'Topic Summary: "{clipped(hit.name)}" (updated {view.ago(hit.updated_at)}{state})'),
            _excerpt(hit.rank),
            *(line(f"since then: {one}", indent=2) for one in hit.since),
            *_why(hit.rank, view),
            _meta(day_of(hit.updated_at), several_memories(hit.cell_count), hit.whose or PERSON),
        )
    )


def _cell(hit: Cell, view: View, *, has_projects: bool) -> Entry:
    again = [several(hit.use.confirmations, "confirmation")] if hit.use and hit.use.confirmations else []
    state = [hit.status] if hit.status != "active" else []
    alert = [Span(" | "), Span("open contradiction", "alert")] if hit.has_open_contradiction else []
    source = [f"topic {hit.topic_name}"] if hit.topic_name else []
    source += [f"project {hit.project_id}"] if has_projects else []
    meta = _meta(f"id {short(hit.cell_id)}", day_of(hit.event_time), hit.whose or PERSON, *state, *again)
    rest = _meta("", *source, f"from {hit.source_name}")
    return Entry(
        (
            Heading(_title(hit, view)),
            _excerpt(hit.rank),
            *(line(f"{number}. {step}", indent=2) for number, step in enumerate(hit.steps, start=1)),
            *([line(f"form: {hit.template}", indent=2)] if hit.template else []),
            *([_rival(hit.rival)] if hit.rival else []),
            *([line(Span(f"note: {hit.echo}", "dim"), indent=2)] if hit.echo else []),
            *map(_former, hit.history),
            *map(_said, hit.evidence),
            *_why(hit.rank, view),
            Line((*meta.spans, *alert, *rest.spans)),
        )
    )


def _title(hit: Cell, view: View) -> str:
    """The title of a memory: its type, or how it led to another one."""
    if hit.step is None:
        return f"Memory [{hit.cell_type}] ({view.ago(hit.event_time)}, salience: {hit.salience:.1f})"
    how = f": {clipped(hit.step.predicate)}" if hit.step.predicate else ""
    return f"{STEP_NAMES.get(hit.step.relation, hit.step.relation)} {short(hit.step.reached_from)}{how}"


def _turn(hit: Turn, view: View) -> Entry:
    state = ", not yet read by a night" if hit.is_unread else ""
    title = f"Message ({view.ago(hit.event_time)}{state}) by {clipped(hit.said_by)}"
    about = (f"id {short(hit.turn_id)}", day_of(hit.event_time), hit.whose or PERSON)
    meta = _meta(*about, f"from {hit.source_name}")
    return Entry((Heading(title), _excerpt(hit.rank), *_why(hit.rank, view), meta))


def _excerpt(rank: Rank | None) -> Quote:
    """The part of a text that answers, with the words of the question in bold and the length of what is left out."""
    if rank is None or rank.excerpt is None:
        return quote(rank.text if rank else "")
    excerpt, spans, last = rank.excerpt, list[Span](), 0
    for start, end in excerpt.words:
        spans += [Span(excerpt.text[last:start]), Span(excerpt.text[start:end], "bold")]
        last = end
    left = len(rank.text) - sum(end - start for start, end in excerpt.parts)
    more = [Span(f" [{left} more characters]", "dim")] if left > 0 else []
    return Quote((*spans, Span(excerpt.text[last:]), *more))


def _former(past: FormerValue) -> Line:
    held = valid(past.valid_from, past.valid_until)
    return line(Span(f"before ({held}): {clipped(past.value)}", "dim"), indent=2)


def _rival(rival: Cell) -> Line:
    return line(f"undecided; the other side, id {short(rival.cell_id)}: {clipped(rival.content)}", indent=2)


def _said(turn: Turn) -> Line:
    """A message under the memory that rests on it."""
    text = turn.rank.excerpt.text if turn.rank and turn.rank.excerpt else turn.content
    said = f"said {day_of(turn.event_time)}, message {short(turn.turn_id)}, {clipped(turn.said_by)}: {text}"
    return line(Span(" ".join(said.split()), "dim"), indent=2)


def _why(rank: Rank | None, view: View) -> list[Line]:
    """The score and the columns that it was computed from, where the asker wants them."""
    if rank is None or not view.explain:
        return []
    columns = ", ".join(f"{name} {value:.4g}" for name, value in rank.why.items())
    return [line(Span(f"score {rank.score:.4f}: {columns}", "dim"), indent=2)]


def _meta(*parts: str) -> Line:
    return line(Span(" | ".join(parts), "dim"))


# Context, entities, timelines


def _context(found: Any, view: View) -> list[Block]:
    """The assembled text; the count of its tokens goes to a terminal's notes."""
    text = getattr(found, "context", None) or getattr(
        found, "text", ""
    )  # a route has other names for the same
    if not text:
        said = [f"{one} {FIRST_STEPS}" if one.startswith("No memory yet") else one for one in found.notes]
        return [*notes(said or ["Nothing in memory is relevant and new here."])]
    tokens = getattr(found, "token_count", None) or getattr(found, "tokens", 0)
    return [
        Page(text, is_fenced=True),
        *notes([*found.notes, f"{tokens} of {found.budget_tokens} tokens"]),
    ]


def _entity(found: EntityResult, view: View) -> list[Block]:
    """Each entity under its name: values now and before, neighbours, what was said lately."""
    has_projects = len({one.project_id for one in found.entities}) > 1
    pages = (_entity_page(one, view, has_projects=has_projects) for one in found.entities)
    count = len(found.entities)
    opening = [Opening(f"Found {count} entities of that name:")] if count > 1 else []
    return [*opening, *chain.from_iterable(pages), *notes(found.notes)]


def _entity_page(page: Entity, view: View, *, has_projects: bool) -> Iterator[Block]:
    where = f", project {page.project_id}" if has_projects else ""
    kind = f"{page.entity_type}, " if page.entity_type else ""
    since = "" if is_unknown(page.first_at) else f", since {day_of(page.first_at)}"
    count = several_memories(page.mention_count)
    yield Heading(f"{clipped(page.name)} ({kind}{count}{since}, last {view.ago(page.last_at)}{where})")
    if page.aliases:
        yield line(f"also called: {', '.join(page.aliases)}")
    if page.summary:
        yield quote(page.summary)
        if page.needs_review:
            yield line(
                Span("a memory behind this summary was superseded; the next night writes it anew", "dim")
            )
    for fact in page.facts:
        yield _fact(fact)
    if page.neighbours:
        named = ", ".join(f"{one.name} ({one.shared_count})" for one in page.neighbours)
        yield line(Span(f"named together with: {named}", "dim"))
    yield from map(_event, page.lately)


def _fact(fact: Cell) -> Entry:
    alert = [Span("open contradiction, ", "alert")] if fact.has_open_contradiction else []
    said = f"{clipped(fact.attribute or '')}: {clipped(fact.value or '')}"
    first = line(
        f"id {short(fact.cell_id)}, since {day_of(fact.valid_from)}, ", *alert, Span(said, "bold"), indent=1
    )
    return Entry((first, *map(_former, fact.history)))


def _timeline(found: Timeline, view: View) -> list[Block]:
    """One line an event, oldest first; superseded ones are marked."""
    if not found.events:
        return [Opening("Nothing with a date is known of that."), *notes(found.notes)]
    return [Heading(f"Timeline: {clipped(found.title)}"), *map(_event, found.events), *notes(found.notes)]


def _event(event: Cell) -> Line:
    state = ""
    if event.status == "superseded":
        by = f" by {short(event.superseded_by)}" if event.superseded_by else ""
        state = f", superseded{by}{until(event.valid_until)}"
    elif event.status != "active":
        state = f", {event.status}"
    head = f"{day_of(event.valid_from)} [{event.cell_type}] id {short(event.cell_id)}, {event.whose or PERSON}{state}: "
    return line(Span(head, "dim"), Span(clipped(event.content), "dim" if state else ""), indent=1)


# Contradictions


def _disputes(found: Sequence[Dispute], view: View) -> list[Block]:
    """Contradictions, both sides under each other."""
    if not found:
        return [Opening("No contradiction is open.")]
    open_count = sum(one.status == "open" for one in found)
    said = f"{several(open_count, 'open contradiction')}. Of the two sides a person decides which is right. {CHOICES}"
    return [*([Opening(said)] if open_count else []), *map(_dispute, found)]


def _dispute(one: Dispute) -> Entry:
    about = "".join(f" / {clipped(part)}" for part in (one.subject, one.attribute) if part)
    state = f"resolved, {one.resolution}" if one.resolution else one.status
    remarks = [("why", one.note), ("resolved because", one.resolution_note)]
    return Entry(
        (
            Heading(f"Contradiction {short(one.contradiction_id)} ({state}, {day_of(one.detected_at)}){about}"),
            *_side("a", one.a),
            *_side("b", one.b),
            *(line(Span(f"{name}: {text}", "dim"), indent=1) for name, text in remarks if text),
        )
    )  # fmt: skip


def _side(name: str, side: Cell | None) -> list[Line]:
    if side is None:
        return [line(f"{name}: no longer there", indent=1)]
    state = [side.status] if side.status != "active" else []
    head = ", ".join([f"id {short(side.cell_id)}", day_of(side.event_time), cells.word_of(side), *state])
    return [
        line(f"{name}: {head}, from {clipped(side.source_name)}", indent=1),
        line(clipped(side.content, 400), indent=2),
    ]


# Edits


def _done(found: Done, view: View) -> list[Block]:
    """The memory that was edited, what it replaced and what changed."""
    if found.contradiction_id:
        return [Opening(_decided(found)), *notes(found.notes)]
    if not found.content:
        return [Opening(f"Remembered as {short(found.cell_id)}."), *notes(found.notes)]
    replaced = f", replaces {shorts(found.replaced)}" if found.replaced else ""
    left = [line(f"no longer shown: {clipped(one)}", indent=1) for one in found.left_out]
    return [
        Opening(f"{_deed(found)}: id {short(found.cell_id)}{replaced}"),
        quote(found.content),
        *left,
        *notes(found.notes),
    ]


def _deed(found: Done) -> str:
    """Effects of an edit, by its events."""
    if "cell.deleted" in found.changed:
        return "Forgotten"
    if found.reason is not None and found.replaced:
        return "Corrected"
    if "cell.protected" in found.changed:
        return "Confirmed"
    return "Recorded" if found.changed else "Unchanged"


def _decided(found: Done) -> str:
    """The end of a contradiction, or that it is open again."""
    state = f"resolved, {found.resolution}" if found.resolution else "open again"
    parts = [f"Contradiction {short(found.contradiction_id)} is {state}."]
    parts += [f"{short(found.cell_id)} is current."] if found.cell_id else []
    parts += [f"Superseded: {shorts(found.replaced)}."] if found.replaced else []
    parts += [f"Restored: {shorts(found.restored)}."] if found.restored else []
    return " ".join(parts)


def _erased(found: Erased, view: View) -> list[Block]:
    """Counts of what was or would be erased, and the proof that it is gone."""
    counts = (
        f"{several(len(found.turn_ids), 'message')}, {several_memories(len(found.cell_ids))}, "
        f"{several(len(found.topic_ids), 'topic summary', 'topic summaries')}"
    )
    if found.dry_run:
        return [
            Opening(f"Would erase {counts}:"),
            *_first_of(found.shown),
            *([line("Believed again without it:"), *_first_of(found.revived)] if found.revived else []),
            *notes(found.notes),
        ]
    proof = f"Proof: every byte of the home was searched for {several(found.searched_texts, 'text')}; none is there."
    left = [Opening(f"Still in {name}: {count}") for name, count in found.remaining.items()]
    short_note = f"Too short to be searched for: {several(found.short_texts, 'text')}; their rows are gone."
    return [
        Opening(f"Erased {counts}."),
        *(Opening(f"  {name}: {count}") for name, count in found.rewritten.items()),
        *([Opening(proof)] if found.is_proven else left),
        *([Opening(short_note)] if found.short_texts else []),
        *notes(found.notes),
    ]


def _first_of(texts: Sequence[str]) -> list[Block]:
    more = len(texts) - MOST_SHOWN
    rest = [line(f"and {more} more", indent=1)] if more > 0 else []
    return [*(line(clipped(text), indent=1) for text in texts[:MOST_SHOWN]), *rest]


def _released(found: Any, view: View) -> list[Block]:
    return [Opening(f"Back to the next night: {len(found.ids)}. {shorts(found.ids)}")]


_RENDERERS: Final[dict[str, Render]] = {
    "SearchResult": _search,
    "Context": _context,
    "Assembled": _context,
    "EntityResult": _entity,
    "Timeline": _timeline,
    "Done": _done,
    "Erased": _erased,
    "Released": _released,
    **cells.RENDERERS,
    **home.RENDERERS,
    **runs.RENDERERS,
}
"""By the name of the type: the types of the HTTP and hook rooms would bring FastAPI into every command."""

_LISTS: Final[dict[str, Render]] = {"Dispute": _disputes, **cells.LISTS, **home.LISTS}
