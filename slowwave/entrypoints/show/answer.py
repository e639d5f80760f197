"""An answer on a terminal: each tier under its labels, every line with its date and source."""

from datetime import datetime
from textwrap import shorten

from rich.console import Group
from rich.text import Text

from slowwave.entrypoints.show.terminal import ago, flat, results, say, until, visible
from slowwave.schemas.moments import day_of, from_day
from slowwave.schemas.report import several, several_memories
from slowwave.schemas.search import (
    CellHit,
    ChainStep,
    Excerpt,
    FormerValue,
    Hit,
    SearchResult,
    TopicHit,
    TurnHit,
)

VALUE_CHARACTERS = 240

FIRST_STEPS = "(`slowwave ingest PATH` and `slowwave run nightly` make one)"

STEP_NAMES = {"causal": "Led to", "supersedes": "Was replaced by", "elaborates": "Is told further by"}

SAID = {
    "fact": "a fact, said",
    "decision": "decided",
    "preference": "a wish, said",
    "task": "a task, given",
    "risk": "a risk, named",
    "code_ref": "a place in the code, named",
    "insight": "learned",
    "pattern": "a pattern, seen",
    "workflow": "a workflow, described",
    "episode": "a conversation,",
}
"""Before the age of a memory: what it is, by its type."""

ALL_PROJECTS = (
    "All projects were looked through: `--project .` keeps to that of this folder, `--project ID` to another"
)


def show_answer(
    result: SearchResult, *, now: datetime, explain: bool = False, is_narrowed: bool = True
) -> None:
    """Topic summaries, memories and turns, best first; notes go to stderr, also whether no project `is_narrowed` to."""
    console = results()
    has_projects = len({hit.project_id for hit in result.cells}) > 1
    blocks: list[Group | Text] = [Text(f"{visible(result.lead)}\n", style="bold")] if result.lead else []
    blocks += [
        *(_topic(hit, now, explain=explain) for hit in result.topics),
        *(_cell(hit, now, explain=explain, has_projects=has_projects) for hit in result.cells),
        *(_step(step) for step in result.reasons),
        *(_turn(hit, now, explain=explain) for hit in result.turns),
    ]
    if explain:
        since = f" from {result.after:%Y-%m-%d}" if result.after else ""
        say(f"taken as a question for: {result.intent}{since}{until(result.before)}")
    for note in result.notes if blocks else ():
        say(note)
    if has_projects and not is_narrowed:
        say(ALL_PROJECTS)
    if not blocks:
        notes = [flat(note) for note in result.notes] or ["Nothing in memory answers that."]
        hint = f" {FIRST_STEPS}" if any(note.startswith("No memory yet") for note in notes) else ""
        console.print(" ".join(notes) + hint, soft_wrap=True)
    for block in blocks:
        console.print(block, soft_wrap=not console.is_terminal)


def _topic(hit: TopicHit, now: datetime, *, explain: bool) -> Group:
    state = "; memories behind it changed since" if hit.is_outdated else ""
    label = f'--- Topic summary: "{flat(hit.name)}" (updated {ago(hit.updated_at, now)}{state}) ---'
    count = several_memories(hit.cell_count)
    return Group(
        Text(label, style="bold"),
        _excerpt(hit.excerpt, hit.summary),
        *(Text(f"    since then: {flat(line)}") for line in hit.since),
        *_why(hit, explain),
        Text(" | ".join([count, *([hit.whose] if hit.whose else [])]) + "\n", style="dim"),
    )


def _cell(hit: CellHit, now: datetime, *, explain: bool, has_projects: bool) -> Group:
    label = f"--- Memory: {flat(SAID.get(hit.cell_type, hit.cell_type))} {ago(hit.event_time, now)} ---"
    where = [day_of(hit.event_time), flat(hit.source_name), flat(hit.topic_name or "no topic")]
    where += [f"project {flat(hit.project_id)}"] if has_projects else []
    where += [hit.whose] if hit.whose else []
    if hit.confirmations:
        where.append(several(hit.confirmations, "confirmation"))
    last = Text(" | ".join([*where, hit.cell_id[:8], *_left_out(hit.excerpt, hit.text)]), style="dim")
    if hit.has_open_contradiction:
        last.append(" | ").append("open contradiction", style="not dim bold red")
    return Group(
        Text(label, style="bold"),
        _excerpt(hit.excerpt, hit.text),
        *(Text(f"    {number}. {flat(step)}") for number, step in enumerate(hit.steps, start=1)),
        *([Text(f"    form: {flat(hit.template)}")] if hit.template else []),
        *([Text(f"    undecided; the other side: {flat(hit.rival.content)}")] if hit.rival else []),
        *([Text(f"    {flat(hit.echo)}", style="dim")] if hit.echo else []),
        *(Text(f"    {_former(value)}", style="dim") for value in hit.history),
        *(_quoted(turn) for turn in hit.evidence),
        *_why(hit, explain),
        last.append("\n"),
    )


def _step(step: ChainStep) -> Group:
    how = f": {flat(step.predicate)}" if step.predicate else ""
    label = f"--- {STEP_NAMES[step.relation]} {step.reached_from[:8]}{how} ---"
    where = [day_of(step.event_time), flat(step.source_name), step.status, step.cell_id[:8]]
    where += _left_out(step.excerpt, step.content)
    return Group(
        Text(label, style="bold"),
        _excerpt(step.excerpt, step.content),
        Text(" | ".join(where) + "\n", style="dim"),
    )


def _turn(hit: TurnHit, now: datetime, *, explain: bool) -> Group:
    state = ", not yet read by a night" if hit.is_unread else ""
    label = f"--- Said by {flat(hit.said_by)} ({ago(hit.event_time, now)}{state}) ---"
    where = [day_of(hit.event_time), flat(hit.source_name), *_left_out(hit.excerpt, hit.content)]
    text = _excerpt(hit.excerpt, hit.content)
    last = Text(" | ".join(where) + "\n", style="dim")
    return Group(Text(label, style="bold"), text, *_why(hit, explain), last)


def _excerpt(excerpt: Excerpt | None, whole: str) -> Text:
    """The excerpt of a text, the question's words bold on a terminal; stored text cannot mark anything."""
    if excerpt is None:
        return Text(visible(whole))
    shown, last = Text(), 0
    for start, end in excerpt.words:
        shown.append(visible(excerpt.text[last:start])).append(visible(excerpt.text[start:end]), style="bold")
        last = end
    return shown.append(visible(excerpt.text[last:]))


def _left_out(excerpt: Excerpt | None, whole: str) -> list[str]:
    """The number of characters that are not shown, where there are any."""
    left = len(whole) - sum(end - start for start, end in excerpt.parts) if excerpt is not None else 0
    return [f"{left} more characters, --json has all"] if left else []


def _former(value: FormerValue) -> str:
    held = f"{from_day(value.valid_from)}{until(value.valid_until)}"
    return f"before: {shorten(flat(value.value), VALUE_CHARACTERS, placeholder=' ...')} ({held})"


def _quoted(turn: TurnHit) -> Text:
    """A turn under the memory that it is the evidence of, in one line."""
    text = turn.content if turn.excerpt is None else turn.excerpt.text
    return Text(f"    said: {day_of(turn.event_time)} {flat(turn.said_by)}: {flat(text)}", style="dim")


def _why(hit: Hit, explain: bool) -> list[Text]:
    """One line: the score and the columns that it was computed from."""
    if not explain:
        return []
    columns = ", ".join(f"{name} {value:.4g}" for name, value in hit.why.items())
    return [Text(f"    score {hit.score:.4f}: {columns}", style="dim")]
