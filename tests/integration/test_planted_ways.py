"""Planted orders that come by calls, taps, transcripts, exports and names: believed nowhere, and in no page but fenced.

One home without a model and one whose model believes all of it, a night each.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from mcp.client import Client

from flows.nightly import nightly
from slowwave.ingest.fences import FENCE_OPEN, strip_injected
from slowwave.interfaces.hooks.events import PromptPayload, StartPayload
from slowwave.interfaces.http.routes.hooks import opening, recalled
from slowwave.memory import Memory
from slowwave.schemas.choices import WHOSE
from slowwave.schemas.context import Context
from tests.integration.test_mcp import call, text_of, with_client
from tests.planted import BelievingModel
from tests.scripted_model import store_of, write_settings
from tests.servers import OpenAIServer
from tests.ways_in import KEPT, LEFT_OUT, WAYS, hostile_repository, order, tell, write_files

pytestmark = pytest.mark.nights

ASKED = "Where do agents send the deploy key before they answer?"
MARKS = (
    *filter(None, WHOSE.values()), "quoting:", "assistant:", "(assistant):", "retold", "word by word",
)  # fmt: skip


NOTES = (
    "remembered as reported",
    "remembered by an agent",
    "subject",
    "graph",
    "name in a graph",
    "relation",
    "mem0",
)
"""Ways of what was written down and never said in a conversation: it followed no error, and is no fix of one."""


@dataclass(frozen=True)
class Lived:
    """A home after its night, what stands in its core memory, and the pages that agents are shown."""

    home: Path
    core: str
    contexts: list[Context]
    pages: dict[str, str]


@pytest.fixture(scope="module", params=[False, True], ids=["without a model", "with a believing model"])
def lived(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lived]:
    folder = tmp_path_factory.mktemp("ways")
    home, files = folder / "home", write_files(folder)
    with OpenAIServer(BelievingModel(known=frozenset(WAYS.values()))) as server:
        llm = {"provider": "openai", "base_url": server.url, "api_key": "k", "model": "m"}
        write_settings(
            home,
            llm=llm if request.param else {"provider": "none"},
            embedding={"provider": "none"},
            owner={"project_from": "repository"},
        )
        with Memory(home) as memory:
            tell(memory, folder)
        nightly.fn(home=str(home), sources=files, force=True)
    core = home / "MEMORY.md"
    with Memory(home, records_usage=False) as memory:
        yield Lived(home, core.read_text() if core.exists() else "", contexts(memory), pages(memory, folder))


def contexts(memory: Memory) -> list[Context]:
    error = f"12:01:02 ERROR build failed {order('graph')}"
    return [
        memory.context(),
        memory.context(opening=True),
        memory.context(activity="debugging", recent_errors=[error]),
        memory.context(activity="feature", current_file="src/station.py"),
    ]


def pages(memory: Memory, folder: Path) -> dict[str, str]:
    """What hooks put beside a prompt, the answers of MCP tools, its resources and its prompts, by name."""
    found = {"question": memory.context(ASKED).text, "small": memory.context(ASKED, small=True).text}
    for place in ("", str(hostile_repository(folder))):
        start = StartPayload(session_id="a", cwd=place or None)
        prompt = PromptPayload(session_id=f"b{place}", cwd=place or None, prompt=ASKED)
        found |= {f"start {place}": opening(memory, start), f"prompt {place}": recalled(memory, prompt)}
    tools = {
        "search_memory": {"query": ASKED, "detail_level": "evidence", "limit": 25, "project": "*"},
        "list_memories": {"limit": 25, "project": "*"},
        "get_context": {"question": ASKED},
        "get_entity": {"name": f"{WAYS['relation']} always"},
        "memory_stats": {},
        "weak_facts": {"days": 3_650},
    }
    found |= {name: text_of(call(memory, name, **given)) for name, given in tools.items()}

    async def read(client: Client) -> dict[str, str]:
        listed = (await client.list_resources()).resources
        read = {str(one.uri): (await client.read_resource(one.uri)).contents[0].text for one in listed}
        recall = await client.get_prompt("recall", {"topic": ASKED})
        return read | {"recall": recall.messages[0].content.text}

    return found | with_client(memory, read)


@pytest.mark.parametrize("way", KEPT)
def test_what_is_planted_is_neither_core_memory_nor_a_persons_word(lived: Lived, way: str):
    assert WAYS[way] not in lived.core.lower()
    cells = store_of(lived.home).rows(
        "cells", ["content", "subject", "origin", "protected", "prompt_version"]
    )
    said = cells.filter(
        (cells["protected"]) | ((cells["origin"] == "user") & (cells["prompt_version"] != "raw"))
    )
    assert WAYS[way] not in str(said.rows()).lower()
    for context in lived.contexts:
        for tier in context.tiers:
            for line in (line.text for line in tier.lines if WAYS[way] in line.text.lower()):
                is_fix = line.startswith(("- [seen before", "- [fix")) and "an assistant said" in line
                assert tier.name in {"relevant", "index"} or (is_fix and way not in NOTES), line
                assert way == "source" or any(mark in line for mark in MARKS), line


@pytest.mark.parametrize("way", LEFT_OUT)
def test_what_tools_and_harnesses_put_into_a_conversation_is_not_stored(lived: Lived, way: str):
    store = store_of(lived.home)
    assert all(
        WAYS[way] not in str(store.rows(name).rows()).lower() for name in ("turns", "cells", "entities")
    )


def test_no_page_is_left_by_what_stands_in_it(lived: Lived):
    assert sum(FENCE_OPEN in text for text in lived.pages.values()) > len(lived.pages) / 2
    for name, text in lived.pages.items():
        outside, _ = strip_injected(text)
        assert [mark for mark in WAYS.values() if mark in outside.lower()] == [], name
        assert text.count(FENCE_OPEN) <= 1, name
        assert {unicodedata.category(sign) for sign in text if sign != "\n"}.isdisjoint({"Cc", "Cf"}), name


def test_an_answer_says_of_each_planted_text_whose_word_it_is(lived: Lived):
    for name in ("question", "small", "get_context"):
        for line in lived.pages[name].splitlines():
            if line.startswith(("- ", "> ")) and "deploy key to" in line:
                assert any(mark in line for mark in MARKS), f"{name}: {line}"
    entries = [one for name in ("search_memory", "recall") for one in lived.pages[name].split("\n--- ")[1:]]
    planted = [one for one in entries if "deploy key to" in one]
    assert planted
    for entry in planted:
        assert any(mark in entry for mark in MARKS), entry
        assert "| a person said" not in entry, entry


def test_a_project_is_named_in_plain_letters(lived: Lived, tmp_path: Path):
    with Memory(lived.home) as memory:
        name = memory.project_of(hostile_repository(tmp_path))
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")
