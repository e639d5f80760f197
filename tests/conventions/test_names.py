"""Names: rooms, files, flows, prompts."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.conventions.source import LIBRARY, ROOT, Module, dotted, functions, modules

VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers", "base", "core_utils"}
AROUND_FLOWS = {"__init__", "running", "schedule", "serve"}
"""Files of `flows/` that hold no flow: how flows are run, when and where."""
PROMPT_NAME = re.compile(r"[a-z]+(_[a-z]+)+\.v[1-9][0-9]*\.md")


def stories() -> list[Module]:
    """The files of `flows/` that hold a flow."""
    return [module for module in modules("flows") if Path(module.path).stem not in AROUND_FLOWS]


def test_no_module_has_a_name_that_says_nothing():
    found = [
        module.path
        for module in modules(*LIBRARY, "benchmarks", "tests")
        if VAGUE & set(module.path.removesuffix(".py").lower().replace("_", "/").split("/"))
    ]
    assert found == []


def test_no_constant_is_bound_twice_in_a_module():
    """The second value would hold in whatever is called later, also where the first was meant."""
    found = [
        f"{module.path}: {name}"
        for module in modules(*LIBRARY)
        for name, count in Counter(_constants_of(module.tree)).items()
        if count > 1
    ]
    assert found == []


def _constants_of(tree: ast.Module) -> Iterator[str]:
    """Upper-case names that the statements of a module bind, also those under an `if` or a `try`."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and part.id.isupper():
                yield part.id


def test_a_flow_file_holds_one_flow_of_its_own_name_and_nothing_else():
    wrong = []
    for module in stories():
        name = module.path.removeprefix("flows/").removesuffix(".py")
        defined = [
            node
            for node in module.tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
        if [node.name for node in defined] != [name]:
            wrong.append(f"{module.path}: defines {[node.name for node in defined]}, wanted only {name!r}")
            continue
        marks = [mark.func if isinstance(mark, ast.Call) else mark for mark in defined[0].decorator_list]
        if "flow" not in {dotted(mark).rsplit(".", 1)[-1] for mark in marks}:
            wrong.append(f"{module.path}: {name} is not decorated with @flow")
    assert wrong == []


def test_a_task_lives_in_tasks_and_a_flow_in_flows():
    wrong = []
    for module in modules(*LIBRARY):
        room = module.path.split("/", 1)[0]
        for function in functions(module):
            marks = [mark.func if isinstance(mark, ast.Call) else mark for mark in function.decorator_list]
            kinds = {dotted(mark).rsplit(".", 1)[-1] for mark in marks} & {"flow", "task"}
            if kinds - {room.removesuffix("s")}:
                wrong.append(f"{module.at(function)} {function.name}: {kinds} in {room}/")
    assert wrong == []


def test_prompts_are_named_verb_object_and_version():
    files = [path for path in (ROOT / "prompts").iterdir() if path.is_file() and path.name != "__init__.py"]
    assert [path.name for path in files if not PROMPT_NAME.fullmatch(path.name)] == []


PLUMBING = {"call", "publish", "publish_page", "run_name", "open_derivation", "open_night", "open_stage"}
"""What a flow calls to run its steps."""


def test_a_function_that_a_flow_calls_is_a_step_or_a_question_of_yes_and_no():
    marked = {
        function.name
        for module in modules("tasks")
        for function in functions(module)
        for mark in function.decorator_list
        if dotted(mark.func if isinstance(mark, ast.Call) else mark) in ("step", "task")
    }
    called = {
        name.name
        for module in modules("flows")
        for node in module.nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tasks")
        for name in node.names
    }
    assert {name for name in called - marked - PLUMBING if not name.startswith(("has_", "is_"))} == set()
    assert len(called & marked) > 20


def test_a_flow_is_a_story_of_at_most_65_lines():
    assert [module.path for module in stories() if len(module.text.splitlines()) > 65] == []
