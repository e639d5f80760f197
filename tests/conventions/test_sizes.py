"""Ceilings for the whole library: they follow it down, and a room that grows must say what it pays with.

Sizes by the numbers of today; whoever makes the library smaller lowers them in the same commit.
"""

import ast

from tests.conventions.source import LIBRARY, functions, modules

MOST_LINES, MOST_MODULES, MOST_STATEMENTS = 50_710, 384, 29_370
MEDIAN_LINES, MOST_LINES_OF_NINE_IN_TEN = 8, 25


def test_the_library_does_not_grow():
    library = modules(*LIBRARY)
    assert sum(len(module.text.splitlines()) for module in library) <= MOST_LINES
    assert len(library) <= MOST_MODULES
    assert sum(isinstance(node, ast.stmt) for module in library for node in module.nodes) <= MOST_STATEMENTS


def test_functions_are_short():
    lines = sorted(
        (found.end_lineno or found.lineno) - found.lineno + 1
        for module in modules(*LIBRARY)
        for found in functions(module)
    )
    assert lines[len(lines) // 2] <= MEDIAN_LINES
    assert lines[len(lines) * 9 // 10] <= MOST_LINES_OF_NINE_IN_TEN
