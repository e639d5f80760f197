"""The one gateway to Jinja2 and to the prompt files under `prompts/`.

A prompt file `<name>.v<number>.md` has three parts, in this order:

    inputs: turns, known        what the page needs, and nothing else may be given
    # system                    rules and worked examples: plain text, the same in every call
    # user                      a Jinja template: the page with its numbered items

Stored text reaches a page only through a filter that fences it: `fenced` puts "> " before every line,
`fenced_line` makes one line of it. The template engine refuses any other text, so that forgetting the filter
is an error and not a hole. Data is never parsed as a template. Nothing here reads the clock.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from slowwave.errors import ContractError
from slowwave.prompting.fences import Fenced, calendar, dated, fenced, fenced_line, weeks
from slowwave.prompting.prompt import Prompt
from slowwave.prompting.prompt_inputs import (
    CandidateCell,
    DeletedCell,
    EpisodeCell,
    JudgedItem,
    KnownCell,
    MemoryLine,
    PageCell,
    PersonLine,
    ReaderPage,
    TopicCell,
    TopicLine,
    TurnLine,
)

FOLDER: Final = "prompts"

_FILE_NAME = re.compile(r"(?P<name>[a-z_]+)\.v(?P<version>[1-9]\d*)\.md")
_FILE_PARTS = re.compile(
    r"inputs: (?P<inputs>[a-z_, ]+)\n# system\n(?P<system>.+)\n# user\n(?P<user>.+)", re.DOTALL
)


def _only_fenced(value: object) -> object:
    if isinstance(value, (Fenced, int, float, StrictUndefined)):
        return value
    kind = type(value).__name__
    raise ContractError(f"a prompt template shows a {kind} that went through no fence; add a filter")


@lru_cache(maxsize=64)
def _template(user: str) -> Template:
    """A prompt file's template, compiled once: that takes longer than to fill in a page."""
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_only_fenced,
    )
    environment.globals.clear()
    environment.filters.clear()
    environment.filters.update(
        fenced=fenced, fenced_line=fenced_line, dated=dated, calendar=calendar, weeks=weeks
    )
    return environment.from_string(user)


@dataclass(frozen=True, slots=True)
class PromptFile:
    """One prompt file: its declared inputs, its constant system text and its user template."""

    prompt_version: str
    inputs: frozenset[str]
    system: str
    user: str


def read_prompt_file(file_name: str, text: str) -> PromptFile:
    """The parts of a prompt file.

    Raises:
        ContractError: name or text do not have the form that this module's docstring shows.
    """
    parts = _FILE_PARTS.fullmatch(text.replace("\r\n", "\n"))
    if parts is None or _FILE_NAME.fullmatch(file_name) is None:
        raise ContractError(
            f"{FOLDER}/{file_name} is not a prompt file: it needs a name like gate_chunk.v1.md,"
            " a line 'inputs: ...', a line '# system' and a line '# user'"
        )
    inputs = frozenset(name.strip() for name in parts["inputs"].split(","))
    return PromptFile(file_name.removesuffix(".md"), inputs, parts["system"].strip(), parts["user"].strip())


@lru_cache(maxsize=1)
def _prompt_files() -> dict[str, PromptFile]:
    """The prompt files of the installed package, by name.

    Raises:
        ContractError: a prompt has two versions.
    """
    found: dict[str, PromptFile] = {}
    for entry in files(FOLDER).iterdir():
        if entry.name.endswith(".md"):
            file = read_prompt_file(entry.name, entry.read_text(encoding="utf-8"))
            first = found.setdefault(file.prompt_version.rpartition(".v")[0], file)
            if first is not file:
                raise ContractError(
                    f"{FOLDER}/ holds {first.prompt_version} and {file.prompt_version}; delete the older one"
                )
    return dict(sorted(found.items()))


def prompt_versions() -> dict[str, str]:
    """The version of every prompt: name to `prompt_version`, by name."""
    return {name: file.prompt_version for name, file in _prompt_files().items()}


def system_text(name: str) -> str:
    """The rules and examples of a prompt, which stand in every call."""
    return _prompt_files()[name].system


def render(name: str, inputs: Mapping[str, object]) -> Prompt:
    """The prompt `name` with its inputs on the page.

    Raises:
        ContractError: there is no such prompt, an input is missing or not declared, or the template cannot be
            rendered.
    """
    file = _prompt_files().get(name)
    if file is None:
        raise ContractError(f"there is no prompt {name!r}; known are {', '.join(_prompt_files())}")
    return render_file(file, inputs)


def render_file(file: PromptFile, inputs: Mapping[str, object]) -> Prompt:
    """The prompt of one file with its inputs on the page.

    Raises:
        ContractError: an input is missing or not declared, or the template cannot be rendered.
    """
    missing, undeclared = sorted(file.inputs - inputs.keys()), sorted(inputs.keys() - file.inputs)
    if missing or undeclared:
        problem = f"missing inputs {missing}, undeclared inputs {undeclared}"
        raise ContractError(f"prompt {file.prompt_version}: {problem}")
    try:
        user = _template(file.user).render(inputs)
    except TemplateError as error:
        problem = f"{type(error).__name__}: {error.message}"
        raise ContractError(f"prompt {file.prompt_version} cannot be rendered: {problem}") from error
    return Prompt(prompt_version=file.prompt_version, system=file.system, user=user)


def gate_prompt(turns: Sequence[TurnLine]) -> Prompt:
    """Asks for a `GateAnswer` about one page."""
    return render("gate_chunk", {"turns": turns})


def extract_prompt(
    session_date: str,
    turns: Sequence[TurnLine],
    known: Sequence[KnownCell],
    *,
    earlier: Sequence[str] = (),
    topics: Sequence[str] = (),
) -> Prompt:
    """Asks for an `ExtractAnswer` about one page; `session_date` is an ISO date.

    `earlier` is what the conversation said before, `topics` are names in use; both one text a line.
    """
    inputs = {
        "session_date": session_date,
        "turns": turns,
        "known": known,
        "earlier": " ".join(earlier),
        "topics": ", ".join(topics),
    }
    return render("extract_cells", inputs)


def reconcile_prompt(groups: Sequence[Sequence[PageCell]]) -> Prompt:
    """Asks for a `ReconcileAnswer` about groups of new and known cells; numbers run on from group to group."""
    return render("reconcile_cells", {"groups": groups})


def tombstone_prompt(content: str, deleted: Sequence[DeletedCell]) -> Prompt:
    """Asks for a `TombstoneAnswer` about one new memory and the deleted ones near it."""
    return render("judge_tombstone", {"content": content, "deleted": deleted})


def summarize_prompt(name: str, cells: Sequence[TopicCell], max_words: int) -> Prompt:
    """Asks for a `SummaryAnswer` about one topic's live cells."""
    return render("summarize_topic", {"name": name, "cells": cells, "max_words": max_words})


def episode_prompt(
    cells: Sequence[EpisodeCell],
    turns: Sequence[TurnLine],
    *,
    dates: tuple[str, str],
    turn_count: int,
    max_words: int,
    summary_words: int,
) -> Prompt:
    """Asks for an `EpisodeAnswer` about one conversation of `turn_count` turns; `dates` are its first and last day."""
    inputs = {
        "first_date": dates[0],
        "last_date": dates[1],
        "cells": cells,
        "turns": turns,
        "shown_count": len(turns),
        "turn_count": turn_count,
        "max_words": max_words,
        "summary_words": summary_words,
    }
    return render("write_episode", inputs)


def promote_prompt(cells: Sequence[CandidateCell], max_lines: int) -> Prompt:
    """Asks for a `PromoteAnswer` about the candidates for core memory."""
    return render("promote_cells", {"cells": cells, "max_lines": max_lines})


def enrich_prompt(
    name: str, kind: str, aliases: Sequence[str], cells: Sequence[TopicCell], max_words: int
) -> Prompt:
    """Asks for an `EntityAnswer` about one entity; `kind` is "" where nobody says it."""
    inputs = {"name": name, "kind": kind, "aliases": aliases, "cells": cells, "max_words": max_words}
    return render("enrich_entity", inputs)


def group_memories_prompt(topics: Sequence[TopicLine], memories: Sequence[MemoryLine]) -> Prompt:
    """Asks for a `GroupsAnswer`: the topic that each of the new memories belongs to."""
    return render("group_memories", {"topics": topics, "memories": memories})


def match_people_prompt(people: Sequence[PersonLine], asked: Sequence[int]) -> Prompt:
    """Asks for a `PeopleAnswer`: who else on the page the people of the numbers `asked` are."""
    return render("match_people", {"people": people, "asked": asked})


def infer_cause_prompt(cells: Sequence[TopicCell], effects: Sequence[int]) -> Prompt:
    """Asks for a `CausesAnswer`: what of the page led to the memories of these numbers."""
    return render("infer_cause", {"cells": cells, "effects": effects})


def reader_prompt(pages: Sequence[ReaderPage]) -> Prompt:
    """Asks for a `ReaderAnswer` about the questions under each page; question numbers run on through the pages."""
    return render("answer_question", {"pages": pages})


def judge_prompt(items: Sequence[JudgedItem]) -> Prompt:
    """Asks for a `JudgeAnswer` about given answers beside the right ones."""
    return render("judge_answer", {"items": items})
