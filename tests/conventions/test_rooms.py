"""The rooms of the library: plain names, and a page that says what each holds."""

import ast
import io
import re
import tokenize
import tomllib
from collections import Counter
from functools import cache
from pathlib import PurePosixPath

import pytest

from tests.conventions.source import LIBRARY, ROOT, Module, modules

FILES_OF_THE_ROOT = 7
PRIVATE = {
    "desk": "edit session",
    "heir": "successor",
    "heirs": "successors",
    "twin": "duplicate",
    "twins": "duplicates",
    "leg": "query",
    "legs": "queries",
    "vitals": "cell usage",
    "warmth": "table cache",
    "stock": "overview",
    "holders": "current values",
    "bury": "apply",
    "buried": "applied",
    "what_goes": "erasure scope",
    "keep_up": "maintain",
    "look_ahead": "preview",
    "find_work": "find_chunks, find_topics: what is found",
    "take_in": "ingest",
}
"""Words that nobody outside this project would understand, with what they are called."""


def folders() -> Counter[str]:
    """Python files of every folder of the library, without its `__init__.py` and folders below it."""
    paths = (PurePosixPath(module.path) for module in modules(*LIBRARY))
    return Counter(str(path.parent) for path in paths if path.name != "__init__.py")


def test_the_root_of_the_library_holds_the_door_and_little_else():
    assert folders()["slowwave"] <= FILES_OF_THE_ROOT


def identifiers(module: Module) -> set[str]:
    """Names of a module: what its code says, and the parts of its path."""
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    names = {token.string for token in tokens if token.type == tokenize.NAME}
    return names | set(module.path.removesuffix(".py").split("/"))


@cache
def private_words(name: str) -> list[str]:
    """The private words in a name, as whole words of its `snake_case`."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")
    return [word for word in PRIVATE if f"_{word}_" in f"_{name}_"]


def private_names(module: Module) -> dict[str, list[str]]:
    """Names of a module with their private words; only a text that has such a word anywhere is taken apart."""
    if not any(map(private_words, re.findall(r"\w+", f"{module.path} {module.text}"))):
        return {}
    return {name: words for name in identifiers(module) if (words := private_words(name))}


def test_names_are_words_that_others_know():
    found = {
        f"{module.path}: {name}": [PRIVATE[word] for word in words]
        for module in modules(*LIBRARY, "benchmarks", "tests")
        if module.path != "tests/conventions/test_rooms.py"
        for name, words in private_names(module).items()
    }
    assert found == {}


def test_columns_tables_settings_and_events_are_named_by_the_same_words():
    from slowwave.journal.catalogue import CATALOGUE
    from slowwave.schemas.tables import TABLES, frame_schema
    from slowwave.settings.tree import Settings

    names = {*TABLES, *(column for table in TABLES for column in frame_schema(table))}
    names |= {kind.replace(".", "_") for kind in CATALOGUE}
    for group, entry in Settings.model_fields.items():
        names |= {group, *getattr(entry.annotation, "model_fields", {})}
    assert {name: words for name in names if (words := private_words(name))} == {}


RIDDLES = re.compile(r"(What|Whether|That which|Who|Whom|Whose|Where|Which|How|When)\b(?! to\b)")


def test_a_docstring_begins_with_what_it_does_or_is():
    found = []
    for module in modules(*LIBRARY):
        for node in module.nodes:
            if isinstance(node, ast.ClassDef) and module.path.startswith("slowwave/models/answers/"):
                continue  # sent to the model as the description of its answer: it changes only with a prompt
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                first = (ast.get_docstring(node) or "").split("\n", 1)[0]
                if RIDDLES.match(first):
                    found.append(f"{module.at(node)}: {first}")
    assert found == []


def contract(name: str) -> dict[str, object]:
    """An import contract of pyproject.toml by its id."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return next(one for one in project["tool"]["importlinter"]["contracts"] if one["id"] == name)


def layers() -> list[list[str]]:
    """The rooms of `slowwave/` from the faces down to the errors; those of one line do not know each other."""
    return [re.findall(r"\w+", layer) for layer in contract("library")["layers"]]


def rooms_page() -> str:
    """The table of rooms: each room of the import contract with the first sentence of its docstring."""
    by_path = {module.path: module for module in modules(*LIBRARY)}
    rows = ["| path | contents |", "|---|---|"]
    for path in ("flows", "tasks", *(f"slowwave/{room}" for layer in layers() for room in layer)):
        file = by_path.get(f"{path}/__init__.py") or by_path[f"{path}.py"]
        said = " ".join((ast.get_docstring(file.tree) or "").split("\n\n")[0].split())
        shown = f"`{path}/`" if file.path.endswith("__init__.py") else f"`{path}.py`"
        rows.append(f"| {shown} | {said} |")
    return "\n".join(rows)


def test_every_room_has_its_place_in_the_contract():
    named = {room for layer in layers() for room in layer}
    there = {
        PurePosixPath(module.path).parts[1].removesuffix(".py")
        for module in modules("slowwave")
        if module.path != "slowwave/__init__.py"
    }
    assert there == named


@pytest.mark.parametrize(
    ("name", "words"), [("EditDesk", ["desk"]), ("twin_ids", ["twin"]), ("legend", []), ("to_bury", ["bury"])]
)
def test_the_check_of_names_can_fail(name: str, words: list[str]):
    found = private_names(Module("x.py", f"{name} = 1"))
    assert found == ({name: words} if words else {})
    assert private_names(Module("x.py", f"_ = 1  # the {name}")) == {}
