"""The program `slowwave`: its commands, and every error as one line with an exit code."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import click

from slowwave.errors import SlowwaveError
from slowwave.interfaces.cli import edits, output, questions, setup, work
from slowwave.settings.place import former_home, home_folder

INTERRUPTED = 130

NAMED_HOMES = "named-homes"
"""The file of a home with the earlier homes that were named to its user, a path a line."""


class Commands(click.Group):
    """The group that lists its commands in their order and turns errors into one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which they were added."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command.

        Raises:
            SystemExit: with the exit code of the error, or 130 after Ctrl-C.
        """
        try:
            return super().invoke(ctx)
        except SlowwaveError as error:
            output.fail(str(error))
            raise SystemExit(error.exit_code) from None
        except KeyboardInterrupt as stopped:
            for line in stopped.args:
                output.fail(str(line))
            raise SystemExit(INTERRUPTED) from None


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 65 unusable input, 66 not found, 74 output not written, 75 busy or unreachable, "
    "78 configuration.",
)
@click.version_option(
    None, "--version", package_name="slowwave", prog_name="slowwave", message="slowwave %(version)s"
)
@click.pass_context
def program(ctx: click.Context) -> None:
    """Long-term memory for AI agents, recorded by day and consolidated by night."""
    if ctx.invoked_subcommand != "doctor":  # which says it by itself
        _name_former_home(sys.argv[1:])


ORDER: Sequence[click.Command] = (
    questions.search,
    questions.context,
    questions.list_cells,
    questions.explain,
    questions.entity,
    questions.timeline,
    edits.remember,
    edits.correct,
    edits.confirm,
    edits.forget,
    edits.erase,
    questions.contradictions,
    edits.resolve,
    work.ingest,
    work.run,
    work.export,
    questions.status,
    questions.quarantine,
    setup.doctor,
    setup.connect,
    setup.disconnect,
    work.serve,
    work.mcp,
    work.ui,
)
"""The commands in the order in which the help lists them."""

for _command in ORDER:
    program.add_command(_command)


def main() -> None:
    """The console script."""
    output.prepare()
    if sys.argv[1:] == ["--version"]:
        output.emit(f"slowwave {metadata.version('slowwave')}")
        return
    program.main(prog_name="slowwave")


def _name_former_home(words: Sequence[str]) -> None:
    """Say once on stderr where this folder holds the memory of an earlier version; it is neither moved nor opened."""
    if os.environ.get("SLOWWAVE_HOME") or any(word.startswith("--home") for word in words):
        return
    with suppress(SlowwaveError, OSError):
        home = home_folder()
        former, noted = former_home(home), home / NAMED_HOMES
        if former is None or (noted.exists() and f"{former}\n" in noted.read_text(encoding="utf-8")):
            return
        output.fail(
            f"{former} holds an earlier memory, which is not used: your memory is {home} now. "
            f"To use the earlier one, add --home {former}"
        )
        if home.is_dir():
            with Path(noted).open("a", encoding="utf-8") as file:
                file.write(f"{former}\n")


if __name__ == "__main__":
    main()
