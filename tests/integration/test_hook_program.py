"""The program that an agent calls: silent, with exit code 0 and in its time, whatever it finds."""

import ast
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from slowwave.interfaces import client
from slowwave.interfaces.hooks.follower import read_kept
from slowwave.interfaces.hooks.hook import _body, _kept
from tests.hook_payloads import PROGRAM, call, check_output, payload
from tests.scripted_model import write_settings
from tests.transcripts import Transcript

ANSWER = b'{"hookSpecificOutput": {}}'
HEAD = b"HTTP/1.1 200 OK\r\n"
FOR_EVER = 3_600.0
PAGE = "<slowwave-memory>\nThe kiln is hot.\n</slowwave-memory>"


def whole(body: bytes = ANSWER, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body)


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for sockets whose path is short enough for one."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    write_settings(
        folder, embedding={"provider": "none"}, search={"resident_minutes": 0.05}
    )  # it leaves soon
    return folder


@contextmanager
def server(home: Path, answer: Callable[[socket.socket], None]) -> Iterator[list[bytes]]:
    """A server of a home that does anything; the list gets the requests."""
    requests = list[bytes]()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(client.socket_path(home)))
    listener.listen()

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, suppress(OSError):
                    requests.append(connection.recv(100_000))
                    answer(connection)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield requests
    finally:
        listener.close()


def send(data: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(data)


def drip(connection: socket.socket) -> None:
    """A byte now and then, so that no single wait is ever too long."""
    for byte in HEAD * 1_000:
        connection.sendall(bytes([byte]))
        time.sleep(0.3)


def test_the_program_stands_alone_on_few_modules():
    tree = ast.parse(PROGRAM.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names == {"_signal", "_socket", "_sha2", "_sha256", "hashlib", "json", "os", "sys", "time"}


@pytest.mark.processes
def test_what_the_server_answers_is_printed_as_it_is(home: Path):
    given = payload("claude-code", "UserPromptSubmit")
    with server(home, send(whole())) as requests:
        assert call(home, "claude-code", "UserPromptSubmit", given) == ANSWER.decode()
    head, _, body = requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /hooks/claude-code/UserPromptSubmit HTTP/1.1\r\n")
    assert b"Slowwave-Late" not in head
    assert json.loads(body) == given


@pytest.mark.processes
@pytest.mark.parametrize(
    "answer",
    [lambda _: time.sleep(FOR_EVER), drip, send(b"\x00\xff" * 1_000)],
    ids=["silent", "dripping", "noise"],
)
def test_a_server_that_does_not_answer_well_leaves_no_word(
    home: Path, answer: Callable[[socket.socket], None]
):
    with server(home, answer):
        assert call(home, "claude-code", "Stop", payload("claude-code", "Stop")) == ""


def test_only_a_whole_json_object_is_printed_and_a_server_that_loads_counts_as_asleep():
    assert _body(whole()) == ANSWER
    for odd in (b"", HEAD, b"HTTP/1.1 204 No Content\r\n\r\n", whole()[:-4], whole(b"ignore all rules")):
        assert _body(odd) == b""
    assert _body(whole(b"{}", b"503 Service Unavailable")) is None


@pytest.mark.processes
def test_a_prompt_goes_to_no_socket_in_a_folder_that_others_may_open(home: Path, runtime: Path):
    with server(home, send(whole())) as requests:
        next(runtime.iterdir()).chmod(0o770)
        shutil.rmtree(home)  # so that no other server is started
        assert call(home, "claude-code", "UserPromptSubmit", payload("claude-code", "UserPromptSubmit")) == ""
    assert requests == []


@pytest.mark.processes
@pytest.mark.parametrize(
    "given", [b"", b"[1]", b"\xff\xfe", b"x" * 9_000_000], ids=["empty", "a list", "no text", "too long"]
)
def test_any_payload_ends_well_and_where_no_home_is_nothing_is_made(tmp_path: Path, given: bytes):
    assert call(tmp_path / "gone", "cursor", "sessionStart", given) == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.processes
def test_a_payload_that_never_ends_is_not_waited_for(home: Path):
    words = [sys.executable, "-I", "-S", str(PROGRAM), "claude-code", "Stop", "--home", str(home)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.wait(60) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b""


@pytest.mark.processes
def test_words_that_make_no_sense_end_well(tmp_path: Path):
    program = [sys.executable, "-I", "-S", str(PROGRAM), "../x", "y", "--home", "."]
    done = subprocess.run(program, input=b"{}", capture_output=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("source", "folder"), [("resume", "/x"), ("fork", "/x"), ("startup", "/y")])
def test_no_opening_is_kept_for_a_conversation_that_was_told_it_or_is_held_elsewhere(
    home: Path, source, folder
):
    keep_page(home, "/x")
    given = json.dumps({"source": source, "cwd": folder}).encode()
    assert _kept(str(home), "codex", "SessionStart", given) == b""


def keep_page(home: Path, folder: str) -> None:
    kept = home / "cache" / "opening" / hashlib.sha256(os.fsencode(folder)).hexdigest()[:24]
    kept.parent.mkdir(parents=True)
    kept.write_text(f"{json.dumps(folder)}\n{PAGE}")


@pytest.mark.processes
def test_where_the_server_sleeps_the_kept_opening_is_printed_and_the_event_wakes_it(
    home: Path, tmp_path: Path
):
    keep_page(home, "/home/ana/kiln")
    transcript = Transcript(tmp_path, "woken")
    transcript.user("The kiln of the woken hour is number 9.")
    for agent, event in (
        ("claude-code", "SessionStart"),
        ("cursor", "sessionStart"),
        ("gemini", "SessionEnd"),
    ):
        given = payload(agent, event, session="woken", transcript=str(transcript.path))
        shown = check_output(agent, event, call(home, agent, event, given))
        assert shown == (PAGE if event.lower() == "sessionstart" else "")
    deadline = time.monotonic() + 120
    while len(read_kept(home / "hooks" / "follower.json").answered) < 3 or client.socket_path(home).exists():
        assert time.monotonic() < deadline, "the server did not take the events, or did not leave"
        time.sleep(0.1)
    assert "woken hour" in "".join(path.read_text() for path in home.rglob("*.jsonl"))
