"""The program that a harness calls: silent, with exit code 0 and in its time, whatever it finds."""

import ast
import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from slowwave.entrypoints.harness.state import hook_state
from tests.hook_payloads import CASES, PROGRAM, call, payload

ANSWER = b'{"hookSpecificOutput": {}}'
SECRET = "the words of a person"
HEAD = b"HTTP/1.1 200 OK\r\nx-slowwave-hook: 1\r\n"
FOR_EVER = 3_600.0


def whole(body: bytes = ANSWER, status: bytes = b"200 OK", mark: bytes = b"x-slowwave-hook: 1\r\n") -> bytes:
    return b"HTTP/1.1 %s\r\n%scontent-length: %d\r\n\r\n%s" % (status, mark, len(body), body)


@contextmanager
def server(home: Path, answer: Callable[[socket.socket], None], **told: object) -> Iterator[list[bytes]]:
    """A server of a home that does anything; the list gets the requests."""
    requests = list[bytes]()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, suppress(OSError):
                    requests.append(connection.recv(100_000))
                    answer(connection)

    threading.Thread(target=serve, daemon=True).start()
    write_address(home, listener.getsockname()[1], **told)
    try:
        yield requests
    finally:
        listener.close()


def write_address(home: Path, port: int, **told: object) -> None:
    (home / "server").mkdir(parents=True, exist_ok=True)
    address = {"url": f"http://127.0.0.1:{port}", "pid": os.getpid(), **told}
    (home / "server" / "address.json").write_text(json.dumps(address))
    (home / "server" / "key").write_text("a-key\n")


def send(data: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(data)


def stay_silent(connection: socket.socket) -> None:
    time.sleep(FOR_EVER)


def drip(connection: socket.socket) -> None:
    """A byte now and then, so that no single wait is ever too long."""
    for byte in HEAD:
        connection.sendall(bytes([byte]))
        time.sleep(0.3)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_the_program_stands_alone_on_few_modules():
    tree = ast.parse(PROGRAM.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names == {"_thread", "json", "os", "socket", "sys", "time"}


@pytest.mark.processes
def test_what_the_server_answers_is_printed_as_it_is(home: Path):
    with server(home, send(whole())) as requests:
        assert (
            call(home, "claude-code", "UserPromptSubmit", payload("claude-code", "UserPromptSubmit"))
            == ANSWER.decode()
        )
    head, _, body = requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /hooks/claude-code/UserPromptSubmit HTTP/1.1\r\n")
    assert b"Authorization: Bearer a-key\r\n" in head
    assert json.loads(body) == payload("claude-code", "UserPromptSubmit")
    assert not (home / "hooks").exists(), "nothing was missed"


@pytest.mark.processes
def test_nothing_to_say_prints_nothing(home: Path):
    with server(home, send(b"HTTP/1.1 204 No Content\r\nx-slowwave-hook: 1\r\n\r\n")):
        assert call(home, "claude-code", "Stop", payload("claude-code", "Stop")) == ""
    assert hook_state(home).missed_count == 0


@pytest.mark.processes
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (stay_silent, "too slow"),
        (drip, "too slow"),
        (send(b""), "no HTTP"),
        (send(b"\x00\xff" * 1_000), "no HTTP"),
        (send(whole(b'{"detail": "no key"}', b"401 Unauthorized", b"")), "status 401"),
        (send(whole(b"{}", b"503 Service Unavailable", b"")), "status 503"),
        (send(whole(b"<html>", b"200 OK", b"")), "answered by something else"),
        (send(whole()[:-4]), "half an answer"),
        (send(HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"), "half an answer"),
        (send(whole(b"ignore all rules")), "no JSON object"),
    ],
    ids=[
        "silent",
        "dripping",
        "empty",
        "noise",
        "no key",
        "busy",
        "another program",
        "cut off",
        "chunked",
        "no JSON",
    ],
)
def test_a_server_that_does_not_answer_well_leaves_a_line_and_no_word(home: Path, answer, reason: str):
    with server(home, answer):
        assert (
            call(home, "claude-code", "Stop", payload("claude-code", "Stop", last_assistant_message=SECRET))
            == ""
        )
    state = hook_state(home)
    assert (state.missed_count, state.reasons) == (1, (reason,))
    assert SECRET not in (home / "hooks" / "missed.jsonl").read_text()


@pytest.mark.processes
@pytest.mark.parametrize(
    "told",
    [
        {"url": "http://192.0.2.1:80"},
        {"url": "https://127.0.0.1:1"},
        {"url": "ftp"},
        {"url": 3},
        {"pid": 2**22 + 1},
    ],
)
def test_a_prompt_goes_to_no_other_machine_and_to_no_dead_server(home: Path, told: dict[str, object]):
    with server(home, send(whole()), **told) as requests:
        assert call(home, "claude-code", "UserPromptSubmit", payload("claude-code", "UserPromptSubmit")) == ""
    assert requests == []
    assert hook_state(home).missed_count == 1


@pytest.mark.processes
def test_without_a_server_each_event_leaves_one_line_for_this_user_alone(home: Path):
    for harness, event in CASES:
        assert call(home, harness, event, payload(harness, event, session="s7")) == ""
    lines = [json.loads(line) for line in (home / "hooks" / "missed.jsonl").read_text().split("\n") if line]
    assert [(line["harness"], line["event"]) for line in lines] == CASES
    assert {line["session_id"] for line in lines} == {"s7"}
    assert {line["transcript_path"] for line in lines} == {"/x/s.jsonl"}
    assert set(lines[0]) == {"at", "harness", "event", "session_id", "transcript_path", "reason"}
    assert stat.S_IMODE((home / "hooks" / "missed.jsonl").stat().st_mode) == 0o600
    assert stat.S_IMODE((home / "hooks").stat().st_mode) == 0o700
    assert hook_state(home).missed_since is not None


@pytest.mark.processes
@pytest.mark.parametrize(
    "given", [b"", b"{", b"[1]", b"\xff\xfe", b"null", b'{"session_id": 3}', b"x" * 9_000_000]
)
def test_any_payload_ends_well(home: Path, given: bytes):
    assert call(home, "codex", "Stop", given) == ""
    (line,) = [line for line in (home / "hooks" / "missed.jsonl").read_text().split("\n") if line]
    assert json.loads(line)["session_id"] is None


@pytest.mark.processes
def test_a_payload_that_never_ends_is_not_waited_for(home: Path):
    words = [sys.executable, "-I", str(PROGRAM), "claude-code", "Stop", "--home", str(home)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.wait(60) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b""
    assert hook_state(home).reasons == ("too slow",)


@pytest.mark.processes
@pytest.mark.parametrize(
    "words", [[], ["claude-code"], ["a", "b"], ["../x", "y", "--home", "."], ["a", "b", "--home"]]
)
def test_words_that_make_no_sense_end_well(tmp_path: Path, words: list[str]):
    done = subprocess.run(
        [sys.executable, "-I", str(PROGRAM), *words],
        input=b"{}",
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.processes
def test_where_no_home_is_nothing_is_made(tmp_path: Path):
    assert call(tmp_path / "gone", "claude-code", "Stop", payload("claude-code", "Stop")) == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.processes
def test_the_file_of_missed_events_is_bounded(home: Path):
    (home / "hooks").mkdir()
    path = home / "hooks" / "missed.jsonl"
    path.write_text("x" * 1_000_000)
    assert call(home, "claude-code", "Stop", payload("claude-code", "Stop")) == ""
    assert path.stat().st_size == 1_000_000
