"""The program `slowwave`: hands a command to whoever listens for its home, else it is the whole command line.

To import the command line takes as long as ten answers of a server, so until it is plain that nobody else runs the
command this imports next to nothing: the standard library, and `resident/wire.py`, which is made of it.
"""

import os
import sys
from pathlib import Path
from typing import Any

from slowwave.entrypoints.output import checked_output
from slowwave.entrypoints.resident.handed import HANDED, OF_A_TERMINAL, QUESTIONS, TYPED_HERE, WRITES, home_in
from slowwave.entrypoints.resident.wire import (
    ANSWER_SECONDS,
    WRITE_SECONDS,
    ask,
    exchange,
    home_folder,
    request_of,
    socket_path,
)
from slowwave.errors import SlowwaveError

INTERRUPTED = 130

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


def _ran_elsewhere(words: list[str]) -> dict[str, Any] | None:
    """Exit code and output of a command that another process ran; None where this one must."""
    if not words or words[0] not in HANDED or TYPED_HERE.intersection(words):
        return None
    home, writes = home_in(words), words[0] in WRITES
    folder = home_folder(home)
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
