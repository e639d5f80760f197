"""Commands that ask: each sends one question to the home's server, and none changes a memory."""

from typing import Any

import click

from slowwave.interfaces.cli.client import Question, asking, part
from slowwave.interfaces.cli.options import filter_options, project_option

MOST_ARCHIVED = 25
"""The most archived memories that one search shows; the server's own bound."""


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--limit", type=int, metavar="1..25", help="The most summaries and memories together (default: 10)."
)
@click.option(
    "--detail",
    "detail_level",
    metavar="summary|full|evidence",
    help="Topic summaries only; memories too (default); or also the messages behind them.",
)
@click.option(
    "--conversation", "conversation_id", metavar="ID", help="The conversation that uses the answer."
)
@click.option("--status", metavar="active|archived", help="`archived` searches memories that have faded.")
@click.option("--explain", is_flag=True, help="Show why each result was found.")
@filter_options
@asking
def search(query: tuple[str, ...], *, status: str | None, explain: bool, **asked: Any) -> Question:
    """Search the memory.

    Topic summaries and memories, current values first, with what held before. No language model is asked. That a memory
    was found is noted; nothing else changes.
    """
    if status not in (None, "active", "archived"):
        raise click.BadParameter(f"{status} is not active or archived", param_hint="--status")
    words = " ".join(query)
    if status == "archived":
        limit = min(asked["limit"] or 10, MOST_ARCHIVED)
        return Question("/v1/archived", query={"query": words, "limit": limit})
    return Question("/v1/search", body={"query": words, **asked}, explain=explain)


@click.command()
@click.argument("question", nargs=-1)
@click.option("--activity", metavar="feature|debugging|reviewing|general", help="The kind of work.")
@click.option("--file", "current_file", metavar="PATH", help="The file that is being edited.")
@click.option(
    "--error", "recent_errors", metavar="TEXT", multiple=True, help="A recent error. May be repeated."
)
@click.option("--branch", metavar="NAME", help="Branch of version control.")
@click.option(
    "--budget", "budget_tokens", type=int, metavar="TOKENS", help="The most tokens that the text may have."
)
@click.option(
    "--conversation",
    "conversation_id",
    metavar="ID",
    help="The conversation that reads it: nothing is shown twice.",
)
@click.option(
    "--small", is_flag=True, help="The short form for every message: only what is relevant and new."
)
@click.option(
    "--opening", is_flag=True, help="The form for the start of a conversation; it takes no question."
)
@click.option("--ids", is_flag=True, help="Name each memory by its id, so that an answer can cite it.")
@project_option
@asking
def context(question: tuple[str, ...], **asked: Any) -> Question:
    """Print memory for a prompt, within a budget of tokens.

    Stdout is the text and nothing else.
    """
    return Question("/v1/context/assemble", body={"question": " ".join(question) or None, **asked})


@click.command("list")
@click.option(
    "--status",
    metavar="active|superseded|archived|all",
    help="Only memories in this state (default: active; with --as-of or --known-at what was active then).",
)
@click.option(
    "--fading", type=float, metavar="DAYS", help="List what fades within these days unless it is used."
)
@click.option("--limit", type=int, metavar="1..200", help="The most memories of the page (default: 50).")
@click.option("--cursor", metavar="CURSOR", help="Where the page before says that the next one begins.")
@filter_options
@asking
def list_cells(*, status: str | None, fading: float | None, **asked: Any) -> Question:
    """List memories, newest first, a page at a time.

    The last line says how to see the next page. --fading lists what the coming nights will archive, soonest first.
    """
    if fading is not None:
        page = {name: asked.pop(name) for name in ("limit", "cursor")}
        if status is not None or any(asked.values()):
            raise click.UsageError("--fading goes with --limit and --cursor alone")
        return Question("/v1/weak", query={"days": fading, **page})
    is_past = asked["as_of"] is not None or asked["known_at"] is not None
    wanted = status or ("all" if is_past else "active")
    return Question("/v1/cells", query={**asked, "status": None if wanted == "all" else wanted})


@click.command()
@click.argument("cell_id", metavar="ID")
@asking
def explain(cell_id: str) -> Question:
    """Explain why a memory is there.

    What was said, what was judged, and every event of its life. An id's first six characters are enough.
    """
    return Question(f"/v1/cells/{part(cell_id)}/explanation")


@click.command()
@click.argument("name", nargs=-1, required=True)
@project_option
@asking
def entity(name: tuple[str, ...], *, project: str | None) -> Question:
    """Show what is known of a name.

    A person, a project, a tool or a place: other names, values now and before, neighbours.
    """
    return Question("/v1/entity", query={"name": " ".join(name), "project": project})


@click.command()
@click.argument("name", nargs=-1)
@click.option("--topic", metavar="NAME", help="A topic instead, by its name or id.")
@click.option("--session", metavar="ID", help="A conversation instead, by its id or file name.")
@click.option(
    "--limit", type=int, metavar="1..10000", help="The most events; the newest are kept (default: 100)."
)
@project_option
@asking
def timeline(name: tuple[str, ...], **asked: Any) -> Question:
    """Show memories in the order of their dates.

    Superseded ones show the date on which they ended.
    """
    return Question("/v1/timeline", query={**asked, "name": " ".join(name) or None})


@click.command()
@click.option("--all", "has_resolved", is_flag=True, help="Show resolved ones too.")
@asking
def contradictions(*, has_resolved: bool) -> Question:
    """List contradictions that wait for your decision.

    Both sides are shown with dates and sources.
    """
    return Question("/v1/contradictions", query={"has_resolved": has_resolved, "limit": 200})


@click.command()
@click.option(
    "--counts", is_flag=True, help="Count the memories by type, status, topic, age and origin, and their use."
)
@asking
def status(*, counts: bool) -> Question:
    """Show waiting work, the last night and sizes."""
    return Question("/v1/stats" if counts else "/v1/status")


@click.group()
def quarantine() -> None:
    """List or release work that the model could not do."""


@quarantine.command("list")
@asking
def list_quarantine() -> Question:
    """List the work in quarantine, with reasons.

    Chunks, conversations and pairs of memories for which the model gave no usable answer.
    """
    return Question("/v1/quarantine", query={"limit": 200})


@quarantine.command("release")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Release everything.")
@asking
def release(ids: tuple[str, ...], *, everything: bool) -> Question:
    """Release work for the next night, which asks the model again."""
    if bool(ids) == everything:
        raise click.UsageError("name what to release, or give --all")
    return Question("/v1/quarantine/release", body={"ids": ids}, writes=True)
