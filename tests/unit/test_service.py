"""The server as a service: what is written, and what the system is told."""

import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from slowwave.entrypoints.server import service
from slowwave.errors import ConfigError, NotFoundError


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A user folder of the test's own, and every command that the system is told."""
    found: list[str] = []

    def run(words: list[str], **_: object) -> "subprocess.CompletedProcess[str]":
        found.append(" ".join(words))
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(service.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(service.subprocess, "run", run)
    return found


def test_a_service_is_installed_and_removed_without_a_trace(tmp_path: Path, told: list[str]):
    home = tmp_path / "my home"
    assert "runs as the service" in service.install(home)
    units = tmp_path / "config" / "systemd" / "user"
    (unit,) = units.iterdir()
    assert f'ExecStart={sys.executable} -m slowwave.entrypoints.cli serve --home "{home}"' in unit.read_text()
    enabled = ["daemon-reload", f"enable {unit.name}", f"restart {unit.name}"]
    assert told == [f"systemctl --user {words}" for words in enabled]
    unit.write_text("of an older program")
    service.install(home)  # again: what runs is the program of today
    assert [one.read_text() for one in units.iterdir()] == [service.systemd_unit(home)]
    assert told[3:] == told[:3]
    service.uninstall(home)
    assert list(units.iterdir()) == []
    assert f"systemctl --user disable --now {unit.name}" in told
    with pytest.raises(NotFoundError, match="no service"):
        service.uninstall(home)


def test_signs_of_systemd_in_a_path_are_spelled_out():
    assert '--home "/a 100%% \\"x\\" $$HOME"' in service.systemd_unit(Path('/a 100% "x" $HOME'))


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd to verify with")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path):
    unit = tmp_path / "slowwave-1.service"
    unit.write_text(service.systemd_unit(tmp_path / "a 100% home"))
    words = ["systemd-analyze", "verify", str(unit)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert unit.name not in done.stderr


def test_two_homes_have_two_services(tmp_path: Path):
    assert service.service_name(tmp_path / "a") != service.service_name(tmp_path / "b")


def test_the_agent_of_launchd_is_a_property_list(tmp_path: Path):
    found = plistlib.loads(service.launchd_plist(tmp_path / "a & b", "slowwave-1").encode())
    assert found["ProgramArguments"][-1] == str(tmp_path / "a & b")
    assert found["RunAtLoad"] is True


def test_an_agent_of_launchd_that_is_there_is_taken_out_first(
    told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert all("Nobody has tried this on macOS yet" in service.install(tmp_path / "home") for _ in range(2))
    assert [words.split()[1] for words in told] == ["load", "unload", "load"]


def test_a_refusal_is_told_in_one_line_and_leaves_what_was(
    told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    refused = subprocess.CompletedProcess([], 1, "", "Failed to connect\nto bus")
    monkeypatch.setattr(service.subprocess, "run", lambda *_, **__: refused)
    with pytest.raises(ConfigError, match="refused: Failed to connect to bus"):
        service.install(tmp_path)
    units = tmp_path / "config" / "systemd" / "user"
    assert list(units.iterdir()) == []
    unit = units / f"{service.service_name(tmp_path)}.service"
    unit.write_text("as it was")
    with pytest.raises(ConfigError, match="refused"):
        service.install(tmp_path)
    assert unit.read_text() == "as it was"
    monkeypatch.setattr(service.shutil, "which", lambda _: None)
    with pytest.raises(ConfigError, match="no systemd here"):
        service.install(tmp_path)
