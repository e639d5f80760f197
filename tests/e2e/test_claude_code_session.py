"""A scripted session of Claude Code: its hooks called as it calls them, by processes, which start the server.

A preference is said in the first conversation. After a night it stands in the prompt of the second one. The server is
killed in the middle of a third: the hooks start another one, which loses and doubles nothing.
"""

import os
import shutil
import signal
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flows.nightly import nightly
from slowwave.interfaces import client
from slowwave.interfaces.hooks.follower import read_kept
from tests.hook_payloads import call, check_output, payload
from tests.scripted_model import ScriptedModel, store_of, write_settings
from tests.servers import OpenAIServer
from tests.transcripts import Transcript

pytestmark = [pytest.mark.processes, pytest.mark.timeout(600)]

PREFERENCE = "Ana prefers tests without mocks."
PORT = "The port of the staging database is 5433."
KILN = "The limit of the kiln controller is 1280 degrees."


class Session:
    """One home, its server and the person's conversations."""

    def __init__(self, folder: Path, model: str) -> None:
        self.home, self.folder = folder / "home", folder / "projects"
        llm = {"provider": "openai", "base_url": model, "api_key": "k", "model": "m"}
        night, embedding = {"min_hours": 0.0}, {"provider": "wordllama"}
        write_settings(self.home, llm=llm, night=night, embedding=embedding)

    def wake(self) -> None:
        """Have a server that answers at once."""
        reply = client.ask(self.home.resolve(), "GET", "/health/live")
        assert reply is not None
        until(lambda: client.ask(self.home.resolve(), "GET", "/health/ready").status == 200)  # type: ignore[union-attr]

    def kill(self) -> None:
        """Kill the server that listens on the socket, where there is one."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(str(client.socket_path(self.home.resolve())))
            told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        os.kill(struct.unpack("3i", told)[0], signal.SIGKILL)
        until(lambda: client.ask(self.home.resolve(), "GET", "/health/live", may_start=False) is None)

    def hook(self, event: str, transcript: Transcript, **more: object) -> str:
        given = payload(
            "claude-code", event, session=transcript.session, transcript=str(transcript.path), **more
        )
        return check_output("claude-code", event, call(self.home, "claude-code", event, given))

    def exchange(self, transcript: Transcript, prompt: str, answer: str) -> str:
        """One prompt and its answer, with the hooks and records around them; returns what was put beside it."""
        told = self.hook("UserPromptSubmit", transcript, prompt=prompt)
        transcript.user(prompt)
        if told:
            transcript.hook("UserPromptSubmit", told)
        transcript.assistant(answer)
        self.hook("Stop", transcript, last_assistant_message=answer)
        return told

    def done(self) -> None:
        time.sleep(0.5)  # what a process that was left behind hands over
        until(lambda: read_kept(self.home / "hooks" / "follower.json").waiting == {})

    def turns(self, session: str) -> list[str]:
        turns = store_of(str(self.home)).rows("turns").sort("turn_index")
        return [row["content"] for row in turns.iter_rows(named=True) if row["session_id"] == session]

    def night(self) -> None:
        nightly.fn(home=str(self.home), force=True)

    def cells(self) -> dict[str, str]:
        rows = store_of(str(self.home)).rows("cells", ["cell_id", "content"])
        return {row["content"]: row["cell_id"] for row in rows.iter_rows(named=True)}


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    runtime = tempfile.mkdtemp(dir="/tmp")  # a socket's path must be short
    with OpenAIServer(ScriptedModel()) as model, pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_RUNTIME_DIR", runtime)
        environment.setenv("SLOWWAVE_SEARCH__RESIDENT_MINUTES", "10")
        made = Session(tmp_path_factory.mktemp("claude"), model.url)
        made.wake()
        try:
            yield made
        finally:
            made.kill()
            shutil.rmtree(runtime)


def test_what_was_said_in_one_conversation_stands_in_the_next_ones_prompt(session: Session):
    first = Transcript(session.folder, "first")
    assert session.hook("SessionStart", first) == "", "nothing is known yet"
    assert session.exchange(first, PREFERENCE, "Understood, tests without mocks from now on.") == ""
    session.exchange(first, PORT, "Noted.")
    session.exchange(first, KILN, "Noted, too.")
    session.hook("SessionEnd", first)
    session.done()
    assert session.turns("first")[::2] == [PREFERENCE, PORT, KILN]
    session.night()

    second = Transcript(session.folder, "second")
    start = session.hook("SessionStart", second)
    assert PREFERENCE in start, "core memory needs no prompt that shares its words"
    second.hook("SessionStart", start)
    told = [
        session.exchange(second, "Does Ana prefer tests without mocks?", "She does."),
        session.exchange(
            second, "What is the port of the staging database?", "The staging database has port 5433."
        ),
        session.exchange(second, "What is the limit of the kiln controller?", "I cannot say."),
        session.exchange(second, "And the port of the staging database, again?", "As I said."),
    ]
    shown = "\n".join([start, *told])
    for text in (PREFERENCE, PORT, KILN):
        assert shown.count(text) == 1, "it is told, and once"
    assert told[3] == ""
    session.hook("SessionEnd", second)
    session.done()
    assert not any("slowwave-memory" in turn or "mem:" in turn for turn in session.turns("second"))


def test_a_server_killed_in_the_middle_loses_and_doubles_no_turn(session: Session):
    fourth = Transcript(session.folder, "fourth")
    session.exchange(fourth, "The colour of the oven is red 1.", "Noted 1.")
    session.kill()
    assert session.exchange(fourth, "The colour of the shelf is blue 2.", "Noted 2.") == ""
    assert session.hook("PreCompact", fourth) == ""
    assert session.hook("SessionEnd", fourth) == ""
    session.wake()
    session.done()
    until(lambda: len(session.turns("fourth")) == 4)
    session.exchange(fourth, "The colour of the glaze is green 3.", "Noted 3.")
    session.kill()  # right after it promised to take that in
    session.wake()
    session.done()
    wanted = [
        "The colour of the oven is red 1.",
        "Noted 1.",
        "The colour of the shelf is blue 2.",
        "Noted 2.",
        "The colour of the glaze is green 3.",
        "Noted 3.",
    ]
    assert session.turns("fourth") == wanted
