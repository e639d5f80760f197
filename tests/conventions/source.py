"""The project's source as syntax trees, read once, for the tests of this folder."""

import ast
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LIBRARY = ("slowwave", "tasks", "flows")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One Python file: its path from the root, its text and its tree, which is made when it is asked for."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree, in the order of `ast.walk`."""
        return tuple(ast.walk(self.tree))

    def at(self, node: ast.AST) -> str:
        """Where a node stands, as an editor can open it."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}"


def modules(*folders: str) -> tuple[Module, ...]:
    """The Python files under folders of the project, folder by folder, in path order."""
    return tuple(module for folder in folders for module in _folder(folder))


@cache
def _folder(folder: str) -> tuple[Module, ...]:
    return tuple(_module(path) for path in sorted((ROOT / folder).rglob("*.py")))


@cache
def _module(path: Path) -> Module:
    return Module(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def functions(module: Module) -> Iterator[Function]:
    """All functions and methods, nested ones too."""
    return (node for node in module.nodes if isinstance(node, Function))


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


def calls(module: Module) -> Iterator[ast.Call]:
    """All calls."""
    return (node for node in module.nodes if isinstance(node, ast.Call))


@cache
def project_files() -> tuple[str, ...] | None:
    """Files that git tracks or would take in; None where this is no checkout."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        return None
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    names = sorted(set(listed.stdout.split("\0")) - {""})
    return tuple(name for name in names if (ROOT / name).is_file())
