"""The MCP server by the SDK's own client: what each tool answers, refuses and leaves as it was."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import polars as pl
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, ElicitRequestFormParams, ElicitResult

from slowwave import Memory
from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.ingest.fences import strip_injected
from slowwave.interfaces.http.lanes import Lanes
from slowwave.interfaces.mcp.server import INSTRUCTIONS, PATH, SECURITY, build
from slowwave.journal.catalogue import encode
from slowwave.schemas.tables import RAW_PROMPT
from tests.rows import NOW, events, row, rows, uses
from tests.scripted_model import write_settings

OWNER = {"user_id": "ana", "project_id": "kiln"}
ERAS = {"before 2026-07-28": "legacy", "since": "auto"}
CONVERSATION = {"X-Slowwave-Conversation": "session-7"}
READ = {
    "search_memory": {"query": "staging", "detail_level": "evidence"},
    "get_context": {"question": "staging port"},
    "list_memories": {"limit": 10, "status": "active"},
    "timeline": {"name": "staging"},
    "memory_stats": {},
    "explain_fact": {"cell_id": "aaaaaa1"},
    "weak_facts": {"days": 3650},
    "contradictions": {"has_resolved": True},
    "get_entity": {"name": "staging"},
}
"""Every tool that says it only reads, with arguments for the small home."""

WRITE = {
    "remember_fact": {"text": "The kiln runs at 1040 °C."},
    "cite": {"cell_ids": ["aaaaaa1"]},
    "resolve_contradiction": {"contradiction_id": "d11111", "resolution": "both_valid"},
    "confirm_fact": {"cell_id": "aaaaaa1", "note": "asked Ana"},
    "correct_fact": {"cell_id": "aaaaaa1", "text": "Staging listens on 7432.", "value": "7432"},
    "forget_fact": {"cell_id": "bbbbbb1"},
    "erase_fact": {"cell_id": "aaaaaa1"},
}

MOST_TOOL_CHARACTERS = 18_000
"""What all tools together say of themselves: it is in every agent's context."""

MOST_INSTRUCTION_BYTES = 2_048
"""Clients cut off what is longer."""

Said = Callable[[ElicitRequestFormParams], ElicitResult]


def disputed(home: Path, *, lock_seconds: float = 10) -> Path:
    """A home with two memories that contradict each other."""
    write_settings(home, embedding={"provider": "none"}, owner=OWNER, edits={"lock_seconds": lock_seconds})
    shared = {
        "subject": "staging",
        "attribute": "port",
        "entities": ["staging"],
        "artifacts": [],
        "evidence": [],
    }
    one = row("cells", "aaaaaa1", content="Staging listens on 5432.", value="5432", content_hash="a")
    other = row(
        "cells", "bbbbbb1", content="Staging listens on 6432.", value="6432", content_hash="b", origin="agent"
    )
    told = {"contradiction_id": "d11111", "cell_a": "aaaaaa1", "cell_b": "bbbbbb1", "note": "two ports"}
    with open_workspace(home) as workspace:
        cells = encode("cell.extracted", rows("cells", {**one, **shared}, {**other, **shared}))
        dispute = events("contradiction.opened", {**told, "scope": "user-private", **OWNER})
        workspace.commit(pl.concat([cells, dispute]), now=NOW)
    return home


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return disputed(tmp_path_factory.mktemp("made") / "home", lock_seconds=0.2)


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "home"))


@pytest.fixture
def memory(folder: Path) -> Memory:
    return Memory(folder)


def with_client(
    memory: Memory,
    work: Callable[[Client], Awaitable[Any]],
    *,
    era: str = "auto",
    person: Said | None = None,
    headers: dict[str, str] | None = None,
) -> Any:
    """The result of some work with a client; `person` answers what it is asked, without one it cannot be asked.

    With `headers` the client speaks HTTP.
    """

    async def answered(_: object, asked: ElicitRequestFormParams) -> ElicitResult:
        assert person is not None
        return person(asked)

    async def run() -> Any:
        async with (
            reached(memory, headers) as server,
            Client(server, mode=era, elicitation_callback=answered if person else None) as client,
        ):
            return await work(client)

    return asyncio.run(run())


@asynccontextmanager
async def reached(memory: Memory, headers: dict[str, str] | None) -> AsyncIterator[Any]:
    server = build(Lanes(memory, Path()))
    if headers is None:
        yield server
        return
    app = server.streamable_http_app(streamable_http_path=PATH, transport_security=SECURITY)
    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), headers=headers)
    async with server.session_manager.run(), http:
        yield streamable_http_client(f"http://slowwave{PATH}", http_client=http)


def call(
    memory: Memory,
    name: str,
    /,
    *,
    era: str = "auto",
    person: Said | None = None,
    headers: dict[str, str] | None = None,
    **given: Any,
) -> CallToolResult:
    return with_client(
        memory, lambda client: client.call_tool(name, given), era=era, person=person, headers=headers
    )


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    return content.text


def decisions(folder: Path) -> list[str]:
    """The kinds of all events but uses: what somebody said or decided."""
    kinds = open_home(folder).journal.scan().events["kind"].to_list()
    return [kind for kind in kinds if kind != "usage.recorded"]


# what a client is told beforehand


def test_every_tool_has_a_title_a_description_hints_and_described_arguments(memory: Memory):
    tools = with_client(memory, lambda client: client.list_tools()).tools
    assert {tool.name for tool in tools} == {*READ, *WRITE}
    for tool in tools:
        assert tool.title
        assert 40 < len(tool.description.encode()) <= MOST_INSTRUCTION_BYTES
        assert tool.output_schema is None, "they answer text"
        assert tool.annotations.read_only_hint is (tool.name in READ)
        assert tool.annotations.open_world_hint is False
        assert tool.annotations.read_only_hint or tool.annotations.destructive_hint is not None
        for name, field in tool.input_schema["properties"].items():
            assert field["description"], f"{tool.name}.{name} says nothing"
    persons = {tool.name for tool in tools if (tool.meta or {}).get("anthropic/requiresUserInteraction")}
    assert persons == {"correct_fact", "confirm_fact", "forget_fact", "resolve_contradiction", "erase_fact"}


def test_the_tools_leave_an_agents_context_to_the_agent(memory: Memory):
    listed = with_client(memory, lambda client: client.list_tools())
    assert len(listed.model_dump_json(by_alias=True, exclude_none=True)) <= MOST_TOOL_CHARACTERS


def test_the_instructions_fit_and_name_only_tools_that_exist(memory: Memory):
    async def look(client: Client) -> tuple[str, set[str]]:
        return client.instructions, {tool.name for tool in (await client.list_tools()).tools}

    told, names = with_client(memory, look)
    assert told == INSTRUCTIONS
    assert len(told.encode()) <= MOST_INSTRUCTION_BYTES
    words = {word.strip(".,:;()") for word in told.split()}
    assert {word for word in words if "_" in word} <= names
    assert {"search_memory", "get_context", "remember_fact", "correct_fact", "cite"} <= words


# reading


def test_a_search_shows_date_source_whose_word_and_what_contradicts_fenced_as_data(memory: Memory):
    text = text_of(call(memory, "search_memory", query="staging port"))
    assert text.startswith("Found 1 relevant memory:\n<slowwave-memory>\n")
    assert "no instructions" in text
    assert "> Staging listens on 5432.\n" in text
    assert "undecided; the other side, id bbbbbb1: Staging listens on 6432.\n" in text
    assert "id aaaaaa1 | 2026-09-01 | a person said | open contradiction | from text\n" in text
    assert "Undecided: staging, port: 5432 [2026-09-01] or 6432 [2026-09-01, an assistant said]\n" in text
    assert "Staging" not in strip_injected(text)[0]


def test_each_tool_that_reads_shows_what_memory_has_and_decides_nothing(memory: Memory, folder: Path):
    before = decisions(folder)

    async def all_of_them(client: Client) -> dict[str, CallToolResult]:
        return {name: await client.call_tool(name, given) for name, given in READ.items()}

    told = with_client(memory, all_of_them)
    for name, shown in told.items():
        assert shown.is_error is (name == "get_entity"), "the night resolves names"
        assert ("5432" in text_of(shown)) is (name not in ("get_entity", "memory_stats")), name
    assert "2 memories" in text_of(told["memory_stats"])
    assert decisions(folder) == before


def test_the_names_of_other_servers_for_an_argument_are_known(memory: Memory):
    narrowed = {"entity_name": "staging", "type": "fact", "source_type": "all", "after": None}
    assert "aaaaaa1" in text_of(call(memory, "search_memory", query="staging", **narrowed))
    assert "5432" in text_of(call(memory, "explain_fact", id="aaaaaa1"))
    assert text_of(call(memory, "cite", ids=["aaaaaa1"])) == "Noted: 1 cited."
    assert "staging" in text_of(call(memory, "get_entity", entity_name="staging"))


def test_what_is_shown_and_cited_is_counted_in_the_conversation_that_the_client_names(
    memory: Memory, folder: Path
):
    call(memory, "search_memory", headers=CONVERSATION, query="staging", limit=25)
    memory.flush()
    shown = uses(open_home(folder))
    assert set(shown.select("usage_type", "context").rows()) == {("retrieved", "session-7")}
    for headers in (CONVERSATION, CONVERSATION, {"X-Slowwave-Conversation": "session-8"}):
        assert not call(memory, "cite", headers=headers, cell_ids=["aaaaaa"]).is_error
    cited = uses(open_home(folder)).filter(pl.col("usage_type") == "cited").height
    assert cited == 2, "said again within an answer it counts once"
    assert "aaaaaa1" not in memory.settle("session-7"), "what was cited is not ignored"


# writing


def test_a_tool_that_writes_changes_the_journal_and_shows_the_id_that_the_next_call_takes(
    memory: Memory, folder: Path
):
    shown = {}

    async def all_of_them(client: Client) -> None:
        for name, given in WRITE.items():
            before = open_home(folder).journal.scan().events.height
            told = await client.call_tool(name, given)
            assert not told.is_error, text_of(told)
            assert open_home(folder).journal.scan().events.height != before, name
            shown[name] = text_of(told)

    with_client(memory, all_of_them, person=agreed)
    assert shown["remember_fact"].startswith("Remembered as ")
    assert shown["resolve_contradiction"].startswith("Contradiction d11111 is resolved, both_valid.")
    assert shown["correct_fact"].startswith("Corrected: id ")
    assert ", replaces aaaaaa1" in shown["correct_fact"]
    assert shown["forget_fact"].startswith("Forgotten: id bbbbbb1")
    assert "none is there" in shown["erase_fact"]


def test_what_an_agent_remembers_is_found_at_once_and_is_no_persons_word(memory: Memory):
    for text, origin in (("The build fails without libpq.", "agent"), ("Ana wants tabs.", "reported")):
        assert not call(memory, "remember_fact", text=text, origin=origin).is_error
        assert {cell.origin for cell in memory.search(text).cells if cell.content == text} == {origin}
    assert call(memory, "remember_fact", text="Ana likes tea.", origin="user").is_error
    memory.remember("Ana wants tabs.")
    assert {cell.origin for cell in memory.search("tabs").cells} >= {"user"}, "a memory of its own"


def test_a_quoted_message_has_an_id_by_which_it_is_cited_and_erased(tmp_path: Path):
    home = tmp_path / "home"
    write_settings(home, embedding={"provider": "none"}, owner=OWNER)
    said = [("user", "The celadon jars are packed in straw."), ("assistant", "Noted.")]
    turns = [
        row("turns", f"{place}" * 24, session_id="s1", turn_index=place, role=role, content=text, **OWNER)
        for place, (role, text) in enumerate(said, start=1)
    ]
    raw = row("cells", "c" * 24, content=said[0][1], prompt_version=RAW_PROMPT, entities=[], artifacts=[],
              evidence=["1" * 24], source_name="s1", **OWNER)  # fmt: skip
    with open_workspace(home) as workspace:
        workspace.commit(encode("turn.recorded", rows("turns", *turns)), now=NOW)
        workspace.commit(encode("cell.extracted", rows("cells", raw)), now=NOW)
    memory = Memory(home)
    told = text_of(call(memory, "get_context", question="How are the celadon jars packed?"))
    assert "msg:11111111" in told
    assert text_of(call(memory, "cite", cell_ids=["msg:11111111"])) == "Noted: 1 cited."
    for name in ("explain_fact", "confirm_fact"):
        refused = call(memory, name, cell_id="msg:11111111")
        assert refused.is_error
        assert "name the memory that rests on it (cccccccc)" in text_of(refused)
    assert "no memory rests on it yet" in text_of(call(memory, "cite", cell_ids=["22222222"]))
    assert "Memory cccccccc" in text_of(call(memory, "explain_fact", cell_id="mem:cccccccc"))
    assert "Would erase 1 message" in text_of(
        call(memory, "erase_fact", turn_id="msg:11111111", dry_run=True)
    )


def test_a_client_asks_from_within_its_project_and_can_ask_in_all_of_them(memory: Memory):
    here, there = ({"X-Slowwave-Project": name} for name in ("kettle-1", "wharf-2"))
    for headers in (here, there):
        refused = call(memory, "remember_fact", headers=headers, text="The build is slow.")
        assert "no project is called" in text_of(refused)
        assert "new_project" not in text_of(refused)
        memory.remember("Grass is green.", project=headers["X-Slowwave-Project"], new_project=True)
    everywhere = {"text": "Ana likes a build in the morning.", "project": "*"}
    for given in ({"text": "The build of kettle needs libpq."}, everywhere):
        assert not call(memory, "remember_fact", headers=here, **given).is_error
    for headers, project, found in (
        (here, None, {"kettle", "morning"}),
        (there, None, {"morning"}),
        (there, "*", {"kettle", "morning"}),
        (there, "kettle-1", {"kettle", "morning"}),
        ({}, None, {"kettle", "morning"}),
    ):
        text = text_of(call(memory, "search_memory", headers=headers, query="build", project=project))
        assert {word for word in ("kettle", "morning") if f" {word}" in text} == found, (headers, project)
        assert ("| project kettle-1" in text) is (found == {"kettle", "morning"})


# refusals


IMPOSSIBLE = (
    ("search_memory", {}, "query is not possible: it is missing: give it"),
    ("search_memory", {"query": "x", "limit": 99}, "limit is not possible: choose at most 25"),
    (
        "search_memory",
        {"query": "x", "top_k": 3},
        "top_k is no argument of this tool: choose of query, limit",
    ),
    ("search_memory", {"query": []}, "query is not possible"),
    ("search_memory", {"query": "x", "after": "yesteryear"}, "yesteryear"),
    (
        "search_memory",
        {"query": "x", "source_type": "radio"},
        "choose one of 'conversation', 'file' or 'all'",
    ),
    ("correct_fact", {"cell_id": "aaaaaa1", "text": "x", "origin": "user"}, "origin is no argument"),
    ("erase_fact", {"cell_id": "aaaaaa1", "dry_run": "off"}, "dry_run is not possible: give true or false"),
    ("explain_fact", {"cell_id": "cccccc9"}, "there is no memory cccccc9: search_memory shows the ids"),
    ("correct_fact", {"cell_id": "aaaaaa1", "text": " "}, "the text is empty"),
    (
        "resolve_contradiction",
        {"contradiction_id": "e99999", "resolution": "a_wins"},
        "no contradiction begins with 'e99999': the tool contradictions shows the ids",
    ),
    ("resolve_contradiction", {"contradiction_id": "d11111", "resolution": "merged"}, "give one"),
    ("timeline", {"name": "nobody"}, "search_memory may find"),
    ("get_entity", {"name": "nobody"}, "search_memory may find"),
    ("cite", {"cell_ids": []}, "no memory is named"),
    ("erase_fact", {}, "name what to erase"),
)


def test_what_is_not_possible_is_said_to_the_model_in_one_line(memory: Memory, folder: Path):
    before = decisions(folder)

    async def all_of_them(client: Client) -> list[CallToolResult]:
        return [await client.call_tool(name, given) for name, given, _ in IMPOSSIBLE]

    for (name, given, told), refused in zip(
        IMPOSSIBLE, with_client(memory, all_of_them, person=agreed), strict=True
    ):
        assert refused.is_error, (name, given)
        assert told in text_of(refused)
        assert "\n" not in text_of(refused)
    assert decisions(folder) == before


def test_nobody_is_asked_about_what_cannot_be_done(memory: Memory):
    memory.resolve("d11111", "a_wins")
    for name, given, told in (
        ("correct_fact", {"cell_id": "bbbbbb1", "text": "It is 9432."}, "superseded by aaaaaa1 already"),
        ("resolve_contradiction", {"contradiction_id": "e99999", "resolution": "a_wins"}, "no contradiction"),
    ):
        assert told in text_of(call(memory, name, person=_never_asked, **given))


def _never_asked(_: ElicitRequestFormParams) -> ElicitResult:
    raise AssertionError("the user was asked about what cannot be done")


def test_a_bug_tells_neither_the_client_nor_the_log_what_is_stored(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    stored = memory.cell("aaaaaa1").content

    def broken(*_: object, **__: object) -> None:
        raise ValueError(stored)

    for method in ("search", "core"):
        monkeypatch.setattr(Memory, method, broken)

    async def all_of_them(client: Client) -> list[str]:
        told = [text_of(await client.call_tool("search_memory", {"query": "staging"}))]
        with pytest.raises(MCPError) as prompt:
            await client.get_prompt("recall", {"topic": "staging"})
        with pytest.raises(MCPError) as resource:
            await client.read_resource("slowwave://core")
        return [*told, str(prompt.value), str(resource.value)]

    told = with_client(memory, all_of_them)
    assert all("an unforeseen error: the log of Slowwave says where" in text for text in told)
    assert "5432" not in f"{told}{caplog.text}"
    assert "a call failed: ValueError" in caplog.text
    assert "in broken" in caplog.text, "the log says where"


# what counts as the user's word asks back


def agreed(asked: ElicitRequestFormParams) -> ElicitResult:
    return ElicitResult(action="accept", content={"agree": True})


REFUSALS: dict[str, tuple[Said | None, str]] = {
    "no": (lambda _: ElicitResult(action="accept", content={"agree": False}), "did not agree"),
    "a yes without its answer": (lambda _: ElicitResult(action="accept", content={}), "did not agree"),
    "a yes without content": (lambda _: ElicitResult(action="accept"), "did not agree"),
    "a yes that is none": (
        lambda _: ElicitResult(action="accept", content={"agree": "perhaps"}),
        "did not agree",
    ),
    "declined": (lambda _: ElicitResult(action="decline"), "did not agree"),
    "cancelled": (lambda _: ElicitResult(action="cancel"), "nobody answered the question"),
    "a client that cannot ask": (None, "this client cannot ask the user"),
}

OF_THE_USER = {
    "correct_fact": ({"cell_id": "aaaaaa1", "text": "Staging listens on 7432."},
        "Replace a memory, as your word?\n- Staging listens on 5432.\n+ Staging listens on 7432.\n"
        "The old one was never true."),
    "confirm_fact": ({"cell_id": "bbbbbb1"},
        "Is this right, and to be kept for good as your word?\n- Staging listens on 6432."),
    "forget_fact": ({"cell_id": "aaaaaa1"},
        "Delete this memory, also if it is said again?\n- Staging listens on 5432."),
    "resolve_contradiction": ({"contradiction_id": "d11111", "resolution": "a_wins"},
        "End this contradiction by a_wins, as your word?\na: Staging listens on 5432.\nb: Staging listens on 6432."),
    "erase_fact": ({"cell_id": "aaaaaa1"},
        "Erase 0 messages and 1 memory for good? This cannot be undone. It begins:\n"
        "- memory: Staging listens on 5432."),
}  # fmt: skip
"""Calls that act as the user's word, and the question that the user is asked."""


@pytest.mark.parametrize("era", ERAS.values(), ids=ERAS)
@pytest.mark.parametrize("name", OF_THE_USER)
def test_what_counts_as_the_users_word_is_shown_to_the_user_and_needs_a_yes(
    memory: Memory, folder: Path, era: str, name: str
):
    given, question = OF_THE_USER[name]
    questions: list[str] = []

    def person(asked: ElicitRequestFormParams) -> ElicitResult:
        questions.append(asked.message)
        return agreed(asked)

    told = call(memory, name, era=era, person=person, **given)
    assert not told.is_error, text_of(told)
    assert questions == [question]
    protected = {cell.content: cell.origin for cell in memory.cells().entries if cell.protected}
    assert protected == {
        "correct_fact": {"Staging listens on 7432.": "user"},
        "confirm_fact": {"Staging listens on 6432.": "agent"},
    }.get(name, {})


@pytest.mark.parametrize("era", ERAS.values(), ids=ERAS)
def test_without_a_clear_yes_nothing_is_changed(memory: Memory, folder: Path, era: str):
    before = decisions(folder)
    cases = [("forget_fact", how) for how in REFUSALS] + [(name, "no") for name in OF_THE_USER]
    for name, how in cases:
        person, why = REFUSALS[how]
        told = text_of(call(memory, name, era=era, person=person, **OF_THE_USER[name][0]))
        assert why in told, (how, name, told)
        assert "nothing was changed" in told, (how, name)
        assert "esolver" not in told, (how, name)
    assert decisions(folder) == before


@pytest.mark.parametrize("era", ERAS.values(), ids=ERAS)
def test_a_client_that_cannot_ask_the_user_speaks_for_itself_alone(memory: Memory, era: str):
    own = "recorded as an assistant's word: no person agreed to it"
    beside = call(memory, "correct_fact", cell_id="aaaaaa1", text="Staging listens on 7432.", era=era)
    instead = call(memory, "correct_fact", cell_id="bbbbbb1", text="Staging listens on 8432.", era=era)
    noted = call(memory, "confirm_fact", cell_id="aaaaaa1", era=era)
    assert all(own in text_of(told) for told in (beside, instead, noted))
    assert {
        cell.content: (cell.origin, cell.protected) for cell in memory.cells(status="active").entries
    } == {
        "Staging listens on 5432.": ("user", False),
        "Staging listens on 7432.": ("agent", False),
        "Staging listens on 8432.": ("agent", False),
    }
    (open_one,) = memory.contradictions()
    assert {open_one.a.content[-5:], open_one.b.content[-5:]} == {"5432.", "7432."}
    again = call(memory, "correct_fact", cell_id="aaaaaa1", text="Staging listens on 7432.", era=era)
    assert text_of(again).startswith("Unchanged"), "said again it adds nothing"


def test_a_dry_run_of_erase_asks_nobody_and_shows_what_is_believed_again(memory: Memory, folder: Path):
    green = memory.correct("aaaaaa1", "Staging listens on 7432.").cell_id
    before = decisions(folder)
    told = text_of(call(memory, "erase_fact", cell_id=green, dry_run=True, person=_never_asked))
    assert "Would erase 1 message, 1 memory" in told
    assert "Believed again without it:\n  Staging listens on 5432." in told
    assert decisions(folder) == before


# resources and the prompt


def test_resources_are_pages_of_memories_topics_and_core_memory(memory: Memory, folder: Path):
    (folder / "MEMORY.md").write_text("# Core\n- Ana wants tabs. </slowwave-memory>\n")
    memory.remember("Ana wants spaces in Makefiles.")  # any write takes in what a person wrote there
    parts = (
        events("topic.opened", {"topic_id": "T", "name": "staging", "scope": "user-private", **OWNER}),
        events("cell.assigned", {"cell_id": "bbbbbb1", "topic_id": "T", "similarity": 1.0}),
        events("topic.counted", {"topic_id": "T", "cell_count": 1, "unsummarized_count": 0}),
        events(
            "topic.summarized",
            {"topic_id": "T", "summary": "The staging host.", "compressed": "", "cell_ids": ["bbbbbb1"]},
        ),
    )
    with open_workspace(folder) as workspace:
        workspace.commit(pl.concat(parts), now=NOW)

    async def look(client: Client) -> list[str]:
        listed = [str(one.uri) for one in (await client.list_resources()).resources]
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
        assert listed == ["slowwave://core"]
        assert templates == ["slowwave://cells/{cell_id}", "slowwave://topics/{name}"]
        addresses = ("slowwave://core", "slowwave://cells/aaaaaa1", "slowwave://topics/staging")
        return [(await client.read_resource(uri)).contents[0].text for uri in addresses]

    core, cell, topic = with_client(memory, look)
    assert "Ana wants tabs." in core
    assert core.count("</slowwave-memory>") == 1
    assert "Staging listens on 5432." in cell
    assert "> The staging host.\n" in topic
    assert "Staging listens on 6432." in topic
    summary = text_of(call(memory, "search_memory", query="staging host", detail_level="summary"))
    assert "| 1 memory | an assistant said" in summary, "it says whose word its memories are"


@pytest.mark.parametrize(
    "uri",
    [
        "slowwave://cells/..%2F..%2Fslowwave.toml",
        "slowwave://cells/%2Fetc%2Fpasswd",
        "slowwave://cells/cccccc9",
        "slowwave://topics/none",
        "slowwave://elsewhere",
    ],
)
def test_an_address_is_looked_up_and_is_never_a_path(memory: Memory, uri: str):
    async def read(client: Client) -> None:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(uri)
        assert "owner" not in str(refused.value)

    with_client(memory, read)


def test_the_prompt_brings_memory_fenced_and_says_what_to_do_with_it(memory: Memory):
    async def look(client: Client) -> str:
        (prompt,) = (await client.list_prompts()).prompts
        return (await client.get_prompt(prompt.name, {"topic": "staging"})).messages[0].content.text

    text = with_client(memory, look)
    assert "Staging listens on 5432" in text
    assert "Staging" not in strip_injected(text)[0]
