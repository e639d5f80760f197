"""Functions: size, types at a border, errors, and what a pure module must not touch.

Ruff holds docstrings, annotations and prints.
"""

import ast
from collections.abc import Iterator

from tests.conventions.source import (
    LIBRARY,
    Function,
    Module,
    calls,
    dotted,
    functions,
    modules,
    public_functions,
)

FUNCTION_LINES = 60
ROW_BY_ROW = {
    "map_elements",
    "map_rows",
    "map_groups",
    "iter_rows",
    "iter_slices",
    "rows",
    "rows_by_key",
    "to_dicts",
    "iterrows",
}
PURE_ROOMS = (
    "slowwave/recording",
    "slowwave/lifecycle",
    "slowwave/language",
)
OUTSIDE = (
    "slowwave.store",
    "slowwave.home",
    "slowwave.models.gateway",
    "slowwave.models.requests",
    "slowwave.models.embed",
    "slowwave.journal.segments",
)
PURE_ALTHOUGH_IN_HOME = ("slowwave.home.vectors", "slowwave.home.core_file")
TIMELESS_ROOMS = (
    *PURE_ROOMS,
    *(
        f"slowwave/{room}"
        for room in (
            "recall", "edits", "rewrite", "schemas", "ingest", "models", "journal", "store"
        )
    ),
)  # fmt: skip
WALKS_ROWS = {
    "slowwave/lifecycle/succession.py",  # the few links of one chain, in their order
    "slowwave/recording/turns.py",  # the few turns of a part whose text differs from the stored one
}
HAVE_A_CLOCK = {
    "slowwave/models/servers.py",  # a server may name the moment from which it can be asked again
    "slowwave/schemas/refusals.py",  # the present moment, where a caller names none
    "slowwave/recall/search.py",  # `search` of a home, for a question that names no moment
    "slowwave/recording/ingest.py",  # how long it took
    "slowwave/rewrite/redact_plan.py",  # draws new ids
    "slowwave/store/index.py",  # when a table may be read again
}
CLOCKS = {"now", "utcnow", "today"}
UNSTEADY = {"time", "random", "secrets", "uuid"}


def lines_of(function: Function) -> int:
    """Lines of a function from `def` to its end, its docstring not counted."""
    total = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        total -= (first.end_lineno or first.lineno) - first.lineno + 1
    return total


def bare_any(function: Function) -> list[str]:
    """Names of parameters, and `return`, whose whole type is Any."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    types = {argument.arg: argument.annotation for argument in named} | {"return": function.returns}
    return [
        name for name, kind in types.items() if kind is not None and dotted(kind) in ("Any", "typing.Any")
    ]


def at_module_level(nodes: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports that run when the module is imported; those for the type checker alone do not."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and dotted(node.test).endswith("TYPE_CHECKING"):
            yield from at_module_level(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from at_module_level([child for child in ast.walk(node) if isinstance(child, ast.stmt)][1:])


def imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    """Top names of the packages that an import statement loads."""
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return {name.split(".", 1)[0] for name in names}


def modules_imported(module: Module) -> set[str]:
    """Full names of the modules, or of names in them, that a module imports at any place."""
    found = set()
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_no_bare_any_crosses_a_module_border():
    assert [
        f"{module.at(function)} {function.name}: {loose}"
        for module in modules(*LIBRARY)
        for function in public_functions(module.tree)
        if (loose := bare_any(function))
    ] == []


def test_a_function_fits_on_a_screen():
    assert [
        f"{module.at(function)} {function.name}: {lines_of(function)} lines"
        for module in modules(*LIBRARY, "benchmarks")
        for function in functions(module)
        if lines_of(function) > FUNCTION_LINES
    ] == []


def reaches_outside(module: Module) -> bool:
    """Whether a module imports a store, a home, a model or an embedder, at any place: then it is not pure."""
    return any(
        name == outside or name.startswith(f"{outside}.")
        for name in modules_imported(module)
        if not name.startswith(PURE_ALTHOUGH_IN_HOME)
        for outside in OUTSIDE
    )


def test_pure_modules_never_go_row_by_row():
    pure = [
        module
        for module in modules(*PURE_ROOMS)
        if not reaches_outside(module) and module.path not in WALKS_ROWS
    ]
    assert len(pure) > 20, "too few modules are pure: is the list of rooms out of date?"
    assert [
        f"{module.at(call)} {call.func.attr}"
        for module in pure
        for call in calls(module)
        if isinstance(call.func, ast.Attribute) and call.func.attr in ROW_BY_ROW
    ] == []


def test_only_named_modules_read_the_clock_or_draw_an_unseeded_number():
    wrong = []
    for module in modules(*TIMELESS_ROOMS):
        if module.path in HAVE_A_CLOCK:
            continue
        for node in module.nodes:
            if isinstance(node, ast.Import | ast.ImportFrom) and imported(node) & UNSTEADY:
                wrong.append(f"{module.at(node)} imports {imported(node) & UNSTEADY}")
        wrong += [f"{module.at(call)} {name}" for call in calls(module) if (name := unsteady(call))]
    assert wrong == []


def unsteady(call: ast.Call) -> str:
    """The name of a call whose result changes from run to run, else the empty text."""
    name = dotted(call.func)
    parts = name.split(".")
    if parts[-1] in CLOCKS and parts[-2:-1] and parts[-2] in ("datetime", "date", "dt"):
        return name
    if "random" in parts[:-1] and parts[-1] not in ("default_rng", "Generator"):
        return name
    seeds = [*call.args, *(keyword.value for keyword in call.keywords)]
    return (
        name
        if parts[-1] in ("default_rng", "sample", "shuffle") and not seeded(parts[-1], call, seeds)
        else ""
    )


def seeded(name: str, call: ast.Call, seeds: list[ast.expr]) -> bool:
    """A generator is given any seed; a sample or shuffle of a frame is given `seed=`."""
    return bool(seeds) if name == "default_rng" else any(keyword.arg == "seed" for keyword in call.keywords)


def test_catching_everything_always_raises_again():
    assert [
        module.at(handler)
        for module in modules(*LIBRARY)
        for handler in module.nodes
        if isinstance(handler, ast.ExceptHandler)
        and catches_everything(handler)
        and not isinstance(handler.body[-1], ast.Raise)
    ] == []


def catches_everything(handler: ast.ExceptHandler) -> bool:
    """`except:`, `except Exception`, `except BaseException`, alone or in a tuple."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        kind is None or (dotted(kind).endswith("Exception") and "." not in dotted(kind)) for kind in kinds
    )


LIGHT = ("flows.running", "flows.schedule")
"""What tells how to run flows, and imports none of them."""


def test_interfaces_import_prefect_and_flows_only_when_they_are_needed():
    assert [
        module.at(node)
        for module in modules("slowwave/interfaces")
        for node in at_module_level(module.tree.body)
        if imported(node) & {"prefect", "flows", "tasks"} and getattr(node, "module", "") not in LIGHT
    ] == []


def test_the_checks_of_this_file_can_fail():
    bad = (
        "def f(x: Any, y):\n    return datetime.now(), numpy.random.rand(), default_rng(), frame.sample(3)\n"
        "try:\n    import prefect\nexcept Exception:\n    pass\n"
    )
    module = Module("bad.py", bad)
    function = next(functions(module))
    assert bare_any(function) == ["x"]
    assert [name for call in calls(module) if (name := unsteady(call))] == [
        "datetime.now",
        "numpy.random.rand",
        "default_rng",
        "frame.sample",
    ]
    assert [imported(node) for node in at_module_level(module.tree.body)] == [{"prefect"}]
    assert [catches_everything(node) for node in module.nodes if isinstance(node, ast.ExceptHandler)] == [
        True
    ]
