"""The project's source as syntax trees, read once, for the tests of this folder."""

import ast
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LIBRARY = ("slowwave", "tasks", "flows")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One Python file: its path from the root, its text and its tree."""

    path: str
    text: str
    tree: ast.Module

    def at(self, node: ast.AST) -> str:
        """Where a node stands, as an editor can open it."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}"


def modules(*folders: str) -> tuple[Module, ...]:
    """The Python files under folders of the project, folder by folder, in path order."""
    return tuple(module for folder in folders for module in _folder(folder))


@cache
def _folder(folder: str) -> tuple[Module, ...]:
    paths = sorted((ROOT / folder).rglob("*.py"))
    texts = [(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths]
    return tuple(Module(path, text, ast.parse(text, path)) for path, text in texts)


def functions(tree: ast.AST) -> Iterator[Function]:
    """All functions and methods, nested ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def public_functions(tree: ast.Module) -> Iterator[Function]:
    """What other modules may call: public functions and public methods of public classes."""
    bodies = [
        tree.body,
        *(node.body for node in tree.body if isinstance(node, ast.ClassDef) and is_public(node)),
    ]
    return (node for body in bodies for node in body if isinstance(node, Function) and is_public(node))


def is_public(node: Function | ast.ClassDef) -> bool:
    """The name does not start with an underscore."""
    return not node.name.startswith("_")


def dotted(node: ast.AST) -> str:
    """`a.b.c` of a chain of names; the empty text for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    """All calls under a node."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


@cache
def project_files() -> tuple[str, ...] | None:
    """Files that git tracks or would take in; None where this is no checkout."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        return None
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    names = sorted(set(listed.stdout.split("\0")) - {""})
    return tuple(name for name in names if (ROOT / name).is_file())
