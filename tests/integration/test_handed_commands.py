"""Commands that another process runs: the same output, refusals and exit codes as where they were typed."""

import gc
import io
import os
import re
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from slowwave.entrypoints import program
from slowwave.entrypoints.cli import app
from slowwave.entrypoints.mcp import stdio
from slowwave.entrypoints.resident import answering, wire
from slowwave.entrypoints.resident.client import Reading, Writing
from slowwave.entrypoints.resident.handed import HANDED, WRITES, home_in
from slowwave.entrypoints.resident.listening import _answer as answer
from slowwave.entrypoints.resident.listening import listening
from slowwave.entrypoints.resident.place import Place
from slowwave.entrypoints.resident.waiting import Waiting
from slowwave.errors import TransientError
from slowwave.memory import Memory

STORED = "The kiln is blue."


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield from served(tmp_path_factory.mktemp("served"), monkeypatch)


def served(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "SLOWWAVE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("SLOWWAVE_SEARCH__RESIDENT_MINUTES", "0")
    home = folder / "home"
    home.mkdir()
    (home / "slowwave.toml").write_text('[embedding]\nprovider = "none"\n', encoding="utf-8")
    with Memory(home) as memory:
        memory.remember(STORED, entities=["kiln"])
        with listening(home.resolve(), memory, threads=2, program=get_command(app)):
            yield str(home)


def handed(home: str, *words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command that the server ran."""
    ran = program._ran_elsewhere([*words, "--home", home])
    assert ran is not None, words
    streams = ["", ""]
    for which, text in ran["output"]:
        streams[which] += text
    return ran["code"], rounded(streams[0]), streams[1]


def typed(home: str, *words: str) -> tuple[int, str, str]:
    """The same of a command that runs where it is typed."""
    shown = CliRunner().invoke(app, [*words, "--home", home])
    return shown.exit_code, rounded(shown.stdout), shown.stderr


def rounded(text: str) -> str:
    """A text whose numbers have two digits: what is computed of the present moment differs in the last ones."""
    return re.sub(r"\d+\.\d+(?:e-\d+)?|\b\d+e-\d+\b", lambda number: f"{float(number[0]):.2f}", text)


@pytest.mark.parametrize(
    "words",
    [
        ["search", "kiln", "blue"],
        ["search", "kiln", "--json"],
        ["search", "kiln", "--explain", "--entity", "kiln"],
        ["search", "nothing of this"],
        ["search", "kiln", "--entity", "--home"],
        ["context", "kiln", "--project", "."],
        ["context", "kiln", "--budget", "1"],
        ["list", "--json"],
        ["entity", "kiln"],
        ["timeline"],
        ["status", "--json"],
        ["contradictions"],
        ["explain", "nosuch"],
        ["search", "kiln", "--as-of", "never"],
        ["ingest", "no/such/file"],
        ["forget", "nosuch"],
        ["erase", "nosuch", "--dry-run"],
    ],
)
def test_what_another_process_runs_is_what_runs_here(home: str, words: list[str]):
    assert handed(home, *words) == typed(home, *words)


def test_what_writes_is_done_by_the_server(home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    code, out, _ = handed(home, "remember", "The glaze is", "green.")
    assert (code, out.startswith("Remembered: ")) == (0, True)
    assert "The glaze is green." in handed(home, "search", "glaze")[1]
    (tmp_path / "chat.jsonl").write_text(
        '{"role": "user", "content": "The shed is red."}\n', encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)  # a path is meant as it was typed
    assert handed(home, "ingest", "chat.jsonl")[0] == 0
    assert "The shed is red." in handed(home, "search", "shed", "--detail", "evidence")[1]


@pytest.mark.parametrize(
    "words",
    [
        ["search", "--help"],
        ["search", "kiln", "--no-such-option"],
        ["search"],
        ["remember", "--", "--home"],
        ["ingest", "--discover"],
        ["edit", "nosuch"],
        ["nightly"],
    ],
)
def test_what_only_the_process_that_was_called_can_do_stays_there(home: str, words: list[str]):
    assert program._ran_elsewhere([*words, "--home", home]) is None


@pytest.fixture
def silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A home whose server is stopped: one may connect, and hears nothing."""
    monkeypatch.setattr(wire, "HEARD_SECONDS", 0.05)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(wire.socket_path(tmp_path / "home")))
        listener.listen()
        yield str(tmp_path / "home")


def ended(monkeypatch: pytest.MonkeyPatch, *words: str) -> int | str | None:
    """The exit code of the program."""
    monkeypatch.setattr(sys, "argv", ["slowwave", *words])
    with pytest.raises(SystemExit) as end:
        program.main()
    return end.value.code


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("words", "told"),
    [(["remember", "It is."], f"slowwave: {wire.MAY_BE_DONE}\n"), (["search", "kiln"], "")],
)
def test_a_write_that_is_interrupted_says_that_the_server_may_do_it(
    silent: str, words: list[str], told: str, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.setattr(wire, "receive", interrupt)
    monkeypatch.setattr(wire, "HEARD", b"")
    monkeypatch.setattr(wire.socket.socket, "recv", lambda *_: b"")  # it is heard, and gets no answer
    assert ended(monkeypatch, *words, "--home", silent) == program.INTERRUPTED
    assert capsys.readouterr().err == told
    shown = CliRunner().invoke(app, [*words, "--home", silent])
    assert (shown.exit_code, shown.stderr) == (program.INTERRUPTED, told)


def test_a_question_to_a_stopped_server_waits_once_and_is_answered_without_it(
    silent: str, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.setattr(wire, "leave_reader", interrupt)  # none is started beside it
    monkeypatch.setattr(sys, "argv", ["slowwave", "search", "kiln", "--home", silent])
    assert program._ran_elsewhere(sys.argv[1:]) is None
    assert "does not answer" in capsys.readouterr().err
    monkeypatch.setattr(wire.socket.socket, "connect", interrupt)  # asked again it would end here
    shown = CliRunner().invoke(app, sys.argv[1:])
    assert (shown.exit_code, "does not answer" in shown.stderr) == (0, False)


def test_a_write_for_a_stopped_server_is_refused_at_once_and_not_done(
    silent: str, monkeypatch: pytest.MonkeyPatch, capsys
):
    assert ended(monkeypatch, "remember", "It is.", "--home", silent) == TransientError.exit_code
    told = capsys.readouterr().err
    assert ("does not answer; nothing was done" in told, told.count("\n")) == (True, 1)
    assert not Path(silent).exists()


def test_a_runtime_folder_in_which_nothing_can_be_made_gives_way(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/proc")
    assert Path("/proc") not in wire.socket_path(Path("/home")).parents


def test_a_home_whose_name_is_no_text_has_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    named = wire.socket_path(tmp_path / os.fsdecode(b"h\xff"))
    assert named not in (wire.socket_path(tmp_path / "h"), wire.socket_path(tmp_path / os.fsdecode(b"h\xfe")))


@pytest.mark.parametrize("stays", [True, False])
def test_a_write_whose_caller_left_before_it_began_is_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, stays: bool
):
    monkeypatch.setenv("SLOWWAVE_EMBEDDING__PROVIDER", "none")
    ours, theirs = socket.socketpair()
    wire.send(theirs, {"print": "1", "ask": "remember", "arguments": {"text": STORED}})
    if not stays:
        theirs.close()
    with Memory(tmp_path) as memory, theirs:
        answer(ours, Waiting(), memory=memory, program=None, own_print="1", place=Place(tmp_path))
        assert memory.stats().cells == int(stays)


def test_a_home_that_is_no_option_is_not_asked(home: str):
    assert program._ran_elsewhere(["search", "kiln", "--entity", "--home", home]) is None


def test_a_reader_runs_no_command_that_writes(home: str):
    request = {"ask": "command", "arguments": {"words": ["remember", "It is.", "--home", home], "home": home}}
    request["arguments"] |= {"folder": home, "terminal": program._terminal()}
    with Memory(home) as memory:
        before = memory.stats().cells
        told = answering.answered(
            lambda: memory, request, operations=answering.READS, program=get_command(app)
        )
        assert told == answering.HERE_ONLY
        assert memory.stats().cells == before


def test_every_command_that_is_handed_over_is_one(home: str):
    commands = get_command(app).commands
    assert set(HANDED) <= set(commands)
    assert {name for name in HANDED if name in Writing.__args__} | {"resolve", "ingest"} == set(WRITES)
    assert not set(WRITES) & set(Reading.__args__)


def test_the_home_of_a_command_line_is_the_last_that_it_names():
    assert home_in(["search", "kiln"]) is None
    assert home_in(["search", "--home", "a", "kiln", "--home=b"]) == "b"
    assert home_in(["search", "--home"]) is None


LOST = "slowwave: the output could not be written (No space left on device): it is not whole\n"


def of_full_disk() -> io.TextIOWrapper:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no disk that is always full")
    return Path("/dev/full").open("w", encoding="utf-8")


def of_closed_pipe() -> io.TextIOWrapper:
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w", encoding="utf-8")


def of_nothing() -> None:
    """Stdout as Python has it where it was closed from the start."""


def hands_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_ran_elsewhere", lambda _: {"code": 0, "output": [(0, "found\n")]})


def runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slowwave.entrypoints.cli.app", lambda: sys.stdout.write("found\n"))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(gc, "set_threshold", lambda _: None)


def serves_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    def writes_to_a_copy_of_the_descriptor(_: str) -> None:
        try:
            with os.fdopen(os.dup(sys.stdout.fileno()), "w") as own:
                own.write("found")
        except OSError as error:
            raise ExceptionGroup("tasks", [ExceptionGroup("writer", [error])]) from None

    runs_here(monkeypatch)
    server = SimpleNamespace(run=writes_to_a_copy_of_the_descriptor)
    monkeypatch.setattr(stdio, "mcp_server", lambda *_: server)
    monkeypatch.setattr("slowwave.entrypoints.cli.app", lambda: stdio.serve_stdio(None))


@pytest.mark.parametrize("runs", [hands_over, runs_here, serves_an_agent])
@pytest.mark.parametrize(
    ("where", "code", "told"), [(of_full_disk, 74, LOST), (of_closed_pipe, 0, ""), (of_nothing, 0, "")]
)
def test_output_that_nobody_takes_ends_every_command_by_one_rule(
    where: Callable[[], io.TextIOWrapper | None],
    code: int,
    told: str,
    runs: Callable[[pytest.MonkeyPatch], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    runs(monkeypatch)
    notes, stdout = (tmp_path / "stderr").open("w"), where()
    kept = os.dup(1)
    try:
        with notes, monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", stdout)
            patched.setattr(sys, "stderr", notes)
            patched.setattr(sys, "argv", ["slowwave", "doctor"])
            try:
                program.main()
                ended = 0
            except SystemExit as end:
                ended = end.code
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        if stdout is not None:
            stdout.close()
    assert (ended, (tmp_path / "stderr").read_text()) == (code, told)
