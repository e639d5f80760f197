"""Settings of any content: connect, change something else, disconnect, and everything of others is as it was."""

import json
import tomllib
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from slowwave.errors import InputError
from slowwave.interfaces.hooks.agents import Places, files_of
from slowwave.interfaces.hooks.settings_files import add_entries, is_own, remove_entries
from tests.examples import at_most

HOME = "/home/mära/the home"
PLACES = Places(Path("/home/mara"), Path("/home/mara/kittiwake"), "linux")
FILES = [
    one
    for agent in ("claude-code", "codex", "gemini", "cursor", "opencode")
    for scope in ("user", "project")
    for one in files_of(agent, scope, PLACES, HOME)
]
JSON_FILES = [one for one in FILES if one.path.suffix == ".json"]
TOML_FILE = next(one for one in FILES if one.path.suffix == ".toml")

WORDS = st.text(max_size=6)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 10**30), st.floats(-5, 5), WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
HANDLER = st.fixed_dictionaries({"type": st.just("command"), "command": WORDS})
GROUP = st.fixed_dictionaries({"hooks": st.lists(HANDLER, max_size=2)}, optional={"matcher": WORDS})
EVENTS = st.sampled_from(["SessionStart", "Stop", "stop", "BeforeAgent", "PostToolUse"])
SERVERS = st.dictionaries(st.sampled_from(["files", "web", "slow"]), VALUES, max_size=2)
PROJECTS = st.dictionaries(
    st.sampled_from([str(PLACES.project), "/x"]),
    st.fixed_dictionaries({}, optional={"mcpServers": SERVERS}),
)
HOOKS = st.dictionaries(EVENTS, st.lists(GROUP | HANDLER, max_size=2), max_size=3)
KNOWN = st.fixed_dictionaries(
    {},
    optional={
        "hooks": HOOKS,
        "mcpServers": SERVERS,
        "mcp": SERVERS,
        "version": st.just(1),
        "projects": PROJECTS,
    },
)
DOCUMENTS = st.builds(
    lambda others, known: {**others, **known}, st.dictionaries(WORDS, VALUES, max_size=3), KNOWN
)


def bare(value: object) -> object:
    """A value without what is empty in it: adding and removing entries may cost empty objects and lists."""
    if isinstance(value, list):
        return [bare(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: left for key, one in value.items() if (left := bare(one)) not in ({}, [])}


@settings(deadline=None, max_examples=at_most(60))
@given(st.sampled_from(JSON_FILES), DOCUMENTS, WORDS)
def test_all_values_of_others_stay_also_those_changed_meanwhile(one, document, word):
    after = add_entries(one, json.dumps(document))
    assert is_own(after)
    assert add_entries(one, after) == after
    left = remove_entries(one, json.dumps({**json.loads(after), "theirs": word}))
    assert not is_own(left)
    assert bare(json.loads(left)) == bare({**(document or one.fixed), "theirs": word})


PIECES = st.sampled_from([
    "# a note [not a table]\n", "model = 'gpt'\n", "list = [\n  'a', # b\n  [1, 2],\n]\n", "\n", "\n\n",
    "[tui]\nx = 1\n", "[mcp_servers.docs]\ncommand = 'npx'\n", "[projects.\"/home/m]ara\"]\ntrust = 'yes'\n",
    "[[profiles]]\nname = 'a'\n", "[mcp_servers]\n", "a.b = {c = [1]}\n", "day = 2026-11-20\n",
])  # fmt: skip


@settings(deadline=None, max_examples=at_most(60))
@given(st.lists(PIECES, max_size=6, unique=True).map("".join), st.booleans(), st.booleans())
def test_toml_keeps_every_byte_of_others_also_after_a_table_was_added_below(text, is_crlf, has_end):
    text = text if has_end else text.rstrip("\n")
    text = text.replace("\n", "\r\n") if is_crlf else text
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(False)
    after = add_entries(TOML_FILE, text)
    known = tomllib.loads(after)
    assert known["mcp_servers"].pop("slowwave") == TOML_FILE.entries["mcp_servers", "slowwave"]
    assert known == {**before, "mcp_servers": before.get("mcp_servers", {})}
    more = "\n# theirs\n[later]\ny = 2\n"
    for added in ("", more):
        left = remove_entries(TOML_FILE, after + added)
        assert left in (text + added, f"{text}\n{added}")


@settings(deadline=None, max_examples=at_most(20))
@given(st.sampled_from(JSON_FILES), DOCUMENTS, st.data())
def test_a_torn_file_is_refused_in_one_line_or_keeps_its_values(one, document, data):
    text = json.dumps(document)
    start = data.draw(st.integers(0, len(text)))
    torn = text[:start] + text[start + data.draw(st.integers(1, 3)) :]
    try:
        left, refused = remove_entries(one, add_entries(one, torn)), ""
    except InputError as error:
        left, refused = torn, str(error)
    assert "\n" not in refused
    assert refused.startswith(str(one.path) if refused else "")
    assert refused or bare(json.loads(left or "{}")) == bare(
        json.loads(torn or "{}") or (one.fixed if left else {})
    )
