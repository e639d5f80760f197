"""The notebooks run from top to bottom, agree with `Memory`, show stored text as text, and change nothing."""

import hashlib
import importlib.util
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

from slowwave.home.workspace import open_workspace
from slowwave.journal.catalogue import encode
from slowwave.memory import Memory
from slowwave.store import SCHEMA_VERSION
from tests.conftest import ROOT
from tests.rows import MODEL, OWNER, events, of_row, row, rows
from tests.scripted_model import store_of, write_settings

QUALITY, FIRST = (ROOT / "notebooks" / f"{name}.py" for name in ("memory_quality", "first_frame"))
EVIL = "<img src=x onerror=y> https://evil.example/seen.png data:image/png;base64,AA"
NIGHT = datetime.now(UTC).replace(microsecond=0) - timedelta(days=12)
DAY = timedelta(days=1)


def cell(key: str, **given: Any) -> dict[str, object]:
    said = NIGHT - 90 * DAY
    plain = {"content": f"Memory {key} of the kiln.", "event_time": said, "valid_from": said}
    return row("cells", key, **{**plain, **given})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home after one night, in which each question of the page has a known answer. Here it is only read."""
    folder = tmp_path_factory.mktemp("notebooks") / "home"
    write_settings(folder, embedding={"provider": "none"}, owner={"user_id": "ana", "project_id": "kiln"})
    gone = {"status": "superseded", "superseded_by": "new", "superseded_at": NIGHT}
    cells = [
        cell("new"),
        cell("replaced", valid_until=NIGHT - 60 * DAY, **gone),
        cell("merged", **gone),
        cell("asked", is_judged=True),
        cell("left", is_judged=True, content=f"Left {EVIL}"),
        cell("right", is_judged=True),
        cell("over", is_judged=True, valid_until=NIGHT),
        cell("told", is_judged=True, valid_until=NIGHT, cell_type="episode"),
        cell("foreign", user_id="ben"),
    ]
    pair = {"contradiction_id": "p", "cell_a": "left", "cell_b": "right", "note": EVIL, **OWNER}
    verdict = {"judgement_id": "j", "cell_id": "left", "target_id": "right", "verdict": "updates", **OWNER}
    night = {
        "started_at": NIGHT - DAY / 24,
        "finished_at": NIGHT + DAY / 24,
        "call_count": 7,
        "token_count": 900,
    }
    with open_workspace(folder) as workspace:
        for parts, now in (
            ([encode("cell.extracted", rows("cells", *cells))], NIGHT),
            (
                [
                    events("contradiction.opened", pair),
                    events("pair.judged", {**verdict, "effect": "contradiction", **MODEL}),
                    of_row("cell.archived", "cell_usage", "over", archived_count=1),
                    events("night.completed", row("nights", "n", **night, cost=0.25)),
                ],
                NIGHT,
            ),
            ([of_row("cell.revived", "cell_usage", "over", revived_count=1)], NIGHT + DAY),
            ([of_row("usage.recorded", "usage", "u", cell_id="asked")], NIGHT + DAY),
        ):
            workspace.commit(pl.concat(parts), now=now)
    return folder


def loaded(monkeypatch: pytest.MonkeyPatch, path: Path, *arguments: str) -> ModuleType:
    """A notebook, as `python PATH ARGUMENTS` loads it."""
    monkeypatch.setattr(sys, "argv", [str(path), *arguments])
    name = f"{path.stem}_notebook"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)  # marimo finds its functions by the module's name
    spec.loader.exec_module(module)
    return module


def run_notebook(
    monkeypatch: pytest.MonkeyPatch, path: Path, *arguments: str
) -> tuple[list[str], dict[str, Any]]:
    """What a browser is given of each cell, and the names that the cells define."""
    shown, names = loaded(monkeypatch, path, *arguments).app.run()
    return [getattr(one, "text", str(one)) for one in shown if one is not None], dict(names)


def fingerprint(folder: Path) -> dict[str, str]:
    """Every file below a folder with the hash of its bytes."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def visit(home: Path) -> tuple[list[str], dict[str, Any], bool]:
    """One look at the home: what is shown, the names of its cells, and whether every byte stayed."""
    before = fingerprint(home)
    with pytest.MonkeyPatch.context() as patched:
        shown, names = run_notebook(patched, QUALITY, "--home", str(home))
    return shown, names, fingerprint(home) == before


def test_looking_changes_no_byte_of_the_home(visit):
    assert visit[2]


def test_it_says_what_is_stale_and_why_a_memory_is_in_doubt(visit):
    _, names, _ = visit
    counts = dict(names["states"].group_by("state").len().iter_rows())
    assert counts == {"current": 2, "in doubt": 4, "replaced": 1, "merged": 1}
    assert dict(names["doubtful"].select("cell_id", "doubt").iter_rows()) == {
        "left": "open contradiction",
        "right": "open contradiction",
        "over": "its time is over",
        "new": "not judged yet",
    }
    assert any("12.5%" in text and "30 days" in text for text in visit[0])


def test_it_names_what_was_forgotten_too_early_and_the_age_of_open_contradictions(visit):
    shown, names, _ = visit
    assert names["revived"]["cell_id"].to_list() == ["over"]
    assert any("false forgetting" in text and "100.0%" in text for text in shown)
    assert names["open_pairs"].select("newer", "age_days").rows() == [("Memory right of the kiln.", 12)]


def test_it_says_what_a_night_cost_and_changed(visit):
    _, names, _ = visit
    (night,) = names["per_night"].rows(named=True)
    assert (night["model_calls"], night["tokens"], night["dollars"], night["minutes"]) == (
        7,
        900,
        0.25,
        120.0,
    )
    assert dict(names["changed"].select("what", "count").iter_rows()) == {
        "memories learned": 8,
        "superseded": 2,
        "archived": 1,
        "contradictions found": 1,
    }, "what came back a day later is no change of the night"
    assert names["fell"].rows() == [("updates", "contradiction", 1)]


def test_it_agrees_with_memory_on_what_is_never_used_and_what_fades(visit, home):
    _, names, _ = visit
    with Memory(home, records_usage=False) as memory:
        assert names["unused"].height == memory.stats().never_used == 5
        soon = memory.weak(days=180, now=names["now"])
    assert names["fading"]["fades_at"].to_list() == [one.use.fades_at for one in soon]
    assert names["curve"]["faded"].max() == len(soon) > 0
    assert names["curve"]["day"].is_unique().all()


def test_stored_text_is_never_markup_and_never_fetches_anything(visit, monkeypatch):
    shown, names, _ = visit
    assert EVIL in names["doubtful"].filter(pl.col("cell_id") == "left")["content"].item()
    assert [text for text in shown if "<img src=x" in text or "https://evil" in text] == []
    table = loaded(monkeypatch, QUALITY).table
    (told,) = table(pl.DataFrame({"memory": [EVIL]}), nothing="").data["memory"]
    assert told == "<img src=x onerror=y> https ://evil.example/seen.png data :image/png;base64,AA"
    with pytest.raises(AssertionError):  # marimo makes markup of some texts in a list
        table(pl.DataFrame({"memory": [[EVIL]]}), nothing="")


def test_the_first_frame_counts_active_memories_by_month(monkeypatch, home):
    _, names = run_notebook(monkeypatch, FIRST, "--home", str(home))
    assert names["monthly"]["len"].sum() == 6


@pytest.mark.parametrize("notebook", [QUALITY, FIRST])
@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("no home", "No memory yet"),
        ("an empty home", "No memory yet"),
        ("a store of an older version", "older version of Slowwave"),
        ("impossible settings", "embedding.provider"),
    ],
)
def test_where_there_is_nothing_to_read_one_sentence_says_why(
    monkeypatch, tmp_path, notebook, state, sentence
):
    folder = tmp_path / "home"
    if state != "no home":
        write_settings(folder, embedding={"provider": 7 if state == "impossible settings" else "none"})
    if state == "a store of an older version":
        with Memory(folder) as memory:
            memory.remember("Kiln 2 runs at 1040 degrees.")
        store = store_of(folder)
        meta = store.root / store.name / "meta.json"
        meta.write_text(
            meta.read_text().replace(f'"schema_version": {SCHEMA_VERSION}', '"schema_version": 1')
        )
    before = fingerprint(tmp_path)
    shown, _ = run_notebook(monkeypatch, notebook, "--home", str(folder))
    assert [text for text in shown if sentence in text]
    assert fingerprint(tmp_path) == before
