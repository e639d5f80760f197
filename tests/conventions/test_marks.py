"""The split of the suite: `make test` leaves out what is marked as long, `make test-all` and CI run everything."""

import multiprocessing
import re
import subprocess
import sys
import tomllib

import pytest

from tests.conftest import MAY_START_PROCESSES
from tests.conventions.source import ROOT, modules

BENCHMARK_IMPORT = re.compile(
    r"^(?:from|import) benchmarks\b(?!\.(?:blind_secrets|coverage|demo|evaluation|pages|question_sets"
    r"|record_answers|redaction|replay|scripted_answers|ways|year_oracle|year_world)\b)",
    re.MULTILINE,
)
"""The modules left out measure nothing: the demo, a recorder, secrets for tests, stand-ins of a model; or they are
quick: the rules of evaluation."""


def declared() -> set[str]:
    """Names of the marks in pyproject.toml."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]
    return {mark.split(":")[0] for mark in options["ini_options"]["markers"]}


def recipes() -> dict[str, str]:
    """Recipe lines of the Makefile by target."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z-]+):.*\n((?:\t.*\n)*)", text, re.MULTILINE))


def test_make_test_leaves_out_exactly_the_declared_marks():
    (long,) = re.findall(r"^LONG := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(long.split(" or ")) == declared()
    assert '-m "not ($(LONG))"' in recipes()["test"]


def test_make_test_all_and_ci_leave_nothing_out():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]
    chosen = re.compile(r" -[mk] |--(?:ignore|deselect|hypothesis-profile)")
    assert not chosen.search(recipes()["test-all"])
    assert not chosen.search(" ".join(["", *options["ini_options"]["addopts"], ""]))
    assert "make test-all" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_declared_mark_is_used():
    used = {name for module in modules("tests") for name in re.findall(r"pytest\.mark\.(\w+)", module.text)}
    assert declared() <= used
    assert declared() >= MAY_START_PROCESSES


def test_a_test_without_the_mark_can_start_no_python_process():
    for start in (
        lambda: subprocess.Popen([sys.executable, "-c", ""]),
        lambda: multiprocessing.get_context("spawn").Process(target=print).start(),
    ):
        with pytest.raises(pytest.fail.Exception, match="without a mark"):
            start()


def test_tests_of_benchmarks_are_marked_as_a_whole():
    importing = [module for module in modules("tests") if BENCHMARK_IMPORT.search(module.text)]
    assert importing
    unmarked = [
        module.path
        for module in importing
        if not re.search(r"^pytestmark = [^\n]*\n?[^\n]*pytest\.mark\.benchmark", module.text, re.MULTILINE)
    ]
    assert unmarked == []
