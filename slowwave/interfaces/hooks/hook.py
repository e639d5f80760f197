"""The program that an agent calls at each hook: it hands the payload to the home's server and prints the answer.

    python -I -S hook.py <agent> <event> --home HOME        the hook's payload on standard input

An agent must work on as if this were not there. So it exits with 0 whatever happens, in its time, and prints nothing
where the server is slow or wrong. Where none runs, it prints what the server kept for the start of a conversation in
that folder, and leaves a process behind that starts the server and hands the event over.

It starts with every prompt. So it is one file of the standard library, and it imports the modules below `hashlib`,
`signal` and `socket`: these three cost 15 ms, as much as the rest of the program. `docs/agents.md` says what happens at
each event.
"""

import _signal  # type: ignore[import-not-found]  # mypy knows no modules below the public ones
import os
import sys

SECONDS = 1.0
"""Seconds from start to exit: Claude Code gives all hooks of a session's end 1.5 seconds together."""

START_SECONDS = 2.5
"""The same at the start of a session, when the server may be waking up, too."""

WAKE_SECONDS = 60
"""Seconds that the process which is left behind waits for the server that it started."""

MOST_BYTES = 8_000_000
"""Bytes of a payload and of an answer."""

LONGEST_SOCKET = 103
KIND_AND_OTHERS, PRIVATE_FOLDER = 0o170077, 0o040000
SERVER = "slowwave.interfaces.http.serve"
"""As in `slowwave/interfaces/client.py`, which this file cannot import."""

LATE = "Slowwave-Late"
"""A header of an event that is handed over late: `told`, what was kept for it was printed; or `untold`, nothing was."""


def main() -> None:
    """Hand over the event, within the time; this never returns."""
    try:
        if os.name == "posix":
            agent, event, home = _named(sys.argv[1:])
            is_start = event.replace("-", "").replace("_", "").lower() == "sessionstart"
            _signal.signal(_signal.SIGALRM, lambda *_: os._exit(0))
            _signal.setitimer(_signal.ITIMER_REAL, START_SECONDS if is_start else SECONDS)
            _work(os.path.realpath(home), agent, event, is_start=is_start)
    finally:
        os._exit(0)  # whatever went wrong, the agent works on


def _named(words: list[str]) -> tuple[str, str, str]:
    """The agent, the event and the home of a command line."""
    place = words.index("--home")
    agent, event = (*words[:place], *words[place + 2 :])
    if not (agent + event).replace("-", "").replace("_", "").isalnum():
        raise ValueError("no names")
    return agent, event, words[place + 1]


def _work(home: str, agent: str, event: str, *, is_start: bool) -> None:
    payload, is_slow, answer = _read(), False, None
    try:
        answer = _ask(
            home, f"/hooks/{agent}/{event}", payload, seconds=0.8 * (START_SECONDS if is_start else SECONDS)
        )
    except TimeoutError:
        is_slow = True
    if answer is not None:
        _print(answer)
    elif os.path.isdir(home):  # noqa: PTH112 # pathlib takes its time; where no home is, nothing is made
        # Gemini CLI is told at its first prompt
        page = _kept(home, agent, event, payload) if is_start and agent != "gemini" else b""
        _print(page)
        if not is_slow:
            _leave_behind(
                home, f"/hooks/{agent}/{event}", payload, f"{LATE}: {'told' if page else 'untold'}\r\n"
            )


def _read() -> bytes:
    """Standard input, to its end."""
    payload = b""
    while part := os.read(0, 65_536):
        payload += part
        if len(payload) > MOST_BYTES:
            raise ValueError("too long")
    return payload


def _ask(home: str, path: str, payload: bytes, more: str = "", seconds: float | None = None) -> bytes | None:
    """The answer of the server, b"" where that is nothing or makes no sense; None where it sleeps or is waking up.

    Raises:
        TimeoutError: it does not answer within so many seconds.
    """
    import _socket

    for address in _addresses(home):
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        connection.settimeout(seconds)
        try:
            connection.connect(address)
        except OSError:
            connection.close()
            continue
        head = (
            f"POST {path} HTTP/1.1\r\nHost: slowwave\r\nContent-Type: application/json\r\n{more}"
            f"Content-Length: {len(payload)}\r\nConnection: close\r\n\r\n"
        )
        connection.sendall(head.encode() + payload)
        got = b""
        while len(got) <= MOST_BYTES and (part := connection.recv(65_536)):
            got += part
        return _body(got)
    return None


def _body(got: bytes) -> bytes | None:
    """The body of an answer, if that is whole and a JSON object; None of a server that loads its tables."""
    head, _, body = got.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    status = lines[0].split(b" ")[1:2]
    if status == [b"503"]:
        return None
    is_well = status == [b"200"] and b"content-length: %d" % len(body) in lines
    return body if is_well and body.startswith(b"{") and body.endswith(b"}") else b""


def _addresses(home: str) -> list[str]:
    """The sockets of this home's server that there are, in folders of this user alone."""
    name, found = f"{_hash(home)}.sock", []
    for place in (os.environ.get("XDG_RUNTIME_DIR"), os.environ.get("TMPDIR"), "/tmp"):  # noqa: S108
        folder = f"{place}/slowwave-{os.getuid()}"
        address = f"{folder}/{name}"
        if place and len(os.fsencode(address)) <= LONGEST_SOCKET and os.path.exists(address):  # noqa: PTH110
            state = os.lstat(folder)
            found += [address] * (
                state.st_uid == os.getuid() and state.st_mode & KIND_AND_OTHERS == PRIVATE_FOLDER
            )
    return found


def _hash(text: str) -> str:
    try:
        from _sha2 import sha256  # type: ignore[import-not-found]  # Python 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256  # type: ignore[import-not-found]
        except ImportError:
            from hashlib import sha256
    return str(sha256(os.fsencode(text)).hexdigest()[:24])


def _kept(home: str, agent: str, event: str, payload: bytes) -> bytes:
    """The page that the server kept for the start of a conversation in its folder; empty where it was told before."""
    import json

    given = json.loads(payload)
    if given.get("source", "startup") not in ("startup", "clear", "compact"):
        return b""
    folder = given.get("cwd") or next(iter(given.get("workspace_roots") or ()), "")
    try:
        with open(f"{home}/cache/opening/{_hash(folder)}", encoding="utf-8") as file:  # noqa: PTH123
            text = file.read().partition("\n")[2]
    except OSError:
        return b""
    if agent == "cursor":
        return json.dumps({"additional_context": text}).encode()
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}).encode()


def _leave_behind(home: str, path: str, payload: bytes, late: str) -> None:
    """Start the server, and hand it the event, in a process that the agent neither waits for nor ends."""
    if os.fork():
        return
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    _signal.setitimer(_signal.ITIMER_REAL, WAKE_SECONDS)
    if not os.fork():
        os.chdir(f"{os.path.dirname(os.path.abspath(__file__))}/../../..")  # noqa: PTH120, PTH100
        os.execv(sys.executable, [sys.executable, "-m", SERVER, home])  # noqa: S606 # our own module
    import time

    while _ask(home, path, payload, late) is None:
        time.sleep(0.1)


def _print(data: bytes) -> None:
    """Write all of it, mostly at once."""
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
