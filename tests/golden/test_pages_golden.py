"""Every result as a terminal and an agent are shown it, held against `tests/golden/pages`.

A page that changes shows its change here, to be read. `RENEW_GOLDEN=1 pytest tests/golden/test_pages_golden.py` writes
the files anew.
"""

import os
import re
from pathlib import Path

import pytest

from slowwave.interfaces.rendering.agents import page
from slowwave.interfaces.rendering.answers import blocks_of
from slowwave.interfaces.rendering.text import terminal
from slowwave.interfaces.rendering.view import View
from tests.results import NOW, RESULTS

FOLDER = Path(__file__).parent / "pages"
VIEW = View(NOW, width=100, explain=True)


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_reads_as_it_was_last_agreed(name: str) -> None:
    blocks = blocks_of(RESULTS[name], VIEW)
    shown, notes = terminal(blocks, VIEW)
    text = "\n".join([shown, "# stderr", *notes, "", "# for an agent", page(blocks, VIEW), ""])
    text = re.sub(r" +$", "", text, flags=re.MULTILINE)
    path = FOLDER / f"{name}.txt"
    if os.environ.get("RENEW_GOLDEN"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, "read the change, then renew with RENEW_GOLDEN=1"


@pytest.mark.parametrize("name", RESULTS)
def test_no_page_shows_a_whole_id_but_where_nothing_shorter_is_taken(name: str) -> None:
    blocks = blocks_of(RESULTS[name], VIEW)
    assert not re.search(r"\b[0-9a-f]{24}\b", page(blocks, VIEW) + terminal(blocks, VIEW)[0])


def test_no_golden_page_outlives_its_result() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(RESULTS)
