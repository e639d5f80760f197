"""The reader that stays between the command line's questions."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from typer.testing import CliRunner

from slowwave import Memory
from slowwave.entrypoints.cli import app
from slowwave.entrypoints.resident import wire
from slowwave.entrypoints.resident.client import ask_server
from slowwave.entrypoints.resident.wire import fingerprint, leave_reader, socket_path
from slowwave.errors import ConfigError, InputError
from slowwave.home.paths import open_home
from slowwave.home.usage import collect_spools

SERVER = [sys.executable, "-m", "slowwave.entrypoints.reader"]
QUESTION = {"query": "kiln", "limit": 3, "detail_level": "full"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sw-") as runtime:  # a socket's path is short
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        monkeypatch.setenv("SLOWWAVE_SEARCH__RESIDENT_MINUTES", "0.5")
        monkeypatch.setenv("SLOWWAVE_EMBEDDING__PROVIDER", "wordllama")
        yield tmp_path / "home"


@contextlib.contextmanager
def resident(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([*SERVER, str(home)]) as process:
        try:
            until(lambda: ask_server(str(home), "search", QUESTION) is not None)
            yield process
        finally:
            process.kill()


def until(condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.1)


def command(
    home: Path, *words: str, name: str = "search", **environment: str
) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "slowwave.entrypoints.cli", name, *words, "--home", str(home), "--json"]
    return subprocess.run(
        call, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def told(home: Path, name: str, *words: str) -> object:
    """The JSON of a command; what is computed of the present moment differs in its last digits."""
    shown = CliRunner().invoke(app, [name, *words, "--home", str(home), "--json"])
    assert shown.exit_code == 0, shown.stderr
    return json.loads(shown.stdout, parse_float=lambda number: round(float(number), 3))


def end_readers(home: Path) -> None:
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(home).encode() in process.read_bytes():
                os.kill(int(process.parent.name), signal.SIGKILL)


@pytest.mark.processes
def test_it_answers_what_a_process_of_its_own_answers(home: Path):
    alone = command(home, "kiln")  # nothing is stored there: no reader is started
    with resident(home):
        assert json.loads(command(home, "kiln").stdout) == json.loads(alone.stdout)
        code = (
            "import sys; from slowwave.entrypoints.cli import app; app(sys.argv[1:], standalone_mode=False); "
        )
        code += "print('lancedb' in sys.modules, 'polars' in sys.modules, 'prefect' in sys.modules)"
        call = [sys.executable, "-c", code, "search", "kiln", "--home", str(home)]
        shown = subprocess.run(call, capture_output=True, text=True, check=True).stdout
        assert shown.splitlines()[-1] == "False False False"
        with pytest.raises(InputError, match="limit 99"):  # its errors are those of a search
            ask_server(str(home), "search", {**QUESTION, "limit": 99})
        assert subprocess.run([*SERVER, str(home)], timeout=60, check=False).returncode == 0  # one a home
        assert ask_server(str(home), "search", QUESTION) is not None


@pytest.mark.processes
def test_it_answers_the_other_questions_too_and_what_it_shows_is_noted(home: Path, monkeypatch):
    with Memory(home) as memory:
        said = memory.remember("The kiln is blue.", entities=["kiln"]).cell_id
    asked = {
        "context": "kiln",
        "timeline": "kiln",
        "explain": said,
        "archived": "kiln",
        "weak": "",
        "stats": "",
    }
    with monkeypatch.context() as alone_here:
        alone_here.setenv("SLOWWAVE_SEARCH__RESIDENT_MINUTES", "0")
        alone = {name: told(home, name, *words.split()) for name, words in asked.items()}
    collect_spools(open_home(home)).discard()
    with resident(home):
        for name, words in asked.items():
            assert told(home, name, *words.split()) == alone[name], name
        until(
            lambda: said in collect_spools(open_home(home)).usage["cell_id"]
        )  # noted after the answer is sent


def test_every_file_of_the_program_counts_for_whether_it_is_the_same_program(home: Path, monkeypatch):
    program = home.parent / "program" / "search"
    program.mkdir(parents=True)
    (program / "search.py").touch()
    monkeypatch.setattr(wire, "PACKAGE", program.parent)
    before = fingerprint(home)
    os.utime(program / "search.py", (1, 1))
    changed = fingerprint(home)
    (program / "__pycache__").mkdir()
    (program / "__pycache__" / "search.py").touch()
    assert before != changed == fingerprint(home)


@pytest.mark.processes
@pytest.mark.parametrize("name", ["search", "context"])
def test_the_first_question_starts_one_which_answers_it_and_the_next_at_once(home: Path, name: str):
    with Memory(home) as memory:
        memory.remember("The kiln is blue.")
    try:
        assert "The kiln is blue." in command(home, "kiln", name=name).stdout
        assert ask_server(str(home), "search", QUESTION) is not None
    finally:
        end_readers(home)


@pytest.mark.processes
def test_where_none_comes_up_the_question_is_answered_all_the_same(home: Path):
    with Memory(home) as memory:
        memory.remember("The kiln is blue.")
    with FileLock(
        socket_path(home.resolve()).with_suffix(".lock")
    ):  # whoever is started finds one there, and ends
        assert "The kiln is blue." in command(home, "kiln").stdout
        assert ask_server(str(home), "search", QUESTION) is None


@pytest.mark.processes
def test_other_settings_end_it(home: Path):
    with resident(home) as process:
        home.mkdir(exist_ok=True)
        (home / "slowwave.toml").write_text("[search]\nlimit = 4\n", encoding="utf-8")
        assert ask_server(str(home), "search", QUESTION) is None
        assert process.wait(30) == 0
        assert not socket_path(home.resolve()).exists()


@pytest.mark.processes
def test_nonsense_on_its_socket_does_not_end_it(home: Path):
    with resident(home):
        for line in (b"\n", b"[1]\n", b"not json\n", b"half"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.connect(str(socket_path(home.resolve())))
                connection.sendall(line)
        assert ask_server(str(home), "search", QUESTION) is not None


@pytest.mark.processes
def test_a_dead_one_is_passed_over(home: Path):
    with resident(home) as process:
        process.kill()
        process.wait(30)
        assert socket_path(home.resolve()).exists()
        assert ask_server(str(home), "search", QUESTION) is None
        assert command(home, "kiln").returncode == 0


def test_a_folder_that_others_can_open_is_refused(home: Path):
    socket_path(home.resolve()).parent.chmod(0o755)
    with pytest.raises(ConfigError, match="not a folder of this user alone"):
        ask_server(str(home), "search", QUESTION)


@pytest.mark.processes
def test_nobody_asking_ends_it(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SLOWWAVE_SEARCH__RESIDENT_MINUTES", "0.02")
    process = subprocess.run([*SERVER, str(home)], timeout=60, check=False)
    assert process.returncode == 0


def test_where_nothing_is_stored_none_is_left_behind(home: Path, monkeypatch: pytest.MonkeyPatch):
    started: list[object] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *given, **named: started.append(given))
    leave_reader(home)
    assert started == []
