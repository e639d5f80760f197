"""The program `slowwave`: its commands, and every error as one line with an exit code."""

from collections.abc import Sequence

import click

from slowwave.errors import SlowwaveError
from slowwave.interfaces.cli import edits, output, questions, setup, work

INTERRUPTED = 130


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
    epilog="Exit codes: 0 done, 1 not done or a check failed, 2 wrong usage, 65 unusable input or file, 66 not found, "
    "70 a bug, 74 standard output not written, 75 busy or unreachable, 78 configuration, 130 Ctrl-C.",
)
@click.version_option(
    None, "--version", package_name="slowwave", prog_name="slowwave", message="slowwave %(version)s"
)
def program() -> None:
    """Long-term memory for AI agents, recorded by day and consolidated by night."""


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
    program.main(prog_name="slowwave")


if __name__ == "__main__":
    main()
