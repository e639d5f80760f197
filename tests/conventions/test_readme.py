"""The README's commands exist."""

import re
import shlex

import pytest

from slowwave.interfaces.cli.program import program
from tests.conventions.source import ROOT

PROGRAMS = {"make", "git", "slowwave", "python", "cd", "export", "ollama", "prefect", "curl", "uv", "pipx"}


def commands() -> list[list[str]]:
    """Words of every command in the README's sh blocks; a line that ends in a backslash goes on."""
    page = ROOT / "README.md"
    if not page.is_file():
        pytest.skip("README.md is not there yet")
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    parts = [part for line in lines for part in re.split(r"\s(?:&&|\|)\s", line.removeprefix("$ "))]
    words = [shlex.split(part, comments=True) for part in parts]
    return [without_assignments(found) for found in words if found]


def without_assignments(words: list[str]) -> list[str]:
    """`NAME=value program` without its assignments and without the folder of the environment."""
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    return [words[0].removeprefix(".venv/bin/"), *words[1:]] if words else []


def subcommands() -> dict[str, set[str]]:
    """Names of the command line's commands, each with the names below it."""
    return {name: set(getattr(command, "commands", {})) for name, command in program.commands.items()}


def test_every_command_starts_with_a_known_program():
    assert [words for words in commands() if words[0] not in PROGRAMS] == []


def test_every_make_target_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    asked = {
        word
        for words in commands()
        if words[0] == "make"
        for word in words[1:]
        if re.fullmatch("[a-z-]+", word)
    }
    assert asked - targets == set()


def test_every_slowwave_command_exists():
    asked = [words[1:] for words in commands() if words[0] == "slowwave" and len(words) > 1]
    if not asked:
        pytest.skip("the README shows no slowwave command yet")
    known = subcommands()
    unknown = [words for words in asked if not words[0].startswith("-") and words[0] not in known]
    nested = [
        words
        for words in asked
        if known.get(words[0])
        and (len(words) == 1 or not (words[1].startswith("-") or words[1] in known[words[0]]))
    ]
    assert unknown + nested == []
