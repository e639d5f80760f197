"""Settings of any content and form: connect, change something else, disconnect, and every other byte is as it was."""

import json
import re
import tomllib
from pathlib import Path

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from slowwave.entrypoints.connecting.changes import own_values, to_connect, to_disconnect
from slowwave.entrypoints.connecting.difference import difference
from slowwave.entrypoints.connecting.files import FileText
from slowwave.entrypoints.connecting.harnesses import Install, Places, SettingsFile, files_of
from slowwave.entrypoints.connecting.jsonc import Node, plain, scan
from slowwave.errors import InputError
from tests.examples import at_most
from tests.harness_settings import CODEX_CONFIG

INSTALL = Install(
    python="/opt/an env/bin/python",
    hook="/opt/lib/slowwave/entrypoints/harness/hook.py",
    home="/home/mära/the home",
)
SECRET = "made-up-7f3a"
PLACES = Places(user=Path("/home/mara"), project=Path("/home/mara/kittiwake"), system="linux")
ALL = [
    one
    for harness, scope in (
        ("claude-code", "user"), ("claude-code", "project"), ("codex", "user"), ("gemini", "user"), ("cursor", "user"),
        ("opencode", "user"), ("vscode", "project"),
    )
    for one in files_of(harness, scope, PLACES, INSTALL)
]  # fmt: skip
JSON_FILES = [one for one in ALL if one.kind == "json"]
(CURSOR_HOOKS,) = [one for one in JSON_FILES if one.skeleton]
(TOML_FILE,) = [one for one in ALL if one.kind == "toml"]

GAPS = st.sampled_from(
    ["", "", " ", "  ", "\n", "\n  ", "\n\t", "\r\n    ", " // a note\n", "/* x, {y} */", "\n// [z]\n\n  "]
)
STRICT_GAPS = st.sampled_from(["", " ", "\n", "\n  ", "\n\t\t", "\r\n    "])
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=6)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 10**12), st.floats(-5, 5), WORDS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
HANDLER = st.fixed_dictionaries({"type": st.just("command"), "command": WORDS})
GROUP = st.fixed_dictionaries({"hooks": st.lists(HANDLER, max_size=2)}, optional={"matcher": WORDS})
EVENTS = st.sampled_from(["SessionStart", "Stop", "stop", "BeforeAgent", "PostToolUse"])
SERVERS = st.dictionaries(st.sampled_from(["files", "web", "slow"]), VALUES, max_size=2)
KNOWN = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.dictionaries(EVENTS, st.lists(GROUP | HANDLER, max_size=2), max_size=3),
        "mcpServers": SERVERS,
        "servers": SERVERS,
        "mcp": SERVERS,
        "version": st.just(1),
        "projects": st.dictionaries(
            st.sampled_from([str(PLACES.project), "/x"]), st.fixed_dictionaries({}, optional={"mcpServers": SERVERS})
        ),
    },
)  # fmt: skip
DOCUMENTS = st.builds(
    lambda others, known: {**others, **known}, st.dictionaries(WORDS, VALUES, max_size=3), KNOWN
)


@st.composite
def written(draw: st.DrawFn, value: object, gaps: st.SearchStrategy[str], *, commas: bool) -> str:
    """A value as text, with any white space, comments and commas that the form allows."""

    def gap() -> str:
        return draw(gaps)

    def text(one: object) -> str:
        if not isinstance(one, dict | list):
            return json.dumps(one, ensure_ascii=draw(st.booleans()))
        entries = [
            gap()
            + (f"{json.dumps(key)}{gap()}:{gap()}{text(item)}" if key is not None else text(item))
            + gap()
            for key, item in (one.items() if isinstance(one, dict) else ((None, item) for item in one))
        ]
        last = "," + gap() if entries and commas and draw(st.booleans()) else ""
        inside = ",".join(entries) + last or gap()
        return f"{{{inside}}}" if isinstance(one, dict) else f"[{inside}]"

    return gap() + text(value) + gap()


LOOSE = DOCUMENTS.flatmap(lambda value: written(value, GAPS, commas=True))
STRICT = DOCUMENTS.flatmap(lambda value: written(value, STRICT_GAPS, commas=False))
PRETTY = DOCUMENTS.flatmap(
    lambda value: st.sampled_from([2, 4, "\t"]).map(
        lambda indent: json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
    )
)
BLANK = st.sampled_from(["", "\n", "  \n", "{}", "{ }\n", "{\n}\n", "// nothing yet\n"])
TEXTS = st.one_of(LOOSE, LOOSE, PRETTY, BLANK)


def file(text: str) -> FileText:
    return FileText(path=Path("settings.json"), text=text, is_there=True)


def connected(one: SettingsFile, text: str) -> str:
    """The text with our entries, where the file is not refused."""
    try:
        change = to_connect(one, file(text), None)
    except InputError as refused:
        assume("is expected" not in str(refused))
        raise
    assert change.after is not None
    return change.after


def scalars(node: Node | None) -> list[Node]:
    if node is None:
        return []
    return (
        [node]
        if node.kind == "scalar"
        else [found for child in node.children for found in scalars(child.node)]
    )


@settings(deadline=None, max_examples=at_most(50))
@given(st.sampled_from(JSON_FILES), TEXTS)
@example(CURSOR_HOOKS, "{}")
@example(CURSOR_HOOKS, "// mine\n")
def test_disconnecting_gives_every_byte_back(one, text):
    after = connected(one, text)
    found = sorted(repr((entry.path, entry.key, entry.value)) for entry in own_values(one, file(after)))
    assert found == sorted(repr((entry.path, entry.key, entry.value)) for entry in one.entries)
    assert not to_connect(one, file(after), text).changes_file
    assert to_disconnect(one, file(after), text).after == text


@settings(deadline=None, max_examples=at_most(20))
@given(
    st.sampled_from(JSON_FILES),
    DOCUMENTS.flatmap(lambda value: written({**value, "key": SECRET}, GAPS, commas=True)),
)
@example(JSON_FILES[0], f'{{"":null,"key":"{SECRET}"}}')  # the line is longer than what is shown of others
@example(JSON_FILES[0], f'{{"key":"{SECRET}", "more":[{"1, " * 3_000}1]}}')
def test_a_difference_never_shows_a_text_of_others(one, text):
    text = text.replace("a note", f"a note {SECRET}")
    shown = difference(one, to_connect(one, file(text), None))
    assert SECRET not in shown
    assert "the home" in shown


@settings(deadline=None, max_examples=at_most(20))
@given(st.sampled_from(JSON_FILES), STRICT)
def test_a_file_of_plain_json_stays_one(one, text):
    before, after = json.loads(text), json.loads(connected(one, text))
    for key in set(before) - {"hooks", "mcpServers", "servers", "mcp", "projects"}:
        assert after[key] == before[key]
    assert plain(scan(text, "x")) == before


@settings(deadline=None, max_examples=at_most(40))
@given(st.sampled_from(JSON_FILES), TEXTS, st.data())
def test_what_was_changed_meanwhile_stays_byte_for_byte(one, text, data):
    after = connected(one, text)
    theirs = scalars(scan(text, "x"))
    assume(theirs)
    number = data.draw(st.integers(0, len(theirs) - 1))
    # our entries stand behind theirs in each container, so theirs are found again by their text and order
    new = json.dumps(data.draw(WORDS))
    own = [entry.value for entry in own_values(one, file(after))]
    left = [node for node in scalars(scan(after, "x")) if not _is_inside(after, node, own, one)]
    assert [after[node.start : node.end] for node in left] == [text[node.start : node.end] for node in theirs]
    changed, grown = (
        old[: node.start] + new + old[node.end :]
        for old, node in ((text, theirs[number]), (after, left[number]))
    )
    assert to_disconnect(one, file("// mine\n" + grown), text).after == "// mine\n" + changed


def _is_inside(text: str, node: Node, own: list[object], one: SettingsFile) -> bool:
    from slowwave.entrypoints.connecting.changes import own_paths
    from slowwave.entrypoints.connecting.jsonc import child_at

    root = scan(text, "x")
    spans = [found for path in own_paths(one, root) if (found := child_at(root, path))]
    return any(span.start <= node.start < span.end for span in spans)


@settings(deadline=None, max_examples=at_most(20))
@given(st.sampled_from(JSON_FILES), TEXTS)
def test_a_file_that_was_written_anew_meanwhile_loses_only_our_entries(one, text):
    after = connected(one, text)
    anew = json.dumps(plain(scan(after, "x")), indent=4)
    left = to_disconnect(one, file(anew), text).after
    root = scan(text, "x")
    if root is None:
        assert left == text
    else:
        assert left is not None
        assert plain(scan(left, "x")) == plain(root)


@settings(deadline=None, max_examples=at_most(20))
@given(st.sampled_from(JSON_FILES), LOOSE, st.data())
def test_a_torn_file_is_refused_or_still_gives_every_byte_back(one, text, data):
    start = data.draw(st.integers(0, len(text)))
    torn = text[:start] + text[start + data.draw(st.integers(1, 3)) :]
    try:
        after = to_connect(one, file(torn), None).after
    except InputError as error:
        refused: str | None = str(error)
    else:
        refused = None
        assert to_disconnect(one, file(after or ""), torn).after == torn
    assert refused is None or re.fullmatch(r"settings\.json.*: .*Mend the file, then try again\.", refused)


PIECES = st.sampled_from([
    "# a note [not a table]\n", "model = 'gpt'\n", "list = [\n  'a', # b\n  [1, 2],\n]\n", "\n", "\n\n",
    'text = """\n[mcp_servers.slowwave]\n"""\n', "[tui]\nx = 1\n", "[mcp_servers.docs]\ncommand = 'npx'\n",
    "[projects.\"/home/m]ara\"]\ntrust = 'yes'\n", "[[profiles]]\nname = 'a'\n", "[mcp_servers]\n", "a.b = {c = [1]}\n",
])  # fmt: skip
TOMLS = st.lists(PIECES, max_size=6, unique=True).map("".join) | st.just(CODEX_CONFIG)


@settings(deadline=None, max_examples=at_most(50))
@given(TOMLS, st.booleans(), st.booleans())
def test_toml_comes_back_byte_for_byte(text, is_crlf, has_end):
    text = text.replace("\n", "\r\n") if is_crlf else text
    text = text if has_end else text.rstrip("\r\n")
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(False)
    after = to_connect(TOML_FILE, file(text), None).after
    assert after is not None
    known = tomllib.loads(after)
    (entry,) = TOML_FILE.entries
    assert known["mcp_servers"].pop("slowwave") == entry.value
    assert known == {**before, "mcp_servers": before.get("mcp_servers", {})}
    assert to_disconnect(TOML_FILE, file(after), text).after == text
    grown = after + ("" if has_end or not text else "\n") + "\n[later]\ny = 2\n"
    left = to_disconnect(TOML_FILE, file(grown), text).after
    assert left is not None
    assert left.startswith(text)
    assert tomllib.loads(left) == {**before, "later": {"y": 2}}
