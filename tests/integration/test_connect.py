"""Connecting coding agents: their settings on disk before, between and after, and the commands."""

import json
import re
import shutil
import subprocess
import tomllib
from datetime import UTC, datetime
from hashlib import sha256
from itertools import permutations
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from slowwave.entrypoints.cli import app
from slowwave.entrypoints.commands.agents import agent_rows, no_server_row
from slowwave.entrypoints.connecting.connections import connect, disconnect
from slowwave.entrypoints.connecting.harnesses import Install, Places, files_of, words_of
from slowwave.entrypoints.connecting.jsonc import plain, scan
from slowwave.entrypoints.connecting.names import HARNESSES
from slowwave.entrypoints.connecting.survey import survey
from slowwave.entrypoints.harness.events import event_of
from slowwave.entrypoints.harness.hook import _named
from slowwave.errors import InputError
from tests.harness_settings import CLAUDE_SETTINGS, CODEX_CONFIG, CODEX_HOOKS, PROJECT, USER

EACH = [
    (harness, scope) for scope in ("user", "project") for harness in (USER if scope == "user" else PROJECT)
]
MADE = {"claude-code": "the file of private servers", "opencode": "the plugin"}
"""Harnesses of which a file is made even where all settings of the tests are there."""


@pytest.fixture
def places(tmp_path) -> Places:
    for name in ("me", "work"):
        (tmp_path / name).mkdir()
    return Places(user=tmp_path / "me", project=tmp_path / "work", system="linux")


@pytest.fixture
def install(tmp_path) -> Install:
    hook = tmp_path / "lib" / "slowwave" / "entrypoints" / "harness" / "hook.py"
    hook.parent.mkdir(parents=True)
    hook.touch()
    (tmp_path / "home").mkdir()
    python = tmp_path / "an environment" / "python"
    python.parent.mkdir()
    python.touch()
    return Install(python=str(python), hook=str(hook), home=str(tmp_path / "home"))


def write(places: Places, harness: str, scope: str) -> None:
    """Puts the settings of the tests in their place."""
    root, files = (places.user, USER) if scope == "user" else (places.project, PROJECT)
    for name, text in files[harness].items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def tree(places: Places) -> dict[str, bytes | None]:
    """Every file with its bytes, and every folder."""
    root = places.user.parent
    found = [path for path in root.rglob("*") if not path.is_relative_to(root / "lib")]
    return {str(path.relative_to(root)): None if path.is_dir() else path.read_bytes() for path in found}


def parsed(path: Path) -> dict:
    text = path.read_text(encoding="utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else plain(scan(text, path.name))


def holds(path: Path, value: str) -> bool:
    return value in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("has_settings", [True, False], ids=["settings", "none"])
@pytest.mark.parametrize(("harness", "scope"), EACH)
def test_connecting_and_disconnecting_leaves_every_byte_as_it_was(
    harness, scope, has_settings, places, install
):
    if has_settings:
        write(places, harness, scope)
    before = tree(places)
    connect(harness, scope, places, install, dry_run=True)
    assert tree(places) == before
    done = connect(harness, scope, places, install, dry_run=False)
    between = tree(places)
    wanted = files_of(harness, scope, places, install)
    assert all(install.home in settings.path.read_text(encoding="utf-8") for settings in wanted)
    assert {file.did for file in done.files} <= {"changed", "made"}
    again = connect(harness, scope, places, install, dry_run=False)
    assert {file.did for file in again.files} == {"kept"}
    assert tree(places) == between
    disconnect(harness, scope, places, install, dry_run=True)
    assert tree(places) == between
    disconnect(harness, scope, places, install, dry_run=False)
    assert tree(places) == before
    assert {file.did for file in disconnect(harness, scope, places, install, dry_run=False).files} == {"kept"}


@pytest.mark.parametrize(("harness", "scope"), EACH)
def test_what_was_there_is_still_there_beside_our_entries(harness, scope, places, install):
    write(places, harness, scope)
    wanted = [settings for settings in files_of(harness, scope, places, install) if settings.kind != "script"]
    before = {settings.path: parsed(settings.path) for settings in wanted if settings.path.exists()}
    connect(harness, scope, places, install, dry_run=False)
    for path, values in before.items():
        assert contains(parsed(path), values)
        assert path.with_name(f"{path.name}.slowwave-backup").exists()
    for settings in wanted:
        for entry in settings.entries:
            found = parsed(settings.path)
            for step in entry.path:
                found = found[step]
            assert (found[entry.key] if entry.key else found[-1]) == entry.value


def contains(whole: object, part: object) -> bool:
    """All values of one document are in the other, lists from their begin."""
    if isinstance(part, dict):
        return all(key in whole and contains(whole[key], value) for key, value in part.items())
    if isinstance(part, list):
        return all(map(contains, whole, part)) and len(whole) >= len(part)
    return whole == part


@pytest.mark.parametrize(("harness", "scope"), EACH)
def test_no_settings_hold_the_key_of_the_server(harness, scope, places, install):
    key = Path(install.home) / "server" / "key"
    key.parent.mkdir()
    key.write_text("key-of-this-server")
    connect(harness, scope, places, install, dry_run=False)
    assert not any(b"key-of-this-server" in (data or b"") for name, data in tree(places).items()
                   if not name.startswith("home/server"))  # fmt: skip


def words_in(value: object) -> list[list[str]]:
    """The words of every command in an entry."""
    if isinstance(value, list):
        return [words for item in value for words in words_in(item)]
    assert isinstance(value, dict)
    if "hooks" in value:
        return words_in(value["hooks"])
    return [words_of(value)]


@pytest.mark.parametrize(("harness", "scope"), EACH)
def test_every_command_that_is_written_is_one_that_our_programs_know(harness, scope, places, install):
    commands = [
        words
        for settings in files_of(harness, scope, places, install)
        for entry in settings.entries
        for words in words_in(entry.value)
    ]
    assert commands
    assert "mcp" in typer.main.get_command(app).commands
    for python, isolated, *words in commands:
        assert (python, isolated) == (install.python, "-I")
        if words[0] == "-m":
            assert words == ["-m", "slowwave.entrypoints.cli", "mcp", "--home", install.home]
        else:
            assert words[0] == install.hook
            named_harness, event, home = _named(words[1:])
            assert (named_harness, home) == (harness, install.home)
            assert event_of(harness, event)[0] == event


@pytest.mark.parametrize("harness", HARNESSES)
def test_another_home_and_a_moved_environment_take_the_place_of_the_old_ones(harness, places, install):
    write(places, harness, "user")
    before = tree(places)
    connect(harness, "user", places, install, dry_run=False)
    moved = install.model_copy(update={"home": f"{install.home}2", "python": "/opt/other/python"})
    connect(harness, "user", places, moved, dry_run=False)
    for settings in files_of(harness, "user", places, moved):
        assert holds(settings.path, f"{install.home}2")
        assert not holds(settings.path, f"{install.home}/")
        assert not holds(settings.path, "an environment")
    (state,) = [one for one in survey(places, moved) if one.harness == harness]
    assert state.homes == (f"{install.home}2",)
    disconnect(harness, "user", places, install, dry_run=False)
    assert tree(places) == before


def test_what_a_person_changed_meanwhile_stays_and_only_ours_goes(places, install):
    write(places, "claude-code", "user")
    path = places.user / ".claude" / "settings.json"
    connect("claude-code", "user", places, install, dry_run=False)
    own = '{ "type": "command", "command": "say done" }'
    text = path.read_text().replace('"model": "opus"', '"model": "sonnet" ')
    grown = text.replace(
        '"timeout": 5\n          }\n        ]', f'"timeout": 5\n          }},\n          {own}\n        ]', 1
    )
    assert grown != text
    path.write_text(grown)
    disconnect("claude-code", "user", places, install, dry_run=False)
    left = path.read_text()
    assert "hook.py" not in left
    assert own in left
    assert '"model": "sonnet" ,\n' in left
    assert left.startswith(CLAUDE_SETTINGS[: CLAUDE_SETTINGS.index('"Stop"')])


def test_a_harness_that_writes_its_file_anew_loses_only_our_entries(places, install):
    write(places, "claude-code", "user")
    path = places.user / ".claude" / "settings.json"
    connect("claude-code", "user", places, install, dry_run=False)
    path.write_text(json.dumps(json.loads(path.read_text())))
    disconnect("claude-code", "user", places, install, dry_run=False)
    assert json.loads(path.read_text()) == json.loads(CLAUDE_SETTINGS)


def test_tables_that_codex_adds_below_our_server_go_with_it(places, install):
    write(places, "codex", "user")
    path = places.user / ".codex" / "config.toml"
    connect("codex", "user", places, install, dry_run=False)
    more = (
        '\n[mcp_servers.slowwave.tools.search_memory]\napproval_mode = "approve"\n\n# mine\n[other]\nz = 1\n'
    )
    path.write_text(path.read_text() + more)
    disconnect("codex", "user", places, install, dry_run=False)
    assert path.read_text() == f"{CODEX_CONFIG}\n# mine\n[other]\nz = 1\n"


BROKEN = {
    "claude-code": (".claude/settings.json", '{"hooks": {"Stop": []\n"model": 1}', "line 2, column 1: a comma or }"),
    "codex": (".codex/config.toml", "model = \n", "config.toml"),
    "gemini": (".gemini/settings.json", '{"mcpServers": [1]}', "is a list, and an object is expected"),
    "opencode": (".config/opencode/opencode.json", "{'mcp': {}}", "line 1, column 2: a name in double quotes"),
    "cursor": (".cursor/hooks.json", '{"version": 1, "hooks": {"stop": {}}}', "hooks.stop is an object, and a list"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "{", "a name in double quotes or }"),
    "vscode": (".config/Code/User/mcp.json", '{"servers": {}, "servers": {}}', "'servers' is there twice"),
}  # fmt: skip


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_broken_file_is_refused_with_its_place_and_nothing_is_changed(harness, places, install):
    write(places, harness, "user")
    name, text, told = BROKEN[harness]
    (places.user / name).write_text(text)
    if harness == "opencode":
        (places.user / ".config/opencode/opencode.jsonc").unlink()
    before = tree(places)
    with pytest.raises(InputError) as refused:
        connect(harness, "user", places, install, dry_run=False)
    assert told in str(refused.value)
    assert str(places.user / name) in str(refused.value)
    assert tree(places) == before
    assert any(
        state.connected in ("unknown", "no") for state in survey(places, install) if state.harness == harness
    )


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_server_of_our_name_that_is_somebody_elses_is_refused(harness, places, install):
    (settings, *_) = [
        one for one in files_of(harness, "user", places, install) if any(e.key for e in one.entries)
    ]
    (entry,) = [one for one in settings.entries if one.key]
    settings.path.parent.mkdir(parents=True, exist_ok=True)
    foreign = "[mcp_servers.slowwave]\ncommand = 'other'\n"
    if settings.kind == "json":
        foreign = json.dumps({entry.path[0]: {"slowwave": {"command": "slowwave", "args": ["other"]}}})
    settings.path.write_text(foreign)
    with pytest.raises(InputError, match="rename or remove it"):
        connect(harness, "user", places, install, dry_run=False)
    assert settings.path.read_text() == foreign


def test_a_difference_shows_ours_and_no_text_of_others(places, install):
    for harness in HARNESSES:
        write(places, harness, "user")
        done = connect(harness, "user", places, install, dry_run=True)
        shown = "\n".join(file.difference for file in done.files)
        assert install.home in shown
        theirs = (
            "npx",
            'DB_TOKEN":"m',
            "made-up",
            "afplay",
            "# keep",
            "// ours",
            "old-mcp",
            "the web",
            'Authorization": "B',
        )
        assert [text for text in theirs if text in shown] == []


def test_a_difference_shows_no_text_of_others_that_goes_over_several_lines(places, install):
    settings = next(one for one in files_of("codex", "user", places, install) if one.kind == "toml")
    settings.path.parent.mkdir(parents=True, exist_ok=True)
    theirs = (
        '[profiles."a b"] # hidden 0\nlists = [\n  ["hidden 1"],\n]\nnote = """\nhidden 2\n[hidden3]\n"""\n'
    )
    settings.path.write_text(theirs)
    done = connect("codex", "user", places, install, dry_run=True)
    shown = "\n".join(file.difference for file in done.files)
    assert install.home in shown
    assert "hidden" not in shown
    settings.path.write_text('[profiles."a b"] # hidden 0\nnote = "hidden 1"\n')
    done = connect("codex", "user", places, install, dry_run=True)
    shown = "\n".join(file.difference for file in done.files)
    assert ' [profiles."a b"] # ...\n note = "..."\n' in shown


STATES = {
    "none": None, "empty": "{}", "one line": '{"numStartups": 3}', "lines": '{\n  "numStartups": 3\n}\n',
    "a server": '{\n  "mcpServers": {\n    "web": {"command": "npx"}\n  },\n  "numStartups": 3\n}',
    "a project": '{"projects": {"WORK": {"mcpServers": {}, "x": 1}}, "mcpServers": {}}',
}  # fmt: skip


@pytest.mark.parametrize("text", STATES.values(), ids=STATES)
def test_connections_that_share_a_file_leave_it_as_it_was_in_any_order(text, places, install):
    other = places.model_copy(update={"project": places.project.parent / "other"})
    other.project.mkdir()
    shared = [("user", places), ("project", places), ("project", other)]
    state = places.user / ".claude.json"
    if text is not None:
        state.write_text(text.replace("WORK", str(places.project)))
    before = tree(places)
    alike = "WORK" not in (text or "")  # then the two projects may change places
    for made in permutations(shared):
        if alike and made.index(shared[1]) > made.index(shared[2]):
            continue
        for undone in permutations(shared):
            for scope, where in made:
                connect("claude-code", scope, where, install, dry_run=False)
            for scope, where in undone:
                assert disconnect("claude-code", scope, where, install, dry_run=False).notes == ()
            assert tree(places) == before


@pytest.mark.parametrize("left", ["", None, '{"theme": "dark"}'], ids=["emptied", "removed", "written anew"])
@pytest.mark.parametrize("is_again", [False, True], ids=["disconnect", "connect"])
def test_the_copy_stays_when_other_hands_took_our_entries_out(left, is_again, places, install):
    path = places.user / ".gemini" / "settings.json"
    copy = path.with_name("settings.json.slowwave-backup")
    path.parent.mkdir()
    path.write_text('{"theme": "light"}')
    connect("gemini", "user", places, install, dry_run=False)
    path.unlink()
    if left is not None:
        path.write_text(left)
    if is_again and left is not None:
        with pytest.raises(InputError, match=f"{copy} is there already and differs"):
            connect("gemini", "user", places, install, dry_run=False)
    else:
        done = disconnect("gemini", "user", places, install, dry_run=False)
        assert done.notes == (f"{copy} stays: it may be the only copy of what was in settings.json before.",)
    assert copy.read_text() == '{"theme": "light"}'


@pytest.mark.parametrize("copied", ['{"precious": 1}', "no JSON", b"\xff"])
def test_a_file_of_the_name_of_a_copy_that_is_somebody_elses_stays(copied, places, install):
    path = places.user / ".gemini" / "settings.json"
    copy = path.with_name("settings.json.slowwave-backup")
    path.parent.mkdir()
    path.write_text('{"theme": "light"}')
    copy.write_bytes(copied if isinstance(copied, bytes) else copied.encode())
    before = tree(places)
    for dry_run in (True, False):
        assert str(copy) in disconnect("gemini", "user", places, install, dry_run=dry_run).notes[0]
        with pytest.raises(InputError, match=f"{copy} is there already and differs"):
            connect("gemini", "user", places, install, dry_run=dry_run)
        assert tree(places) == before
    path.unlink()  # connecting makes the file, and so no copy
    before = tree(places)
    connect("gemini", "user", places, install, dry_run=False)
    disconnect("gemini", "user", places, install, dry_run=False)
    assert tree(places) == before


def test_the_users_folder_as_a_project_is_no_second_connection(places, install):
    there = places.model_copy(update={"project": places.user})
    connect("gemini", "user", there, install, dry_run=False)
    connect("codex", "user", there, install, dry_run=False)
    moved = install.model_copy(update={"home": f"{install.home}2"})
    again = connect("gemini", "user", there, moved, dry_run=True)
    assert not any("as well" in note for note in again.notes)
    assert [(one.harness, one.scope) for one in survey(there, install) if one.connected == "yes"] == [
        ("codex", "user"), ("gemini", "user"),
    ]  # fmt: skip
    connect("claude-code", "user", there, install, dry_run=False)
    assert "as well" in connect("claude-code", "project", there, install, dry_run=True).notes[0]


def test_a_second_scope_and_a_home_or_harness_that_is_not_there_are_told(places, install):
    away = install.model_copy(update={"home": f"{install.home}-new"})
    assert connect("codex", "user", places, away, dry_run=True).notes[0].startswith("There is no home at")
    connect("codex", "user", places, away, dry_run=False)
    assert Path(away.home).stat().st_mode & 0o777 == 0o700
    alone = connect("cursor", "user", places, install, dry_run=False)
    assert alone.notes[0].startswith("cursor was not found on this machine")
    both = connect("cursor", "project", places, install, dry_run=False)
    assert both.notes[0].startswith(f"It is connected for you as well, with the home {install.home}")


def test_a_plugin_file_of_our_name_that_is_somebody_elses_is_refused(places, install):
    plugin = places.user / ".config" / "opencode" / "plugins" / "slowwave.js"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("export const Mine = 1\n")
    before = tree(places)
    with pytest.raises(InputError, match="is not ours"):
        connect("opencode", "user", places, install, dry_run=False)
    disconnect("opencode", "user", places, install, dry_run=False)
    assert tree(places) == before


def odd_files() -> dict[str, bytes]:
    text = CLAUDE_SETTINGS.encode()
    return {
        "crlf": text.replace(b"\n", b"\r\n"),
        "byte order mark": b"\xef\xbb\xbf" + text,
        "tabs": text.replace(b"  ", b"\t"),
        "no last line end": text.rstrip(),
        "empty": b"",
        "blank": b" \n\n",
        "one line": json.dumps(json.loads(text)).encode(),
        "braces": b"{}",
        "open braces": b"{\n\n}\n",
    }


@pytest.mark.parametrize("name", odd_files())
def test_odd_files_come_back_byte_for_byte(name, places, install):
    path = places.user / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(odd_files()[name])
    connect("claude-code", "user", places, install, dry_run=False)
    data = path.read_bytes()
    assert json.loads(data.decode("utf-8-sig"))["hooks"]["Stop"]
    assert (b"\r\n" in data) == (name == "crlf")
    assert data.startswith(b"\xef\xbb\xbf") == (name == "byte order mark")
    if name == "crlf":
        assert data.count(b"\n") == data.count(b"\r\n")
    disconnect("claude-code", "user", places, install, dry_run=False)
    assert path.read_bytes() == odd_files()[name]


@pytest.mark.parametrize(
    ("data", "told"), [(b"\xff\xfe{\x00}\x00", "no text in UTF-8"), (None, "is no settings file")]
)
def test_files_that_are_no_text_are_refused(data, told, places, install):
    path = places.user / ".claude" / "settings.json"
    path.parent.mkdir()
    path.mkdir() if data is None else path.write_bytes(data)
    with pytest.raises(InputError, match=told):
        connect("claude-code", "user", places, install, dry_run=False)


def test_a_link_stays_a_link_and_its_target_keeps_its_mode(places, install):
    target = places.user / "dotfiles" / "claude.json"
    target.parent.mkdir()
    target.write_text(CLAUDE_SETTINGS)
    target.chmod(0o640)
    link = places.user / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(target)
    connect("claude-code", "user", places, install, dry_run=False)
    assert link.is_symlink()
    assert "hook.py" in target.read_text()
    copy = link.with_name("settings.json.slowwave-backup")
    assert [path.stat().st_mode & 0o777 for path in (target, copy)] == [0o640, 0o640]
    assert copy.read_text() == CLAUDE_SETTINGS
    disconnect("claude-code", "user", places, install, dry_run=False)
    assert link.is_symlink()
    assert target.read_text() == CLAUDE_SETTINGS
    assert sorted(path.name for path in link.parent.iterdir()) == ["settings.json"]
    target.unlink()
    with pytest.raises(InputError, match="which is not there"):
        connect("claude-code", "user", places, install, dry_run=False)


def test_a_link_out_of_a_project_is_not_followed(places, install):
    outside = places.user / "empty"
    outside.write_text("")
    (places.project / ".cursor").mkdir()
    (places.project / ".cursor" / "mcp.json").symlink_to(outside)
    (places.project / ".gemini").symlink_to(places.user)
    for harness in ("cursor", "gemini"):
        with pytest.raises(InputError, match="leads out of the project"):
            connect(harness, "project", places, install, dry_run=False)
    assert [path.name for path in places.user.iterdir()] == ["empty"]
    assert outside.read_text() == ""


@pytest.mark.parametrize(
    "value", [["slowwave.entrypoints.cli", "mcp"], "slowwave.entrypoints.cli mcp", 3, None]
)
def test_an_entry_of_another_shape_is_somebody_elses(value, places, install):
    path = places.user / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"slowwave": value}}))
    with pytest.raises(InputError, match="rename or remove it"):
        connect("cursor", "user", places, install, dry_run=False)


def test_a_comment_in_a_file_that_was_made_keeps_the_file(places, install):
    connect("gemini", "user", places, install, dry_run=False)
    path = places.user / ".gemini" / "settings.json"
    path.write_text(f"// mine\n{path.read_text()}")
    disconnect("gemini", "user", places, install, dry_run=False)
    assert path.read_text() == "// mine\n{\n}\n"


def test_a_read_only_file_is_refused_and_the_other_files_stay_as_they_are(places, install):
    write(places, "codex", "user")
    (places.user / ".codex" / "hooks.json").chmod(0o444)
    before = tree(places)
    with pytest.raises(InputError, match="is read-only"):
        connect("codex", "user", places, install, dry_run=False)
    assert tree(places) == before


def test_a_file_that_changes_while_it_is_changed_is_refused(places, install, monkeypatch):
    from slowwave.entrypoints.connecting import connections

    write(places, "codex", "user")
    path = places.user / ".codex" / "hooks.json"
    carry_out = connections._carry_out

    def late(settings, change):
        if settings.path == path:
            path.write_text(CODEX_HOOKS + "\n")
        return carry_out(settings, change)

    monkeypatch.setattr(connections, "_carry_out", late)
    with pytest.raises(InputError, match="changed by another program"):
        connect("codex", "user", places, install, dry_run=False)
    assert path.read_text() == CODEX_HOOKS + "\n"


def test_folders_that_were_made_go_when_nothing_of_anybody_is_left_in_them(places, install):
    (places.project / ".cursor").mkdir()
    connect("cursor", "project", places, install, dry_run=False)
    connect("codex", "project", places, install, dry_run=False)
    (places.project / ".codex" / "mine.txt").write_text("x")
    for harness in ("cursor", "codex"):
        disconnect(harness, "project", places, install, dry_run=False)
    assert sorted(str(path.relative_to(places.project)) for path in places.project.rglob("*")) == [
        ".codex", ".codex/mine.txt", ".cursor",
    ]  # fmt: skip


def test_a_home_that_is_made_for_a_connection_goes_with_the_last_one(places, install):
    away = install.model_copy(update={"home": f"{install.home}-new/deep"})
    before = tree(places)
    connect("vscode", "user", places, away, dry_run=False)
    connect("cursor", "user", places, away, dry_run=False)
    for harness in ("vscode", "cursor"):
        disconnect(harness, "user", places, away, dry_run=False)
    assert tree(places) == before


def test_variables_move_the_settings(places, install, tmp_path):
    moved = {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "cc"),
        "CODEX_HOME": str(tmp_path / "cx"),
        "XDG_CONFIG_HOME": str(tmp_path / "xdg"),
    }
    there = places.model_copy(update={"environment": moved})
    found = [
        str(settings.path.relative_to(tmp_path))
        for harness in ("claude-code", "codex", "opencode", "vscode")
        for settings in files_of(harness, "user", there, install)
    ]
    assert found == [
        "cc/settings.json", "cc/.claude.json", "cx/config.toml", "cx/hooks.json", "xdg/opencode/opencode.json",
        "xdg/opencode/plugins/slowwave.js", "xdg/Code/User/mcp.json",
    ]  # fmt: skip


def test_the_survey_names_homes_projects_and_what_is_amiss(places, install):
    write(places, "codex", "user")
    connect("codex", "user", places, install, dry_run=False)
    elsewhere = places.model_copy(update={"project": places.project / "deep"})
    connect("gemini", "project", elsewhere, install, dry_run=False)
    states = survey(places, install)
    codex = next(state for state in states if state.harness == "codex")
    assert (codex.connected, codex.homes) == ("yes", (install.home,))
    assert codex.problems == ("Codex was not told to trust 6 of 6 hooks yet: type /hooks there",)
    assert [(state.harness, state.project) for state in states if state.scope == "project"] == [
        ("gemini", str(elsewhere.project))
    ]
    Path(install.hook).unlink()
    config = places.user / ".codex" / "config.toml"
    config.write_text(
        f'[features]\nhooks = false\n\n[hooks.state."{config.parent}/hooks.json:stop:0:0"]\ntrusted_hash = "x"\n'
    )
    (codex,) = [
        state for state in survey(places, install) if (state.harness, state.scope) == ("codex", "user")
    ]
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
        (problems[how],) = [one.problems for one in survey(places, install) if one.harness == "codex"]
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
        (state,) = [one for one in survey(places, install) if one.harness == harness]
        assert len(state.problems) == 1
        assert state.problems[0].startswith(f"{path} has ")


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


def test_what_was_made_is_known_before_it_is_made(places, install, monkeypatch):
    from slowwave.entrypoints.connecting import connections

    before, write_text = tree(places), connections.write_text

    def full(file, text):
        if file.path.name == "hooks.json":
            raise InputError("no space left")
        write_text(file, text)

    monkeypatch.setattr(connections, "write_text", full)
    with pytest.raises(InputError, match="no space left"):
        connect("codex", "user", places, install, dry_run=False)
    disconnect("codex", "user", places, install, dry_run=False)
    assert tree(places) == before


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
    (places.user / ".gemini" / "settings.json").write_text("{")
    is_well, found = rows()["gemini"]
    assert not is_well
    assert "line 1, column 2" in found


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
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})


def test_the_commands_connect_list_and_disconnect(at_home, tmp_path):
    home = tmp_path / "home"
    write(at_home, "claude-code", "user")
    before = tree(at_home)
    shown = call("connect", "claude-code", "--home", home, "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert "would change" in shown.stdout
    assert "made-up-7f3a" not in shown.stdout
    assert "afplay" not in shown.stdout
    assert '+              "--home",' in shown.stdout.replace("\t", "  ")
    assert tree(at_home) == before
    assert call("connect", "claude-code", "--home", home).exit_code == 0
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
    import sys

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
