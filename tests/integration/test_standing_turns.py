"""What was said stays in the record; words whose memory a person deleted or corrected are told to nobody unasked."""

from datetime import timedelta
from pathlib import Path

import pytest

from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.journal.catalogue import encode
from slowwave.recall.assemble import assemble
from slowwave.recall.reader import Reader, open_reader
from slowwave.recall.search import ask
from slowwave.recall.standing_turns import standing_turns
from slowwave.recall.timeline import timeline
from slowwave.recall.turns import TURN_COLUMNS
from slowwave.schemas.context import ContextRequest
from slowwave.schemas.requests import TimelineRequest
from slowwave.schemas.search import Filters
from tests.rows import DAY, NOW, events, row, rows
from tests.scripted_model import write_settings

GONE = {
    "deleted": "Always glaze the kiln shelves with gold.",
    "corrected": "Always glaze the kiln shelves on Mondays.",
    "elsewhere": "Always glaze the kiln shelves every Monday.",
    "chain": "Always glaze the kiln shelves on Mondays, as I said.",
    "taken-back": "Always glaze the kiln shelves on Mondays or with gold.",
}
HELD = {
    "new": "Always glaze the kiln shelves on Tuesdays.",
    "unread": "Always glaze the kiln shelves twice.",
    "shared": "Always glaze the kiln shelves with a brush.",
    "repeated": "Always glaze the kiln shelves with a fine brush.",
    "read": "Always glaze the kiln shelves slowly.",
    "faded": "Always glaze the kiln shelves in gloves.",
}


def cell(key: str, *evidence: str, **given: object) -> dict[str, object]:
    plain = {"evidence": [*evidence], "prompt_version": "remembered", "session_id": evidence[0]}
    return row("cells", key, **{"content": f"memory {key}", **plain, **given})


CELLS = [
    cell("c-old", "corrected", "elsewhere"),
    cell("c-new", "new"),
    cell("c-chain", "chain"),
    cell("c-taken", "taken-back"),
    cell("c-shared-old", "shared"),
    cell("c-shared", "shared"),
    cell("c-repeated", "repeated"),
    cell("c-raw", "read", prompt_version="raw"),
    cell("c-faded", "faded", status="archived"),
    cell("c-told", "deleted", cell_type="episode", prompt_version="episode.v1"),
    cell("c-echo", "new", cell_type="episode", prompt_version="episode.v1", content="memory\nmemory c-new"),
]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    home = tmp_path_factory.mktemp("words") / "home"
    write_settings(home, embedding={"provider": "none"}, owner={"user_id": "ana", "project_id": "kiln"})
    fill(home)
    return open_reader(open_home(home))


def fill(home: Path) -> None:
    said = rows(
        "turns", *(row("turns", key, session_id=key, content=text) for key, text in {**GONE, **HELD}.items())
    )
    moment = {"superseded_at": NOW}
    ended = {**moment, "superseded_by": "c-new", "valid_until": DAY, "verdict": "updates"}
    grave = {**row("tombstones", "c-dead", content_hash="x", evidence=["deleted", "shared"])}
    grave.pop("deleted_at")
    with open_workspace(home) as workspace:
        for kind, frame in (
            ("turn.recorded", encode("turn.recorded", said)),
            ("cell.extracted", encode("cell.extracted", rows("cells", *CELLS))),
            ("cell.superseded", events("cell.superseded", {"cell_id": "c-old", **ended},
                                       {"cell_id": "c-shared-old", **ended})),
            ("cell.merged", events("cell.merged", {"cell_id": "c-chain", "superseded_by": "c-old", **moment},
                                   {"cell_id": "c-repeated", "superseded_by": "c-new", **moment})),
            ("cell.retired", events("cell.retired", *({"cell_id": key, **moment} for key in ("c-raw", "c-taken")))),
            ("cell.deleted", events("cell.deleted", grave)),
        ):  # fmt: skip
            assert frame.height, kind
            workspace.commit(frame, now=NOW)


def test_words_stand_unless_all_that_was_remembered_of_them_was_deleted_or_ended(reader: Reader):
    store = reader.current()
    assert store is not None
    turns = store.rows("turns", TURN_COLUMNS).to_dicts()
    assert {turn["turn_id"] for turn in standing_turns(store, reader.settings.owner, turns)} == HELD.keys()


@pytest.mark.parametrize(
    "asked",
    [
        ContextRequest(opening=True),
        ContextRequest(question="do we always glaze the kiln shelves?", small=True),
        ContextRequest(question="always glaze the kiln shelves on Mondays with gold"),
        ContextRequest(question="always glaze the kiln shelves", activity="feature"),
    ],
    ids=["opening", "small", "page", "tiers"],
)
def test_no_context_quotes_words_that_were_taken_back(reader: Reader, asked: ContextRequest):
    text = assemble(reader, asked, now=NOW + timedelta(days=1)).text
    assert [key for key, said in GONE.items() if said in text] == []
    assert "Always glaze the kiln shelves" in text


def test_a_search_for_evidence_shows_them_still(reader: Reader):
    found = ask(
        reader,
        "always glaze the kiln shelves on Mondays with gold",
        limit=20,
        detail_level="evidence",
        now=NOW,
    )
    assert {turn.turn_id for turn in found.turns} >= {"deleted", "corrected"}


def test_a_conversation_that_tells_no_more_than_a_memory_of_it_is_shown_once(reader: Reader):
    found = {cell.cell_id for cell in ask(reader, "memory c-new told", limit=20, now=NOW).cells}
    assert "c-echo" not in found
    assert {"c-new", "c-told"} <= found
    only = ask(reader, "memory c-new told", limit=20, filters=Filters(cell_types=("episode",)), now=NOW)
    assert {"c-echo", "c-told"} == {cell.cell_id for cell in only.cells}
    shown = {event.cell_id for event in timeline(reader, TimelineRequest(session="new")).events}
    assert shown == {"c-new"}
    assert {event.cell_id for event in timeline(reader, TimelineRequest(session="deleted")).events} == {
        "c-told"
    }
