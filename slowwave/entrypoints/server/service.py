"""The server as a service of this user, started at login: systemd on Linux, launchd on macOS (written, not tested)."""

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from xml.sax.saxutils import escape

from slowwave.errors import ConfigError, NotFoundError
from slowwave.whole_file import write_whole

UNIT = """\
[Unit]
Description=Slowwave: memory of {home}
After=default.target

[Service]
ExecStart={program} serve --home {home}
Restart=on-failure
RestartSec=5
TimeoutStopSec=60
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""

PLIST = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>{name}</string>
  <key>ProgramArguments</key><array>{words}</array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
</dict>
</plist>
"""


def install(home: Path) -> str:
    """Keep a server of this home running from now on and after each login; returns what was done.

    Where it is installed already, it starts again by the program and the unit of today.

    Raises:
        ConfigError: this system has neither systemd nor launchd for users, or it refused: then nothing stays written.
    """
    name, is_mac = service_name(home), sys.platform == "darwin"
    if not is_mac:
        _needs_systemd()
    path = _agents() / f"{name}.plist" if is_mac else _units() / f"{name}.service"
    before = path.read_text(encoding="utf-8") if path.exists() else None
    if is_mac and before is not None:
        _told("launchctl", "unload", "-w", str(path))
    _write(path, launchd_plist(home, name) if is_mac else systemd_unit(home))
    try:
        if is_mac:
            _told("launchctl", "load", "-w", str(path))
        else:
            _told("systemctl", "--user", "daemon-reload")
            _told("systemctl", "--user", "enable", path.name)
            _told("systemctl", "--user", "restart", path.name)
    except ConfigError:
        if before is None:
            path.unlink()
        else:
            _write(path, before)
        raise
    untried = " Nobody has tried this on macOS yet." if is_mac else ""
    return f"The server of {home} runs as the service {name}, now and after each login ({path}).{untried}"


def uninstall(home: Path) -> str:
    """Stop the service of this home and take it away; returns what was done.

    Raises:
        NotFoundError: there is none.
        ConfigError: the system refused.
    """
    name = service_name(home)
    path = _agents() / f"{name}.plist" if sys.platform == "darwin" else _units() / f"{name}.service"
    if not path.exists():
        raise NotFoundError(f"no service of {home} is installed: {path} does not exist")
    if sys.platform == "darwin":
        _told("launchctl", "unload", "-w", str(path))
        path.unlink()
    else:
        _needs_systemd()
        _told("systemctl", "--user", "disable", "--now", path.name)
        path.unlink()
        _told("systemctl", "--user", "daemon-reload")
    return f"The service {name} is stopped and removed; the memory in {home} stays."


def service_name(home: Path) -> str:
    """The name of a home's service: one for each home."""
    return f"slowwave-{sha256(str(home).encode()).hexdigest()[:8]}"


def systemd_unit(home: Path) -> str:
    """The unit of a home, with absolute paths."""
    program = " ".join(_quoted(word) for word in _program())
    return UNIT.format(home=_quoted(str(home)), program=program)


def launchd_plist(home: Path, name: str) -> str:
    """The agent of a home, with absolute paths."""
    words = [*_program(), "serve", "--home", str(home)]
    return PLIST.format(name=name, words="".join(f"<string>{escape(word)}</string>" for word in words))


def _program() -> list[str]:
    return [sys.executable, "-m", "slowwave.entrypoints.cli"]


def _quoted(word: str) -> str:
    """A word as systemd reads it back, with its own signs spelled out."""
    spelled = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{spelled}"' if any(sign in word for sign in " \t'\"\\;") else spelled


def _units() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"


def _agents() -> Path:
    return Path.home() / "Library" / "LaunchAgents"


def _needs_systemd() -> None:
    if shutil.which("systemctl") is None:
        raise ConfigError(
            "there is no systemd here: start `slowwave serve` by what starts programs on this machine"
        )


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error


def _told(*words: str) -> None:
    """Run a command of the system.

    Raises:
        ConfigError: it refused, with what it says.
    """
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 # fixed words
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"{words[0]} could not be run ({type(error).__name__})") from error
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())[:200]
        raise ConfigError(f"`{' '.join(words)}` refused: {said}")
