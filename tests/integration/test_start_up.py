"""Each command pays for its imports anew, so what a memory imports is held down by name and number."""

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.processes

SLOW = {
    "instructor", "lance_namespace_urllib3_client", "ollama", "openai", "pandas", "prefect", "scipy.cluster",
    "scipy.sparse", "wordllama",
}  # fmt: skip
"""Libraries that take a tenth of a second or more, and that answering a question does not need."""

MOST_MODULES = 900
"""Modules of others behind `Memory`; with the libraries above there were 2,700."""

MOST_MODULES_OF_A_COMMAND = 1_200
"""With the app, its renderers and the embedder, where no server may start and the command answers by itself."""

MOST_MODULES_OF_A_CLIENT = 200
"""Modules of the program when a server answers: Python's own start, Click, HTTP, JSON."""

LOADED = "import json, sys; import {}; print(json.dumps(sorted(sys.modules)))"


def loaded_by(module: str) -> set[str]:
    """Modules that a new interpreter has after importing one."""
    code = [sys.executable, "-c", LOADED.format(module)]
    return set(json.loads(subprocess.run(code, cwd=ROOT, capture_output=True, check=True).stdout))


def of_others(loaded: set[str]) -> set[str]:
    return {name for name in loaded if not name.startswith("slowwave")}


def test_a_memory_is_opened_without_the_libraries_that_it_does_not_need():
    loaded = loaded_by("slowwave.memory")
    assert loaded & SLOW == set()
    assert len(of_others(loaded)) <= MOST_MODULES


def test_the_commands_that_are_called_often_import_neither_prefect_nor_a_client_of_models(tmp_path):
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"role": "user", "content": "The kiln is blue."}\n', encoding="utf-8")
    code = (
        "import json, sys; from slowwave.interfaces.cli.program import program; "
        "program(sys.argv[1:], standalone_mode=False); "
        "print(json.dumps(sorted(sys.modules)))"
    )
    for words in (["ingest", str(chat)], ["search", "kiln"], ["context", "kiln"], ["status"]):
        call = [sys.executable, "-c", code, *words, "--home", str(tmp_path / "home")]
        done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True)
        loaded = set(json.loads(done.stdout.splitlines()[-1]))
        assert loaded & SLOW == set(), words
        assert len(of_others(loaded)) <= MOST_MODULES_OF_A_COMMAND, words


def test_a_deferred_library_is_there_as_soon_as_something_of_it_is_used():
    code = """
import sys
from slowwave.store import lance
import lancedb, lance_namespace
assert "lance_namespace_urllib3_client" not in sys.modules
assert not isinstance(3, lance_namespace.ListTablesResponse)
assert lance_namespace.ListTablesResponse(tables=["cells"]).tables == ["cells"]
import lance_namespace_urllib3_client as client
assert client.TableApi.__module__.startswith("lance_namespace_urllib3_client.api")
assert client.ListTablesResponse.__pydantic_complete__
from slowwave.models.servers import openai
assert "openai" not in sys.modules
import openai as whole
assert openai.APIStatusError is whole.APIStatusError
try:
    openai.nothing_of_this_name
except AttributeError:
    print("told")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("told\n", "")


def test_a_command_that_a_server_answers_imports_next_to_nothing():
    loaded = loaded_by("slowwave.interfaces.cli.program")
    own = {name for name in loaded if name.startswith("slowwave")}
    cli = {"client", "edits", "options", "output", "program", "questions", "setup", "work"}
    assert own == {
        *("slowwave", "slowwave.errors", "slowwave.settings", "slowwave.settings.place"),
        *("slowwave.interfaces", "slowwave.interfaces.client", "slowwave.interfaces.cli"),
        *(f"slowwave.interfaces.cli.{name}" for name in cli),
    }
    assert len(of_others(loaded)) <= MOST_MODULES_OF_A_CLIENT
