"""A command line run here for a caller elsewhere: the same commands, its folder and terminal, a memory that is warm."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from slowwave.entrypoints.caller import CALLER, Caller, HereOnlyError, Terminal
from slowwave.entrypoints.resident.handed import HANDED, TYPED_HERE
from slowwave.memory import Memory


class Program(Protocol):
    """The command line, as Typer made it."""

    def main(self, args: list[str], prog_name: str, *, standalone_mode: bool) -> object:
        """Run a command, and return its exit code or what it returned."""


def run_command(
    program: Program, memory: Callable[[], Memory], operations: tuple[str, ...], given: dict[str, Any]
) -> dict[str, Any] | None:
    """Exit code and output of a command; None where only the process in which it was typed can run it.

    Nothing was done where it is None: the words are no command, ask for help, or mean another home.
    """
    words = given["words"]
    if not words or words[0] not in HANDED or TYPED_HERE.intersection(words):
        return None
    caller = Caller(memory, operations, given["home"], Path(given["folder"]), Terminal(**given["terminal"]))
    token = CALLER.set(caller)
    try:
        code = program.main(words, "slowwave", standalone_mode=False)
    except HereOnlyError:
        return None
    except Exception as error:
        if hasattr(
            error, "format_message"
        ):  # of Typer: the words are not possible, which it tells with the usage
            return None
        raise
    finally:
        CALLER.reset(token)
    return {"code": code or 0, "output": caller.output}
