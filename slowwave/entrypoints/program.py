"""The program `slowwave`: hands a command to whoever listens for its home, else it is the whole command line.

To import the command line takes as long as ten answers of a server, so until it is plain that nobody else runs the
command this imports next to nothing: the standard library, and `resident/wire.py`, which is made of it.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from slowwave.entrypoints.output import checked_output
from slowwave.entrypoints.resident.handed import HANDED, OF_A_TERMINAL, QUESTIONS, TYPED_HERE, WRITES, home_in
from slowwave.entrypoints.resident.wire import (
    ANSWER_SECONDS,
    WRITE_SECONDS,
    ask,
    exchange,
    request_of,
    socket_path,
)
from slowwave.errors import SlowwaveError
from slowwave.settings.place import former_home, home_folder

INTERRUPTED = 130

NAMED_HOMES = "named-homes"
"""The file of a home with the earlier homes that were named to its user, a path a line."""

RESIDENT_MINUTES = "resident_minutes"
"""The setting that may say that no reader is wanted; the whole command line reads it."""


def main() -> None:
    """The console script."""
    with checked_output():
        _run(sys.argv[1:])


def _run(words: list[str]) -> None:
    if words == ["--version"]:
        from importlib import metadata  # for this alone

        print(f"slowwave {metadata.version('slowwave')}")
        return
    _name_former_home(words)
    try:
        ran = _ran_elsewhere(words)
    except KeyboardInterrupt as stopped:
        sys.stderr.write("".join(f"slowwave: {line}\n" for line in stopped.args))
        sys.exit(INTERRUPTED)
    except SlowwaveError as error:
        sys.stderr.write(f"slowwave: {error}\n")
        sys.exit(error.exit_code)
    except OSError:  # the folder in which this runs is gone, or that of the sockets cannot be made
        ran = None
    if ran is None:
        from slowwave.entrypoints.cli import main as whole  # it takes long

        whole()
        return
    sys.exit(_show(ran))


def _name_former_home(words: list[str]) -> None:
    """Say on stderr where a memory of an earlier version lies in this folder; it is neither moved nor opened.

    Said once, and noted in the home; where there is no home yet, it is said again, so that the earlier one can be moved
    there. `doctor` says it by itself.
    """
    is_quiet = not words or words[0] in ("doctor", "-h", "--help") or TYPED_HERE.intersection(words)
    if is_quiet or home_in(words) or os.environ.get("SLOWWAVE_HOME"):
        return
    with suppress(SlowwaveError, OSError):
        home = home_folder()
        former, noted = former_home(home), home / NAMED_HOMES
        if former is None or (noted.exists() and f"{former}\n" in noted.read_text(encoding="utf-8")):
            return
        sys.stderr.write(
            f"slowwave: {former} holds an earlier memory, which is not used: your memory is {home} now. "
            f"To use the earlier one, add --home {former}\n"
        )
        if home.is_dir():
            with noted.open("a", encoding="utf-8") as file:
                file.write(f"{former}\n")


def _ran_elsewhere(words: list[str]) -> dict[str, Any] | None:
    """Exit code and output of a command that another process ran; None where this one must."""
    if not words or words[0] not in HANDED or TYPED_HERE.intersection(words):
        return None
    home, writes = home_in(words), words[0] in WRITES
    folder = home_folder(home).resolve()
    arguments = {"words": words, "home": home, "folder": str(Path.cwd()), "terminal": _terminal()}
    request = request_of(folder, "command", arguments)
    if words[0] in QUESTIONS:
        said = ask(folder, request, may_leave_reader=lambda: _may_leave_reader(folder))
    else:
        seconds = WRITE_SECONDS if writes else ANSWER_SECONDS
        said = exchange(socket_path(folder), request, seconds, is_once=writes)
    found: dict[str, Any] | None = None if said is None else said.get("answer")
    return found


def _may_leave_reader(folder: Path) -> bool:
    """Return whether no setting says how long a reader stays, which may be not at all."""
    if any(RESIDENT_MINUTES in name.lower() for name in os.environ):
        return False
    try:
        return RESIDENT_MINUTES not in (folder / "slowwave.toml").read_text(
            encoding="utf-8", errors="replace"
        )
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _terminal() -> dict[str, Any]:
    """The terminal of this process, as a `Terminal` has it."""
    size = os.terminal_size((80, 25))
    for stream in (0, 1, 2):
        try:
            size = os.get_terminal_size(stream)
        except OSError:
            continue
        break
    streams = (sys.stdout, sys.stderr)
    return {
        "are_terminals": [stream.isatty() for stream in streams],
        "encodings": [stream.encoding for stream in streams],
        "columns": size.columns,
        "lines": size.lines,
        "environ": {name: os.environ[name] for name in OF_A_TERMINAL if name in os.environ},
    }


def _show(ran: dict[str, Any]) -> int:
    """Write what a command wrote elsewhere; its exit code."""
    streams = (sys.stdout, sys.stderr)
    for which, text in ran["output"]:
        streams[which].write(text)
        streams[which].flush()
    code: int = ran["code"]
    return code


if __name__ == "__main__":
    main()
