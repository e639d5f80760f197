"""Whatever is asked, with whatever filters and by whomever: an answer or a clear error, never another owner's row."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import product
from typing import get_args

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from slowwave.errors import InputError, NotFoundError
from slowwave.home.paths import Home, open_home
from slowwave.recall.lists.cells import cells
from slowwave.recall.reader import Reader, open_reader
from slowwave.recall.search import ask
from slowwave.schemas.choices import CellType
from slowwave.schemas.requests import CellsRequest
from slowwave.schemas.results import SearchResult
from slowwave.schemas.search import Filters, Scope
from slowwave.settings.groups import ScopeSettings
from tests.examples import at_most
from tests.owners import ProjectFrom, fill, visible
from tests.rows import NOW, row
from tests.scripted_model import write_settings

HOSTILE = "ana' OR '1'='1"
USERS = ("ana", "bob", HOSTILE, "Ana", "an_", "%")
PROJECTS = ("kiln", "ferry", 'kiln" --')
SCOPES: tuple[Scope, ...] = get_args(Scope)
OWNERS = tuple(product(USERS, PROJECTS, SCOPES))
WORDS = ("port", "staging", "kiln", "who", "why", "since", "the", "Mara")
DAY = timedelta(days=1)


def written(number: int, owner: tuple[str, str, str]) -> dict[str, list[dict[str, object]]]:
    """What one owner has: turns, live cells, one that was superseded by another, a topic. Ids begin with its number."""
    owner = dict(zip(("user_id", "project_id", "scope"), owner, strict=True))
    said = {"session_id": f"{number}-s", "event_time": NOW - 3 * DAY, **owner}
    text = "Mara set the port of the staging kiln to"
    same = {"subject": "staging kiln", "attribute": "port", "entities": ["Mara"], "artifacts": [], **said}
    turns = [
        row("turns", f"{number}-t{place}", content=f"{text} {place}{number}.", turn_index=place, **said)
        for place in (1, 2)
    ]
    new = {"evidence": [f"{number}-t2"], "valid_from": NOW - 2 * DAY, "topic_id": f"{number}-T"}
    old = {"evidence": [f"{number}-t1"], "valid_from": NOW - 9 * DAY, "valid_until": NOW - 2 * DAY}
    cells = [
        row("cells", f"{number}-new", content=f"{text} 2{number}.", value=f"2{number}", **same, **new),
        row("cells", f"{number}-old", content=f"{text} 1{number}.", value=f"1{number}", **same, **old,
            status="superseded", superseded_by=f"{number}-new", superseded_at=NOW),
        row("cells", f"{number}-pref", content="Mara prefers port wine.", cell_type="preference", **said,
            entities=["Mara"], artifacts=[], evidence=[f"{number}-t2"]),
    ]  # fmt: skip
    return {
        "turns": turns,
        "cells": cells,
        "topics": [{"topic_id": f"{number}-T", "name": f"port {number}", **owner}],
    }


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """One store with what every owner says in the same words, open for all examples."""
    home = tmp_path_factory.mktemp("scopes") / "home"
    write_settings(home, embedding={"provider": "wordllama"})
    parts = [written(number, owner) for number, owner in enumerate(OWNERS)]
    fill(home, parts, cell_count=1)
    return open_reader(open_home(home))


def asked(
    shared: Reader,
    query: str,
    user: str,
    project: str,
    filters: Filters,
    project_from: ProjectFrom = "setting",
    **more: object,
) -> SearchResult:
    owner = ScopeSettings(user_id=user, project_id=project, project_from=project_from)
    home = Home(shared.settings.model_copy(update={"owner": owner}))
    return ask(replace(shared, home=home), query, filters=filters, now=NOW, **more)  # type: ignore[arg-type]


def ids(found: SearchResult) -> Iterator[str]:
    """Ids of all that an answer shows."""
    for cell in found.cells:
        yield from (cell.cell_id, *cell.turn_ids, *(turn.turn_id for turn in cell.evidence))
        yield from (former.cell_id for former in cell.history)
        yield from ([f"{cell.topic_name.split()[1]}-T"] if cell.topic_name else [])
    yield from (topic.topic_id for topic in found.topics)
    yield from (turn.turn_id for turn in found.turns)


def owners(found: Iterable[str]) -> set[tuple[str, str, str]]:
    return {OWNERS[int(one.split("-")[0])] for one in found}


def _in_order(after: datetime | None, before: datetime | None) -> dict[str, datetime | None]:
    """A range that leaves no time is refused: here the earlier moment comes first."""
    if after is None or before is None or after < before:
        return {}
    return {"after": before, "before": after + DAY}


times = st.one_of(st.none(), st.integers(-12, 2).map(lambda days: NOW + days * DAY))
filters_ = st.builds(
    lambda **given: Filters(**given | _in_order(given["after"], given["before"])),
    cell_types=st.lists(st.sampled_from(get_args(CellType)), max_size=3).map(tuple),
    source_type=st.sampled_from([None, None, "conversation", "file"]),
    entity=st.one_of(
        st.none(), st.sampled_from(["Mara", "mara", "' OR '1'='1", "\\'", "%", ""]), st.text(max_size=9)
    ),
    after=times,
    before=times,
    scope=st.sampled_from([None, *SCOPES]),
    project=st.sampled_from([None, None, *PROJECTS, HOSTILE]),
    as_of=times,
    known_at=times,
)
OPERATORS = (
    "'", '"', "\\", "*", "(", ")", " OR 1=1 --", " AND ", "NOT", "~2", "^3", "content:", "[a TO z]", "\x00",
    "\ud800", "%", ";", "🔥", "e\u0301", "\u202e", "```", "{{", "last week", "in June", "before the launch",
)  # fmt: skip
queries = st.one_of(
    st.lists(st.sampled_from([*WORDS, *OPERATORS]), max_size=12).map(" ".join),
    st.text(max_size=60),
    st.text(st.characters(), max_size=20).map(lambda text: f"port {text}"),
)


@given(
    query=queries,
    user=st.sampled_from(USERS),
    project=st.sampled_from(PROJECTS),
    filters=filters_,
    level=st.sampled_from(["summary", "full", "evidence"]),
    project_from=st.sampled_from(get_args(ProjectFrom)),
)
@settings(max_examples=at_most(80), suppress_health_check=[HealthCheck.too_slow])
@example(
    query="port of staging",
    user=HOSTILE,
    project="kiln",
    filters=Filters(entity=HOSTILE),
    level="evidence",
    project_from="setting",
)
@example(
    query="why port",
    user="ana",
    project="kiln",
    filters=Filters(project="ferry"),
    level="evidence",
    project_from="repository",
)
@example(query="???", user="ana", project="kiln", filters=Filters(), level="full", project_from="setting")
@example(
    query="\\", user="ana", project="kiln", filters=Filters(), level="evidence", project_from="repository"
)
def test_an_answer_or_a_clear_error_and_never_another_owners_row(
    reader, query, user, project, filters, level, project_from
):
    try:
        found = asked(reader, query, user, project, filters, project_from, limit=25, detail_level=level)
    except (InputError, NotFoundError) as error:
        told = str(error)
        assert "\n" not in told
        return
    shown = owners(ids(found))
    may_see = partial(visible, user=user, project=project, asked=filters.project, project_from=project_from)
    assert {owner for owner in shown if not may_see(owner)} == set()
    if filters.scope is not None:
        assert {scope for *_, scope in shown} <= {filters.scope}
    if filters.cell_types:
        assert {cell.cell_type for cell in found.cells} <= set(filters.cell_types)
    if not filters.is_historical:
        assert {cell.status for cell in found.cells} <= {"active"}


@pytest.mark.parametrize(("user", "home"), [*product(USERS[:3], PROJECTS)])
def test_who_asks_from_within_a_project_finds_what_is_theirs_there_and_in_the_homes_own(reader, user, home):
    asks = Filters(project="kiln")
    found = asked(reader, "port of the staging kiln", user, home, asks, "repository", limit=25)
    assert {
        project for who, project, scope in owners(ids(found)) if (who, scope) == (user, "user-private")
    } == {
        home,
        "kiln",
    }
    elsewhere = asked(reader, "port of the staging kiln", user, home, Filters(), "repository", limit=25)
    private = {owner for owner in owners(ids(elsewhere)) if owner[2] == "user-private"}
    assert {who for who, *_ in private} == {user}


@pytest.mark.parametrize(("user", "project"), [*product(USERS, PROJECTS)])
def test_every_owner_finds_what_is_theirs_to_see(reader, user, project):
    """The property above cannot hold by finding nothing."""
    found = asked(
        reader, "port of the staging kiln", user, project, Filters(), limit=25, detail_level="evidence"
    )
    shown = owners(ids(found))
    assert (user, project, "user-private") in shown
    assert {owner for owner in shown if not visible(owner, user, project)} == set()
    assert any(cell.history for cell in found.cells)


@given(
    user=st.sampled_from(USERS),
    home=st.sampled_from(PROJECTS),
    project=st.sampled_from([None, *PROJECTS, HOSTILE, "", "%"]),
    scope=st.sampled_from([None, *SCOPES]),
    project_from=st.sampled_from(get_args(ProjectFrom)),
    limit=st.integers(20, 100),
)
@settings(max_examples=at_most(30), suppress_health_check=[HealthCheck.too_slow])
def test_the_pages_of_all_memories_are_exactly_what_may_be_seen(
    reader, user, home, project, scope, project_from, limit
):
    own = ScopeSettings(user_id=user, project_id=home, project_from=project_from)
    asker = replace(reader, home=Home(reader.settings.model_copy(update={"owner": own})))
    found: list[str] = []
    request = CellsRequest(project=project, scope=scope, limit=limit)
    while True:
        try:
            page = cells(asker, request, now=NOW)
        except (InputError, NotFoundError):
            may_see = partial(visible, user=user, project=home, asked=project, project_from=project_from)
            assert project not in {owner[1] for owner in OWNERS if owner[2] != "system" and may_see(owner)}
            return
        found += [cell.cell_id for cell in page.entries]
        if not page.next_cursor:
            break
        request = request.model_copy(update={"cursor": page.next_cursor})
    may_see = partial(visible, user=user, project=home, asked=project, project_from=project_from)
    mine = [number for number, owner in enumerate(OWNERS) if may_see(owner) and scope in (None, owner[2])]
    wanted = {f"{number}-{name}" for number in mine for name in ("new", "old", "pref")}
    assert len(found) == len(set(found)) == page.total
    assert set(found) == wanted


@pytest.mark.parametrize(
    "query",
    [
        "port " * 20_000,
        "x" * 100_000,
        "".join(chr(0x4E00 + number % 20_000) for number in range(100_000)),
        "' OR 1=1 -- " * 8_000,
        "the of and to a in is it",
        "who what when why how",
        "???",
        "\\" * 1_000,
        "(" * 10_000 + '"',
        "before " * 10_000,
    ],
    ids=lambda query: repr(query[:12]),
)
def test_a_long_or_empty_question_gets_an_answer(reader, query):
    found = asked(reader, query, "ana", "kiln", Filters(), limit=25, detail_level="evidence")
    assert {owner for owner in owners(ids(found)) if not visible(owner, "ana", "kiln")} == set()
