"""What may stand in the repository: no machine's path, no registry's address, a whole lock, light imports."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.conventions.source import ROOT, project_files

REGISTRIES = re.compile(
    "|".join(
        ["index" + "-url", "extra" + "-index", r"registry *= *.http", r"py" + r"pi\.org", "python" + "hosted"]
    )
)
MACHINE_PATHS = re.compile(r"(?<![\w.~}*-])/(?:" + "work|" + "root)/")
LARGEST_TEXT = 2_000_000


def texts() -> list[tuple[str, str]]:
    """Name and text of every file of the project that is text."""
    names = project_files()
    if names is None:
        pytest.skip("not a git checkout: which files belong to the project is not known")
    contents = [(name, (ROOT / name).read_bytes()) for name in names]
    return [
        (name, content.decode("utf-8", errors="replace"))
        for name, content in contents
        if len(content) < LARGEST_TEXT and b"\0" not in content
    ]


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    """Where a pattern stands, as file and line."""
    return [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in texts()
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_file_names_a_path_of_a_machine():
    personal = {str(ROOT) + "/", str(Path.home()) + "/"} - {"//"}
    pattern = re.compile("|".join([MACHINE_PATHS.pattern, *(re.escape(path) for path in personal)]))
    assert lines_with(pattern) == []


def test_no_file_names_a_package_registry():
    assert lines_with(REGISTRIES) == []


LOCKS = ("requirements.lock", "requirements-dev.lock")


def requirements(lock_name: str) -> dict[str, str]:
    """Every requirement of a lock with everything that belongs to it."""
    lock = (ROOT / lock_name).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in lock.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return {re.split(r"[=\[ ;@]", line, maxsplit=1)[0]: line for line in lines}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_of_a_lock_has_a_version_and_a_hash(lock):
    form = re.compile(r"[a-z0-9-]+(\[[a-z0-9,-]+\])?==[^ ]+( ; [^\\]+?)?( +--hash=sha256:[0-9a-f]{64})+ *")
    assert [name for name, line in requirements(lock).items() if not form.fullmatch(line)] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_host(lock):
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert [
        line for line in text.splitlines() if "://" in line or "--find-links" in line or " @ " in line
    ] == []


def test_the_locks_hold_what_the_project_names_and_agree_on_versions():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    to_run = [*project["project"]["dependencies"], *project["dependency-groups"]["build"]]
    to_work = [*to_run, *project["project"]["optional-dependencies"]["dev"]]
    runs, works = (requirements(lock) for lock in LOCKS)
    assert _names(to_run) - set(runs) == set()
    assert _names(to_work) - set(works) == set()
    assert _names(to_work) & set(runs) == _names(to_run), "running needs none of the tools"
    version = re.compile("==[^ ]+")
    assert [name for name in runs if version.findall(runs[name]) != version.findall(works[name])] == []


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=\[ ;~!]", name, maxsplit=1)[0].lower().replace("_", "-") for name in requirements}


@pytest.mark.processes
@pytest.mark.parametrize(
    ("module", "foreign"),
    [
        ("slowwave", {"prefect", "lancedb", "instructor", "polars"}),
        ("slowwave.settings.tree", {"prefect", "lancedb", "instructor", "polars"}),
        ("slowwave.interfaces.cli.program", {"prefect"}),
    ],
)
def test_importing_stays_light(module: str, foreign: set[str]):
    if not any((ROOT / f"{module.replace('.', '/')}{end}").is_file() for end in (".py", "/__init__.py")):
        pytest.skip(f"{module} is not there yet")
    code = f"import sys, {module}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) & foreign == set()
