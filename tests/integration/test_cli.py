"""The command line: real homes, plain flows, and a few real processes for what only a process can show."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import httpx
import polars as pl
import pytest
from click.testing import CliRunner, Result

from flows import running
from slowwave.errors import InputError, TransientError
from slowwave.home.lock import alone
from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.interfaces.cli.program import ORDER, program
from slowwave.interfaces.rendering.text import flat, visible
from slowwave.journal.catalogue import encode
from slowwave.schemas.context import ContextRequest
from slowwave.schemas.report import StageReport
from slowwave.schemas.requests import (
    CellsRequest,
    ConfirmRequest,
    CorrectRequest,
    EraseRequest,
    ExportRequest,
    ForgetRequest,
    RememberRequest,
    ResolveRequest,
    TimelineRequest,
)
from slowwave.schemas.search import SearchRequest
from slowwave.schemas.tables import frame_schema
from slowwave.store import open_store
from tests.servers import OpenAIServer, silence

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLE = ROOT / "data" / "samples" / "chat" / "02-2026-06-05-rate-limit.jsonl"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
OWNER = {"user_id": "local", "project_id": "default", "scope": "user-private"}
EVIL = "limit\x1b]0;owned\x07 is [bold red]100[/] \u202egnirts\x9b31m"


@pytest.fixture(autouse=True)
def _embedded(monkeypatch):
    """The embedder of the wheel, without asking whether an Ollama runs."""
    monkeypatch.setenv("SLOWWAVE_EMBEDDING__PROVIDER", "wordllama")


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "home"


def call(*words: object) -> Result:
    return CliRunner().invoke(program, [str(word) for word in words])


def process(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "slowwave", *map(str, words)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def row(table: str, **values: object) -> pl.DataFrame:
    """One event's row of a table, with something plausible in every column that is not given."""
    plausible = {
        pl.String: "x",
        pl.Int64: 0,
        pl.Float64: 0.5,
        pl.Boolean: False,
        pl.Datetime: NOW,
        pl.List: ["x"],
    }
    schema = frame_schema(table)
    filled = {name: plausible[kind.base_type()] for name, kind in schema.items()}
    return pl.DataFrame(
        [{**filled, **OWNER, **values}],
        schema={**schema, "entities": pl.List(pl.String), "artifacts": pl.List(pl.String)}
        if table == "cells"
        else schema,
    )


def cell(cell_id: str, content: str, **values: object) -> pl.DataFrame:
    fixed = {
        "cell_type": "decision", "status": "active", "origin": "user", "source_type": "conversation",
        "subject": None, "attribute": None, "value": None,
        "topic_id": None, "supersedes": None, "superseded_by": None, "superseded_at": None, "valid_until": None,
        "valid_precision": None,
        "chunk_id": None, "summary": None, "entities": [], "artifacts": [], "steps": [], "template": None,
    }  # fmt: skip
    return row(
        "cells", **{**fixed, "cell_id": cell_id, "content": content, "content_hash": cell_id, **values}
    )


def quarantined(chunk_id: str, error: str = "no usable answer in 3 tries") -> pl.DataFrame:
    return row(
        "chunks", chunk_id=chunk_id, source_type="conversation", status="quarantined", attempts=3, error=error,
        source_name="talk.jsonl",
    )  # fmt: skip


def fill(home: Path, **plan: pl.DataFrame) -> None:
    """Commits rows as events; `cell_extracted` stands for `cell.extracted`."""
    with open_workspace(home) as workspace:
        events = [encode(kind.replace("_", ".", 1), rows) for kind, rows in plan.items()]
        workspace.commit(pl.concat(events), now=NOW)
        workspace.refresh_vectors()


def only_line(text: str) -> str:
    """The one line of a text that has one."""
    assert text.count("\n") == 1, text
    return text.strip()


# Ingest


def test_ingest_takes_a_transcript_in_once_and_says_what_it_did(home):
    first, again = call("ingest", SAMPLE, "--home", home), call("ingest", SAMPLE, "--home", home)
    assert (first.exit_code, again.exit_code) == (0, 0), first.output
    assert "turns recorded" in first.stdout
    assert "sources recorded" in first.stdout
    assert "left out: unchanged file" in again.stdout
    assert open_store(home / "store").count("turns") > 0


def test_a_dry_run_changes_nothing(home):
    done = call("ingest", SAMPLE, "--home", home, "--dry-run")
    assert done.exit_code == 0
    assert "A dry run: nothing was changed." in done.stdout
    assert open_home(home).journal.segment_ids() == []


def test_a_wrong_path_is_one_line_and_exit_code_66_and_makes_no_home(home):
    done = call("ingest", "/no/such/file", "--home", home)
    assert (done.exit_code, done.stdout) == (66, "")
    assert only_line(done.stderr) == "slowwave: there is no file or folder /no/such/file: check the path"
    assert not home.exists()


@pytest.mark.parametrize("content", [b"", b"\x00\xff nonsense"])
def test_an_empty_or_nonsense_file_of_a_folder_is_named_and_stops_no_other(home, tmp_path, content):
    (tmp_path / "bad.jsonl").write_bytes(content)
    (tmp_path / "good.jsonl").write_bytes(SAMPLE.read_bytes())
    done = call("ingest", tmp_path, "--home", home, "--json")
    assert done.exit_code == (65 if content else 0), done.output
    report = json.loads(done.stdout)
    assert report["counts"]["turn.recorded"] > 0
    assert [note for note in report["notes"] if "bad.jsonl" in note]


def test_a_folder_without_anything_to_read_is_named_with_what_to_name_instead(home, tmp_path):
    done = call("ingest", tmp_path, "--home", home)
    assert f"no file to read in '{tmp_path}': name a folder with transcripts" in done.stdout
    (tmp_path / "empty.jsonl").touch()
    assert done.exit_code == call("ingest", tmp_path / "empty.jsonl", "--home", home).exit_code == 65


def test_a_setting_that_is_not_allowed_is_one_line_that_names_it_and_exit_code_78(home, monkeypatch):
    monkeypatch.setenv("SLOWWAVE_CHUNKS__WINDOW_TOKENS", "1")
    for words in (["ingest", SAMPLE], ["status"], ["search", "x"], ["run", "decay"]):
        done = call(*words, "--home", home)
        assert done.exit_code == 78
        assert "chunks.window_tokens" in only_line(done.stderr)


def test_a_home_that_cannot_be_made_is_one_line_and_exit_code_78(tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = call("ingest", SAMPLE, "--home", tmp_path / "file" / "home")
    assert done.exit_code == 78
    only_line(done.stderr)


@pytest.mark.processes
def test_a_home_that_another_process_writes_is_one_line_and_exit_code_75(home):
    home.mkdir()
    hold = (
        "import sys, time; from filelock import FileLock\n"
        "with FileLock(sys.argv[1]): print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", hold, str(home / "run.lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        try:
            done = call("ingest", SAMPLE, "--home", home)
            read = call("status", "--home", home)
        finally:
            holder.kill()
    assert (done.exit_code, done.stdout, read.exit_code) == (75, "", 0)
    assert only_line(done.stderr).startswith("slowwave: another run is writing to")


# Run


def test_options_that_do_not_go_with_the_rest_are_refused(home):
    wrong = (["run", "decay", "--source", SAMPLE], ["run", "ingest", "--force"], ["run", "dream"])
    for words in (*wrong, ["ingest", "--follow", "--discover"]):
        done = call(*words, "--home", home)
        assert (done.exit_code, done.stdout) == (2, "")
    assert not home.exists()


def test_run_tells_a_prefect_server_that_is_away_in_one_line(home, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://key:secret@127.0.0.1:9/api")
    done = call("run", "decay", "--home", home)
    assert done.exit_code == 75
    assert "no Prefect server answers at http://127.0.0.1:9/api" in done.stderr.splitlines()[-1]
    assert "secret" not in done.stderr


def test_run_without_a_prefect_server_starts_none_says_so_and_prints_one_json_document(home):
    done = call("run", "ingest", "--source", SAMPLE, "--home", home, "--json")
    assert done.exit_code == 0, done.stderr
    assert StageReport.model_validate(json.loads(done.stdout)).counts["source.recorded"] == 1
    assert only_line(done.stderr).startswith(
        "Running without Prefect: PREFECT_API_URL is not set and `slowwave ui`"
    )
    assert not (home / "prefect" / "prefect.db").exists()


def test_a_killed_ui_is_not_taken_for_one_that_runs(home):
    (home / "prefect").mkdir(parents=True)
    running.note_api(home, "http://127.0.0.1:9/api")
    assert running.place_of(str(home)).api is None
    with alone(home / "prefect" / running.LOCK, taken=lambda: ""), ThreadPoolExecutor() as other:
        assert other.submit(running.place_of, str(home)).result().api == "http://127.0.0.1:9/api"


def test_a_prefect_server_that_goes_away_in_the_middle_is_told_with_what_to_do(home, monkeypatch):
    def gone(*_: object) -> None:
        raise httpx.ConnectError("refused")

    monkeypatch.setattr(running, "check_server", lambda _: (True, ""))
    monkeypatch.setattr(running, "run_cancellable", gone)
    monkeypatch.setenv("PREFECT_API_URL", "")
    with pytest.raises(TransientError, match=r"at http://127.0.0.1:9/api stopped .* committed is kept"):
        running.run_flow("decay", str(home), api="http://key:secret@127.0.0.1:9/api")


# Search


def test_search_of_an_empty_home_says_so_makes_nothing_and_exits_with_0(home):
    done = call("search", "how", "do", "we", "deploy", "--home", home)
    assert (done.exit_code, done.stdout.startswith("No memory yet")) == (0, True)
    assert json.loads(call("search", "x", "--home", home, "--json").stdout)["notes"] == ["No memory yet"]
    assert not home.exists()


@pytest.mark.parametrize("query", ["", "   "])
def test_an_empty_question_is_one_line_and_exit_code_65(home, query):
    done = call("search", query, "--home", home)
    assert done.exit_code == 65
    assert "empty" in only_line(done.stderr)


def test_the_command_line_takes_any_text_that_memory_takes(home):
    call("remember", "The kiln is blue.", "--home", home)
    for command in (["search"], ["context"], ["search", "--status", "archived"]):
        assert call(*command, "kiln \ud800", "--home", home, "--json").exit_code == 0
    for command in ("entity", "timeline"):
        assert call(command, "kiln \ud800", "--home", home).exit_code == 66


REQUESTS = {
    "search": SearchRequest, "context": ContextRequest, "list": CellsRequest, "timeline": TimelineRequest,
    "remember": RememberRequest, "correct": CorrectRequest, "confirm": ConfirmRequest, "forget": ForgetRequest,
    "erase": EraseRequest, "resolve": ResolveRequest, "export": ExportRequest,
}  # fmt: skip
NOT_OFFERED = {("correct", "dry_run"), ("forget", "dry_run")}
"""Fields that the command fills by itself: it asks first what would go."""


@pytest.mark.parametrize("command", REQUESTS)
def test_every_field_of_a_request_is_an_option_of_its_command(command):
    parameters = {one.name for one in program.commands[command].params}
    missing = set(REQUESTS[command].model_fields) - parameters
    assert missing - {name for owner, name in NOT_OFFERED if owner == command} <= {"format"}
    assert len(ORDER) == 24


def test_stored_text_cannot_steer_the_terminal(home):
    fill(home, cell_extracted=cell("a", EVIL, source_name="\x1b[2Jname", summary=None))
    shown = call("search", "limit", "--home", home).stdout
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown)
    assert "[bold red]100[/]" in shown
    as_json = call("search", "limit", "--home", home, "--json").stdout
    assert as_json.isascii()
    assert json.loads(as_json)["cells"][0]["content"] == EVIL


# Status, doctor, quarantine, rebuild


def test_status_of_an_empty_home_makes_nothing(home):
    assert "No memory yet" in call("status", "--home", home).stdout
    found = json.loads(call("status", "--home", home, "--json").stdout)
    assert (found["has_memory"], found["rows"], found["last_night"]) == (False, {}, None)
    assert not home.exists()


def test_status_counts_what_waits_and_takes_no_lock(home):
    episode = cell("e", "They moved the port.", cell_type="episode", is_judged=True)  # it never has a topic
    memories = pl.concat([cell("a", "The port is 6432."), episode])
    fill(home, cell_extracted=memories, chunk_cut=quarantined("q" * 24))
    usage = row("usage", usage_id="u", cell_id="a", usage_type="cited", folded_at=None)
    with open_workspace(home) as workspace:
        workspace.home.journal.commit(encode("usage.recorded", usage), now=NOW)  # not applied
        found = json.loads(call("status", "--home", home, "--json").stdout)
    pending = found["pending"]
    once = (
        "chunks_quarantined",
        "journal_segments_not_applied",
        "memories_without_topic",
        "memories_not_reconciled",
    )
    assert [pending[name] for name in once] == [1, 1, 1, 1]
    assert (pending["texts_without_vector"], found["rows"]["cells"]) == (0, 2)
    assert found["embedder_id"].startswith("wordllama/")
    assert min(found["journal_bytes"], found["store_bytes"]) > 0
    shown = call("status", "--home", home).stdout
    assert re.search(r"chunks quarantined +1\b", shown)
    assert re.search(r"journal segments not applied +1\b", shown)


@pytest.mark.processes
def test_doctor_finds_all_well_in_a_new_home_and_makes_nothing(home):
    done = call("doctor", "--home", home, "--json")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["is_broken"]) == (0, False), found
    names = {check["name"] for check in found["checks"]}
    assert {"python", "settings", "home folder", "journal", "store", "llm", "embedder", "prefect"} <= names
    assert not home.exists()


@pytest.fixture
def no_prefect(monkeypatch):
    """Doctor's process that imports Prefect's server, which is slow, imports nothing."""
    monkeypatch.setattr("slowwave.interfaces.cli.doctor._PROBE", "print(3)")


@pytest.mark.processes
def test_doctor_names_a_torn_segment_a_foreign_file_and_a_model_that_is_away(home, monkeypatch, no_prefect):
    fill(home, cell_extracted=cell("a", "The port is 6432."))
    journal = open_home(home).journal
    torn = journal.path_of(journal.segment_ids()[0])
    torn.write_bytes(torn.read_bytes()[:-20])
    (home / "journal" / "notes.txt").write_text("mine")
    monkeypatch.setenv("SLOWWAVE_LLM__PROVIDER", "openai")
    done = call("doctor", "--home", home, "--json")
    broken = {check["name"]: check for check in json.loads(done.stdout)["checks"] if not check["is_well"]}
    assert done.exit_code == 1
    assert set(broken) == {"journal segment", "journal file", "llm settings"}
    assert broken["journal file"]["is_needed"] is False
    assert torn.name in broken["journal segment"]["found"]


@pytest.mark.processes
def test_doctor_reports_unusable_settings_as_a_row_and_not_as_an_end(home, no_prefect):
    home.mkdir()
    (home / "slowwave.toml").write_text("this is = = not toml")
    done = call("doctor", "--home", home)
    assert done.exit_code == 1
    shown = " ".join(done.stdout.split())
    assert "settings broken" in shown
    assert "not valid TOML" in shown


def test_release_sends_chunks_back_to_work_and_survives_a_rebuild(home):
    ids = [letter * 24 for letter in "abc"]
    fill(home, chunk_cut=pl.concat([quarantined(chunk_id) for chunk_id in ids]))
    done = call("quarantine", "release", ids[0][:8], "--home", home, "--json")
    assert json.loads(done.stdout) == {"ids": ids[:1]}
    assert (
        json.loads(call("quarantine", "release", "--all", "--home", home, "--json").stdout)["ids"] == ids[1:]
    )
    assert call("run", "rebuild", "--home", home).exit_code == 0
    chunks = open_store(home / "store").rows("chunks", ["status", "attempts"]).unique()
    assert chunks.to_dicts() == [{"status": "pending", "attempts": 0}]
    assert "Nothing is in quarantine." in call("quarantine", "list", "--home", home).stdout


def test_release_of_what_is_not_in_quarantine_changes_nothing_and_says_why(home):
    assert call("quarantine", "release", "x", "--home", home).exit_code == 66
    assert not home.exists()
    fill(
        home,
        chunk_cut=pl.concat(
            [quarantined("a" * 24), quarantined("b" * 24).with_columns(status=pl.lit("pending"))]
        ),
    )
    unknown, pending = (
        call("quarantine", "release", "a" * 24, other, "--home", home) for other in ("x", "b" * 24)
    )
    assert (unknown.exit_code, pending.exit_code) == (66, 66)
    assert "there is no quarantined id" in only_line(pending.stderr)
    assert json.loads(call("quarantine", "list", "--home", home, "--json").stdout)["total"] == 1
    assert call("quarantine", "release", "--home", home).exit_code == 2
    assert call("quarantine", "release", "a", "--all", "--home", home).exit_code == 2


# The program


def test_the_program_tells_its_version_and_needs_a_command():
    assert re.fullmatch(r"slowwave \d+\.\d+\.\d+\n", call("--version").stdout)
    assert call().exit_code == 2
    assert call("no-such-command").exit_code == 2


TWO_COMMANDS = """
import sys
from slowwave.interfaces.cli.program import main
for words in (["search", "Möwe"], ["status"]):
    sys.argv = ["slowwave", *words, "--home", sys.argv[-1]]
    try:
        main()
    except SystemExit as end:
        print(words[0], end.code, "prefect" in sys.modules, file=sys.stderr)
"""


@pytest.mark.processes
def test_the_program_works_without_prefect_and_colour_in_any_encoding_and_in_a_narrow_pipe(home):
    fill(home, cell_extracted=cell("a", "Die Fähre heißt Möwe 🐦."))
    plain = {"PYTHONIOENCODING": "ascii", "NO_COLOR": "1", "COLUMNS": "20", "TERM": "dumb"}
    done = subprocess.run(
        [sys.executable, "-c", TWO_COMMANDS, str(home)],
        cwd=ROOT,
        env={**os.environ, **plain},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "Die F?hre hei?t M?we ?." in done.stdout
    assert done.stderr.splitlines()[-2:] == ["search 0 False", "status 0 False"]


def interrupted(*words: object, server: OpenAIServer, **environment: str) -> tuple[int, str, str]:
    """Exit code and output of a command whose process group gets SIGINT while a server makes it wait."""
    command = [sys.executable, "-m", "slowwave", *map(str, words)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        until = time.monotonic() + 150
        while not server.requests and running.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)
        os.killpg(running.pid, signal.SIGINT)
        try:
            out, err = running.communicate(timeout=30)
        finally:
            running.kill()
    return running.returncode, out, err


@pytest.mark.processes
def test_ctrl_c_while_a_night_asks_a_model_is_one_line_and_exit_code_130(home):
    with OpenAIServer(lambda _: silence(5)) as server:
        code, out, err = interrupted(
            *("run", "nightly", "--source", SAMPLE, "--home", home),
            server=server,
            SLOWWAVE_LLM__PROVIDER="openai",
            SLOWWAVE_LLM__MODEL="m",
            SLOWWAVE_LLM__BASE_URL=server.url,
        )
    assert (code, out) == (130, "")
    assert err.splitlines()[1].startswith("slowwave: stopping; what was committed is kept")


def test_visible_text_keeps_lines_and_spells_out_what_a_terminal_would_obey():
    assert visible("a\n\tb\x1b[2J\u202e\ud800") == "a\n\tb\\x1b[2J\\u202e\\ud800"
    assert flat(" a\n b\tc ") == "a b c"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["search", "x", "--after", "2026-08-10", "--before", "2026-08-01"], "leave no time"),
        (["context", "x" * 200_000], "QUESTION: give at most 100000 characters"),
        (["context", "x", "--branch", "b" * 5_000], "--branch: give at most 1000 characters"),
    ],
)
def test_a_filter_or_signal_that_is_not_possible_is_one_line(tmp_path, words, told):
    done = call(*words, "--home", tmp_path)
    assert done.exit_code == InputError.exit_code
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
