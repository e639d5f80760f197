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
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from slowwave.errors import ContractError
from slowwave.models.fences import Fenced, dated, fenced, fenced_line, weeks
from slowwave.models.requests import Prompt

FOLDER: Final = "prompts"

_FILE_PARTS = re.compile(
    r"inputs: (?P<inputs>[a-z_, ]+)\n# system\n(?P<system>.+)\n# user\n(?P<user>.+)", re.DOTALL
)


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
        ContractError: the text does not have the form that this module's docstring shows.
    """
    parts = _FILE_PARTS.fullmatch(text.replace("\r\n", "\n"))
    if parts is None:
        raise ContractError(
            f"{FOLDER}/{file_name} is not a prompt file: it needs a line 'inputs: ...', a line '# system' and a line "
            "'# user'"
        )
    inputs = frozenset(name.strip() for name in parts["inputs"].split(","))
    return PromptFile(file_name.removesuffix(".md"), inputs, parts["system"].strip(), parts["user"].strip())


@lru_cache(maxsize=1)
def prompt_files() -> dict[str, PromptFile]:
    """The prompt files of the installed package, by name; there is one version of each."""
    entries = sorted((entry for entry in files(FOLDER).iterdir() if entry.name.endswith(".md")), key=str)
    read = [read_prompt_file(entry.name, entry.read_text(encoding="utf-8")) for entry in entries]
    return {file.prompt_version.rpartition(".v")[0]: file for file in read}


def render(prompt: str, /, **inputs: object) -> Prompt:
    """The prompt of this name with its inputs on the page.

    Raises:
        ContractError: there is no such prompt, an input is missing or not declared, or the template cannot be
            rendered.
    """
    file = prompt_files().get(prompt)
    if file is None:
        raise ContractError(f"there is no prompt {prompt!r}; known are {', '.join(prompt_files())}")
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
    return Prompt(file.prompt_version, file.system, user)


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
    environment.filters.update(fenced=fenced, fenced_line=fenced_line, dated=dated, weeks=weeks)
    return environment.from_string(user)


def _only_fenced(value: object) -> object:
    if isinstance(value, (Fenced, int, float, StrictUndefined)):
        return value
    kind = type(value).__name__
    raise ContractError(f"a prompt template shows a {kind} that went through no fence; add a filter")
