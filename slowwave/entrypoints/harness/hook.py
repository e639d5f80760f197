"""The program that a harness calls at each hook: it hands the payload to the server, and prints what that answers.

    python -I hook.py <harness> <event> --home HOME        the hook's payload on standard input

An agent must work on as if this were not there. So it exits with 0 whatever happens, in its time, and prints nothing
where the server is down, slow, wrong or somebody else. An event that the server did not take becomes one line of
`HOME/hooks/missed.jsonl` (time, event, conversation and transcript; no text), from which the next server catches up.

It starts with every prompt. So it is one file of the standard library that imports as little as it can, and nothing of
Slowwave; `docs/harnesses.md` says what happens at each event.
"""

import _thread
import json
import os
import socket
import sys
import time

SECONDS = 1.0
"""Seconds from start to exit: Claude Code gives all hooks of a session's end 1.5 seconds together."""

START_SECONDS = 2.5
"""The same at the start of a session, when the server may be waking up, too."""

MOST_PAYLOAD = 8_000_000
MOST_ANSWER = 200_000
"""Bytes that are read of a payload, and of an answer."""

MOST_MISSED = 1_000_000
"""Bytes of `missed.jsonl` from which on nothing is added: the transcripts named in it are known by then."""

MARK = b"x-slowwave-hook:"
"""A header of every answer of our own server: another program may have its port by now."""

_once = _thread.allocate_lock()
"""Held by whoever ends this process: the work, or the watch over its time."""


class Missed(Exception):  # noqa: N818 # no error: the reason why an event is left for later
    """The server did not take the event; the message is a word or two of this program."""


def main() -> None:
    """Hand over the event, within the time; this never returns."""
    began, payload = time.monotonic(), bytearray()
    try:
        harness, event, home = _named(sys.argv[1:])
        limit = START_SECONDS if event.lower().replace("-", "") == "sessionstart" else SECONDS
        _thread.start_new_thread(_watch, (limit, harness, event, home, payload))
        answer, reason = b"", ""
        try:
            _read_payload(payload)
            answer = _ask(home, f"/hooks/{harness}/{event}", payload, began + limit * 0.9)
        except Missed as missed:
            reason = str(missed)
        _once.acquire()
        if reason:
            _note(home, harness, event, payload, reason)
        else:
            _write(1, answer)
    finally:
        os._exit(0)  # whatever went wrong, the agent works on


def _named(words: list[str]) -> tuple[str, str, str]:
    """The harness, the event and the home of a command line."""
    place = words.index("--home")
    harness, event = (word for word in (*words[:place], *words[place + 2 :]))
    if not (harness + event).replace("-", "").replace("_", "").isalnum():
        raise ValueError("no names")
    return harness, event, words[place + 1]


def _watch(limit: float, harness: str, event: str, home: str, payload: bytearray) -> None:
    """End the process when its time is over, also where the payload never ends."""
    time.sleep(limit)
    try:
        if _once.acquire(timeout=0.2):  # else the answer is being written, or nobody reads it
            _note(home, harness, event, payload, "too slow")
    finally:
        os._exit(0)


def _read_payload(payload: bytearray) -> None:
    """Read standard input to its end into `payload`."""
    while len(payload) <= MOST_PAYLOAD:
        part = os.read(0, 65_536)
        if not part:
            return
        payload += part
    raise Missed("payload too long")


def _ask(home: str, path: str, payload: bytearray, deadline: float) -> bytes:
    """The answer of the server of this home: a JSON object, or nothing.

    Raises:
        Missed: there is none, or it did not take the event.
    """
    host, port, key = _address(home)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(payload)}\r\nConnection: close\r\n\r\n"
    )
    try:
        with socket.create_connection((host, port), timeout=_left(deadline)) as connection:
            connection.settimeout(_left(deadline))
            connection.sendall(head.encode() + payload)
            return _answer(connection, deadline)
    except TimeoutError as error:
        raise Missed("too slow") from error
    except OSError as error:
        raise Missed("not running") from error


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise Missed("too slow")
    return left


def _address(home: str) -> tuple[str, int, str]:
    """Host, port and key of the server of this home, as it left them there."""
    try:
        with open(f"{home}/server/address.json", "rb") as file:  # noqa: PTH123 # pathlib takes its time
            address = json.loads(file.read(10_000))
        with open(f"{home}/server/key", "rb") as file:  # noqa: PTH123
            key = file.read(1_000).decode("ascii").strip()
        scheme, _, place = address["url"].partition("://")
        host, _, port = place.rstrip("/").rpartition(":")
        host = host.strip("[]")
        if scheme != "http" or host not in {"127.0.0.1", "::1", "localhost"} or not key.isprintable():
            raise Missed("no address")  # what a person types is sent nowhere but to this machine
        if os.name == "posix":
            os.kill(int(address["pid"]), 0)  # the port of a dead server may be another program's by now
        return host, int(port), key
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Missed("not running") from error


def _answer(connection: socket.socket, deadline: float) -> bytes:
    """The body of an answer that is whole, ours, and a JSON object or empty."""
    got = b""
    while len(got) <= MOST_ANSWER:
        connection.settimeout(_left(deadline))
        part = connection.recv(65_536)
        if not part:
            break
        got += part
    head, _, body = got.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    status = lines[0].split(b" ")[1:2]
    if status not in ([b"200"], [b"204"]):
        raise Missed(f"status {status[0].decode()}" if status and status[0].isdigit() else "no HTTP")
    if not any(line.startswith(MARK) for line in lines):
        raise Missed("answered by something else")
    length = next((line[15:].strip() for line in lines if line.startswith(b"content-length:")), b"0")
    if str(len(body)).encode() != length:
        raise Missed("half an answer")
    if body and not (body.startswith(b"{") and body.endswith(b"}")):
        raise Missed("no JSON object")
    return body


def _note(home: str, harness: str, event: str, payload: bytearray, reason: str) -> None:
    """Append the event to `missed.jsonl`, in one write; where no home is, nothing is made."""
    folder = f"{home}/hooks"
    try:
        told = json.loads(payload)
    except ValueError:
        told = {}
    told = told if isinstance(told, dict) else {}
    names = (told.get("session_id") or told.get("conversation_id"), told.get("transcript_path"))
    session, transcript = (name[:4_096] if isinstance(name, str) else None for name in names)
    line = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "harness": harness,
        "event": event,
        "session_id": session,
        "transcript_path": transcript,
        "reason": reason,
    }
    if not os.path.isdir(home):  # noqa: PTH112
        return
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
    file = os.open(f"{folder}/missed.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    if os.fstat(file).st_size < MOST_MISSED:
        _write(file, b"\n" + json.dumps(line).encode() + b"\n")  # a line before may be torn


def _write(file: int, data: bytes) -> None:
    """Write all of it, mostly at once."""
    while data:
        data = data[os.write(file, data) :]


if __name__ == "__main__":
    main()
