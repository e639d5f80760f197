"""Messages recorded as they are said: durable at once, repeatable, redacted, found soon, and never doubled."""

import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from flows.nightly import nightly
from slowwave import Memory
from slowwave.errors import InputError, NotFoundError, TransientError
from slowwave.home.lock import writing
from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.journal.segments import Journal
from slowwave.recall.reader import open_reader
from slowwave.recording.folding import fold_committed
from slowwave.recording.parts import Parts
from slowwave.schemas.results import Recorded, SearchResult
from slowwave.store import open_store
from tests import forked
from tests.integration.recording_process import BATCH, record_until_killed
from tests.rows import events
from tests.scripted_model import write_settings

WAIT_SECONDS = 30.0
SECRET = "sk-ant-api03-" + "a1B2c3D4" * 6
TEXTS = ("We take Redis for the queue.", "Redis it is.", "And Kafka stays where it is.")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("slowwave.recording.folding.FOLD_SECONDS", 0.05)
    write_settings(tmp_path / "home", embedding={"provider": "none"})
    return tmp_path / "home"


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    with Memory(home, records_usage=False) as memory:
        yield memory


def message(number: int, text: str = "", **more: object) -> dict[str, object]:
    role = "assistant" if number % 2 else "user"
    return {"session_id": "chat", "id": str(number), "role": role, "text": text or TEXTS[number]} | more


def transcript(path: Path, *texts: str) -> Path:
    """The conversation as a chat file."""
    lines = [
        {
            "session_id": "chat",
            "id": str(number),
            "role": "assistant" if number % 2 else "user",
            "content": text,
        }
        for number, text in enumerate(texts)
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n", encoding="utf-8")
    return path


def found_soon(memory: Memory, question: str, number: int) -> SearchResult:
    """The answer once it has so many turns: what was recorded is in the store a moment later."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        found = memory.search(question, detail_level="evidence")
        if len(found.turns) >= number or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def stored(home: Path) -> pl.DataFrame:
    return open_store(home / "store").rows("turns").sort("session_id", "turn_index")


def test_what_is_recorded_is_in_the_journal_at_once_and_found_soon(memory: Memory, home: Path):
    done = memory.record([message(0), message(1)], client="my-agent")
    assert (done.new_count, done.known_count, len(done.turn_ids)) == (2, 0, 2)
    (segment,) = open_home(home).journal.segment_ids()
    assert open_home(home).journal.read([segment]).events["kind"].to_list() == ["turn.recorded"] * 2
    turns = sorted(found_soon(memory, "redis", 2).turns, key=lambda turn: turn.turn_index)
    assert [(turn.content, turn.role, turn.origin, turn.source_name) for turn in turns] == [
        ("We take Redis for the queue.", "user", "user", "my-agent"),
        ("Redis it is.", "assistant", "agent", "my-agent"),
    ]


def test_the_same_message_adds_nothing_and_only_a_text_that_goes_on_takes_its_place(
    memory: Memory, home: Path
):
    memory.record([message(0), message(1)])
    again = memory.record([message(1), message(0), message(2)])
    assert (again.new_count, again.known_count) == (1, 2)
    with Memory(home, records_usage=False) as other:  # which has recorded nothing itself
        found_soon(other, "redis kafka", 3)
        assert other.record([message(0), message(1), message(2)]).new_count == 0
        assert other.record([message(1, "Redis it is. Then we start.")]).new_count == 1
        found_soon(other, "start", 1)
        assert other.record([message(1, "Redis"), message(2, "Something else, and longer.")]).new_count == 0
    turns = stored(home)
    assert turns["content"].to_list() == [TEXTS[0], "Redis it is. Then we start.", TEXTS[2]]
    assert turns["turn_index"].to_list() == [0, 1, 2]
    one_call = memory.record([message(3, "Half a"), message(3, "Half a sentence.")])
    assert (one_call.new_count, one_call.left_out) == (1, {"repeated message": 1})


def test_a_secret_told_in_one_call_is_masked_alone_in_the_next_of_its_conversation(
    memory: Memory, home: Path
):
    memory.record([message(0, "The password of the wiki is Kx9!tram-Pelle77.")])
    done = memory.record([message(1, "Kx9!tram-Pelle77 let me in."), message(2, "Good.", session_id="other")])
    assert done.redacted == {"password": 1}
    journal = open_home(home).journal
    assert "Kx9" not in str(journal.read(journal.segment_ids()).events["payload"].to_list())


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_password_that_answers_the_call_before_it_is_masked(memory: Memory, home: Path, is_restarted: bool):
    memory.record([message(0, "What was the password of the wiki?")])
    if is_restarted:
        memory.close()
        memory = Memory(home, records_usage=False)
    done = memory.record([message(1, "Hollyhock7"), message(2, "Hollyhock8", session_id="other")])
    assert done.redacted == {"password": 1}
    journal = open_home(home).journal
    told = str(journal.read(journal.segment_ids()).events["payload"].to_list())
    assert ("Hollyhock7" in told, "Hollyhock8" in told) == (False, True)
    memory.close()  # its fold would come after the home is gone


def test_a_conversation_goes_on_where_a_process_left_it_that_ended_before_the_store_had_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("slowwave.recording.folding.FOLD_SECONDS", 3600.0)
    Memory(home, records_usage=False).record(
        [message(0), message(1)], project="kiln", new_project=True
    )  # not closed, as by a kill
    with Memory(home, records_usage=False) as memory:
        done = memory.record([message(1), message(2)])
        assert (done.new_count, done.known_count) == (1, 1)
        memory.ingest([])
    assert stored(home)["content"].to_list() == list(TEXTS)
    assert stored(home)["turn_index"].to_list() == [0, 1, 2]
    assert stored(home)["project_id"].to_list() == ["kiln"] * 3


def test_two_that_record_one_conversation_go_on_where_the_other_left_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("slowwave.recording.folding.FOLD_SECONDS", 3600.0)
    with Memory(home, records_usage=False) as one, Memory(home, records_usage=False) as other:
        for number in range(6):
            (one, other)[number % 2].record([message(number, f"Message {number}.")])
        again = [other.record([message(number, f"Message {number}.")]) for number in range(6)]
        assert sum(done.new_count for done in again) == 0
        other.ingest([])  # now it is in the store, and the next one goes on behind it
        one.record([message(6, "Message 6.")])
        one.ingest([])
    before = stored(home)
    assert before["content"].to_list() == [f"Message {number}." for number in range(7)]
    assert before["turn_index"].to_list() == [*range(7)]
    from flows.rebuild import rebuild

    rebuild.fn(home=str(home))
    assert stored(home).equals(before)


def test_many_that_record_one_conversation_at_once_lose_nothing_and_keep_their_order(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("slowwave.recording.folding.FOLD_SECONDS", 3600.0)

    def say(who: str) -> None:
        with Memory(home, records_usage=False) as memory:
            for number in range(8):
                memory.record([message(number, f"{who} {number}", id=f"{who} {number}", role="user")])

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(say, "abc"))
    with Memory(home, records_usage=False) as memory:
        memory.ingest([])
    turns = stored(home).sort("turn_index", "event_time")
    assert turns.height == 24
    for who in "abc":
        own = turns.filter(pl.col("content").str.starts_with(who))["content"].to_list()
        assert own == [f"{who} {number}" for number in range(8)]


def test_without_an_id_the_same_text_at_the_same_time_is_the_same_message(memory: Memory):
    at = "2026-06-05T09:12:22Z"
    said = {"session_id": "chat", "role": "user", "text": "Yes."}
    assert memory.record([said | {"time": at}]).new_count == 1
    assert memory.record([said | {"time": at}]).new_count == 0
    assert memory.record([said | {"time": "2026-06-05T09:13:22+00:00"}]).new_count == 1
    assert memory.record([said, said]).new_count == 2


def test_a_message_and_its_transcript_are_one_whichever_comes_first(
    memory: Memory, home: Path, tmp_path: Path
):
    memory.record([message(0), message(1)])
    file = transcript(tmp_path / "chat.jsonl", *TEXTS)
    assert memory.ingest([file]).counts["turn.recorded"] == 1
    assert memory.record([message(number) for number in range(3)]).new_count == 0
    assert stored(home)["content"].to_list() == list(TEXTS)
    assert stored(home)["turn_index"].to_list() == [0, 1, 2]
    assert "turn.recorded" not in memory.ingest([transcript(tmp_path / "copy.jsonl", *TEXTS)]).counts


@pytest.mark.parametrize("moment", ["before it looks", "while it reads", "while it commits"])
def test_messages_recorded_beside_an_ingest_of_their_conversation_are_there_once_and_in_order(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
):
    """The file has messages 0, 1 and 2; message 1 and one that the file does not have are recorded at that moment."""
    monkeypatch.setattr("slowwave.recording.folding.FOLD_SECONDS", 3600.0)
    with Memory(home, records_usage=False) as other:
        saying: list[Recorded] = []

        def say_beside() -> None:
            if not saying:
                saying.append(other.record([message(1), message(9, "And what of the ferry?")]))

        def spied(owner: object, name: str) -> None:
            real = getattr(owner, name)

            def first_say(*given: object, **named: object) -> object:
                monkeypatch.setattr(owner, name, real)
                say_beside()
                return real(*given, **named)

            monkeypatch.setattr(owner, name, first_say)

        if moment == "before it looks":
            say_beside()
        elif moment == "while it reads":
            spied(Parts, "add")
        else:
            spied(Journal, "commit")
        with Memory(home, records_usage=False) as memory:
            memory.ingest([transcript(tmp_path / "chat.jsonl", *TEXTS[:3])])
            memory.ingest([transcript(tmp_path / "chat.jsonl", *TEXTS[:3], "Then we are done.")])
            other.record([message(10, "Good night.")])
            memory.ingest([])
    told = stored(home).sort("turn_index", "event_time")["content"].to_list()
    assert [text for text in told if text in (TEXTS[0], TEXTS[2], "Then we are done.")] == [
        TEXTS[0],
        TEXTS[2],
        "Then we are done.",
    ]
    assert sorted(told) == sorted([*TEXTS[:3], "And what of the ferry?", "Then we are done.", "Good night."])
    assert told[-1] == "Good night."


def test_secrets_and_memory_from_a_prompt_are_left_out_and_what_tools_say_is_not_stored(
    memory: Memory, home: Path
):
    fenced = "<slowwave-memory>Redis was chosen.</slowwave-memory>And now?"
    done = memory.record(
        [
            message(0, f"The key is {SECRET}."),
            message(2, fenced),
            message(4, role="tool", text="exit 0"),
            message(6, role="system", text="You are helpful."),
            message(8, "  "),
        ]
    )
    assert done.redacted == {"anthropic": 1}
    assert done.left_out == {"tool message": 1, "system message": 1, "empty message": 1, "injected memory": 1}
    found_soon(memory, "now", 1)
    assert stored(home)["content"].to_list() == ["The key is [redacted:anthropic].", "And now?"]
    written = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert SECRET.encode() not in written
    assert b"was chosen" not in written


def test_what_was_erased_stays_out_by_whatever_way_it_comes_again(memory: Memory, home: Path, tmp_path: Path):
    (turn_id,) = memory.record([message(0)]).turn_ids
    memory.record([message(1)])
    found_soon(memory, "redis", 2)
    assert memory.erase(turn_id=turn_id).is_proven
    with Memory(home, records_usage=False) as other:
        again = other.record([message(0)])
        assert (again.new_count, again.left_out) == (0, {"erased by a person": 1})
        other.ingest([transcript(tmp_path / "chat.jsonl", *TEXTS[:2])])
    assert stored(home)["content"].to_list() == [TEXTS[1]]


def test_the_next_ingest_cuts_what_was_recorded_once_and_a_night_makes_memories_of_it(
    memory: Memory, home: Path
):
    memory.record([message(0), message(1)])
    assert memory.ingest([]).counts == {"chunk.cut": 1}
    assert memory.ingest([]).counts == {}
    memory.record([message(2)])
    assert memory.ingest([]).counts == {"chunk.cut": 1}
    chunks = open_store(home / "store").rows("chunks").sort("recorded_at")
    assert [len(ids) for ids in chunks["turn_ids"]] == [2, 3]  # the second with the overlap before it
    memory.record([message(1, "Redis it is. After all.")])
    assert memory.ingest([]).counts == {"chunk.cut": 1}
    nightly.fn(home=str(home), force=True)
    assert memory.cells(limit=10).total > 0
    assert memory.ingest([]).counts == {}


def test_recording_waits_for_nobody_and_the_writer_at_work_takes_it_in(memory: Memory, home: Path):
    memory.remember("The kiln is warm.")
    with open_workspace(home) as workspace:
        before = workspace.store.count("turns")
        assert memory.record([message(0)]).new_count == 1
        workspace.commit(
            events("topic.opened", {"topic_id": "T", "name": "kiln", **workspace.home.owner}),
            now=workspace.clock(),
        )
        assert workspace.store.count("turns") == before + 1


def test_what_waited_for_a_writer_is_taken_in_after_it(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("slowwave.recording.folding.FOLD_SECONDS", 0.1)
    with Memory(home, records_usage=False) as memory:
        with writing(open_home(home), work="run"):
            memory.record([message(0)])
            time.sleep(0.3)
            assert memory.search("redis", detail_level="evidence").turns == []
        assert [turn.content for turn in found_soon(memory, "redis", 1).turns] == [TEXTS[0]]


@pytest.mark.parametrize(
    ("turns", "told"),
    [
        ([], "turns"),
        ([{"role": "user", "text": "x"}], "session_id"),
        ([message(0, role="robot")], "role"),
        ([message(0, text="x" * 1_000_001)], "characters"),
        ([message(0)] * 1_001, "1001 are too many"),
        ([message(0, session_id="")], "session_id"),
        ([message(0, id="x" * 201)], "characters"),
        ([message(0, time="yesterday")], "turns[0].time"),
        ([message(0, time="0001-01-01T00:00:00Z")], "turns[0].time is not possible: choose 1970 to 2199"),
        ([message(0, time=1e18)], "turns[0].time"),
        ([message(0, more="x")], "more"),
        (["x"], "turns"),
    ],
)
def test_what_cannot_be_recorded_is_refused_whole_in_a_line(
    memory: Memory, home: Path, turns: list[object], told: str
):
    with pytest.raises(InputError) as refused:
        memory.record(turns)  # type: ignore[arg-type]
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300
    assert open_home(home).journal.segment_ids() == []


def test_a_journal_that_cannot_be_written_is_an_error_and_the_message_is_new_the_next_time(
    memory: Memory, home: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("slowwave.journal.segments.write_whole", full)
        with pytest.raises(TransientError, match="nothing was recorded"):
            memory.record([message(0)])
    assert memory.record([message(0)]).new_count == 1


@pytest.mark.processes
def test_a_kill_right_after_the_return_loses_nothing(home: Path):
    process, told = forked.start(record_until_killed, str(home))
    safe = -1
    while safe < 8:
        assert told.poll(WAIT_SECONDS * 4)
        safe = told.recv()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(WAIT_SECONDS)
    while told.poll():
        try:
            safe = told.recv()
        except EOFError:
            break
    with Memory(home, records_usage=False) as memory:
        memory.ingest([])
    texts = stored(home)["content"].to_list()
    assert len(texts) == len(set(texts))
    assert {f"Batch {batch}, message {place}." for batch in range(safe + 1) for place in range(BATCH)} <= {
        *texts
    }


def test_a_timeline_of_a_conversation_without_memories_yet_says_what_makes_them(tmp_path: Path):
    home = tmp_path / "home"
    write_settings(home, embedding={"provider": "none"})
    with Memory(home) as memory:
        memory.ingest([transcript(tmp_path / "chat.jsonl", "The kiln is blue.")])
        with pytest.raises(
            NotFoundError, match=r"no memories were made of the session 'chat' yet: .*nightly"
        ):
            memory.timeline(session="chat")
        with pytest.raises(NotFoundError, match="memory knows no session 'chatter'"):
            memory.timeline(session="chatter")


def test_a_late_fold_does_not_make_a_home_that_was_taken_away(tmp_path: Path):
    home, away = tmp_path / "home", tmp_path / "away"
    write_settings(home, embedding={"provider": "none"})
    with Memory(home) as memory:
        memory.record([message(0)])
        home.rename(away)
        done, told = fold_committed(open_reader(open_home(home)), patience_seconds=0.0)
        assert (done, "moved or removed" in told) == ("failed", True)
        assert not home.exists()
        away.rename(home)
