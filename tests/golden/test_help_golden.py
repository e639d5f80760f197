"""Help texts of every command, held against the files in `tests/golden/help`.

A help text that changes shows its change here, to be read. Write the files anew with

    RENEW_GOLDEN=1 pytest tests/golden/test_help_golden.py
"""

import os
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from slowwave.interfaces.cli.program import program

FOLDER = Path(__file__).parent / "help"
WIDTH = "100"


def commands() -> list[tuple[str, ...]]:
    """Words of every command: the program, its commands, and those below them."""
    found: list[tuple[str, ...]] = [()]
    for name, command in sorted(program.commands.items()):
        found.append((name,))
        found += [(name, below) for below in sorted(getattr(command, "commands", {}))]
    return found


def file_of(words: tuple[str, ...]) -> Path:
    return FOLDER / f"{'-'.join(('slowwave', *words))}.txt"


def shown(*words: str) -> str:
    done = CliRunner().invoke(program, [*words], prog_name="slowwave", env={"COLUMNS": WIDTH})
    assert done.exit_code == 0
    return done.stdout


@pytest.mark.parametrize("words", commands(), ids=lambda words: "-".join(words) or "slowwave")
def test_a_help_text_reads_as_it_was_last_agreed(words: tuple[str, ...]) -> None:
    text = shown(*words, "--help")
    if os.environ.get("RENEW_GOLDEN"):
        file_of(words).write_text(text, encoding="utf-8")
    assert file_of(words).read_text(encoding="utf-8") == text, (
        "read the change, then renew with RENEW_GOLDEN=1"
    )


def test_no_golden_help_outlives_its_command() -> None:
    assert set(FOLDER.glob("*")) == {file_of(words) for words in commands()}


@pytest.mark.parametrize("words", commands(), ids=lambda words: "-".join(words) or "slowwave")
def test_every_command_and_every_option_has_a_help_text(words: tuple[str, ...]) -> None:
    command: Any = program
    for word in words:
        command = command.commands[word]
    assert command.help
    options = [one for one in command.params if isinstance(one, click.Option)]
    assert [option.name for option in options if not option.help] == []
    assert shown(*words, "-h") == shown(*words, "--help")


def test_the_list_of_commands_cuts_no_sentence_short() -> None:
    assert "..." not in shown("--help").replace("ARGS]...", "")
