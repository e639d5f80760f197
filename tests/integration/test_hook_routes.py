"""The server's side of the hooks: what each event is answered, and what is taken in behind the answer."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from slowwave.home.lock import rewriting
from slowwave.home.paths import open_home
from slowwave.ingest.fences import strip_injected
from slowwave.interfaces.hooks import follower
from slowwave.interfaces.hooks.follower import Kept, read_kept
from slowwave.language.tokens import count_tokens
from slowwave.memory import Memory
from tests.hook_payloads import CASES, check_output, payload, used
from tests.scripted_model import store_of, write_settings
from tests.serving import serving
from tests.transcripts import Transcript

PORT = "The staging database listens on port 5433."
ASKED = "Which port does the staging database listen on?"
STYLE = "Mara prefers short answers without apologies."


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hooks") / "home"
    write_settings(folder, embedding={"provider": "wordllama"})
    with Memory(folder) as memory:
        memory.remember(PORT, subject="staging database", attribute="port", value="5433")
        memory.remember(STYLE, cell_type="preference")
        memory.remember("Renew the certificate of the kiln server.", cell_type="task")
    return folder


@pytest.fixture(scope="module", autouse=True)
def without_pauses(home: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, seconds in (("SETTLE_SECONDS", 0.05), ("RETRY_SECONDS", 0.2)):
            patch.setattr(follower, name, seconds)
        yield


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[httpx.Client]:
    with serving(home) as client:
        until(lambda: client.get("/health/ready").status_code == 200)
        yield client


def post(client: httpx.Client, harness: str, event: str, **given: object) -> str:
    answer = client.post(f"/hooks/{harness}/{event}", json=payload(harness, event, **given))
    assert answer.status_code == (200 if answer.text else 204), answer.text
    return check_output(harness, event, answer.text)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)


def kept(home: Path) -> Kept:
    return read_kept(home / "hooks" / "follower.json")


def done(home: Path) -> None:
    until(lambda: kept(home).waiting == {})


def said(home: Path, session: str) -> list[str]:
    turns = store_of(str(home)).rows("turns").sort("turn_index")
    return [row["content"] for row in turns.iter_rows(named=True) if row["session_id"] == session]


@pytest.mark.parametrize(("harness", "event"), CASES)
def test_every_documented_payload_is_answered_as_its_harness_reads_it(served, home, tmp_path, harness, event):
    more = {"prompt": ASKED} if event in ("UserPromptSubmit", "BeforeAgent", "beforeSubmitPrompt") else {}
    transcript = Transcript(tmp_path, f"all-{harness}")
    transcript.user("Hello there.")
    text = post(served, harness, event, session=f"all-{harness}", transcript=str(transcript.path), **more)
    assert bool(text) == (bool(more) or (event.lower() == "sessionstart" and harness != "gemini"))
    if text:
        assert strip_injected(text) == ("", 1 + ((harness, event) == ("gemini", "BeforeAgent")))
    if more:
        assert PORT in text
        assert count_tokens([text])[0] <= 500
    done(home)


def test_context_that_gemini_puts_before_a_prompt_is_no_part_of_the_question(served):
    before = (
        "<hook_context>&lt;note&gt;Renew the certificate of the kiln server.&lt;/note&gt;</hook_context>\n\n"
    )
    plain = post(served, "gemini", "BeforeAgent", session="plain", prompt=ASKED)
    assert post(served, "gemini", "BeforeAgent", session="told", prompt=f"{before}{ASKED}") == plain != ""


def test_gemini_is_told_at_the_first_prompt_what_others_are_at_the_start(served):
    other = {"prompt": "Good morning."}
    assert post(served, "gemini", "SessionStart", session="g1") == ""
    told = post(served, "gemini", "BeforeAgent", session="g1", prompt=ASKED)
    assert "Renew the certificate" in told
    assert PORT in told
    assert post(served, "gemini", "SessionStart", session="g1", source="resume") == ""
    assert post(served, "gemini", "BeforeAgent", session="g1", **other) == ""
    assert post(served, "gemini", "BeforeAgent", session="g2", **other) == "", "no start was told of it"


def test_a_start_tells_open_tasks_and_a_prompt_does_not_repeat_them(served):
    assert "Renew the certificate" in post(served, "claude-code", "SessionStart", session="c1")
    asked = {"prompt": "Must we renew the certificate of the kiln server?"}
    assert post(served, "claude-code", "UserPromptSubmit", session="c1", **asked) == ""
    assert post(served, "claude-code", "SessionStart", session="c1", source="resume") == ""
    for source in ("compact", "clear"):
        assert "Renew" in post(served, "claude-code", "SessionStart", session="c1", source=source)
    assert post(served, "claude-code", "SessionStart", session="c1-fork", source="fork") == ""
    assert post(served, "claude-code", "UserPromptSubmit", session="c1-fork", **asked) == ""


def test_a_preference_said_in_one_conversation_stands_at_the_start_of_the_next_without_a_model(
    served, home, tmp_path
):
    transcript = Transcript(tmp_path, "prefers")
    transcript.user("Always write the kiln reports in German.")
    transcript.assistant("Always glad to.")
    transcript.user("Never mind the last warning. Why does the furnace always beep?")
    given = {"session": "prefers", "transcript": str(transcript.path)}
    post(served, "claude-code", "Stop", **given)
    done(home)
    assert "claude-code" in kept(home).answered, "doctor says when hooks were last answered"
    told = post(served, "claude-code", "SessionStart", session="after-it")
    assert told.count("Always write the kiln reports in German.") == 1
    assert "warning" not in told
    assert "glad" not in told
    asked = {"prompt": "write the kiln reports of October"}
    assert "German" not in post(served, "claude-code", "UserPromptSubmit", session="after-it", **asked)
    assert "German" not in post(served, "claude-code", "SessionStart", session="prefers", source="resume")


def test_nothing_is_told_twice_in_a_conversation_and_nothing_that_does_not_matter(served):
    assert PORT in post(served, "codex", "UserPromptSubmit", session="c2", prompt=ASKED)
    assert post(served, "codex", "UserPromptSubmit", session="c2", prompt=ASKED) == ""
    assert PORT in post(served, "codex", "UserPromptSubmit", session="c3", prompt=ASKED)
    for prompt in ("thanks", "Sort the imports of this file.", "", "/compact", "?" * 50_000):
        assert post(served, "codex", "UserPromptSubmit", session="c4", prompt=prompt) == ""


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/hooks/emacs/Stop", {"session_id": "s"}, 422),
        ("/hooks/claude-code/Nope", {"session_id": "s"}, 404),
        ("/hooks/claude-code/Stop", {}, 422),
        ("/hooks/claude-code/Stop", {"session_id": "kiln" * 100}, 422),
        ("/hooks/claude-code/Stop", {"session_id": "s", "transcript_path": ["kiln"]}, 422),
        ("/hooks/claude-code/UserPromptSubmit", {"session_id": "s", "prompt": 3}, 422),
        ("/hooks/claude-code/Stop", ["kiln"], 422),
    ],
)
def test_what_is_no_event_is_refused_in_other_words(served, path, body, status):
    answer = served.post(path, json=body)
    assert answer.status_code == status, answer.text
    assert "kiln" not in answer.text


def test_the_case_and_dashes_of_an_event_do_not_matter(served):
    for event in ("user-prompt-submit", "USERPROMPTSUBMIT", "user_prompt_submit"):
        answer = served.post(f"/hooks/claude-code/{event}", json={"session_id": event, "prompt": ASKED})
        assert answer.json()["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"


def test_a_conversation_is_taken_in_as_it_grows_and_settled_at_its_end(served, home, tmp_path):
    transcript = Transcript(tmp_path, "grows")
    given = {"session": "grows", "transcript": str(transcript.path)}
    told = post(served, "claude-code", "UserPromptSubmit", prompt=ASKED, **given)
    transcript.user(ASKED)
    transcript.hook("UserPromptSubmit", told)
    transcript.assistant("The staging database listens on port 5433.")
    post(served, "claude-code", "Stop", **given)
    done(home)
    assert len(said(home, "grows")) == 2
    assert len(used(home, "cited", "grows")) == 1, "citations do not wait for the end"
    also = post(served, "claude-code", "UserPromptSubmit", prompt="Does Mara prefer short answers?", **given)
    assert STYLE in also
    transcript.user("Does Mara prefer short answers?")
    transcript.assistant("Let me look.")
    transcript.half_a_line()
    post(served, "claude-code", "SessionEnd", **given)
    post(served, "claude-code", "SessionEnd", **given)
    done(home)
    with Memory(home) as memory:
        ids = {cell.content: cell.cell_id for cell in memory.search("Mara staging database").cells}
        memory.flush()
    assert said(home, "grows") == [
        ASKED,
        "The staging database listens on port 5433.",
        "Does Mara prefer short answers?",
        "Let me look.",
    ]
    assert used(home, "cited", "grows") == [ids[PORT]]
    served.post("/v1/search", json={"query": "x"})
    until(lambda: set(used(home, "ignored", "grows")) == {ids[STYLE]})


def test_what_was_put_beside_a_prompt_is_never_taken_in_again(served, home, tmp_path):
    transcript = Transcript(tmp_path, "fenced")
    given = {"session": "fenced", "transcript": str(transcript.path)}
    start = post(served, "claude-code", "SessionStart", **given)
    told = post(served, "claude-code", "UserPromptSubmit", prompt=ASKED, **given)
    transcript.hook("SessionStart", start)
    transcript.user(f"{ASKED}\n\n{told}")
    transcript.hook("UserPromptSubmit", told)
    transcript.user(f"<hook_context>{told.replace('<', '&lt;').replace('>', '&gt;')}</hook_context>")
    transcript.assistant(f"I was told:\n> {told.replace(chr(10), chr(10) + '> ')}\nSo 5433.")
    post(served, "claude-code", "Stop", **given)
    done(home)
    assert said(home, "fenced") != []
    for text in said(home, "fenced"):
        assert "listens on port" not in text
        assert "Renew the certificate" not in text
        assert "mem:" not in text


def test_a_conversation_is_told_of_its_own_repository_and_of_the_homes_own_project(served, home, tmp_path):
    for name in ("ferry", "train"):
        for part in ("objects", "refs"):
            (tmp_path / name / ".git" / part).mkdir(parents=True)
        (tmp_path / name / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    asked = "Which gate does the boarding of the ferry use?"
    with Memory(home) as memory:
        project = memory.project_of(tmp_path / "ferry")
        memory.remember("The boarding of the ferry uses gate 12.", project=project)
    beside = {"prompt": asked, "cwd": str(tmp_path / "train")}
    assert "gate 12" not in post(served, "claude-code", "UserPromptSubmit", session="train", **beside)
    within = {"prompt": asked, "cwd": str(tmp_path / "ferry")}
    assert "gate 12" in post(served, "claude-code", "UserPromptSubmit", session="ferry", **within)
    roots = {"prompt": asked, "workspace_roots": [str(tmp_path / "ferry")]}
    assert "gate 12" in post(served, "cursor", "beforeSubmitPrompt", session="cursor-ferry", **roots)
    own = {"prompt": ASKED, "cwd": str(tmp_path / "train")}
    assert PORT in post(served, "claude-code", "UserPromptSubmit", session="own", **own)


@pytest.mark.parametrize("name", ["notes.txt", "x/../../secret.md", "", "gone.jsonl", "."])
def test_only_a_transcript_is_read_because_a_payload_names_it(served, home, tmp_path, name):
    (tmp_path / "notes.txt").write_text("The kiln is in the cellar.")
    transcript = str(tmp_path / name) if name else "relative.jsonl"
    post(served, "claude-code", "Stop", session="odd", transcript=transcript)
    done(home)
    assert said(home, "odd") == []


def test_the_messages_of_a_harness_without_transcripts_are_recorded_once(served, home):
    messages = [
        {
            "id": "m1",
            "role": "user",
            "time": {"created": 1_795_000_000_000},
            "content": "The oven of OpenCode is red.",
        },
        {"id": "m2", "role": "assistant", "time": {"created": 1e30}, "content": "Noted, it is red."},
    ]
    for _ in range(2):
        body = {"session_id": "oc", "cwd": "/x", "messages": messages, "hook_event_name": "Stop"}
        assert served.post("/hooks/opencode/Stop", json=body).json() == {"recorded": True}
    until(lambda: len(said(home, "oc")) == 2)
    assert served.post("/hooks/opencode/SessionEnd", json={"session_id": "oc"}).status_code == 204
    done(home)
    assert said(home, "oc") == ["The oven of OpenCode is red.", "Noted, it is red."]


def test_while_a_night_writes_a_transcript_waits(served, home, tmp_path):
    transcript = Transcript(tmp_path, "waits")
    transcript.user("The shelf of the waiting hour is number 4.")
    with rewriting(open_home(home), patience_seconds=20):  # what the test before recorded may be folded still
        post(served, "claude-code", "Stop", session="waits", transcript=str(transcript.path))
        time.sleep(0.5)
        assert [*kept(home).waiting.values()] == [{"waits": False}]
    done(home)
    assert said(home, "waits") == ["The shelf of the waiting hour is number 4."]


def test_a_server_that_is_still_loading_shows_nothing_and_counts_nothing_as_shown(home, monkeypatch):
    loaded = threading.Event()
    monkeypatch.setattr(Memory, "warm", lambda *_, **__: loaded.wait(60))
    with serving(home) as client:
        body = payload("claude-code", "UserPromptSubmit", session="cold", prompt=ASKED)
        assert client.post("/hooks/claude-code/UserPromptSubmit", json=body).status_code == 503
        loaded.set()
        until(lambda: client.get("/health/ready").status_code == 200)
        assert PORT in post(client, "claude-code", "UserPromptSubmit", session="cold", prompt=ASKED)


@pytest.mark.parametrize("event", ["UserPromptSubmit", "SessionStart", "Stop", "SessionEnd"])
def test_half_a_character_is_no_error(served, home, event):
    where = rb'"transcript_path": "/x/\ud800.jsonl", "cwd": "/\udfff"'
    body = rb'{"session_id": "half\ud800", "prompt": "\ud83d which port", ' + where + b"}"
    answer = served.post(
        f"/hooks/claude-code/{event}", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code in (200, 204, 422), answer.text
    done(home)
