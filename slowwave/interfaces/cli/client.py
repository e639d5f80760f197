"""One question or edit: sent to the home's server, printed as the server rendered it."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode

import click

from slowwave.errors import SlowwaveError
from slowwave.interfaces import client
from slowwave.interfaces.cli import output
from slowwave.interfaces.cli.options import home_option, json_option
from slowwave.settings.place import home_folder

RESIDENT_MINUTES = "resident_minutes"
"""The setting that says how long a server on demand stays; 0 for none."""

PIPE_WIDTH = 120
"""Columns where the output is no terminal and COLUMNS does not say."""

REFUSED, BROKEN = 400, 500
"""Statuses from which on an answer is a refusal, and a failure of the server."""

UNUSABLE, OWN_BUG = 65, 70
"""Exit codes of a refusal and of a failure that name none."""


class RefusedError(SlowwaveError):
    """The server refused: its message, and the exit code of the error behind it."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Question:
    """A request to the server: what is None, an empty list or a flag that is off is left to its defaults."""

    path: str
    query: Mapping[str, Any] | None = None
    body: Mapping[str, Any] | None = None
    writes: bool = False
    explain: bool = False


def asking(command: Callable[..., Question]) -> Callable[..., None]:
    """Add `--home` and `--json` to a command that returns its question, and print the answer."""

    @wraps(command)
    def asked(*args: Any, home: str | None, as_json: bool, **given: Any) -> None:
        show(home, command(*args, **given), as_json=as_json)

    return home_option(json_option(asked))


def show(home: str | None, question: Question, *, as_json: bool) -> None:
    """Ask, and print the answer: rendered, or as one JSON document.

    Raises:
        SlowwaveError: the server refused or does not answer.
    """
    if as_json:
        output.emit_json(document(home, question))
        return
    reply = _asked(
        home, question, {"Accept": "text/plain", client.VIEW: view_header(explain=question.explain)}
    )
    if text := reply.body.decode():
        output.emit(text)
    output.remark(filter(None, unquote(reply.headers.get(client.NOTES.lower(), "")).split("\n")))


def document(home: str | None, question: Question) -> dict[str, Any]:
    """The answer as a JSON document. Raises as `show`."""
    found: dict[str, Any] = json.loads(_asked(home, question, {"Accept": "application/json"}).body)
    return found


def part(name: str) -> str:
    """A name as one part of a path."""
    return quote(name, safe="")


def project_id(given: str | None, home: str | None) -> str | None:
    """The project that an option names: `.` is the one of this folder, and a path is made whole.

    Outside of any repository `.` is the home's own project.
    """
    if given is None or not (given == "." or os.sep in given):
        return given
    folder = Path(os.path.normpath(Path.cwd() / Path(given).expanduser()))
    if given != "." or any((above / ".git").exists() for above in (folder, *folder.parents)):
        return str(folder)
    from slowwave.settings.projects import project_of
    from slowwave.settings.tree import load_settings

    return project_of(load_settings(home).owner, str(folder))


def _asked(home: str | None, question: Question, headers: Mapping[str, str]) -> client.Reply:
    folder = home_folder(home).resolve()
    body = _given(question.body, home) if question.body is not None else None
    query = urlencode(_given(question.query or {}, home), doseq=True)
    path = f"{question.path}?{query}" if query else question.path
    method = "GET" if body is None else "POST"
    may_start = _may_start(home, folder, question)
    reply = client.ask(
        folder, method, path, body=body, headers=headers, writes=question.writes, may_start=may_start
    )
    if reply is None:
        from slowwave.interfaces.http.alone import answer  # this process answers: it imports the whole server

        content, kind = client.encoded(body)
        reply = answer(folder, method, path, content, {**headers, **kind})
    if reply.status >= REFUSED:
        raise _refusal(reply)
    return reply


def _given(fields: Mapping[str, Any], home: str | None) -> dict[str, Any]:
    """The parameters that were given, in characters that UTF-8 has: an argument may hold bytes that are no text."""
    named = {**fields, "project": project_id(fields.get("project"), home)}
    return {
        name: _plain(value)
        for name, value in named.items()
        if value is not None and value is not False and value != ()
    }


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _refusal(reply: client.Reply) -> RefusedError:
    """The error of an answer; a field is named as the option that gives it."""
    try:
        problem = json.loads(reply.body)
        fields = problem.get("fields") or []
        told = "; ".join(f"{_option(one['field'])}: {one['problem']}" for one in fields) or problem["detail"]
    except (ValueError, KeyError, TypeError, AttributeError):
        told = f"the server of this home answered with status {reply.status}"
    told = re.sub(r"\bnew_project\b", "--new-project", told)
    code = reply.headers.get(client.EXIT.lower(), "")
    return RefusedError(
        told, int(code) if code.isdecimal() else OWN_BUG if reply.status >= BROKEN else UNUSABLE
    )


def _option(field: str) -> str:
    """The option or argument of the running command that gives a field, such as `body.recent_errors[0]`."""
    name = field.partition("[")[0].rpartition(".")[2]
    for one in click.get_current_context().command.params:
        if one.name == name:
            return one.opts[0] if isinstance(one, click.Option) else one.human_readable_name
    return name


def view_header(*, explain: bool) -> str:
    """The header that describes this terminal."""
    is_terminal = sys.stdout.isatty()
    columns = shutil.get_terminal_size((80 if is_terminal else PIPE_WIDTH, 24)).columns
    if not is_terminal and "COLUMNS" not in os.environ:
        columns = PIPE_WIDTH
    is_colored = is_terminal or bool(os.environ.get("FORCE_COLOR"))
    has_color = is_colored and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    parts = [f"width={columns}", *["color=1"] * has_color, *["explain=1"] * explain]
    return ", ".join(parts)


def _may_start(home: str | None, folder: Path, question: Question) -> bool:
    """Return whether a server may be started: not for a question to a home without memory, nor against the setting.

    Nor for a home that is no folder, or lies in none: this process says so.
    """
    nearest = next(one for one in (folder, *folder.parents) if one.exists())
    if not nearest.is_dir() or not (question.writes or (folder / "journal").is_dir()):
        return False
    is_set = any(RESIDENT_MINUTES in name.lower() for name in os.environ)
    with suppress(OSError):
        text = (folder / "slowwave.toml").read_text(encoding="utf-8", errors="replace")
        is_set = is_set or RESIDENT_MINUTES in text
    if not is_set:  # the settings are not read, which takes longer than a question
        return True
    from slowwave.settings.tree import load_settings

    return load_settings(home).search.resident_minutes != 0
