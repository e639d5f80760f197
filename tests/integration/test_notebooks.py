"""The notebooks run from top to bottom, count right, escape what is stored, and leave the home as it was."""

import hashlib
import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from slowwave.memory import Memory
from slowwave.store import open_store
from tests.conftest import ROOT

NOTEBOOK = ROOT / "notebooks" / "memory_quality.py"
EVIL = '<script>alert("x")</script> <img src=x onerror=y> {0}'
SAID = (
    ("Kiln 2 runs at 1040 degrees since the new thermostat came.", "fact", "kiln 2", "heat", "1040"),
    ("The lease of the workshop ends in March.", "fact", "workshop lease", "end", "March"),
    ("We decided to glaze in the north room.", "decision", "glazing", "room", "north"),
    (
        f"Mara dislikes the heat of kiln 2, the end of the workshop lease, the room for glazing and {EVIL}.",
        "preference",
        f"Mara {EVIL}",
        f"taste {EVIL}",
        EVIL,
    ),
    ("The ferry leaves at seven in the morning.", "fact", None, None, None),
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home for the module: what is tested here writes nothing."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "slowwave.toml").write_text('[embedding]\nprovider = "wordllama"\n', encoding="utf-8")
    with Memory(folder, records_usage=False) as memory:
        for text, cell_type, subject, attribute, value in SAID:
            memory.remember(text, cell_type=cell_type, subject=subject, attribute=attribute, value=value)
    return folder


def opened(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[list[str], dict[str, Any]]:
    """Runs the notebook as `python notebooks/memory_quality.py ARGUMENTS`."""
    return run_notebook(monkeypatch, NOTEBOOK, *arguments)


def run_notebook(
    monkeypatch: pytest.MonkeyPatch, path: Path, *arguments: str
) -> tuple[list[str], dict[str, Any]]:
    """Runs a notebook as `python PATH ARGUMENTS`: what its cells show, and its names."""
    pytest.importorskip("marimo", reason="marimo is not in requirements.lock yet")
    pytest.importorskip("altair", reason="altair is not in requirements.lock yet")
    monkeypatch.setattr(sys, "argv", [str(path), *arguments])
    name = f"{path.stem}_notebook"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)  # marimo finds its classes by the module's name
    spec.loader.exec_module(module)
    shown, names = module.app.run()
    return [page(one) for one in shown if one is not None], dict(names)


def page(shown: Any) -> str:
    """What the browser is given of one cell, with the markup that marimo put into attributes or JSON."""
    return shown.text if hasattr(shown, "text") else str(shown)


def fingerprint(folder: Path) -> dict[str, str]:
    """Every file below a folder with the hash of its bytes."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file()
        else "folder"
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture(scope="module")
def visit(filled: Path) -> tuple[list[str], dict[str, Any], bool]:
    """One look at the filled home: what is shown, the names of its cells, and whether every byte stayed."""
    before = fingerprint(filled)
    with pytest.MonkeyPatch.context() as patched:
        shown, names = opened(patched, "--home", str(filled))
    return shown, names, fingerprint(filled) == before


def test_it_counts_what_the_store_holds_and_changes_nothing(visit):
    shown, names, is_unchanged = visit
    assert is_unchanged
    types = Counter(cell_type for _, cell_type, *_ in SAID)
    assert dict(names["by_type"].select("cell_type", "count").iter_rows()) == dict(types)
    assert dict(names["by_status"].iter_rows()) == {"active": len(SAID)}
    assert names["timeline"]["count"].sum() == len(SAID)
    assert names["strength"]["effective"].is_between(0.8, 1.0).all()
    assert names["strength"].height == len(SAID)
    assert names["waiting"]["memories not reconciled"] == len(SAID)
    assert names["contradictions_open"].height == 0
    assert names["measured"].problem.startswith("No question set is given")
    found, problem = names["answer"]
    assert problem == ""
    assert found.cells[0].why["text_rank"] == 1
    assert any(cell.why["vector_rank"] for cell in found.cells)
    assert any("text_rank 1" in text for text in shown)
    assert any(">5</b><span>live memories" in text for text in shown)


def test_each_memory_with_a_name_is_asked_for_and_its_place_told(visit):
    _, names, _ = visit
    reachable = names["reachable"]
    assert sorted(reachable["question"]) == sorted(f"{row[2]} {row[3]}" for row in SAID if row[2])
    of_kiln = reachable.filter(reachable["question"] == "kiln 2 heat")
    assert of_kiln["rank"].to_list() == [1]
    assert of_kiln["place"].to_list() == ["1st"]
    assert names["by_place"]["count"].sum() == reachable.height


def test_stored_text_is_never_markup(visit):
    shown, names, _ = visit
    assert any("&lt;script&gt;" in text for text in shown), "the stored text is shown somewhere"
    assert [text for text in shown if "<script>alert" in text or "<img src=x" in text] == []
    kept, _ = names["answer"]
    assert any(EVIL in cell.content for cell in kept.cells), "the answer itself is not changed"


def test_a_question_set_tells_recall_by_category_and_what_is_missed(monkeypatch, filled, tmp_path):
    turns = open_store(filled / "store").rows("turns", ["turn_id", "content"])
    ids = dict(zip(turns["content"], turns["turn_id"], strict=True))
    kiln, ferry = ids[SAID[0][0]], ids[SAID[4][0]]
    questions = [
        {"question": "How hot does kiln 2 run?", "evidence": [kiln], "category": "heat"},
        {"question": "When does the ferry leave?", "evidence": [ferry], "category": "time"},
        {
            "question": "When did it leave?",
            "evidence": [ferry],
            "category": "past",
            "asked_at": "2020-01-01T00:00:00Z",
        },
        {"question": "Who knows?", "evidence": ["nobody"], "category": "lost"},
    ]
    path = tmp_path / "set.json"
    path.write_text(json.dumps({"questions": questions}), encoding="utf-8")
    before = fingerprint(filled)
    shown, names = opened(monkeypatch, "--home", str(filled), "--questions", str(path))
    assert fingerprint(filled) == before
    measured = names["measured"]
    by_category = {row["category"]: row for row in measured.recall.iter_rows(named=True)}
    assert by_category["all"]["question_count"] == 3
    assert by_category["all"]["recall_at_5"] == pytest.approx(2 / 3)
    assert {name: row["recall_at_5"] for name, row in by_category.items() if name != "all"} == {
        "heat": 1.0,
        "time": 1.0,
        "past": 0.0,
    }
    assert {"all lists", "full text only", "vectors only", "plain hybrid"} <= set(measured.ways["way"])
    assert measured.left_out == {"evidence that is not there": 1, "question without evidence": 1}
    assert measured.missed["question"].to_list() == ["When did it leave?"]
    assert measured.missed["lost"].to_list() == [[ferry]]
    assert any("When did it leave?" in text and "The ferry leaves at seven" in text for text in shown)


def test_a_set_that_is_not_of_this_home_says_so(monkeypatch, filled, tmp_path):
    path = tmp_path / "set.json"
    path.write_text(
        json.dumps({"questions": [{"question": "Who?", "evidence": ["nobody"]}]}), encoding="utf-8"
    )
    _, names = opened(monkeypatch, "--home", str(filled), "--questions", str(path))
    assert "None of the turns that this set names is in this home" in names["measured"].problem


def test_an_empty_home_says_no_memory_yet_and_stays_empty(monkeypatch, tmp_path):
    folder = tmp_path / "nothing"
    shown, names = opened(monkeypatch, "--home", str(folder), "--questions", str(tmp_path / "none.json"))
    assert not folder.exists()
    assert "none.json" in names["measured"].problem
    assert any("No memory yet" in text for text in shown)
    assert names["by_type"].is_empty()
    assert names["reachable"].is_empty()


def test_without_an_embedder_it_searches_by_words_and_says_so(monkeypatch, tmp_path):
    (tmp_path / "slowwave.toml").write_text('[embedding]\nprovider = "none"\n', encoding="utf-8")
    with Memory(tmp_path, records_usage=False) as memory:
        memory.remember(SAID[0][0], subject="kiln 2", attribute="heat", value="1040")
    shown, names = opened(monkeypatch, "--home", str(tmp_path))
    found, _ = names["answer"]
    assert found.cells[0].why["text_rank"] == 1
    assert found.cells[0].why["vector_rank"] == 0
    assert any("full-text search only" in text for text in shown)


def test_settings_that_cannot_be_used_are_told_and_not_raised(monkeypatch, tmp_path):
    (tmp_path / "slowwave.toml").write_text("[embedding]\nprovider = 7\n", encoding="utf-8")
    shown, names = opened(monkeypatch, "--home", str(tmp_path))
    assert "embedding.provider" in names["memory"].problem
    assert any("embedding.provider" in text for text in shown)


def test_a_writer_at_work_does_not_stop_it(monkeypatch, filled):
    from slowwave.home.lock import rewriting
    from slowwave.home.paths import open_home

    with rewriting(open_home(filled)):
        _, names = opened(monkeypatch, "--home", str(filled))
    assert names["by_type"]["count"].sum() == len(SAID)
