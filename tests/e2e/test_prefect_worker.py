"""`slowwave ui` in a real Prefect: night, schedule, artifacts, cancelling, and what happens when it is stopped."""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

from flows import running
from flows.schedule import local_zone, next_night
from flows.serve import serve_ui
from slowwave.errors import BusyError, CancelledError, ConfigError
from slowwave.home.paths import open_home
from slowwave.store import open_store
from tests.conftest import ROOT
from tests.e2e.conftest import PLANTED_KEY, PrefectServer, assert_gone
from tests.serving import serving

pytestmark = [pytest.mark.prefect, pytest.mark.timeout(900)]

SAMPLES = ROOT / "data" / "samples"
EXPECTED = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))
STAGES = (
    "ingest",
    "extract",
    "cluster",
    "reconcile",
    "consolidate",
    "compress",
    "link",
    "decay",
    "forget",
    "promote",
)
KEYS = ("nightly-report", *(f"{stage}-report" for stage in STAGES))
Run = dict[str, Any]
SAID = "The kiln stands in the cellar of number nine."


@pytest.fixture(scope="module")
def nights(prefect_server: PrefectServer) -> list[Run]:
    """Two nights over the samples, asked for at the same moment, in the order in which they began."""
    asked = [prefect_server.run("nightly", sources=[str(SAMPLES)]) for _ in range(2)]
    return sorted((prefect_server.wait(run_id) for run_id in asked), key=lambda run: run["start_time"])


def rows(home: Path, table: str, *columns: str) -> pl.DataFrame:
    """Rows of a home's store, read without the writer lock."""
    return open_store(open_home(home).store_root).rows(table, list(columns))


def changes(report: str) -> int:
    """The number in the headline of a report."""
    found = re.search(r"^# .*(?:made|would make) ([\d,]+) change", report)
    assert found, report.splitlines()[0]
    return int(found[1].replace(",", ""))


def table(report: str, title: str) -> dict[str, list[str]]:
    """The first table whose first column has this title: the other cells by the first."""
    after = report.split(f"| {title} |", 1)[1].splitlines()[2:]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in after]
    end = next(number for number, line in enumerate(lines) if len(line) < 2)
    return {line[0]: line[1:] for line in lines[:end]}


def test_the_deployed_night_takes_in_the_samples(prefect_server: PrefectServer, nights: list[Run]):
    assert nights[0]["state"]["type"] == "COMPLETED", prefect_server.kept("runner")
    assert nights[0]["name"].startswith("nightly-20")
    taken_in = rows(prefect_server.home, "turns", "turn_id", "source_type")
    assert taken_in.filter(pl.col("source_type") == "conversation").height == sum(EXPECTED["turns"].values())
    assert rows(prefect_server.home, "cells", "cell_id").height > 0


def test_every_stage_leaves_a_readable_report_under_its_own_key(
    prefect_server: PrefectServer, nights: list[Run]
):
    wrong = []
    for key in KEYS:
        text = prefect_server.report(nights[0]["id"], key)
        is_titled = text.startswith("# ") and "Spent: no model calls." in text
        if not is_titled or "\\n" in text or "None" in text or re.search(r"<[a-z/]", text):
            wrong.append(f"{key}: {text}")
    assert wrong == []


def test_the_reports_count_what_the_store_holds(prefect_server: PrefectServer, nights: list[Run]):
    first = nights[0]["id"]
    night = table(prefect_server.report(first, "nightly-report"), "stage")
    assert tuple(night)[: len(STAGES)] == STAGES
    ingested = table(prefect_server.report(first, "ingest-report"), "change")
    assert int(ingested["turns recorded"][0]) == rows(prefect_server.home, "turns", "turn_id").height
    assert changes(prefect_server.report(first, "nightly-report")) == sum(
        int(made) for _, made, *_ in night.values() if made != "-"
    )


def test_of_two_nights_at_once_one_works_and_the_other_waits_and_finds_nothing_new(
    prefect_server: PrefectServer, nights: list[Run]
):
    assert [run["state"]["type"] for run in nights] == ["COMPLETED", "COMPLETED"]
    assert nights[0]["end_time"] <= nights[1]["start_time"]
    reports = [prefect_server.report(run["id"], "nightly-report") for run in nights]
    assert changes(reports[0]) > 0
    assert changes(reports[1]) == 0
    turn_ids = rows(prefect_server.home, "turns", "turn_id")["turn_id"]
    assert turn_ids.is_unique().all()
    recorded = rows(prefect_server.home, "nights", "night_id").height
    assert recorded <= len(nights)


def test_no_secret_of_a_transcript_and_no_key_reaches_anything_that_prefect_keeps(
    prefect_server: PrefectServer, nights: list[Run]
):
    secrets = [*EXPECTED["secrets"], PLANTED_KEY]
    reports = [prefect_server.report(run["id"], key) for run in nights for key in KEYS]
    assert [secret for secret in secrets if any(secret in text for text in reports)] == []
    logs = prefect_server.post("/logs/filter", {"limit": 200})
    assert [secret for secret in secrets if any(secret in line["message"] for line in logs)] == []
    kept = [
        path
        for path in prefect_server.home.rglob("*")
        if path.is_file() and path.suffix not in {".js", ".map"}
    ]
    assert len(kept) > 20
    found = [
        f"{path.relative_to(prefect_server.home)}: {secret}"
        for path in kept
        for content in [path.read_bytes()]
        for secret in secrets
        if secret.encode() in content
    ]
    assert found == []


def test_the_schedule_makes_the_next_nights_at_three_by_the_clock_of_this_machine(
    prefect_server: PrefectServer,
):
    deployment = prefect_server.get("/deployments/name/nightly/nightly")
    wanted = {
        "flow_runs": {
            "deployment_id": {"any_": [deployment["id"]]},
            "state": {"type": {"any_": ["SCHEDULED"]}},
            "tags": {"all_": ["auto-scheduled"]},
        }
    }
    deadline = time.monotonic() + 70
    while not (coming := prefect_server.post("/flow_runs/filter", wanted)):
        assert time.monotonic() < deadline, f"no night is scheduled: {prefect_server.kept('server')}"
        time.sleep(1)
    after, due = datetime.now(UTC), set[datetime]()
    for _ in coming:
        due.add(after := next_night(after, at="03:00", zone=local_zone()))
    assert {datetime.fromisoformat(run["expected_start_time"]) for run in coming} == due


def test_a_dry_run_of_one_stage_shows_its_plan_and_leaves_everything_as_it_was(
    prefect_server: PrefectServer, tmp_path: Path
):
    from flows.extract import extract
    from flows.ingest import ingest

    home = tmp_path / "other"
    ingest.fn(sources=[str(SAMPLES / "notes")], home=str(home))
    extract.fn(home=str(home))
    before = open_home(home).journal.segment_ids()
    run = prefect_server.wait(prefect_server.run("cluster", home=str(home), dry_run=True))
    assert run["state"]["type"] == "COMPLETED", prefect_server.kept("runner")
    assert run["name"].endswith("-dry")
    assert changes(prefect_server.report(run["id"], "cluster-report")) > 0
    assert open_home(home).journal.segment_ids() == before
    assert rows(home, "topics", "topic_id").is_empty()
    assert rows(home, "cells", "topic_id")["topic_id"].is_null().all()


def test_an_error_of_a_flow_run_by_hand_is_one_line_and_the_exit_code_of_its_kind(
    prefect_server: PrefectServer, tmp_path: Path
):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "slowwave.interfaces.cli.program",
            "run",
            "decay",
            "--home",
            str(tmp_path / "home"),
        ],
        env={**os.environ, "PREFECT_API_URL": prefect_server.api_url, "SLOWWAVE_LLM__PROVIDER": "openai"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (78, ""), done.stderr
    where, line = done.stderr.splitlines()
    assert where.startswith("Running on the Prefect server of PREFECT_API_URL")
    assert line.startswith("slowwave: no language model is named")


@pytest.fixture(scope="module")
def over_http(prefect_server: PrefectServer) -> Iterator[httpx.Client]:
    """A client of `slowwave serve` on the home of which `slowwave ui` runs; the environment names no server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PREFECT_API_URL", raising=False)
        for name in [name for name in os.environ if name.startswith("PREFECT_LOGGING")]:
            patch.delenv(name)
        with serving(prefect_server.home) as client:
            yield client


def until(client: httpx.Client, run_id: str, *states: str) -> dict[str, Any]:
    """The run of the server once it is in one of these states."""
    deadline = time.monotonic() + 120
    while (run := client.get(f"/v1/runs/{run_id}").json())["state"] not in states:
        assert time.monotonic() < deadline, run
        time.sleep(0.2)
    assert run["where"] == "prefect"
    return dict(run)


def on_the_page(prefect_server: PrefectServer, flow: str, run_id: str) -> list[Run]:
    """Prefect's runs of this flow with the tag of a run of the server."""
    wanted = {"flow_runs": {"tags": {"all_": ["slowwave", run_id]}}, "flows": {"name": {"any_": [flow]}}}
    found: list[Run] = prefect_server.post("/flow_runs/filter", wanted)
    return found


def test_a_flow_that_the_server_starts_stands_on_prefects_page(
    prefect_server: PrefectServer, over_http: httpx.Client, tmp_path: Path
):
    (tmp_path / "notes.md").write_text(f"# Kilns\n\n{SAID}\n", encoding="utf-8")
    asked = {"sources": [str(tmp_path / "notes.md")]}
    run_id = over_http.post("/v1/flows/ingest/runs", json=asked).json()["run_id"]
    ended = until(over_http, run_id, "done", "failed")
    assert ended["state"] == "done", ended
    report = ended["report"]
    [run] = on_the_page(prefect_server, "ingest", run_id)
    assert (run["state"]["type"], run["deployment_id"]) == ("COMPLETED", None)
    assert run["parameters"]["sources"] == asked["sources"]
    assert changes(prefect_server.report(run["id"], "ingest-report")) == sum(report["counts"].values()) > 0
    deadline, lines = time.monotonic() + 30, list[str]()
    while not any(line.startswith("ingest: ") for line in lines):
        assert time.monotonic() < deadline, lines
        wanted = {"logs": {"flow_run_id": {"any_": [run["id"]]}}}
        lines = [line["message"] for line in prefect_server.post("/logs/filter", wanted)]
    assert not [line for line in lines if SAID in line]


def test_a_run_without_a_worker_that_is_cancelled_on_prefects_page_ends_and_says_so(
    prefect_server: PrefectServer, monkeypatch: pytest.MonkeyPatch
):
    from prefect import flow
    from prefect.runtime import flow_run
    from prefect.settings import PREFECT_API_URL, temporary_settings

    begun: list[str] = []

    @flow
    def long() -> None:
        begun.append(str(flow_run.id))
        prefect_server.post(f"/flow_runs/{begun[0]}/set_state", {"state": {"type": "CANCELLING"}})
        time.sleep(60)

    @flow
    def short() -> int:
        return 3

    monkeypatch.setattr(running, "LOOK_SECONDS", 0.05)
    with temporary_settings(updates={PREFECT_API_URL: prefect_server.api_url}):
        with pytest.raises(CancelledError, match="what it had committed is kept"):
            running.run_cancellable(long, {})
        assert running.run_cancellable(short, {}) == 3
    assert prefect_server.get(f"/flow_runs/{begun[0]}")["state"]["type"] == "CANCELLED"


def test_a_second_start_on_the_same_home_names_the_address(prefect_server: PrefectServer):
    with pytest.raises(BusyError, match=re.escape(prefect_server.address)):
        serve_ui(str(prefect_server.home), say=print)


def test_a_port_that_another_program_holds_is_named_before_anything_starts(tmp_path: Path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} is taken"):
            serve_ui(str(tmp_path), say=print, port=port)
    assert not (tmp_path / "prefect" / "server.log").exists()


def test_killed_in_a_night_it_leaves_no_process_and_starts_again_without_doubling(
    prefect_server: PrefectServer, tmp_path: Path
):
    """`prefect_server` is stopped as a service is, at the end, and must leave none either."""
    deployments = {one["id"] for one in prefect_server.post("/deployments/filter", {})}
    cut_off = prefect_server.run("nightly", sources=[str(SAMPLES)], home=str(tmp_path / "cut"))
    prefect_server.wait(cut_off, "RUNNING")
    below = prefect_server.processes()
    assert len(below) >= 3, "a server, a runner and a flow run"
    assert prefect_server.stop(signal.SIGKILL) == -signal.SIGKILL, prefect_server.said()
    assert_gone(below)

    missed = miss_the_next_night(prefect_server.home)
    prefect_server.start()
    assert prefect_server.get(f"/flow_runs/{cut_off}")["state"]["type"] in {"CRASHED", "CANCELLED"}
    assert {one["id"] for one in prefect_server.post("/deployments/filter", {})} == deployments
    night = prefect_server.get("/deployments/name/nightly/nightly")
    assert [one["schedule"]["cron"] for one in night["schedules"]] == ["0 3 * * *"]
    assert prefect_server.wait(missed)["state"]["type"] == "COMPLETED"
    assert rows(prefect_server.home, "turns", "turn_id")["turn_id"].is_unique().all()


def miss_the_next_night(home: Path) -> str:
    """Move the next night of the schedule two days back, as if `slowwave ui` had not run since; its id."""
    with sqlite3.connect(home / "prefect" / "prefect.db") as database:
        run_id, state_id, due = database.execute(
            "select id, state_id, expected_start_time from flow_run"
            " where auto_scheduled and state_type = 'SCHEDULED' order by expected_start_time"
        ).fetchone()
        moved = datetime.fromisoformat(due) - timedelta(days=2)
        shown = f"{moved:%Y-%m-%d %H:%M:%S.%f}"
        database.execute(
            "update flow_run set expected_start_time = ?, next_scheduled_start_time = ? where id = ?",
            [shown, shown, run_id],
        )
        database.execute(
            "update flow_run_state set state_details = json_set(state_details, '$.scheduled_time', ?) where id = ?",
            [f"{moved:%Y-%m-%dT%H:%M:%S}Z", state_id],
        )
    database.close()
    return str(run_id)
