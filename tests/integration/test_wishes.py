"""Standing wishes at the start of a conversation: all that stand and have room, none that was taken back."""

from datetime import timedelta
from pathlib import Path

import pytest

from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.journal.catalogue import encode
from slowwave.recall.assemble import assemble
from slowwave.recall.reader import Reader, open_reader
from slowwave.schemas.context import ContextRequest
from tests.rows import NOW, row, rows
from tests.scripted_model import write_settings

SAID = [
    "Always draw the plans in the dark theme. Never print them in colour.",
    "Never fire the kilns on Fridays.",
    "I take back the Friday rule: the night guard watches the kilns now.",
    "Forget what I said about the dark theme.",
    "Sempre escreve aos fornecedores em português.",
    "Stop adding emojis to letters.",
    *(f"Always check gauge {number} before the shift begins." for number in range(8)),
    "Ich nehme die Sache mit den Emojis zurück.",
    "Always wear gloves on Fridays.",
]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    home: Path = tmp_path_factory.mktemp("wishes") / "home"
    write_settings(home, embedding={"provider": "none"}, owner={"user_id": "ana", "project_id": "kiln"})
    turns = [
        row("turns", f"t{place}", session_id=f"s{place}", content=text, event_time=NOW + timedelta(hours=place))
        for place, text in enumerate(SAID)
    ]  # fmt: skip
    with open_workspace(home) as workspace:
        workspace.commit(encode("turn.recorded", rows("turns", *turns)), now=NOW)
    return open_reader(open_home(home))


def opening(reader: Reader, budget: int | None = None) -> str:
    request = ContextRequest(opening=True, budget_tokens=budget)
    return assemble(reader, request, now=NOW + timedelta(days=3)).text


def test_a_start_tells_every_wish_but_those_that_were_taken_back(reader: Reader):
    text = opening(reader)
    told = [*SAID[4:5], *SAID[6:14], SAID[15], "Never print them in colour."]
    assert [wish for wish in told if wish not in text] == []
    assert [gone for gone in ("dark theme", "Never fire", "emojis", "take back") if gone in text] == []


def test_a_start_without_room_for_all_of_them_says_how_many_there_are(reader: Reader):
    text = opening(reader, 170)
    assert text.count("[preference]") == 11 - int(text.split("(")[-1].split()[0])
    assert "older wishes without room here" in text
