"""Commands that ask: each sends one question to the home's server, and none changes a memory."""

from typing import Any

import click

from slowwave.interfaces.cli.client import Question, document, part, project_id, show
from slowwave.interfaces.cli.options import filter_options, home_option, json_option, project_option

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
@home_option
@json_option
def search(
    query: tuple[str, ...],
    *,
    status: str | None,
    explain: bool,
    home: str | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Search the memory.

    Topic summaries and memories, current values first, with what held before. No language model is asked. That a memory
    was found is noted; nothing else changes.
    """
    if status not in (None, "active", "archived"):
        raise click.BadParameter(f"{status} is not active or archived", param_hint="--status")
    words = " ".join(query)
    if status == "archived":
        limit = min(asked["limit"] or 10, MOST_ARCHIVED)
        question = Question("/v1/archived", query={"query": words, "limit": limit})
    else:
        asked["project"] = project_id(asked["project"], home)
        question = Question("/v1/search", body={"query": words, **asked}, explain=explain)
    show(home, question, as_json=as_json)


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
@home_option
@json_option
def context(question: tuple[str, ...], *, home: str | None, as_json: bool, **asked: Any) -> None:
    """Print memory for a prompt, within a budget of tokens.

    Stdout is the text and nothing else.
    """
    asked["project"] = project_id(asked["project"], home)
    flags = {name: True for name in ("small", "opening", "ids") if asked.pop(name)}
    body = {"question": " ".join(question) or None, **asked, **flags}
    show(home, Question("/v1/context/assemble", body=body), as_json=as_json)


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
@home_option
@json_option
def list_cells(
    *, status: str | None, fading: float | None, home: str | None, as_json: bool, **asked: Any
) -> None:
    """List memories, newest first, a page at a time.

    The last line says how to see the next page. --fading lists what the coming nights will archive, soonest first.
    """
    if fading is not None:
        page = {name: asked.pop(name) for name in ("limit", "cursor")}
        if status is not None or any(asked.values()):
            raise click.UsageError("--fading goes with --limit and --cursor alone")
        show(home, Question("/v1/weak", query={"days": fading, **page}), as_json=as_json)
        return
    is_past = asked["as_of"] is not None or asked["known_at"] is not None
    wanted = status or ("all" if is_past else "active")
    asked |= {"project": project_id(asked["project"], home), "status": None if wanted == "all" else wanted}
    show(home, Question("/v1/cells", query=asked), as_json=as_json)


@click.command()
@click.argument("cell_id", metavar="ID")
@home_option
@json_option
def explain(cell_id: str, *, home: str | None, as_json: bool) -> None:
    """Explain why a memory is there.

    What was said, what was judged, and every event of its life. An id's first six characters are enough.
    """
    show(home, Question(f"/v1/cells/{part(cell_id)}/explanation"), as_json=as_json)


@click.command()
@click.argument("name", nargs=-1, required=True)
@project_option
@home_option
@json_option
def entity(name: tuple[str, ...], *, project: str | None, home: str | None, as_json: bool) -> None:
    """Show what is known of a name.

    A person, a project, a tool or a place: other names, values now and before, neighbours.
    """
    asked = {"name": " ".join(name), "project": project_id(project, home)}
    show(home, Question("/v1/entity", query=asked), as_json=as_json)


@click.command()
@click.argument("name", nargs=-1)
@click.option("--topic", metavar="NAME", help="A topic instead, by its name or id.")
@click.option("--session", metavar="ID", help="A conversation instead, by its id or file name.")
@click.option(
    "--limit", type=int, metavar="1..10000", help="The most events; the newest are kept (default: 100)."
)
@project_option
@home_option
@json_option
def timeline(name: tuple[str, ...], *, home: str | None, as_json: bool, **asked: Any) -> None:
    """Show memories in the order of their dates.

    Superseded ones show the date on which they ended.
    """
    asked |= {"name": " ".join(name) or None, "project": project_id(asked["project"], home)}
    show(home, Question("/v1/timeline", query=asked), as_json=as_json)


@click.command()
@click.option("--all", "has_resolved", is_flag=True, help="Show resolved ones too.")
@home_option
@json_option
def contradictions(*, has_resolved: bool, home: str | None, as_json: bool) -> None:
    """List contradictions that wait for your decision.

    Both sides are shown with dates and sources.
    """
    asked = {"has_resolved": has_resolved or None, "limit": 200}
    show(home, Question("/v1/contradictions", query=asked), as_json=as_json)


@click.command()
@click.option(
    "--counts", is_flag=True, help="Count the memories by type, status, topic, age and origin, and their use."
)
@home_option
@json_option
def status(*, counts: bool, home: str | None, as_json: bool) -> None:
    """Show waiting work, the last night and sizes."""
    show(home, Question("/v1/stats" if counts else "/v1/status"), as_json=as_json)


@click.group()
def quarantine() -> None:
    """List or release work that the model could not do."""


@quarantine.command("list")
@home_option
@json_option
def list_quarantine(*, home: str | None, as_json: bool) -> None:
    """List the work in quarantine, with reasons.

    Chunks, conversations and pairs of memories for which the model gave no usable answer.
    """
    show(home, Question("/v1/quarantine", query={"limit": 200}), as_json=as_json)


@quarantine.command("release")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Release everything.")
@home_option
@json_option
def release(ids: tuple[str, ...], *, everything: bool, home: str | None, as_json: bool) -> None:
    """Release work for the next night, which asks the model again."""
    if bool(ids) == everything:
        raise click.UsageError("name what to release, or give --all")
    body = {"ids": [*ids]} if ids else {}
    show(home, Question("/v1/quarantine/release", body=body, writes=True), as_json=as_json)


def cell_of(home: str | None, cell_id: str) -> dict[str, Any]:
    """One memory as a document (`Cell`), for the editor."""
    return document(home, Question(f"/v1/cells/{part(cell_id)}"))
