"""A derivation and its switch, killed at any moment: nothing is lost, and the next run ends them."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flows.rebuild import rebuild
from flows.rederive import rederive
from slowwave import Memory
from slowwave.errors import NotFoundError
from slowwave.home.derivation import beside
from slowwave.home.paths import open_home
from tests.integration.test_rederive import (
    CORRECTED,
    JULY,
    JUNE,
    MODELS,
    STATED,
    BetterModel,
    live,
    settings_of,
    speak,
)
from tests.scripted_model import ScriptedModel, segments, tables, write_chat
from tests.servers import OpenAIServer

pytestmark = pytest.mark.processes

KILLED = """
import os, signal, sys
from pathlib import Path
from flows.rederive import rederive
from slowwave.journal.segments import Journal
import tasks.rederive.rederive as room

home, action, moment = sys.argv[1:4]

def dies(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

class Counted:
    left = int(moment) if moment.isdecimal() else -1

commit = Journal.commit
def counted(journal, events, *, now):
    done = commit(journal, events, now=now)
    if done is not None and journal.root.parent.name == "rederived":
        Counted.left -= 1
        if Counted.left == 0:
            dies()
    is_living = journal.root.parent.name != "rederived"
    if moment == "after the commit" and is_living and "derivation.switched" in events["kind"].to_list():
        dies()
    return done

Journal.commit = counted
if moment == "before the commit":
    room._own_events = dies
if moment == "while it is removed":
    room.remove = lambda side: ((side.root / "derivation.json").rename(side.root / "gone.json"), dies())
rederive.fn(home=home, action=action)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a person's edits that nothing was derived beside yet."""
    folder = tmp_path_factory.mktemp("killed")
    write_chat(folder / "chats", "june", JUNE)
    write_chat(folder / "chats", "july", JULY)
    with OpenAIServer(ScriptedModel(), models=MODELS) as server:
        from flows.nightly import nightly

        nightly.fn(home=settings_of(folder / "home", server.url), sources=[str(folder / "chats")], force=True)
    speak(folder / "home")
    return folder / "home"


@pytest.fixture(scope="module")
def derived(told: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a whole derivation beside it."""
    home = Path(shutil.copytree(told, tmp_path_factory.mktemp("whole") / "home"))
    with OpenAIServer(BetterModel(), models=MODELS) as server:
        assert rederive.fn(home=settings_of(home, server.url, model="second")).is_whole
    return home


def killed(home: Path, action: str, moment: str) -> None:
    command = [sys.executable, "-c", KILLED, str(home), action, moment]
    done = subprocess.run(command, check=False, timeout=240, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]


def test_a_derivation_that_is_killed_is_made_again_from_paid_answers(told, derived, tmp_path):
    home = Path(shutil.copytree(told, tmp_path / "home"))
    before = segments(home)
    model = BetterModel()
    with OpenAIServer(model, models=MODELS) as server:
        folder = settings_of(home, server.url, model="second")
        killed(home, "derive", "9")
        assert segments(home) == before
        assert rederive.fn(home=folder).is_whole
    assert model.said["ExtractAnswer"] == 2, "answers that were paid for are not asked for again"
    assert live(beside(open_home(home)).root) == live(beside(open_home(derived)).root)


@pytest.mark.parametrize("moment", ["before the commit", "after the commit", "while it is removed"])
def test_a_switch_that_is_killed_has_happened_or_not_and_can_be_ended(derived, tmp_path, moment):
    home = Path(shutil.copytree(derived, tmp_path / "home"))
    wanted, old = live(beside(open_home(home)).root), live(home)
    killed(home, "switch", moment)
    if moment == "before the commit":
        assert live(home) == old
        rederive.fn(home=str(home), action="switch")
    else:
        with Memory(home) as memory:
            assert memory.remember("The crane is painted green.").is_searchable
        with pytest.raises(NotFoundError):
            rederive.fn(home=str(home), action="switch")
        wanted = wanted | {"The crane is painted green."}
    assert live(home) == wanted
    assert {STATED, CORRECTED} <= wanted
    assert not (home / "rederived" / "derivation.json").exists()
    found = tables(home)
    rebuild.fn(home=str(home))
    for table, rows in tables(home).items():
        assert rows.equals(found[table]), table
