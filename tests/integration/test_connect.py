"""Connecting coding agents: their settings on disk before, between and after, and the commands."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
import typer
from click.testing import CliRunner, Result

from slowwave.entrypoints.commands.agents import agent_rows, no_server_row
from slowwave.entrypoints.connecting.agents import Install, Places, files_of, words_of
from slowwave.entrypoints.connecting.connection import connect, disconnect
from slowwave.entrypoints.connecting.names import HARNESSES
from slowwave.entrypoints.connecting.survey import State, survey
from slowwave.entrypoints.harness.events import event_of
from slowwave.entrypoints.harness.hook import _named
from slowwave.errors import InputError
from slowwave.interfaces.cli.program import program

EACH = [(harness, scope) for harness in HARNESSES for scope in ("user", "project")]
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
def places(tmp_path) -> Places:
    for name in ("me", "work"):
        (tmp_path / name).mkdir()
    return Places(user=tmp_path / "me", project=tmp_path / "work", system="linux")


@pytest.fixture
def install(tmp_path) -> Install:
    hook = tmp_path / "lib" / "slowwave" / "entrypoints" / "harness" / "hook.py"
    python = tmp_path / "an environment" / "python"
    for path in (hook, python):
        path.parent.mkdir(parents=True)
        path.touch()
    (tmp_path / "home").mkdir()
    return Install(python=str(python), hook=str(hook), home=str(tmp_path / "home"))


def others_settings(settings) -> str:
    """Settings with entries of others, in odd white space: a server, a hook for each of our events, and a choice."""
    if settings.is_toml:
        return CODEX_CONFIG
    document = {"theme": "Dunkel\u00fc", "big": 12345678901234567890, "version": 1, "mcpServers": {}}
    table = document
    for key in settings.table:
        table = table.setdefault(key, {})
    if settings.table:
        table["files"] = OTHERS
    if settings.hooks:
        theirs = {"matcher": "Edit", "hooks": [{"type": "command", "command": "./made-up-7f3a.sh"}]}
        document["hooks"] = {event: [theirs] for event in settings.hooks} | {"PostToolUse": [theirs]}
    return json.dumps(document, indent="\t", separators=(" ,", ":")) + "\n\n"


def write_others(harness, scope, places, install) -> None:
    for settings in files_of(harness, scope, places, install):
        settings.path.parent.mkdir(parents=True, exist_ok=True)
        if not settings.script:
            settings.path.write_text(others_settings(settings))


def tree(places: Places) -> dict[str, bytes]:
    """Every file with its bytes."""
    root = places.user.parent
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def parsed(path: Path) -> dict:
    text = path.read_text(encoding="utf-8-sig")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


def state(harness: str, places: Places, install: Install) -> State:
    """How a harness is connected for the user."""
    (found,) = [one for one in survey(places, install) if (one.harness, one.scope) == (harness, "user")]
    return found


@pytest.mark.parametrize("has_settings", [True, False], ids=["settings", "none"])
@pytest.mark.parametrize(("harness", "scope"), EACH)
def test_disconnecting_leaves_every_file_as_it_was_before_connecting(
    harness, scope, has_settings, places, install
):
    if has_settings:
        write_others(harness, scope, places, install)
    before = tree(places)
    connect(harness, scope, places, install, dry_run=True)
    assert tree(places) == before
    done = connect(harness, scope, places, install, dry_run=False)
    between = tree(places)
    assert {file.did for file in done.files} <= {"changed", "made"}
    again = connect(harness, scope, places, install, dry_run=False)
    assert {file.did for file in again.files} == {"kept"}
    disconnect(harness, scope, places, install, dry_run=True)
    assert tree(places) == between
    assert disconnect(harness, scope, places, install, dry_run=False).homes == (install.home,)
    assert tree(places) == before
    assert {file.did for file in disconnect(harness, scope, places, install, dry_run=False).files} == {"kept"}


def contains(whole: object, part: object) -> bool:
    """All values of one document are in the other, lists from their begin."""
    if isinstance(part, dict):
        return all(key in whole and contains(whole[key], value) for key, value in part.items())
    if isinstance(part, list):
        return all(map(contains, whole, part)) and len(whole) >= len(part)
    return whole == part


@pytest.mark.parametrize(("harness", "scope"), EACH)
def test_connecting_adds_the_entries_and_keeps_those_of_others_and_a_copy(harness, scope, places, install):
    write_others(harness, scope, places, install)
    key = Path(install.home) / "server" / "key"
    key.parent.mkdir()
    key.write_text("key-of-this-server")
    before = tree(places)
    files = {Path(file.path): file for file in connect(harness, scope, places, install, dry_run=False).files}
    for settings in files_of(harness, scope, places, install):
        text, theirs = (
            settings.path.read_text(),
            before.get(str(settings.path.relative_to(places.user.parent))),
        )
        assert "key-of-this-server" not in text
        assert install.home in text
        if settings.script:
            continue
        found = parsed(settings.path)
        assert Path(files[settings.path].backup).read_bytes() == theirs
        assert contains(found, parsed(Path(files[settings.path].backup)) if not settings.is_toml else {})
        assert not settings.is_toml or text.startswith(CODEX_CONFIG)
        for event, items in settings.hooks.items():
            assert found["hooks"][event][-1:] == items
        for step in settings.table:
            found = found[step]
        assert not settings.server or found["slowwave"] == settings.server


@pytest.mark.parametrize(("harness", "scope"), EACH)
def test_every_command_that_is_written_is_one_that_our_programs_know(harness, scope, places, install):
    assert "mcp" in typer.main.get_command(app).commands
    for settings in files_of(harness, scope, places, install):
        items = [item for items in settings.hooks.values() for item in items]
        for entry in [settings.server, *items] if settings.server else items:
            python, isolated, *words = words_of(entry)
            assert (python, isolated) == (install.python, "-I")
            if words[0] == "-m":
                assert words == ["-m", "slowwave", "mcp", "--home", install.home]
            else:
                named_harness, event, home = _named(words[1:])
                assert (words[0], named_harness, home) == (install.hook, harness, install.home)
                assert event_of(harness, event)[0] == event


@pytest.mark.parametrize("harness", HARNESSES)
def test_another_home_and_a_moved_environment_replace_the_old_ones(harness, places, install):
    write_others(harness, "user", places, install)
    before = tree(places)
    connect(harness, "user", places, install, dry_run=False)
    moved = install.model_copy(update={"home": f"{install.home}2", "python": "/opt/other/python"})
    connect(harness, "user", places, moved, dry_run=False)
    for settings in files_of(harness, "user", places, moved):
        text = settings.path.read_text()
        assert moved.home in text
        assert "an environment" not in text
    assert state(harness, places, moved).homes == (moved.home,)
    disconnect(harness, "user", places, install, dry_run=False)
    assert tree(places) == before


def test_changes_by_others_stay_and_only_our_entries_go(places, install):
    write_others("claude-code", "user", places, install)
    path = places.user / ".claude" / "settings.json"
    before = parsed(path)
    connect("claude-code", "user", places, install, dry_run=False)
    document, mine = parsed(path), {"type": "command", "command": "say done"}
    document["theme"] = before["theme"] = "light"
    document["hooks"]["Stop"][-1]["hooks"].append(mine)  # to the group that we made
    path.write_text(json.dumps(document))
    again = connect("claude-code", "user", places, install, dry_run=False)
    assert [file.did for file in again.files] == ["kept", "kept"]
    done = disconnect("claude-code", "user", places, install, dry_run=False)
    before["hooks"]["Stop"].append({"hooks": [mine]})
    assert parsed(path) == before
    copy = path.with_name("settings.json.slowwave-backup")
    assert done.notes == (f"{copy} stays: it may be the only copy of what was in settings.json before.",)
    again = connect("claude-code", "user", places, install, dry_run=False)
    assert again.files[0].backup == f"{copy}-2"


def test_a_server_keeps_the_fields_that_a_user_added(places, install):
    for harness in ("cursor", "codex"):
        connect(harness, "user", places, install, dry_run=False)
    cursor, codex = places.user / ".cursor" / "mcp.json", places.user / ".codex" / "config.toml"
    document = parsed(cursor)
    document["mcpServers"]["slowwave"]["env"] = {"A": "b"}
    cursor.write_text(json.dumps(document))
    codex.write_text(f"{codex.read_text()}enabled = true\n")
    moved = install.model_copy(update={"home": f"{install.home}2"})
    for harness in ("cursor", "codex"):
        connect(harness, "user", places, moved, dry_run=False)
    assert parsed(cursor)["mcpServers"]["slowwave"]["env"] == {"A": "b"}
    assert parsed(codex)["mcp_servers"]["slowwave"]["enabled"] is True


def test_tables_that_codex_adds_below_our_server_go_with_it(places, install):
    write_others("codex", "user", places, install)
    path = places.user / ".codex" / "config.toml"
    connect("codex", "user", places, install, dry_run=False)
    more = (
        '\n[mcp_servers.slowwave.tools.search_memory]\napproval_mode = "approve"\n\n# mine\n[other]\nz = 1\n'
    )
    path.write_text(path.read_text() + more)
    assert [file.did for file in connect("codex", "user", places, install, dry_run=False).files] == [
        "kept"
    ] * 2
    disconnect("codex", "user", places, install, dry_run=False)
    assert path.read_text() == f"{CODEX_CONFIG}\n# mine\n[other]\nz = 1\n"


BROKEN = {
    "claude-code": (".claude/settings.json", '{"hooks": {"Stop": []\n"model": 1}', "line 2 column 1"),
    "codex": (".codex/config.toml", "model = \n", "is not TOML"),
    "gemini": (".gemini/settings.json", '{"mcpServers": [1]}', "mcpServers is not an object"),
    "opencode": (".config/opencode/opencode.json", "[]", "is not a JSON object"),
    "cursor": (".cursor/hooks.json", '{"version": 1, "hooks": {"stop": {}}}', "stop is not a list"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "{", "is not plain JSON"),
    "vscode": (".config/Code/User/mcp.json", '{"servers": {}, "servers": {}}', "an object has a key twice"),
}


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_broken_file_is_refused_in_one_line_and_nothing_is_changed(harness, places, install):
    write_others(harness, "user", places, install)
    name, text, message = BROKEN[harness]
    (places.user / name).write_text(text)
    before = tree(places)
    for dry_run in (True, False):
        with pytest.raises(InputError) as refused:
            connect(harness, "user", places, install, dry_run=dry_run)
        assert message in str(refused.value)
        assert str(places.user / name) in str(refused.value)
        assert "\n" not in str(refused.value)
    assert tree(places) == before
    assert state(harness, places, install).connected == "no"


def test_json_with_comments_is_refused_with_the_entry_to_paste_and_left_alone_once_it_is_there(
    places, install
):
    path = places.user / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text("{ // mine\n}")
    with pytest.raises(InputError, match="add this and connect again") as refused:
        connect("cursor", "user", places, install, dry_run=False)
    assert path.read_text() == "{ // mine\n}"
    pasted = "// mine\n" + str(refused.value).partition("again: ")[2]
    assert json.loads(pasted.partition("\n")[2])["mcpServers"]["slowwave"]["args"][-1] == install.home
    path.write_text(pasted)
    done = connect("cursor", "user", places, install, dry_run=False)
    assert [file.did for file in done.files] == ["kept", "made"]
    assert (state("cursor", places, install).connected, path.read_text()) == ("yes", pasted)
    with pytest.raises(InputError, match="is not plain JSON .* by hand"):
        disconnect("cursor", "user", places, install, dry_run=False)
    path.write_text("{ // mine\n}")
    disconnect("cursor", "user", places, install, dry_run=False)
    assert [one.name for one in path.parent.iterdir()] == ["mcp.json"]


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_server_of_our_name_that_is_somebody_elses_is_refused(harness, places, install):
    (settings,) = [one for one in files_of(harness, "user", places, install) if one.server]
    settings.path.parent.mkdir(parents=True, exist_ok=True)
    foreign = "[mcp_servers.slowwave]\ncommand = 'other'\n"
    if not settings.is_toml:
        foreign = json.dumps({settings.table[0]: {"slowwave": {"command": "slowwave", "args": ["other"]}}})
    settings.path.write_text(foreign)
    with pytest.raises(InputError, match="rename or remove it"):
        connect(harness, "user", places, install, dry_run=False)
    disconnect(harness, "user", places, install, dry_run=False)
    assert settings.path.read_text() == foreign


def test_a_plugin_file_of_our_name_that_is_somebody_elses_is_refused(places, install):
    plugin = places.user / ".config" / "opencode" / "plugins" / "slowwave.js"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("export const Mine = 1\n")
    before = tree(places)
    with pytest.raises(InputError, match="is not ours"):
        connect("opencode", "user", places, install, dry_run=False)
    disconnect("opencode", "user", places, install, dry_run=False)
    assert tree(places) == before


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_dry_run_shows_our_entries_and_no_value_of_others(harness, places, install):
    write_others(harness, "user", places, install)
    done = connect(harness, "user", places, install, dry_run=True)
    shown = "\n".join(file.entries for file in done.files)
    assert install.home in shown
    assert "made-up" not in shown
    assert all(file.backup for file in done.files if not file.path.endswith(".js"))


STATES = {
    "none": None, "empty": "{}", "lines": '{\n    "numStartups": 3\n}\n',
    "a server": '{"mcpServers": {"web": {"command": "npx"}}, "numStartups": 3}',
    "a project": '{"projects": {"WORK": {"mcpServers": {}, "x": 1}}, "mcpServers": {}}',
}  # fmt: skip


@pytest.mark.parametrize("text", STATES.values(), ids=STATES)
def test_connections_that_share_a_file_leave_it_as_it_was(text, places, install):
    other = places.model_copy(update={"project": places.project.parent / "other"})
    shared = [("user", places), ("project", places), ("project", other)]
    if text is not None:
        (places.user / ".claude.json").write_text(text.replace("WORK", str(places.project)))
    before = tree(places)
    for undone in (shared, shared[::-1]):
        for scope, where in shared:
            connect("claude-code", scope, where, install, dry_run=False)
        for scope, where in undone:
            assert disconnect("claude-code", scope, where, install, dry_run=False).notes == ()
        assert tree(places) == before


@pytest.mark.parametrize("left", ["", None, '{"theme": "dark"}'], ids=["emptied", "removed", "written anew"])
def test_a_copy_is_never_replaced_and_stays_if_other_hands_took_our_entries_out(left, places, install):
    path = places.user / ".gemini" / "settings.json"
    copy = path.with_name("settings.json.slowwave-backup")
    path.parent.mkdir()
    path.write_text('{"theme": "light"}')
    connect("gemini", "user", places, install, dry_run=False)
    path.unlink()
    if left is not None:
        path.write_text(left)
    done = disconnect("gemini", "user", places, install, dry_run=False)
    assert done.notes == (f"{copy} stays: it may be the only copy of what was in settings.json before.",)
    connect("gemini", "user", places, install, dry_run=False)
    assert copy.read_text() == '{"theme": "light"}'


def test_the_users_folder_as_a_project_is_no_second_connection(places, install):
    there = places.model_copy(update={"project": places.user})
    connect("gemini", "user", there, install, dry_run=False)
    moved = install.model_copy(update={"home": f"{install.home}2"})
    assert not any("as well" in note for note in connect("gemini", "user", there, moved, dry_run=True).notes)
    assert [(one.harness, one.scope) for one in survey(there, install) if one.homes] == [("gemini", "user")]


def test_notes_name_a_second_scope_and_a_home_or_harness_that_does_not_exist(places, install):
    away = install.model_copy(update={"home": f"{install.home}-new"})
    assert connect("codex", "user", places, away, dry_run=True).notes[0].startswith("There is no home at")
    alone = connect("cursor", "user", places, install, dry_run=False)
    assert alone.notes[0].startswith("cursor was not found on this machine")
    both = connect("cursor", "project", places, install, dry_run=False)
    assert both.notes[0].startswith(f"It is connected for you as well, with the home {install.home}")


ODD = {
    "crlf": b'{\r\n  "a": [ ]\r\n}\r\n', "byte order mark": b'\xef\xbb\xbf{"a": 1}', "no last line end": b'{"a": 1}',
    "empty": b"", "blank": b" \n\n", "braces": b"{}", "half of a character": b'{"a": "\\ud83d"}',
}  # fmt: skip


@pytest.mark.parametrize("data", ODD.values(), ids=ODD)
def test_odd_files_come_back_byte_for_byte(data, places, install):
    path = places.user / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(data)
    connect("claude-code", "user", places, install, dry_run=False)
    assert parsed(path)["hooks"]["Stop"]
    disconnect("claude-code", "user", places, install, dry_run=False)
    assert {one.name: one.read_bytes() for one in path.parent.iterdir()} == {"settings.json": data}


@pytest.mark.parametrize(
    ("data", "message"), [(b"\xff\xfe{\x00}\x00", "not text in UTF-8"), (None, "cannot be read")]
)
def test_files_that_are_not_text_are_refused(data, message, places, install):
    path = places.user / ".claude" / "settings.json"
    path.parent.mkdir()
    path.mkdir() if data is None else path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        connect("claude-code", "user", places, install, dry_run=False)


def test_a_link_stays_a_link_and_its_target_keeps_its_mode(places, install):
    target, link = places.user / "dotfiles.json", places.user / ".claude" / "settings.json"
    link.parent.mkdir()
    target.write_text('{"a": 1}')
    target.chmod(0o640)
    link.symlink_to(target)
    connect("claude-code", "user", places, install, dry_run=False)
    copy = link.with_name("settings.json.slowwave-backup")
    assert [path.stat().st_mode & 0o777 for path in (target, copy)] == [0o640, 0o640]
    assert "hook.py" in target.read_text()
    disconnect("claude-code", "user", places, install, dry_run=False)
    assert link.is_symlink()
    assert target.read_text() == '{"a": 1}'


def test_a_link_out_of_a_project_is_not_followed(places, install):
    (places.project / ".gemini").symlink_to(places.user)
    with pytest.raises(InputError, match="leads out of the project"):
        connect("gemini", "project", places, install, dry_run=False)
    assert not any(places.user.iterdir())


def test_a_read_only_file_is_refused_and_the_other_files_stay_as_they_are(places, install):
    write_others("codex", "user", places, install)
    (places.user / ".codex" / "hooks.json").chmod(0o444)
    before = tree(places)
    with pytest.raises(InputError, match="is read-only"):
        connect("codex", "user", places, install, dry_run=False)
    assert tree(places) == before


def test_a_file_that_another_program_changes_meanwhile_is_refused(places, install, monkeypatch):
    from slowwave.entrypoints.connecting import connection

    write_others("codex", "user", places, install)
    path = places.user / ".codex" / "hooks.json"
    check_writable = connection.check_writable

    def late(place):
        check_writable(place)
        if place == path:
            path.write_text("{}")

    monkeypatch.setattr(connection, "check_writable", late)
    with pytest.raises(InputError, match="changed by another program"):
        connect("codex", "user", places, install, dry_run=False)
    assert path.read_text() == "{}"


def test_variables_move_the_settings(places, install, tmp_path):
    moved = {name: str(tmp_path / name) for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME")}
    there = places.model_copy(update={"environment": moved})
    found = [
        str(settings.path.relative_to(tmp_path))
        for harness in ("claude-code", "codex", "opencode", "vscode")
        for settings in files_of(harness, "user", there, install)
    ]
    assert found == [
        "CLAUDE_CONFIG_DIR/settings.json", "CLAUDE_CONFIG_DIR/.claude.json", "CODEX_HOME/config.toml",
        "CODEX_HOME/hooks.json", "XDG_CONFIG_HOME/opencode/opencode.json",
        "XDG_CONFIG_HOME/opencode/plugins/slowwave.js", "XDG_CONFIG_HOME/Code/User/mcp.json",
    ]  # fmt: skip


def test_the_survey_names_homes_projects_and_problems(places, install):
    write_others("codex", "user", places, install)
    connect("codex", "user", places, install, dry_run=False)
    connect("gemini", "project", places, install, dry_run=False)
    codex = state("codex", places, install)
    assert (codex.connected, codex.homes) == ("yes", (install.home,))
    assert codex.problems == ("Codex was not told to trust 6 of 6 hooks yet: type /hooks there",)
    assert [(one.harness, one.project) for one in survey(places, install) if one.scope == "project"] == [
        ("gemini", str(places.project))
    ]
    Path(install.hook).unlink()
    config = places.user / ".codex" / "config.toml"
    config.write_text(
        f'[features]\nhooks = false\n\n[hooks.state."{config.parent}/hooks.json:stop:1:0"]\ntrusted_hash = "x"\n'
    )
    codex = state("codex", places, install)
    assert codex.connected == "partly"
    assert [problem.split(" (")[0] for problem in codex.problems] == [
        "not all entries are those of this installation",
        f"{install.hook} is gone: connect again",
        f"{config} has hooks switched off under [features]",
        "Codex was not told to trust 5 of 6 hooks yet: type /hooks there",
    ]


def trust(folder: Path, *, event: str, command: str) -> str:
    """A hook that Codex 0.169.0 was told to trust: it hashes the event and the handler with what that leaves out."""
    key = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()
    handler = {
        "async": False,
        "command": command,
        "timeout": 3 if event == "SessionEnd" else 5,
        "type": "command",
    }
    form = json.dumps({"event_name": key, "hooks": [handler]}, separators=(",", ":"))
    hashed = sha256(form.encode()).hexdigest()
    return f'[hooks.state."{folder}/hooks.json:{key}:0:0"]\ntrusted_hash = "sha256:{hashed}"\n'


def test_hooks_that_codex_was_told_to_trust_in_another_form_are_named(places, install):
    connect("codex", "user", places, install, dry_run=False)
    folder = places.user / ".codex"
    hooks = json.loads((folder / "hooks.json").read_text())["hooks"]
    commands = {event: groups[0]["hooks"][0]["command"] for event, groups in hooks.items()}
    before = (folder / "config.toml").read_text()
    problems = {}
    for how, changed in (("as it is", {}), ("changed", {"Stop": "another"})):
        trusted = [
            trust(folder, event=event, command=command)
            for event, command in ({**commands, **changed}).items()
        ]
        (folder / "config.toml").write_text(
            "\n".join([before, *trusted, "enabled = false\n" * bool(changed)])
        )
        problems[how] = state("codex", places, install).problems
    assert problems == {
        "as it is": (),
        "changed": (
            "Codex was told to trust 1 of 6 hooks in another form: type /hooks there",
            "Codex has 1 of 6 hooks switched off: type /hooks there",
        ),
    }


def test_switches_that_keep_hooks_from_running_are_named(places, install):
    for harness, name, text in (
        ("claude-code", ".claude/settings.json", '{"disableAllHooks": true}'),
        ("gemini", ".gemini/settings.json", '{"hooksConfig": {"disabled": ["slowwave"]}}'),
    ):
        path = places.user / name
        path.parent.mkdir()
        path.write_text(text)
        connect(harness, "user", places, install, dry_run=False)
        (problem,) = state(harness, places, install).problems
        assert problem.startswith(f"{path} has ")


def test_an_entry_in_a_second_file_of_opencode_is_found_again(places, install):
    connect("opencode", "user", places, install, dry_run=False)
    other = places.user / ".config" / "opencode" / "opencode.jsonc"
    other.write_text("{}")
    disconnect("opencode", "user", places, install, dry_run=False)
    assert [path.name for path in other.parent.rglob("*") if path.is_file()] == ["opencode.jsonc"]


def test_a_broken_file_of_the_other_scope_keeps_nobody_from_connecting(places, install):
    (places.project / ".cursor").mkdir()
    (places.project / ".cursor" / "mcp.json").write_text("{")
    assert connect("cursor", "user", places, install, dry_run=False).files[0].did == "made"


NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_doctor_says_whose_hooks_miss_a_server(places, install):
    connect("vscode", "user", places, install, dry_run=False)
    told = "none runs; agents' hooks would need one (`slowwave serve`)"
    assert no_server_row(places, install) == ("server", True, told)
    connect("codex", "user", places, install, dry_run=False)
    told = "none runs: until `slowwave serve` does, hooks of codex are silent"
    assert no_server_row(places, install) == ("server", False, told)


def test_doctor_says_what_is_connected_when_it_last_worked_and_since_when_not(places, install):
    def rows() -> dict[str, tuple[bool, str]]:
        return {name: (is_well, found) for name, is_well, found in agent_rows(places, install, now=NOW)}

    assert rows() == {"agents": (True, "none is connected: `slowwave connect` lists those on this machine")}
    for harness in ("claude-code", "vscode"):
        connect(harness, "user", places, install, dry_run=False)
    elsewhere = install.model_copy(update={"home": f"{install.home}2"})
    connect("gemini", "user", places, elsewhere, dry_run=False)
    connect("cursor", "project", places, install, dry_run=False)
    assert rows() == {
        "claude-code": (True, "connected; no hook was answered yet"),
        "cursor in work": (True, "connected; no hook was answered yet"),
        "gemini": (False, f"it has another home, {install.home}2"),
        "vscode": (True, "connected, tools alone"),
    }
    hooks = Path(install.home) / "hooks"
    hooks.mkdir()
    (hooks / "seen.json").write_text('{"claude-code": "2026-11-20T11:00:00+00:00"}')
    missed = [
        {
            "at": f"2026-11-20T{hour}:00:00Z",
            "harness": "claude-code",
            "event": "Stop",
            "reason": "not running",
        }
        for hour in ("08", "10")
    ]
    (hooks / "missed.jsonl").write_text("".join(json.dumps(line) + "\n" for line in missed))
    assert rows()["claude-code"] == (True, "connected; hooks last answered 1 hour ago")
    assert rows()["hooks"] == (
        False,
        "2 events of agents found no server (not running), the first 4 hours ago, the last 2 hours ago: "
        "start `slowwave serve`, it catches up",
    )
    Path(install.hook).unlink()
    assert rows()["claude-code"] == (False, f"{install.hook} is gone: connect again")
    gemini = places.user / ".gemini" / "settings.json"
    gemini.write_text(gemini.read_text()[:-3])
    is_well, found = rows()["gemini"]
    assert not is_well
    assert f"{gemini} is not plain JSON" in found


@pytest.fixture
def at_home(places, monkeypatch) -> Places:
    """The user's folder and the project of the commands."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(places.user))
    (places.project / ".git").mkdir()
    (places.project / "src").mkdir()
    monkeypatch.chdir(places.project / "src")
    return places


def call(*words: object) -> Result:
    return CliRunner().invoke(program, [str(word) for word in words], env={"COLUMNS": "200"})


def test_the_commands_connect_list_and_disconnect(at_home, tmp_path):
    home = tmp_path / "home"
    settings = at_home.user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"env": {"TOKEN": "made-up-7f3a"}}')
    before = tree(at_home)
    shown = call("connect", "claude-code", "--home", home, "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert "would change" in shown.stdout
    assert "made-up-7f3a" not in shown.stdout
    assert f"keeps a copy: {settings}.slowwave-backup" in shown.stdout
    assert '"--home",' in shown.stdout
    assert tree(at_home) == before
    done = call("connect", "claude-code", "--home", home)
    assert (done.exit_code, f"kept a copy: {settings}.slowwave-backup" in done.stdout) == (0, True)
    assert "claude-code" in call("connect", "--home", home).stdout
    listed = json.loads(call("connect", "--home", home, "--json").stdout)
    assert [state["connected"] for state in listed if state["harness"] == "claude-code"] == ["yes"]
    other = call("disconnect", "claude-code", "--home", tmp_path / "other")
    assert (other.exit_code, f"is connected with {home}, and not with" in other.output) == (65, True)
    done = json.loads(call("disconnect", "claude-code", "--home", home, "--json").stdout)
    assert done["homes"] == [str(home)]
    assert tree(at_home) == before
    assert call("disconnect", "claude-code").stdout == "claude-code is not connected in your own settings.\n"


def test_without_a_repository_no_project_is_connected(at_home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = tree(at_home)
    done = call("connect", "cursor", "--project", "--home", tmp_path / "home")
    assert (done.exit_code, "you stand in no git repository" in done.stderr) == (65, True), done.output
    assert tree(at_home) == before
    assert not (tmp_path / ".cursor").exists()


def test_a_project_is_the_repository_that_one_stands_in(at_home, tmp_path):
    done = call("connect", "cursor", "--project", "--home", tmp_path / "home")
    assert done.exit_code == 0, done.output
    assert (at_home.project / ".cursor" / "mcp.json").exists()
    assert "leave them out of commits" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("connect", "emacs"), "no harness is called 'emacs'"),
        (("connect", "claude-desktop", "--project"), "has no settings of a project"),
        (("connect", "--project"), "name the harness"),
    ],
)
def test_what_cannot_be_connected_is_one_line(words, told, at_home):
    done = call(*words)
    assert done.exit_code == 65
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_both_scopes_at_once_are_refused(at_home):
    assert call("connect", "codex", "--project", "--user").exit_code == 2
    assert not any(at_home.user.iterdir())


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

HOOK = """
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
def test_the_plugin_of_opencode_calls_the_hook_and_hands_on_what_it_says(is_there, places, install, tmp_path):
    hook = tmp_path / "hook.py"
    hook.write_text(HOOK)
    python = sys.executable if is_there else str(tmp_path / "none")
    own = install.model_copy(update={"python": python, "hook": str(hook)})
    connect("opencode", "user", places, own, dry_run=False)
    (tmp_path / "slowwave.mjs").write_text((places.user / ".config/opencode/plugins/slowwave.js").read_text())
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
    assert [words for words, _ in calls] == [["opencode", event, "--home", install.home] for event, _ in told]
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
