"""A scripted session of Claude Code: its hooks called as it calls them, by processes, with a server that is killed.

A preference is said in the first conversation. After a night it stands in the prompt of the second one. The server is
killed in the middle of a third: the hooks stay silent, and the next server loses and doubles nothing.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flows.nightly import nightly
from slowwave.entrypoints.harness.state import hook_state, read_accepted
from tests.hook_payloads import call, check_output, payload, used
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
        write_settings(self.home, llm=llm, night=night, embedding=embedding, server={"port": 24280})
        self.server: subprocess.Popen[bytes] | None = None

    def serve(self) -> None:
        words = [sys.executable, "-m", "slowwave", "serve", "--home", str(self.home)]
        log = self.home / "serve.log"
        with log.open("ab") as output:
            self.server = subprocess.Popen(words, stdout=output, stderr=output)
        address = self.home / "server" / "address.json"
        until(lambda: address.exists() and f'"pid": {self.server.pid}' in address.read_text())

    def kill(self) -> None:
        assert self.server is not None
        self.server.send_signal(signal.SIGKILL)
        self.server.wait()

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
        until(lambda: read_accepted(self.home) == [] and hook_state(self.home).missed_count == 0)

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
    with OpenAIServer(ScriptedModel()) as model:
        made = Session(tmp_path_factory.mktemp("claude"), model.url)
        made.serve()
        try:
            yield made
        finally:
            if made.server is not None and made.server.poll() is None:
                os.kill(made.server.pid, signal.SIGKILL)
                made.server.wait()


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


def test_what_was_cited_counts_as_cited_and_the_rest_of_what_a_prompt_showed_as_ignored(session: Session):
    third = Transcript(session.folder, "third")
    told = session.hook("UserPromptSubmit", third, prompt="What is the port of the staging database?")
    third.user("What is the port of the staging database?")
    third.assistant("The staging database has port 5433.")
    also = session.hook("UserPromptSubmit", third, prompt="What is the limit of the kiln controller?")
    third.user("What is the limit of the kiln controller?")
    third.assistant("I would look it up.")
    assert PORT in told
    assert KILN in also
    session.hook("SessionEnd", third)
    session.done()
    cells = session.cells()
    assert used(session.home, "cited", "third") == [cells[PORT]]
    until(lambda: used(session.home, "ignored", "third") == [cells[KILN]])


def test_a_server_killed_in_the_middle_loses_and_doubles_no_turn(session: Session):
    fourth = Transcript(session.folder, "fourth")
    session.exchange(fourth, "The colour of the oven is red 1.", "Noted 1.")
    session.kill()
    begun = hook_state(session.home)
    assert session.exchange(fourth, "The colour of the shelf is blue 2.", "Noted 2.") == ""
    assert session.hook("PreCompact", fourth) == ""
    assert session.hook("SessionEnd", fourth) == ""
    missed = hook_state(session.home)
    assert begun.missed_count == 0
    assert (missed.missed_count, missed.reasons) == (4, ("not running",))
    session.serve()
    session.done()
    session.exchange(fourth, "The colour of the glaze is green 3.", "Noted 3.")
    session.kill()  # right after it promised to take that in
    session.serve()
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
