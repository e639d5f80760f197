"""Lists by the page: every memory exactly once under any filter, whatever is written meanwhile; and the commands."""

import json
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import get_args

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowwave import Memory
from slowwave.errors import InputError, NotFoundError
from slowwave.home.workspace import open_workspace
from slowwave.interfaces.cli import edits
from slowwave.interfaces.cli.edits import text_from_editor
from slowwave.interfaces.cli.program import program
from slowwave.journal.catalogue import encode
from slowwave.schemas.choices import CellStatus
from slowwave.schemas.results import Cell
from tests.examples import at_most
from tests.rows import NOW, events, row, rows
from tests.scripted_model import write_settings

DAY = timedelta(days=1)
TYPES = ("fact", "decision", "preference", "episode")
STATUSES: tuple[CellStatus, ...] = get_args(CellStatus)
COUNT = 60


def made(number: int) -> dict[str, object]:
    """A memory of a home with several projects; many are said at the same time, and some by somebody else."""
    return row(
        "cells",
        f"c{number:03}",
        content=f"Memory {number} of the kiln.",
        cell_type=TYPES[number % len(TYPES)],
        status=STATUSES[number % len(STATUSES)],
        source_type=("conversation", "file")[number % 2],
        entities=["Mara"] if number % 5 == 0 else [],
        artifacts=[],
        evidence=[f"t{number:03}", "t-gone"],
        event_time=NOW - (number // 7) * DAY,
        valid_from=NOW - (number // 7) * DAY,
        user_id="ben" if number % 11 == 0 else "ana",
        project_id=("default", "kiln-12345678", "ferry-12345678")[number % 3],
        topic_id="T" if number % 2 else None,
        superseded_at=NOW - (number % 9) * DAY if STATUSES[number % len(STATUSES)] == "superseded" else None,
        superseded_by="c000" if STATUSES[number % len(STATUSES)] == "superseded" else None,
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("lists") / "home"
    write_settings(home, embedding={"provider": "none"}, owner={"user_id": "ana"})
    owner = {"user_id": "ana", "project_id": "default", "scope": "user-private"}
    turns = [
        row("turns", f"t{number:03}", content=f"I say memory {number} of the kiln.", **owner)
        for number in range(COUNT)
    ]
    entities = [
        {"entity_id": f"e{number}", "canonical_name": f"Thing {number}", "aliases": [], "family": f"thing {number}",
         "mention_count": number % 3, **owner}
        for number in range(9)
    ]  # fmt: skip
    topics = [{"topic_id": name, "name": f"topic {name}", **owner} for name in ("T", "U", "V")]
    told = [{"topic_id": name, "summary": f"About {name}.", "cell_ids": []} for name in ("T", "U")]
    counts = [{"topic_id": name, "cell_count": 3, "unsummarized_count": 0} for name in ("T", "U", "V")]
    with open_workspace(home) as workspace:
        workspace.commit(
            pl.concat(
                [
                    encode("turn.recorded", rows("turns", *turns)),
                    encode("cell.extracted", rows("cells", *map(made, range(COUNT)))),
                    events("entity.resolved", *entities),
                    events("topic.opened", *topics),
                    events("topic.counted", *counts),
                    events("topic.summarized", *told),
                ]
            ),
            now=NOW,
        )
    return home


@pytest.fixture(scope="module")
def memory(home: Path) -> Iterator[Memory]:
    with Memory(home, records_usage=False) as memory:
        yield memory


def pages(memory: Memory, **asked: object) -> tuple[list[Cell], set[int]]:
    """All memories of a list, page by page, and the totals that the pages tell."""
    page = memory.cells(now=NOW, **asked)  # type: ignore[arg-type]
    found, totals = [*page.entries], {page.total}
    while page.next_cursor:
        page = memory.cells(now=NOW, **asked, cursor=page.next_cursor)  # type: ignore[arg-type]
        found += page.entries
        totals.add(page.total)
    return found, totals


def passes(cell: dict[str, object], asked: dict[str, object]) -> bool:
    """Whether a memory belongs on a list: the rule, written a second time."""
    projects = (
        {asked["project"], "default"} if asked["project"] else {"default", "kiln-12345678", "ferry-12345678"}
    )
    return (
        cell["user_id"] == "ana"
        and cell["project_id"] in projects
        and (not asked["cell_types"] or cell["cell_type"] in asked["cell_types"])  # type: ignore[operator]
        and asked["status"] in (None, cell["status"])
        and asked["source_type"] in (None, cell["source_type"])
        and (asked["entity"] is None or "Mara" in cell["entities"])  # type: ignore[operator]
        and (asked["after"] is None or cell["event_time"] >= asked["after"])  # type: ignore[operator]
        and (asked["before"] is None or cell["event_time"] < asked["before"])  # type: ignore[operator]
    )


@given(
    limit=st.integers(1, 25),
    cell_types=st.lists(st.sampled_from(TYPES), max_size=2, unique=True),
    status=st.sampled_from([None, *STATUSES]),
    source_type=st.sampled_from([None, "conversation", "file"]),
    entity=st.sampled_from([None, None, "Mara"]),
    after=st.sampled_from([None, NOW - 6 * DAY]),
    before=st.sampled_from([None, NOW - 2 * DAY]),
    project=st.sampled_from([None, "default", "kiln-12345678"]),
)
@settings(max_examples=at_most(40), suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_the_pages_hold_each_memory_that_passes_the_filters_once_newest_first(memory, limit, **asked):
    found, totals = pages(memory, limit=limit, **asked)
    wanted = [cell for cell in map(made, range(COUNT)) if passes(cell, asked)]
    assert [cell.cell_id for cell in found] == [
        cell["cell_id"]
        for cell in sorted(wanted, key=lambda cell: (NOW - cell["event_time"], cell["cell_id"]))
    ]
    assert totals == {len(wanted)}


@pytest.mark.parametrize(
    "asked", [{"as_of": NOW - 3 * DAY}, {"known_at": NOW}, {"as_of": NOW, "entity": "Mara"}]
)
def test_the_pages_of_a_past_moment_hold_once_what_held_then(memory: Memory, asked: dict[str, object]):
    found, totals = pages(memory, limit=4, **asked)
    whole, _ = pages(memory, limit=200, **asked)
    assert found == whole
    assert totals == {len(whole)}
    assert len({cell.cell_id for cell in found}) == len(found) > 0


def test_a_page_from_disk_is_the_page_from_memory(home: Path, memory: Memory):
    write_settings(home, embedding={"provider": "none"}, owner={"user_id": "ana"}, search={"memory_rows": 0})
    try:
        with Memory(home, records_usage=False) as cold:
            assert pages(cold, limit=7) == pages(memory, limit=7)
            assert pages(cold, limit=5, project="kiln-12345678", status="active") == pages(
                memory, limit=5, project="kiln-12345678", status="active"
            )
            assert cold.entities(limit=2) == memory.entities(limit=2)
            assert cold.topics() == memory.topics()
    finally:
        write_settings(home, embedding={"provider": "none"}, owner={"user_id": "ana"})


def test_people_things_conversations_and_topics_come_by_the_page(memory: Memory):
    first = memory.entities(limit=4)
    second = memory.entities(limit=4, cursor=first.next_cursor)
    assert [row.mention_count for row in (*first.entries, *second.entries)] == [2, 2, 2, 1, 1, 1]
    assert (first.total, second.next_cursor) == (6, "")
    told = memory.episodes(limit=200)
    assert {row.cell_id for row in told.entries} == {
        cell["cell_id"]
        for cell in map(made, range(COUNT))
        if cell["cell_type"] == "episode" and cell["user_id"] == "ana"
    }
    assert [(topic.name, topic.summary) for topic in memory.topics().entries] == [
        ("topic T", "About T."),
        ("topic U", "About U."),
        ("topic V", None),
    ]
    assert memory.topics(project="ferry").total == memory.stats().topics == 3


def test_one_memory_is_shown_with_its_turns_and_whose_word_it_is_there(memory: Memory):
    cell = memory.cell("c001")
    assert (cell.content, cell.topic_name, cell.project_id) == (
        "Memory 1 of the kiln.",
        "topic T",
        "kiln-12345678",
    )
    assert [(quote.turn_id, quote.whose) for quote in cell.evidence] == [("t001", "a person said it")]
    assert cell.missing_turns == ["t-gone"]
    with pytest.raises(NotFoundError, match="there is no memory c011"):
        memory.cell("c011")  # somebody else's
    with pytest.raises(NotFoundError, match="there is no memory c001"):
        memory.cell("c001", project="ferry-12345678")


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "\x00",
        "é",
        "cells",
        "cells.x.c001",
        "cells.1",
        "cells.99999999999999999.c001",
        "cells.1.",
        "x" * 400,
    ],
)
def test_what_is_no_cursor_of_the_list_is_refused_in_a_line(memory: Memory, cursor: str):
    for listed in (memory.cells, memory.entities, memory.episodes, memory.topics):
        with pytest.raises(InputError, match="the cursor is not one of this list"):
            listed(cursor=cursor)


def test_the_cursor_of_one_list_is_none_of_another(memory: Memory):
    with pytest.raises(InputError, match="the cursor is not one of this list"):
        memory.entities(cursor=memory.cells(limit=1).next_cursor)


@pytest.mark.parametrize(
    "asked",
    [{"limit": 0}, {"limit": 201}, {"status": "gone"}, {"cursor": "x" * 501}, {"project": "x" * 100_001}],
)
def test_a_page_that_cannot_be_asked_for_is_refused_in_a_line(memory: Memory, asked: dict[str, object]):
    with pytest.raises(InputError) as refused:
        memory.cells(**asked)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


def test_a_status_of_today_is_not_asked_of_a_past_moment(memory: Memory):
    with pytest.raises(InputError, match="status active is of today"):
        memory.cells(status="active", as_of="2026-09-01")


def test_what_is_written_between_two_pages_shows_no_memory_twice(tmp_path: Path):
    write_settings(tmp_path / "home", embedding={"provider": "none"})
    with Memory(tmp_path / "home", records_usage=False) as memory:
        ids = [
            memory.remember(
                f"The port of staging {number} is {6000 + number}.", now=NOW + number * timedelta(minutes=1)
            ).cell_id
            for number in range(4)
        ]
        page = memory.cells(limit=1)
        seen = [page.entries[0].cell_id]
        while page.next_cursor:
            memory.remember(f"Something new, number {len(seen)}.", now=NOW + timedelta(hours=len(seen)))
            if len(seen) == 2:
                memory.forget(ids[1])
            page = memory.cells(limit=1, cursor=page.next_cursor)
            seen += [cell.cell_id for cell in page.entries]
        assert seen == [ids[3], ids[2], ids[0]]
        assert memory.cells(limit=50).total == len(seen) + len(seen) - 1


# the commands


def run(home: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(program, [*words, "--home", str(home)], env={"COLUMNS": "200"})
    return done.exit_code, done.output


@pytest.fixture(scope="module")
def three_ports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("small") / "home"
    write_settings(home, embedding={"provider": "none"}, search={"resident_minutes": 0})
    with Memory(home, records_usage=False) as memory:
        for number in range(3):
            memory.remember(f"The port of staging {number} is {6000 + number}.", now=NOW + number * DAY)
    return home


@pytest.fixture
def small_home(three_ports: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    return shutil.copytree(three_ports, tmp_path / "home")


def test_the_list_shows_a_page_and_how_to_go_on(small_home: Path):
    code, said = run(small_home, "list", "--limit", "2")
    assert code == 0
    assert "staging 2" in next(line for line in said.splitlines() if "fact" in line)
    code, said = run(small_home, "list", "--cursor", said.split("cursor ")[1].split()[0])
    assert (code, "staging 0" in said, "cursor" in said) == (0, True, False)
    for options, told in (
        (("--type", "radio"), "--type: choose one of 'fact', "),
        (("--limit", "x"), "'x' is not a valid integer"),
        (("--limit", "500"), "--limit: choose at most 200"),
    ):
        code, said = run(small_home, "list", *options)
        assert (code != 0, told in said) == (True, True), said
    code, said = run(small_home, "list", "--json", "--type", "decision")
    assert (code, json.loads(said)) == (0, {"entries": [], "next_cursor": "", "total": 0, "notes": []})
    assert run(small_home, "list", "--type", "decision")[1] == ("No memory passes these filters.\n")


def test_the_list_says_where_nothing_is_known_of_a_name_or_a_project(small_home: Path):
    assert "No memory passes" in run(small_home, "list", "--entity", "Nobody")[1]
    code, told = run(small_home, "list", "--project", "nosuch")
    assert (code, "no project is called 'nosuch': there is default. Give its id" in told) == (66, True), told
    code, told = run(small_home, "remember", "The kiln is hot.", "--project", "kiln")
    assert (code, told.endswith("; --new-project begins a new one\n")) == (66, True), told
    assert run(small_home, "remember", "The kiln is hot.", "--project", "kiln", "--new-project")[0] == 0
    code, told = run(small_home, "list", "--project", "kil")
    assert ("kiln" in told, "default" in told) == (True, True), told


def first_id(home: Path) -> str:
    with Memory(home, records_usage=False) as memory:
        return memory.cells(limit=1).entries[0].cell_id


def test_a_correction_replaces_the_memory_once(small_home: Path):
    old = first_id(small_home)
    code, said = run(small_home, "correct", old, "The port of staging 2 is 7002.")
    assert (
        code,
        said.startswith("Corrected: "),
        "The port of staging 2 is 7002." in run(small_home, "list")[1],
    ) == (
        0,
        True,
        True,
    )
    code, said = run(small_home, "correct", old, "The port of staging 2 is 8002.")
    assert (code, f"memory {old} was superseded by" in said) == (65, True)
    code, said = run(small_home, "list", "--status", "all")
    assert (code, "it was never true" in said) == (0, True)
    assert "never true" not in run(small_home, "list")[1]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("abcdef123456", "x"), "there is no memory abcdef123456"),
        (("ID", "  "), "empty"),
        (("ID",), "there is no terminal to open an editor in"),
        (("ID", "x" * 4001), "at most 4000"),
    ],
)
def test_a_correction_that_cannot_be_made_ends_in_a_line(
    small_home: Path, words: tuple[str, ...], expected: str
):
    code, said = run(
        small_home, "correct", *(first_id(small_home) if word == "ID" else word for word in words)
    )
    assert code != 0
    assert expected in said
    assert len(said.splitlines()) == 1


@pytest.fixture
def at_terminal(monkeypatch: pytest.MonkeyPatch):
    """A person at a terminal, for the command."""
    monkeypatch.setattr(edits, "_has_terminal", lambda: True)


@pytest.mark.usefixtures("at_terminal")
def test_the_editor_opens_the_text_and_what_is_saved_corrects_the_memory(
    small_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shown = tmp_path / "shown"
    monkeypatch.setenv("VISUAL", f'sh -c \'cp "$1" {shown}; sed -i s/6002/7002/ "$1"\' sh')
    assert run(small_home, "correct", first_id(small_home))[0] == 0
    assert shown.read_text() == "The port of staging 2 is 6002.\n"
    assert "7002" in run(small_home, "list")[1]
    assert list((small_home / "editing").iterdir()) == []
    monkeypatch.setenv("VISUAL", "true")
    assert run(small_home, "correct", first_id(small_home)) == (0, "Unchanged.\n")


@pytest.mark.usefixtures("at_terminal")
@pytest.mark.parametrize(
    "editor",
    ["sh -c 'rm \"$1\"' sh", 'sh -c \'printf "\\377" > "$1"\' sh', "sh -c 'exit 3'", "sh -c 'never closed"],
)
def test_an_editor_that_goes_wrong_ends_in_a_line_and_changes_nothing(
    small_home: Path, monkeypatch: pytest.MonkeyPatch, editor: str
):
    monkeypatch.setenv("VISUAL", editor)
    cell_id = first_id(small_home)
    code, said = run(small_home, "correct", cell_id)
    assert (code, len(said.splitlines()), "nothing was changed" in said) == (65, 1, True), said
    assert first_id(small_home) == cell_id
    assert list((small_home / "editing").iterdir()) == []


def test_the_editor_has_a_private_file_in_the_home(
    small_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen = tmp_path / "seen"
    monkeypatch.setenv("VISUAL", f'sh -c \'stat -c "%a %n" "$1" > {seen}\' sh')
    assert text_from_editor(small_home, "The port of staging 2 is 6002.") == "The port of staging 2 is 6002."
    mode, path = seen.read_text().split(maxsplit=1)
    assert mode == "600"
    assert Path(path.strip()).is_relative_to(small_home)
    assert list((small_home / "editing").iterdir()) == []


def test_an_erase_takes_the_text_out_of_what_a_killed_edit_left(small_home: Path):
    left = small_home / "editing" / "1-left" / "memory.md"
    left.parent.mkdir(parents=True)
    left.write_text("The port of staging 2 is 6002.")
    code, said = run(small_home, "erase", "--text", "The port of staging 2 is 6002.", "--yes")
    assert code == 0, said
    assert not left.exists()
