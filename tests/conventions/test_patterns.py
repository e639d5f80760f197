"""Patterns: no quantifier that Python takes for a part of a formatted string."""

import ast

from tests.conventions.source import LIBRARY, modules


def test_no_brace_of_a_formatted_pattern_holds_a_tuple_or_a_constant():
    """`rf"[0-9a-f]{7,40}"` is the text "(7, 40)": a quantifier needs doubled braces there."""
    found = [
        module.at(node)
        for module in modules(*LIBRARY, "benchmarks")
        for node in module.nodes
        if isinstance(node, ast.FormattedValue) and _is_number(node.value)
    ]
    assert found == []


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return all(_is_number(part) for part in node.elts)
    return isinstance(node, ast.Constant) and isinstance(node.value, int)
