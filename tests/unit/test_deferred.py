"""Names that stand in for a library that nobody asked for yet."""

import sys
from types import ModuleType

import pytest

from slowwave.deferred import names_deferred


def test_a_module_that_imports_when_it_is_asked_for_its_class_disturbs_nobody(
    monkeypatch: pytest.MonkeyPatch,
):
    class Lazy:
        @property
        def __class__(self) -> type:  # as stand-ins of other libraries do
            monkeypatch.setitem(sys.modules, "imported_meanwhile", ModuleType("imported_meanwhile"))
            return ModuleType

    monkeypatch.setitem(sys.modules, "lazy", Lazy())
    with names_deferred("nothing_of_this_name"):
        pass
    assert "imported_meanwhile" not in sys.modules
