"""Connecting coding agents: their settings on disk before, between and after."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave.errors import InputError
from slowwave.interfaces.cli.doctor import agent_rows
from slowwave.interfaces.cli.program import program
from slowwave.interfaces.hooks.agents import AGENTS, HOOK, Places, Scope, SettingsFile, files_of
from slowwave.interfaces.hooks.connect import Connected, State, connect, disconnect, survey, this_machine
from slowwave.interfaces.hooks.events import event_of
from slowwave.interfaces.hooks.follower import Kept
from slowwave.interfaces.hooks.hook import _named
from slowwave.interfaces.rendering.answers import blocks_of
from slowwave.interfaces.rendering.text import terminal
from slowwave.interfaces.rendering.view import View

EACH = [(agent, scope) for agent in AGENTS for scope in ("user", "project")]
EACH.remove(("claude-desktop", "project"))  # it has no settings of a project

OTHERS = {"command": "npx", "args": ["-y", "made-up-7f3a"]}
"""Another program's MCP server, with a secret."""

CODEX_CONFIG = """# my codex
model = "gpt-6"
notify = [
  "python3",
  "/home/mara/notify.py", # [not a table]
]

[projects."/home/mara/kittiwake"]
trust_level = "trusted"

[mcp_servers.docs]
command = 'npx'
env = { "TOKEN" = "made-up-7f3a" }   # keep
[[profiles]]
name = "a"

[tui]
notifications = true
"""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    for name in ("me", "work/.git"):
        (tmp_path / name).mkdir(parents=True)
    return Places(tmp_path / "me", tmp_path / "work", "linux")


@pytest.fixture
def home(tmp_path: Path) -> str:
    (tmp_path / "home").mkdir()
    return str(tmp_path / "home")


def add(agent: str, places: Places, home: str, scope: Scope = "user", *, dry_run: bool = False) -> Connected:
    return connect(agent, scope=scope, home=home, places=places, dry_run=dry_run)


def take(agent: str, places: Places, scope: Scope = "user", *, dry_run: bool = False) -> Connected:
    return disconnect(agent, scope=scope, places=places, dry_run=dry_run)


def did(done: Connected) -> list[str]:
    return [file.did for file in done.files]


def others_settings(file: SettingsFile) -> str:
    """Settings with entries of others: a server, a hook for each of our events, and a choice."""
    if file.path.suffix == ".toml":
        return CODEX_CONFIG
    document: dict = {"theme": "Dunkel\u00fc", "big": 12345678901234567890, "cut": "\ud83d", "version": 1}
    for keys, entry in file.entries.items():
        table = document
        for key in keys[:-1]:
            table = table.setdefault(key, {})
        theirs = {"matcher": "Edit", "hooks": [{"type": "command", "command": "./made-up-7f3a.sh"}]}
        table |= {keys[-1]: [theirs]} if isinstance(entry, list) else {"files": OTHERS}
    return json.dumps(document)


def write_others(agent, scope, places, home) -> None:
    for file in files_of(agent, scope, places, home):
        file.path.parent.mkdir(parents=True, exist_ok=True)
        if not file.script:
            file.path.write_text(others_settings(file))


def tree(places: Places) -> dict[str, bytes]:
    """Every file of the user and the project with its bytes."""
    found = [path for root in (places.user, places.project) for path in root.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in found}


def values(places: Places) -> dict[str, object]:
    """Every file with its values; of TOML the text."""
    return {name: json.loads(data) if name.endswith(".json") else data for name, data in tree(places).items()}


def parsed(path: Path) -> dict:
    text = path.read_text(encoding="utf-8-sig")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


def state(agent: str, places: Places, home: str) -> State:
    """How an agent is connected for the user."""
    return next(one for one in survey(home, places) if (one.agent, one.scope) == (agent, "user"))


@pytest.mark.parametrize("has_settings", [True, False], ids=["settings", "none"])
@pytest.mark.parametrize(("agent", "scope"), EACH)
def test_disconnecting_removes_our_entries_and_copies_and_leaves_all_values_of_others(
    agent, scope, has_settings, places, home
):
    if has_settings:
        write_others(agent, scope, places, home)
    before, text_before = values(places), tree(places)
    dry = add(agent, places, home, scope, dry_run=True)
    assert "made-up" not in str(dry)
    assert tree(places) == text_before
    done = add(agent, places, home, scope)
    assert set(did(done)) <= {"changed", "made"}
    copies = {file.path: Path(file.backup).read_bytes() for file in done.files if file.backup}
    assert copies == text_before
    between = tree(places)
    assert set(did(add(agent, places, home, scope))) == {"kept"}
    take(agent, places, scope, dry_run=True)
    assert tree(places) == between
    assert take(agent, places, scope).home == home
    assert values(places) == before
    assert take(agent, places, scope).files == ()


def test_disconnecting_an_agent_that_is_not_connected_says_so(places):
    view = View(datetime.now(UTC))
    shown, _ = terminal(blocks_of(take("cursor", places), view), view)
    assert shown == "cursor was not connected: there is nothing to remove\n"


@pytest.mark.parametrize(("agent", "scope"), EACH)
def test_connecting_adds_entries_that_our_programs_know_behind_those_of_others(agent, scope, places, home):
    assert "mcp" in program.commands
    write_others(agent, scope, places, home)
    before = {path: parsed(path) for path in map(Path, tree(places))}
    add(agent, places, home, scope)
    for file in files_of(agent, scope, places, home):
        assert home in file.path.read_text()
        for keys, entry in file.entries.items():
            found, theirs = parsed(file.path), before[file.path]
            for key in keys[:-1]:
                found, theirs = found[key], theirs[key]
            if isinstance(entry, dict):
                assert found == {**theirs, "slowwave": entry}
                continue
            assert found[keys[-1]] == [*theirs[keys[-1]], *entry]
            handler = entry[0].get("hooks", entry)[0]
            words = (
                [handler["command"], *handler["args"]]
                if "args" in handler
                else shlex.split(handler["command"])
            )
            python, *flags, hook, name, called, _, named = words
            assert (python, flags, hook) == (sys.executable, ["-I", "-S"], str(HOOK))
            assert (name, named, event_of(agent, called)[0]) == (agent, home, keys[-1])
            assert _named([name, called, "--home", named]) == (agent, keys[-1], home)


@pytest.mark.parametrize("agent", ["claude-code", "codex", "opencode"])
def test_another_home_and_a_moved_environment_replace_the_old_entries(agent, places, home, monkeypatch):
    write_others(agent, "user", places, home)
    before = values(places)
    with monkeypatch.context() as earlier:
        earlier.setattr(sys, "executable", "/opt/an environment/python")
        add(agent, places, home)
    assert state(agent, places, home).connected == "partly"
    add(agent, places, f"{home}2")
    found = state(agent, places, home)
    assert (found.home, found.connected) == (f"{home}2", "yes")
    with pytest.raises(InputError, match="is connected with .*2, and not with"):
        disconnect(agent, home=home, places=places)
    take(agent, places)
    assert values(places) == before


def test_changes_by_others_stay_and_only_our_entries_go(places, home):
    write_others("claude-code", "user", places, home)
    path = places.user / ".claude" / "settings.json"
    before = parsed(path)
    add("claude-code", places, home)
    document, mine = parsed(path), {"type": "command", "command": "say done"}
    document["theme"] = before["theme"] = "light"
    document["hooks"]["Stop"][-1]["hooks"].append(mine)  # to the group that we made
    path.write_text(json.dumps(document))
    take("claude-code", places)
    before["hooks"]["Stop"].append({"hooks": [mine]})
    assert parsed(path) == before


def test_a_server_keeps_the_fields_that_a_user_added(places, home):
    for agent in ("cursor", "codex"):
        add(agent, places, home)
    cursor, codex = places.user / ".cursor" / "mcp.json", places.user / ".codex" / "config.toml"
    document = parsed(cursor)
    document["mcpServers"]["slowwave"]["env"] = {"A": "b"}
    cursor.write_text(json.dumps(document))
    codex.write_text(f"{codex.read_text()}enabled = true\n")
    for agent in ("cursor", "codex"):
        add(agent, places, f"{home}2")
    assert parsed(cursor)["mcpServers"]["slowwave"]["env"] == {"A": "b"}
    assert parsed(codex)["mcp_servers"]["slowwave"]["enabled"] is True


def test_tables_that_codex_adds_below_our_server_go_with_it(places, home):
    write_others("codex", "user", places, home)
    path = places.user / ".codex" / "config.toml"
    add("codex", places, home)
    more = (
        '\n[mcp_servers.slowwave.tools.search_memory]\napproval_mode = "approve"\n\n# mine\n[other]\nz = 1\n'
    )
    path.write_text(path.read_text() + more)
    assert did(add("codex", places, home)) == ["kept", "kept"]
    take("codex", places)
    assert path.read_text() == f"{CODEX_CONFIG}\n# mine\n[other]\nz = 1\n"


BROKEN = {
    "claude-code": (".claude/settings.json", b'{"hooks": {"Stop": []\n"model": 1}', "line 2 column 1"),
    "codex": (".codex/config.toml", b"model = \n", "is not TOML"),
    "gemini": (".gemini/settings.json", b'{"mcpServers": [1]}', "mcpServers is not an object"),
    "opencode": (".config/opencode/opencode.json", b"[]", "is not a JSON object"),
    "cursor": (
        ".cursor/hooks.json",
        b'{"version": 1, "hooks": {"stop": {"a": 1}}}',
        "something under hooks.stop",
    ),
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        b"\xff\xfe{\x00}\x00",
        "is not text in UTF-8",
    ),
    "vscode": (
        ".config/Code/User/mcp.json",
        b'{"servers": {"slowwave": {"command": "other"}}}',
        "rename or remove it",
    ),
}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_broken_file_or_a_server_of_our_name_is_refused_in_one_line_and_nothing_is_changed(
    agent, places, home
):
    write_others(agent, "user", places, home)
    name, data, message = BROKEN[agent]
    (places.user / name).write_bytes(data)
    before = tree(places)
    with pytest.raises(InputError) as refused:
        add(agent, places, home)
    assert message in str(refused.value)
    assert str(places.user / name) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert tree(places) == before
    assert not state(agent, places, home).home


def test_json_with_comments_is_refused_with_the_entry_to_paste_and_left_alone_once_it_is_there(places, home):
    path = places.user / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text("{ // mine\n}")
    with pytest.raises(InputError, match="add this and connect again") as refused:
        add("cursor", places, home)
    assert path.read_text() == "{ // mine\n}"
    pasted = "// mine\n" + str(refused.value).partition("again: ")[2]
    assert json.loads(pasted.partition("\n")[2])["mcpServers"]["slowwave"]["args"][-1] == home
    path.write_text(pasted)
    assert did(add("cursor", places, home)) == ["kept", "made"]
    assert "changed by hand alone" in state("cursor", places, home).problem
    with pytest.raises(InputError, match="is not plain JSON .* by hand"):
        take("cursor", places)
    path.write_text("{ // mine\n}")
    take("cursor", places)
    assert [one.name for one in path.parent.iterdir()] == ["mcp.json"]


def test_a_plugin_file_of_our_name_that_is_somebody_elses_is_refused(places, home):
    plugin = places.user / ".config" / "opencode" / "plugins" / "slowwave.js"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("export const Mine = 1\n")
    before = tree(places)
    with pytest.raises(InputError, match="is not ours"):
        add("opencode", places, home)
    take("opencode", places)
    assert tree(places) == before


def test_connections_that_share_a_file_go_one_by_one(places, home):
    other = places._replace(project=places.project.parent / "other")
    (other.project / ".git").mkdir(parents=True)
    shared: list[tuple[Scope, Places]] = [("user", places), ("project", places), ("project", other)]
    (places.user / ".claude.json").write_text(json.dumps({"numStartups": 3, "mcpServers": {"web": OTHERS}}))
    before = values(places)
    for undone in (shared, shared[::-1]):
        for scope, where in shared:
            add("claude-code", where, home, scope)
        for scope, where in undone:
            assert take("claude-code", where, scope).home == home
        assert values(places) == before


def test_a_link_stays_a_link_and_its_target_keeps_its_mode(places, home):
    target, link = places.user / "dotfiles.json", places.user / ".claude" / "settings.json"
    link.parent.mkdir()
    target.write_text('{"a": 1}')
    target.chmod(0o640)
    link.symlink_to(target)
    add("claude-code", places, home)
    copy = link.with_name("settings.json.slowwave-backup")
    assert [path.stat().st_mode & 0o777 for path in (target, copy)] == [0o640, 0o640]
    take("claude-code", places)
    assert link.is_symlink()
    assert parsed(target) == {"a": 1}


def test_a_link_out_of_a_project_is_not_followed(places, home):
    (places.project / ".gemini").symlink_to(places.user)
    with pytest.raises(InputError, match="leads out of the project"):
        add("gemini", places, home, "project")
    assert not any(places.user.iterdir())


def test_a_read_only_file_is_refused(places, home):
    write_others("gemini", "user", places, home)
    (places.user / ".gemini" / "settings.json").chmod(0o444)
    before = tree(places)
    with pytest.raises(InputError, match="is read-only"):
        add("gemini", places, home)
    assert tree(places).items() >= before.items()


def test_variables_move_the_settings(places, home, tmp_path):
    moved = {name: str(tmp_path / name) for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME")}
    there = places._replace(environment=moved)
    found = [
        str(file.path.relative_to(tmp_path))
        for agent in ("claude-code", "codex", "opencode", "vscode")
        for file in files_of(agent, "user", there, home)
    ]
    assert found == [
        "CLAUDE_CONFIG_DIR/settings.json", "CLAUDE_CONFIG_DIR/.claude.json", "CODEX_HOME/config.toml",
        "CODEX_HOME/hooks.json", "XDG_CONFIG_HOME/opencode/opencode.json",
        "XDG_CONFIG_HOME/opencode/plugins/slowwave.js", "XDG_CONFIG_HOME/Code/User/mcp.json",
    ]  # fmt: skip


def test_the_survey_names_homes_and_projects_and_the_users_folder_is_no_project(places, home):
    assert {one.connected for one in survey(home, places)} == {"no"}
    add("gemini", places, home, "project")
    assert [(one.agent, one.project, one.home) for one in survey(home, places) if one.home] == [
        ("gemini", str(places.project), home)
    ]
    (places.user / ".git").mkdir()
    own = places._replace(project=places.user)
    add("gemini", own, home)
    assert [(one.agent, one.scope) for one in survey(home, own) if one.home] == [("gemini", "user")]


def test_the_doctor_says_what_is_connected_and_what_is_left_to_do_until_a_hook_was_answered(places, home):
    def rows() -> dict[str, tuple[bool, str]]:
        return {one.name: (one.is_well, one.found) for one in agent_rows(home, places)}

    assert rows() == {"agents": (True, "none is connected: `slowwave connect` lists those on this machine")}
    for agent in ("codex", "vscode"):
        add(agent, places, home)
    add("gemini", places, f"{home}2")
    add("cursor", places, home, "project")
    todo = "connected; no hook was answered since: "
    assert rows() == {
        "codex": (True, todo + AGENTS["codex"].next_step),
        "cursor in work": (True, todo + AGENTS["cursor"].next_step),
        "gemini": (False, f"it has another home, {home}2"),
        "vscode": (True, "connected, tools alone"),
    }
    kept = Kept(answered={"codex": "2031-11-20T11:00:00+00:00", "cursor": "2001-11-20T11:00:00+00:00"})
    (Path(home) / "hooks" / "follower.json").write_text(kept.model_dump_json())
    assert rows()["codex"] == (True, "connected; its hooks were last answered on 2031-11-20 11:00 UTC")
    path = places.user / ".codex" / "hooks.json"
    path.write_text(path.read_text()[:-3])
    assert not rows()["codex"][0]
    assert f"{path} is not plain JSON" in rows()["codex"][1]


def test_connecting_makes_the_home_and_says_what_is_left_to_do(places, tmp_path):
    done = add("cursor", places, str(tmp_path / "new"), "project")
    assert (tmp_path / "new").is_dir()
    assert done.notes[0].startswith("cursor was not found on this machine")
    assert done.notes[1] == f"by hand: {AGENTS['cursor'].next_step}"
    assert "leave them out of commits" in done.notes[2]


def test_a_project_is_the_repository_that_one_stands_in(places, home, monkeypatch):
    (places.project / "src").mkdir()
    monkeypatch.setenv("HOME", str(places.user))
    monkeypatch.chdir(places.project / "src")
    assert this_machine() == Places(places.user, places.project, environment=dict(os.environ))
    with pytest.raises(InputError, match="is in no git repository"):
        add("cursor", places._replace(project=places.user), home, "project")
    with pytest.raises(InputError, match="has no settings of a project"):
        add("claude-desktop", places, home, "project")
    with pytest.raises(InputError, match="no agent is called 'emacs'"):
        add("emacs", places, home)


DRIVER = """
import { Slowwave } from "./slowwave.mjs"
const said = [
  { info: { id: "m1", role: "user", time: { created: 1 } }, parts: [{ type: "text", text: "hi" }, { type: "file" }] },
  { info: { id: "m2", role: "assistant", time: { created: 2 } }, parts: [{ type: "tool" }] },
]
const session = {
  get: async ({ path }) => ({ data: path.id === "ses_1" ? {} : { parentID: "ses_1" } }),
  messages: async () => ({ data: said }),
}
const hooks = await Slowwave({ client: { session }, directory: "/work" })
const show = []
for (const prompt of ["first", "second"]) {
  const parts = [{ id: "prt_1", sessionID: "ses_1", messageID: "msg_1", type: "text", text: prompt }]
  await hooks["chat.message"]({ sessionID: "ses_1" }, { message: {}, parts })
  show.push(parts)
}
for (const sessionID of ["ses_1", "ses_of_a_subagent", "ses_1", "ses_1"]) {
  await hooks.event({ event: { type: "session.idle", properties: { sessionID } } })
  said[0].parts[0].text = "hi there"
}
await hooks.event({ event: { type: "session.deleted", properties: { info: { id: "ses_1" } } } })
await hooks.event({ event: { type: "file.edited", properties: {} } })
const parts = [{ id: "prt_3", sessionID: "ses_2", messageID: "msg_3", type: "text", text: "third" }]
await hooks["chat.message"]({ sessionID: "ses_2" }, { message: {}, parts })
said[0].info.id = "m3"
const questions = [{ question: "Which glaze?", options: [{ label: "Celadon" }, { label: "Ash" }] }]
const state = { status: "completed", input: { questions }, metadata: { answers: [["Ash"]] }, time: { end: 4 } }
const parts4 = [{ type: "text", text: "So:" }, { type: "tool", tool: "question", callID: "call_1", state }]
said.push({ info: { id: "m4", role: "assistant", time: { created: 3 } }, parts: parts4 })
session.get = async () => new Promise((resolve) => setTimeout(() => resolve({ data: {} }), 50))
hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_2" } } }) // nobody waits for it
await hooks.dispose()
console.log(JSON.stringify(show))
process.exit(0)
"""

SCRIPTED = """
import json, pathlib, sys
words, given = sys.argv[1:], json.load(sys.stdin)
with pathlib.Path(__file__).with_name("calls.jsonl").open("a") as calls:
    calls.write(json.dumps([words, given]) + "\\n")
if given.get("prompt") == "second":
    sys.exit(3)
if given.get("messages"):
    print(json.dumps({"recorded": True}))
if words[1] in ("SessionStart", "UserPromptSubmit"):
    print(json.dumps({"hookSpecificOutput": {"hookEventName": words[1], "additionalContext": f"<{words[1]}>"}}))
"""


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("node") is None, reason="no Node to load the plugin with")
@pytest.mark.parametrize("is_there", [True, False], ids=["hook", "no hook"])
def test_the_plugin_of_opencode_calls_the_hook_and_hands_on_what_it_says(is_there, places, home, tmp_path):
    hook = tmp_path / "hook.py"
    hook.write_text(SCRIPTED)
    python = sys.executable if is_there else str(tmp_path / "none")
    plugin = files_of("opencode", "user", places, home)[1].script
    command = json.dumps([sys.executable, "-I", "-S", str(HOOK)])
    assert command in plugin
    (tmp_path / "slowwave.mjs").write_text(plugin.replace(command, json.dumps([python, "-I", str(hook)])))
    (tmp_path / "driver.mjs").write_text(DRIVER)
    done = subprocess.run(
        ["node", str(tmp_path / "driver.mjs")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    first, second = json.loads(done.stdout)
    assert done.stderr == ""
    assert len(second) == 1
    if not is_there:
        assert len(first) == 1
        return
    assert first[1] == {
        "id": "prt_1slowwave", "sessionID": "ses_1", "messageID": "msg_1", "type": "text",
        "text": "<SessionStart>\n\n<UserPromptSubmit>", "synthetic": True,
    }  # fmt: skip
    calls = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    told = [(words[1], given["session_id"]) for words, given in calls]
    assert [words for words, _ in calls] == [["opencode", event, "--home", home] for event, _ in told]
    first = ("SessionStart", "UserPromptSubmit", "UserPromptSubmit", "Stop", "Stop", "SessionEnd")
    second = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
    assert told == [*((event, "ses_1") for event in first), *((event, "ses_2") for event in second)]
    assert {given["cwd"] for _, given in calls} == {"/work"}
    assert calls[1][1]["prompt"] == "first"
    *handed_over, last = [given["messages"] for _, given in calls if "messages" in given]
    assert [(one["id"], one["role"], one["time"]["created"], one["content"]) for one in last] == [
        ("m3", "user", 1, "hi there"),
        ("m4", "assistant", 3, "So:\n\nWhich glaze? (Celadon, Ash)"),
        ("call_1", "user", 4, "Ash"),
    ], "the end waits for what is being handed over"
    assert handed_over == [
        [{"id": "m1", "role": "user", "time": {"created": 1}, "content": text}] for text in ("hi", "hi there")
    ], "what was taken is sent again only once it grew"
