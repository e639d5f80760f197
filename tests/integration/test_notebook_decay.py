"""The notebook of fading runs from top to bottom, agrees with the rules, and shows stored text as text."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from slowwave.memory import Memory
from tests.conftest import ROOT
from tests.integration.test_notebooks import EVIL, fingerprint, run_notebook

NOTEBOOK = ROOT / "notebooks" / "decay.py"


def opened(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[list[str], dict[str, Any]]:
    """Runs the notebook: what its cells show, and its names."""
    return run_notebook(monkeypatch, NOTEBOOK, *arguments)


def test_it_tells_what_will_fade_and_changes_nothing(monkeypatch, tmp_path):
    home, year = tmp_path / "home", tmp_path / "year.json"
    home.mkdir()
    (home / "slowwave.toml").write_text('[embedding]\nprovider = "none"\n', encoding="utf-8")
    old = datetime.now(UTC) - timedelta(days=30)
    with Memory(home, records_usage=False) as memory:
        memory.remember(f"Mara dislikes {EVIL}.", now=old)
        memory.remember("We glaze in the north room.", cell_type="decision", now=old)
    month = dict.fromkeys(
        ("first", "recall", "precision", "stale", "active", "active_cited", "superseded"), 1
    )
    months = [{"month": n, **month, "archived": n, "night_cpu_seconds": 1.5} for n in (1, 2)]
    year.write_text(
        json.dumps({"days": 60, "year": {"false_forgetting": 0.004}, "months": months}), encoding="utf-8"
    )
    before = fingerprint(home)
    shown, names = opened(monkeypatch, "--home", str(home), "--year", str(year))
    assert fingerprint(home) == before
    assert names["strength"].height == 2
    days = sorted((moment - old).total_seconds() / 86_400 for moment in names["coming"]["fades_at"])
    assert days[0] == pytest.approx(90, abs=0.01)
    assert 150 < days[1] < 180
    assert names["forgotten"].archived_count == 0
    assert set(names["curves"]["cell_type"]) >= {"decision", "task", "other types"}
    assert len(names["year_curves"]) == 3
    assert any("0.40%" in text for text in shown)
    assert any("&lt;script&gt;" in text for text in shown)
    assert [text for text in shown if "<script>alert" in text or "<img src=x" in text] == []


def test_without_a_home_and_a_year_it_says_so(monkeypatch, tmp_path):
    shown, names = opened(
        monkeypatch, "--home", str(tmp_path / "nothing"), "--year", str(tmp_path / "none.json")
    )
    assert any("No memory yet" in text for text in shown)
    assert "none.json" in names["year"].problem
    assert not (tmp_path / "nothing").exists()
