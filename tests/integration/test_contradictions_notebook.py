"""The page of contradictions runs from top to bottom, counts right, escapes what is stored, and changes nothing."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.integration.test_notebooks import fingerprint, run_notebook
from tests.integration.test_reconcile_stage import OWNER, Home, fact

NOTEBOOK = ROOT / "notebooks" / "contradictions.py"
EVIL = '<script>alert("x")</script>'


def opened(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[list[str], dict[str, Any]]:
    """Runs the notebook: what its cells show, and its names."""
    return run_notebook(monkeypatch, NOTEBOOK, *arguments)


def test_it_shows_the_queue_how_judgements_fell_and_candidates_by_rank(monkeypatch, tmp_path: Path):
    home = Home(tmp_path / "home", None)
    ids = home.learn(fact("100", 1), fact(f"250 {EVIL}", 5), fact("180", 9))
    doubt = {"contradiction_id": "x", "cell_a": ids[0], "cell_b": ids[1], "note": f"which {EVIL}?", **OWNER}
    home.commit("contradiction.opened", doubt)
    pair = {"cell_id": ids[2], "effect": "contradiction", "reason": f"guard {EVIL}", **OWNER}
    home.commit(
        "pair.judged",
        {"judgement_id": "j1", "target_id": ids[1], "verdict": "updates", **pair},
        {"judgement_id": "j2", "target_id": ids[0], "verdict": "unjudged", **pair, "effect": "none"},
    )
    before = fingerprint(tmp_path)
    shown, names = opened(monkeypatch, "--home", home.path)
    assert fingerprint(tmp_path) == before
    assert names["waiting"]["contradictions open"] == 1
    assert names["waiting"]["pairs that wait for a judge"] == 1
    assert names["open_pairs"]["older"].to_list() == ["The rate limit of departures endpoint is 100."]
    assert dict(names["fell"].select("verdict", "count").iter_rows()) == {"updates": 1, "unjudged": 1}
    assert names["refused"]["count"].to_list() == [1]
    assert names["by_rank"]["verdict"].to_list() == ["updates"]
    assert names["by_rank"]["rank"][0] in (1, 2)
    assert any("&lt;script&gt;" in text for text in shown)
    assert [text for text in shown if "<script>alert" in text] == []


def test_an_empty_home_says_no_memory_yet_and_stays_empty(monkeypatch, tmp_path: Path):
    folder = tmp_path / "nothing"
    shown, names = opened(monkeypatch, "--home", str(folder))
    assert not folder.exists()
    assert any("No memory yet" in text for text in shown)
    assert names["fell"].is_empty()
